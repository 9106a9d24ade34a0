/* SPDX-License-Identifier: MIT */
/*
 * Enable, disable, list: by glob, in one batch for each source, in the order that control.h asks
 * for.
 */
#include "session/private.h"

#include <errno.h>
#include <rs-trace-escape.h>
#include <string.h>

/* ---- who asks ---- */

static bool asked(const struct asker *asker, const struct rs_source *source)
{
	return !asker->source || asker->source == source;
}

struct rs_owner *rs_asker_owner(const struct asker *asker, const struct rs_source *source)
{
	return asker->owner ? asker->owner : source->guest;
}

int rs_asker_init(struct asker *asker, struct rs_session *session, const char *owner,
		  struct rs_error *err)
{
	*asker = (struct asker){0};
	/* Also forget owners whose requests failed. */
	rs_owners_prune(session->owners);
	if (strcmp(owner, RS_OWNER_GUEST) == 0)
		return 0;
	return rs_owners_get(session->owners, owner, &asker->owner, err);
}

/* The n-th owner whose rules the asker means; NULL at the end. */
static struct rs_owner *nth_owner(struct rs_session *session, const struct asker *asker, guint n)
{
	if (asker->owner || asker->source)
		return n == 0 ? rs_asker_owner(asker, asker->source) : NULL;
	return n < session->sources->len ? nth_source(session, n)->guest : NULL;
}

int rs_asker_check_room(struct rs_session *session, const struct asker *asker,
			enum rs_rule_kind kind, const char *glob, const char *expression,
			struct rs_error *err)
{
	struct rs_owner *owner;
	int ret = 0;

	for (guint i = 0; !ret && (owner = nth_owner(session, asker, i)); i++)
		ret = rs_owner_check_room(owner, kind, glob, expression, err);
	return ret;
}

void rs_asker_add_rule(struct rs_session *session, const struct asker *asker,
		       enum rs_rule_kind kind, const char *glob, const char *expression, bool met)
{
	struct rs_owner *owner;

	for (guint i = 0; (owner = nth_owner(session, asker, i)); i++) {
		struct rs_rule *rule = rs_owner_add_rule(owner, kind, glob, expression);

		if (!rule)
			continue;
		rule->met = met;
		rule->early = !session->started;
	}
	/* The owner may have withdrawn its last wish. */
	rs_owners_prune(session->owners);
}

/* ---- which events ---- */

static bool event_live(const struct rs_source *source, const RsTraceEvent *event)
{
	return event->provider->is_live && event->slot < source->provider_slots &&
	       source->providers[event->slot].state == RS_PROVIDER_LIVE;
}

bool rs_event_usable(const struct rs_source *source, const RsTraceEvent *event)
{
	/* A hostile guest may give an id twice: the newest has it, as in a lookup. */
	return event->id < source->region->header.event_capacity && event_live(source, event) &&
	       rs_trace_schema_by_id(source->schema, event->id) == event;
}

static void add_matching(struct rs_source *source, const char *glob, GArray *refs)
{
	for (guint i = 0; i < rs_trace_schema_n_events(source->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);
		struct event_ref ref = {source, event->id};

		if (rs_event_usable(source, event) && rs_event_matches(source->name, event, glob))
			g_array_append_val(refs, ref);
	}
}

static int check_glob(const char *glob, struct rs_error *err)
{
	if (!glob || !*glob)
		return rs_error_set(err, EINVAL, "an event glob is needed, such as 'sched:*'");
	if (strlen(glob) > RS_SESSION_MAX_GLOB)
		return rs_error_set(err, EINVAL, "the event glob is longer than %u bytes",
				    RS_SESSION_MAX_GLOB);
	return 0;
}

static int no_match(const char *glob, const char *ended, struct rs_error *err)
{
	g_autofree char *escaped = rs_trace_escape(glob, -1, NULL);

	if (ended)
		return rs_error_set(err, ENOENT, "no event matches '%s': '%s' has ended", escaped,
				    ended);
	return rs_error_set(err, ENOENT, "no event matches '%s'", escaped);
}

/* The name of a source that has ended and had an event that matches, or NULL. */
static const char *ended_match(const struct rs_session *session, const struct asker *asker,
			       const char *glob)
{
	for (guint i = 0; i < session->sources->len; i++) {
		const struct rs_source *source = nth_source(session, i);

		if (!asked(asker, source) || !source->ended)
			continue;
		for (guint k = 0; k < rs_trace_schema_n_events(source->schema); k++) {
			if (rs_event_matches(source->name, rs_trace_schema_nth(source->schema, k),
					     glob))
				return source->name;
		}
	}
	return NULL;
}

/* Whether neither the machine nor any process in it has reported. */
static bool silent(const struct rs_session *session, const struct rs_source *machine)
{
	for (guint i = 0; i < session->sources->len; i++) {
		const struct rs_source *source = nth_source(session, i);

		if (source->hello && (source == machine || source->machine == machine))
			return false;
	}
	return true;
}

