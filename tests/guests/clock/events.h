/* SPDX-License-Identifier: MIT */
/* The event of the clock guest. */
#include <ringside/event.h>

/* clang-format off */

RS_TRACE_EVENT(clock, seen,
	TP_PROTO(uint32_t number),
	TP_ARGS(number),
	TP_STRUCT__entry(__field(u32, number)),
	TP_fast_assign(__entry->number = number;),
	TP_printk("number=%u", number))
