/* SPDX-License-Identifier: MIT */
/* What engines do, as events of the system utrace. No include guard: see ringside/event.h. */
#include <ringside/event.h>

#define RS_UTRACE_EVENT_SYMBOLS                                                                    \
	{0, "QUIESCE"}, {1, "REAP"}, {2, "CLONE"}, {3, "EXEC"}, {4, "EXIT"}, {5, "DEATH"},         \
		{6, "SYSCALL_ENTRY"}, {7, "SYSCALL_EXIT"}, {8, "SIGNAL"}, {9, "SIGNAL_IGN"},       \
		{10, "SIGNAL_STOP"}, {11, "SIGNAL_TERM"}, {12, "SIGNAL_CORE"},                     \
	{                                                                                          \
		13, "JCTL"                                                                         \
	}
#define RS_UTRACE_ACTION_SYMBOLS                                                                   \
	{0, "STOP"}, {1, "INTERRUPT"}, {2, "REPORT"}, {3, "SINGLESTEP"}, {4, "BLOCKSTEP"},         \
		{5, "RESUME"},                                                                     \
	{                                                                                          \
		6, "DETACH"                                                                        \
	}

RS_TRACE_EVENT(utrace, attach, TP_PROTO(uint32_t thread, uint64_t engine), TP_ARGS(thread, engine),
	       TP_STRUCT__entry(__field(u32, thread), __field(u64, engine)),
	       TP_fast_assign(__entry->thread = thread; __entry->engine = engine),
	       TP_printk("thread=%u engine=%llu", __entry->thread, __entry->engine))

RS_TRACE_EVENT(utrace, detach, TP_PROTO(uint32_t thread, uint64_t engine), TP_ARGS(thread, engine),
	       TP_STRUCT__entry(__field(u32, thread), __field(u64, engine)),
	       TP_fast_assign(__entry->thread = thread; __entry->engine = engine),
	       TP_printk("thread=%u engine=%llu", __entry->thread, __entry->engine))

/* A callback has returned. `event` is the callback's, `action` what it returned. */
RS_TRACE_EVENT(utrace, report,
	       TP_PROTO(uint32_t thread, uint64_t engine, uint32_t event, uint32_t action),
	       TP_ARGS(thread, engine, event, action),
	       TP_STRUCT__entry(__field(u32, thread), __field(u64, engine),
				__enum(u8, event, RS_UTRACE_EVENT_SYMBOLS),
				__enum(u8, action, RS_UTRACE_ACTION_SYMBOLS)),
	       TP_fast_assign(__entry->thread = thread; __entry->engine = engine;
			      __entry->event = (uint8_t)event; __entry->action = (uint8_t)action),
	       TP_printk("thread=%u engine=%llu event=%s action=%s", __entry->thread,
			 __entry->engine, __entry->event, __entry->action))

/* A thread stops at `event`; QUIESCE: where it would return to user mode. */
RS_TRACE_EVENT(utrace, stop, TP_PROTO(uint32_t thread, uint32_t event), TP_ARGS(thread, event),
	       TP_STRUCT__entry(__field(u32, thread), __enum(u8, event, RS_UTRACE_EVENT_SYMBOLS)),
	       TP_fast_assign(__entry->thread = thread; __entry->event = (uint8_t)event),
	       TP_printk("thread=%u event=%s", __entry->thread, __entry->event))

/* It goes on, since `engine` has asked for `action`; engine 0: since it was killed. */
RS_TRACE_EVENT(utrace, resume, TP_PROTO(uint32_t thread, uint64_t engine, uint32_t action),
	       TP_ARGS(thread, engine, action),
	       TP_STRUCT__entry(__field(u32, thread), __field(u64, engine),
				__enum(u8, action, RS_UTRACE_ACTION_SYMBOLS)),
	       TP_fast_assign(__entry->thread = thread; __entry->engine = engine;
			      __entry->action = (uint8_t)action),
	       TP_printk("thread=%u engine=%llu action=%s", __entry->thread, __entry->engine,
			 __entry->action))
