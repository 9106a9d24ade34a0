/* SPDX-License-Identifier: MIT */
#include "session/plan.h"
#include "session/private.h"

#include "filter/filter.h"
#include <errno.h>
#include <string.h>

int rs_filter_failed(const char *place, const char *expression, const struct rs_filter_error *why,
		     struct rs_error *err)
{
	g_autofree char *text = rs_filter_error_render(why, expression);

	return rs_error_set(err, EBADMSG, "%s%sbad filter\n%s", place ? place : "",
			    place ? ": " : "", text);
}

struct rs_filters {
	char *expression;
	struct rs_filter_series *series;
	bool named; /* each name is that of a field of some event */
	struct rs_filter_functions functions;
	/* The source that it is being compiled for, and the function that was asked for last. */
	const struct rs_source *source, *last;
	char *function;
	uint64_t from, to;
};

/* To find a function, all names of a program are looked at. */
static int find_function(void *data, const char *name, uint64_t *from, uint64_t *to, char *why,
			 size_t size)
{
	struct rs_filters *filters = data;
	uint64_t at = 0, bytes = 0;
	struct rs_error err = {0};
	int ret;

	if (filters->last != filters->source || g_strcmp0(filters->function, name) != 0) {
		ret = rs_source_find_symbol(filters->source, name, &at, &bytes, &err);
		if (!ret && !bytes)
			ret = rs_error_set(&err, EINVAL, "how long '%s' is, is not known", name);
		if (ret) {
			g_strlcpy(why, err.message, size);
			return ret;
		}
		g_free(filters->function);
		filters->function = g_strdup(name);
		filters->last = filters->source;
		filters->from = at;
		filters->to = at + bytes;
	}
	*from = filters->from;
	*to = filters->to;
	return 0;
}

int rs_filters_new(const char *expression, struct rs_filters **out, struct rs_filter_error *why)
{
	struct rs_filter_series *series;
	int ret = rs_filter_series_new(expression, &series, why);

	if (ret)
		return ret;
	*out = g_new0(struct rs_filters, 1);
	(*out)->expression = g_strdup(expression);
	(*out)->series = series;
	(*out)->functions = (struct rs_filter_functions){find_function, *out};
	return 0;
}

void rs_filters_free(struct rs_filters *filters)
{
	if (!filters)
		return;
	rs_filter_series_free(filters->series);
	g_free(filters->function);
	g_free(filters->expression);
	g_free(filters);
}

int rs_filters_look(struct rs_filters *filters, struct rs_turn *turn, const GPtrArray *events,
		    struct rs_filter_error *why)
{
	while (!filters->named) {
		size_t looks;
		int ret;

		if (rs_turn_over(turn))
			return 1;
		ret = rs_filter_series_names(filters->series,
					     (const RsTraceEvent *const *)events->pdata,
					     events->len, &looks, why);
		rs_turn_add(turn, looks * RS_WORK_LOOK);
		if (ret < 0)
			return ret;
		filters->named = !ret;
	}
	return 0;
}

static int refuse(int code, const char *message, struct rs_filter_error *why)
{
	why->code = code;
	g_strlcpy(why->message, message, sizeof(why->message));
	return -code;
}

int rs_filters_compile(struct rs_filters *filters, const struct rs_plan *plan,
		       const struct rs_owner *owner, bool alone, struct rs_program **program,
		       struct rs_filter_error *why)
{
	struct rs_session *session = plan->source->session;
	const bool guest = owner == plan->source->guest;
	g_autoptr(GByteArray) bytes = NULL;
	struct rs_error err = {0};

	*program = NULL;
	filters->source = plan->source;
	/* A guest does not make the host read files. */
	rs_filter_series_set_functions(filters->series, guest ? NULL : &filters->functions);
	rs_turn_add(&session->turn, strlen(filters->expression) * RS_WORK_FILTER);
	if (rs_filter_series_add(filters->series, plan->event, alone, &bytes, why))
		return -EBADMSG;
	if (!bytes)
		return 0;
	if (rs_filter_minor(bytes->data) > plan->source->info.abi_minor)
		return refuse(ENOTSUP,
			      "this guest's agent is older, and cannot run this: it compares two "
			      "fields, looks into an array whose length changes, or for a text of "
			      "more than 61 bytes in another",
			      why);
	if (guest && !rs_owner_guest_may(bytes))
		return refuse(E2BIG,
			      "a guest's filter may take half of what there is for an event, so "
			      "that others have room",
			      why);
	if (rs_program_check(&session->programs, bytes->len, guest, &err))
		return refuse(ENOSPC, err.message, why);
	*program = rs_program_new(&session->programs, bytes, guest);
	return 0;
}

int rs_session_split_filter(const char *text, char **glob, char **expression, struct rs_error *err)
{
	if (rs_filter_split(text, glob, expression) && *glob)
		return 0;
	g_clear_pointer(expression, g_free);
	return rs_error_set(err, EINVAL,
			    "a filter is written 'GLOB: EXPRESSION', such as "
			    "'sched:switch: prev != 0'");
}
