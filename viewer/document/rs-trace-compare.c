/* SPDX-License-Identifier: MIT */
#include "document/rs-trace-compare.h"

#include "rs-trace-document-private.h"
#include "rs-trace-progress-private.h"

#define STEP 4096u /* records between looks at the clock */

/* What the thread is given. */
typedef struct {
	RsTraceFiles *files[2];
	RsTraceCompareProgress progress;
	gpointer data;
	gint64 told; /* when progress was told */
} Job;

static void job_free(gpointer data)
{
	Job *job = data;

	for (guint i = 0; i < 2; i++)
		rs_trace_files_unref(job->files[i]);
	g_free(job);
}

/* ---- progress ---- */

static void tell(gpointer data, gconstpointer share)
{
	const Job *job = data;

	job->progress(*(const double *)share, job->data);
}

static void tell_progress(GTask *task, Job *job, guint which, RsTraceReader *reader)
{
	guint64 done, total, sizes[2];
	double share;

	if (!job->progress || !rs_trace_progress_is_due(&job->told))
		return;
	rs_trace_reader_progress(reader, &done, &total);
	for (guint i = 0; i < 2; i++)
		sizes[i] = rs_trace_files_size(job->files[i]);
	done = MIN(done, sizes[which]) + (which ? sizes[0] : 0);
	share = (double)done / (double)MAX(sizes[0] + sizes[1], 1);
	rs_trace_progress_tell(task, tell, &share, sizeof(share));
}

/* ---- the records ---- */

/* NULL: error. */
static RsTraceStat *read_stat(GTask *task, Job *job, guint which, GError **error)
{
	GCancellable *cancellable = g_task_get_cancellable(task);
	g_autoptr(RsTraceReader) reader =
		rs_trace_files_read(job->files[which], cancellable, error);
	g_autoptr(RsTraceStat) stat = rs_trace_stat_new();
	guint64 first = G_MAXUINT64, last = 0;
	const RsTraceRecord *record;

	if (!reader)
		return NULL;
	for (guint i = 0; (record = rs_trace_reader_next(reader, cancellable, NULL)); i++) {
		const RsTraceSample item = {record, rs_trace_reader_task(reader),
					    record->origin->name, record->origin->index};

		if (i % STEP == 0)
			tell_progress(task, job, which, reader);
		rs_trace_stat_add(stat, &item);
		first = MIN(first, record->sorted_ns);
		last = MAX(last, record->sorted_ns);
	}
	/* What comes before a damage counts: the document says that it is damaged. */
	if (g_cancellable_set_error_if_cancelled(cancellable, error))
		return NULL;
	if (first <= last)
		rs_trace_stat_set_span(stat, first, last);
	return g_steal_pointer(&stat);
}

static void work(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	g_autoptr(RsTraceStat) a = NULL, b = NULL;
	GError *error = NULL;

	a = read_stat(task, data, 0, &error);
	b = a ? read_stat(task, data, 1, &error) : NULL;
	if (b)
		g_task_return_pointer(task, rs_trace_diff_stat(a, b),
				      (GDestroyNotify)g_ptr_array_unref);
	else
		g_task_return_error(task, error);
}

void rs_trace_document_compare_async(RsTraceDocument *a, RsTraceDocument *b,
				     GCancellable *cancellable, RsTraceCompareProgress progress,
				     GAsyncReadyCallback done, gpointer data)
{
	/* Without a source: that would end in the thread if it is the last that has the task. */
	g_autoptr(GTask) task = g_task_new(NULL, cancellable, done, data);
	Job *job = g_new0(Job, 1);

	job->files[0] = rs_trace_files_ref(rs_trace_document_files(a));
	job->files[1] = rs_trace_files_ref(rs_trace_document_files(b));
	job->progress = progress;
	job->data = data;
	g_task_set_source_tag(task, rs_trace_document_compare_async);
	g_task_set_task_data(task, job, job_free);
	g_task_run_in_thread(task, work);
}

GPtrArray *rs_trace_document_compare_finish(GAsyncResult *result, GError **error)
{
	return g_task_propagate_pointer(G_TASK(result), error);
}
