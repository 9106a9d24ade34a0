/* SPDX-License-Identifier: MIT */
/* The demo guest's events. main.c defines them, the other files only declare them. */
#ifndef DEMO_EVENTS_ONCE
#define DEMO_EVENTS_ONCE
/* Values of the enums and flags below. */
#define TASK_RUNNING 0u
#define TASK_READY 1u
#define TASK_SLEEPING 2u
#define TASK_WAITING 3u
#define TASK_DEAD 4u
#define TASK_UNUSED 5u
#define TASK_TRACED 6u  /* held by an engine */
#define TASK_STOPPED 7u /* by job control */
#define TASK_NEW 8u     /* does not run yet */

#define WAKE_TIMER 1u
#define WAKE_CHILD 2u
#define WAKE_REMOTE 4u
#endif

#include <ringside/event.h>

/* clang-format off */

RS_TRACE_EVENT(sched, switch,
	TP_PROTO(uint32_t prev, const char *prev_comm, uint32_t state, uint32_t next,
	         const char *next_comm, const char *why),
	TP_ARGS(prev, prev_comm, state, next, next_comm, why),
	TP_STRUCT__entry(
		__chars(prev_comm, 16),
		__field(u32, prev_pid),
		__enum(u32, prev_state, {TASK_RUNNING, "running"}, {TASK_READY, "ready"},
		       {TASK_SLEEPING, "sleeping"}, {TASK_WAITING, "waiting"}, {TASK_DEAD, "dead"},
		       {TASK_TRACED, "traced"}, {TASK_STOPPED, "stopped"}),
		__chars(next_comm, 16),
		__field(u32, next_pid),
		__string(why)),
	TP_fast_assign(
		__assign_chars(prev_comm, prev_comm);
		__entry->prev_pid = prev;
		__entry->prev_state = state;
		__assign_chars(next_comm, next_comm);
		__entry->next_pid = next;
		__assign_str(why, why);),
	TP_printk("prev_comm=%s prev_pid=%u prev_state=%s ==> next_comm=%s next_pid=%u why=%s",
	          prev_comm, prev_pid, prev_state, next_comm, next_pid, why))

RS_TRACE_EVENT(sched, wakeup,
	TP_PROTO(uint32_t pid, uint32_t cpu, uint32_t flags),
	TP_ARGS(pid, cpu, flags),
	TP_STRUCT__entry(
		__field(u32, pid),
		__field(u32, target_cpu),
		__flags(u32, flags, {WAKE_TIMER, "TIMER"}, {WAKE_CHILD, "CHILD"},
		        {WAKE_REMOTE, "REMOTE"})),
	TP_fast_assign(__entry->pid = pid; __entry->target_cpu = cpu; __entry->flags = flags;),
	TP_printk("pid=%u target_cpu=%u flags=%s", pid, target_cpu, flags))

RS_TRACE_EVENT(sched, steal,
	TP_PROTO(uint32_t pid, uint32_t from, uint32_t to),
	TP_ARGS(pid, from, to),
	TP_STRUCT__entry(__field(u32, pid), __field(u8, from), __field(u8, to)),
	TP_fast_assign(__entry->pid = pid; __entry->from = (uint8_t)from; __entry->to = (uint8_t)to;),
	TP_printk("pid=%u from=%u to=%u", pid, from, to))

RS_TRACE_EVENT(task, create,
	TP_PROTO(uint32_t parent, uint32_t pid, const char *comm),
	TP_ARGS(parent, pid, comm),
	TP_STRUCT__entry(__field(u32, parent), __field(u32, pid), __string(comm)),
	TP_fast_assign(__entry->parent = parent; __entry->pid = pid; __assign_str(comm, comm);),
	TP_printk("parent=%u pid=%u comm=%s", parent, pid, comm))

RS_TRACE_EVENT(task, exit,
	TP_PROTO(uint32_t pid, int32_t code, uint32_t switches),
	TP_ARGS(pid, code, switches),
	TP_STRUCT__entry(__field(u32, pid), __field(s32, code), __field(u32, switches)),
	TP_fast_assign(__entry->pid = pid; __entry->code = code; __entry->switches = switches;),
	TP_printk("pid=%u code=%d switches=%u", pid, code, switches))

#define DEMO_SYSCALLS                                                                              \
	{0, "read"}, {1, "write"}, {2, "open"}, {3, "close"}, {4, "stat"}, {11, "release"},        \
	        {13, "sigaction"}, {22, "pipe"}, {24, "yield"}, {35, "sleep"}, {39, "getpid"},     \
	        {56, "spawn"}, {59, "exec"}, {60, "exit"}, {61, "wait"}, {62, "kill"},             \
	        {201, "time"}, {500, "mark"}

RS_TRACE_EVENT(syscalls, enter,
	TP_PROTO(uint64_t number, const uint64_t *args),
	TP_ARGS(number, args),
	TP_STRUCT__entry(__enum(u32, nr, DEMO_SYSCALLS), __array_hex(u64, args, 3)),
	TP_fast_assign(__entry->nr = (uint32_t)number; __assign_fixed(args, args);),
	TP_printk("%s args=%s", nr, args))

