/* SPDX-License-Identifier: MIT */
#include "rs-trace-wish-private.h"

#include "filter/filter.h"

#include <string.h>

#define ALWAYS "CPU >= 0" /* each record has one */

char *rs_trace_wish_glob(const char *text)
{
	g_autofree char *glob = NULL, *expression = NULL;

	rs_filter_split_event(text, &glob, &expression);
	/* A name alone is a field here. */
	if (expression || !glob || !strpbrk(glob, ":*?@"))
		return NULL;
	return g_strconcat(glob, ": " ALWAYS, NULL);
}

RsTraceSelection *rs_trace_wish_select(const char *const *filters, GError **error)
{
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
	g_auto(GStrv) wishes = NULL;
	RsTraceSelectionConfig config = {0};

	for (const char *const *filter = filters; filter && *filter; filter++) {
		g_autofree char *glob = rs_trace_wish_glob(*filter);

		g_strv_builder_add(builder, glob ? glob : *filter);
		config.only_filtered = TRUE;
	}
	wishes = g_strv_builder_end(builder);
	config.filters = (const char *const *)wishes;
	return rs_trace_selection_new(&config, error);
}

static void know(const RsTraceEvent *event, const RsTraceOrigin *origin, gpointer data)
{
	rs_trace_selection_know(data, origin, event);
}

gboolean rs_trace_wish_learn(RsTraceSelection *selection, RsTraceFiles *files,
			     GCancellable *cancellable, GError **error)
{
	g_autoptr(RsTraceReader) reader = NULL;

	if (!rs_trace_files_have_ended(files) || !rs_trace_selection_is_filtered(selection))
		return TRUE;
	reader = rs_trace_files_read(files, cancellable, NULL);
	if (!reader)
		return TRUE;
	rs_trace_reader_set_event_func(reader, know, selection);
	return !rs_trace_reader_seek_last(reader, 1, cancellable, NULL) ||
	       rs_trace_selection_finish(selection, error);
}
