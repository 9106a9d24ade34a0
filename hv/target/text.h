/* SPDX-License-Identifier: MIT */
/*
 * A patch: one change of guest text, with its old and its new bytes. An instruction of any length
 * fits. All changes of text are made of patches, and the journal records them.
 *
 * A patch is exact. A target writes only the bytes of the patch. It must not read a word or a page,
 * change it and write it back, since others may change the bytes beside the patch. A write is not
 * atomic: it happens while the guest is paused. The one exception is a write to a guest that runs
 * (rs_text_write_live), which stores the aligned word that holds the patch.
 *
 * Session thread. Patches are our own data: we make them from guest bytes that we have checked.
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
	/* The physical address of `at`, which the caller has walked. Unused without read_phys. */
	rs_gpa_t at_phys;
	/* The physical address of the next page, if the patch goes on there. */
	rs_gpa_t next_phys;
	/*
	 * All of a site that the guest's agent has listed, and lists as long as it is patched. A
	 * CPU that meets a breakpoint in its first byte goes on behind it (target->switching).
	 */
	bool is_site;
	uint8_t size; /* 1..RS_TEXT_MAX */
	bool unused;  /* no CPU has been there, nor comes there before it is told to */
	uint8_t old_bytes[RS_TEXT_MAX];
	uint8_t new_bytes[RS_TEXT_MAX];
};

/* A part of a patch that lies in one page. */
struct rs_text_piece {
	rs_gpa_t at;
	uint8_t offset; /* in the patch's bytes */
	uint8_t size;
};

/* Number of the patch's bytes that lie in the page in which it begins. */
static inline uint8_t rs_text_first_part(const struct rs_text_patch *patch)
{
	uint64_t left = RS_PAGE_SIZE - patch->at.v % RS_PAGE_SIZE;

	return left < patch->size ? (uint8_t)left : patch->size;
}

/* The 1 or 2 pieces of a patch that rs_text_check() accepts. Returns how many. */
static inline unsigned int rs_text_pieces(const struct rs_text_patch *patch,
					  struct rs_text_piece pieces[2])
{
	uint8_t first = rs_text_first_part(patch);

	pieces[0] = (struct rs_text_piece){patch->at_phys, 0, first};
	if (first == patch->size)
		return 1;
	pieces[1] = (struct rs_text_piece){patch->next_phys, first, (uint8_t)(patch->size - first)};
	return 2;
}

/*
 * -EINVAL, and why: the size is not allowed, the address wraps around, or a physical address is
 * missing (if the target has them).
 */
int rs_text_check(const struct rs_target *target, const struct rs_text_patch *patch,
		  struct rs_error *err);

/* The patch that undoes this one. */
struct rs_text_patch rs_text_reversed(const struct rs_text_patch *patch);

/* rs_text_check() of each patch. */
int rs_text_check_all(const struct rs_target *target, const struct rs_text_patch *patches,
		      size_t count, struct rs_error *err);

/*
 * Copies the present bytes at each patch's address to `now`. On failure `now` is undefined.
 * Errors: as rs_text_check; -EFAULT not mapped; -ESRCH the guest is gone.
 */
int rs_text_read(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		 uint8_t (*now)[RS_TEXT_MAX], struct rs_error *err);

/*
 * Writes the new bytes of each patch, in order. The target must be paused. The caller compares the
 * old bytes, in the same pause. On failure an unknown part has been written, perhaps a part of a
 * patch: read it back. Errors: as rs_text_read, and the caller's mistakes are found before a byte
 * is written; -EPERM the target is not paused; -EFAULT the place of a patch cannot be written;
 * others are the target's.
 */
int rs_text_write(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		  struct rs_error *err);

/*
 * The same two for patches that rs_text_check_all() has accepted, so that a pause is shorter. A
 * guest chooses the places of its patches. So a place that cannot be written fails for itself:
 * bad[i] becomes true, a part of patch i may have been written, and the others are written. `bad`
 * has `count` elements, and the caller has cleared it.
 */
int rs_text_read_checked(struct rs_target *target, const struct rs_text_patch *patches,
			 size_t count, uint8_t (*now)[RS_TEXT_MAX], struct rs_error *err);
int rs_text_write_checked(struct rs_target *target, const struct rs_text_patch *patches,
			  size_t count, bool *bad, struct rs_error *err);

/*
 * As ops->writes_live and ops->write_live. rs_text_write_live() is rs_text_write_checked() for a
 * guest that runs, of patches for which rs_text_writes_live() is true.
 */
bool rs_text_writes_live(struct rs_target *target, const struct rs_text_patch *patches,
			 size_t count, int failed);
int rs_text_write_live(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		       bool *bad, struct rs_error *err);

#endif
