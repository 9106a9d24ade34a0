/* SPDX-License-Identifier: MIT */
/*
 * Call stacks, by the kernel's own unwinder: most kernels have no frame pointers. It reads tables
 * alone and takes no lock, so it may run anywhere, as it does for ftrace.
 */
#include "module.h"

#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/stacktrace.h>
#include <ringside/types.h>

/* Ours come first: this function, the agent's two, and the probe of a kernel's tracepoint. */
#define OURS_MAX 10u
/* So many of ours, and no probe among them: what comes next is another module's event. */
#define OURS_IN_MODULES 3u

static bool is_ours(unsigned long address)
{
	return within_module_core(address, THIS_MODULE);
}

#define CALL 0xe8 /* and an offset of 32 bits from what follows */
#define CALL_BYTES 5

/*
 * A tracepoint that has one probe calls it by an instruction of its own, in the function that
 * fires. Else that calls a function that calls all probes, by pointers.
 */
static bool calls_us(unsigned long after)
{
	s32 offset;

	if (*(const u8 *)(after - CALL_BYTES) != CALL)
		return false;
	memcpy(&offset, (const void *)(after - sizeof(offset)), sizeof(offset));
	return is_ours(after + offset);
}

notrace noinline u32 rs_call_stack(u64 *frames, u32 max)
{
	unsigned long all[RS_STACK_MAX + OURS_MAX];
	u32 count, skip = 0;

	BUILD_BUG_ON(sizeof(*frames) != sizeof(*all));
	count = stack_trace_save(all, min_t(u32, max + OURS_MAX, ARRAY_SIZE(all)), 0);
	while (skip < count && is_ours(all[skip]))
		skip++;
	/* Before the function that fires may be an event's own, or one that calls all probes. */
	if (skip < count && (skip <= OURS_IN_MODULES || !calls_us(all[skip])))
		skip++;
	count = min(count - skip, max);
	memcpy(frames, all + skip, count * sizeof(*frames));
	return count;
}
