/* SPDX-License-Identifier: MIT */
#include "private.h"

#include "btf.h"

#include <linux/compiler.h>

static struct {
	const char *type, *member;
	u32 offset;
	bool known;
} members[RS_PRIVATES] = {
	[RS_PWQ_POOL] = {"pool_workqueue", "pool"},
	[RS_PWQ_WQ] = {"pool_workqueue", "wq"},
	[RS_POOL_CPU] = {"worker_pool", "cpu"},
	[RS_WQ_NAME] = {"workqueue_struct", "name"},
	[RS_CACHE_NAME] = {"kmem_cache", "name"},
	[RS_CACHE_FLAGS] = {"kmem_cache", "flags"},
	[RS_CACHE_SIZE] = {"kmem_cache", "size"},
	[RS_CACHE_OBJECT_SIZE] = {"kmem_cache", "object_size"},
	[RS_NUMA_GROUP_GID] = {"numa_group", "gid"},
};

void rs_private_find(const struct rs_btf *btf)
{
	for (u32 i = 0; i < RS_PRIVATES; i++) {
		int offset = rs_btf_member(btf, members[i].type, members[i].member);

		members[i].known = offset >= 0;
		members[i].offset = offset;
	}
}

notrace const void *rs_private(enum rs_private which, const void *object)
{
	return object && members[which].known ? object + members[which].offset : NULL;
}
