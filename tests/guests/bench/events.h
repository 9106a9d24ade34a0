/* SPDX-License-Identifier: MIT */
/* Events of the benchmark guest. */
#include <ringside/event.h>

/* clang-format off */

RS_TRACE_EVENT(bench, off,
	TP_PROTO(uint32_t a, uint32_t b),
	TP_ARGS(a, b),
	TP_STRUCT__entry(__field(u32, a), __field(u32, b)),
	TP_fast_assign(__entry->a = a; __entry->b = b;),
	TP_printk("a=%u b=%u", a, b))

RS_TRACE_EVENT(bench, two,
	TP_PROTO(uint32_t a, uint32_t b),
	TP_ARGS(a, b),
	TP_STRUCT__entry(__field(u32, a), __field(u32, b)),
	TP_fast_assign(__entry->a = a; __entry->b = b;),
	TP_printk("a=%u b=%u", a, b))

RS_TRACE_EVENT(bench, many,
	TP_PROTO(uint32_t site),
	TP_ARGS(site),
	TP_STRUCT__entry(__field(u32, site)),
	TP_fast_assign(__entry->site = site;),
	TP_printk("site=%u", site))

RS_TRACE_EVENT(bench, result,
	TP_PROTO(const char *name, uint64_t best, uint64_t median, uint32_t vcpus),
	TP_ARGS(name, best, median, vcpus),
	TP_STRUCT__entry(__chars(name, 24), __field(u64, best), __field(u64, median), __field(u32, vcpus)),
	TP_fast_assign(__assign_chars(name, name); __entry->best = best; __entry->median = median;
	               __entry->vcpus = vcpus;),
	TP_printk("%s best=%llu median=%llu ps vcpus=%u", name, best, median, vcpus))
