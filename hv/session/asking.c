/* SPDX-License-Identifier: MIT */
/*
 * A request: enable, disable, set or clear a filter, forget an owner, restore what he wished once,
 * or review what is in force.
 * All of it goes the same way, in as many turns as it takes:
 *
 *     find the events in each source, a part of the request
 *     make a plan for each event: compile what is asked for, and join it with what others want
 *     once that is done for all of them: carry the parts out, one after the other
 *     keep the request as a rule
 *
 * Between two turns others change things. So a part whose source describes other events by now
 * begins anew, and a plan for an event that somebody else has changed is made anew.
 */
#include "session/plan.h"
#include "session/private.h"

#include "filter/filter.h"
#include <errno.h>
#include <ringside/record.h>
#include <rs-trace-escape.h>
#include <string.h>

/* A part whose source describes other events again and again is given up at last. */
#define TRIES 100u
/*
 * If others have changed the events of a part so often that each was planned so many times, the
 * plans are made without a look at the turn.
 */
#define PASSES 4u

/* The events of one source. */
struct part {
	struct rs_source *source;
	uint32_t described; /* as the source counted it when its events were found */
	guint tries;
	guint again; /* plans that were made anew */
	bool found, done;
	bool failed;   /* nothing was changed there */
	GArray *plans; /* of struct rs_plan */
};

struct rs_asking {
	struct rs_session *session;
	struct asker asker;
	enum rs_session_ask_kind kind;
	char *glob, *expression, *place;
	uint32_t stack; /* of RS_ASK_ENABLE */
	bool ahead;
	struct rs_filters *filters; /* of `expression`; NULL: none */
	struct rs_saved *saved;     /* of RS_ASK_RESTORE */
	GPtrArray *parts;           /* of struct part, in the order of the sources */
	bool begun, matched;        /* the events were found once */
	bool carrying;              /* all was worked out once, and some parts may be done */
	struct rs_session_result result;
	int ret; /* the first failure of a part */
	struct rs_error err;
};

static void part_free(gpointer data)
{
	struct part *part = data;

	g_array_unref(part->plans);
	g_free(part);
}

/* The others are about all events for which there are wishes. */
static bool has_glob(enum rs_session_ask_kind kind)
{
	return kind != RS_ASK_FORGET && kind != RS_ASK_REVIEW && kind != RS_ASK_RESTORE;
}

static struct part *nth_part(const struct rs_asking *asking, guint i)
{
	return asking->parts->pdata[i];
}

/* ---- who asks ---- */

static bool asked(const struct asker *asker, const struct rs_source *source)
{
	return !asker->source || asker->source == source;
}

struct rs_owner *rs_asker_owner(const struct asker *asker, const struct rs_source *source)
{
	return asker->owner ? asker->owner : source->guest;
}

/* The n-th owner whose rules the asker means; NULL at the end. */
static struct rs_owner *nth_owner(const struct rs_asking *asking, guint n)
{
	const struct rs_session *session = asking->session;
	const struct asker *asker = &asking->asker;

	if (asker->owner || asker->source)
		return n == 0 ? rs_asker_owner(asker, asker->source) : NULL;
	return n < session->sources->len ? nth_source(session, n)->guest : NULL;
}

/* ---- the rule ---- */

static enum rs_rule_kind rule_kind(const struct rs_asking *asking)
{
	switch (asking->kind) {
	case RS_ASK_ENABLE:
		return RS_RULE_ENABLE;
	case RS_ASK_FILTER:
		return RS_RULE_FILTER;
	default:
		return RS_RULE_DISABLE;
	}
}

static int check_room(const struct rs_asking *asking, struct rs_error *err)
{
	struct rs_owner *owner;
	int ret = 0;

	for (guint i = 0; !ret && asking->glob && (owner = nth_owner(asking, i)); i++)
		ret = rs_owner_check_room(owner, rule_kind(asking), asking->glob,
					  asking->expression, err);
	return ret;
}

/* `met`: events have come for which it counts. */
static void add_rule(const struct rs_asking *asking, bool met)
{
	struct rs_owner *owner;

	for (guint i = 0; asking->glob && (owner = nth_owner(asking, i)); i++) {
		struct rs_rule *rule = rs_owner_add_rule(owner, rule_kind(asking), asking->glob,
							 asking->expression);

		if (!rule)
			continue;
		rule->met = met;
		rule->stack = asking->stack;
		rule->early = !asking->session->started;
		rule->place = g_strdup(asking->place);
	}
}

