/* SPDX-License-Identifier: MIT */
/*
 * What makes event.h work. Only event.h includes this, and nothing here is promised to users.
 *
 * RS_EVENT_DECLARE makes trace_*() with its site. RS_EVENT_DEFINE makes the event and the function
 * that emits it. RS_EACH (each.h) goes through the fields once for each thing made of them.
 */
#ifndef RINGSIDE_EVENT_H
#error "include <ringside/event.h>"
#endif

#ifndef RINGSIDE_EVENT_IMPL_H
#define RINGSIDE_EVENT_IMPL_H

#include <ringside/atomic.h>
#include <ringside/control.h>
#include <ringside/descriptor.h>
#include <ringside/dyn.h>
#include <ringside/each.h>
#include <ringside/error.h>
#include <ringside/record.h>
#include <ringside/types.h>

#if defined(__x86_64__)
#include <ringside/site_x86_64.h>
#else
#error "no tracepoint sites for this architecture yet: write site_<arch>.h"
#endif

/*
 * A port whose events write their records themselves says how. An OS that wants its events small
 * defines RS_EMIT_SHARED, for all files or for some: then they call the agent. So does code under
 * a sanitizer of threads, which cannot see into assembly, and code that is not optimized: a task
 * must not be preempted in a function of its own that the fast path calls (RS_EMIT_SECTION).
 */
#if !defined(RS_EMIT_SHARED) && !defined(RS_ATOMIC_SANITIZED) && defined(__OPTIMIZE__) &&          \
	defined(__has_include)
#if __has_include("rs_emit_port.h")
#include "rs_emit_port.h"
#endif
#endif

/*
 * What a port needs around the making of an event, until its record is written: a declaration that
 * is undone at the end of its scope. The headers of such a port define it before this one.
 */
#ifndef RS_EVENT_GUARD
#define RS_EVENT_GUARD
#endif

/*
 * Where a file's events go. A library whose events are not those of the image that links it defines
 * another section before this header, and makes a provider of that.
 */
#ifndef RS_EVENTS_SECTION
#define RS_EVENTS_SECTION "rs_events"
#endif

/* What describes an event; constant. */
struct rs_symbol_info {
	uint64_t value;
	const char *name;
};

struct rs_field_info {
	const char *name;
	const char *type; /* of the field or of one element: "u32", "char" */
	const struct rs_symbol_info *symbols;
	uint16_t offset;
	uint16_t size;
	uint16_t elem_size;
	uint16_t elem_count;
	uint16_t symbol_count;
	uint8_t kind;  /* RS_KIND_* */
	uint8_t flags; /* RS_FIELD_* */
};
RS_ASSERT_SIZE(struct rs_field_info, 40);

struct rs_event_info {
	const char *system;
	const char *name;
	const char *print;      /* as printf's; each event has one, if only "" */
	const char *print_args; /* as written: "prev, __entry->next" */
	const struct rs_field_info *fields;
	uint32_t field_count;
	uint32_t entry_size;
	uint64_t keyword;
	uint32_t level;
};
RS_ASSERT_SIZE(struct rs_event_info, 64);

struct rs_agent_provider;

struct rs_callback;

/* What changes while an event is registered (rs_trace_ops.read_tracepoint_state). */
struct rs_event_state {
	struct rs_callback *callbacks; /* the agent's list of them: callback.h */
	uint32_t called;  /* low half: how many; high half: grows when it was or becomes 0 */
	uint32_t records; /* callbacks get records, too: rs_event_enable_callbacks() */
	void *own;        /* the OS's; the agent neither reads nor frees it */
};
RS_ASSERT_SIZE(struct rs_event_state, 24);

/*
 * An event. Sites point here, and a host reads the first word through them. Each fills a cache
 * line, so that the events of an image form an array in section rs_events.
 */
struct rs_event {
	uint32_t id; /* 0: not registered */
	uint32_t reserved0;
	const struct rs_event_info *info;
	struct rs_agent_provider *provider; /* NULL: not registered */
	struct rs_event_state state;
	/* The agent's list of a provider's events, in the order of their ids. */
	struct rs_event *next;
	/* Not NULL: the one event of several statements, of which this is one (provider.h). */
	struct rs_event *same;
} __attribute__((aligned(64)));
RS_ASSERT_SIZE(struct rs_event, 64);
RS_ASSERT_OFFSET(struct rs_event, id, 0);
RS_ASSERT_OFFSET(struct rs_event, state.called, RS_EVENT_CALLED_AT);

