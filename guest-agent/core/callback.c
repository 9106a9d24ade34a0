/* SPDX-License-Identifier: MIT */
/*
 * Callbacks: see callback.h. A list is read without a lock. Whoever adds a callback puts it in
 * front by one compare-and-swap. Only who holds callback_lock takes callbacks out, and the lock is
 * never taken inside of a callback, nor by who has interrupted one. So nobody waits for himself.
 */
#include "core.h"

#include "rs_port.h"

#include <ringside/callback.h>
#include <ringside/hypercall.h>

enum { IDLE, COMING, REGISTERED, LEAVING };

/* ---- how deep ---- */

#if RS_PORT_PREEMPTIBLE
static uint8_t *depth_here(void)
{
	return rs_port_callback_depth();
}
#else
static uint8_t depths[RS_MAX_CPUS];

static uint8_t *depth_here(void)
{
	return &depths[rs_core_cpu() % RS_MAX_CPUS];
}
#endif

bool rs_callback_runs(void)
{
	return rs_load(depth_here()) != 0;
}

struct call {
	struct rs_crowd_place place;
	uint8_t *depth;
	uint8_t outer;
};

static bool begin_call(struct call *call)
{
	call->depth = depth_here();
	call->outer = rs_load(call->depth);
	if (call->outer >= RS_CALLBACK_DEPTH) {
		if (rs_core.info)
			rs_shared_add64(&rs_core.info->callbacks_skipped, 1);
		return false;
	}
	/* Before the list is read, so that an interrupt's unregister() sees it. */
	rs_store(call->depth, (uint8_t)(call->outer + 1));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	call->place = rs_crowd_enter(&rs_core.callers);
	return true;
}

static void end_call(const struct call *call)
{
	rs_crowd_leave(call->place);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	rs_store(call->depth, call->outer);
}

/* ---- calling ---- */

struct raw_call {
	struct rs_event *event;
	const uint64_t *args;
	uint32_t count;
};

struct record_call {
	struct rs_event *event;
	const void *record;
	uint32_t size;
};

static const struct rs_callback *first_of(const struct rs_event_state *state)
{
	return __atomic_load_n(&state->callbacks, __ATOMIC_SEQ_CST);
}

static const struct rs_callback *next_of(const struct rs_callback *callback)
{
	return __atomic_load_n(&callback->next, __ATOMIC_SEQ_CST);
}

static bool is_called(const struct rs_callback *callback)
{
	return rs_load(&callback->state) == REGISTERED;
}

static void call_raw(const struct rs_event_state *state, void *data)
{
	const struct raw_call *call = data;

	for (const struct rs_callback *at = first_of(state); at; at = next_of(at)) {
		if (at->raw && is_called(at))
			at->raw(call->event, call->args, call->count, at->data);
	}
}

static void call_record(const struct rs_event_state *state, void *data)
{
	const struct record_call *call = data;

	for (const struct rs_callback *at = first_of(state); at; at = next_of(at)) {
		if (at->record && is_called(at))
			at->record(call->event, call->record, call->size, at->data);
	}
}

/* Through the hook of an OS that has one: its rules about callbacks then hold. */
static void go_through(struct rs_event *event, void (*f)(const struct rs_event_state *, void *),
		       void *data)
{
	struct call call;

	if (!begin_call(&call))
		return;
	if (rs_core.ops.read_tracepoint_state)
		rs_core.ops.read_tracepoint_state(rs_load(&event->id), f, data);
	else
		f(&event->state, data);
	end_call(&call);
}

void rs_callbacks_raw(struct rs_event *event, const uint64_t *args, uint32_t count)
{
	struct raw_call call = {event, args, count};

	go_through(event, call_raw, &call);
}

void rs_callbacks_record(struct rs_event *event, const uint64_t *entry, uint32_t size,
			 const struct rs_dyn *dyn, uint32_t dyn_count)
{
	struct rs_ring_record record = {
		.id = rs_load(&event->id),
		.entry = entry,
		.entry_size = size,
		.size = size,
		.dyn = dyn,
		.dyn_count = dyn_count,
		.info = event->info,
	};
	uint64_t raw[RS_RAW_MAX / 8];
	struct record_call call = {event, raw, 0};

	if (!rs_load(&event->state.records))
		return;
	for (uint32_t i = 0; i < dyn_count; i++)
		record.size += dyn[i].size;
	call.size = rs_raw_record(raw, &record);
	go_through(event, call_record, &call);
}

void rs_event_enable_callbacks(struct rs_event *event, bool on)
{
	rs_store(&event->state.records, on);
}

/* ---- the sites ---- */

#define COUNT 0xffffu
#define CHANGED 0x10000u

bool rs_callbacks_wanted(const struct rs_event *event)
{
	return rs_load(&event->state.called) & COUNT;
}

/* Two who tell at once may come to the host in the wrong order, so each says how old it is. */
static void tell_host(const struct rs_event *event, uint32_t called)
{
	uint64_t args[6] = {rs_load(&event->id), called / CHANGED, (called & COUNT) != 0};

	if (args[0] && rs_core.greeted)
		rs_hypercall(RS_HCALL_CALLBACKS, args, NULL, 0, NULL);
}

/* A guest that patches itself does so as soon as the agent's lock may be taken. */
static void follow(const struct rs_event *event, uint32_t called)
{
	if (!rs_agent_active())
		return;
	if (!(rs_load(&rs_core.info->flags) & RS_GUEST_SELF_PATCH)) {
		tell_host(event, called);
		return;
	}
	rs_store(&rs_core.sites_due, 1);
	if (!rs_callback_runs())
		rs_agent_apply_control();
}

