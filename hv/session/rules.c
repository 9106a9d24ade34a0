/* SPDX-License-Identifier: MIT */
/* What was asked for, for events that appear later. */
#include "session/private.h"

#include <errno.h>
#include <string.h>

static void rule_free(gpointer data)
{
	struct rule *rule = data;

	g_free(rule->glob);
	g_free(rule->expression);
	g_free(rule);
}

/* A newer rule on the same glob, or on everything, makes older ones of its kind pointless. */
static bool replaces(const struct rule *rule, const struct rule *old)
{
	bool same = (rule->kind == RULE_FILTER) == (old->kind == RULE_FILTER);

	return same && rule->source == old->source &&
	       (strcmp(rule->glob, "*") == 0 || strcmp(rule->glob, old->glob) == 0);
}

int rs_rules_add(struct rs_session *session, const struct asker *asker, enum rule_kind kind,
		 const char *glob, const char *expression, struct rs_error *err)
{
	const struct rule wanted = {.kind = kind, .source = asker->source, .glob = (char *)glob};
	struct rule *rule;

	if (!session->rules)
		session->rules = g_ptr_array_new_with_free_func(rule_free);
	for (guint i = session->rules->len; i-- > 0;) {
		if (replaces(&wanted, session->rules->pdata[i]))
			g_ptr_array_remove_index(session->rules, i);
	}
	if (session->rules->len >= RS_SESSION_MAX_RULES)
		return rs_error_set(err, ENOSPC,
				    "more than %u different globs: 'disable \"*\"' clears them",
				    RS_SESSION_MAX_RULES);
	rule = g_new0(struct rule, 1);
	*rule = wanted;
	rule->glob = g_strdup(glob);
	rule->expression = g_strdup(expression);
	g_ptr_array_add(session->rules, rule);
	return 0;
}

static bool means(const struct rule *rule, const struct rs_source *source,
		  const RsTraceEvent *event)
{
	return (!rule->source || rule->source == source) &&
	       rs_event_matches(source, event, rule->glob);
}

/* The last filter rule that matches, or NULL. */
static const struct rule *filter_rule(const struct rs_source *source, const RsTraceEvent *event)
{
	const GPtrArray *rules = source->session->rules;

	for (guint r = rules->len; r-- > 0;) {
		const struct rule *rule = rules->pdata[r];

		if (rule->kind == RULE_FILTER && means(rule, source, event))
			return rule;
	}
	return NULL;
}

/* Rule by rule, so that an expression is judged against all the events that its glob means. */
static void apply_filters_to(struct rs_source *source, const GArray *ids)
{
	const GPtrArray *rules = source->session->rules;

	for (guint r = 0; r < rules->len; r++) {
		const struct rule *rule = rules->pdata[r];
		g_autoptr(GArray) those = g_array_new(FALSE, FALSE, sizeof(struct event_ref));
		struct rs_error err = {0};

		if (rule->kind != RULE_FILTER || !rule->expression)
			continue;
		for (guint i = 0; i < ids->len; i++) {
			struct event_ref ref = {source, g_array_index(ids, uint32_t, i)};

			if (filter_rule(source, rs_trace_schema_by_id(source->schema, ref.id)) ==
			    rule)
				g_array_append_val(those, ref);
		}
		if (rs_filters_set(those, rule->expression, &err))
			rs_session_say_failed(source->session, &err);
	}
}

static bool wanted_by_rules(const struct rs_source *source, const RsTraceEvent *event)
{
	const GPtrArray *rules = source->session->rules;
	bool on = false;

	for (guint r = 0; r < rules->len; r++) {
		const struct rule *rule = rules->pdata[r];

		if (rule->kind != RULE_FILTER && means(rule, source, event))
			on = rule->kind == RULE_ENABLE;
	}
	return on;
}

void rs_rules_apply(struct rs_source *source)
{
	g_autoptr(GArray) fresh = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GArray) on = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
	struct rs_error err = {0};

	if (!source->session->rules || !source_alive(source))
		return;
	for (guint i = 0; i < rs_trace_schema_n_events(source->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);
		uint32_t id = event->id;

		/* Not before its provider is live: only then are its sites known. */
		if (!rs_event_usable(source, event) || source->events[id].ruled)
			continue;
		source->events[id].ruled = true;
		g_array_append_val(fresh, id);
		if (wanted_by_rules(source, event))
			g_array_append_val(on, id);
	}
	apply_filters_to(source, fresh);
	if (rs_source_enable_ids(source, RS_OWNER_HOST, on, problems, &err))
		rs_session_say_failed(source->session, &err);
	rs_source_note_problems(source, problems);
}