/* Emit functions and events have the same names in C and C++. */
#ifdef __cplusplus
#define RS_EXTERN_C extern "C"
extern "C" {
#else
#define RS_EXTERN_C extern
#endif

/* The control words of the region, or one zero word while no region is attached. */
extern const uint32_t *rs_event_ctl;

/*
 * What a host wants, and who listens in the guest, has not changed while both of these are as they
 * were: rs_control.generation of the region (or a zero), and a count of callbacks that came or went
 * and of regions that were attached or left.
 */
extern const uint32_t *rs_event_generation;
extern uint32_t rs_event_changes;

/* The event's control word: 0 while it is off or not registered, or while the agent is not up. */
static inline uint32_t rs_event_control(const struct rs_event *event)
{
	/* First the id, which is given after the words have come, and taken before they go. */
	uint32_t id = rs_load_acquire(&event->id);

	/* The host writes a filter's code before the word that names the filter. */
	return rs_load_acquire(&rs_load(&rs_event_ctl)[id]);
}

/*
 * What emits an event calls the next ones. `entry` holds `size` bytes, then zeroes up to a multiple
 * of 8. Locators are filled. `control` is the word that said "enabled".
 *
 * rs_emit_entry(): filter, call stack and record. A call stack is that of the functions that called
 * the caller of this one, from frame pointers. So it is with rs_emit_odd().
 */
void rs_emit_entry(struct rs_event *event, uint32_t control, const uint64_t *entry, uint32_t size,
		   const struct rs_dyn *dyn, uint32_t dyn_count);
/*
 * Calls an event's callbacks with its arguments. Returns what stands for the control word:
 * rs_emit_entry() and rs_emit_odd() then call those that get records. 0: nobody wants a record.
 */
uint32_t rs_emit_call(struct rs_event *event, const uint64_t *args, uint32_t count);
/*
 * For an event without dynamic fields that writes its records itself, but not this one, or not yet:
 * `control` asks for more, or is RS_EVENT_ENABLED and the fast path has refused. 1: the record is
 * to be written. 0: the filter rejects it, or it has been written.
 */
uint32_t rs_emit_odd(struct rs_event *event, uint32_t control, const uint64_t *entry,
		     uint32_t size);
/* For such an event that has no fast path of its own, and that no filter needs to judge. */
void rs_emit_plain(struct rs_event *event, const uint64_t *entry, uint32_t size);
/*
 * As rs_emit_plain(), for an entry of 1..8 and of 9..16 bytes: most events. The entry is passed in
 * memory: in a register it would have to be loaded from fields that were just stored, and such a
 * load waits for the store buffer.
 */
void rs_emit_8(struct rs_event *event, const uint64_t *entry, uint32_t size);
void rs_emit_16(struct rs_event *event, const uint64_t *entry, uint32_t size);

/* See callback.h. */
int rs_callback_register(struct rs_event *event, struct rs_callback *callback);
int rs_callback_unregister(struct rs_callback *callback);

#ifdef __cplusplus
}
#endif

/* Behind a call: the function that calls stays on the stack, also where that is its last act. */
#define RS_NO_TAIL_CALL() __asm__ volatile("")

/* The shortest of those above. `size`, and whether there is `dyn`, should be constant. */
static inline __attribute__((always_inline)) void
rs_emit_record(struct rs_event *event, uint32_t control, const uint64_t *entry, uint32_t size,
	       const struct rs_dyn *dyn, uint32_t dyn_count)
{
	if (dyn || control != RS_EVENT_ENABLED)
		rs_emit_entry(event, control, entry, size, dyn, dyn_count);
	else if (size - 1 < 8)
		rs_emit_8(event, entry, size);
	else if (size - 1 < 16)
		rs_emit_16(event, entry, size);
	else
		rs_emit_plain(event, entry, size);
}

/* What __assign_* do. */
static inline void rs_assign_string(struct rs_dyn *dyn, const char *text)
{
	uint32_t n = 0;

	if (!text)
		text = "(null)";
	while (n < RS_REC_MAX && text[n])
		n++;
	dyn->data = text;
	dyn->size = n + 1;
}

