/* SPDX-License-Identifier: MIT */
#include "document/rs-trace-document-export.h"

#include "filter/rs-trace-expected.h"
#include "rs-trace-document-private.h"
#include "rs-trace-progress-private.h"
#include "rs-trace-wish-private.h"

#define STEP 1024u /* records between looks at the clock; a power of 2 */

/* What the thread is given, and what it has. */
typedef struct {
	RsTraceFiles *files;
	const RsTraceExportFormat *format;
	char *path, *columns;
	gboolean replace;
	guint64 from, until;
	GStrv filters, slices, counters;
	RsTraceDocumentExportProgress progress;
	gpointer data;

	GTask *task; /* while it runs: borrowed */
	RsTraceReader *reader;
	RsTraceSelection *selection;
	RsTraceExpected *expected;
	RsTraceOutput *output;
	guint records;
	guint64 events;
	gboolean is_whole; /* the reader has no more */
	gint64 told;       /* when progress was told */
} Job;

static void job_free(gpointer data)
{
	Job *job = data;

	rs_trace_files_unref(job->files);
	g_free(job->path);
	g_free(job->columns);
	g_strfreev(job->filters);
	g_strfreev(job->slices);
	g_strfreev(job->counters);
	g_clear_object(&job->reader);
	rs_trace_selection_free(job->selection);
	rs_trace_expected_free(job->expected);
	rs_trace_output_free(job->output);
	g_free(job);
}

void rs_trace_document_export_result_free(RsTraceDocumentExportResult *result)
{
	if (!result)
		return;
	g_clear_error(&result->result.damage);
	g_strfreev(result->missing);
	g_free(result);
}

/* ---- progress ---- */

static void tell(gpointer data, gconstpointer exported)
{
	const Job *job = data;

	job->progress(exported, job->data);
}

/* By time if there is a stretch, which is a part of what the file has; else by bytes. */
static double share_of(Job *job, guint64 ns)
{
	guint64 done, total;

	if (job->until != G_MAXUINT64)
		return (double)(CLAMP(ns, job->from, job->until) - job->from) /
		       (double)MAX(job->until - job->from, 1);
	rs_trace_reader_progress(job->reader, &done, &total);
	return total ? MIN((double)done / (double)total, 1) : 0;
}

static void tell_progress(Job *job, guint64 ns)
{
	RsTraceDocumentExported exported;

	if (!job->progress || !rs_trace_progress_is_due(&job->told))
		return;
	exported = (RsTraceDocumentExported){share_of(job, ns), job->events,
					     rs_trace_output_size(job->output)};
	rs_trace_progress_tell(job->task, tell, &exported, sizeof(exported));
}

/* ---- the thread ---- */

/* Nothing is exported by a filter with a mistake. */
static const RsTraceRecord *check(const Job *job, GError **error)
{
	rs_trace_selection_finish(job->selection, error);
	return NULL;
}

static const RsTraceRecord *next(const RsTraceTask **task, gpointer data, GError **error)
{
	GCancellable *cancellable;
	Job *job = data;
	const RsTraceRecord *record;
	GError *why = NULL;

	cancellable = g_task_get_cancellable(job->task);
	while ((record = rs_trace_reader_next(job->reader, cancellable, &why))) {
		if (record->sorted_ns >= job->until)
			return NULL;
		if (!(job->records++ & (STEP - 1)))
			tell_progress(job, record->sorted_ns);
		*task = rs_trace_reader_task(job->reader);
		if (!rs_trace_selection_matches(job->selection, record, *task)) {
			if (rs_trace_selection_is_over(job->selection))
				return check(job, error);
			continue;
		}
		job->events += record->kind == RS_TRACE_RECORD_EVENT;
		return record;
	}
	if (why) {
		g_propagate_error(error, why);
		return NULL;
	}
	job->is_whole = TRUE;
	return check(job, error);
}

static void see(const RsTraceEvent *event, const RsTraceOrigin *origin, gpointer data)
{
	const Job *job = data;

	rs_trace_expected_see(job->expected, origin->name, event);
	rs_trace_selection_know(job->selection, origin, event);
}

