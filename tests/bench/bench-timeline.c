/* SPDX-License-Identifier: MIT */
/*
 * A timeline of very many events on one core: what an event costs to take and to keep, and how long
 * it takes to say what lies in 24 lanes of 1,400 columns, at each zoom from all of the trace to a
 * few microseconds, and to find rows. The first argument says how many millions of events.
 */
#include "timeline/rs-trace-timeline.h"

#include <stdio.h>
#include <stdlib.h>

#define LANES 24u
#define COLUMNS 1400u
#define FRAMES 40u
#define TASKS 200u
#define CLASSES 60u
#define RUN 12u /* events between two switches of a task */

static RsTraceEvent events[CLASSES];
static guint32 seed = 1;

static guint32 any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

static double now_ms(void)
{
	return (double)g_get_monotonic_time() / 1000;
}

static RsTraceTimeline *fill(guint n)
{
	static struct rs_file_source info;
	RsTraceOrigin *origin = rs_trace_origin_new(&info, FALSE, 0, NULL);
	RsTraceTimeline *timeline = rs_trace_timeline_new();
	RsTraceRecord record = {.origin = origin};
	guint32 pids[LANES] = {0};

	for (guint i = 0; i < CLASSES; i++)
		events[i] = (RsTraceEvent){.unique = i + 1,
					   .system = "bench",
					   .name = g_strdup_printf("event%u", i),
					   .print = ""};
	for (guint i = 0; i < n; i++) {
		RsTraceTask task = {"bench", 1};
		guint lane = any() % LANES;

		if (any() % RUN == 0)
			pids[lane] = any() % TASKS;
		record.ns = record.sorted_ns += any() % 1000;
		record.ring = (guint16)lane;
		record.pid = pids[lane];
		record.event = &events[any() % CLASSES];
		rs_trace_timeline_take(timeline, &record,
				       rs_trace_timeline_wants_task(timeline, &record) ? &task
										       : NULL);
	}
	rs_trace_timeline_flush(timeline);
	rs_trace_origin_free(origin);
	return timeline;
}

static gint compare(gconstpointer a, gconstpointer b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* A frame: events and tasks of all lanes. */
static double draw(const RsTraceTimeline *timeline, guint64 from, guint64 until)
{
	static guint64 edges[COLUMNS + 1];
	static RsTraceShade out[COLUMNS];
	const RsTraceTimelineRing *ring;
	double start = now_ms();

	for (guint i = 0; i <= COLUMNS; i++)
		edges[i] = from + (guint64)((unsigned __int128)(until - from) * i / COLUMNS);
	rs_trace_timeline_lock(timeline);
	for (guint i = 0; (ring = rs_trace_timeline_ring(timeline, i)); i++) {
		rs_trace_series_columns(ring->events, edges, COLUMNS, until, out);
		rs_trace_series_columns(ring->tasks, edges, COLUMNS, until, out);
	}
	rs_trace_timeline_unlock(timeline);
	return now_ms() - start;
}

static void print(const char *what, double *values, guint n)
{
	qsort(values, n, sizeof(*values), compare);
	printf("  %-28s median %6.2f ms, most %6.2f ms\n", what, values[n / 2], values[n - 1]);
}

static void draw_all(const RsTraceTimeline *timeline)
{
	static const double shares[] = {1, 0.1, 0.01, 1e-3, 1e-4, 1e-6};
	double took[FRAMES];
	guint64 first, end;

	rs_trace_timeline_span(timeline, &first, &end);
	for (guint s = 0; s < G_N_ELEMENTS(shares); s++) {
		guint64 length = (guint64)((double)(end - first) * shares[s]);
		g_autofree char *what = g_strdup_printf("%g %% of the trace", shares[s] * 100);

		for (guint i = 0; i < FRAMES; i++) {
			guint64 from = first + (end - first - length) / FRAMES * i;

			took[i] = draw(timeline, from, from + length);
		}
		print(what, took, FRAMES);
	}
}

static void find_rows(const RsTraceTimeline *timeline)
{
	guint64 n = rs_trace_timeline_n_rows(timeline);
	RsTraceTimelineRow rows[64];
	double took[200];

	for (guint i = 0; i < G_N_ELEMENTS(took); i++) {
		double start = now_ms();

		rs_trace_timeline_lock(timeline);
		rs_trace_timeline_rows(timeline, any() % n, G_N_ELEMENTS(rows), rows);
		rs_trace_timeline_unlock(timeline);
		took[i] = now_ms() - start;
	}
	print("64 rows anywhere", took, G_N_ELEMENTS(took));
}

int main(int argc, char **argv)
{
	guint n = (argc > 1 ? (guint)atoi(argv[1]) : 20) * 1000000;
	double start = now_ms();
	RsTraceTimeline *timeline = fill(n);

	printf("%u million events in %u lanes: %.1f ns and %.2f bytes for each\n", n / 1000000,
	       LANES, (now_ms() - start) * 1e6 / n, (double)rs_trace_timeline_size(timeline) / n);
	draw_all(timeline);
	find_rows(timeline);
	rs_trace_timeline_unref(timeline);
	return 0;
}
