/* SPDX-License-Identifier: MIT */
/* Applies requests by glob to events that appear later. */
#include "session/private.h"

#include "filter/filter.h"
#include <errno.h>
#include <string.h>

static bool is_start(const struct rs_session *session)
{
	return g_get_monotonic_time() - session->hello_at < RS_SESSION_START_MS * 1000;
}

/*
 * The filter does not fit an event, which is recorded without it. This is not an error, since an
 * owner who sets a filter cannot know what events a guest will describe. But a typing mistake in
 * the requests at the start should be noticed.
 */
static void tell_unfit(struct rs_source *source, const struct rs_owner *owner, struct rs_rule *rule,
		       const struct rs_filter_error *why)
{
	struct rs_error err = {0};

	if (rule->told)
		return;
	rule->told = true;
	if (rule->early && is_start(source->session)) {
		rs_filter_failed(rule->expression, why, &err);
		rs_session_say_failed(source->session, &err);
		return;
	}
	rs_source_say(source,
		      "a filter of '%s' does not fit an event that is recorded without it: %s",
		      owner->name, why->message);
}

static void set_filter(struct plan *plan, struct rs_owner *owner, struct rs_rule *rule,
		       GByteArray *program)
{
	struct rs_source *source = plan->ref.source;
	struct rs_filter_error why = {0};

	if (!program)
		return;
	if (owner != source->guest || rs_owner_guest_may(program)) {
		rs_wishes_set_filter(&plan->wishes, owner, rule->expression, program);
		return;
	}
	g_strlcpy(why.message, RS_GUEST_FILTER_TOO_LARGE, sizeof(why.message));
	tell_unfit(source, owner, rule, &why);
}

static void count_compiled(const struct plan *plan, const struct rs_rule *rule, guint events)
{
	rs_session_work(plan->ref.source->session,
			(uint64_t)strlen(rule->expression) * events * RS_WORK_FILTER);
}

/*
 * Compiles the filter for an event, by the rules for several events, since the glob has matched
 * others before.
 */
static void filter_one(struct plan *plan, struct rs_owner *owner, struct rs_rule *rule)
{
	struct rs_filter_error why = {0};
	g_autoptr(GByteArray) program = NULL;

	count_compiled(plan, rule, 1);
	if (rs_filter_compile_more(plan->event, rule->expression, &program, &why))
		tell_unfit(plan->ref.source, owner, rule, &why);
	else
		set_filter(plan, owner, rule, program);
}

/*
 * Compiles the filter for the first events that the rule meets: its names are checked against all
 * of them. `those` are indices of plans. False: it does not fit all of them, and a message has said
 * so. Then compile it for each event alone.
 */
static bool filter_first(GArray *plans, const GArray *those, struct rs_owner *owner,
			 struct rs_rule *rule)
{
	g_autofree const RsTraceEvent **events = g_new0(const RsTraceEvent *, those->len);
	g_autofree GByteArray **programs = g_new0(GByteArray *, those->len);
	struct rs_filter_error why = {0};

	for (guint i = 0; i < those->len; i++)
		events[i] = rs_plan(plans, g_array_index(those, guint, i))->event;
	rule->met = true;
	count_compiled(rs_plan(plans, 0), rule, those->len);
	if (rs_filter_compile(events, those->len, rule->expression, programs, &why)) {
		tell_unfit(rs_plan(plans, 0)->ref.source, owner, rule, &why);
		return those->len == 1;
	}
	for (guint i = 0; i < those->len; i++) {
		set_filter(rs_plan(plans, g_array_index(those, guint, i)), owner, rule,
			   programs[i]);
		g_clear_pointer(&programs[i], g_byte_array_unref);
	}
	return true;
}

/* The rule that filters the event of each plan, or NULL. */
static struct rs_rule **find_filters(GArray *plans, const struct rs_owner *owner)
{
	struct rs_rule **rules = g_new0(struct rs_rule *, plans->len);

	for (guint i = 0; i < plans->len; i++) {
		const struct plan *plan = rs_plan(plans, i);

		rules[i] = rs_owner_filter_of(owner, plan->ref.source->name, plan->event);
	}
	return rules;
}