/* ---- which events ---- */

static int check_glob(const char *glob, struct rs_error *err)
{
	if (!glob || !*glob)
		return rs_error_set(err, EINVAL, "an event glob is needed, such as 'sched:*'");
	if (strlen(glob) > RS_SESSION_MAX_GLOB)
		return rs_error_set(err, EINVAL, "the event glob is longer than %u bytes",
				    RS_SESSION_MAX_GLOB);
	return rs_event_glob_check(glob, err);
}

static void find_matching(const struct rs_asking *asking, const struct part *part,
			  const RsTraceEventGlob *glob)
{
	struct rs_source *source = part->source;
	guint n = rs_trace_schema_n_events(source->schema);

	rs_turn_add(&source->session->turn, (uint64_t)n * RS_WORK_RULE(strlen(asking->glob)));
	for (guint i = 0; i < n; i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);

		if (rs_event_usable(source, event) &&
		    rs_trace_event_glob_matches(glob, source->name, event))
			rs_plans_add(part->plans, source, event);
	}
}

/* Those that anybody has asked about. */
static void find_any_wished(struct rs_source *source, GArray *plans)
{
	rs_turn_add(&source->session->turn, source->region->header.event_capacity);
	for (uint32_t id = RS_FIRST_EVENT_ID; id < source->region->header.event_capacity; id++) {
		const RsTraceEvent *event = rs_trace_schema_by_id(source->schema, id);

		if (source->events[id].wishes.first && event && rs_event_usable(source, event))
			rs_plans_add(plans, source, event);
	}
}

/* Those that the owner has asked about. Its wishes for events that cannot be used end at once. */
static void find_wished(const struct rs_asking *asking, struct rs_source *source, GArray *plans)
{
	const struct rs_owner *owner = asking->asker.owner;
	bool alive = source_alive(source) && !rs_session_over(source->session);

	rs_turn_add(&source->session->turn, source->region->header.event_capacity);
	for (uint32_t id = RS_FIRST_EVENT_ID; id < source->region->header.event_capacity; id++) {
		const RsTraceEvent *event = rs_trace_schema_by_id(source->schema, id);
		struct rs_wishes *wishes = &source->events[id].wishes;

		if (!rs_wishes_of(wishes, owner))
			continue;
		if (alive && event && rs_event_usable(source, event))
			rs_plans_add(plans, source, event);
		else
			rs_wishes_forget(wishes, owner);
	}
}

/* Those of which the owner wished something, does so now, or might have. */
static void find_saved(const struct rs_asking *asking, struct rs_source *source, GArray *plans)
{
	guint n = rs_trace_schema_n_events(source->schema);

	rs_turn_add(&source->session->turn, n);
	for (guint i = 0; i < n; i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);
		const struct event_state *state;

		if (!rs_event_usable(source, event))
			continue;
		state = &source->events[event->id];
		if (!rs_saved_knows(asking->saved, state->life) ||
		    rs_saved_has(asking->saved, state->life) ||
		    rs_wishes_of(&state->wishes, asking->asker.owner))
			rs_plans_add(plans, source, event);
	}
}

static void find_events(const struct rs_asking *asking, struct part *part,
			const RsTraceEventGlob *glob)
{
	g_array_set_size(part->plans, 0);
	part->found = true;
	part->done = false;
	part->described = part->source->described;
	if (glob)
		find_matching(asking, part, glob);
	else if (asking->kind == RS_ASK_REVIEW)
		find_any_wished(part->source, part->plans);
	else if (asking->kind == RS_ASK_RESTORE)
		find_saved(asking, part->source, part->plans);
	else
		find_wished(asking, part->source, part->plans);
}

static bool has_part(const struct rs_asking *asking, const struct rs_source *source)
{
	for (guint i = 0; i < asking->parts->len; i++) {
		if (nth_part(asking, i)->source == source)
			return true;
	}
	return false;
}

