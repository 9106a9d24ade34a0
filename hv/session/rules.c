/* SPDX-License-Identifier: MIT */
/* Applies requests by glob to events that appear later. */
#include "session/plan.h"
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
	/* Whether there is room depends on what others ask for. */
	if (rule->early && is_start(source->session) && why->code != ENOSPC) {
		rs_filter_failed(rule->place, rule->expression, why, &err);
		rs_session_say_failed(source->session, &err);
		return;
	}
	rs_source_say(source,
		      "a filter of '%s' does not fit an event that is recorded without it: %s",
		      owner->name, why->message);
}

/* ---- fresh events, and the rules that filter them ---- */

/* What the rules of one owner say about fresh events. */
struct share {
	struct rs_owner *owner;
	struct rs_rule **filters; /* the rule that filters the event of each plan, or NULL */
};

struct fresh {
	struct rs_source *source;
	GArray *plans;      /* of struct rs_plan */
	GPtrArray *shares;  /* of struct share */
	GHashTable *parsed; /* struct rs_filters of each rule in the shares, if it can be parsed */
	const struct rs_rule *alone; /* it has met one event only, now */
	struct rs_turn looks;        /* for names of fields */
	bool stackless;              /* a call stack is wanted that the agent does not take */
};

static void share_free(gpointer data)
{
	struct share *share = data;

	rs_owner_drop_compiled(share->owner);
	g_free(share->filters);
	g_free(share);
}

static void add_share(struct fresh *fresh, struct rs_owner *owner)
{
	struct share *share;

	if (!owner->rules->len)
		return;
	share = g_new0(struct share, 1);
	share->owner = owner;
	share->filters = g_new0(struct rs_rule *, fresh->plans->len);
	for (guint i = 0; i < fresh->plans->len; i++)
		share->filters[i] = rs_owner_filter_of(owner, fresh->source->name,
						       rs_plan(fresh->plans, i)->event);
	g_ptr_array_add(fresh->shares, share);
}

