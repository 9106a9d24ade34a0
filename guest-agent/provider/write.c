/* SPDX-License-Identifier: MIT */
/* What a statement does once its entry is built: callbacks, filter, record. */
#include "core.h"

#include <ringside/provider.h>

static __attribute__((__noinline__)) void call(struct rs_event *event, const uint64_t *entry,
					       uint32_t size, const struct rs_dyn *dyn,
					       uint32_t dyn_count)
{
	rs_callbacks_raw(event, NULL, 0);
	rs_callbacks_record(event, entry, size, dyn, dyn_count);
}

/* A frame of its own, whatever the rest is compiled with: rs_emit_stack() leaves it out. */
static __attribute__((__noinline__)) int write_stack(struct rs_event *event, uint32_t control,
						     const uint64_t *entry, uint32_t size,
						     const struct rs_dyn *dyn, uint32_t dyn_count)
{
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	rs_emit_stack(event, control, entry, size, dyn, dyn_count);
	return 0;
}

int rs_statement_write(struct rs_event *event, const uint64_t *entry, uint32_t size,
		       const struct rs_dyn *dyn, uint32_t dyn_count)
{
	uint32_t control = rs_event_control(event), judged;

	if (rs_unlikely(rs_load(&event->state.callbacks) != NULL))
		call(event, entry, size, dyn, dyn_count);
	if (!(control & RS_EVENT_ENABLED))
		return 0;
	if (control >> RS_EVENT_FILTER_SHIFT) {
		judged = rs_judge(event, control, entry, size);
		if (!judged)
			return 0;
		if (judged != RS_JUDGE_OPEN)
			control &= RS_EVENT_ENABLED | RS_EVENT_STACK_MASK;
	}
	if (control & RS_EVENT_STACK_MASK)
		return write_stack(event, control, entry, size, dyn, dyn_count);
	if (dyn_count || control >> RS_EVENT_FILTER_SHIFT)
		rs_emit(event, control, entry, size, dyn, dyn_count);
	else if (size - 1 < 8)
		rs_emit_8(event, entry, size);
	else if (size - 1 < 16)
		rs_emit_16(event, entry, size);
	else
		rs_emit_plain(event, entry, size);
	return 0;
}
