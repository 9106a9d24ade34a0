/* SPDX-License-Identifier: MIT */
/*
 * What makes provider.h work. Only provider.h includes this, and nothing here is promised to users.
 *
 * A statement makes its event as event_impl.h does, with everything inside of one block: the entry,
 * the description, the site and the code. An item here is one of event_impl.h and a value.
 */
#ifndef RINGSIDE_PROVIDER_IMPL_H
#define RINGSIDE_PROVIDER_IMPL_H

#include <ringside/provider.h>

/* A provider's sites lie in a section of its own, of which linkers know both ends. They lead to its
 * events, which lie where compilers put them. */
#define RS_PROVIDER_DECLARE_(variable)                                                             \
	RS_EXTERN_C const struct rs_site __start_rs_sites_##variable[]                             \
		__attribute__((weak, visibility("hidden")));                                       \
	RS_EXTERN_C const struct rs_site __stop_rs_sites_##variable[]                              \
		__attribute__((weak, visibility("hidden")));                                       \
	RS_EXTERN_C const char rs_system_of_##variable[] __attribute__((visibility("hidden")));    \
	RS_EXTERN_C struct rs_agent_provider variable __attribute__((visibility("hidden")));

#define RS_PROVIDER_DEFINE_(variable, name_)                                                       \
	RS_PROVIDER_DECLARE_(variable)                                                             \
	RS_STATIC_ASSERT(sizeof(name_) <= RS_PROVIDER_NAME_MAX,                                    \
			 "the provider name " name_ " is too long");                               \
	const char rs_system_of_##variable[] = name_;                                              \
	struct rs_agent_provider variable = {                                                      \
		rs_system_of_##variable,                                                           \
		NULL,                                                                              \
		NULL,                                                                              \
		__start_rs_sites_##variable,                                                       \
		__stop_rs_sites_##variable,                                                        \
		0,                                                                                 \
		NULL,                                                                              \
		NULL,                                                                              \
		NULL,                                                                              \
		0,                                                                                 \
		0,                                                                                 \
		NULL,                                                                              \
		NULL,                                                                              \
		NULL,                                                                              \
		0,                                                                                 \
		0,                                                                                 \
		0,                                                                                 \
	};

/* Items without their values: as the items of TP_STRUCT__entry. */
#define RS_WRITE_KIND___field(T, name, value) RS_KIND_OF___field(T, name)
#define RS_WRITE_KIND___field_hex(T, name, value) RS_KIND_OF___field_hex(T, name)
#define RS_WRITE_KIND___field_ptr(name, value) RS_KIND_OF___field_ptr(name)
#define RS_WRITE_KIND___enum(T, name, value, ...) RS_KIND_OF___enum(T, name, __VA_ARGS__)
#define RS_WRITE_KIND___flags(T, name, value, ...) RS_KIND_OF___flags(T, name, __VA_ARGS__)
#define RS_WRITE_KIND___array(T, name, count, from) RS_KIND_OF___array(T, name, count)
#define RS_WRITE_KIND___array_hex(T, name, count, from) RS_KIND_OF___array_hex(T, name, count)
#define RS_WRITE_KIND___chars(name, size, text) RS_KIND_OF___chars(name, size)
#define RS_WRITE_KIND___dynamic_array(T, name, from, count) RS_KIND_OF___dynamic_array(T, name)
#define RS_WRITE_KIND___dynamic_array_hex(T, name, from, count)                                    \
	RS_KIND_OF___dynamic_array_hex(T, name)
#define RS_WRITE_KIND___string(name, text) RS_KIND_OF___string(name)
#define RS_WRITE_KIND___opcode(op)                                                                 \
	RS_KIND_OF___enum(u8, opcode, {RS_OPCODE_INFO, "info"}, {RS_OPCODE_START, "start"},        \
			  {RS_OPCODE_STOP, "stop"},                                                \
			  {RS_OPCODE_COLLECTION_START, "collection-start"},                        \
			  {RS_OPCODE_COLLECTION_STOP, "collection-stop"},                          \
			  {RS_OPCODE_EXTENSION, "extension"}, {RS_OPCODE_REPLY, "reply"},          \
			  {RS_OPCODE_RESUME, "resume"}, {RS_OPCODE_SUSPEND, "suspend"},            \
			  {RS_OPCODE_SEND, "send"}, {RS_OPCODE_RECEIVE, "receive"})
