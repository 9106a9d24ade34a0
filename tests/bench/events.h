/* SPDX-License-Identifier: MIT */
/* The events that the benchmarks emit; "pair" is what LTTng-UST's tp.h has. */
#ifndef RS_TESTS_BENCH_EVENTS_H
#define RS_TESTS_BENCH_EVENTS_H

#include <ringside/event.h>

RS_TRACE_EVENT(bench, pair, TP_PROTO(uint32_t a, uint32_t b), TP_ARGS(a, b),
	       TP_STRUCT__entry(__field(u32, a), __field(u32, b)),
	       TP_fast_assign(__entry->a = a; __entry->b = b;), TP_printk("a=%u b=%u", a, b))

/* Never enabled: for the cost of a tracepoint that is off. */
RS_TRACE_EVENT(bench, off, TP_PROTO(uint32_t a, uint32_t b), TP_ARGS(a, b),
	       TP_STRUCT__entry(__field(u32, a), __field(u32, b)),
	       TP_fast_assign(__entry->a = a; __entry->b = b;), TP_printk("a=%u b=%u", a, b))

RS_TRACE_EVENT(bench, text, TP_PROTO(const char *text, uint32_t b), TP_ARGS(text, b),
	       TP_STRUCT__entry(__chars(text, 16), __field(u32, b)),
	       TP_fast_assign(__assign_chars(text, text); __entry->b = b;),
	       TP_printk("%s b=%u", text, b))

#endif