/*
 * Whether the wish is kept as a rule if no event matches, because matching events may still come.
 */
static bool may_wait(const struct rs_session *session, const struct asker *asker)
{
	for (guint i = 0; i < session->sources->len; i++) {
		const struct rs_source *source = nth_source(session, i);

		if (asked(asker, source) && !source->machine && !source->ended &&
		    silent(session, source))
			return true;
	}
	return !session->sources->len;
}

int rs_events_match(struct rs_session *session, const struct asker *asker, const char *glob,
		    GArray **refs, struct rs_error *err)
{
	GArray *found;
	int ret = check_glob(glob, err);

	if (ret)
		return ret;
	if (session->detached || rs_session_over(session))
		return rs_error_set(err, ESHUTDOWN, "the guest has ended");
	found = g_array_new(FALSE, FALSE, sizeof(struct event_ref));
	for (guint i = 0; i < session->sources->len; i++) {
		struct rs_source *source = nth_source(session, i);

		if (!asked(asker, source) || source->ended)
			continue;
		if (source->started)
			rs_source_refresh(source);
		add_matching(source, glob, found);
	}
	if (!found->len && !may_wait(session, asker)) {
		g_array_unref(found);
		return no_match(glob, ended_match(session, asker, glob), err);
	}
	*refs = found;
	return 0;
}

/* ---- as asked ---- */

static int enable_refs(const struct asker *asker, const GArray *refs, GPtrArray *problems,
		       struct rs_error *err)
{
	g_autoptr(GArray) plans = rs_plans_new(refs);

	for (guint i = 0; i < plans->len; i++) {
		struct plan *plan = rs_plan(plans, i);

		rs_wishes_set_wanted(&plan->wishes, rs_asker_owner(asker, plan->ref.source), true);
	}
	return rs_plans_carry_out(plans, false, problems, err);
}

int rs_events_enable(struct rs_session *session, const struct asker *asker, const char *glob,
		     struct rs_session_result *result, struct rs_error *err)
{
	g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GArray) refs = NULL;
	int ret = rs_events_match(session, asker, glob, &refs, err);

	if (!ret)
		ret = rs_asker_check_room(session, asker, RS_RULE_ENABLE, glob, NULL, err);
	if (!ret)
		ret = enable_refs(asker, refs, problems, err);
	if (ret)
		return ret;
	rs_asker_add_rule(session, asker, RS_RULE_ENABLE, glob, NULL, true);
	if (result) {
		result->touched = refs->len;
		result->pending = !refs->len;
		result->problems = problems->len ? g_ptr_array_ref(problems) : NULL;
	}
	rs_session_say_changed(session);
	return 0;
}

int rs_session_enable(struct rs_session *session, const char *owner, const char *glob,
		      struct rs_session_result *result, struct rs_error *err)
{
	struct asker asker;
	int ret = rs_asker_init(&asker, session, owner, err);

	return ret ? ret : rs_events_enable(session, &asker, glob, result, err);
}

static int disable_refs(const struct asker *asker, const GArray *refs,
			struct rs_session_result *result, struct rs_error *err)
{
	g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GArray) plans = rs_plans_new(refs);
	int ret;

	for (guint i = 0; i < plans->len; i++) {
		struct plan *plan = rs_plan(plans, i);

		rs_wishes_set_wanted(&plan->wishes, rs_asker_owner(asker, plan->ref.source), false);
	}
	/* An owner can always let go of an event, even if the others' filters are too large. */
	ret = rs_plans_carry_out(plans, true, problems, err);
	if (!ret && problems->len)
		result->problems = g_ptr_array_ref(problems);
	for (guint i = 0; i < plans->len && !ret; i++) {
		if (rs_plan(plans, i)->on)
			rs_result_keep(result, rs_plan(plans, i), NULL);
	}
	return ret;
}

int rs_events_disable(struct rs_session *session, const struct asker *asker, const char *glob,
		      struct rs_session_result *result, struct rs_error *err)
{
	struct rs_session_result unused = {0}, *out = result ? result : &unused;
	g_autoptr(GArray) refs = NULL;
	int ret = rs_events_match(session, asker, glob, &refs, err);

	if (!ret)
		ret = rs_asker_check_room(session, asker, RS_RULE_DISABLE, glob, NULL, err);
	if (!ret)
		ret = disable_refs(asker, refs, out, err);
	if (!ret) {
		rs_asker_add_rule(session, asker, RS_RULE_DISABLE, glob, NULL, true);
		out->touched = refs->len;
		out->pending = !refs->len;
		rs_session_say_changed(session);
	}
	rs_session_result_clear(&unused);
	return ret;
}

int rs_session_disable(struct rs_session *session, const char *owner, const char *glob,
		       struct rs_session_result *result, struct rs_error *err)
{
	struct asker asker;
	int ret = rs_asker_init(&asker, session, owner, err);