static void apply_filters(GArray *plans, struct rs_owner *owner)
{
	g_autofree struct rs_rule **rules = find_filters(plans, owner);
	g_autoptr(GArray) those = g_array_new(FALSE, FALSE, sizeof(guint));

	for (guint i = 0; i < plans->len; i++) {
		struct rs_rule *rule = rules[i];
		bool done = false;

		if (!rule)
			continue;
		g_array_set_size(those, 0);
		for (guint k = i; !rule->met && k < plans->len; k++) {
			if (rules[k] == rule)
				g_array_append_val(those, k);
		}
		if (those->len)
			done = filter_first(plans, those, owner, rule);
		for (guint k = 0; done && k < those->len; k++)
			rules[g_array_index(those, guint, k)] = NULL;
		if (!done)
			filter_one(rs_plan(plans, i), owner, rule);
	}
}

static void apply(GArray *plans, struct rs_owner *owner)
{
	if (!owner->rules->len || !plans->len)
		return;
	for (guint i = 0; i < plans->len; i++) {
		struct plan *plan = rs_plan(plans, i);

		if (rs_owner_wants(owner, plan->ref.source->name, plan->event))
			rs_wishes_set_wanted(&plan->wishes, owner, true);
	}
	apply_filters(plans, owner);
	rs_owner_drop_compiled(owner);
}

/* The work of comparing an event with all rules of the owner. */
static uint64_t work_of(const struct rs_owner *owner)
{
	uint64_t work = 0;

	for (guint i = 0; i < owner->rules->len; i++)
		work += RS_WORK_RULE(
			strlen(((const struct rs_rule *)owner->rules->pdata[i])->glob));
	return work;
}

/* The work of comparing an event of the source with all rules. */
static uint64_t work_of_rules(const struct rs_source *source)
{
	const struct rs_owners *owners = source->session->owners;
	uint64_t work = work_of(source->guest);

	for (unsigned int i = 0; i < rs_owners_count(owners); i++)
		work += work_of(rs_owners_nth(owners, i));
	return work;
}

/* Live events to which the rules have not been applied, up to the work of a turn. */
static GArray *fresh_events(struct rs_source *source)
{
	GArray *refs = g_array_new(FALSE, FALSE, sizeof(struct event_ref));
	const uint64_t each = work_of_rules(source);
	uint64_t work = 0;

	for (guint i = 0; i < rs_trace_schema_n_events(source->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);
		struct event_ref ref = {source, event->id};

		/* Wait until its provider is live: its sites are not known before. */
		if (!rs_event_usable(source, event) || source->events[event->id].ruled)
			continue;
		if (work >= RS_SESSION_TURN_WORK) {
			source->unruled = true;
			break;
		}
		work += each;
		source->events[event->id].ruled = true;
		g_array_append_val(refs, ref);
	}
	rs_session_work(source->session, work);
	return refs;
}

/* Whether something was asked for before the session was started. */
static bool asked_early(const struct rs_owners *owners)
{
	for (unsigned int i = 0; i < rs_owners_count(owners); i++) {
		const GPtrArray *rules = rs_owners_nth(owners, i)->rules;

		for (guint k = 0; k < rules->len; k++) {
			if (((const struct rs_rule *)rules->pdata[k])->early)
				return true;
		}
	}
	return false;
}

/*
 * If this fails, what was asked for at the start cannot be had. But what comes later, or joins,
 * must not end what others are traced for.
 */
void rs_rules_apply(struct rs_source *source)
{
	const struct rs_owners *owners = source->session->owners;
	g_autoptr(GArray) refs = NULL, plans = NULL;
	struct rs_error err = {0};

	source->unruled = false;
	if (!source_alive(source))
		return;
	refs = fresh_events(source);
	plans = rs_plans_new(refs);
	for (unsigned int i = 0; i < rs_owners_count(owners); i++)
		apply(plans, rs_owners_nth(owners, i));
	apply(plans, source->guest);
	if (!rs_plans_carry_out(plans, true, NULL, &err))
		return;
	if (!source->machine && is_start(source->session) && asked_early(owners))
		rs_session_say_failed(source->session, &err);
	else
		rs_source_say(source, "what is wanted cannot be switched on: %s", err.message);
}
