/* SPDX-License-Identifier: MIT */
/*
 * Makes events of one of the kernel's trace headers, RS_KERNEL_HEADER. The header is read once for
 * each thing that is made of it, as the kernel itself does it for ftrace, perf and BPF: TRACE_EVENT
 * and its kin mean something else each time. So no field is written down twice, and a new kernel's
 * fields come by themselves.
 *
 *	#define RS_KERNEL_HEADER <trace/events/sched.h>
 *	#include "kernel_stages.h"
 *
 * A file includes this once. The port's own trace/define_trace.h, which is empty, keeps the kernel
 * from making its own things of the header.
 */
#include "kernel_emit.h"
#include "kernel_events.h"
#include "kernel_print.h"

#include <linux/tracepoint.h>
#include <linux/trace_events.h>
#include <linux/version.h>

/* Also a word of the agent's own events, which no kernel header means. */
#undef __assign_str
#define __assign_str(args...)

#define CREATE_TRACE_POINTS /* some headers have functions that only their makers see */
#include RS_KERNEL_HEADER
#undef CREATE_TRACE_POINTS
#define TRACE_HEADER_MULTI_READ

/* ---- what differs only in its name ---- */

/*
 * Each stage says what RS_CLASS and RS_ONE are. A file may leave an event or a class of events out:
 *	#define RS_SKIP_workqueue_queue_work 1
 * or show an argument otherwise before it is read:
 *	#define RS_VIEW_workqueue_queue_work 1
 *	#define RS_SHOW_workqueue_queue_work pwq = ...;
 */
#define RS_SHOW_UNLESS_0(name)
#define RS_SHOW_UNLESS_1(name) RS_SHOW_##name
#define RS_CLASS_UNLESS_0(name, proto, args, tstruct, assign, print)                               \
	RS_CLASS(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), PARAMS(print))
#define RS_CLASS_UNLESS_1(args...)
#define RS_ONE_UNLESS_00(template, name, proto, args)                                              \
	RS_ONE(template, name, PARAMS(proto), PARAMS(args))
#define RS_ONE_UNLESS_01(args...)
#define RS_ONE_UNLESS_10(args...)
#define RS_ONE_UNLESS_11(args...)
#define RS_PASTE_(a, b, c) a##b##c
#define RS_PASTE(a, b, c) RS_PASTE_(a, b, c)

#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)                             \
	RS_PASTE(RS_CLASS_UNLESS_, __is_defined(RS_SKIP_##name), )                                 \
	(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), PARAMS(print))
#undef DEFINE_EVENT
#define DEFINE_EVENT(template, name, proto, args)                                                  \
	RS_PASTE(RS_ONE_UNLESS_, __is_defined(RS_SKIP_##template), __is_defined(RS_SKIP_##name))   \
	(template, name, PARAMS(proto), PARAMS(args))
#undef TRACE_EVENT
#define TRACE_EVENT(name, proto, args, tstruct, assign, print)                                     \
	DECLARE_EVENT_CLASS(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign),    \
			    PARAMS(print))                                                         \
	DEFINE_EVENT(name, name, PARAMS(proto), PARAMS(args))
#undef TRACE_EVENT_CONDITION
#define TRACE_EVENT_CONDITION(name, proto, args, cond, tstruct, assign, print)                     \
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign),            \
		    PARAMS(print))
#undef TRACE_EVENT_FN
#define TRACE_EVENT_FN(name, proto, args, tstruct, assign, print, reg, unreg)                      \
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign),            \
		    PARAMS(print))
#undef TRACE_EVENT_FN_COND
#define TRACE_EVENT_FN_COND(name, proto, args, cond, tstruct, assign, print, reg, unreg)           \
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign),            \
		    PARAMS(print))
#undef TRACE_EVENT_NOP
#define TRACE_EVENT_NOP(name, proto, args, tstruct, assign, print)
#undef TRACE_EVENT_FLAGS
#define TRACE_EVENT_FLAGS(event, flag)
#undef TRACE_EVENT_PERF_PERM
#define TRACE_EVENT_PERF_PERM(event, expr...)
#undef DEFINE_EVENT_FN
#define DEFINE_EVENT_FN(template, name, proto, args, reg, unreg)                                   \
	DEFINE_EVENT(template, name, PARAMS(proto), PARAMS(args))
#undef DEFINE_EVENT_PRINT
#define DEFINE_EVENT_PRINT(template, name, proto, args, print)                                     \
	DEFINE_EVENT(template, name, PARAMS(proto), PARAMS(args))
