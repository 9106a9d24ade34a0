/* SPDX-License-Identifier: MIT */
/*
 * Events by id, and their state. May be asked in any context, so nothing here takes the agent's
 * lock: it counts itself among those who look, and who takes a provider away waits for them.
 */
#include "core.h"

/*
 * Sequentially consistent, as are the accesses in rs_core_unlink_providers(): either the looker
 * finds the provider gone, or who takes it away finds the looker. Returns its side.
 */
static uint32_t begin_look(void)
{
	uint32_t side = rs_load(&rs_core.look_side);

	__atomic_fetch_add(&rs_core.lookers[side], 1, __ATOMIC_SEQ_CST);
	return side;
}

static void end_look(uint32_t side)
{
	/* Release: pairs with the acquire of who waits, and then lets the provider go. */
	__atomic_fetch_sub(&rs_core.lookers[side], 1, __ATOMIC_RELEASE);
}

static struct rs_event *find(uint32_t id)
{
	struct rs_agent_provider *p = __atomic_load_n(&rs_core.providers, __ATOMIC_SEQ_CST);

	for (; p; p = __atomic_load_n(&p->next, __ATOMIC_SEQ_CST)) {
		for (struct rs_event *event = p->events; event < p->events_end; event++) {
			if (rs_load(&event->id) == id)
				return event;
		}
	}
	return NULL;
}

/*
 * Each side is waited for while new lookers go to the other, so the wait ends although there may
 * always be somebody who looks.
 */
void rs_core_unlink_providers(struct rs_agent_provider **at, struct rs_agent_provider *rest)
{
	__atomic_store_n(at, rest, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 2; i++) {
		uint32_t idle = !rs_core.look_side;

		while (__atomic_load_n(&rs_core.lookers[idle], __ATOMIC_SEQ_CST))
			rs_core_relax();
		rs_store(&rs_core.look_side, idle);
	}
}

struct rs_event *rs_event_by_id(uint32_t id)
{
	uint32_t side = begin_look();
	struct rs_event *event = find(id);

	end_look(side);
	return event;
}

void rs_event_read_state(uint32_t id, void (*f)(const struct rs_event_state *, void *), void *data)
{
	const struct rs_event *event;
	uint32_t side;

	if (rs_core.ops.read_tracepoint_state) {
		rs_core.ops.read_tracepoint_state(id, f, data);
		return;
	}
	side = begin_look();
	event = find(id);
	if (event)
		f(&event->state, data);
	end_look(side);
}

void rs_event_write_state(uint32_t id, void (*f)(struct rs_event_state *, void *), void *data)
{
	struct rs_event *event;
	uint32_t side;

	if (rs_core.ops.write_tracepoint_state) {
		rs_core.ops.write_tracepoint_state(id, f, data);
		return;
	}
	side = begin_look();
	event = find(id);
	if (event)
		f(&event->state, data);
	end_look(side);
}
