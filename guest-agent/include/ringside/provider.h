/* SPDX-License-Identifier: MIT */
/*
 * Events that are defined where they are written.
 *
 *	RS_PROVIDER_DEFINE(net, "acme.net")			in one file of the image
 *
 *	rs_provider_register(&net);				when the component starts
 *	RS_PROVIDER_WRITE(net, "sent", RS_LEVEL_INFO, 0x2,
 *		__field(u32, bytes, n), __string(to, peer->name));
 *	rs_provider_unregister(&net);				before it goes
 *
 * The statement makes the event acme.net:sent, with its level, its keyword and its fields. Nothing
 * else names it. Statements with one name are one event if their level, keyword and fields are the
 * same; so it may stand in a function that is inlined at several places, or in a header that
 * several files use. If they are not, the first one is registered, and the others are left out. An
 * image may have any number of providers, each of which comes and goes by itself.
 *
 * While nobody listens a statement is one NOP of 5 bytes: none of its values is evaluated. It is a
 * value, too: 0 if somebody listened, -RS_EBADF if nobody did. 0 says nothing about the record,
 * which a filter may have rejected, or the ring counted as lost.
 *
 * Levels and keywords. A level is 1 (critical) to 5 (verbose), a keyword a mask of categories that
 * the provider chooses. Both are constants. A host selects events by them: --level, --keyword.
 *
 * Fields. Each has a type and a name, as those of event.h, and a value:
 *	__field(u32, count, n)               __field_hex(u64, frame, n)      __field_ptr(at, p)
 *	__enum(u8, state, n, {0, "idle"}, {1, "run"})
 *	__flags(u32, why, mask, {1, "TIMER"}, {2, "CHILD"})
 *	__array(u16, lengths, 8, from)       __array_hex(u64, regs, 3, from)
 *	__chars(comm, 16, text)              __string(path, text)
 *	__dynamic_array(u16, ids, from, n)   __dynamic_array_hex(u64, stack, from, n)
 * and these, which give a field its name, too:
 *	__opcode(RS_OPCODE_START)            opcode: what the event says about its activity
 *	__tag(n)                             tag: 32 bits, the provider's
 *	__activity(&id)                      activity: the struct rs_activity_id that it is part of
 *	__related(&id)                       related: the one that began this activity
 * There are no floating-point fields, since kernels have no such numbers.
 * An activity is recorded as text of 36 characters, so that it can be read, searched and put into a
 * filter: `activity == "…"`. A NULL one is empty. Values are evaluated once, in their order. What
 * they point to is read before the statement ends; a temporary of C++ may be gone by then.
 *
 * Names. A provider's has less than RS_PROVIDER_NAME_MAX bytes, an event's less than RS_NAME_MAX;
 * both keep the rules of name.h, so no NUL, blank or ':' is in them.
 *
 * Where statements may stand: in any function of C and C++, also in inline functions, methods and
 * templates. Limits, reserved words and contexts
 * are those of event.h. RS_PROVIDER_DEFINE and RS_PROVIDER_DECLARE stand outside of any function
 * and namespace. A program that defines RS_NO_TRACE has statements that do nothing.
 *
 * Threads: each function says it. Trust: as agent.h.
 */
#ifndef RINGSIDE_PROVIDER_H
#define RINGSIDE_PROVIDER_H

#include <ringside/agent.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RS_PROVIDER_NAME_MAX 234u /* bytes, with the NUL */

#define RS_LEVEL_CRITICAL 1
#define RS_LEVEL_ERROR 2
#define RS_LEVEL_WARNING 3
#define RS_LEVEL_INFO 4
#define RS_LEVEL_VERBOSE 5

/* What an event says about its activity; a field `opcode` of 8 bits. */
#define RS_OPCODE_INFO 0u
#define RS_OPCODE_START 1u
#define RS_OPCODE_STOP 2u
#define RS_OPCODE_COLLECTION_START 3u
#define RS_OPCODE_COLLECTION_STOP 4u
#define RS_OPCODE_EXTENSION 5u
#define RS_OPCODE_REPLY 6u
#define RS_OPCODE_RESUME 7u
#define RS_OPCODE_SUSPEND 8u
#define RS_OPCODE_SEND 9u
#define RS_OPCODE_RECEIVE 240u

/* Which activity an event is part of. */
struct rs_activity_id {
	uint8_t bytes[16];
};
RS_ASSERT_SIZE(struct rs_activity_id, 16);

#define RS_ACTIVITY_TEXT 36u /* characters */

