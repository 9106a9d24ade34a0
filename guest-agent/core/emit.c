/* SPDX-License-Identifier: MIT */
/* The fast path, from an assembled entry to a record in the ring: reserve, copy, commit. */
#include "core.h"
#include "judge.h"
#include "where.h"

#include "arch.h"
#include "rs_port.h"
#include "stack.h"

struct rs_core rs_core;

/* The control word of every event while no region is attached. */
const uint32_t rs_nothing_enabled[1];
/*
 * These three are read by the code of events, in whichever image it is. A program may hold a copy
 * of those of a library (copy relocation), so they stay default symbols where the agent's functions
 * are built as protected ones.
 */
#define PUBLIC __attribute__((visibility("default")))
PUBLIC const uint32_t *rs_event_ctl = rs_nothing_enabled;
PUBLIC const uint32_t *rs_event_generation = rs_nothing_enabled;
PUBLIC uint32_t rs_event_changes;

static inline enum rs_producers producers(void)
{
	if (!RS_PORT_PREEMPTIBLE)
		return RS_NESTED;
	return rs_port_restartable() && !rs_core.ops.cpu_id ? RS_RESTARTABLE : RS_SHARED;
}

__attribute__((__noinline__)) void rs_ask_ops(struct rs_where *where)
{
	const struct rs_trace_ops *ops = &rs_core.ops;

	where->cpu = ops->cpu_id ? ops->cpu_id() : rs_port_cpu();
	where->pid = ops->current_pid ? ops->current_pid() : rs_port_pid();
	where->tgid = ops->current_tgid ? ops->current_tgid() : rs_port_tgid();
	where->context = ops->context_flags ? ops->context_flags() : rs_port_context();
	where->comm = ops->current_comm ? ops->current_comm() : rs_port_comm();
}

uint32_t rs_raw_record(uint64_t raw[RS_RAW_MAX / 8], const struct rs_ring_record *record)
{
	uint32_t size = record->size, cut = 0;

	if (size > RS_RAW_MAX - 8) {
		size = RS_RAW_MAX - 8;
		cut = RS_REC_CUT;
	}
	raw[0] = (uint64_t)record->id | (uint64_t)((8 + size) | cut) << 16 | rs_core_time() << 32;
	rs_ring_copy(raw + 1, size, record);
	return 8 + size;
}

/* For an OS that has a trace pipe of its own. It gets the record in one piece. */
static __attribute__((__noinline__)) void push_raw(const struct rs_ring_record *record)
{
	uint64_t raw[RS_RAW_MAX / 8];

	_Static_assert(sizeof(raw) == RS_RAW_MAX, "a kernel's stack has no room for more");
	rs_core.ops.trace_pipe_push_raw_record(raw, rs_raw_record(raw, record));
}

static __attribute__((__noinline__)) void note_name(const struct rs_where *where, uint64_t since,
						    uint32_t chain)
{
	if (rs_core.ops.trace_cmdline_push)
		rs_core.ops.trace_cmdline_push(where->pid);
	else
		rs_cmdline_note(&rs_core.names, where->pid, where->tgid, where->comm, since, chain);
}

static __attribute__((__noinline__)) void ring_doorbell(void)
{
	const struct rs_agent_config *config = &rs_core.config;

	if (rs_core.ops.doorbell)
		rs_core.ops.doorbell();
	else if (rs_core.header.doorbell_channel == RS_CHANNEL_PORT)
		rs_arch_port_write((uint16_t)rs_core.header.doorbell_addr, 1);
	else if (rs_core.header.doorbell_channel == RS_CHANNEL_MMIO && config->doorbell_mmio)
		*config->doorbell_mmio = 1;
}

/* Return addresses, innermost first. */
struct rs_stack {
	uint32_t count;
	uint64_t frames[RS_STACK_MAX];
};

/*
 * All but the fast path: call stacks, dynamic fields, ops of the OS, a new page or context, a lost
 * race. `id` is read once for an event: unregistering sets it to 0, which in a ring means padding.
 */
static inline __attribute__((always_inline)) void
emit_any(uint32_t id, const uint64_t *entry, uint32_t size, const struct rs_dyn *dyn,
	 uint32_t dyn_count, const struct rs_event_info *info, const struct rs_stack *stack)
{
	struct rs_ring_record record; /* not cleared: that would cost more than the rest */
	struct rs_where where;
	struct rs_ring ring;
	enum rs_ring_result result;

	if (rs_unlikely(!id))
		return;
	record.id = id;
	record.entry = entry;
	record.entry_size = size;
	record.dyn = dyn;
	record.dyn_count = dyn_count;
	record.info = info;
	record.frames = stack ? stack->frames : NULL;
	record.frame_count = stack ? stack->count : 0;
	record.size = size;
	for (uint32_t i = 0; i < dyn_count; i++)
		record.size += dyn[i].size;
	if (rs_unlikely(rs_core.raw)) {
		push_raw(&record);
		return;
	}
	/* A thread that is moved to another CPU starts over on the ring of that CPU. */
	for (uint32_t tries = 0; tries < RS_TRIES; tries++) {
		rs_find_out(&where);
		if (rs_unlikely(where.cpu >= rs_core.rings.count)) {
			if (rs_core.info)
				rs_shared_add64(&rs_core.info->lost_no_ring, 1);
			return;
		}
		record.context = rs_context_mark(where.pid, where.context);
		record.tgid = where.tgid;
		ring = rs_ring_at(&rs_core.rings, where.cpu);
		result = rs_ring_emit(&ring, producers(), &record, rs_core.ops.time_now,
				      rs_port_time);
		if (rs_likely(result != RS_RING_MOVED))
			break;
	}
	if (rs_unlikely(result < 0)) {
		if (result == RS_RING_MOVED)
			rs_shared_add64(&rs_core.info->lost_nested, 1);
		return;
	}
	/* A preemptible port knows which threads it has named, but not which tasks of the OS. */
	if (rs_unlikely((RS_PORT_PREEMPTIBLE && rs_core.tasks) ||
			rs_port_name_due(result == RS_RING_NEW_CONTEXT, rs_core.name_epoch)))
		note_name(&where, record.ts, record.chain);
	if (rs_unlikely(rs_ring_wake_due(&rs_core.rings, where.cpu)))
		ring_doorbell();
}

