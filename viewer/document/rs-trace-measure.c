/* SPDX-License-Identifier: MIT */
#include "document/rs-trace-measure.h"

#include "analysis/rs-trace-stacks.h"
#include "rs-trace-document-private.h"
#include "rs-trace-progress-private.h"
#include "rs-trace-wish-private.h"

#include <string.h>

#define STEP 4096u   /* records, or spans, between looks at the clock */
#define LOSSES 1024u /* that are read under one lock */

/* What the thread is given. */
typedef struct {
	RsTraceFiles *files;
	RsTraceTimeline *timeline;
	guint64 from, until;
	GStrv filters;
	char *pair, *key;
	RsTraceMeasureProgress progress;
	gpointer data;
	gint64 told; /* when progress was told */
} Job;

static void job_free(gpointer data)
{
	Job *job = data;

	rs_trace_files_unref(job->files);
	rs_trace_timeline_unref(job->timeline);
	g_strfreev(job->filters);
	g_free(job->pair);
	g_free(job->key);
	g_free(job);
}

void rs_trace_measure_free(RsTraceMeasure *measure)
{
	if (!measure)
		return;
	rs_trace_stat_free(measure->stat);
	rs_trace_latency_free(measure->latency);
	rs_trace_flame_free(measure->slices);
	rs_trace_flame_free(measure->stacks);
	g_clear_pointer(&measure->tasks, g_array_unref);
	rs_trace_timeline_unref(measure->timeline);
	g_free(measure);
}

/* ---- progress ---- */

static void tell(gpointer data, gconstpointer share)
{
	const Job *job = data;

	job->progress(*(const double *)share, job->data);
}

static void tell_progress(GTask *task, Job *job, guint64 ns)
{
	double share;

	if (!job->progress || !rs_trace_progress_is_due(&job->told))
		return;
	share = (double)(CLAMP(ns, job->from, job->until) - job->from) /
		(double)MAX(job->until - job->from, 1);
	rs_trace_progress_tell(task, tell, &share, sizeof(share));
}

/* ---- which tasks had the vCPUs ---- */

static void add_spans(const Job *job, const RsTraceTimelineRing *ring, GHashTable *by_tag)
{
	g_autofree guint64 *ns = g_new(guint64, STEP + 1);
	g_autofree guint32 *tags = g_new(guint32, STEP + 1);
	guint64 index;
	guint n;

	rs_trace_timeline_lock(job->timeline);
	index = rs_trace_series_rank(ring->tasks, job->from + 1);
	rs_trace_timeline_unlock(job->timeline);
	index -= index > 0;
	do {
		rs_trace_timeline_lock(job->timeline);
		n = rs_trace_series_read(ring->tasks, index, STEP + 1, ns, tags);
		rs_trace_timeline_unlock(job->timeline);
		for (guint i = 0; i < MIN(n, STEP); i++) {
			guint64 from = MAX(ns[i], job->from);
			guint64 until = MIN(i + 1 < n ? ns[i + 1] : G_MAXUINT64, job->until);
			guint64 *sum = g_hash_table_lookup(by_tag, GUINT_TO_POINTER(tags[i]));

			if (until <= from || tags[i] == RS_TRACE_TASK_TAG_IDLE)
				continue;
			if (!sum) {
				sum = g_new0(guint64, 1);
				g_hash_table_insert(by_tag, GUINT_TO_POINTER(tags[i]), sum);
			}
			*sum += until - from;
		}
		index += STEP;
	} while (n > STEP && ns[STEP] < job->until);
}

