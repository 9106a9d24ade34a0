/* SPDX-License-Identifier: MIT */
/* The events of an example of a module. */
#include <ringside/event.h>

/* clang-format off */

RS_TRACE_EVENT(example, tick,
	TP_PROTO(uint32_t number, const char *where),
	TP_ARGS(number, where),
	TP_STRUCT__entry(
		__field(u32, number),
		__string(where)),
	TP_fast_assign(
		__entry->number = number;
		__assign_str(where, where);),
	TP_printk("number=%u where=%s", number, where))

RS_TRACE_EVENT(example, many,
	TP_PROTO(uint32_t place),
	TP_ARGS(place),
	TP_STRUCT__entry(
		__field(u32, place)),
	TP_fast_assign(
		__entry->place = place;),
	TP_printk("place=%u", place))
