/* SPDX-License-Identifier: MIT */
/*
 * Events by id, and their state. May be asked in any context, so nothing here takes the agent's
 * lock: it counts itself among those who look, and who takes a provider away waits for them.
 */
#include "core.h"

static struct rs_event *find(uint32_t id)
{
	struct rs_agent_provider *p = __atomic_load_n(&rs_core.providers, __ATOMIC_SEQ_CST);

	/* An event without an id is not registered. */
	for (; id && p; p = __atomic_load_n(&p->next, __ATOMIC_SEQ_CST)) {
		rs_core_each_event (event, p) {
			if (rs_load(&event->id) == id)
				return event;
		}
	}
	return NULL;
}

void rs_core_unlink_providers(struct rs_agent_provider **at, struct rs_agent_provider *rest)
{
	__atomic_store_n(at, rest, __ATOMIC_SEQ_CST);
	rs_crowd_wait(&rs_core.lookers);
}

struct rs_event *rs_event_by_id(uint32_t id)
{
	struct rs_crowd_place place = rs_crowd_enter(&rs_core.lookers);
	struct rs_event *event = find(id);

	rs_crowd_leave(place);
	return event;
}

void rs_event_read_state(uint32_t id, void (*f)(const struct rs_event_state *, void *), void *data)
{
	const struct rs_event *event;
	struct rs_crowd_place place;

	if (rs_core.ops.read_tracepoint_state) {
		rs_core.ops.read_tracepoint_state(id, f, data);
		return;
	}
	place = rs_crowd_enter(&rs_core.lookers);
	event = find(id);
	if (event)
		f(&event->state, data);
	rs_crowd_leave(place);
}

void rs_event_write_state(uint32_t id, void (*f)(struct rs_event_state *, void *), void *data)
{
	struct rs_event *event;
	struct rs_crowd_place place;

	if (rs_core.ops.write_tracepoint_state) {
		rs_core.ops.write_tracepoint_state(id, f, data);
		return;
	}
	place = rs_crowd_enter(&rs_core.lookers);
	event = find(id);
	if (event)
		f(&event->state, data);
	rs_crowd_leave(place);
}
