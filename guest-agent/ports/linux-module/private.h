/* SPDX-License-Identifier: MIT */
/*
 * Members of structures that the kernel keeps to itself, and that its trace headers read. Where
 * they lie, the kernel says itself (btf.h).
 */
#ifndef RS_KERNEL_PRIVATE_H
#define RS_KERNEL_PRIVATE_H

#include <linux/types.h>

struct rs_btf;

enum rs_private {
	RS_PWQ_POOL, /* struct pool_workqueue */
	RS_PWQ_WQ,
	RS_POOL_CPU,   /* struct worker_pool */
	RS_WQ_NAME,    /* struct workqueue_struct */
	RS_CACHE_NAME, /* struct kmem_cache */
	RS_CACHE_FLAGS,
	RS_CACHE_SIZE,
	RS_CACHE_OBJECT_SIZE,
	RS_NUMA_GROUP_GID, /* struct numa_group */
	RS_PRIVATES
};

/* Once, before the rest. May sleep. */
void rs_private_find(const struct rs_btf *btf);

/* The member of that object, or NULL: it is not known. */
const void *rs_private(enum rs_private which, const void *object);

/* Its value, or else `otherwise`. */
#define rs_private_value(type, which, object, otherwise)                                           \
	({                                                                                         \
		type const *rs_at = rs_private(which, object);                                     \
                                                                                                   \
		rs_at ? *rs_at : (otherwise);                                                      \
	})

#endif
