/* SPDX-License-Identifier: MIT */
#include "filter/rs-trace-expected.h"

#include <string.h>

typedef struct {
	RsTraceEventGlob *glob;
	gboolean found;
} Wish;

struct _RsTraceExpected {
	GPtrArray *wishes;
};

static void wish_free(gpointer data)
{
	Wish *wish = data;

	rs_trace_event_glob_free(wish->glob);
	g_free(wish);
}

RsTraceExpected *rs_trace_expected_new(void)
{
	RsTraceExpected *expected = g_new0(RsTraceExpected, 1);

	expected->wishes = g_ptr_array_new_with_free_func(wish_free);
	return expected;
}

void rs_trace_expected_free(RsTraceExpected *expected)
{
	if (!expected)
		return;
	g_ptr_array_unref(expected->wishes);
	g_free(expected);
}

void rs_trace_expected_add(RsTraceExpected *expected, const char *globs)
{
	g_auto(GStrv) all = globs ? rs_trace_event_glob_split(globs) : NULL;

	for (char **one = all; one && *one; one++) {
		RsTraceEventGlob *glob = rs_trace_event_glob_new(*one, NULL);
		Wish *wish;

		if (!glob)
			continue;
		wish = g_new0(Wish, 1);
		wish->glob = glob;
		g_ptr_array_add(expected->wishes, wish);
	}
}

void rs_trace_expected_add_pair(RsTraceExpected *expected, const char *pair)
{
	const char *dots = pair ? strstr(pair, "..") : NULL;
	g_autofree char *first = dots ? g_strndup(pair, (gsize)(dots - pair)) : NULL;

	rs_trace_expected_add(expected, first);
	rs_trace_expected_add(expected, dots ? dots + 2 : NULL);
}

void rs_trace_expected_add_field(RsTraceExpected *expected, const char *field)
{
	const char *dot = field ? strrchr(field, '.') : NULL;
	g_autofree char *event = dot ? g_strndup(field, (gsize)(dot - field)) : NULL;

	rs_trace_expected_add(expected, event);
}

void rs_trace_expected_see(RsTraceExpected *expected, const char *source, const RsTraceEvent *event)
{
	for (guint i = 0; i < expected->wishes->len; i++) {
		Wish *wish = expected->wishes->pdata[i];

		wish->found |= rs_trace_event_glob_matches(wish->glob, source, event) != 0;
	}
}

GStrv rs_trace_expected_missing(const RsTraceExpected *expected)
{
	g_autoptr(GStrvBuilder) missing = g_strv_builder_new();

	for (guint i = 0; i < expected->wishes->len; i++) {
		const Wish *wish = expected->wishes->pdata[i];

		if (!wish->found)
			g_strv_builder_add(missing, rs_trace_event_glob_text(wish->glob));
	}
	return g_strv_builder_end(missing);
}
