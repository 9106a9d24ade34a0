/* SPDX-License-Identifier: MIT */
/* Which tracepoints there are. The providers' list is read without a lock: state.c. */
#include "core.h"

#include <ringside/tracepoint.h>

/* Calls f for each event of the list until it returns false. Inside of a look. */
static bool each_now(bool (*f)(struct rs_event *event, void *data), void *data)
{
	struct rs_agent_provider *p = __atomic_load_n(&rs_core.providers, __ATOMIC_SEQ_CST);

	for (; p; p = __atomic_load_n(&p->next, __ATOMIC_SEQ_CST)) {
		rs_core_each_event (event, p) {
			if (rs_load(&event->id) && !f(event, data))
				return false;
		}
	}
	return true;
}

void rs_tracepoint_each(bool (*f)(struct rs_event *event, void *data), void *data)
{
	struct rs_crowd_place place = rs_crowd_enter(&rs_core.lookers);

	each_now(f, data);
	rs_crowd_leave(place);
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* ---- systems ---- */

struct systems {
	bool (*f)(const char *system, void *data);
	void *data;
	const struct rs_event *event; /* whose system it is about */
	bool before;                  /* another one has had the same before it */
};

static bool is_before(struct rs_event *event, void *data)
{
	struct systems *systems = data;

	if (event == systems->event)
		return false;
	systems->before = same(event->info->system, systems->event->info->system);
	return !systems->before;
}

static bool show_system(struct rs_event *event, void *data)
{
	struct systems *systems = data;

	systems->event = event;
	systems->before = false;
	each_now(is_before, systems);
	return systems->before || systems->f(event->info->system, systems->data);
}

void rs_tracepoint_each_system(bool (*f)(const char *system, void *data), void *data)
{
	struct systems systems = {.f = f, .data = data};

	rs_tracepoint_each(show_system, &systems);
}

/* ---- numbers and names ---- */

static bool count(struct rs_event *event, void *data)
{
	++*(uint32_t *)data;
	return true;
}

uint32_t rs_tracepoint_count(void)
{
	uint32_t n = 0;

	rs_tracepoint_each(count, &n);
	return n;
}

struct wanted {
	const char *system, *name;
	uint32_t id;
};

/* The list begins with the newest provider. */
static bool find(struct rs_event *event, void *data)
{
	struct wanted *wanted = data;

	if (!same(event->info->system, wanted->system) || !same(event->info->name, wanted->name))
		return true;
	wanted->id = rs_load(&event->id);
	return !wanted->id;
}

uint32_t rs_tracepoint_find(const char *system, const char *name)
{
	struct wanted wanted = {system, name, 0};

	rs_tracepoint_each(find, &wanted);
	return wanted.id;
}
