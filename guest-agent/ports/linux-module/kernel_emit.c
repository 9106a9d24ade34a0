/* SPDX-License-Identifier: MIT */
#include "kernel_emit.h"

#include "core.h"

#include <linux/percpu.h>
#include <linux/string.h>

/* Task, soft interrupt, interrupt and NMI; one more is a recursion. */
#define LEVELS 4

struct scratch {
	u32 level;
	u8 bytes[LEVELS][RS_KERNEL_RECORD_MAX] __aligned(8);
};
static struct scratch __percpu *scratches;

int rs_kernel_scratch_init(void)
{
	scratches = alloc_percpu(struct scratch);
	return scratches ? 0 : -ENOMEM;
}

void rs_kernel_scratch_exit(void)
{
	free_percpu(scratches);
	scratches = NULL;
}

notrace void *rs_kernel_scratch_get(u32 size)
{
	struct scratch *mine = this_cpu_ptr(scratches);
	u32 level = mine->level++;

	/* Whoever interrupts us from here on puts the level back before we go on. */
	barrier();
	if (likely(level < LEVELS && size <= RS_KERNEL_RECORD_MAX))
		return mine->bytes[level];
	mine->level--;
	if (rs_core.info)
		rs_shared_add64(&rs_core.info->lost_nested, 1);
	return NULL;
}

notrace void rs_kernel_scratch_put(void)
{
	barrier();
	this_cpu_ptr(scratches)->level--;
}

notrace void rs_kernel_copy_text(char *to, u32 size, const char *from)
{
	u32 n = 0;

	if (!size)
		return;
	if (!from)
		from = "(null)";
	for (; n < size - 1 && from[n]; n++)
		to[n] = from[n];
	memset(to + n, 0, size - n);
}