/* A part for each source that has none. */
static void add_parts(struct rs_asking *asking)
{
	const GPtrArray *sources = asking->session->sources;

	for (guint i = 0; i < sources->len; i++) {
		struct rs_source *source = sources->pdata[i];
		struct part *part;

		if (!asked(&asking->asker, source) || has_part(asking, source) ||
		    (source->ended && asking->kind != RS_ASK_FORGET))
			continue;
		part = g_new0(struct part, 1);
		part->source = source;
		part->plans = rs_plans_new();
		g_ptr_array_add(asking->parts, part);
	}
}

static bool is_stale(const struct part *part)
{
	if (part->failed || (part->done && part->source->ended))
		return false;
	return !part->found || part->described != part->source->described;
}

static bool is_only_part(const struct rs_asking *asking, const struct part *part)
{
	for (guint i = 0; i < asking->parts->len; i++) {
		if (nth_part(asking, i) != part &&
		    (nth_part(asking, i)->plans->len || nth_part(asking, i)->failed))
			return false;
	}
	return true;
}

/* Nothing was changed in this part. If it is the only one, whoever asked gets the error. */
static void fail(struct rs_asking *asking, struct part *part, int ret, struct rs_error *why)
{
	part->failed = true;
	g_array_set_size(part->plans, 0); /* their events may be gone */
	if (!is_only_part(asking, part))
		rs_result_fail(&asking->result, part->source, why->message);
	rs_source_result(part->source, ret, why);
	if (!asking->ret)
		asking->err = *why;
	asking->ret = asking->ret ? asking->ret : ret;
}

static void give_up(struct rs_asking *asking, struct part *part)
{
	struct rs_error err = {0};
	int ret = rs_error_set(&err, EBUSY, "it describes other events all the time");

	if (part->done)
		part->described = part->source->described;
	else
		fail(asking, part, ret, &err);
}

/* Finds the events of parts that are new or stale. 1: the turn is over. */
static int find_stale(struct rs_asking *asking)
{
	RsTraceEventGlob *glob = NULL;
	int ret = 0;

	add_parts(asking);
	for (guint i = 0; i < asking->parts->len && !ret; i++) {
		struct part *part = nth_part(asking, i);

		if (!is_stale(part))
			continue;
		if (part->tries == TRIES) {
			give_up(asking, part);
		} else if (rs_turn_over(&asking->session->turn)) {
			ret = 1;
		} else {
			part->tries++;
			if (asking->glob && !glob)
				glob = rs_trace_event_glob_new(asking->glob, NULL);
			find_events(asking, part, glob);
		}
	}
	rs_trace_event_glob_free(glob);
	return ret;
}

static guint count_events(const struct rs_asking *asking)
{
	guint count = 0;

	for (guint i = 0; i < asking->parts->len; i++)
		count += nth_part(asking, i)->plans->len;
	return count;
}

/* ---- no events ---- */

/* The name of a source that has ended and had an event that matches, or NULL. */
static const char *ended_match(const struct rs_session *session, const struct asker *asker,
			       const RsTraceEventGlob *glob)
{
	for (guint i = 0; i < session->sources->len; i++) {
		const struct rs_source *source = nth_source(session, i);

		if (!asked(asker, source) || !source->ended)
			continue;
		for (guint k = 0; k < rs_trace_schema_n_events(source->schema); k++) {
			const RsTraceEvent *event = rs_trace_schema_nth(source->schema, k);

			if (rs_trace_event_glob_matches(glob, source->name, event))
				return source->name;
		}
	}
	return NULL;
}

/* What is kept of the same names with a selection, which one must name to end it. NULL: none. */
static const char *kept_like(const struct rs_asking *asking)
{
	const size_t size = strlen(asking->glob);
	const struct rs_owner *owner;

	for (guint i = 0; (owner = nth_owner(asking, i)); i++) {
		for (guint k = 0; k < owner->rules->len; k++) {
			const struct rs_rule *rule = owner->rules->pdata[k];

			if (g_str_has_prefix(rule->glob, asking->glob) &&
			    rule->glob[size] == RS_TRACE_EVENT_GLOB_SELECT)
				return rule->glob;
		}
	}
	return NULL;
}