#define RS_WRITE_KIND___tag(n) RS_KIND_OF___field_hex(u32, tag)
#define RS_WRITE_KIND___activity(id) RS_KIND_OF___chars(activity, RS_ACTIVITY_TEXT)
#define RS_WRITE_KIND___related(id) RS_KIND_OF___chars(related, RS_ACTIVITY_TEXT)

#define RS_WRITE_MEMBER(ctx, item) RS_DISPATCH(RS_MEMBER_, ctx, RS_WRITE_KIND_##item)
#define RS_WRITE_SYMBOLS(id, item) RS_DISPATCH(RS_SYMBOLS_, id, RS_WRITE_KIND_##item)
#define RS_WRITE_INFO(id, item) RS_DISPATCH(RS_INFO_, id, RS_WRITE_KIND_##item)
#define RS_WRITE_INDEX(ctx, item) RS_DISPATCH(RS_INDEX_, ctx, RS_WRITE_KIND_##item)
#define RS_WRITE_ELEM(ctx, item) RS_DISPATCH(RS_ELEM_, ctx, RS_WRITE_KIND_##item)
#define RS_WRITE_LOCATE(at, item) RS_DISPATCH(RS_LOCATE_, at, RS_WRITE_KIND_##item)

/* Items as a print format, "bytes=%u to=%s", and as its arguments, "bytes,to". */
#define RS_WRITE_SHOW_u8 "%u"
#define RS_WRITE_SHOW_u16 "%u"
#define RS_WRITE_SHOW_u32 "%u"
#define RS_WRITE_SHOW_u64 "%u"
#define RS_WRITE_SHOW_s8 "%d"
#define RS_WRITE_SHOW_s16 "%d"
#define RS_WRITE_SHOW_s32 "%d"
#define RS_WRITE_SHOW_s64 "%d"
#define RS_WRITE_SHOW_uint8_t "%u"
#define RS_WRITE_SHOW_uint16_t "%u"
#define RS_WRITE_SHOW_uint32_t "%u"
#define RS_WRITE_SHOW_uint64_t "%u"
#define RS_WRITE_SHOW_int8_t "%d"
#define RS_WRITE_SHOW_int16_t "%d"
#define RS_WRITE_SHOW_int32_t "%d"
#define RS_WRITE_SHOW_int64_t "%d"
#define RS_WRITE_FORMAT___field(T, name, value) #name "=" RS_WRITE_SHOW_##T
#define RS_WRITE_FORMAT___field_hex(T, name, value) #name "=%#x"
#define RS_WRITE_FORMAT___field_ptr(name, value) #name "=%#x"
#define RS_WRITE_FORMAT___enum(T, name, value, ...) #name "=%s"
#define RS_WRITE_FORMAT___flags(T, name, value, ...) #name "=%s"
#define RS_WRITE_FORMAT___array(T, name, count, from) #name "=%s"
#define RS_WRITE_FORMAT___array_hex(T, name, count, from) #name "=%s"
#define RS_WRITE_FORMAT___chars(name, size, text) #name "=%s"
#define RS_WRITE_FORMAT___dynamic_array(T, name, from, count) #name "=%s"
#define RS_WRITE_FORMAT___dynamic_array_hex(T, name, from, count) #name "=%s"
#define RS_WRITE_FORMAT___string(name, text) #name "=%s"
#define RS_WRITE_FORMAT___opcode(op) "opcode=%s"
#define RS_WRITE_FORMAT___tag(n) "tag=%#x"
#define RS_WRITE_FORMAT___activity(id) "activity=%s"
#define RS_WRITE_FORMAT___related(id) "related=%s"
#define RS_WRITE_NAME___field(T, name, value) #name
#define RS_WRITE_NAME___field_hex(T, name, value) #name
#define RS_WRITE_NAME___field_ptr(name, value) #name
#define RS_WRITE_NAME___enum(T, name, value, ...) #name
#define RS_WRITE_NAME___flags(T, name, value, ...) #name
#define RS_WRITE_NAME___array(T, name, count, from) #name
#define RS_WRITE_NAME___array_hex(T, name, count, from) #name
#define RS_WRITE_NAME___chars(name, size, text) #name
#define RS_WRITE_NAME___dynamic_array(T, name, from, count) #name
#define RS_WRITE_NAME___dynamic_array_hex(T, name, from, count) #name
#define RS_WRITE_NAME___string(name, text) #name
#define RS_WRITE_NAME___opcode(op) "opcode"
#define RS_WRITE_NAME___tag(n) "tag"
#define RS_WRITE_NAME___activity(id) "activity"
#define RS_WRITE_NAME___related(id) "related"

