/* SPDX-License-Identifier: MIT */
#include "stack.h"
#include "arch.h"

/* Whatever lies on the stack may be looked at, so the sanitizers' opinion of it is not asked. */
__attribute__((no_sanitize("address", "undefined", "thread"))) uint32_t
rs_stack_walk(uintptr_t frame, uintptr_t from, uintptr_t end, uint64_t *out, uint32_t max)
{
	uint32_t count = 0;
	uintptr_t back;

	while (count < max && frame > from && frame % sizeof(frame) == 0 && frame < end &&
	       end - frame >= RS_ARCH_FRAME_BYTES) {
		back = rs_arch_frame_back(frame);
		if (!back)
			break;
		out[count++] = back;
		from = frame;
		frame = rs_arch_frame_caller(frame);
	}
	return count;
}