	return ret ? ret : rs_events_disable(session, &asker, glob, result, err);
}

/* ---- changes that nobody asked for ---- */

bool rs_session_knows_owner(const struct rs_session *session, const char *owner)
{
	return rs_owners_find(session->owners, owner);
}

void rs_session_forget_owner(struct rs_session *session, const char *name)
{
	g_autoptr(GArray) refs = g_array_new(FALSE, FALSE, sizeof(struct event_ref)), plans = NULL;
	struct rs_owner *owner = rs_owners_find(session->owners, name);
	struct rs_error err = {0};

	if (!owner)
		return;
	rs_owner_clear_rules(owner);
	for (guint i = 0; i < session->sources->len; i++) {
		struct rs_source *source = nth_source(session, i);

		for (uint32_t id = 0; id < source->region->header.event_capacity; id++) {
			struct event_ref ref = {source, id};
			struct rs_wishes *wishes = &source->events[id].wishes;

			if (!source_alive(source))
				rs_wishes_forget(wishes, owner);
			else if (rs_wishes_of(wishes, owner))
				g_array_append_val(refs, ref);
		}
	}
	plans = rs_plans_new(refs);
	for (guint i = 0; i < plans->len; i++)
		rs_wishes_forget(&rs_plan(plans, i)->wishes, owner);
	if (rs_plans_carry_out(plans, true, NULL, &err))
		rs_session_say(session, "what '%s' wanted is not wanted any more: %s", name,
			       err.message);
	/* The plans hold copies of the wishes. */
	g_clear_pointer(&plans, g_array_unref);
	rs_owners_prune(session->owners);
	rs_session_say_changed(session);
}

void rs_source_provider_gone(struct rs_source *source, uint32_t slot)
{
	g_autoptr(GArray) refs = g_array_new(FALSE, FALSE, sizeof(struct event_ref)), plans = NULL;
	const RsTraceEvent *event;
	struct rs_error err = {0};

	/* Not all events: a guest may change every slot between two looks at its table. */
	for (guint i = 0; (event = rs_trace_schema_nth_of(source->schema, slot, i)); i++) {
		struct event_ref ref = {source, event->id};

		if (event->id >= source->region->header.event_capacity)
			continue;
		source->events[event->id].ruled = false;
		g_array_append_val(refs, ref);
	}
	if (!refs->len)
		return;
	plans = rs_plans_new(refs);
	for (guint i = 0; i < plans->len; i++)
		rs_wishes_clear(&rs_plan(plans, i)->wishes);
	if (rs_plans_carry_out(plans, true, NULL, &err))
		rs_source_say(source, "a provider left: %s", err.message);
}

void rs_source_forget_event(struct rs_source *source, uint32_t id)
{
	struct event_state *state = &source->events[id];

	rs_wishes_clear(&state->wishes);
	g_clear_pointer(&state->program, g_byte_array_unref);
	g_free(state->filter);
	g_free(state->note);
	*state = (struct event_state){0};
}

void rs_source_forget_events(struct rs_source *source)
{
	rs_publisher_reset(source->publisher);
	rs_source_commit(source);
	for (uint32_t id = 0; id < source->region->header.event_capacity; id++)
		rs_source_forget_event(source, id);
	/* The requests of the guest were those of an earlier boot. */
	rs_owner_clear_rules(source->guest);
}

int rs_source_all_off(struct rs_source *source, struct rs_error *err)
{
	g_autoptr(GArray) on = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	int ret;

	for (uint32_t id = 0; id < source->region->header.event_capacity; id++) {
		if (source->events[id].on)
			g_array_append_val(on, id);
	}
	ret = rs_source_switch_off(source, on, NULL, err);
	rs_source_commit(source);
	return ret;
}

/* ---- list ---- */

static void list_source(struct rs_source *source, const char *glob, GArray *list)
{
	for (guint i = 0; i < rs_trace_schema_n_events(source->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);
		struct rs_session_event entry = {.source = source, .event = event};
		const struct event_state *state;

		if (event->id >= source->region->header.event_capacity ||
		    (glob && !rs_event_matches(source->name, event, glob)))
			continue;
		state = &source->events[event->id];
		entry.enabled = state->on;
		entry.live = event_live(source, event);
		entry.filter = state->filter;
		entry.wishes = state->wishes.first;
		entry.sites = rs_source_sites_of(source, event->id);
		entry.note = state->note;
		if (!entry.live)
			entry.note = "its provider has gone";
		else if (state->overfull)
			entry.note = "the owners' filters are too large together: all is recorded";
		g_array_append_val(list, entry);
	}
}

GArray *rs_session_list(struct rs_session *session, const char *glob)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct rs_session_event));

	rs_session_refresh(session);
	for (guint i = 0; i < session->sources->len; i++)
		list_source(nth_source(session, i), glob, list);
	return list;
}
