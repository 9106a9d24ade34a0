/* SPDX-License-Identifier: MIT */
/* What the threads of hosted-engine do. */
#ifndef HOSTED_ENGINE_EVENTS_H
#define HOSTED_ENGINE_EVENTS_H

#include <ringside/event.h>

RS_TRACE_EVENT(engine, called,
	       TP_PROTO(uint32_t thread, uint64_t number, uint64_t first, uint64_t rbx,
			int64_t result),
	       TP_ARGS(thread, number, first, rbx, result),
	       TP_STRUCT__entry(__field(u32, thread), __field(u64, number), __field(u64, first),
				__field(u64, rbx), __field(s64, result)),
	       TP_fast_assign(__entry->thread = thread; __entry->number = number;
			      __entry->first = first; __entry->rbx = rbx;
			      __entry->result = result;),
	       TP_printk("thread=%u number=%llu first=%llu rbx=%llu result=%lld", thread, number,
			 first, rbx, result))

RS_TRACE_EVENT(engine, signal, TP_PROTO(uint32_t thread, int32_t number, uint32_t fate),
	       TP_ARGS(thread, number, fate),
	       TP_STRUCT__entry(__field(u32, thread), __field(s32, number), __field(u32, fate)),
	       TP_fast_assign(__entry->thread = thread; __entry->number = number;
			      __entry->fate = fate;),
	       TP_printk("thread=%u number=%d fate=%u", thread, number, fate))

RS_TRACE_EVENT(engine, born, TP_PROTO(uint32_t thread, uint32_t parent), TP_ARGS(thread, parent),
	       TP_STRUCT__entry(__field(u32, thread), __field(u32, parent)),
	       TP_fast_assign(__entry->thread = thread; __entry->parent = parent;),
	       TP_printk("thread=%u parent=%u", thread, parent))

RS_TRACE_EVENT(engine, died, TP_PROTO(uint32_t thread, int64_t code), TP_ARGS(thread, code),
	       TP_STRUCT__entry(__field(u32, thread), __field(s64, code)),
	       TP_fast_assign(__entry->thread = thread; __entry->code = code;),
	       TP_printk("thread=%u code=%lld", thread, code))

#endif
