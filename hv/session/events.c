/* SPDX-License-Identifier: MIT */
/* Enable, disable, filter: by glob, in one batch, in the order that control.h asks for. */
#include "session/private.h"

#include "filter/filter.h"
#include <errno.h>
#include <rs-trace-escape.h>
#include <string.h>

/* ---- rules: what was asked for, for events that appear later ---- */

static void rule_free(gpointer data)
{
	struct rule *rule = data;

	g_free(rule->glob);
	g_free(rule->expression);
	g_free(rule);
}

/* A newer rule on the same glob, or on everything, makes older ones of its kind pointless. */
static bool replaces(enum rule_kind kind, const char *glob, const struct rule *old)
{
	bool same = (kind == RULE_FILTER) == (old->kind == RULE_FILTER);

	return same && (strcmp(glob, "*") == 0 || strcmp(glob, old->glob) == 0);
}

static int add_rule(struct rs_session *session, enum rule_kind kind, const char *glob,
		    const char *expression, struct rs_error *err)
{
	struct rule *rule;

	if (!session->rules)
		session->rules = g_ptr_array_new_with_free_func(rule_free);
	for (guint i = session->rules->len; i-- > 0;) {
		if (replaces(kind, glob, session->rules->pdata[i]))
			g_ptr_array_remove_index(session->rules, i);
	}
	if (session->rules->len >= RS_SESSION_MAX_RULES)
		return rs_error_set(err, ENOSPC,
				    "more than %u different globs: 'disable \"*\"' clears them",
				    RS_SESSION_MAX_RULES);
	rule = g_new0(struct rule, 1);
	rule->kind = kind;
	rule->glob = g_strdup(glob);
	rule->expression = g_strdup(expression);
	g_ptr_array_add(session->rules, rule);
	return 0;
}

/* ---- events ---- */

static bool event_live(const struct rs_session *session, const RsTraceEvent *event)
{
	return event->provider->is_live && event->slot < session->provider_slots &&
	       session->providers[event->slot].state == RS_PROVIDER_LIVE;
}

static bool usable(const struct rs_session *session, const RsTraceEvent *event)
{
	return event->id < session->region->header.event_capacity && event_live(session, event);
}

