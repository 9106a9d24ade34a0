/* SPDX-License-Identifier: MIT */
/* Two events with the same fields; no include guard: see event.h. */
#include <ringside/event.h>

RS_TRACE_EVENT(usage, test, TP_PROTO(uint32_t a, const uint32_t *b), TP_ARGS(a, b),
	       TP_STRUCT__entry(__field(u32, a), __array(u8, pad, 4), __field(u32, b)),
	       TP_fast_assign(__entry->a = a; __entry->b = *b),
	       TP_printk("Hello from tracepoint! a=%u, b=%u", a, b))

RS_TRACE_EVENT(usage, test2, TP_PROTO(uint32_t a, uint32_t b), TP_ARGS(a, b),
	       TP_STRUCT__entry(__field(u32, a), __field(u32, b)),
	       TP_fast_assign(__entry->a = a; __entry->b = b),
	       TP_printk("Hello from tracepoint! a=%u, b=%u", a, b))