static inline void rs_assign_chars(char *out, const char *text, uint32_t size)
{
	for (uint32_t i = 0; text && i < size && text[i]; i++)
		out[i] = text[i];
}

static inline void rs_assign_bytes(void *out, const void *in, uint32_t size)
{
	for (uint32_t i = 0; in && i < size; i++)
		((unsigned char *)out)[i] = ((const unsigned char *)in)[i];
}

static inline void rs_assign_elems(struct rs_dyn *dyn, const void *data, uint64_t count,
				   uint32_t elem_size)
{
	uint64_t most = RS_REC_MAX / elem_size;

	dyn->data = data;
	dyn->size = data ? (uint32_t)(count < most ? count : most) * elem_size : 0;
}

/*
 * Returns where the next dynamic field starts. Of a record that is too large, the locators are made
 * anew when it is cut.
 */
static inline uint32_t rs_place_dyn(uint32_t *locator, const struct rs_dyn *dyn, uint32_t at)
{
	*locator = rs_locator(at, dyn->size);
	return at + dyn->size;
}

#define __assign_str(field, text) rs_assign_string(&__dyn[rs_dyn_##field], (text))
#define __assign_array(field, data, count)                                                         \
	rs_assign_elems(&__dyn[rs_dyn_##field], (data), (count), sizeof(rs_elem_##field))
#define __assign_chars(field, text) rs_assign_chars(__entry->field, (text), sizeof(__entry->field))
#define __assign_fixed(field, data) rs_assign_bytes(__entry->field, (data), sizeof(__entry->field))

/* The integer types: C type, name, kind and flags. */
#define RS_T_u8 uint8_t
#define RS_T_u16 uint16_t
#define RS_T_u32 uint32_t
#define RS_T_u64 uint64_t
#define RS_T_s8 int8_t
#define RS_T_s16 int16_t
#define RS_T_s32 int32_t
#define RS_T_s64 int64_t
#define RS_T_uint8_t uint8_t
#define RS_T_uint16_t uint16_t
#define RS_T_uint32_t uint32_t
#define RS_T_uint64_t uint64_t
#define RS_T_int8_t int8_t
#define RS_T_int16_t int16_t
#define RS_T_int32_t int32_t
#define RS_T_int64_t int64_t
#define RS_TYPE_SIGNED(T) ((T)-1 < (T)1)
#define RS_TYPE_NAME(T)                                                                            \
	(RS_TYPE_SIGNED(T) ? (sizeof(T) == 1   ? "s8"                                              \
			      : sizeof(T) == 2 ? "s16"                                             \
			      : sizeof(T) == 4 ? "s32"                                             \
					       : "s64")                                            \
			   : (sizeof(T) == 1   ? "u8"                                              \
			      : sizeof(T) == 2 ? "u16"                                             \
			      : sizeof(T) == 4 ? "u32"                                             \
					       : "u64"))
#define RS_TYPE_KIND(T) (RS_TYPE_SIGNED(T) ? RS_KIND_SINT : RS_KIND_UINT)
#define RS_TYPE_FLAGS(T) (RS_TYPE_SIGNED(T) ? RS_FIELD_SIGNED : 0)

/* Items of TP_STRUCT__entry become a kind and its arguments. */
#define RS_KIND_OF___field(T, name) field, RS_T_##T, name
#define RS_KIND_OF___field_hex(T, name) hex, RS_T_##T, name
#define RS_KIND_OF___field_ptr(name) ptr, name
#define RS_KIND_OF___enum(T, name, ...) enum, RS_T_##T, name, __VA_ARGS__
#define RS_KIND_OF___flags(T, name, ...) flags, RS_T_##T, name, __VA_ARGS__
#define RS_KIND_OF___array(T, name, count) array, RS_T_##T, name, count, 0
#define RS_KIND_OF___array_hex(T, name, count) array, RS_T_##T, name, count, RS_FIELD_HEX
#define RS_KIND_OF___chars(name, size) chars, name, size
#define RS_KIND_OF___dynamic_array(T, name) dynarray, RS_T_##T, name, 0
#define RS_KIND_OF___dynamic_array_hex(T, name) dynarray, RS_T_##T, name, RS_FIELD_HEX
#define RS_KIND_OF___string(name) string, name

/* The items become members of the entry. */
#define RS_MEMBER(ctx, item) RS_DISPATCH(RS_MEMBER_, ctx, RS_KIND_OF_##item)
#define RS_MEMBER_field(ctx, T, name) T name;
#define RS_MEMBER_hex(ctx, T, name) T name;
#define RS_MEMBER_ptr(ctx, name) uint64_t name;
#define RS_MEMBER_enum(ctx, T, name, ...) T name;
#define RS_MEMBER_flags(ctx, T, name, ...) T name;
#define RS_MEMBER_array(ctx, T, name, count, extra) T name[count];
#define RS_MEMBER_chars(ctx, name, size) char name[size];
#define RS_MEMBER_dynarray(ctx, T, name, extra) uint32_t name;
#define RS_MEMBER_string(ctx, name) uint32_t name;

/* The items with symbols become arrays of these. `id` is the event's. */
#define RS_SYMBOLS(id, item) RS_DISPATCH(RS_SYMBOLS_, id, RS_KIND_OF_##item)
#define RS_SYMBOLS_field(...)
#define RS_SYMBOLS_hex(...)
#define RS_SYMBOLS_ptr(...)
#define RS_SYMBOLS_enum(id, T, field, ...)                                                         \
	static const struct rs_symbol_info rs_symbols_##id##_##field[] = {__VA_ARGS__};
#define RS_SYMBOLS_flags(id, T, field, ...) RS_SYMBOLS_enum(id, T, field, __VA_ARGS__)
#define RS_SYMBOLS_array(...)
#define RS_SYMBOLS_chars(...)
#define RS_SYMBOLS_dynarray(...)
#define RS_SYMBOLS_string(...)

/* The items become struct rs_field_info. It is filled in order: C++17 has no other way. */
#define RS_INFO(id, item) RS_DISPATCH(RS_INFO_, id, RS_KIND_OF_##item)
#define RS_INFO_ROW(id, field, type, symbols, symbol_count, elem_size, elem_count, kind, flags)    \
	{#field,                                                                                   \
	 type,                                                                                     \
	 symbols,                                                                                  \
	 offsetof(struct rs_entry_##id, field),                                                    \
	 sizeof(((struct rs_entry_##id *)0)->field),                                               \
	 elem_size,                                                                                \
	 elem_count,                                                                               \
	 symbol_count,                                                                             \
	 kind,                                                                                     \
	 flags},
#define RS_INFO_PLAIN(id, T, field, kind, flags)                                                   \
	RS_INFO_ROW(id, field, RS_TYPE_NAME(T), NULL, 0, 0, 0, kind, flags)
#define RS_INFO_NAMED(id, T, field, kind)                                                          \
	RS_INFO_ROW(id, field, RS_TYPE_NAME(T), rs_symbols_##id##_##field,                         \
		    sizeof(rs_symbols_##id##_##field) / sizeof(struct rs_symbol_info), 0, 0, kind, \
		    0)
#define RS_INFO_ELEMS(id, T, field, count, kind, extra)                                            \
	RS_INFO_ROW(id, field, RS_TYPE_NAME(T), NULL, 0, sizeof(T), count, kind,                   \
		    RS_TYPE_FLAGS(T) | (extra))
#define RS_INFO_TEXT(id, field, count, kind)                                                       \
	RS_INFO_ROW(id, field, "char", NULL, 0, 1, count, kind, 0)
#define RS_INFO_field(id, T, field) RS_INFO_PLAIN(id, T, field, RS_TYPE_KIND(T), RS_TYPE_FLAGS(T))
#define RS_INFO_hex(id, T, field) RS_INFO_PLAIN(id, T, field, RS_KIND_HEX, 0)
#define RS_INFO_ptr(id, field) RS_INFO_ROW(id, field, "void *", NULL, 0, 0, 0, RS_KIND_POINTER, 0)
#define RS_INFO_enum(id, T, field, ...) RS_INFO_NAMED(id, T, field, RS_KIND_ENUM)
#define RS_INFO_flags(id, T, field, ...) RS_INFO_NAMED(id, T, field, RS_KIND_FLAGS)
#define RS_INFO_array(id, T, field, count, extra)                                                  \
	RS_INFO_ELEMS(id, T, field, count, RS_KIND_ARRAY, extra)
#define RS_INFO_chars(id, field, bytes) RS_INFO_TEXT(id, field, bytes, RS_KIND_STRING)
#define RS_INFO_dynarray(id, T, field, extra)                                                      \
	RS_INFO_ELEMS(id, T, field, 0, RS_KIND_DYN_ARRAY, extra)
#define RS_INFO_string(id, field) RS_INFO_TEXT(id, field, 0, RS_KIND_DYN_STRING)

/* The items become indices of the dynamic fields. */
#define RS_INDEX(ctx, item) RS_DISPATCH(RS_INDEX_, ctx, RS_KIND_OF_##item)
#define RS_INDEX_field(...)
#define RS_INDEX_hex(...)
#define RS_INDEX_ptr(...)
#define RS_INDEX_enum(...)
#define RS_INDEX_flags(...)
#define RS_INDEX_array(...)
#define RS_INDEX_chars(...)
#define RS_INDEX_dynarray(ctx, T, name, extra) rs_dyn_##name,
#define RS_INDEX_string(ctx, name) rs_dyn_##name,

/* The items become element types of the dynamic arrays. */
#define RS_ELEM(ctx, item) RS_DISPATCH(RS_ELEM_, ctx, RS_KIND_OF_##item)
#define RS_ELEM_field(...)
#define RS_ELEM_hex(...)
#define RS_ELEM_ptr(...)
#define RS_ELEM_enum(...)
#define RS_ELEM_flags(...)
#define RS_ELEM_array(...)
#define RS_ELEM_chars(...)
#define RS_ELEM_dynarray(ctx, T, name, extra) typedef T rs_elem_##name __attribute__((unused));
#define RS_ELEM_string(...)

/* The items become locators, in the order of the fields. */
#define RS_LOCATE(ctx, item) RS_DISPATCH(RS_LOCATE_, ctx, RS_KIND_OF_##item)
#define RS_LOCATE_field(...)
#define RS_LOCATE_hex(...)
#define RS_LOCATE_ptr(...)
#define RS_LOCATE_enum(...)
#define RS_LOCATE_flags(...)
#define RS_LOCATE_array(...)
#define RS_LOCATE_chars(...)
#define RS_LOCATE_dynarray(at, T, field, extra)                                                    \
	at = rs_place_dyn(&__entry->field, &__dyn[rs_dyn_##field], at);
#define RS_LOCATE_string(at, field) at = rs_place_dyn(&__entry->field, &__dyn[rs_dyn_##field], at);

/* In C++ an empty struct has a byte, which an event without fields must not have. */
#ifdef __cplusplus
#define RS_NO_MEMBER char rs_no_member_[0];
#else
#define RS_NO_MEMBER
#endif

#define RS_OPEN(...) __VA_ARGS__
#define RS_OPEN_TP_PROTO(...) __VA_ARGS__
#define RS_OPEN_TP_ARGS(...) __VA_ARGS__
#define RS_OPEN_TP_STRUCT__entry(...) __VA_ARGS__
#define RS_OPEN_TP_fast_assign(...) __VA_ARGS__
#define RS_FORMAT_TP_printk(...) RS_FIRST(__VA_ARGS__, )
#define RS_FIRST(first, ...) first
/* The arguments behind the format, ",prev,__entry->next", without the first comma. */
#define RS_PRINTED_TP_printk(...) &(RS_PRINTED_(__VA_ARGS__, ) "\0")[1]
#define RS_PRINTED_(format, ...) RS_EACH_ENDED(RS_PRINTED_ONE, , __VA_ARGS__)
#define RS_PRINTED_ONE(ctx, arg) "," #arg

/* An argument as a raw callback gets it: its bytes, at most 8, then zeroes. */
#define RS_ARG(ctx, arg)                                                                           \
	__extension__({                                                                            \
		__typeof__(arg) rs_arg = (arg);                                                    \
		uint64_t rs_value = 0;                                                             \
		__builtin_memcpy(&rs_value, &rs_arg, sizeof(rs_arg) < 8 ? sizeof(rs_arg) : 8);     \
		rs_value;                                                                          \
	}),

#define RS_UNUSED(ctx, arg) (void)(arg);

#define RS_EVENT_DECLARE(id, proto, args)                                                          \
	RS_EXTERN_C struct rs_event rs_event_##id __attribute__((visibility("hidden")));           \
	RS_EXTERN_C void rs_emit_##id proto __attribute__((visibility("hidden")));                 \
	static inline __attribute__((always_inline)) bool rs_site_##id(void)                       \
	{                                                                                          \
		RS_SITE_GOTO("rs_event_" #id, rs_on);                                              \
		return false;                                                                      \
	rs_on:                                                                                     \
		return true;                                                                       \
	}                                                                                          \
	static inline __attribute__((always_inline)) void trace_##id proto                         \
	{                                                                                          \
		if (rs_unlikely(rs_site_##id())) {                                                 \
			rs_emit_##id args;                                                         \
			RS_NO_TAIL_CALL();                                                         \
		}                                                                                  \
	}                                                                                          \
	static inline                                                                              \
		__attribute__((unused)) int register_trace_##id(struct rs_callback *callback)      \
	{                                                                                          \
		return rs_callback_register(&rs_event_##id, callback);                             \
	}                                                                                          \
	static inline                                                                              \
		__attribute__((unused)) int unregister_trace_##id(struct rs_callback *callback)    \
	{                                                                                          \
		return rs_callback_unregister(callback);                                           \
	}

#define RS_EVENT_DEFINE(id_, system_, name_, level_, keyword_, proto, args, assign, print_,        \
			printed, ...)                                                              \
	__extension__ struct rs_entry_##id_ {                                                      \
		RS_NO_MEMBER                                                                       \
		RS_EACH(RS_MEMBER, , __VA_ARGS__)                                                  \
	} __attribute__((may_alias));                                                              \
	RS_STATIC_ASSERT(sizeof(struct rs_entry_##id_) <= RS_MAX_ENTRY_SIZE,                       \
			 "event " system_ ":" name_ " has too large an entry");                    \
	RS_EACH(RS_SYMBOLS, id_, __VA_ARGS__)                                                      \
	static const struct rs_field_info rs_fields_##id_[] = {                                    \
		RS_EACH(RS_INFO, id_, __VA_ARGS__){NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0}};        \
	RS_STATIC_ASSERT(sizeof(rs_fields_##id_) / sizeof(struct rs_field_info) - 1 <=             \
				 RS_MAX_FIELDS,                                                    \
			 "event " system_ ":" name_ " has too many fields");                       \
	static const struct rs_event_info rs_info_##id_ = {                                        \
		system_,                                                                           \
		name_,                                                                             \
		print_,                                                                            \
		printed,                                                                           \
		rs_fields_##id_,                                                                   \
		sizeof(rs_fields_##id_) / sizeof(struct rs_field_info) - 1,                        \
		sizeof(struct rs_entry_##id_),                                                     \
		(keyword_),                                                                        \
		(level_),                                                                          \
	};                                                                                         \
	struct rs_event rs_event_##id_                                                             \
		__attribute__((section(RS_EVENTS_SECTION), used, visibility("hidden"))) = {        \
			0, 0, &rs_info_##id_, NULL, {NULL, 0, 0, NULL}, NULL, NULL};               \
	__attribute__((__noinline__, cold)) static uint32_t rs_call_##id_ proto                    \
	{                                                                                          \
		const uint64_t rs_args[] = {RS_EACH(RS_ARG, , RS_OPEN args) 0};                    \
                                                                                                   \
		return rs_emit_call(&rs_event_##id_, rs_args,                                      \
				    sizeof(rs_args) / sizeof(rs_args[0]) - 1);                     \
	}                                                                                          \
	RS_EMIT_SECTION __attribute__((__noinline__)) void rs_emit_##id_ proto                     \
	{                                                                                          \
		RS_EVENT_GUARD                                                                     \
		enum { RS_EACH(RS_INDEX, , __VA_ARGS__) rs_dyn_count };                            \
		enum {                                                                             \
			rs_own = RS_EMIT_OWN(sizeof(struct rs_entry_##id_), rs_dyn_count),         \
			rs_bytes = 0 RS_EACH(RS_BYTES, id_, __VA_ARGS__),                          \
			rs_flat = rs_own && sizeof(struct rs_entry_##id_) <= RS_EMIT_FLAT &&       \
				  !(0 RS_EACH(RS_ARRAYS, , __VA_ARGS__))                           \
		};                                                                                 \
		RS_EACH(RS_ELEM, , __VA_ARGS__)                                                    \
		union {                                                                            \
			struct rs_entry_##id_ entry;                                               \
			uint64_t words[(sizeof(struct rs_entry_##id_) + 7) / 8 +                   \
				       (sizeof(struct rs_entry_##id_) == 0)];                      \
		} rs_words;                                                                        \
		/* It may stay in registers: it has no arrays, and the code is its own. */         \
		struct rs_entry_##id_ rs_entry;                                                    \
		struct rs_entry_##id_ *const __entry = rs_flat ? &rs_entry : &rs_words.entry;      \
		struct rs_dyn __dyn[rs_dyn_count > 0 ? rs_dyn_count : 1];                          \
		uint32_t rs_at = sizeof(struct rs_entry_##id_), rs_id, rs_control;                 \
                                                                                                   \
		(void)__entry;                                                                     \
		(void)rs_at;                                                                       \
		if (rs_unlikely(rs_peek(&rs_event_##id_.state.callbacks) != NULL)) {               \
			rs_control = rs_call_##id_ args;                                           \
			rs_id = 0;                                                                 \
		} else {                                                                           \
			rs_id = rs_load_acquire(&rs_event_##id_.id);                               \
			rs_control = rs_load_acquire(&rs_load(&rs_event_ctl)[rs_id]);              \
		}                                                                                  \
		if (!(rs_control & RS_EVENT_ENABLED))                                              \
			return;                                                                    \
		if (rs_flat)                                                                       \
			__builtin_memset(&rs_entry, 0, sizeof(rs_entry));                          \
		else                                                                               \
			__builtin_memset(&rs_words, 0, sizeof(rs_words));                          \
		if (rs_dyn_count > 0)                                                              \
			__builtin_memset(__dyn, 0, sizeof(__dyn));                                 \
		RS_OPEN assign;                                                                    \
		RS_EACH(RS_LOCATE, rs_at, __VA_ARGS__)                                             \
		if (rs_own) {                                                                      \
			RS_EVENT_WRITE(id_)                                                        \
		} else {                                                                           \
			rs_emit_record(&rs_event_##id_, rs_control, rs_words.words,                \
				       sizeof(rs_entry), rs_dyn_count > 0 ? __dyn : NULL,          \
				       rs_dyn_count);                                              \
		}                                                                                  \
	}

/* The most that a compiler copies without a call, between the two halves of writing a record. */
#define RS_EMIT_FLAT 64u

/* Whether an event's own code writes its records. */
#ifdef RS_EMIT_KIND
#define RS_EMIT_OWN(size, dyn_count) ((dyn_count) == 0 && (size) <= RS_EMIT_WORDS * 8)
#else
#define RS_EMIT_OWN(size, dyn_count) 0
#define RS_EMIT_SECTION
#define RS_EVENT_WRITE(id)
#endif

/* The items become the sum of their bytes, which is less than the entry's if that has holes. */
#define RS_BYTES(id, item) RS_DISPATCH(RS_BYTES_, id, RS_KIND_OF_##item)
#define RS_BYTES_OF(id, name) +sizeof(((struct rs_entry_##id *)0)->name)
#define RS_BYTES_field(id, T, name) RS_BYTES_OF(id, name)
#define RS_BYTES_hex(id, T, name) RS_BYTES_OF(id, name)
#define RS_BYTES_ptr(id, name) RS_BYTES_OF(id, name)
#define RS_BYTES_enum(id, T, name, ...) RS_BYTES_OF(id, name)
#define RS_BYTES_flags(id, T, name, ...) RS_BYTES_OF(id, name)
#define RS_BYTES_array(id, T, name, count, extra) RS_BYTES_OF(id, name)
#define RS_BYTES_chars(id, name, size) RS_BYTES_OF(id, name)
#define RS_BYTES_dynarray(id, T, name, extra) RS_BYTES_OF(id, name)
#define RS_BYTES_string(id, name) RS_BYTES_OF(id, name)

/* The items become the number of those that the compiler keeps in memory. */
#define RS_ARRAYS(ctx, item) RS_DISPATCH(RS_ARRAYS_, ctx, RS_KIND_OF_##item)
#define RS_ARRAYS_field(...)
#define RS_ARRAYS_hex(...)
#define RS_ARRAYS_ptr(...)
#define RS_ARRAYS_enum(...)
#define RS_ARRAYS_flags(...)
#define RS_ARRAYS_array(...) +1
#define RS_ARRAYS_chars(...) +1
#define RS_ARRAYS_dynarray(...) +1
#define RS_ARRAYS_string(...) +1

#ifdef RS_EMIT_KIND
/*
 * rs_entry becomes a record in the ring. What is needed behind the call is read again, so no
 * register must be saved for it. The asm keeps the compiler from saving one for a constant.
 */
#define RS_EVENT_WRITE(id_)                                                                        \
	const uint32_t rs_count = sizeof(rs_words) / 8 - (sizeof(rs_entry) == 0);                  \
	struct rs_ring_state *rs_state;                                                            \
	struct rs_emit_place rs_place;                                                             \
                                                                                                   \
	while (rs_unlikely(rs_control != RS_EVENT_ENABLED || !rs_emit_ready() ||                   \
			   !rs_emit_reserve(RS_EMIT_KIND, rs_state = rs_emit_state(),              \
					    rs_emit_region, rs_emit_mark, rs_emit_clock, rs_count, \
					    &rs_place))) {                                         \
		if (rs_flat) {                                                                     \
			__builtin_memset(&rs_words, 0, sizeof(rs_words));                          \
			rs_words.entry = rs_entry;                                                 \
		}                                                                                  \
		if (!rs_emit_odd(&rs_event_##id_, rs_control, rs_words.words, sizeof(rs_entry)))   \
			return;                                                                    \
		rs_id = rs_load(&rs_event_##id_.id);                                               \
		if (!rs_id)                                                                        \
			return;                                                                    \
		__asm__("" : "=r"(rs_control) : "0"(RS_EVENT_ENABLED));                            \
		if (rs_flat)                                                                       \
			rs_entry = rs_words.entry;                                                 \
	}                                                                                          \
	rs_emit_head(&rs_place, rs_id, sizeof(rs_entry));                                          \
	/* Holes between the fields, and behind the last one, are zeroes. */                       \
	for (uint32_t rs_i = rs_bytes == sizeof(rs_entry) ? sizeof(rs_entry) / 8 : 0;              \
	     rs_flat && (rs_bytes % 8 || rs_bytes != sizeof(rs_entry)) && rs_i < rs_count; rs_i++) \
		rs_store(rs_place.at + 1 + rs_i, 0);                                               \
	if (rs_flat)                                                                               \
		*(struct rs_entry_##id_ *)(rs_place.at + 1) = rs_entry;                            \
	for (uint32_t rs_i = 0; !rs_flat && rs_i < rs_count; rs_i++)                               \
		rs_store(rs_place.at + 1 + rs_i, rs_words.words[rs_i]);                            \
	rs_emit_commit(RS_EMIT_KIND, rs_state, &rs_place);
#endif

#endif /* RINGSIDE_EVENT_IMPL_H */

/*
 * No include guard from here on. So a file may include event.h, then define RS_CREATE_TRACE_POINTS,
 * then include its events.
 */
#undef RS_EVENT
#if defined(RS_NO_TRACE)
#define RS_EVENT(id, system, name, level, keyword, proto, args, assign, print, printed, ...)       \
	static inline void trace_##id proto                                                        \
	{                                                                                          \
		RS_EACH(RS_UNUSED, , RS_OPEN args)                                                 \
	}                                                                                          \
	static inline                                                                              \
		__attribute__((unused)) int register_trace_##id(struct rs_callback *rs_callback)   \
	{                                                                                          \
		(void)rs_callback;                                                                 \
		return -RS_ENOSYS;                                                                 \
	}                                                                                          \
	static inline                                                                              \
		__attribute__((unused)) int unregister_trace_##id(struct rs_callback *rs_callback) \
	{                                                                                          \
		(void)rs_callback;                                                                 \
		return -RS_ENOENT;                                                                 \
	}
#elif defined(RS_CREATE_TRACE_POINTS)
#define RS_EVENT(id, system, name, level, keyword, proto, args, assign, print, printed, ...)       \
	RS_EVENT_DECLARE(id, proto, args)                                                          \
	RS_EVENT_DEFINE(id, system, name, level, keyword, proto, args, assign, print, printed,     \
			__VA_ARGS__)
#else
#define RS_EVENT(id, system, name, level, keyword, proto, args, assign, print, printed, ...)       \
	RS_EVENT_DECLARE(id, proto, args)
#endif
