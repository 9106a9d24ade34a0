/* SPDX-License-Identifier: MIT */
/* Providers come and go. What of a provider cannot be registered is left out. */
#include "core.h"

#include <ringside/name.h>
#include <ringside/provider.h>

/* rs_agent_provider.state */
#define IDLE 0u
#define COMING 1u
#define THERE 2u /* whatever registering has returned */
#define GOING 3u

/* ---- what can be registered ---- */

/* Beyond what each event must be. */
static int check_event(const struct rs_event_info *info)
{
	int size = rs_describe_size(info);

	if (size < 0)
		return size;
	if (info->level < RS_LEVEL_CRITICAL)
		return -RS_EINVAL;
	return rs_core_check_name(info->system, RS_PROVIDER_NAME_MAX);
}

static bool is_whole(const void *from, const void *to, uint32_t size)
{
	return (uintptr_t)from <= (uintptr_t)to && ((uintptr_t)to - (uintptr_t)from) % size == 0;
}

static bool is_complete(const struct rs_agent_provider *agent)
{
	return is_whole(agent->events, agent->events_end, sizeof(struct rs_event)) &&
	       is_whole(agent->sites, agent->sites_end, sizeof(struct rs_site));
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* ---- which events there are ---- */

/*
 * The i-th of the events that a provider has, in an array of its own or by its sites. Statements at
 * several places have several sites of one event, and gates have none: NULL.
 */
static uint32_t event_count(const struct rs_agent_provider *agent)
{
	if (!is_complete(agent))
		return 0;
	return (uint32_t)(agent->events_end - agent->events) +
	       (uint32_t)(agent->sites_end - agent->sites);
}

static struct rs_event *event_at(const struct rs_agent_provider *agent, uint32_t i)
{
	uint32_t own = (uint32_t)(agent->events_end - agent->events);

	return i < own ? agent->events + i : rs_core_site_event(agent->sites + (i - own));
}

static bool same_symbols(const struct rs_field_info *a, const struct rs_field_info *b)
{
	if (a->symbol_count != b->symbol_count)
		return false;
	for (uint32_t i = 0; i < a->symbol_count; i++) {
		if (a->symbols[i].value != b->symbols[i].value ||
		    !same(a->symbols[i].name, b->symbols[i].name))
			return false;
	}
	return true;
}

static bool same_field(const struct rs_field_info *a, const struct rs_field_info *b)
{
	return same(a->name, b->name) && same(a->type, b->type) && same_symbols(a, b) &&
	       a->offset == b->offset && a->size == b->size && a->elem_size == b->elem_size &&
	       a->elem_count == b->elem_count && a->kind == b->kind && a->flags == b->flags;
}

/* Of two with the same names. What they print follows from their fields. */
static bool same_info(const struct rs_event_info *a, const struct rs_event_info *b)
{
	if (a->field_count != b->field_count || a->entry_size != b->entry_size ||
	    a->level != b->level || a->keyword != b->keyword)
		return false;
	for (uint32_t i = 0; i < a->field_count; i++) {
		if (!same_field(&a->fields[i], &b->fields[i]))
			return false;
	}
	return true;
}

static struct rs_event *find_named(const struct rs_agent_provider *agent,
				   const struct rs_event *event)
{
	rs_core_each_event (other, agent) {
		if (same(other->info->name, event->info->name) &&
		    same(other->info->system, event->info->system))
			return other;
	}
	return NULL;
}

/* Appends the event to the list, whose end is *end, unless it is the same as one that is there. */
static int add(struct rs_agent_provider *agent, struct rs_event ***end, struct rs_event *event)
{
	int err = check_event(event->info);
	struct rs_event *other = err ? NULL : find_named(agent, event);

	if (err || other == event || event->same)
		return err;
	if (other && !same_info(other->info, event->info))
		return -RS_EEXIST;
	if (other) {
		rs_store(&event->same, other);
		rs_store(&event->next, agent->copies);
		agent->copies = event;
		return 0;
	}
	rs_store(*end, event);
	*end = &event->next;
	return 0;
}

/* Makes the list of events. Some may be left out: returns the first one's error. */
static int list_events(struct rs_agent_provider *agent)
{
	struct rs_event **end = &agent->first, *event;
	uint32_t count = event_count(agent);
	int err, first = 0;

	rs_store(end, NULL);
	agent->copies = NULL;
	for (uint32_t i = 0; i < count; i++) {
		event = event_at(agent, i);
		if (!event)
			continue;
		rs_store(&event->next, NULL);
		rs_store(&event->same, NULL);
	}
	for (uint32_t i = 0; i < count; i++) {
		event = event_at(agent, i);
		err = event ? add(agent, &end, event) : 0;
		first = first ? first : err;
	}
	return first;
}

/* ---- coming and going ---- */

#ifdef RS_PORT_ATTACH
/* Of a library that attaches the program it is in: once, before its first provider. */
void RS_PORT_ATTACH(void);
#endif

static bool change(struct rs_agent_provider *provider, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&provider->state, &from, to, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static int refuse(const char *why)
{
	rs_core_panic(why);
	return -RS_EBUSY;
}

int rs_provider_register(struct rs_agent_provider *provider)
{
	int err, left_out;

#ifdef RS_PORT_ATTACH
	RS_PORT_ATTACH();
#endif
	if (!change(provider, IDLE, COMING))
		return refuse("a provider is registered twice, or by two threads at once");
	left_out = list_events(provider);
	err = is_complete(provider) ? rs_core_check_name(provider->name, RS_PROVIDER_NAME_MAX)
				    : -RS_EBADMSG;
	if (!err) {
		err = rs_core_register(provider);
		err = err ? err : left_out;
	}
	/* Release: pairs with the acquire of who unregisters. */
	rs_store_release(&provider->state, THERE);
#ifdef RS_PORT_ATTACH
	/* A program that patches itself need not wait for its thread to look. */
	if (rs_agent_control_due())
		rs_agent_apply_control();
#endif
	return err;
}

int rs_provider_unregister(struct rs_agent_provider *provider)
{
	while (!change(provider, THERE, GOING)) {
		uint32_t state = rs_load_acquire(&provider->state);

		if (state == IDLE)
			return 0;
		if (state == COMING)
			return refuse("a provider is unregistered while it is being registered");
		/* Another thread has begun, or has registered it since. */
		rs_core_relax();
	}
	/* An agent that has been detached meanwhile has forgotten it already. */
	rs_agent_unregister(provider);
	rs_store_release(&provider->state, IDLE);
	return 0;
}

/* ---- who listens ---- */

static bool look(const struct rs_agent_provider *agent)
{
	rs_core_each_event (event, agent) {
		if (rs_event_enabled(event))
			return true;
	}
	return false;
}

static bool is_there(const struct rs_agent_provider *provider)
{
	return __atomic_load_n(&provider->id, __ATOMIC_SEQ_CST);
}

bool rs_provider_look(struct rs_agent_provider *provider, uint64_t now)
{
	uint64_t word = rs_load(&provider->listened);
	bool listened;

	if (!is_there(provider))
		return false;
	listened = look(provider);
	__atomic_compare_exchange_n(&provider->listened, &word, now | listened, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	/* It is going, or has gone and forgotten the word before this one was stored. */
	if (!is_there(provider))
		rs_store(&provider->listened, RS_LISTENED_UNKNOWN);
	return listened;
}

bool rs_provider_set_enabled(const struct rs_agent_provider *provider, uint32_t level,
			     uint64_t keyword)
{
	rs_core_each_event (event, provider) {
		if (event->info->level == level && event->info->keyword == keyword &&
		    rs_event_enabled(event))
			return true;
	}
	return false;
}

struct rs_event *rs_provider_find(const struct rs_agent_provider *provider, const char *name)
{
	uint32_t count = event_count(provider);

	for (uint32_t i = 0; i < count; i++) {
		struct rs_event *event = event_at(provider, i);

		if (event && event->info && same(event->info->name, name))
			return rs_statement_event(event);
	}
	return NULL;
}
