/* SPDX-License-Identifier: MIT */
/*
 * A pool of guest text that is filled and never emptied (ringside/native.h). It has two parts: one
 * is filled from its start, the other from its end. What was written stays as long as the guest's
 * image lives, since a vCPU may be in it. So there is no journal of it: nobody ever comes
 * there unless the host says so.
 *
 * The guest says where the pool is, and is hostile. Each byte is written where a walk of its page
 * tables leads, through the target's text writes (apply.h), and only over a byte that is unused. So
 * it is never one of a site. What does not take it, or is something else afterwards, is given up.
 *
 * Session thread. The target must outlive the pool.
 */
#ifndef RS_HV_PATCH_POOL_H
#define RS_HV_PATCH_POOL_H

#include "target/target.h"
#include <errno.h>

#define RS_TEXT_POOL_ALIGN 16u /* of what is put there */
/* Bytes that are written in one pause at most: the largest code, and what names it. */
#define RS_TEXT_POOL_WRITES (8192u + RS_TEXT_POOL_ALIGN)

enum rs_text_pool_part {
	RS_TEXT_POOL_ENTRIES, /* RS_NATIVE_ENTRY_BYTES of the pool, from its start */
	RS_TEXT_POOL_CODE,    /* the rest, from its end */
};

struct rs_text_pool;

/*
 * Whether it may work another time: the guest does not stop, does not answer, or is somebody else's
 * for now.
 */
static inline bool rs_text_pool_is_busy(int ret)
{
	return ret == -EAGAIN || ret == -ETIMEDOUT || ret == -EBUSY;
}

/*
 * Reads what is there: all that was used before stays. The longest unused run of each part is
 * filled. `root`: of the page tables, see memory.h. -EINVAL: no pool can lie there; others as
 * rs_target_read_virt().
 */
int rs_text_pool_open(struct rs_target *target, uint64_t root, rs_gva_t at, uint64_t size,
		      struct rs_text_pool **out, struct rs_error *err);
void rs_text_pool_close(struct rs_text_pool *pool); /* accepts NULL */

/* Bytes that are left of a part. */
uint32_t rs_text_pool_left(const struct rs_text_pool *pool, enum rs_text_pool_part part);

/*
 * Whether such bytes are in that part already, whoever wrote them, or are in the batch. They are
 * compared once more where they lie.
 */
bool rs_text_pool_find(struct rs_text_pool *pool, enum rs_text_pool_part part, const void *bytes,
		       uint32_t size, uint32_t *offset);

/*
 * Puts bytes into the next batch. *offset: from the pool's start. Returns 1 if the batch is full.
 * -ENOSPC: the part is; others as rs_target_translate().
 */
int rs_text_pool_add(struct rs_text_pool *pool, enum rs_text_pool_part part, const void *bytes,
		     uint32_t size, uint32_t *offset, struct rs_error *err);

/*
 * Writes the batch, all of it in one pause, or to a guest that runs where the target can do that.
 * *paused_ns: as rs_patch_apply(). Nothing is in the batch afterwards, whatever became of it: after
 * an error its places are not used again, unless the pool is opened anew. -EIO: some place holds
 * something else; others as rs_patch_apply().
 */
int rs_text_pool_write(struct rs_text_pool *pool, uint64_t *paused_ns, struct rs_error *err);

/* Reads back what is there now. */
int rs_text_pool_read(const struct rs_text_pool *pool, uint32_t offset, void *out, uint32_t size,
		      struct rs_error *err);

#endif