static gint longer_first(gconstpointer a, gconstpointer b)
{
	const RsTraceMeasureTask *x = a, *y = b;

	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

static void measure_tasks(const Job *job, RsTraceMeasure *out)
{
	g_autoptr(GHashTable) by_tag = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	const RsTraceTimelineRing *ring;
	GHashTableIter iter;
	gpointer tag, sum;

	for (guint i = 0;; i++) {
		const RsTraceTimelineSource *source;

		rs_trace_timeline_lock(job->timeline);
		ring = rs_trace_timeline_ring(job->timeline, i);
		source = ring ? rs_trace_timeline_source_of(job->timeline, ring->source) : NULL;
		rs_trace_timeline_unlock(job->timeline);
		if (!ring)
			break;
		if (source && !source->has_vcpus)
			continue;
		out->vcpu_ns += job->until - job->from;
		add_spans(job, ring, by_tag);
	}
	rs_trace_timeline_lock(job->timeline);
	g_hash_table_iter_init(&iter, by_tag);
	while (g_hash_table_iter_next(&iter, &tag, &sum)) {
		RsTraceMeasureTask task = {
			rs_trace_timeline_task_of_tag(job->timeline, GPOINTER_TO_UINT(tag)),
			*(guint64 *)sum};

		g_array_append_val(out->tasks, task);
	}
	rs_trace_timeline_unlock(job->timeline);
	g_array_sort(out->tasks, longer_first);
}

/* ---- losses ---- */

/* The ring's next ones from *at on that lie in the stretch, and its source. 0: no more. */
static guint read_losses(const Job *job, guint number, guint *at, RsTraceTimelineLoss *out,
			 const RsTraceTimelineRing **ring, const RsTraceTimelineSource **source)
{
	guint n = 0;

	rs_trace_timeline_lock(job->timeline);
	*ring = rs_trace_timeline_ring(job->timeline, number);
	if (*ring) {
		const GArray *losses = (*ring)->losses;
		const guint until = rs_trace_timeline_loss_rank(*ring, job->until);

		*source = rs_trace_timeline_source_of(job->timeline, (*ring)->source);
		*at = MAX(*at, rs_trace_timeline_loss_rank(*ring, job->from));
		n = MIN(LOSSES, until - MIN(*at, until));
		for (guint i = 0; i < n; i++)
			out[i] = g_array_index(losses, RsTraceTimelineLoss, (*at)++);
	}
	rs_trace_timeline_unlock(job->timeline);
	return n;
}

static void add_loss(const RsTraceTimelineLoss *loss, const RsTraceTimelineRing *ring,
		     const RsTraceTimelineSource *source, RsTraceStat *stat)
{
	const RsTraceTask nobody = {.comm = ""};
	const RsTraceRecord record = {
		.kind = RS_TRACE_RECORD_LOSS,
		.lost = loss->lost,
		.ns = loss->own_ns,
		.sorted_ns = loss->ns,
		.ring = (guint16)ring->ring,
	};

	rs_trace_stat_add(
		stat, &(RsTraceSample){&record, &nobody, source ? source->name : "", ring->source});
}

/*
 * The timeline's: who begins in the middle of a file sees others, as what a ring lost before its
 * first page there.
 */
static void add_losses(const Job *job, RsTraceStat *stat)
{
	g_autofree RsTraceTimelineLoss *losses = g_new(RsTraceTimelineLoss, LOSSES);
	const RsTraceTimelineRing *ring;
	const RsTraceTimelineSource *source;
	guint number = 0;

	do {
		guint at = 0, n;

		while ((n = read_losses(job, number, &at, losses, &ring, &source)))
			for (guint i = 0; i < n; i++)
				add_loss(&losses[i], ring, source, stat);
		number++;
	} while (ring);
}

/* ---- the records ---- */

static void fold_stacks(const RsTraceStacks *stacks, RsTraceMeasure *out)
{
	g_autoptr(GArray) rows = rs_trace_stacks_result(stacks);

	for (guint i = 0; i < rows->len; i++) {
		const RsTraceStacksRow *row = &g_array_index(rows, RsTraceStacksRow, i);

		rs_trace_flame_add_folded(out->stacks, row->folded, row->count);
		out->n_stacks += row->count;
	}
}

static void add_record(RsTraceMeasure *out, RsTraceStacks *stacks, const RsTraceRecord *record,
		       const RsTraceTask *task)
{
	const RsTraceSample item = {record, task, record->origin->name ? record->origin->name : "",
				    record->origin->index};

	if (record->kind != RS_TRACE_RECORD_LOSS)
		rs_trace_stat_add(out->stat, &item);
	if (out->latency)
		rs_trace_latency_add(out->latency, &item);
	rs_trace_flame_add(out->slices, &item);
	if (record->n_stack)
		rs_trace_stacks_add(stacks, &item);
}

static gboolean read_records(GTask *task, Job *job, RsTraceSelection *selection,
			     RsTraceMeasure *out, GError **error)
{
	GCancellable *cancellable = g_task_get_cancellable(task);
	g_autoptr(RsTraceReader) reader = rs_trace_files_read(job->files, cancellable, error);
	g_autoptr(RsTraceStacks) stacks = rs_trace_stacks_new();
	const RsTraceRecord *record;
	g_autoptr(GError) damage = NULL;
	guint64 last = job->from;

	if (!reader || !rs_trace_reader_seek(reader, job->from, cancellable, error))
		return FALSE;
	for (guint i = 0; (record = rs_trace_reader_next(reader, cancellable, &damage)); i++) {
		const RsTraceTask *who;

		if (record->sorted_ns >= job->until)
			break;
		last = record->sorted_ns;
		if (i % STEP == 0)
			tell_progress(task, job, last);
		who = rs_trace_reader_task(reader);
		if (rs_trace_selection_matches(selection, record, who))
			add_record(out, stacks, record, who);
	}
	/* What comes before the damage counts: the document says that it is damaged. */
	if (g_error_matches(damage, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
		g_propagate_error(error, g_steal_pointer(&damage));
		return FALSE;
	}
	add_losses(job, out->stat);
	rs_trace_stat_set_span(out->stat, job->from, job->until);
	rs_trace_flame_end(out->slices, record ? job->until : last);
	fold_stacks(stacks, out);
	return TRUE; /* what a filter lacks, the document says */
}

static void work(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	Job *job = data;
	GError *error = NULL;
	g_autoptr(RsTraceSelection) selection =
		rs_trace_wish_select((const char *const *)job->filters, &error);
	g_autoptr(RsTraceMeasure) out = g_new0(RsTraceMeasure, 1);

	out->from = job->from;
	out->until = job->until;
	out->timeline = rs_trace_timeline_ref(job->timeline);
	out->stat = rs_trace_stat_new();
	out->tasks = g_array_new(FALSE, FALSE, sizeof(RsTraceMeasureTask));
	if (!error)
		out->slices = rs_trace_flame_new(NULL, &error);
	if (!error)
		out->stacks = rs_trace_flame_new(NULL, &error);
	if (!error && job->pair)
		out->latency = rs_trace_latency_new(job->pair, job->key, &error);
	if (!error && read_records(task, job, selection, out, &error)) {
		measure_tasks(job, out);
		g_task_return_pointer(task, g_steal_pointer(&out),
				      (GDestroyNotify)rs_trace_measure_free);
		return;
	}
	g_task_return_error(task, error);
}

/* What is wanted beyond the trace is not there: nobody knows who had a vCPU then. */
static void bound(Job *job, guint64 from, guint64 until)
{
	guint64 first, end;

	rs_trace_timeline_lock(job->timeline);
	rs_trace_timeline_span(job->timeline, &first, &end);
	rs_trace_timeline_unlock(job->timeline);
	job->from = from;
	job->until = MAX(MIN(until, end), from + 1);
}

void rs_trace_document_measure_async(RsTraceDocument *document, const RsTraceMeasureConfig *config,
				     GCancellable *cancellable, RsTraceMeasureProgress progress,
				     GAsyncReadyCallback done, gpointer data)
{
	/* Without a source: that would end in the thread if it is the last that has the task. */
	g_autoptr(GTask) task = g_task_new(NULL, cancellable, done, data);
	Job *job = g_new0(Job, 1);

	job->files = rs_trace_files_ref(rs_trace_document_files(document));
	job->timeline = rs_trace_timeline_ref(rs_trace_document_all(document));
	bound(job, config->from, config->until);
	job->filters = g_strdupv((char **)config->filters);
	job->pair = g_strdup(config->pair);
	job->key = g_strdup(config->key);
	job->progress = progress;
	job->data = data;
	g_task_set_source_tag(task, rs_trace_document_measure_async);
	g_task_set_task_data(task, job, job_free);
	g_task_run_in_thread(task, work);
}

RsTraceMeasure *rs_trace_document_measure_finish(GAsyncResult *result, GError **error)
{
	return g_task_propagate_pointer(G_TASK(result), error);
}
