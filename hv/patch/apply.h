/* SPDX-License-Identifier: MIT */
/*
 * Applies patches, all in one pause: stop the guest, compare, write, let it go on. Where
 * rs_text_writes_live() says that it need not be stopped, it is not. A patch is written only if the
 * text holds its old bytes.
 *
 * This module does not know about tracepoints: a patch has 1..RS_TEXT_MAX bytes anywhere in the
 * text. The caller makes sure that the new bytes make sense there, and has written every patch to
 * the journal before. Session thread.
 */
#ifndef RS_HV_PATCH_APPLY_H
#define RS_HV_PATCH_APPLY_H

#include "target/target.h"

/* What became of one patch. */
enum rs_apply_outcome {
	RS_APPLY_NOT_TRIED,  /* the guest could not be stopped */
	RS_APPLY_DONE,       /* holds the new bytes */
	RS_APPLY_UNREADABLE, /* not written: the text could not be read */
	RS_APPLY_CHANGED,    /* not written: the text does not hold the old bytes */
	RS_APPLY_UNWRITABLE, /* its place cannot be written: holds the old bytes */
	RS_APPLY_TAKEN_BACK, /* a write failed, of this patch or another: holds the old bytes */
	RS_APPLY_UNCERTAIN,  /* its write failed, and so did undoing it: it may hold anything */
};

/*
 * `patches` must not overlap. outcomes[i] is that of patches[i], also on failure. *paused_ns: from
 * the request to pause until the guest runs again; 0 if it was not stopped, or need not be.
 * Returns 0 even if some patches were not written. Errors: those of rs_text_check_all, before the
 * guest is stopped; those of the pause; those of the write, after which the written patches were
 * undone as far as possible; those of resume, after which the outcomes are still right.
 */
int rs_patch_apply(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		   enum rs_apply_outcome *outcomes, uint64_t *paused_ns, struct rs_error *err);

#endif