static gboolean open_trace(Job *job, GCancellable *cancellable, GError **error)
{
	GError *why = NULL;

	job->selection = rs_trace_wish_select((const char *const *)job->filters, &why);
	if (why) {
		g_propagate_error(error, why);
		return FALSE;
	}
	if (!rs_trace_wish_learn(job->selection, job->files, cancellable, error))
		return FALSE;
	job->reader = rs_trace_files_read(job->files, cancellable, error);
	if (!job->reader)
		return FALSE;
	job->expected = rs_trace_expected_new();
	rs_trace_expected_add(job->expected, job->columns);
	for (char **slice = job->slices; slice && *slice; slice++)
		rs_trace_expected_add_pair(job->expected, *slice);
	for (char **counter = job->counters; counter && *counter; counter++)
		rs_trace_expected_add_field(job->expected, *counter);
	rs_trace_reader_set_event_func(job->reader, see, job);
	return !job->from || rs_trace_reader_seek(job->reader, job->from, cancellable, error);
}

static gboolean open_output(Job *job, GError **error)
{
	RsTraceOutputFlags flags = RS_TRACE_OUTPUT_FILE;

	if (rs_trace_files_have(job->files, job->path)) {
		g_autofree char *shown = g_filename_display_name(job->path);

		g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s is the trace itself", shown);
		return FALSE;
	}
	if (job->format->is_directory)
		flags = RS_TRACE_OUTPUT_DIRECTORY;
	else if (job->replace)
		flags = RS_TRACE_OUTPUT_FORCE;
	job->output = rs_trace_output_new(job->path, flags, error);
	return job->output != NULL;
}

/* A format takes no wish that it does not know. */
static gboolean write_all(Job *job, GCancellable *cancellable, RsTraceDocumentExportResult *out,
			  GError **error)
{
	const gboolean has_slices = job->format->too_deep != NULL;
	const RsTraceExportConfig config = {
		.header = rs_trace_reader_header(job->reader),
		.output = job->output,
		.cancellable = cancellable,
		.slices = has_slices ? (const char *const *)job->slices : NULL,
		.counters = has_slices ? (const char *const *)job->counters : NULL,
		.columns = job->format->has_columns ? job->columns : NULL,
	};

	return rs_trace_export(job->reader, next, job, job->format, &config, &out->result, error);
}

static void work(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	Job *job = data;
	g_autoptr(RsTraceDocumentExportResult) out = g_new0(RsTraceDocumentExportResult, 1);
	GError *error = NULL;

	job->task = task;
	if (!open_trace(job, cancellable, &error) || !open_output(job, &error) ||
	    !write_all(job, cancellable, out, &error)) {
		/* What is half written is gone when the caller hears of it. */
		g_clear_pointer(&job->output, rs_trace_output_free);
		g_task_return_error(task, error);
		return;
	}
	out->bytes = rs_trace_output_size(job->output);
	out->missing = job->is_whole && !out->result.damage
			       ? rs_trace_expected_missing(job->expected)
			       : g_new0(char *, 1);
	g_task_return_pointer(task, g_steal_pointer(&out),
			      (GDestroyNotify)rs_trace_document_export_result_free);
}

/* ---- the main thread ---- */

void rs_trace_document_export_async(RsTraceDocument *document, const RsTraceDocumentExport *what,
				    GCancellable *cancellable,
				    RsTraceDocumentExportProgress progress,
				    GAsyncReadyCallback done, gpointer data)
{
	/* Without a source: that would end in the thread if it is the last that has the task. */
	g_autoptr(GTask) task = g_task_new(NULL, cancellable, done, data);
	Job *job = g_new0(Job, 1);

	job->files = rs_trace_files_ref(rs_trace_document_files(document));
	job->format = what->format;
	job->path = g_strdup(what->path);
	job->replace = what->replace;
	job->from = what->from;
	job->until = what->until;
	job->filters = g_strdupv((char **)what->filters);
	job->slices = g_strdupv((char **)what->slices);
	job->counters = g_strdupv((char **)what->counters);
	job->columns = g_strdup(what->columns);
	job->progress = progress;
	job->data = data;
	g_task_set_source_tag(task, rs_trace_document_export_async);
	/* An output that has got its name stays, also if somebody cancels right then. */
	g_task_set_check_cancellable(task, FALSE);
	g_task_set_task_data(task, job, job_free);
	g_task_run_in_thread(task, work);
}

RsTraceDocumentExportResult *rs_trace_document_export_finish(GAsyncResult *result, GError **error)
{
	return g_task_propagate_pointer(G_TASK(result), error);
}