/* Items as assignments. */
#define RS_WRITE_VALUE(ctx, item) RS_WRITE_VALUE_##item
#define RS_WRITE_VALUE___field(T, name, value) __entry->name = (value);
#define RS_WRITE_VALUE___field_hex(T, name, value) __entry->name = (value);
#define RS_WRITE_VALUE___field_ptr(name, value) __entry->name = rs_address(value);
#define RS_WRITE_VALUE___enum(T, name, value, ...) __entry->name = (value);
#define RS_WRITE_VALUE___flags(T, name, value, ...) __entry->name = (value);
#define RS_WRITE_VALUE___array(T, name, count, from) __assign_fixed(name, from);
#define RS_WRITE_VALUE___array_hex(T, name, count, from) __assign_fixed(name, from);
#define RS_WRITE_VALUE___chars(name, size, text) __assign_chars(name, text);
#define RS_WRITE_VALUE___dynamic_array(T, name, from, count) __assign_array(name, from, count);
#define RS_WRITE_VALUE___dynamic_array_hex(T, name, from, count) __assign_array(name, from, count);
#define RS_WRITE_VALUE___string(name, text) __assign_str(name, text);
#define RS_WRITE_VALUE___opcode(op) __entry->opcode = (op);
#define RS_WRITE_VALUE___tag(n) __entry->tag = (n);
#define RS_WRITE_VALUE___activity(id) rs_statement_activity(__entry->activity, (id));
#define RS_WRITE_VALUE___related(id) rs_statement_activity(__entry->related, (id));

static inline void rs_statement_activity(char *out, const struct rs_activity_id *id)
{
	if (id)
		rs_activity_text(out, id);
}

/*
 * Whether the site is on, which `go` makes. In C++ a function of its own: clang++ thinks that an
 * asm goto may jump to the labels of others, too, past what is initialised there.
 */
#ifdef __cplusplus
#define RS_WRITE_SITE(go)                                                                          \
	([]() __attribute__((always_inline))->bool {                                               \
		go;                                                                                \
		return false;                                                                      \
	rs_on:                                                                                     \
		return true;                                                                       \
	}())
#else
#define RS_WRITE_SITE(go)                                                                          \
	({                                                                                         \
		__label__ rs_on;                                                                   \
		bool rs_is_on = false;                                                             \
                                                                                                   \
		go;                                                                                \
		if (0) {                                                                           \
		rs_on:                                                                             \
			rs_is_on = true;                                                           \
		}                                                                                  \
		rs_is_on;                                                                          \
	})
#endif

/*
 * The event of a statement, which the compiler must know by its address. In C++ a function may be
 * inline or a template, and its variables others' as well, in other files, or in shared libraries.
 * So there the event belongs to a hidden template of a type that only the statement has.
 */
