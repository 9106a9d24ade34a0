/* SPDX-License-Identifier: MIT */
#include "session/private.h"

#include "filter/filter.h"
#include <errno.h>
#include <string.h>

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

/* For all of them before any is published: all or nothing. A program may be NULL: see filter.h. */
static int compile_all(const GArray *refs, const char *expression, GPtrArray *programs,
		       struct rs_error *err)
{
	g_autofree const RsTraceEvent **events = g_new0(const RsTraceEvent *, refs->len + 1);
	struct rs_filter_error why = {0};

	for (guint i = 0; i < refs->len; i++) {
		const struct event_ref *ref = &g_array_index(refs, struct event_ref, i);

		events[i] = rs_trace_schema_by_id(ref->source->schema, ref->id);
	}
	g_ptr_array_set_size(programs, (gint)refs->len);
	if (rs_filter_compile(events, refs->len, expression, (GByteArray **)programs->pdata, &why))
		return filter_failed(expression, &why, err);
	return 0;
}

static int publish(const struct event_ref *ref, const GByteArray *program, const char *expression,
		   struct rs_error *err)
{
	struct event_state *state = &ref->source->events[ref->id];
	int ret = rs_publisher_set_filter(ref->source->publisher, ref->id,
					  program ? (const void *)program->data : NULL, err);

	if (ret)
		return ret;
	g_free(state->filter);
	state->filter = program ? g_strdup(expression) : NULL;
	return 0;
}

int rs_filters_set(const GArray *refs, const char *expression, struct rs_error *err)
{
	g_autoptr(GPtrArray) programs = g_ptr_array_new_with_free_func(unref_program);
	int ret = 0;

	if (!refs->len)
		return 0;
	if (expression) {
		ret = compile_all(refs, expression, programs, err);
		if (ret)
			return ret;
	}
	for (guint i = 0; i < refs->len && !ret; i++)
		ret = publish(&g_array_index(refs, struct event_ref, i),
			      expression ? programs->pdata[i] : NULL, expression, err);
	for (guint i = 0; i < refs->len; i++) {
		const struct event_ref *ref = &g_array_index(refs, struct event_ref, i);

		/* Ends a batch for guests that look at the generation. */
		if (i + 1 == refs->len || ref[1].source != ref->source)
			rs_publisher_commit(ref->source->publisher);
	}
	return ret;
}

int rs_events_set_filter(struct rs_session *session, const struct asker *asker, const char *glob,
			 const char *expression, struct rs_session_result *result,
			 struct rs_error *err)
{
	g_autofree char *stripped = expression ? g_strstrip(g_strdup(expression)) : NULL;
	const char *text = stripped && *stripped ? stripped : NULL;
	struct rs_filter_error why = {0};
	g_autoptr(GArray) refs = NULL;
	int ret;

	if (text && rs_filter_check(text, &why))
		return filter_failed(text, &why, err);
	ret = rs_events_match(session, asker, glob, &refs, err);
	if (!ret)
		ret = rs_filters_set(refs, text, err);
	if (!ret)
		ret = rs_rules_add(session, asker, RULE_FILTER, glob, text, err);
	if (ret)
		return ret;
	if (result)
		*result = (struct rs_session_result){.touched = refs->len, .pending = !refs->len};
	rs_session_say_changed(session);
	return 0;
}

int rs_session_set_filter(struct rs_session *session, const char *glob, const char *expression,
			  struct rs_session_result *result, struct rs_error *err)
{
	return rs_events_set_filter(session, &(struct asker){.owner = RS_OWNER_HOST}, glob,
				    expression, result, err);
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
