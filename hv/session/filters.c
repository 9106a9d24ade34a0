/* SPDX-License-Identifier: MIT */
#include "session/private.h"

#include "filter/filter.h"
#include <errno.h>
#include <string.h>

int rs_filter_failed(const char *expression, const struct rs_filter_error *why,
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

struct rs_filters {
	char *expression;
	struct rs_filter_series *series;
	struct asker asker;
	const GArray *refs;
	const RsTraceEvent **events; /* of `refs` */
	bool named;                  /* each name is that of a field of some event */
	GPtrArray *programs;         /* of the first events; one may be NULL, see filter.h */
};

int rs_filters_new(const char *expression, const struct asker *asker, const GArray *refs,
		   struct rs_filters **out, struct rs_error *err)
{
	struct rs_filters *filters = g_new0(struct rs_filters, 1);
	struct rs_filter_error why = {0};

	filters->expression = g_strdup(expression);
	filters->asker = *asker;
	filters->refs = refs;
	filters->events = g_new0(const RsTraceEvent *, refs->len + 1);
	filters->programs = g_ptr_array_new_with_free_func(unref_program);
	for (guint i = 0; i < refs->len; i++) {
		const struct event_ref *ref = &g_array_index(refs, struct event_ref, i);

		filters->events[i] = rs_trace_schema_by_id(ref->source->schema, ref->id);
	}
	if (rs_filter_series_new(expression, &filters->series, &why)) {
		rs_filters_free(filters);
		return rs_filter_failed(expression, &why, err);
	}
	*out = filters;
	return 0;
}

void rs_filters_free(struct rs_filters *filters)
{
	if (!filters)
		return;
	rs_filter_series_free(filters->series);
	g_ptr_array_unref(filters->programs);
	g_free(filters->events);
	g_free(filters->expression);
	g_free(filters);
}

/* Looks for one name more, or compiles for one event more: 1 there is more to do. */
static int step(struct rs_filters *filters, struct rs_error *err)
{
	const guint i = filters->programs->len, count = filters->refs->len;
	const struct event_ref *ref = &g_array_index(filters->refs, struct event_ref, i);
	struct rs_filter_error why = {0};
	GByteArray *program;
	size_t looks;
	int ret;

	if (!filters->named) {
		ret = rs_filter_series_names(filters->series, filters->events, count, &looks, &why);
		rs_session_work(ref->source->session, looks * RS_WORK_LOOK);
		filters->named = !ret;
		return ret < 0 ? rs_filter_failed(filters->expression, &why, err) : 1;
	}
	rs_session_work(ref->source->session, strlen(filters->expression) * RS_WORK_FILTER);
	if (rs_filter_series_add(filters->series, filters->events[i], count == 1, &program, &why))
		return rs_filter_failed(filters->expression, &why, err);
	g_ptr_array_add(filters->programs, program);
	/* Before the others cost anything. */
	if (program && rs_asker_owner(&filters->asker, ref->source) == ref->source->guest &&
	    !rs_owner_guest_may(program))
		return rs_error_set(err, E2BIG, "%s:%s: %s", filters->events[i]->system,
				    filters->events[i]->name, RS_GUEST_FILTER_TOO_LARGE);
	return 1;
}

int rs_filters_compile(struct rs_filters *filters, bool in_turn, struct rs_error *err)
{
	while (filters->programs->len < filters->refs->len) {
		const struct rs_session *session =
			g_array_index(filters->refs, struct event_ref, 0).source->session;
		int ret;

		if (in_turn && rs_session_turn_over(session))
			return 1;
		ret = step(filters, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

void rs_plans_filter(GArray *plans, const struct asker *asker, const struct rs_filters *filters)
{
	for (guint i = 0; i < plans->len; i++) {
		struct plan *plan = rs_plan(plans, i);
		GByteArray *program = filters ? filters->programs->pdata[i] : NULL;

		rs_wishes_set_filter(&plan->wishes, rs_asker_owner(asker, plan->ref.source),
				     program ? filters->expression : NULL, program);
	}
}

int rs_session_split_filter(const char *text, char **glob, char **expression, struct rs_error *err)
{
	const char *colon = strstr(text, ": ");

	if (!colon) {
		/* "GLOB:" clears; "system:name:expr" has its expression after the second colon. */
		colon = strchr(text, ':');
		if (colon && colon[1])
			colon = strchr(colon + 1, ':');
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
