/* SPDX-License-Identifier: MIT */
/*
 * Frames of the viewer's timeline: a real window of 1,400 x 600 pixels with 24 lanes is panned and
 * zoomed over a made-up trace, from all of it to a few nanoseconds. Each frame is timed from the
 * begin of its layout until it is painted. The argument says how many millions of events.
 *
 * The document is made up too: it has only a timeline.
 */
#include "app/rs-viewer-timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LANES 24u
#define TASKS 200u
#define CLASSES 60u
#define RUN 12u /* events between two switches of a task */
#define FRAMES 900u
#define LANE_HEIGHT 22u
#define LOST 100000u /* events between two losses */

/* ---- the document ---- */

struct _RsTraceDocument {
	GObject parent;
	RsTraceTimeline *timeline;
};

G_DEFINE_FINAL_TYPE(RsTraceDocument, rs_trace_document, G_TYPE_OBJECT)

static void rs_trace_document_class_init(RsTraceDocumentClass *class)
{
	static const char *const names[] = {"grown", "changed", "ended"};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		g_signal_new(names[i], G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
			     NULL, G_TYPE_NONE, 0);
}

static void rs_trace_document_init(RsTraceDocument *document)
{
}

RsTraceTimeline *rs_trace_document_all(RsTraceDocument *document)
{
	return document->timeline;
}

RsTraceTimeline *rs_trace_document_shown(RsTraceDocument *document)
{
	return document->timeline;
}

RsTraceDocumentState rs_trace_document_state(RsTraceDocument *document)
{
	return RS_TRACE_DOCUMENT_READY;
}

gboolean rs_trace_document_is_live(RsTraceDocument *document)
{
	return FALSE;
}

double rs_trace_document_progress(RsTraceDocument *document)
{
	return 1;
}

RsTraceTimeline *rs_trace_document_pick(RsTraceDocument *document, const char *const *filters,
					GError **error)
{
	return rs_trace_timeline_ref(document->timeline);
}

RsTraceTimeline *rs_trace_document_pick_values(RsTraceDocument *document,
					       const char *const *filters, const char *field,
					       RsTraceValues **values, GError **error)
{
	*values = rs_trace_values_new();
	return rs_trace_timeline_ref(document->timeline);
}

double rs_trace_document_pick_progress(RsTraceDocument *document, const RsTraceTimeline *timeline,
				       GError **error)
{
	return 1;
}

void rs_trace_document_read_async(RsTraceDocument *document, RsTraceTimeline *timeline,
				  const RsTraceTimelineRow *rows, guint n, gboolean with_details,
				  GCancellable *cancellable, GAsyncReadyCallback done,
				  gpointer data)
{
}

GPtrArray *rs_trace_document_read_finish(RsTraceDocument *document, GAsyncResult *result,
					 GError **error)
{
	return NULL;
}

/* ---- the trace ---- */

static RsTraceEvent events[CLASSES];
static guint32 seed = 1;

static guint32 any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
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
		const guint lane = any() % LANES;
		RsTraceTask task = {"bench", 1};

		if (any() % RUN == 0)
			pids[lane] = any() % TASKS;
		record.ns = record.sorted_ns += any() % 1000;
		record.ring = (guint16)lane;
		record.pid = pids[lane];
		record.kind = i % LOST == LOST - 1 ? RS_TRACE_RECORD_LOSS : RS_TRACE_RECORD_EVENT;
		record.lost = record.kind == RS_TRACE_RECORD_LOSS;
		record.event = record.lost ? NULL : &events[any() % CLASSES];
		rs_trace_timeline_take(timeline, &record,
				       rs_trace_timeline_wants_task(timeline, &record) ? &task
										       : NULL);
	}
	rs_trace_timeline_flush(timeline);
	rs_trace_origin_free(origin);
	return timeline;
}

/* ---- frames ---- */

typedef struct {
	GMainLoop *loop;
	RsViewerView *view;
	guint64 first, end;
	guint frame;
	gint64 began;
	gboolean is_moved;
	double took[FRAMES];
} Bench;

