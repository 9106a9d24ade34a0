/* SPDX-License-Identifier: MIT */
#include "document.h"

#include <string.h>

struct _RsTraceDocument {
	GObject parent_instance;
	RsTraceTimeline *shown;
	RsTraceDocumentState state;
	guint64 broken_from, broken_until;
	GPtrArray *waiting; /* GTask, with an Asked */
	guint asked;
	struct rs_file_source info;
	RsTraceOrigin *origin;
	guint64 next_ns;
};

typedef struct {
	RsTraceTimelineRow *rows;
	guint n;
	gboolean details;
} Asked;

G_DEFINE_FINAL_TYPE(RsTraceDocument, rs_trace_document, G_TYPE_OBJECT)

/* ---- rows ---- */

RsTraceRow *rs_trace_row_ref(RsTraceRow *row)
{
	g_atomic_ref_count_inc(&row->refs);
	return row;
}

void rs_trace_row_unref(RsTraceRow *row)
{
	if (!row || !g_atomic_ref_count_dec(&row->refs))
		return;
	g_free(row->source_name);
	g_free(row->comm);
	g_free(row->event);
	g_free(row->text);
	g_free(row->line);
	g_free(row->json);
	g_free(row);
}

static RsTraceRow *make_row(const RsTraceTimelineRow *at)
{
	RsTraceRow *row = g_new0(RsTraceRow, 1);

	g_atomic_ref_count_init(&row->refs);
	row->ns = at->ns;
	row->cpu = at->ring;
	row->pid = 7;
	row->lost = at->class == RS_TRACE_CLASS_LOSS ? 5 : 0;
	row->source_name = g_strdup("guest");
	row->comm = g_strdup("reader");
	row->event = g_strdup("test:a");
	row->text = g_strdup_printf("text %" G_GUINT64_FORMAT, at->ns);
	row->line = g_strdup_printf("line %" G_GUINT64_FORMAT, at->ns);
	row->json = g_strdup_printf("{\"ns\":%" G_GUINT64_FORMAT "}", at->ns);
	return row;
}

static void unref_row(gpointer row)
{
	rs_trace_row_unref(row);
}

/* ---- what a document does ---- */

RsTraceDocumentState rs_trace_document_state(RsTraceDocument *document)
{
	return document->state;
}

RsTraceTimeline *rs_trace_document_shown(RsTraceDocument *document)
{
	return document->shown;
}

guint64 rs_trace_document_wall_time(RsTraceDocument *document)
{
	return 0;
}

static void free_asked(gpointer data)
{
	Asked *asked = data;

	g_free(asked->rows);
	g_free(asked);
}

void rs_trace_document_read_async(RsTraceDocument *document, RsTraceTimeline *timeline,
				  const RsTraceTimelineRow *rows, guint n, gboolean with_details,
				  GCancellable *cancellable, GAsyncReadyCallback done,
				  gpointer data)
{
	GTask *task = g_task_new(document, cancellable, done, data);
	Asked *asked = g_new0(Asked, 1);

	g_assert_cmpuint(n, >, 0);
	asked->rows = g_memdup2(rows, n * sizeof(*rows));
	asked->n = n;
	asked->details = with_details;
	g_task_set_task_data(task, asked, free_asked);
	g_ptr_array_add(document->waiting, task);
	document->asked += n;
}

GPtrArray *rs_trace_document_read_finish(RsTraceDocument *document, GAsyncResult *result,
					 GError **error)
{
	return g_task_propagate_pointer(G_TASK(result), error);
}

/* ---- what the test does ---- */

static void answer(RsTraceDocument *document, GTask *task)
{
	const Asked *asked = g_task_get_task_data(task);
	GPtrArray *rows;

	if (g_task_return_error_if_cancelled(task))
		return;
	rows = g_ptr_array_new_with_free_func(unref_row);
	for (guint i = 0; i < asked->n; i++) {
		guint64 ns = asked->rows[i].ns;
		gboolean broken = ns >= document->broken_from && ns < document->broken_until;

		g_ptr_array_add(rows, broken ? NULL : make_row(&asked->rows[i]));
	}
	g_task_return_pointer(task, rows, (GDestroyNotify)g_ptr_array_unref);
}