/* In one file of the image: makes `variable`, a struct rs_agent_provider. `name` is a literal. */
#define RS_PROVIDER_DEFINE(variable, name) RS_PROVIDER_DEFINE_(variable, name)
/* In each other file that writes its events, or in a header. */
#define RS_PROVIDER_DECLARE(variable) RS_PROVIDER_DECLARE_(variable)

/*
 * Registers the provider's events. From now on they can be switched on; those that somebody asked
 * for before they were there are on when this returns, but for hosts that take a while.
 *
 * To be called once, before or beside anything else but the two functions here. Whatever it
 * returns, rs_provider_unregister() must follow before the image goes: after an error some of the
 * events may be registered. A program may ignore the error, since statements of events that are not
 * registered do nothing.
 *
 * Panics (rs_trace_ops.panic): the provider is registered already, or another thread registers or
 * unregisters it at this moment. If that returns: -RS_EBUSY, and nothing has changed.
 *
 * 0: all events are registered.
 * Some are not, the others are; it is the first one's error:
 *   -RS_ENAMETOOLONG  a name is too long
 *   -RS_EILSEQ        a name breaks another rule of name.h
 *   -RS_EINVAL        a level is not 1 to 5, or the type of a field is not known
 *   -RS_EEXIST        another event of the provider has its name, but not its description
 *   -RS_EOVERFLOW     another limit of descriptor.h is broken
 *   -RS_EBADMSG       there is no description of it
 * None is:
 *   -RS_ENAMETOOLONG, -RS_EILSEQ   the provider's own name
 *   -RS_EBADMSG    its sections are cut short
 *   -RS_ENOTCONN   there is no region (yet): rs_agent_init() comes first
 *   -RS_ENOSPC     they do not fit the region
 */
int rs_provider_register(struct rs_agent_provider *provider);

/*
 * Takes the provider's events away. Once it has returned, neither a host nor the agent uses the
 * image's memory, which may be unmapped as soon as no thread is in one of its functions. Callbacks
 * of its events are taken out. One that is not registered is left alone. If another thread
 * unregisters it at this moment, waits until that is done.
 *
 * Panics if another thread registers the provider at this moment; if that returns, -RS_EBUSY.
 * Always 0 otherwise.
 */
int rs_provider_unregister(struct rs_agent_provider *provider);

/* Only rs_provider_enabled() calls this: `now` is what its word should hold. */
bool rs_provider_look(struct rs_agent_provider *provider, uint64_t now);

/*
 * RS_PROVIDER_ENABLED(provider): whether anybody listens to any event of the provider, to leave out
 * what only prepares them. Any context. While nobody does it is one NOP of 5 bytes, a gate that is
 * switched together with the events. Else it goes on to rs_provider_enabled(). It stands where
 * statements may stand. It may take until the end of a host's request to see what that has changed.
 *
 * rs_provider_enabled() is the same for a provider that is known by its address only. It costs four
 * loads; after a change the first call looks at all events.
 */
static inline bool rs_provider_enabled(struct rs_agent_provider *provider)
{
	uint64_t word = rs_load(&provider->listened);
	/* Acquire: whoever sees a number sees what was changed before it grew. */
	uint64_t host = rs_load_acquire(rs_load(&rs_event_generation));
	uint64_t now = host << 1 | (uint64_t)rs_load_acquire(&rs_event_changes) << 33;

	return rs_likely((word & ~1ull) == now) ? word & 1 : rs_provider_look(provider, now);
}

/* Whether anybody listens to one of its events with this level and this keyword. Any context. */
bool rs_provider_set_enabled(const struct rs_agent_provider *provider, uint32_t level,
			     uint64_t keyword);

/* The provider's first event of this name, registered or not; NULL: none. Any context. */
struct rs_event *rs_provider_find(const struct rs_agent_provider *provider, const char *name);

/* Whether anybody listens to the event. Any context. */
static inline bool rs_event_enabled(const struct rs_event *event)
{
	return (rs_event_control(event) & RS_EVENT_ENABLED) ||
	       rs_load(&event->state.callbacks) != NULL;
}

/*
 * Makes an id that no other call in this session gave, in this process or another one. Any context.
 */
void rs_activity_create(struct rs_activity_id *id);
/* Writes it to `out`, RS_ACTIVITY_TEXT characters and no NUL, as 8-4-4-4-12 hexadecimal digits. */
void rs_activity_text(char *out, const struct rs_activity_id *id);

/* Only the statement calls this; as the functions in event_impl.h. */
int rs_statement_write(struct rs_event *event, const uint64_t *entry, uint32_t size,
		       const struct rs_dyn *dyn, uint32_t dyn_count);

#ifdef __cplusplus
}
#endif

/* RS_PROVIDER_WRITE(provider, "name", level, keyword, fields…) */
#include <ringside/provider_impl.h>

#endif
