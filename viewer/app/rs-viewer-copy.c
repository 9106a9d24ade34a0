/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-copy.h"

/* Rows that are read at once. */
#define CHUNK 1024u

typedef struct {
	RsTraceTimeline *timeline;
	guint64 next, end; /* numbers of rows */
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

/* Reads the next rows, or is done. */
static void step(GTask *task)
{
	Copy *copy = g_task_get_task_data(task);
	g_autofree RsTraceTimelineRow *rows = g_new(RsTraceTimelineRow, CHUNK);
	guint n = 0;

	if (g_task_return_error_if_cancelled(task))
		return;
	if (copy->next < copy->end && copy->text->len < RS_VIEWER_COPY_BYTES) {
		rs_trace_timeline_lock(copy->timeline);
		n = rs_trace_timeline_rows(copy->timeline, copy->next,
					   (guint)MIN(CHUNK, copy->end - copy->next), rows);
		rs_trace_timeline_unlock(copy->timeline);
	}
	if (!n) {
		g_task_return_boolean(task, TRUE);
		return;
	}
	copy->next += n;
	rs_trace_document_read_async(g_task_get_source_object(task), copy->timeline, rows, n, FALSE,
				     g_task_get_cancellable(task), on_read, g_object_ref(task));
}

void rs_viewer_copy_async(RsTraceDocument *document, RsTraceTimeline *timeline, guint64 first,
			  guint64 n, RsViewerCopyKind kind, GCancellable *cancellable,
			  GAsyncReadyCallback done, gpointer data)
{
	g_autoptr(GTask) task = g_task_new(document, cancellable, done, data);
	Copy *copy = g_new0(Copy, 1);

	g_task_set_source_tag(task, rs_viewer_copy_async);
	copy->timeline = rs_trace_timeline_ref(timeline);
	copy->next = first;
	copy->end = first + MIN(MIN(n, RS_VIEWER_COPY_ROWS), G_MAXUINT64 - first);
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