/* `info` is for what is cut. NULL: there are no dynamic fields. */
static __attribute__((__noinline__)) void emit_slow(uint32_t id, const uint64_t *entry,
						    uint32_t size, const struct rs_dyn *dyn,
						    uint32_t dyn_count,
						    const struct rs_event_info *info)
{
	emit_any(id, entry, size, dyn, dyn_count, info, NULL);
}

#ifdef RS_PORT_RESTARTABLE
/* Where rs_core.plain is true there are restartable sequences, so these need not ask. */
#define RS_PLAIN_CPU(area) rs_restart_cpu(area)
#define RS_PLAIN_TIME rs_restart_time
#else
#define RS_PLAIN_CPU(area) rs_port_cpu()
#define RS_PLAIN_TIME rs_port_time
#endif

static inline __attribute__((always_inline)) void
emit_plain(struct rs_event *event, const uint64_t *entry, uint32_t size, const uint32_t words)
{
	const struct rs_rings *const rings = &rs_core.rings;
	uint32_t id = rs_load(&event->id), cpu;
	ptrdiff_t area;

	if (rs_likely(rs_core.plain && id)) {
		area = rs_ring_area();
		cpu = RS_PLAIN_CPU(area);
		if (rs_likely(cpu < rings->count && !rs_port_name_wanted(rs_core.name_epoch) &&
			      rs_ring_emit_fast(
				      rings, cpu, RS_PORT_PREEMPTIBLE ? RS_RESTARTABLE : RS_NESTED,
				      id, rs_context_mark(rs_port_pid(), rs_port_context()), entry,
				      size, words, RS_PLAIN_TIME, area))) {
			if (rs_unlikely(rs_ring_wake_due(rings, cpu)))
				ring_doorbell();
			return;
		}
	}
	emit_slow(id, entry, size, NULL, 0, NULL);
}

void rs_emit_plain(struct rs_event *event, const uint64_t *entry, uint32_t size)
{
	emit_plain(event, entry, size, (size + 7) / 8);
}

void rs_emit_8(struct rs_event *event, const uint64_t *entry, uint32_t size)
{
	emit_plain(event, entry, size, 1);
}

void rs_emit_16(struct rs_event *event, const uint64_t *entry, uint32_t size)
{
	emit_plain(event, entry, size, 2);
}

void rs_emit(struct rs_event *event, uint32_t control, const uint64_t *entry, uint32_t size,
	     const struct rs_dyn *dyn, uint32_t dyn_count)
{
	if (rs_unlikely(control >> RS_EVENT_FILTER_SHIFT) &&
	    !rs_judge_any(event, control, entry, size, dyn, dyn_count))
		return;
	if (dyn_count)
		emit_slow(rs_load(&event->id), entry, size, dyn, dyn_count, event->info);
	else
		rs_emit_plain(event, entry, size);
}

/*
 * The frame of this function begins the chain, whatever the agent is compiled with. Its caller is
 * an event's own function, so that is left out.
 */
__attribute__((__noinline__)) void rs_emit_stack(struct rs_event *event, uint32_t control,
						 const uint64_t *entry, uint32_t size,
						 const struct rs_dyn *dyn, uint32_t dyn_count)
{
	uint32_t depth = (control & RS_EVENT_STACK_MASK) >> RS_EVENT_STACK_SHIFT;
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0), end;
	struct rs_stack stack;

	if (rs_unlikely(control >> RS_EVENT_FILTER_SHIFT) &&
	    !rs_judge_any(event, control, entry, size, dyn, dyn_count))
		return;
	stack.count = 0;
	depth = depth < RS_STACK_MAX ? depth : RS_STACK_MAX;
	if (rs_core.ops.call_stack)
		stack.count = rs_core.ops.call_stack(stack.frames, depth);
	else if (rs_core.ops.stack_end ? rs_core.ops.stack_end(frame, &end)
				       : rs_port_stack_end(frame, &end))
		stack.count =
			rs_stack_walk(rs_arch_frame_caller(frame), frame, end, stack.frames, depth);
	emit_any(rs_load(&event->id), entry, size, dyn, dyn_count, event->info, &stack);
}

uint64_t rs_core_time(void)
{
	return rs_core.ops.time_now ? rs_core.ops.time_now() : rs_port_time();
}

uint64_t rs_core_time_from(uint32_t *chain)
{
	*chain = rs_load(&rs_core.control->clock_chain);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return rs_core_time();
}

uint64_t rs_core_time_until(uint32_t *chain)
{
	uint64_t now = rs_core_time();

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*chain = rs_load(&rs_core.control->clock_chain);
	return now;
}

uint32_t rs_core_cpu(void)
{
	return rs_core.ops.cpu_id ? rs_core.ops.cpu_id() : rs_port_cpu();
}

uint32_t rs_core_pid(void)
{
	return rs_core.ops.current_pid ? rs_core.ops.current_pid() : rs_port_pid();
}
