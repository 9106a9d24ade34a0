/* SPDX-License-Identifier: MIT */
/*
 * Patches made true, all in one pause: stop the guest, compare, write, let it go on. Nothing is
 * written over bytes that are not the ones that the patch says are there.
 *
 * It knows nothing of tracepoints: a patch has 1..RS_TEXT_MAX bytes anywhere in the text. Whether
 * the new bytes make sense there is the caller's to know, and so is the journal, which must name
 * every patch before it comes here. Session thread.
 */
#ifndef RS_HV_PATCH_APPLY_H
#define RS_HV_PATCH_APPLY_H

#include "target/target.h"

/* What became of one patch. */
enum rs_apply_outcome {
	RS_APPLY_NOT_TRIED,  /* the guest could not be stopped */
	RS_APPLY_DONE,       /* holds the new bytes */
	RS_APPLY_UNREADABLE, /* left alone: it could not be read */
	RS_APPLY_CHANGED,    /* left alone: it holds other bytes than the old ones */
	RS_APPLY_TAKEN_BACK, /* a write failed, of this patch or another: holds the old bytes */
	RS_APPLY_UNCERTAIN,  /* a write failed, and so did taking it back: it may hold anything */
};

/*
 * `patches` must not overlap. outcomes[i] is that of patches[i], on failure too. *paused_ns: from
 * asking for the pause until the guest has been let go; 0 if it was not stopped.
 * 0 also where patches were left alone. Errors: the pause's, the write's (what was written has
 * been taken back as far as it can be), or resume's (the outcomes hold).
 */
int rs_patch_apply(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		   enum rs_apply_outcome *outcomes, uint64_t *paused_ns, struct rs_error *err);

#endif
