/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-copy.h"

/* Rows that are read at once. */
#define CHUNK 1024u

typedef struct {
	RsTraceTimeline *timeline;
	/* Numbers of rows would change as earlier records come late. */
	RsTraceTimelineRow next, last;
	gboolean has_next;
	RsViewerCopyKind kind;
	GString *text;
	guint copied, unread;
} Copy;

static void free_copy(gpointer data)
{
	Copy *copy = data;

	rs_trace_timeline_unref(copy->timeline);
	if (copy->text)
		g_string_free(copy->text, TRUE);
	g_free(copy);
}

static void append(Copy *copy, const GPtrArray *rows)
{
	for (guint i = 0; i < rows->len; i++) {
		const RsTraceRow *row = g_ptr_array_index(rows, i);

		if (copy->text->len >= RS_VIEWER_COPY_BYTES)
			return;
		if (!row) {
			copy->unread++;
			continue;
		}
		g_string_append(copy->text,
				copy->kind == RS_VIEWER_COPY_JSON ? row->json : row->line);
		g_string_append_c(copy->text, '\n');
		copy->copied++;
	}
}

static void step(GTask *task);

static void on_read(GObject *document, GAsyncResult *result, gpointer data)
{
	g_autoptr(GTask) task = data;
	GError *error = NULL;
	g_autoptr(GPtrArray) rows =
		rs_trace_document_read_finish(RS_TRACE_DOCUMENT(document), result, &error);

	if (!rows) {
		g_task_return_error(task, error);
		return;
	}
	append(g_task_get_task_data(task), rows);
	step(task);
}

static guint64 row_of(const Copy *copy, const RsTraceTimelineRow *row)
{
	return rs_trace_timeline_row_of(copy->timeline, row->ring, row->index);
}

/* Reads the next rows, or is done. */
static void step(GTask *task)
{
	Copy *copy = g_task_get_task_data(task);
	g_autofree RsTraceTimelineRow *rows = g_new(RsTraceTimelineRow, CHUNK + 1);
	guint64 first, end;
	guint n = 0;

	if (g_task_return_error_if_cancelled(task))
		return;
	if (copy->has_next && copy->text->len < RS_VIEWER_COPY_BYTES) {
		rs_trace_timeline_lock(copy->timeline);
		first = row_of(copy, &copy->next);
		end = row_of(copy, &copy->last) + 1;
		n = rs_trace_timeline_rows(copy->timeline, first,
					   (guint)MIN(CHUNK + 1, end - MIN(first, end)), rows);
		rs_trace_timeline_unlock(copy->timeline);
	}
	if (!n) {
		g_task_return_boolean(task, TRUE);
		return;
	}
	copy->has_next = n > CHUNK;
	if (copy->has_next)
		copy->next = rows[--n];
	rs_trace_document_read_async(g_task_get_source_object(task), copy->timeline, rows, n, FALSE,
				     g_task_get_cancellable(task), on_read, g_object_ref(task));
}

void rs_viewer_copy_async(RsTraceDocument *document, RsTraceTimeline *timeline, guint64 first,
			  guint64 n, RsViewerCopyKind kind, GCancellable *cancellable,
			  GAsyncReadyCallback done, gpointer data)
{
	g_autoptr(GTask) task = g_task_new(document, cancellable, done, data);
	Copy *copy = g_new0(Copy, 1);
	guint64 count;

	g_task_set_source_tag(task, rs_viewer_copy_async);
	copy->timeline = rs_trace_timeline_ref(timeline);
	rs_trace_timeline_lock(timeline);
	count = rs_trace_timeline_n_rows(timeline);
	n = MIN(MIN(n, RS_VIEWER_COPY_ROWS), count - MIN(first, count));
	copy->has_next = n > 0 && rs_trace_timeline_rows(timeline, first, 1, &copy->next) &&
			 rs_trace_timeline_rows(timeline, first + n - 1, 1, &copy->last);
	rs_trace_timeline_unlock(timeline);
	copy->kind = kind;
	copy->text = g_string_new(NULL);
	g_task_set_task_data(task, copy, free_copy);
	step(task);
}

char *rs_viewer_copy_finish(GAsyncResult *result, guint *copied, guint *unread, GError **error)
{
	GTask *task = G_TASK(result);
	Copy *copy = g_task_get_task_data(task);

	if (!g_task_propagate_boolean(task, error))
		return NULL;
	*copied = copy->copied;
	*unread = copy->unread;
	return g_string_free(g_steal_pointer(&copy->text), FALSE);
}
