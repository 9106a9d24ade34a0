/* SPDX-License-Identifier: MIT */
/*
 * `follow SESSION SECONDS [FILTER]`: shows a running session for so long, as a window does, and
 * reads rows and filters meanwhile. Prints what came, as one JSON object; fails if a row that is
 * there cannot be read, or, of the filter, is not one of all.
 */
#include "traces.h"

#include <stdlib.h>

#define ROWS 50u

typedef struct {
	RsTraceDocument *document;
	gboolean over;
	guint grown, fetches, missing;
	gint64 begun, first;
	gint64 fetching; /* us in all */
} Follow;

static guint64 count_rows(RsTraceTimeline *timeline, guint64 *lost)
{
	guint64 n;

	rs_trace_timeline_lock(timeline);
	n = rs_trace_timeline_n_rows(timeline);
	*lost = rs_trace_timeline_lost(timeline);
	rs_trace_timeline_unlock(timeline);
	return n;
}

static gboolean on_time(gpointer data)
{
	((Follow *)data)->over = TRUE;
	return G_SOURCE_REMOVE;
}

static void on_grown(RsTraceDocument *document, gpointer data)
{
	Follow *f = data;
	guint64 lost;

	f->grown++;
	if (!f->first && count_rows(rs_trace_document_all(document), &lost))
		f->first = g_get_monotonic_time();
}

/* The newest rows, which may be in no window of the recording yet. */
static void fetch(Follow *f, RsTraceTimeline *timeline)
{
	guint64 lost, n = count_rows(timeline, &lost);
	g_autoptr(GPtrArray) rows = NULL;

	if (!n)
		return;
	f->fetching -= g_get_monotonic_time();
	rows = traces_fetch(f->document, timeline, n - MIN(n, ROWS), ROWS, FALSE);
	f->fetching += g_get_monotonic_time();
	f->fetches++;
	for (guint i = 0; i < rows->len; i++)
		f->missing += !rows->pdata[i];
}

static void check(Follow *f, const char *filter)
{
	guint64 lost, all = count_rows(rs_trace_document_all(f->document), &lost), lost_of_filter;
	guint64 shown;

	traces_wait(rs_trace_document_filter_progress(f->document) == 1);
	shown = count_rows(rs_trace_document_shown(f->document), &lost_of_filter);
	fetch(f, rs_trace_document_all(f->document));
	fetch(f, rs_trace_document_shown(f->document));
	g_print("{\"rows\":%" G_GUINT64_FORMAT ",\"lost\":%" G_GUINT64_FORMAT
		",\"shown\":%" G_GUINT64_FORMAT ",\"filter\":%s,\"grown\":%u,\"fetches\":%u,"
		"\"fetch_ms\":%.0f,\"missing\":%u,\"first_ms\":%.0f,\"state\":%d,\"remarks\":%u}\n",
		all, lost, shown, filter ? "true" : "false", f->grown, f->fetches,
		(double)f->fetching / 1e3 / MAX(f->fetches, 1), f->missing,
		(double)(f->first - f->begun) / 1e3, rs_trace_document_state(f->document),
		g_strv_length((char **)rs_trace_document_remarks(f->document)));
}

int main(int argc, char **argv)
{
	Follow f = {.begun = g_get_monotonic_time()};
	const char *filter = argc > 3 ? argv[3] : NULL;

	f.document = rs_trace_document_new_live(argv[1]);
	g_signal_connect(f.document, "grown", G_CALLBACK(on_grown), &f);
	g_timeout_add((guint)(atof(argv[2]) * 1000), on_time, &f);
	if (filter)
		rs_trace_document_set_filter(f.document, (const char *const[]){filter, NULL}, NULL);
	while (!f.over && rs_trace_document_state(f.document) < RS_TRACE_DOCUMENT_READY) {
		g_main_context_iteration(NULL, TRUE);
		if (f.grown % 8 == 7)
			fetch(&f, rs_trace_document_all(f.document));
	}
	/* The rest is looked at once the session has ended. */
	traces_wait(rs_trace_document_state(f.document) >= RS_TRACE_DOCUMENT_READY);
	if (rs_trace_document_error(f.document)) {
		g_printerr("%s\n", rs_trace_document_error(f.document)->message);
		return 1;
	}
	check(&f, filter);
	for (const char *const *r = rs_trace_document_remarks(f.document); *r; r++)
		g_printerr("%s\n", *r);
	return f.missing ? 2 : 0;
}