/* Ids of live events that match, from the schema's n-th on. */
static GArray *matching(struct rs_session *session, const char *glob, guint from)
{
	GArray *ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (guint i = from; i < rs_trace_schema_n_events(session->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(session->schema, i);
		uint32_t id = event->id;

		if (usable(session, event) && rs_trace_event_matches(event, glob))
			g_array_append_val(ids, id);
	}
	return ids;
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

static int check_alive(const struct rs_session *session, struct rs_error *err)
{
	if (session->ended || session->detached)
		return rs_error_set(err, ESHUTDOWN, "the guest has ended");
	return 0;
}

static int no_match(const struct rs_session *session, const char *glob, struct rs_error *err)
{
	g_autofree char *escaped = rs_trace_escape(glob, -1, NULL);

	return rs_error_set(err, ENOENT, "no event matches '%s'", escaped);
}

/* Ends a batch for guests that look at the generation. */
static void commit(struct rs_session *session)
{
	rs_publisher_commit(session->publisher);
}

/* Switches events: `ids` are those whose state really changes. */
static int switch_on(struct rs_session *session, const GArray *ids, GPtrArray *problems,
		     struct rs_error *err)
{
	const uint32_t *id = (const uint32_t *)ids->data;
	int ret;

	if (!ids->len)
		return 0;
	/* The word before the text: an event that fires in between is judged by the word. */
	for (guint i = 0; i < ids->len; i++)
		rs_publisher_set_enabled(session->publisher, id[i], true, NULL);
	ret = rs_session_sites_switch(session, id, ids->len, true, problems, err);
	for (guint i = 0; i < ids->len; i++) {
		if (ret)
			rs_publisher_set_enabled(session->publisher, id[i], false, NULL);
		else
			session->events[id[i]].on = true;
	}
	commit(session);
	return ret;
}

static int switch_off(struct rs_session *session, const GArray *ids, struct rs_error *err)
{
	const uint32_t *id = (const uint32_t *)ids->data;
	int ret;

	if (!ids->len)
		return 0;
	ret = rs_session_sites_switch(session, id, ids->len, false, NULL, err);
	/* Off for the guest whatever became of its text: the word alone decides. */
	for (guint i = 0; i < ids->len; i++) {
		rs_publisher_set_enabled(session->publisher, id[i], false, NULL);
		session->events[id[i]].on = false;
	}
	commit(session);
	return ret;
}

static int enable_ids(struct rs_session *session, enum rs_session_owner owner, const GArray *ids,
		      GPtrArray *problems, struct rs_error *err)
{
	g_autoptr(GArray) off = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	int ret;

	for (guint i = 0; i < ids->len; i++) {
		uint32_t id = g_array_index(ids, uint32_t, i);

		if (!session->events[id].on)
			g_array_append_val(off, id);
	}
	ret = switch_on(session, off, problems, err);
	if (ret)
		return ret;
	for (guint i = 0; i < ids->len; i++)
		session->events[g_array_index(ids, uint32_t, i)].owners |= (uint8_t)owner;
	return 0;
}

static int disable_ids(struct rs_session *session, enum rs_session_owner owner, const GArray *ids,
		       struct rs_error *err)
{
	g_autoptr(GArray) on = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (guint i = 0; i < ids->len; i++) {
		uint32_t id = g_array_index(ids, uint32_t, i);
		struct event_state *state = &session->events[id];

		state->owners &= (uint8_t)~owner;
		if (state->on && !state->owners)
			g_array_append_val(on, id);
	}
	return switch_off(session, on, err);
}

static void note_problems(struct rs_session *session, const GPtrArray *problems)
{
	for (guint i = 0; i < problems->len; i++)
		rs_session_say(session, "%s", (const char *)problems->pdata[i]);
}

int rs_session_enable(struct rs_session *session, enum rs_session_owner owner, const char *glob,
		      struct rs_session_result *result, struct rs_error *err)
{
	g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GArray) ids = NULL;
	int ret = check_glob(glob, err);

	if (!ret)
		ret = check_alive(session, err);
	if (ret)
		return ret;
	if (session->started)
		rs_session_refresh(session);
	ids = matching(session, glob, 0);
	if (!ids->len && (session->hello || owner != RS_OWNER_HOST))
		return no_match(session, glob, err);
	if (owner == RS_OWNER_HOST)
		ret = add_rule(session, RULE_ENABLE, glob, NULL, err);
	if (!ret)
		ret = enable_ids(session, owner, ids, problems, err);
	if (ret)
		return ret;
	note_problems(session, problems);
	if (result) {
		result->touched = ids->len;
		result->pending = !ids->len;
		result->problems = problems->len ? g_ptr_array_ref(problems) : NULL;
	}
	rs_session_say_changed(session);
	return 0;
}

int rs_session_disable(struct rs_session *session, enum rs_session_owner owner, const char *glob,
		       struct rs_session_result *result, struct rs_error *err)
{
	g_autoptr(GArray) ids = NULL;
	int ret = check_glob(glob, err);

	if (!ret)
		ret = check_alive(session, err);
	if (ret)
		return ret;
	if (session->started)
		rs_session_refresh(session);
	ids = matching(session, glob, 0);
	if (!ids->len && (session->hello || owner != RS_OWNER_HOST))
		return no_match(session, glob, err);
	if (owner == RS_OWNER_HOST)
		ret = add_rule(session, RULE_DISABLE, glob, NULL, err);
	if (!ret)
		ret = disable_ids(session, owner, ids, err);
	if (ret)
		return ret;
	if (result) {
		result->touched = ids->len;
		result->pending = !ids->len;
		result->problems = NULL;
	}
	rs_session_say_changed(session);
	return 0;
}

/* ---- filters ---- */

static int filter_failed(const char *expression, const struct rs_filter_error *why,
			 struct rs_error *err)
{
	g_autofree char *text = rs_filter_error_render(why, expression);

	return rs_error_set(err, EBADMSG, "bad filter\n%s", text);
}

static void unref_program(gpointer program)
{
	if (program)
		g_byte_array_unref(program);
}

/* Compiles for every id before any is published: all or nothing. A program may be NULL: see filter.h. */
static int compile_all(struct rs_session *session, const char *expression, const GArray *ids,
		       GPtrArray *programs, struct rs_error *err)
{
	g_autofree const RsTraceEvent **events = g_new0(const RsTraceEvent *, ids->len + 1);
	struct rs_filter_error why = {0};

	for (guint i = 0; i < ids->len; i++)
		events[i] = rs_trace_schema_by_id(session->schema, g_array_index(ids, uint32_t, i));
	g_ptr_array_set_size(programs, (gint)ids->len);
	if (rs_filter_compile(events, ids->len, expression, (GByteArray **)programs->pdata, &why))
		return filter_failed(expression, &why, err);
	return 0;
}

static int filter_ids(struct rs_session *session, const char *expression, const GArray *ids,
		      struct rs_error *err)
{
	g_autoptr(GPtrArray) programs = g_ptr_array_new_with_free_func(unref_program);
	int ret = 0;

	if (!ids->len)
		return 0;
	if (expression) {
		ret = compile_all(session, expression, ids, programs, err);
		if (ret)
			return ret;
	}
	for (guint i = 0; i < ids->len && !ret; i++) {
		uint32_t id = g_array_index(ids, uint32_t, i);
		const GByteArray *program = expression ? programs->pdata[i] : NULL;

		ret = rs_publisher_set_filter(session->publisher, id,
					      program ? (const void *)program->data : NULL, err);
		if (!ret) {
			g_free(session->events[id].filter);
			session->events[id].filter = program ? g_strdup(expression) : NULL;
		}
	}
	commit(session);
	return ret;
}

int rs_session_set_filter(struct rs_session *session, const char *glob, const char *expression,
			  struct rs_session_result *result, struct rs_error *err)
{
	g_autofree char *stripped = expression ? g_strstrip(g_strdup(expression)) : NULL;
	const char *text = stripped && *stripped ? stripped : NULL;
	struct rs_filter_error why = {0};
	g_autoptr(GArray) ids = NULL;
	int ret = check_glob(glob, err);

	if (!ret)
		ret = check_alive(session, err);
	if (!ret && text && rs_filter_check(text, &why))
		ret = filter_failed(text, &why, err);
	if (ret)
		return ret;
	if (session->started)
		rs_session_refresh(session);
	ids = matching(session, glob, 0);
	if (!ids->len && session->hello)
		return no_match(session, glob, err);
	ret = filter_ids(session, text, ids, err);
	if (!ret)
		ret = add_rule(session, RULE_FILTER, glob, text, err);
	if (ret)
		return ret;
	if (result) {
		result->touched = ids->len;
		result->pending = !ids->len;
		result->problems = NULL;
	}
	rs_session_say_changed(session);
	return 0;
}

int rs_session_split_filter(const char *text, char **glob, char **expression, struct rs_error *err)
{
	const char *colon = strstr(text, ": ");

	if (!colon) {
		/* "GLOB:" clears; "system:name:expr" has its expression after the second colon. */
		colon = strchr(text, ':');
		if (colon && colon[1] && strchr(colon + 1, ':'))
			colon = strchr(colon + 1, ':');
		else if (colon && colon[1])
			colon = NULL;
	}
	if (!colon || colon == text)
		return rs_error_set(err, EINVAL,
				    "a filter is written 'GLOB: EXPRESSION', such as "
				    "'sched:switch: prev != 0'");
	*glob = g_strndup(text, (gsize)(colon - text));
	*expression = g_strdup(colon + 1);
	g_strstrip(*glob);
	g_strstrip(*expression);
	return 0;
}

/* ---- what happens by itself ---- */

/* The last filter rule that matches, or NULL. */
static const struct rule *filter_rule(const struct rs_session *session, const RsTraceEvent *event)
{
	for (guint r = session->rules->len; r-- > 0;) {
		const struct rule *rule = session->rules->pdata[r];

		if (rule->kind == RULE_FILTER && rs_trace_event_matches(event, rule->glob))
			return rule;
	}
	return NULL;
}

/* Rule by rule, so that an expression is judged against all the events that its glob means. */
static void apply_filters_to(struct rs_session *session, const GArray *ids)
{
	for (guint r = 0; r < session->rules->len; r++) {
		const struct rule *rule = session->rules->pdata[r];
		g_autoptr(GArray) those = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		struct rs_error err = {0};

		if (rule->kind != RULE_FILTER || !rule->expression)
			continue;
		for (guint i = 0; i < ids->len; i++) {
			uint32_t id = g_array_index(ids, uint32_t, i);

			if (filter_rule(session, rs_trace_schema_by_id(session->schema, id)) ==
			    rule)
				g_array_append_val(those, id);
		}
		if (filter_ids(session, rule->expression, those, &err))
			rs_session_say_failed(session, &err);
	}
}

static bool wanted(const struct rs_session *session, const RsTraceEvent *event)
{
	bool on = false;

	for (guint r = 0; r < session->rules->len; r++) {
		const struct rule *rule = session->rules->pdata[r];

		if (rule->kind != RULE_FILTER && rs_trace_event_matches(event, rule->glob))
			on = rule->kind == RULE_ENABLE;
	}
	return on;
}

void rs_session_apply_rules(struct rs_session *session)
{
	g_autoptr(GArray) fresh = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GArray) on = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
	struct rs_error err = {0};

	if (!session->rules || session->ended || session->detached)
		return;
	for (guint i = 0; i < rs_trace_schema_n_events(session->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(session->schema, i);
		uint32_t id = event->id;

		/* Not before its provider is live: only then are its sites known. */
		if (!usable(session, event) || session->events[id].ruled)
			continue;
		session->events[id].ruled = true;
		g_array_append_val(fresh, id);
		if (wanted(session, event))
			g_array_append_val(on, id);
	}
	apply_filters_to(session, fresh);
	if (enable_ids(session, RS_OWNER_HOST, on, problems, &err))
		rs_session_say_failed(session, &err);
	note_problems(session, problems);
}

void rs_session_provider_gone(struct rs_session *session, uint32_t slot)
{
	g_autoptr(GArray) on = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	struct rs_error err = {0};

	for (guint i = 0; i < rs_trace_schema_n_events(session->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(session->schema, i);
		uint32_t id = event->id;

		if (event->slot != slot || id >= session->region->header.event_capacity)
			continue;
		session->events[id].owners = 0;
		session->events[id].ruled = false;
		if (session->events[id].on)
			g_array_append_val(on, id);
	}
	if (switch_off(session, on, &err))
		rs_session_say(session, "a provider left: %s", err.message);
}

void rs_session_forget_events(struct rs_session *session)
{
	rs_publisher_reset(session->publisher);
	for (uint32_t id = 0; id < session->region->header.event_capacity; id++) {
		g_free(session->events[id].filter);
		g_free(session->events[id].note);
		session->events[id] = (struct event_state){0};
	}
}

int rs_session_all_off(struct rs_session *session, struct rs_error *err)
{
	g_autoptr(GArray) on = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (uint32_t id = 0; id < session->region->header.event_capacity; id++) {
		if (session->events[id].on)
			g_array_append_val(on, id);
	}
	return switch_off(session, on, err);
}

GArray *rs_session_list(struct rs_session *session, const char *glob)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct rs_session_event));

	if (session->started && !session->ended)
		rs_session_refresh(session);
	for (guint i = 0; i < rs_trace_schema_n_events(session->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(session->schema, i);
		struct rs_session_event entry = {.event = event};

		if (event->id >= session->region->header.event_capacity ||
		    (glob && !rs_trace_event_matches(event, glob)))
			continue;
		entry.enabled = session->events[event->id].on;
		entry.live = event_live(session, event);
		entry.filter = session->events[event->id].filter;
		entry.sites = rs_session_sites_of(session, event->id);
		entry.note = session->events[event->id].note;
		if (!entry.live)
			entry.note = "its provider has gone";
		g_array_append_val(list, entry);
	}
	return list;
}
