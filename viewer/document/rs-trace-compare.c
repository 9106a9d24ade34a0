/* SPDX-License-Identifier: MIT */
#include "document/rs-trace-compare.h"

#include "rs-trace-document-private.h"

#define STEP 4096u      /* records between looks at the clock */
#define INTERVAL 100000 /* us between two calls of progress */

/* What the thread is given. */
typedef struct {
	RsTraceFiles *files[2];
	RsTraceCompareProgress progress;
	gpointer data;
	GMainContext *context;
	gint64 told; /* when progress was told */
} Job;

static void job_free(gpointer data)
{
	Job *job = data;

	for (guint i = 0; i < 2; i++)
		rs_trace_files_unref(job->files[i]);
	g_main_context_unref(job->context);
	g_free(job);
}

/* ---- progress ---- */

typedef struct {
	GTask *task;
	double share;
} Told;

static gboolean tell(gpointer data)
{
	const Told *told = data;
	const Job *job = g_task_get_task_data(told->task);

	if (!g_task_get_completed(told->task) &&
	    !g_cancellable_is_cancelled(g_task_get_cancellable(told->task)))
		job->progress(told->share, job->data);
	return G_SOURCE_REMOVE;
}

static void told_free(gpointer data)
{
	g_object_unref(((Told *)data)->task);
	g_free(data);
}

static void tell_progress(GTask *task, Job *job, guint which, RsTraceReader *reader)
{
	guint64 done, total, sizes[2];
	gint64 now = g_get_monotonic_time();
	Told *told;

	if (!job->progress || now - job->told < INTERVAL)
		return;
	job->told = now;
	rs_trace_reader_progress(reader, &done, &total);
	for (guint i = 0; i < 2; i++)
		sizes[i] = rs_trace_files_size(job->files[i]);
	done = MIN(done, sizes[which]) + (which ? sizes[0] : 0);
	told = g_new0(Told, 1);
	told->task = g_object_ref(task);
	told->share = (double)done / (double)MAX(sizes[0] + sizes[1], 1);
	g_main_context_invoke_full(job->context, G_PRIORITY_DEFAULT, tell, told, told_free);
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
	job->context = g_main_context_ref_thread_default();
	g_task_set_source_tag(task, rs_trace_document_compare_async);
	g_task_set_task_data(task, job, job_free);
	g_task_run_in_thread(task, work);
}

GPtrArray *rs_trace_document_compare_finish(GAsyncResult *result, GError **error)
{
	return g_task_propagate_pointer(G_TASK(result), error);
}
