/* SPDX-License-Identifier: MIT */
/* What a statement does once its entry is built: callbacks, filter, record. */
#include "core.h"

#include <ringside/provider.h>

int rs_statement_write(struct rs_event *event, const uint64_t *entry, uint32_t size,
		       const struct rs_dyn *dyn, uint32_t dyn_count)
{
	uint32_t control = rs_likely(!rs_load(&event->state.callbacks))
				   ? rs_event_control(event)
				   : rs_emit_call(event, NULL, 0);

	/* A call stack leaves this function out, so it has a frame whatever it is compiled with. */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	if (control & RS_EVENT_ENABLED)
		rs_emit_record(event, control, entry, size, dyn, dyn_count);
	RS_NO_TAIL_CALL();
	return 0;
}
