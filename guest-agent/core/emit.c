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
 * The next four are read by the code of events, in whichever image it is. A program may hold a copy
 * of those of a library (copy relocation), so they stay default symbols where the agent's functions
 * are built as protected ones.
 */
#define PUBLIC __attribute__((visibility("default")))
PUBLIC const uint32_t *rs_event_ctl = rs_nothing_enabled;
PUBLIC const uint32_t *rs_event_generation = rs_nothing_enabled;
PUBLIC uint32_t rs_event_changes;
PUBLIC struct rs_emit_common rs_emit_common = {
	.epoch = RS_EMIT_NO_EPOCH,
};

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

#ifdef RS_EMIT_KIND
/*
 * `epoch` was read before anything else of the region. If the agent has gone to another region
 * since, the thread is bound to none.
 */
static inline void bind(struct rs_ring_state *state, uint32_t epoch)
{
	if (epoch != RS_EMIT_NO_EPOCH)
		rs_port_bind(state, rs_core.region, epoch);
}
#else
/* A port whose events have no fast path of their own: what emit.h asks for. */
#define RS_EMIT_KIND (RS_PORT_PREEMPTIBLE ? RS_SHARED : RS_NESTED)

static inline void bind(struct rs_ring_state *state, uint32_t epoch)
{
}

static inline bool rs_emit_ready(void)
{
	return rs_core.plain && rs_port_cpu() < rs_core.rings.count;
}

static inline struct rs_ring_state *rs_emit_state(void)
{
	return rs_rings_state(&rs_core.rings, rs_port_cpu());
}

static inline uint8_t *rs_emit_region(void)
{
	return rs_core.region;
}

static inline uint64_t rs_emit_mark(void)
{
	return rs_context_mark(rs_port_pid(), rs_port_context());
}

#define rs_emit_clock rs_port_time
#endif

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
	const uint32_t epoch = rs_load_acquire(&rs_emit_common.epoch);
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
	bind(ring.state, epoch);
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

static inline __attribute__((always_inline)) void
emit_plain(struct rs_event *event, const uint64_t *entry, uint32_t size, const uint32_t words)
{
	struct rs_ring_state *state = NULL;
	uint32_t id = rs_load(&event->id);
	struct rs_emit_place place;

	if (rs_likely(rs_emit_ready() && id && words <= RS_EMIT_WORDS))
		state = rs_emit_state();
	if (rs_unlikely(!state || !rs_emit_reserve(RS_EMIT_KIND, state, rs_emit_region,
						   rs_emit_mark, rs_emit_clock, words, &place))) {
		emit_slow(id, entry, size, NULL, 0, NULL);
		return;
	}
	rs_emit_head(&place, id, size);
	for (uint32_t i = 0; i < words; i++)
		rs_store(place.at + 1 + i, entry[i]);
	rs_emit_commit(RS_EMIT_KIND, state, &place);
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

static void emit_any_size(struct rs_event *event, const uint64_t *entry, uint32_t size,
			  const struct rs_dyn *dyn, uint32_t dyn_count)
{
	if (dyn_count)
		emit_slow(rs_load(&event->id), entry, size, dyn, dyn_count, event->info);
	else
		rs_emit_plain(event, entry, size);
}

/* With the call stack that begins at `frame`. That is a function which an event's own one called,
 * and both are left out. */
static __attribute__((__noinline__)) void emit_from(uintptr_t frame, struct rs_event *event,
						    uint32_t control, const uint64_t *entry,
						    uint32_t size, const struct rs_dyn *dyn,
						    uint32_t dyn_count)
{
	uint32_t depth = (control & RS_EVENT_STACK_MASK) >> RS_EVENT_STACK_SHIFT;
	struct rs_stack stack;
	uintptr_t end;

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

/* Says "enabled", and otherwise what no control word does: a filter has a place, and a stack is not
 * so deep. */
#define CALLED (RS_EVENT_STACK_MASK | RS_EVENT_ENABLED)

uint32_t rs_emit_call(struct rs_event *event, const uint64_t *args, uint32_t count)
{
	rs_callbacks_raw(event, args, count);
	return rs_load(&event->state.records) || rs_event_control(event) & RS_EVENT_ENABLED ? CALLED
											    : 0;
}

static __attribute__((__noinline__)) uint32_t call_back(struct rs_event *event,
							const uint64_t *entry, uint32_t size,
							const struct rs_dyn *dyn,
							uint32_t dyn_count)
{
	rs_callbacks_record(event, entry, size, dyn, dyn_count);
	return rs_event_control(event);
}

/* Whether the record is to be written. *control may change: the stack that goes with it. */
static inline bool wanted(struct rs_event *event, uint32_t *word, const uint64_t *entry,
			  uint32_t size, const struct rs_dyn *dyn, uint32_t dyn_count)
{
	uint32_t control = *word, judged;

	if (rs_unlikely(control == CALLED)) {
		*word = control = call_back(event, entry, size, dyn, dyn_count);
		if (!(control & RS_EVENT_ENABLED))
			return false;
	}
	judged = control & RS_EVENT_ENABLED;
	if (control >> RS_EVENT_FILTER_SHIFT)
		judged = rs_judge(event, control, entry, size);
	return judged == RS_JUDGE_OPEN ? rs_judge_any(event, control, entry, size, dyn, dyn_count)
				       : judged != 0;
}

/*
 * `caller`: where the event's own function goes on. rs_emit_odd() jumps here, if the compiler makes
 * it so, and else it has a frame in between.
 */
static __attribute__((__noinline__)) uint32_t emit_odd(struct rs_event *event, uint32_t control,
						       const uint64_t *entry, uint32_t size,
						       uintptr_t caller)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	if (rs_arch_frame_back(frame) != caller)
		frame = rs_arch_frame_caller(frame);
	if (control == RS_EVENT_ENABLED) {
		emit_slow(rs_load(&event->id), entry, size, NULL, 0, NULL);
		return 0;
	}
	if (!wanted(event, &control, entry, size, NULL, 0))
		return 0;
	if (rs_likely(!(control & RS_EVENT_STACK_MASK)))
		return 1;
	emit_from(frame, event, control, entry, size, NULL, 0);
	return 0;
}

uint32_t rs_emit_odd(struct rs_event *event, uint32_t control, const uint64_t *entry, uint32_t size)
{
	const uint32_t more = control - RS_EVENT_ENABLED;
	const struct rs_native_entry *native;

	/* Nothing but a filter. */
	if (rs_likely(!(more & RS_EVENT_STACK_MASK) && more)) {
		native = rs_native_find(rs_load(&event->id), size);
		if (rs_likely(native != NULL))
			return rs_native_judge(native, entry);
	}
	return emit_odd(event, control, entry, size, (uintptr_t)__builtin_return_address(0));
}

/* Its frame begins the chain of callers. */
__attribute__((__noinline__)) void rs_emit_entry(struct rs_event *event, uint32_t control,
						 const uint64_t *entry, uint32_t size,
						 const struct rs_dyn *dyn, uint32_t dyn_count)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	if (!wanted(event, &control, entry, size, dyn, dyn_count))
		return;
	if (rs_unlikely(control & RS_EVENT_STACK_MASK))
		emit_from(frame, event, control, entry, size, dyn, dyn_count);
	else
		emit_any_size(event, entry, size, dyn, dyn_count);
	RS_NO_TAIL_CALL();
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