#undef DEFINE_EVENT_CONDITION
#define DEFINE_EVENT_CONDITION(template, name, proto, args, cond)                                  \
	DEFINE_EVENT(template, name, PARAMS(proto), PARAMS(args))
#undef DEFINE_EVENT_NOP
#define DEFINE_EVENT_NOP(template, name, proto, args)
#undef DECLARE_TRACE
#define DECLARE_TRACE(name, proto, args)
#undef DECLARE_TRACE_CONDITION
#define DECLARE_TRACE_CONDITION(name, proto, args, cond)
#undef TRACE_DEFINE_ENUM
#define TRACE_DEFINE_ENUM(a)
#undef TRACE_DEFINE_SIZEOF
#define TRACE_DEFINE_SIZEOF(a)

/* ---- the record, as ftrace has it behind its own head ---- */

#include <trace/stages/stage1_struct_define.h>

#undef RS_CLASS
#define RS_CLASS(call, proto, args, tstruct, assign, print)                                        \
	struct rs_raw_##call {                                                                     \
		tstruct char __data[];                                                             \
	};
#undef RS_ONE
#define RS_ONE(template, name, proto, args)

#include RS_KERNEL_HEADER

/* ---- sizes and places of dynamic fields ---- */

#include <trace/stages/stage2_data_offsets.h>

#undef RS_CLASS
#define RS_CLASS(call, proto, args, tstruct, assign, print)                                        \
	struct rs_places_##call {                                                                  \
		tstruct                                                                            \
	};

#include RS_KERNEL_HEADER

/* How many there are: one byte for each. */
#undef __dynamic_array
#define __dynamic_array(type, item, len) char item;
#undef __rel_dynamic_array
#define __rel_dynamic_array(type, item, len) char item;

#undef RS_CLASS
#define RS_CLASS(call, proto, args, tstruct, assign, print)                                        \
	struct rs_dynamic_##call {                                                                 \
		tstruct                                                                            \
	};

#include RS_KERNEL_HEADER

/* ---- what describes the fields ---- */

#define RS_SCALAR_KIND(type)                                                                       \
	(__builtin_classify_type(*(type *)0) == 5 ? RS_KIND_POINTER                                \
	 : is_signed_type(type)                   ? RS_KIND_SINT                                   \
						  : RS_KIND_UINT)
#define RS_IS_TEXT(type) __builtin_types_compatible_p(type, char)
#define RS_ELEM_FLAGS(type) (is_signed_type(type) && !RS_IS_TEXT(type) ? RS_FIELD_SIGNED : 0)