#ifdef __cplusplus
template <typename Here> struct __attribute__((visibility("hidden"))) rs_statement_of {
	static struct rs_event event;
};
template <typename Here> struct rs_event rs_statement_of<Here>::event = {
	0, 0, Here::info(), NULL, {NULL, 0, 0, NULL}, NULL, NULL
};
#define RS_WRITE_EVENT                                                                             \
	struct rs_here {                                                                           \
		static constexpr const struct rs_event_info *info()                                \
		{                                                                                  \
			return &rs_info;                                                           \
		}                                                                                  \
	};
#define RS_WRITE_ITS_EVENT rs_statement_of<rs_here>::event
#else
#define RS_WRITE_EVENT                                                                             \
	static struct rs_event rs_statement = {0,    0,   &rs_info, NULL, {NULL, 0, 0, NULL},      \
					       NULL, NULL};
#define RS_WRITE_ITS_EVENT rs_statement
#endif

/* The one event of several statements, if it is one of these. */
static inline struct rs_event *rs_statement_event(struct rs_event *event)
{
	struct rs_event *same = rs_load(&event->same);

	return same ? same : event;
}

/* So that nobody warns of a value that is not used. */
static inline int rs_statement_value(int value)
{
	return value;
}

/* The items get an empty one at their end, since there may be none: see RS_EACH_ENDED(). */
#define RS_PROVIDER_WRITE(provider, name, level, ...)                                              \
	RS_PROVIDER_WRITE_(provider, name, level, __VA_ARGS__, )

#if defined(RS_NO_TRACE)
#define RS_PROVIDER_ENABLED(provider) (false)
/* Values are neither evaluated nor unused. */
#define RS_WRITE_UNUSED(ctx, item) RS_WRITE_UNUSED_##item
#define RS_WRITE_UNUSED___field(T, name, value) (void)(value);
#define RS_WRITE_UNUSED___field_hex(T, name, value) (void)(value);
#define RS_WRITE_UNUSED___field_ptr(name, value) (void)(value);
#define RS_WRITE_UNUSED___enum(T, name, value, ...) (void)(value);
#define RS_WRITE_UNUSED___flags(T, name, value, ...) (void)(value);
#define RS_WRITE_UNUSED___array(T, name, count, from) (void)(from);
#define RS_WRITE_UNUSED___array_hex(T, name, count, from) (void)(from);
#define RS_WRITE_UNUSED___chars(name, size, text) (void)(text);
#define RS_WRITE_UNUSED___dynamic_array(T, name, from, count)                                      \
	(void)(from);                                                                              \
	(void)(count);
#define RS_WRITE_UNUSED___dynamic_array_hex(T, name, from, count)                                  \
	(void)(from);                                                                              \
	(void)(count);
#define RS_WRITE_UNUSED___string(name, text) (void)(text);
#define RS_WRITE_UNUSED___opcode(op) (void)(op);
#define RS_WRITE_UNUSED___tag(n) (void)(n);
#define RS_WRITE_UNUSED___activity(id) (void)(id);
#define RS_WRITE_UNUSED___related(id) (void)(id);
#define RS_PROVIDER_WRITE_(provider, name_, level_, keyword_, ...)                                 \
	__extension__({                                                                            \
		if (0) {                                                                           \
			RS_EACH_ENDED(RS_WRITE_UNUSED, , __VA_ARGS__)                              \
		}                                                                                  \
		rs_statement_value(-RS_EBADF);                                                     \
	})
