/* SPDX-License-Identifier: MIT */
/*
 * What owners ask for by glob: enable, disable, set and clear a filter. All of it goes the same
 * way: find the events, plan for all sources, carry the plans out, and keep the request as a rule.
 */
#include "session/private.h"

#include "filter/filter.h"
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

static int asker_init(struct asker *asker, struct rs_session *session, const char *owner,
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

static int check_room(struct rs_session *session, const struct asker *asker,
		      const struct rs_ask *ask, struct rs_error *err)
{
	struct rs_owner *owner;
	int ret = 0;

	for (guint i = 0; !ret && (owner = nth_owner(session, asker, i)); i++)
		ret = rs_owner_check_room(owner, ask->kind, ask->glob, ask->expression, err);
	return ret;
}

/* `met`: the rule's names were found in events. */
static void add_rule(struct rs_session *session, const struct asker *asker,
		     const struct rs_ask *ask, bool met)
{
	struct rs_owner *owner;

	for (guint i = 0; (owner = nth_owner(session, asker, i)); i++) {
		struct rs_rule *rule =
			rs_owner_add_rule(owner, ask->kind, ask->glob, ask->expression);

		if (!rule)
			continue;
		rule->met = met;
		rule->early = !session->started;
	}
	/* The owner may have withdrawn its last wish. */
	rs_owners_prune(session->owners);
}

/* ---- which events ---- */

static void add_matching(struct rs_source *source, const struct rs_event_glob *glob, GArray *refs)
{
	for (guint i = 0; i < rs_trace_schema_n_events(source->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);
		struct event_ref ref = {source, event->id};

		if (rs_event_usable(source, event) &&
		    rs_event_glob_matches(glob, source->name, event))
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

/* The name of a source that has ended and had an event that matches, or NULL. */
static const char *ended_match(const struct rs_session *session, const struct asker *asker,
			       const struct rs_event_glob *glob)
{
	for (guint i = 0; i < session->sources->len; i++) {
		const struct rs_source *source = nth_source(session, i);

		if (!asked(asker, source) || !source->ended)
			continue;
		for (guint k = 0; k < rs_trace_schema_n_events(source->schema); k++) {
			const RsTraceEvent *event = rs_trace_schema_nth(source->schema, k);

			if (rs_event_glob_matches(glob, source->name, event))
				return source->name;
		}
	}
	return NULL;
}

/* A guest is told nothing of the events of others, and costs no time for suggestions. */
static int no_match(struct rs_session *session, const struct asker *asker, const char *glob,
		    const struct rs_event_glob *compiled, struct rs_error *err)
{
	const char *ended = ended_match(session, asker, compiled);
	g_autofree char *escaped = rs_trace_escape(glob, -1, NULL), *suggestion = NULL;

	if (ended)
		return rs_error_set(err, ENOENT, "no event matches '%s': '%s' has ended", escaped,
				    ended);
	suggestion = asker->owner ? rs_session_suggest(session, glob) : g_strdup("");
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

/*
 * Checks and refreshes, then finds the live events that match, by source. There may be none if
 * matching events may still come: then the wish is kept as a rule. The caller unrefs *refs, which
 * is set on some errors, too.
 */
static int match(struct rs_session *session, const struct asker *asker, const char *glob,
		 GArray **refs, struct rs_error *err)
{
	struct rs_event_glob *compiled;
	int ret = check_glob(glob, err);

	if (ret)
		return ret;
	if (session->detached || rs_session_over(session))
		return rs_session_refuse_over(session, err);
	compiled = rs_event_glob_new(glob);
	*refs = g_array_new(FALSE, FALSE, sizeof(struct event_ref));
	for (guint i = 0; i < session->sources->len; i++) {
		struct rs_source *source = nth_source(session, i);

		if (!asked(asker, source) || source->ended)
			continue;
		if (source->started)
			rs_source_refresh(source);
		add_matching(source, compiled, *refs);
	}
	if (!(*refs)->len && !may_wait(session, asker))
		ret = no_match(session, asker, glob, compiled, err);
	rs_event_glob_free(compiled);
	return ret;
}

/* ---- as asked ---- */

struct rs_asking {
	struct rs_session *session;
	struct asker asker;
	struct rs_ask ask; /* of the two texts below */
	char *glob, *expression;
	GArray *refs;               /* the events that match; NULL: not yet looked for */
	uint32_t described;         /* as the source counted it then, if it is one alone */
	struct rs_filters *filters; /* of `expression`, for the events; NULL: none */
};

/* Changes the wishes in the plans. Nothing is in force yet. */
static void change_wishes(const struct rs_asking *asking, GArray *plans)
{
	const struct asker *asker = &asking->asker;

	if (asking->ask.kind == RS_RULE_FILTER) {
		rs_plans_filter(plans, asker, asking->filters);
		return;
	}
	for (guint i = 0; i < plans->len; i++) {
		struct plan *plan = rs_plan(plans, i);

		rs_wishes_set_wanted(&plan->wishes, rs_asker_owner(asker, plan->ref.source),
				     asking->ask.kind == RS_RULE_ENABLE);
	}
}

/* Tells of events that other owners keep as they are, and of those that the filter does not fit. */
static void note_others(const struct asker *asker, const struct rs_ask *ask, const GArray *plans,
			struct rs_session_result *result)
{
	for (guint i = 0; i < plans->len; i++) {
		const struct plan *plan = rs_plan(plans, i);
		struct rs_owner *owner = rs_asker_owner(asker, plan->ref.source);
		const struct rs_wish *wish;

		if (!plan->done)
			continue;
		wish = rs_wishes_of(&rs_plan_state(plan)->wishes, owner);
		result->unfiltered +=
			ask->kind == RS_RULE_FILTER && ask->expression && !(wish && wish->filter);
		if (ask->kind == RS_RULE_DISABLE && plan->on)
			rs_result_keep(result, plan, NULL);
		/* Another owner wants everything, although this one set a filter. */
		if (ask->kind == RS_RULE_FILTER && wish && wish->wanted && wish->program &&
		    !plan->program && !plan->overfull)
			rs_result_keep(result, plan, owner);
	}
}

static int carry_out(const struct rs_asking *asking, struct rs_session_result *result,
		     struct rs_error *err)
{
	g_autoptr(GArray) plans = rs_plans_new(asking->refs);
	int ret;

	change_wishes(asking, plans);
	for (guint i = 0; i < plans->len; i++) {
		struct plan *plan = rs_plan(plans, i);
		const struct rs_source *source = plan->ref.source;

		plan->by_guest = rs_asker_owner(&asking->asker, source) == source->guest;
	}
	/* An owner can always let go of an event, even if the others' filters are too large. */
	ret = rs_plans_carry_out(plans, asking->ask.kind == RS_RULE_DISABLE, result, err);
	if (!ret)
		note_others(&asking->asker, &asking->ask, plans, result);
	return ret;
}

static void forget_events(struct rs_asking *asking)
{
	g_clear_pointer(&asking->filters, rs_filters_free);
	g_clear_pointer(&asking->refs, g_array_unref);
}

/* The events must be those that were found, since their descriptors are used. */
static bool is_stale(const struct rs_asking *asking)
{
	const struct rs_source *source = asking->asker.source;

	return source && source->described != asking->described;
}

static int begin(struct rs_asking *asking, struct rs_error *err)
{
	struct rs_session *session = asking->session;
	struct rs_filter_error why = {0};
	int ret;

	if (asking->expression && rs_filter_check(asking->expression, &why))
		return rs_filter_failed(asking->expression, &why, err);
	ret = match(session, &asking->asker, asking->glob, &asking->refs, err);
	if (!ret)
		ret = check_room(session, &asking->asker, &asking->ask, err);
	if (!ret && asking->expression)
		ret = rs_filters_new(asking->expression, &asking->asker, asking->refs,
				     &asking->filters, err);
	if (asking->asker.source)
		asking->described = asking->asker.source->described;
	return ret;
}

static int finish(const struct rs_asking *asking, struct rs_session_result *result,
		  struct rs_error *err)
{
	int ret = carry_out(asking, result, err);

	if (ret)
		return ret;
	add_rule(asking->session, &asking->asker, &asking->ask, asking->refs->len > 0);
	result->pending = !asking->refs->len;
	/* A guest waits by itself: rs_source_wait_patched(). */
	if (!asking->asker.source)
		result->later = rs_session_wait_settled(asking->session, asking->refs);
	rs_session_say_changed(asking->session);
	return 0;
}

struct rs_asking *rs_asking_new(struct rs_session *session, const struct asker *asker,
				const struct rs_ask *ask)
{
	struct rs_asking *asking = g_new0(struct rs_asking, 1);

	asking->session = session;
	asking->asker = *asker;
	asking->glob = g_strdup(ask->glob);
	asking->expression = ask->expression ? g_strstrip(g_strdup(ask->expression)) : NULL;
	if (asking->expression && !*asking->expression)
		g_clear_pointer(&asking->expression, g_free);
	asking->ask = (struct rs_ask){ask->kind, asking->glob, asking->expression};
	return asking;
}

void rs_asking_free(struct rs_asking *asking)
{
	if (!asking)
		return;
	forget_events(asking);
	g_free(asking->glob);
	g_free(asking->expression);
	g_free(asking);
}

int rs_asking_go_on(struct rs_asking *asking, bool in_turn, struct rs_session_result *result,
		    struct rs_error *err)
{
	int ret = 0;

	if (is_stale(asking))
		forget_events(asking);
	if (!asking->refs)
		ret = begin(asking, err);
	if (!ret && asking->filters)
		ret = rs_filters_compile(asking->filters, in_turn, err);
	return ret ? ret : finish(asking, result, err);
}

static int ask_for(struct rs_session *session, const char *owner, const struct rs_ask *ask,
		   struct rs_session_result *result, struct rs_error *err)
{
	struct rs_session_result unused = {0};
	struct rs_asking *asking;
	struct asker asker;
	int ret = asker_init(&asker, session, owner, err);

	if (ret)
		return ret;
	rs_session_begin_turn(session);
	asking = rs_asking_new(session, &asker, ask);
	ret = rs_asking_go_on(asking, false, result ? result : &unused, err);
	rs_asking_free(asking);
	rs_session_result_clear(&unused);
	return ret;
}

int rs_session_enable(struct rs_session *session, const char *owner, const char *glob,
		      struct rs_session_result *result, struct rs_error *err)
{
	return ask_for(session, owner, &(struct rs_ask){RS_RULE_ENABLE, glob, NULL}, result, err);
}

int rs_session_disable(struct rs_session *session, const char *owner, const char *glob,
		       struct rs_session_result *result, struct rs_error *err)
{
	return ask_for(session, owner, &(struct rs_ask){RS_RULE_DISABLE, glob, NULL}, result, err);
}

int rs_session_set_filter(struct rs_session *session, const char *owner, const char *glob,
			  const char *expression, struct rs_session_result *result,
			  struct rs_error *err)
{
	return ask_for(session, owner, &(struct rs_ask){RS_RULE_FILTER, glob, expression}, result,
		       err);
}
