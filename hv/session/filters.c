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

/* Compiles all programs before any is published: all or nothing. One may be NULL: see filter.h. */
static int compile_all(const GArray *plans, const char *expression, GPtrArray *programs,
		       struct rs_error *err)
{
	g_autofree const RsTraceEvent **events = g_new0(const RsTraceEvent *, plans->len + 1);
	struct rs_filter_error why = {0};

	for (guint i = 0; i < plans->len; i++)
		events[i] = rs_plan(plans, i)->event;
	g_ptr_array_set_size(programs, (gint)plans->len);
	if (rs_filter_compile(events, plans->len, expression, (GByteArray **)programs->pdata, &why))
		return rs_filter_failed(expression, &why, err);
	return 0;
}

static int set_filter(struct plan *plan, const struct asker *asker, const char *expression,
		      GByteArray *program, struct rs_error *err)
{
	struct rs_owner *owner = rs_asker_owner(asker, plan->ref.source);

	if (program && owner == plan->ref.source->guest && !rs_owner_guest_may(program))
		return rs_error_set(err, E2BIG, "%s:%s: %s", plan->event->system, plan->event->name,
				    RS_GUEST_FILTER_TOO_LARGE);
	rs_wishes_set_filter(&plan->wishes, owner, program ? expression : NULL, program);
	return 0;
}

int rs_plans_filter(GArray *plans, const struct asker *asker, const char *expression,
		    struct rs_error *err)
{
	g_autoptr(GPtrArray) programs = g_ptr_array_new_with_free_func(unref_program);
	int ret = expression ? compile_all(plans, expression, programs, err) : 0;

	for (guint i = 0; i < plans->len && !ret; i++)
		ret = set_filter(rs_plan(plans, i), asker, expression,
				 expression ? programs->pdata[i] : NULL, err);
	return ret;
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