static void free_filters(gpointer filters)
{
	rs_filters_free(filters);
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

static void add_events(struct fresh *fresh)
{
	struct rs_source *source = fresh->source;
	const uint64_t each = work_of_rules(source), end = rs_turn_share(&source->session->turn);
	uint64_t work = source->session->turn.work;

	for (guint i = 0; i < rs_trace_schema_n_events(source->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);

		/* Wait until its provider is live: its sites are not known before. */
		if (!rs_event_usable(source, event) || source->events[event->id].ruled)
			continue;
		if (work >= end) {
			source->unruled = true;
			break;
		}
		work += each;
		rs_plans_add(fresh->plans, source, event);
	}
	rs_turn_add(&source->session->turn, work - source->session->turn.work);
}

/* Live events to which the rules have not been applied, up to the work of a turn. */
static void fresh_init(struct fresh *fresh, struct rs_source *source)
{
	const struct rs_owners *owners = source->session->owners;

	*fresh = (struct fresh){
		.source = source,
		.plans = rs_plans_new(),
		.shares = g_ptr_array_new_with_free_func(share_free),
		.parsed = g_hash_table_new_full(NULL, NULL, NULL, free_filters),
		.looks = {.length = RS_TURN_WORK},
	};
	rs_turn_begin(&fresh->looks);
	add_events(fresh);
	if (!fresh->plans->len)
		return;
	for (unsigned int i = 0; i < rs_owners_count(owners); i++)
		add_share(fresh, rs_owners_nth(owners, i));
	add_share(fresh, source->guest);
}

static void fresh_clear(struct fresh *fresh)
{
	g_array_unref(fresh->plans);
	g_ptr_array_unref(fresh->shares);
	g_hash_table_unref(fresh->parsed);
}

/* ---- filters ---- */

/* NULL: it cannot be parsed, which cannot be, since it could when it was asked for. */
static struct rs_filters *parse(struct fresh *fresh, struct rs_rule *rule)
{
	struct rs_filters *filters = g_hash_table_lookup(fresh->parsed, rule);
	struct rs_filter_error why;

	if (filters || rs_filters_new(rule->expression, &filters, &why))
		return filters;
	g_hash_table_insert(fresh->parsed, rule, filters);
	return filters;
}

/*
 * The rule meets events for the first time: its names are looked for in all of them. If that takes
 * longer than a turn, it is left off.
 */
static void meet(struct fresh *fresh, const struct share *share, struct rs_rule *rule)
{
	g_autoptr(GPtrArray) events = g_ptr_array_new();
	struct rs_filters *filters = parse(fresh, rule);
	struct rs_filter_error why = {0};
	struct rs_turn *looks = &fresh->looks;
	const uint64_t before = looks->work;

	for (guint i = 0; i < fresh->plans->len; i++) {
		if (share->filters[i] == rule)
			g_ptr_array_add(events, (gpointer)rs_plan(fresh->plans, i)->event);
	}
	rule->met = true;
	if (events->len == 1)
		fresh->alone = rule;
	if (filters && rs_filters_look(filters, looks, events, &why) < 0)
		tell_unfit(fresh->source, share->owner, rule, &why);
	rs_turn_add(&fresh->source->session->turn, looks->work - before);
}

static void filter(struct fresh *fresh, struct rs_plan *plan, const struct share *share,
		   struct rs_rule *rule)
{
	struct rs_filters *filters = parse(fresh, rule);
	struct rs_program *program;
	struct rs_filter_error why = {0};

	if (!filters)
		return;
	if (rs_filters_compile(filters, plan, share->owner, rule == fresh->alone, &program, &why))
		tell_unfit(fresh->source, share->owner, rule, &why);
	if (!program)
		return;
	rs_wishes_set_filter(&plan->wishes, share->owner, rule->expression, program);
	rs_program_unref(program);
}

/* ---- applying them ---- */

static void apply(struct fresh *fresh, guint n)
{
	struct rs_plan *plan = rs_plan(fresh->plans, n);

	rs_plan_take_wishes(plan);
	for (guint i = 0; i < fresh->shares->len; i++) {
		const struct share *share = fresh->shares->pdata[i];
		struct rs_rule *rule = share->filters[n];
		const struct rs_rule *enable =
			rs_owner_enable_of(share->owner, fresh->source->name, plan->event);

		if (enable) {
			rs_wishes_set_stack(&plan->wishes, share->owner, enable->stack);
			fresh->stackless |= enable->stack && !rs_source_takes_stacks(fresh->source);
		}
		if (rule && !rule->met)
			meet(fresh, share, rule);
		if (rule)
			filter(fresh, plan, share, rule);
	}
	rs_plan_decide(plan, true, NULL);
	fresh->source->events[plan->id].ruled = true;
	fresh->source->events[plan->id].life = ++fresh->source->session->lives;
}

/* What has not been begun when the turn is over is left for later ones. */
static void apply_all(struct fresh *fresh)
{
	const struct rs_turn *turn = &fresh->source->session->turn;
	const uint64_t end = rs_turn_share(turn);
	guint n = 0;

	while (n < fresh->plans->len && turn->work < end)
		apply(fresh, n++);
	if (n < fresh->plans->len)
		fresh->source->unruled = true;
	g_array_set_size(fresh->plans, n);
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
	struct rs_error err = {0};
	struct fresh fresh;

	source->unruled = false;
	if (!source_alive(source))
		return;
	fresh_init(&fresh, source);
	apply_all(&fresh);
	if (rs_plans_carry_out(fresh.plans, NULL, &err)) {
		if (!source->machine && is_start(source->session) &&
		    asked_early(source->session->owners))
			rs_session_say_failed(source->session, &err);
		else
			rs_source_say(source, "what is wanted cannot be switched on: %s",
				      err.message);
	} else if (fresh.stackless) {
		rs_source_tell_no_stacks(source, NULL);
	}
	fresh_clear(&fresh);
}
