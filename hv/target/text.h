/* SPDX-License-Identifier: MIT */
/*
 * A change of guest text: what is there, and what shall be there, for one site. Everybody who
 * changes text speaks in these, and so does the journal: an instruction of any length fits.
 *
 * A patch is exact. A target writes the bytes of the patch and no byte beside them: not by reading
 * a word or a page and writing it back either, since what lies beside them may be somebody else's.
 * Nothing here makes it atomic: text is written while the guest stands still.
 *
 * Session thread. Patches are our own, made of guest bytes that have been looked at.
 */
#ifndef RS_HV_TARGET_TEXT_H
#define RS_HV_TARGET_TEXT_H

#include "base/error.h"
#include <ringside/types.h>
#include <stdbool.h>
#include <stddef.h>

struct rs_target;

#define RS_TEXT_MAX 16u /* bytes of a patch; the longest x86-64 instruction has 15 */

struct rs_text_patch {
	rs_gva_t at;
	/* Where `at` lies, walked by the caller. Unused by a target without read_phys. */
	rs_gpa_t at_phys;
	/* Where the next 4 KiB page begins, of a patch that goes on in it. Else unused. */
	rs_gpa_t next_phys;
	uint8_t size; /* 1..RS_TEXT_MAX */
	uint8_t old_bytes[RS_TEXT_MAX];
	uint8_t new_bytes[RS_TEXT_MAX];
};

/* A part of a patch that lies in one page. */
struct rs_text_piece {
	rs_gpa_t at;
	uint8_t offset; /* in the patch's bytes */
	uint8_t size;
};

/* The 1 or 2 pieces of a patch that rs_text_check() accepts. Returns how many. */
unsigned int rs_text_pieces(const struct rs_text_patch *patch, struct rs_text_piece pieces[2]);

/*
 * -EINVAL, and why: a size that is none, an address that wraps around, or (where the target has
 * physical addresses) a place in memory that is not known.
 */
int rs_text_check(const struct rs_target *target, const struct rs_text_patch *patch,
		  struct rs_error *err);

/* The patch that takes this one back. */
struct rs_text_patch rs_text_reversed(const struct rs_text_patch *patch);

/*
 * Copies what lies at each patch's place now to `now`; on failure `now` holds nothing of use.
 * Errors: as rs_text_check; -EFAULT not mapped; -ESRCH the guest is gone.
 */
int rs_text_read(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		 uint8_t (*now)[RS_TEXT_MAX], struct rs_error *err);

/*
 * Writes the new bytes of each patch, in order, only while paused. What was there is not looked at:
 * that is the caller's to do, in the same pause. On failure an unknown part has been written, of a
 * patch also: read back. Errors: as rs_text_read, before a byte is written for those that are the
 * caller's; -EPERM the target is not paused; others are the target's.
 */
int rs_text_write(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		  struct rs_error *err);

#endif