/* False: there are as many as can be counted. */
static bool count(struct rs_event *event, int by)
{
	uint32_t old = rs_load(&event->state.called), next;

	do {
		if (by > 0 && (old & COUNT) == COUNT)
			return false;
		next = (old & ~COUNT) | ((old + (uint32_t)by) & COUNT);
		if (!(old & COUNT) || !(next & COUNT))
			next += CHANGED;
	} while (!__atomic_compare_exchange_n(&event->state.called, &old, next, false,
					      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	if (!(old & COUNT) || !(next & COUNT))
		follow(event, next);
	return true;
}

void rs_callbacks_tell(const struct rs_agent_provider *provider)
{
	rs_core_each_event (event, provider) {
		uint32_t called = rs_load(&event->state.called);

		if (called & COUNT)
			follow(event, called);
	}
}

/* ---- the list ---- */

struct change {
	struct rs_event *event;
	struct rs_callback *callback;
};

static void push(struct rs_event_state *state, void *data)
{
	struct rs_callback *callback = ((struct change *)data)->callback;
	struct rs_callback *first = rs_load(&state->callbacks);

	do
		rs_store(&callback->next, first);
	while (!__atomic_compare_exchange_n(&state->callbacks, &first, callback, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
}

/* Under the lock: others only put something in front. */
static void take_out(struct rs_event_state *state, void *data)
{
	struct rs_callback *callback = ((struct change *)data)->callback, *expected = callback;
	struct rs_callback *rest = rs_load(&callback->next), *at;

	/* Acquire: pairs with the push of the one that is in front now. */
	if (__atomic_compare_exchange_n(&state->callbacks, &expected, rest, false, __ATOMIC_SEQ_CST,
					__ATOMIC_ACQUIRE))
		return;
	for (at = expected; at; at = rs_load(&at->next)) {
		if (rs_load(&at->next) == callback) {
			__atomic_store_n(&at->next, rest, __ATOMIC_SEQ_CST);
			return;
		}
	}
}

/* Through the hook of an OS that has one, which knows events that are registered. */
static void change(struct change *change, void (*f)(struct rs_event_state *, void *))
{
	uint32_t id = rs_load(&change->event->id);

	if (id && rs_core.ops.write_tracepoint_state)
		rs_core.ops.write_tracepoint_state(id, f, change);
	else
		f(&change->event->state, change);
	/* Release: who sees the number sees the list. */
	__atomic_add_fetch(&rs_event_changes, 1, __ATOMIC_RELEASE);
}

int rs_callback_register(struct rs_event *event, struct rs_callback *callback)
{
	struct change added = {event, callback};
	uint32_t idle = IDLE, coming;

	if (!callback->raw && !callback->record)
		return -RS_EINVAL;
	if (!__atomic_compare_exchange_n(&callback->state, &idle, COMING, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return -RS_EBUSY;
	if (!count(event, 1)) {
		rs_store_release(&callback->state, IDLE);
		return -RS_ENOSPC;
	}
	callback->event = event;
	change(&added, push);
	/* Release: who takes it out knows its event. Whoever took its provider away has done so. */
	coming = COMING;
	__atomic_compare_exchange_n(&callback->state, &coming, REGISTERED, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
	return 0;
}

static void lock_callbacks(void)
{
	while (__atomic_exchange_n(&rs_core.callback_lock, 1, __ATOMIC_ACQUIRE))
		rs_core_relax();
}

/* What the callback was. The event stays until this has returned: see rs_callbacks_drop(). */
static uint32_t begin_leaving(struct rs_callback *callback)
{
	struct rs_crowd_place place = rs_crowd_enter(&rs_core.callers);
	uint32_t state = REGISTERED;

	/* Acquire: pairs with the release of who has registered it. */
	if (__atomic_compare_exchange_n(&callback->state, &state, LEAVING, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		count(callback->event, -1);
	rs_crowd_leave(place);
	return state;
}

/* Nobody calls the event's callbacks any more, and its memory may go. */
static void drop_all(struct rs_event *event)
{
	struct rs_callback *first, *next;

	first = __atomic_exchange_n(&event->state.callbacks, NULL, __ATOMIC_SEQ_CST);
	for (struct rs_callback *at = first; at; at = rs_load(&at->next)) {
		uint32_t state = REGISTERED;

		__atomic_compare_exchange_n(&at->state, &state, LEAVING, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
	}
	/* For those who are in one, and those who have just begun to take one out themselves. */
	rs_crowd_wait(&rs_core.callers);
	rs_store(&event->state.called, (rs_load(&event->state.called) & ~COUNT) + CHANGED);
	for (; first; first = next) {
		next = rs_load(&first->next);
		rs_store_release(&first->state, IDLE);
	}
}

void rs_callbacks_drop(const struct rs_agent_provider *provider)
{
	lock_callbacks();
	rs_core_each_event (event, provider) {
		if (rs_load(&event->state.callbacks))
			drop_all(event);
	}
	rs_store_release(&rs_core.callback_lock, 0);
}

int rs_callback_unregister(struct rs_callback *callback)
{
	uint32_t state = begin_leaving(callback);

	if (state == IDLE)
		return -RS_ENOENT;
	if (state == COMING)
		return -RS_EBUSY;
	if (rs_callback_runs())
		return -RS_EINPROGRESS;
	lock_callbacks();
	/* Somebody else may have done it meanwhile. */
	if (rs_load(&callback->state) == LEAVING) {
		struct change gone = {callback->event, callback};

		change(&gone, take_out);
		rs_crowd_wait(&rs_core.callers);
		rs_store_release(&callback->state, IDLE);
	}
	rs_store_release(&rs_core.callback_lock, 0);
	return 0;
}