/* A guest is told nothing of the events of others, and costs no time for suggestions. */
static int no_match(const struct rs_asking *asking, struct rs_error *err)
{
	RsTraceEventGlob *glob = rs_trace_event_glob_new(asking->glob, NULL);
	const char *ended = ended_match(asking->session, &asking->asker, glob);
	const char *kept = kept_like(asking);
	g_autofree char *escaped = rs_trace_escape(asking->glob, -1, NULL), *suggestion = NULL;

	rs_trace_event_glob_free(glob);
	if (asking->asker.owner && kept) {
		g_autofree char *shown = rs_trace_escape(kept, -1, NULL);

		return rs_error_set(err, ENOENT,
				    "no event matches '%s'; '%s' is kept for what comes", escaped,
				    shown);
	}
	if (ended)
		return rs_error_set(err, ENOENT, "no event matches '%s': '%s' has ended", escaped,
				    ended);
	suggestion = asking->asker.owner ? rs_session_suggest(asking->session, asking->glob)
					 : g_strdup("");
	return rs_error_set(err, ENOENT, "no event matches '%s'%s", escaped, suggestion);
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

/* Whether it ends a rule, which may be one for events that have not come. */
static bool ends_rule(const struct rs_asking *asking)
{
	const struct rs_owner *owner;
	bool ends = false;

	if (asking->kind == RS_ASK_ENABLE || asking->expression)
		return false;
	for (guint i = 0; !ends && (owner = nth_owner(asking, i)); i++)
		ends = rs_owner_ends_rule(owner, rule_kind(asking), asking->glob);
	return ends;
}

/*
 * Whether the wish is kept as a rule if no event matches, because matching events may still come.
 */
static bool may_wait(const struct rs_asking *asking)
{
	const struct rs_session *session = asking->session;
	const struct asker *asker = &asking->asker;

	if (asking->ahead || ends_rule(asking))
		return true;
	for (guint i = 0; i < session->sources->len; i++) {
		const struct rs_source *source = nth_source(session, i);

		if (asked(asker, source) && !source->machine && !source->ended &&
		    silent(session, source))
			return true;
	}
	return !session->sources->len;
}

/* ---- beginning ---- */

/* An owner can be forgotten at any time. */
static int refuse_over(const struct rs_asking *asking, struct rs_error *err)
{
	const struct rs_session *session = asking->session;
	bool over = session->detached || rs_session_over(session);

	return over && asking->glob ? rs_session_refuse_over(session, err) : 0;
}

/* Checks what needs no events. */
static int check(const struct rs_asking *asking, struct rs_error *err)
{
	struct rs_filter_error why = {0};
	int ret;

	if (!has_glob(asking->kind))
		return 0;
	if (asking->expression && rs_filter_check(asking->expression, &why))
		return rs_filter_failed(asking->place, asking->expression, &why, err);
	if (asking->stack > RS_STACK_MAX)
		return rs_error_set(err, EINVAL, "a call stack has at most %u frames",
				    RS_STACK_MAX);
	ret = check_glob(asking->glob, err);
	if (!ret && asking->ahead)
		ret = rs_event_glob_check_names(asking->glob, err);
	return ret ? ret : refuse_over(asking, err);
}

/* A part of the turn is left to whoever asks, whatever guests have described. */
static void refresh(const struct rs_asking *asking)
{
	struct rs_turn *turn = &asking->session->turn;
	const uint64_t end = turn->end;

	turn->end = MIN(end, turn->length - RS_TURN_ASKS(turn));
	for (guint i = 0; i < asking->session->sources->len; i++) {
		struct rs_source *source = nth_source(asking->session, i);

		if (asked(&asking->asker, source) && source->started && !source->ended)
			rs_source_refresh(source);
	}
	turn->end = end;
}

static int begin(struct rs_asking *asking, struct rs_error *err)
{
	struct rs_filter_error why = {0};
	int ret = check(asking, err);

	if (ret)
		return ret;
	asking->begun = true;
	if (asking->kind == RS_ASK_FORGET)
		rs_owner_clear_rules(asking->asker.owner);
	else if (asking->kind == RS_ASK_RESTORE)
		rs_saved_give_rules(asking->saved, asking->asker.owner);
	else if (has_glob(asking->kind))
		refresh(asking);
	if (asking->expression && rs_filters_new(asking->expression, &asking->filters, &why))
		return rs_filter_failed(asking->place, asking->expression, &why, err);
	return 0;
}

/* Its events have been found for the first time. */
static int note_matched(struct rs_asking *asking, struct rs_error *err)
{
	asking->matched = true;
	if (asking->glob && !count_events(asking) && !may_wait(asking))
		return no_match(asking, err);
	return 0;
}

/* ---- working it out ---- */

static int look_for_names(const struct rs_asking *asking, struct rs_error *err)
{
	g_autoptr(GPtrArray) events = NULL;
	struct rs_filter_error why = {0};
	int ret;

	if (!asking->filters || asking->carrying)
		return 0;
	events = g_ptr_array_new();
	for (guint i = 0; i < asking->parts->len; i++) {
		const GArray *plans = nth_part(asking, i)->plans;

		for (guint k = 0; k < plans->len; k++)
			g_ptr_array_add(events, (gpointer)rs_plan(plans, k)->event);
	}
	ret = rs_filters_look(asking->filters, &asking->session->turn, events, &why);
	return ret < 0 ? rs_filter_failed(asking->place, asking->expression, &why, err) : ret;
}

static int compile(const struct rs_asking *asking, struct rs_plan *plan, bool alone,
		   struct rs_error *err)
{
	const struct rs_owner *owner = rs_asker_owner(&asking->asker, plan->source);
	struct rs_filter_error why = {0};
	int ret;

	plan->compiled = true;
	if (!asking->filters)
		return 0;
	ret = rs_filters_compile(asking->filters, plan, owner, alone, &plan->own, &why);
	if (ret == -ENOSPC)
		return rs_error_set(err, ENOSPC, "%s", why.message);
	if (ret == -E2BIG || ret == -ENOTSUP)
		return rs_error_set(err, -ret, "%s:%s: %s", plan->event->system, plan->event->name,
				    why.message);
	return ret ? rs_filter_failed(asking->place, asking->expression, &why, err) : 0;
}

/* Nothing is in force yet. */
static void change_wishes(const struct rs_asking *asking, struct rs_plan *plan)
{
	struct rs_owner *owner = rs_asker_owner(&asking->asker, plan->source);

	plan->by_guest = owner == plan->source->guest && asking->kind != RS_ASK_REVIEW;
	switch (asking->kind) {
	case RS_ASK_ENABLE:
		rs_wishes_set_stack(&plan->wishes, owner, asking->stack);
		break;
	case RS_ASK_DISABLE:
		rs_wishes_set_wanted(&plan->wishes, owner, false);
		break;
	case RS_ASK_FILTER:
		rs_wishes_set_filter(&plan->wishes, owner, plan->own ? asking->expression : NULL,
				     plan->own);
		break;
	case RS_ASK_FORGET:
		rs_wishes_forget(&plan->wishes, owner);
		break;
	case RS_ASK_RESTORE:
		rs_saved_give(asking->saved, plan->source->events[plan->id].life, &plan->wishes,
			      owner);
		break;
	case RS_ASK_REVIEW:
		break;
	}
}

/* An owner can always let go of an event, even if the others' filters are too large. */
static bool is_lenient(const struct rs_asking *asking)
{
	return asking->kind == RS_ASK_DISABLE || !has_glob(asking->kind);
}

/* What others change meanwhile does not matter to this. 1: the turn is over. */
static int compile_part(const struct rs_asking *asking, const struct part *part, bool alone,
			struct rs_error *err)
{
	int ret = 0;

	for (guint i = 0; i < part->plans->len && !ret; i++) {
		struct rs_plan *plan = rs_plan(part->plans, i);

		if (plan->compiled)
			continue;
		if (rs_turn_over(&asking->session->turn))
			return 1;
		ret = compile(asking, plan, alone, err);
	}
	return ret;
}

/* 1: the turn is over. */
static int decide_part(const struct rs_asking *asking, struct part *part, struct rs_error *err)
{
	int ret = 0;

	for (guint i = 0; i < part->plans->len && !ret; i++) {
		struct rs_plan *plan = rs_plan(part->plans, i);

		/* What is done has no wishes any more, so it takes them anew to be done again. */
		if (rs_plan_is_current(plan) && !plan->done)
			continue;
		if (rs_turn_over(&asking->session->turn) &&
		    part->again <= PASSES * part->plans->len)
			return 1;
		part->again += plan->taken;
		rs_plan_take_wishes(plan);
		change_wishes(asking, plan);
		ret = rs_plan_decide(plan, is_lenient(asking), err);
	}
	return ret;
}

/* All parts, before any is carried out. 1: the turn is over. */
static int work_out(const struct rs_asking *asking, struct rs_error *err)
{
	bool alone = count_events(asking) == 1;
	int ret = look_for_names(asking, err);

	for (guint i = 0; i < asking->parts->len && !ret; i++)
		ret = compile_part(asking, nth_part(asking, i), alone, err);
	for (guint i = 0; i < asking->parts->len && !ret; i++)
		ret = decide_part(asking, nth_part(asking, i), err);
	return ret;
}

/* ---- carrying it out ---- */

/*
 * Counts the events, those that other owners keep as they are, and those that the filter does not
 * fit.
 */
static void note_outcome(struct rs_asking *asking, const struct part *part)
{
	struct rs_session_result *result = &asking->result;

	result->touched += part->plans->len;
	if (asking->stack && part->plans->len && !rs_source_takes_stacks(part->source))
		rs_source_tell_no_stacks(part->source, result);
	for (guint i = 0; i < part->plans->len; i++) {
		const struct rs_plan *plan = rs_plan(part->plans, i);
		struct rs_owner *owner = rs_asker_owner(&asking->asker, plan->source);
		const struct rs_wish *wish =
			rs_wishes_of(&plan->source->events[plan->id].wishes, owner);

		result->unfiltered += asking->expression && !(wish && wish->filter);
		if (asking->kind == RS_ASK_DISABLE)
			rs_result_keep(result, plan, NULL);
		/* Another owner may want everything, although this one set a filter. */
		if (asking->kind == RS_ASK_FILTER && wish && wish->wanted && wish->program)
			rs_result_keep(result, plan, owner);
	}
}

/* 1: the turn is over, or its source describes other events since a part before it was done. */
static int carry_out(struct rs_asking *asking, struct part *part)
{
	struct rs_error why = {0};
	int ret;

	/* Its owner's wishes are forgotten as soon as they are found. */
	if (asking->kind == RS_ASK_FORGET && part->source->ended)
		find_events(asking, part, NULL);
	ret = is_stale(part) ? 1 : compile_part(asking, part, false, &why);
	if (!ret)
		ret = decide_part(asking, part, &why);
	if (ret == 1)
		return 1;
	if (!ret)
		ret = rs_plans_carry_out(part->plans, &asking->result, &why);
	if (ret) {
		fail(asking, part, ret, &why);
		return 0;
	}
	part->done = true;
	return 0;
}

/*
 * Others have changed its events since it was done, maybe by older rules, and the new rule is not
 * there yet.
 */
static bool is_undone(const struct part *part)
{
	for (guint i = 0; i < part->plans->len; i++) {
		if (!rs_plan_is_current(rs_plan(part->plans, i)))
			return true;
	}
	return false;
}

static int carry_out_all(struct rs_asking *asking)
{
	for (guint i = 0; i < asking->parts->len; i++) {
		struct part *part = nth_part(asking, i);

		if (part->done && !part->source->ended && part->tries < TRIES && is_undone(part)) {
			part->tries++;
			part->done = false;
		}
	}
	for (guint i = 0; i < asking->parts->len; i++) {
		struct part *part = nth_part(asking, i);

		if (part->done || part->failed)
			continue;
		if (rs_turn_over(&asking->session->turn) || carry_out(asking, part))
			return 1;
	}
	return 0;
}

/* To events that have come since it was saved the rules, which are the old ones again, are due. */
static void rule_again(const struct rs_asking *asking, const struct part *part)
{
	for (guint i = 0; i < part->plans->len; i++) {
		struct event_state *state = &part->source->events[rs_plan(part->plans, i)->id];

		if (rs_saved_knows(asking->saved, state->life))
			continue;
		state->ruled = false;
		part->source->unruled = true;
		rs_session_hurry(asking->session);
	}
}

/* Once all parts are done, or have failed. */
static int finish(struct rs_asking *asking, struct rs_session_result *result, struct rs_error *err)
{
	bool met = count_events(asking) > 0;

	for (guint i = 0; i < asking->parts->len; i++) {
		if (nth_part(asking, i)->done)
			note_outcome(asking, nth_part(asking, i));
		if (nth_part(asking, i)->done && asking->saved)
			rule_again(asking, nth_part(asking, i));
	}
	if (asking->ret && !asking->result.touched) {
		*err = asking->err;
		return asking->ret;
	}
	add_rule(asking, met);
	*result = asking->result;
	result->frozen = asking->session->frozen;
	result->pending = !met && asking->glob;
	asking->result = (struct rs_session_result){0};
	rs_session_say_changed(asking->session);
	return 0;
}

static int go_on(struct rs_asking *asking, struct rs_session_result *result, struct rs_error *err)
{
	int ret = asking->begun ? refuse_over(asking, err) : begin(asking, err);

	if (!ret)
		ret = find_stale(asking);
	if (!ret && !asking->matched)
		ret = note_matched(asking, err);
	if (!ret && !asking->carrying)
		ret = work_out(asking, err);
	if (!ret && !asking->carrying)
		ret = check_room(asking, err);
	if (ret)
		return ret;
	asking->carrying = true;
	return carry_out_all(asking) ? 1 : finish(asking, result, err);
}

int rs_asking_go_on(struct rs_asking *asking, struct rs_session_result *result,
		    struct rs_error *err)
{
	struct rs_error unused = {0};
	int ret;

	err = err ? err : &unused;
	ret = go_on(asking, result, err);
	if (ret < 0 && asking->kind == RS_ASK_FORGET)
		rs_session_say(asking->session, "what '%s' wanted is not wanted any more: %s",
			       asking->asker.owner->name, err->message);
	return ret;
}

/* ---- life ---- */

struct rs_asking *rs_asking_new(struct rs_session *session, const struct asker *asker,
				const struct rs_session_ask *ask)
{
	struct rs_asking *asking = g_new0(struct rs_asking, 1);

	asking->session = session;
	asking->asker = *asker;
	asking->kind = ask->kind;
	asking->ahead = ask->ahead;
	asking->saved = ask->saved ? rs_saved_ref(ask->saved) : NULL;
	asking->stack = ask->kind == RS_ASK_ENABLE ? ask->stack : 0;
	asking->glob = has_glob(ask->kind) ? g_strdup(ask->glob ? ask->glob : "") : NULL;
	if (ask->kind == RS_ASK_FILTER && ask->expression)
		asking->expression = g_strstrip(g_strdup(ask->expression));
	asking->place = g_strdup(ask->place);
	if (asking->expression && rs_filter_is_none(asking->expression))
		g_clear_pointer(&asking->expression, g_free);
	asking->parts = g_ptr_array_new_with_free_func(part_free);
	if (asker->owner)
		asker->owner->uses++;
	return asking;
}

void rs_asking_free(struct rs_asking *asking)
{
	if (!asking)
		return;
	g_ptr_array_unref(asking->parts);
	rs_filters_free(asking->filters);
	rs_saved_unref(asking->saved);
	rs_session_result_clear(&asking->result);
	if (asking->asker.owner)
		asking->asker.owner->uses--;
	/* The owner may have withdrawn its last wish. */
	rs_owners_prune(asking->session->owners);
	g_free(asking->glob);
	g_free(asking->expression);
	g_free(asking->place);
	g_free(asking);
}

void rs_asking_drop_source(struct rs_asking *asking, const struct rs_source *source)
{
	for (guint i = asking->parts->len; i-- > 0;) {
		if (nth_part(asking, i)->source == source)
			g_ptr_array_remove_index(asking->parts, i);
	}
}

const struct rs_owner *rs_asking_owner(const struct rs_asking *asking)
{
	return asking->asker.owner;
}

bool rs_asking_is_in_force(const struct rs_asking *asking)
{
	return asking->carrying;
}

bool rs_asking_forgets(const struct rs_asking *asking)
{
	return asking->kind == RS_ASK_FORGET;
}

const GArray *rs_asking_done(const struct rs_asking *asking, guint n)
{
	for (guint i = 0; i < asking->parts->len; i++) {
		const struct part *part = nth_part(asking, i);

		if (part->done && n-- == 0)
			return part->plans;
	}
	return NULL;
}
