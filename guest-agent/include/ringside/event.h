/* SPDX-License-Identifier: MIT */
/*
 * Defining events. One macro names an event, its prototype, fields, assignment and print format:
 *
 *	RS_TRACE_EVENT(sched, switch,
 *		TP_PROTO(uint32_t prev, uint32_t next, const char *why),
 *		TP_ARGS(prev, next, why),
 *		TP_STRUCT__entry(__field(u32, prev), __field(u32, next), __string(why)),
 *		TP_fast_assign(__entry->prev = prev; __entry->next = next; __assign_str(why, why);),
 *		TP_printk("prev=%u next=%u why=%s", prev, next, why))
 *
 * It yields trace_sched_switch(prev, next, why), an inline function. The macro stands in a header,
 * outside of any namespace. Exactly one C or C++17 file of the image defines RS_CREATE_TRACE_POINTS
 * before it includes that header: the event is made there. A program that defines RS_NO_TRACE gets
 * empty functions instead.
 *
 * The kinds of fields, how TP_fast_assign fills each, and how TP_printk shows it. The integer types
 * are u8, u16, u32, u64, s8, s16, s32, s64 and their names in stdint.h. The short ones are words of
 * TP_STRUCT__entry alone: elsewhere, as in a cast, only the names in stdint.h are types.
 *	__field(u32, count)                  __entry->count = n;               %u, %d
 *	__field_hex(u64, frame)              __entry->frame = n;               %llx
 *	__field_ptr(at)                      __entry->at = rs_address(p);      %p
 *	__enum(u8, state, {0, "idle"}, {1, "run"})      __entry->state = s;    %s: one matches
 *	__flags(u32, why, {1, "TIMER"}, {2, "CHILD"})   __entry->why = mask;   %s: all that match
 *	__array(u16, lengths, 8)             __assign_fixed(lengths, from);    %s
 *	__array_hex(u64, regs, 3)            __entry->regs[0] = n;             %s
 *	__chars(comm, 16)                    __assign_chars(comm, text);       %s
 *	__dynamic_array(u16, ids)            __assign_array(ids, from, count); %s
 *	__dynamic_array_hex(u64, stack)      __assign_array(stack, from, 8);   %s
 *	__string(path)                       __assign_str(path, text);         %s
 *
 * TP_printk takes the flags, width and precision of C's printf, but no '*'. A field's size is
 * known, so of the length modifiers only h and hh mean something: 2 bytes or 1 are shown. In "%.3s"
 * the precision counts bytes, before what does not print is escaped. A width counts what is shown.
 *
 * `__entry` is the record's fixed part, zeroed. __assign_chars cuts what is too long.
 * What __assign_str and __assign_array are given is read later, but before trace_*() returns.
 * A NULL string of __assign_str reads "(null)". NULL for the others leaves zeroes or no elements.
 *
 * Limits: RS_MAX_FIELDS and RS_MAX_ENTRY_SIZE are held by the compiler, the others in descriptor.h
 * by rs_agent_register(). Of a record that is too large for a page (4 KiB, if nobody asked for
 * more), strings and arrays keep their fronts, and readers show that they go on.
 *
 * Reserved: parameters and fields do not begin with `rs_` or `__`. The image has the names
 * trace_SYSTEM_NAME and rs_*_SYSTEM_NAME. The words that name kinds and types must not be macros
 * where an event stands, nor field, hex, ptr, flags, array, chars, dynarray, string. TP_* may be.
 *
 * Cost: while the event is off, trace_*() is one 5-byte NOP, and its arguments are evaluated as any
 * function's are. While it is on, the NOP is a jump to a function out of line. Where the port has
 * an rs_emit_port.h on the include path (bare metal, hosted) and no field is dynamic, that function
 * writes the record into the ring itself: text of some 400 bytes on bare metal and 600 in a process
 * for each event (gcc -O2, two integers), more with more fields. Elsewhere, without optimization,
 * and in each file that defines RS_EMIT_SHARED, it builds the record on its stack and calls the
 * agent: some 200 bytes, and 0.5 ns more in a guest. docs/performance.md has the times.
 *
 * trace_*() may be called from any context, nested in another one, at any time. While the agent is
 * not up it drops the event. It never blocks, allocates or leaves the guest.
 */
#ifndef RINGSIDE_EVENT_H
#define RINGSIDE_EVENT_H

#include <ringside/types.h>

#define RS_TRACE_EVENT(system, name, proto, args, entry, assign, print)                            \
	RS_EVENT(system##_##name, #system, #name, 0, 0, (RS_OPEN_##proto), (RS_OPEN_##args),       \
		 (RS_OPEN_##assign), RS_FORMAT_##print, RS_PRINTED_##print, RS_OPEN_##entry)

/* The same with a level, 1 (critical) .. 5 (verbose), and a keyword, a mask of categories. */
#define RS_TRACE_EVENT_LEVEL(system, name, lvl, kw, proto, args, entry, assign, print)             \
	RS_EVENT(system##_##name, #system, #name, lvl, kw, (RS_OPEN_##proto), (RS_OPEN_##args),    \
		 (RS_OPEN_##assign), RS_FORMAT_##print, RS_PRINTED_##print, RS_OPEN_##entry)

/* What a __field_ptr holds. */
static inline uint64_t rs_address(const volatile void *p)
{
	return (uint64_t)(uintptr_t)p;
}

#endif

/* Outside the guard, since a file may define RS_CREATE_TRACE_POINTS after its first include. */
#include <ringside/event_impl.h>