#else
#define RS_PROVIDER_ENABLED(provider)                                                              \
	__extension__({                                                                            \
		rs_unlikely(RS_WRITE_SITE(RS_SITE_GATE_IN("rs_sites_" #provider, rs_on))) &&       \
			rs_provider_enabled(&provider);                                            \
	})
#define RS_PROVIDER_WRITE_(provider, name_, level_, keyword_, ...)                                 \
	__extension__({                                                                            \
		struct rs_entry_rs_here {                                                          \
			RS_NO_MEMBER                                                               \
			RS_EACH_ENDED(RS_WRITE_MEMBER, , __VA_ARGS__)                              \
		};                                                                                 \
		RS_STATIC_ASSERT((level_) >= 1 && (level_) <= 5, "a level is 1 to 5");             \
		RS_STATIC_ASSERT(sizeof(name_) <= RS_NAME_MAX, "an event's name is too long");     \
		RS_STATIC_ASSERT(sizeof(struct rs_entry_rs_here) <= RS_MAX_ENTRY_SIZE,             \
				 "event " name_ " has too large an entry");                        \
		RS_EACH_ENDED(RS_WRITE_SYMBOLS, rs_here, __VA_ARGS__)                              \
		static const struct rs_field_info rs_fields[] = {                                  \
			RS_EACH_ENDED(RS_WRITE_INFO, rs_here, __VA_ARGS__){NULL, NULL, NULL, 0, 0, \
									   0, 0, 0, 0, 0}};        \
		RS_STATIC_ASSERT(sizeof(rs_fields) / sizeof(struct rs_field_info) - 1 <=           \
					 RS_MAX_FIELDS,                                            \
				 "event " name_ " has too many fields");                           \
		static const struct rs_event_info rs_info = {                                      \
			rs_system_of_##provider,                                                   \
			name_,                                                                     \
			RS_JOIN(RS_WRITE_FORMAT_, " ", __VA_ARGS__),                               \
			RS_JOIN(RS_WRITE_NAME_, ",", __VA_ARGS__),                                 \
			rs_fields,                                                                 \
			sizeof(rs_fields) / sizeof(struct rs_field_info) - 1,                      \
			sizeof(struct rs_entry_rs_here),                                           \
			(keyword_),                                                                \
			(level_),                                                                  \
		};                                                                                 \
		RS_WRITE_EVENT                                                                     \
		int rs_written = -RS_EBADF;                                                        \
                                                                                                   \
		if (rs_unlikely(RS_WRITE_SITE(                                                     \
			    RS_SITE_GOTO_IN("rs_sites_" #provider, RS_WRITE_ITS_EVENT, rs_on)))) { \
			struct rs_event *const rs_its_event =                                      \
				rs_statement_event(&RS_WRITE_ITS_EVENT);                           \
                                                                                                   \
			if (rs_event_enabled(rs_its_event)) {                                      \
				RS_WRITE_ENTRY(rs_here, __VA_ARGS__)                               \
				rs_written = rs_statement_write(rs_its_event, rs_record.words,     \
								sizeof(struct rs_entry_rs_here),   \
								rs_dyn_count > 0 ? __dyn : NULL,   \
								rs_dyn_count);                     \
			}                                                                          \
		}                                                                                  \
		rs_statement_value(rs_written);                                                    \
	})
#endif

/* From the values to the entry. */
#define RS_WRITE_ENTRY(id, ...)                                                                    \
	enum { RS_EACH_ENDED(RS_WRITE_INDEX, , __VA_ARGS__) rs_dyn_count };                        \
	RS_EACH_ENDED(RS_WRITE_ELEM, , __VA_ARGS__)                                                \
	union {                                                                                    \
		struct rs_entry_##id entry;                                                        \
		uint64_t words[(sizeof(struct rs_entry_##id) + 7) / 8 +                            \
			       (sizeof(struct rs_entry_##id) == 0)];                               \
	} rs_record;                                                                               \
	struct rs_dyn __dyn[rs_dyn_count > 0 ? rs_dyn_count : 1];                                  \
	struct rs_entry_##id *const __entry = &rs_record.entry;                                    \
	uint32_t rs_at = sizeof(struct rs_entry_##id);                                             \
                                                                                                   \
	(void)__entry;                                                                             \
	(void)rs_at;                                                                               \
	__builtin_memset(&rs_record, 0, sizeof(rs_record));                                        \
	if (rs_dyn_count > 0)                                                                      \
		__builtin_memset(__dyn, 0, sizeof(__dyn));                                         \
	RS_EACH_ENDED(RS_WRITE_VALUE, , __VA_ARGS__)                                               \
	RS_EACH_ENDED(RS_WRITE_LOCATE, rs_at, __VA_ARGS__)

#endif
