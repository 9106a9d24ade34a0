/* SPDX-License-Identifier: MIT */
/* Providers come and go. What of a provider cannot be registered is left out. */
#include "core.h"

#include <ringside/name.h>
#include <ringside/provider.h>

/* rs_event_provider.state */
#define IDLE 0u
#define COMING 1u
#define THERE 2u /* whatever registering has returned */
#define GOING 3u

#define UNKNOWN ~0ull /* rs_event_provider.listened; its numbers do not come so far */

/* ---- what can be registered ---- */

static bool is_long(const char *text, uint32_t room)
{
	uint32_t n = 0;

	while (text && n < room && text[n])
		n++;
	return n >= room;
}

static int check_name(const char *name, uint32_t room)
{
	if (is_long(name, room))
		return -RS_ENAMETOOLONG;
	return rs_is_name(name) ? 0 : -RS_EILSEQ;
}

static int check_field(const struct rs_field_info *field)
{
	if (is_long(field->name, RS_NAME_MAX))
		return -RS_ENAMETOOLONG;
	return field->kind >= RS_KIND_UINT && field->kind <= RS_KIND_DYN_STRING ? 0 : -RS_EINVAL;
}

static int check_event(const struct rs_event_info *info)
{
	int err, size;

	if (!info || !info->print || !info->print_args || (info->field_count && !info->fields))
		return -RS_EBADMSG;
	err = check_name(info->system, RS_PROVIDER_NAME_MAX);
	if (!err)
		err = check_name(info->name, RS_NAME_MAX);
	if (!err && (info->level < 1 || info->level > 5))
		err = -RS_EINVAL;
	if (!err && info->field_count > RS_MAX_FIELDS)
		err = -RS_EOVERFLOW;
	for (uint32_t i = 0; i < info->field_count && !err; i++)
		err = check_field(&info->fields[i]);
	if (err)
		return err;
	size = rs_describe_size(info);
	return size < 0 ? size : 0;
}

static bool is_whole(const void *from, const void *to, uint32_t size)
{
	return (uintptr_t)from <= (uintptr_t)to && ((uintptr_t)to - (uintptr_t)from) % size == 0;
}

static int check_provider(const struct rs_agent_provider *agent)
{
	if (!is_whole(agent->events, agent->events_end, sizeof(struct rs_event)) ||
	    !is_whole(agent->sites, agent->sites_end, sizeof(struct rs_site)))
		return -RS_EBADMSG;
	return check_name(agent->name, RS_PROVIDER_NAME_MAX);
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* Whether an event before it, which is not left out, has its names. */
static bool is_taken(const struct rs_agent_provider *agent, const struct rs_event *event)
{
	for (const struct rs_event *other = agent->events; other < event; other++) {
		if (!other->left_out && same(other->info->name, event->info->name) &&
		    same(other->info->system, event->info->system))
			return true;
	}
	return false;
}

/* Returns the first error of an event. */
static int leave_out(struct rs_agent_provider *agent)
{
	int first = 0;

	for (struct rs_event *event = agent->events; event < agent->events_end; event++) {
		int err = check_event(event->info);

		if (!err && is_taken(agent, event))
			err = -RS_EEXIST;
		event->left_out = err != 0;
		first = first ? first : err;
	}
	return first;
}

/* ---- coming and going ---- */

static bool change(struct rs_event_provider *provider, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&provider->state, &from, to, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static int refuse(const char *why)
{
	rs_core_panic(why);
	return -RS_EBUSY;
}

int rs_provider_register(struct rs_event_provider *provider)
{
	int err, left_out;

	if (!change(provider, IDLE, COMING))
		return refuse("a provider is registered twice, or by two threads at once");
	err = check_provider(&provider->agent);
	if (!err) {
		left_out = leave_out(&provider->agent);
		err = rs_agent_register(&provider->agent);
		err = err ? err : left_out;
	}
	rs_store(&provider->listened, UNKNOWN);
	/* Release: pairs with the acquire of who unregisters. */
	rs_store_release(&provider->state, THERE);
	return err;
}

int rs_provider_unregister(struct rs_event_provider *provider)
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
	rs_agent_unregister(&provider->agent);
	rs_store(&provider->listened, UNKNOWN);
	rs_store_release(&provider->state, IDLE);
	return 0;
}

/* ---- who listens ---- */

/* A section that is cut short may end within an event. */
static const struct rs_event *end_of(const struct rs_agent_provider *agent)
{
	uintptr_t from = (uintptr_t)agent->events, to = (uintptr_t)agent->events_end;

	return agent->events + (to > from ? (to - from) / sizeof(struct rs_event) : 0);
}

static bool look(const struct rs_agent_provider *agent)
{
	for (const struct rs_event *event = agent->events; event < end_of(agent); event++) {
		if (rs_event_enabled(event))
			return true;
	}
	return false;
}

static bool is_there(const struct rs_event_provider *provider)
{
	return __atomic_load_n(&provider->state, __ATOMIC_SEQ_CST) == THERE;
}

bool rs_provider_look(struct rs_event_provider *provider, uint64_t now)
{
	uint64_t word = rs_load(&provider->listened);
	bool listened;

	if (!is_there(provider))
		return false;
	listened = look(&provider->agent);
	__atomic_compare_exchange_n(&provider->listened, &word, now | listened, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	/* It is going, or has gone and forgotten the word before this one was stored. */
	if (!is_there(provider))
		rs_store(&provider->listened, UNKNOWN);
	return listened;
}

bool rs_provider_set_enabled(const struct rs_event_provider *provider, uint32_t level,
			     uint64_t keyword)
{
	const struct rs_agent_provider *agent = &provider->agent;

	for (const struct rs_event *event = agent->events; event < end_of(agent); event++) {
		if (event->info && event->info->level == level && event->info->keyword == keyword &&
		    rs_event_enabled(event))
			return true;
	}
	return false;
}

struct rs_event *rs_provider_find(const struct rs_event_provider *provider, const char *name)
{
	const struct rs_agent_provider *agent = &provider->agent;

	for (struct rs_event *event = agent->events; event < end_of(agent); event++) {
		if (event->info && same(event->info->name, name))
			return event;
	}
	return NULL;
}