void test_document_answer(RsTraceDocument *document)
{
	while (document->waiting->len) {
		g_autoptr(GTask) task = g_ptr_array_steal_index(document->waiting, 0);

		answer(document, task);
		while (g_main_context_iteration(NULL, FALSE))
			;
	}
}

guint test_document_waiting(RsTraceDocument *document)
{
	return document->waiting->len;
}

TestRequest test_document_request(RsTraceDocument *document, guint i)
{
	GTask *task = g_ptr_array_index(document->waiting, i);
	const Asked *asked = g_task_get_task_data(task);

	return (TestRequest){asked->rows[0].ns, asked->rows[asked->n - 1].ns, asked->n,
			     asked->details,
			     g_cancellable_is_cancelled(g_task_get_cancellable(task))};
}

guint test_document_asked(RsTraceDocument *document)
{
	return document->asked;
}

void test_document_show(RsTraceDocument *document, RsTraceTimeline *timeline)
{
	rs_trace_timeline_unref(document->shown);
	document->shown = rs_trace_timeline_ref(timeline);
	g_signal_emit_by_name(document, "changed");
}

void test_document_set_state(RsTraceDocument *document, RsTraceDocumentState state)
{
	document->state = state;
}

void test_document_break(RsTraceDocument *document, guint64 from, guint64 until)
{
	document->broken_from = from;
	document->broken_until = until;
}

static void take(RsTraceDocument *document, guint i, guint ring)
{
	static const RsTraceEvent event = {.unique = 1, .system = "test", .name = "a", .print = ""};
	static const RsTraceTask tasks[] = {{"one", 1}, {"tw\033o", 2}, {"three", 3}};
	guint n = i / 7 % G_N_ELEMENTS(tasks);
	RsTraceRecord record = {.ns = document->next_ns,
				.sorted_ns = document->next_ns,
				.ring = (guint16)ring,
				.pid = n + 1,
				.event = &event,
				.origin = document->origin};

	record.when.boot = 1;
	if (i % 50 == 49) {
		record.kind = RS_TRACE_RECORD_LOSS;
		record.lost = i;
		record.event = NULL;
	}
	rs_trace_timeline_take(document->shown, &record,
			       rs_trace_timeline_wants_task(document->shown, &record) ? &tasks[n]
										      : NULL);
}

void test_document_fill(RsTraceDocument *document, guint n)
{
	for (guint i = 0; i < n; i++) {
		for (guint k = 0; k <= i % 4; k++)
			take(document, i, k % 2);
		document->next_ns += 10;
	}
	rs_trace_timeline_flush(document->shown);
	g_signal_emit_by_name(document, "grown");
}

void test_document_take(RsTraceDocument *document, guint ring, guint64 after)
{
	document->next_ns += after;
	take(document, 0, ring);
	document->next_ns -= after;
	rs_trace_timeline_flush(document->shown);
	g_signal_emit_by_name(document, "grown");
}

static void finalize(GObject *object)
{
	RsTraceDocument *self = RS_TRACE_DOCUMENT(object);

	g_ptr_array_unref(self->waiting);
	rs_trace_timeline_unref(self->shown);
	rs_trace_origin_free(self->origin);
	G_OBJECT_CLASS(rs_trace_document_parent_class)->finalize(object);
}

static void rs_trace_document_class_init(RsTraceDocumentClass *class)
{
	static const char *const names[] = {"grown", "changed", "ended"};

	G_OBJECT_CLASS(class)->finalize = finalize;
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		g_signal_new(names[i], RS_TRACE_TYPE_DOCUMENT, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
			     NULL, G_TYPE_NONE, 0);
}

static void rs_trace_document_init(RsTraceDocument *self)
{
	self->waiting = g_ptr_array_new_with_free_func(g_object_unref);
	self->shown = rs_trace_timeline_new();
	self->state = RS_TRACE_DOCUMENT_READY;
	self->next_ns = 1000;
	g_strlcpy(self->info.name, "guest", sizeof(self->info.name));
	self->origin = rs_trace_origin_new(&self->info, TRUE, 0, NULL);
}

RsTraceDocument *test_document_new(void)
{
	return g_object_new(RS_TRACE_TYPE_DOCUMENT, NULL);
}

RsTraceTimeline *rs_trace_document_all(RsTraceDocument *document)
{
	return document->shown;
}

gboolean rs_trace_document_is_live(RsTraceDocument *document)
{
	return document->state == RS_TRACE_DOCUMENT_LIVE;
}