/* In and out by turns, and to the side at each zoom. */
static void move(Bench *bench)
{
	const double depth = 1 - fabs(1 - (bench->frame % 300) / 150.0);
	const double all = (double)(bench->end - bench->first);
	const guint64 length = (guint64)(all * pow(20 / all, depth));
	const double at = (bench->frame * 0.6180339887) - floor(bench->frame * 0.6180339887);
	const guint64 middle = bench->first + (guint64)(all * (bench->frame / 300 ? at : 0.4));
	const guint64 from = middle > length / 2 ? middle - length / 2 : 0;

	rs_viewer_view_set_range(bench->view, from, from + MAX(length, 1));
}

static gboolean on_tick(GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
	Bench *bench = data;

	if (bench->frame >= FRAMES) {
		g_main_loop_quit(bench->loop);
		return G_SOURCE_REMOVE;
	}
	move(bench);
	bench->is_moved = TRUE;
	return G_SOURCE_CONTINUE;
}

static void on_before(GdkFrameClock *clock, Bench *bench)
{
	bench->began = g_get_monotonic_time();
}

static void on_after(GdkFrameClock *clock, Bench *bench)
{
	if (bench->is_moved && bench->frame < FRAMES)
		bench->took[bench->frame++] =
			(double)(g_get_monotonic_time() - bench->began) / 1000;
	bench->is_moved = FALSE;
}

static gint compare(gconstpointer a, gconstpointer b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* So low that all of them are in view. */
static void lower_lanes(RsViewerTimeline *timeline)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autoptr(GStrvBuilder) heights = g_strv_builder_new();
	g_auto(GStrv) list = NULL;

	for (guint i = 0; i < LANES; i++) {
		g_autofree char *height = g_strdup_printf("%u:cpu:0:%u", LANE_HEIGHT, i);

		g_strv_builder_add(heights, height);
	}
	list = g_strv_builder_end(heights);
	g_key_file_set_string_list(file, "timeline", "heights", (const char *const *)list, LANES);
	rs_viewer_timeline_load(timeline, file);
}

static void run(Bench *bench, RsTraceDocument *document)
{
	GtkWidget *window = gtk_window_new(), *timeline;
	GdkFrameClock *clock;

	bench->view = rs_viewer_view_new(document);
	bench->loop = g_main_loop_new(NULL, FALSE);
	timeline = rs_viewer_timeline_new(bench->view);
	lower_lanes(RS_VIEWER_TIMELINE(timeline));
	gtk_window_set_child(GTK_WINDOW(window), timeline);
	gtk_window_set_decorated(GTK_WINDOW(window), FALSE);
	/* Above the lanes are the bar, the overview and the ruler. */
	gtk_window_set_default_size(GTK_WINDOW(window), 1400, 730);
	gtk_window_present(GTK_WINDOW(window));
	clock = gtk_widget_get_frame_clock(window);
	g_signal_connect(clock, "before-paint", G_CALLBACK(on_before), bench);
	g_signal_connect(clock, "after-paint", G_CALLBACK(on_after), bench);
	gtk_widget_add_tick_callback(timeline, on_tick, bench, NULL);
	g_main_loop_run(bench->loop);
	qsort(bench->took, FRAMES, sizeof(double), compare);
	printf("  %u frames by %s: median %.1f ms, p95 %.1f ms, p99 %.1f ms, most %.1f ms\n",
	       FRAMES, G_OBJECT_TYPE_NAME(gtk_native_get_renderer(gtk_widget_get_native(timeline))),
	       bench->took[FRAMES / 2], bench->took[FRAMES * 95 / 100],
	       bench->took[FRAMES * 99 / 100], bench->took[FRAMES - 1]);
	gtk_window_destroy(GTK_WINDOW(window));
	g_object_unref(bench->view);
	g_main_loop_unref(bench->loop);
}

int main(int argc, char **argv)
{
	const guint n = (argc > 1 ? (guint)atoi(argv[1]) : 10) * 1000000;
	Bench *bench = g_new0(Bench, 1);
	RsTraceDocument *document;

	if (!gtk_init_check()) {
		fprintf(stderr, "bench-frames: there is no display\n");
		return 77;
	}
	document = g_object_new(RS_TRACE_TYPE_DOCUMENT, NULL);
	document->timeline = fill(n);
	rs_trace_timeline_span(document->timeline, &bench->first, &bench->end);
	printf("%u million events in %u lanes\n", n / 1000000, LANES);
	run(bench, document);
	rs_trace_timeline_unref(document->timeline);
	g_object_unref(document);
	g_free(bench);
	return 0;
}