#undef __field_ext
#define __field_ext(type, item, filter)                                                            \
	{#item, #type, offsetof(rs_raw, item), sizeof(type), 0, 0, RS_SCALAR_KIND(type), 0},
#undef __field
#define __field(type, item) __field_ext(type, item, 0)
#undef __field_struct_ext
#define __field_struct_ext(type, item, filter)                                                     \
	{#item, "u8",         offsetof(rs_raw, item), sizeof(type),                                \
	 1,     sizeof(type), RS_KIND_ARRAY,          RS_FIELD_HEX},
#undef __field_struct
#define __field_struct(type, item) __field_struct_ext(type, item, 0)
#undef __array
#define __array(type, item, len)                                                                   \
	{#item,                                                                                    \
	 #type,                                                                                    \
	 offsetof(rs_raw, item),                                                                   \
	 sizeof(type[len]),                                                                        \
	 sizeof(type),                                                                             \
	 len,                                                                                      \
	 RS_IS_TEXT(type) ? RS_KIND_STRING : RS_KIND_ARRAY,                                        \
	 RS_ELEM_FLAGS(type)},
#define RS_DYNAMIC(type, item, place, flags)                                                       \
	{#item,                                                                                    \
	 #type,                                                                                    \
	 offsetof(rs_raw, place),                                                                  \
	 4,                                                                                        \
	 sizeof(type),                                                                             \
	 0,                                                                                        \
	 RS_IS_TEXT(type) ? RS_KIND_DYN_STRING : RS_KIND_DYN_ARRAY,                                \
	 RS_ELEM_FLAGS(type) | (flags)},
#undef __dynamic_array
#define __dynamic_array(type, item, len) RS_DYNAMIC(type, item, __data_loc_##item, 0)
#undef __string
#define __string(item, src) __dynamic_array(char, item, -1)
#undef __string_len
#define __string_len(item, src, len) __dynamic_array(char, item, -1)
#undef __vstring
#define __vstring(item, fmt, ap) __dynamic_array(char, item, -1)
#undef __bitmask
#define __bitmask(item, bits) RS_DYNAMIC(unsigned long, item, __data_loc_##item, RS_FIELD_HEX)
#undef __cpumask
#define __cpumask(item) __bitmask(item, -1)
#undef __sockaddr
#define __sockaddr(item, len) RS_DYNAMIC(u8, item, __data_loc_##item, RS_FIELD_HEX)
#undef __rel_dynamic_array
#define __rel_dynamic_array(type, item, len) RS_DYNAMIC(type, item, __rel_loc_##item, 0)
#undef __rel_string
#define __rel_string(item, src) __rel_dynamic_array(char, item, -1)
#undef __rel_string_len
#define __rel_string_len(item, src, len) __rel_dynamic_array(char, item, -1)
#undef __rel_bitmask
#define __rel_bitmask(item, bits) RS_DYNAMIC(unsigned long, item, __rel_loc_##item, RS_FIELD_HEX)
#undef __rel_cpumask
#define __rel_cpumask(item) __rel_bitmask(item, -1)
#undef __rel_sockaddr
#define __rel_sockaddr(item, len) RS_DYNAMIC(u8, item, __rel_loc_##item, RS_FIELD_HEX)

#undef RS_CLASS
#define RS_CLASS(call, proto, args, tstruct, assign, print)                                        \
	static const struct rs_kernel_field *rs_fields_##call(void)                                \
	{                                                                                          \
		typedef struct rs_raw_##call rs_raw;                                               \
		static const struct rs_kernel_field fields[] = {tstruct{NULL}};                    \
                                                                                                   \
		return fields;                                                                     \
	}

#include RS_KERNEL_HEADER

/* ---- how it is printed ---- */

#include <trace/stages/stage3_trace_output.h>

/*
 * Nothing of this runs. The notes are read when the module is loaded (kernel_print.h). What else an
 * argument may call is never called, so the compiler drops it.
 */
#define RS_NOTE(kind, text, args, pairs)                                                           \
	static const struct rs_kernel_note rs_note = {__func__, text, args, pairs, kind};          \
	static const struct rs_kernel_note *const rs_noted __used __section("rs_kernel_notes") =   \
		&rs_note
#define RS_NOTE_PAIRS(kind, value, pairs...)                                                       \
	({                                                                                         \
		static const struct trace_print_flags rs_pairs[] = {pairs, {-1, NULL}};            \
		RS_NOTE(kind, #value, NULL, rs_pairs);                                             \
		"";                                                                                \
	})
#undef __print_symbolic
#define __print_symbolic(value, pairs...) RS_NOTE_PAIRS(RS_KIND_ENUM, value, pairs)
#undef __print_flags
#define __print_flags(value, separator, pairs...) RS_NOTE_PAIRS(RS_KIND_FLAGS, value, pairs)
#undef __print_hex
#define __print_hex(args...) ""
#undef __print_hex_str
#define __print_hex_str(args...) ""
#undef __print_array
#define __print_array(args...) ""
#undef __print_hex_dump
#define __print_hex_dump(args...) ""
#undef __get_bitmask
#define __get_bitmask(field) ""
#undef __get_cpumask
#define __get_cpumask(field) ""
#undef __get_rel_bitmask
#define __get_rel_bitmask(field) ""
#undef __get_rel_cpumask
#define __get_rel_cpumask(field) ""
#undef TP_printk
#define TP_printk(format, args...)                                                                 \
	{                                                                                          \
		RS_NOTE(0, format, #args, NULL);                                                   \
		if (0)                                                                             \
			rs_kernel_ignore(format, ##args);                                          \
	}

#undef RS_CLASS
#define RS_CLASS(call, proto, args, tstruct, assign, print)                                        \
	static void __used rs_print_##call(struct rs_raw_##call *field)                            \
	{                                                                                          \
		print                                                                              \
	}

#include RS_KERNEL_HEADER

/* ---- how large a record is ---- */

#include <trace/stages/stage5_get_offsets.h>

#undef RS_CLASS
#define RS_CLASS(call, proto, args, tstruct, assign, print)                                        \
	static inline notrace u32 rs_measure_##call(struct rs_places_##call *__data_offsets,       \
						    proto)                                         \
	{                                                                                          \
		int __maybe_unused __item_length;                                                  \
		struct rs_raw_##call __maybe_unused *entry;                                        \
		u32 __data_size = 0;                                                               \
                                                                                                   \
		tstruct;                                                                           \
		return __data_size;                                                                \
	}

#include RS_KERNEL_HEADER

/* ---- the record itself ---- */

#include <trace/stages/stage3_trace_output.h>
#include <trace/stages/stage6_event_callback.h>

/* The agent's locators count from the record's start, also those that the kernel counts otherwise.
 */
#undef __dynamic_array
#define __dynamic_array(type, item, len)                                                           \
	__entry->__data_loc_##item = __data_offsets.item;                                          \
	rs_dyn[rs_dyn_count++] = (struct rs_dyn){(char *)__entry + (__data_offsets.item & 0xffff), \
						 __data_offsets.item >> 16};
#undef __rel_dynamic_array
#define __rel_dynamic_array(type, item, len)                                                       \
	__entry->__rel_loc_##item = __data_offsets.item;                                           \
	rs_dyn[rs_dyn_count++] =                                                                   \
		(struct rs_dyn){__get_rel_dynamic_array(item), __data_offsets.item >> 16};

/* A string may have got longer since it was measured. */
#undef __assign_str
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define __assign_str(item)                                                                         \
	rs_kernel_copy_text(__get_str(item), __get_dynamic_array_len(item),                        \
			    __data_offsets.item##_ptr_)
#else
#define __assign_str(item, src)                                                                    \
	rs_kernel_copy_text(__get_str(item), __get_dynamic_array_len(item), src)
#endif

#undef RS_CLASS
#define RS_CLASS(call, proto, args, tstruct, assign, print)                                        \
	static noinline notrace void rs_class_##call(struct rs_event *rs_event, proto)             \
	{                                                                                          \
		struct rs_places_##call __maybe_unused __data_offsets;                             \
		struct rs_dyn rs_dyn[sizeof(struct rs_dynamic_##call) ?: 1];                       \
		u64 rs_words[DIV_ROUND_UP(sizeof(struct rs_raw_##call), 8) ?: 1];                  \
		u32 rs_control = rs_event_control(rs_event), rs_dyn_count = 0;                     \
		const u32 rs_fixed = offsetof(struct rs_raw_##call, __data);                       \
		const bool rs_dynamic = sizeof(struct rs_dynamic_##call) != 0;                     \
		struct rs_raw_##call *entry = (void *)rs_words;                                    \
                                                                                                   \
		if (!(rs_control & RS_EVENT_ENABLED))                                              \
			return;                                                                    \
		RS_PASTE(RS_SHOW_UNLESS_, __is_defined(RS_VIEW_##call), )                          \
		(call) if (rs_dynamic)                                                             \
		{                                                                                  \
			entry = rs_kernel_scratch_get(sizeof(*entry) +                             \
						      rs_measure_##call(&__data_offsets, args));   \
			if (!entry)                                                                \
				return;                                                            \
		}                                                                                  \
		memset(entry, 0, sizeof(*entry));                                                  \
		tstruct                                                                            \
		{                                                                                  \
			assign;                                                                    \
		}                                                                                  \
		rs_emit_record(rs_event, rs_control, (const u64 *)entry, rs_fixed,                 \
			       rs_dynamic ? rs_dyn : NULL, rs_dyn_count);                          \
		if (rs_dynamic)                                                                    \
			rs_kernel_scratch_put();                                                   \
	}

#include RS_KERNEL_HEADER

/* ---- the events ---- */

#undef RS_CLASS
#define RS_CLASS(call, proto, args, tstruct, assign, print)
#undef RS_ONE
#define RS_ONE(template, call, proto, args)                                                        \
	extern struct rs_event rs_event_kernel_##call;                                             \
	static notrace void rs_probe_##call(void *rs_data, proto)                                  \
	{                                                                                          \
		RS_SITE_GOTO("rs_event_kernel_" #call, rs_on);                                     \
		return;                                                                            \
	rs_on:                                                                                     \
		rs_class_##template(&rs_event_kernel_##call, args);                                \
	}                                                                                          \
	static inline void rs_check_##call(void)                                                   \
	{                                                                                          \
		check_trace_callback_type_##call(rs_probe_##call);                                 \
	}                                                                                          \
	struct rs_event rs_event_kernel_##call __used __section("rs_events");                      \
	static struct rs_kernel_event rs_kernel_event_##call = {                                   \
		.event = &rs_event_kernel_##call,                                                  \
		.system = __stringify(TRACE_SYSTEM),                                               \
		.name = #call,                                                                     \
		.probe = rs_probe_##call,                                                          \
		.fields = rs_fields_##template,                                                    \
		.printed = "rs_print_" #template,                                                  \
		.entry_size = offsetof(struct rs_raw_##template, __data),                          \
	};                                                                                         \
	static struct rs_kernel_event *const rs_kernel_row_##call __used __section(                \
		"rs_kernel_events") = &rs_kernel_event_##call;

#include RS_KERNEL_HEADER