RS_TRACE_EVENT(syscalls, exit,
	TP_PROTO(uint64_t number, int64_t ret),
	TP_ARGS(number, ret),
	TP_STRUCT__entry(__enum(u32, nr, DEMO_SYSCALLS), __field(s64, ret)),
	TP_fast_assign(__entry->nr = (uint32_t)number; __entry->ret = ret;),
	TP_printk("%s ret=%lld", nr, ret))

RS_TRACE_EVENT(mm, page_fault,
	TP_PROTO(uint64_t address, uint64_t ip, uint32_t error),
	TP_ARGS(address, ip, error),
	TP_STRUCT__entry(
		__field_ptr(address),
		__field_ptr(ip),
		__flags(u32, error, {1, "PRESENT"}, {2, "WRITE"}, {4, "USER"}, {16, "FETCH"})),
	TP_fast_assign(__entry->address = address; __entry->ip = ip; __entry->error = error;),
	TP_printk("address=%p ip=%p error=%s", address, ip, error))

RS_TRACE_EVENT(mm, page_map,
	TP_PROTO(uint64_t address, uint64_t frame, uint32_t left),
	TP_ARGS(address, frame, left),
	TP_STRUCT__entry(__field_ptr(address), __field_hex(u64, frame), __field(u16, left)),
	TP_fast_assign(__entry->address = address; __entry->frame = frame;
	               __entry->left = (uint16_t)left;),
	TP_printk("address=%p frame=%#llx left=%u", address, frame, left))

RS_TRACE_EVENT(mm, release,
	TP_PROTO(uint32_t pid, const uint16_t *frames, uint32_t count),
	TP_ARGS(pid, frames, count),
	TP_STRUCT__entry(__field(u32, pid), __dynamic_array_hex(u16, frames)),
	TP_fast_assign(__entry->pid = pid; __assign_array(frames, frames, count);),
	TP_printk("pid=%u frames=%s", pid, frames))

RS_TRACE_EVENT(irq, tick,
	TP_PROTO(uint32_t count, uint64_t ip, bool real),
	TP_ARGS(count, ip, real),
	TP_STRUCT__entry(
		__field(u32, count),
		__enum(u8, source, {0, "safe-point"}, {1, "timer"}),
		__field_ptr(ip)),
	TP_fast_assign(__entry->count = count; __entry->source = real; __entry->ip = ip;),
	TP_printk("count=%u source=%s ip=%p", count, source, ip))

RS_TRACE_EVENT(irq, ipi,
	TP_PROTO(uint32_t count, uint32_t queued),
	TP_ARGS(count, queued),
	TP_STRUCT__entry(__field(u32, count), __field(u32, queued)),
	TP_fast_assign(__entry->count = count; __entry->queued = queued;),
	TP_printk("count=%u queued=%u", count, queued))

RS_TRACE_EVENT(compute, block,
	TP_PROTO(uint32_t worker, uint32_t number, uint32_t in, uint32_t out, const uint16_t *matches,
	         uint32_t match_count),
	TP_ARGS(worker, number, in, out, matches, match_count),
	TP_STRUCT__entry(
		__field(u32, worker),
		__field(u32, number),
		__field(u32, in),
		__field(u32, out),
		__field(s32, saved),
		__dynamic_array(u16, matches)),
	TP_fast_assign(
		__entry->worker = worker;
		__entry->number = number;
		__entry->in = in;
		__entry->out = out;
		__entry->saved = (int32_t)in - (int32_t)out;
		__assign_array(matches, matches, match_count);),
	TP_printk("worker=%u number=%u in=%u out=%u saved=%d matches=%s", worker, number, in, out,
	          saved, matches))

RS_TRACE_EVENT(compute, round,
	TP_PROTO(uint32_t worker, uint64_t round, uint64_t hash, const uint16_t *lengths,
	         const char *verdict),
	TP_ARGS(worker, round, hash, lengths, verdict),
	TP_STRUCT__entry(
		__field(u32, worker),
		__field(u64, round),
		__field_hex(u64, hash),
		__array(u16, lengths, 8),
		__string(verdict)),
	TP_fast_assign(
		__entry->worker = worker;
		__entry->round = round;
		__entry->hash = hash;
		__assign_fixed(lengths, lengths);
		__assign_str(verdict, verdict);),
	TP_printk("worker=%u round=%llu hash=%#llx lengths=%s verdict=%s", worker, round, hash, lengths,
	          verdict))

RS_TRACE_EVENT_LEVEL(load, flood, 5, 0x80,
	TP_PROTO(uint32_t cpu, uint32_t sequence),
	TP_ARGS(cpu, sequence),
	TP_STRUCT__entry(__field(u32, cpu), __field(u32, sequence)),
	TP_fast_assign(__entry->cpu = cpu; __entry->sequence = sequence;),
	TP_printk("cpu=%u sequence=%u", cpu, sequence))
