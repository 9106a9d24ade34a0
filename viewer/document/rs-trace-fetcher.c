/* SPDX-License-Identifier: MIT */
#include "rs-trace-fetcher-private.h"
#include "rs-trace-wanted-private.h"

#define FAR 16384u  /* records that are read for nothing before a seek is tried */
#define LATE 65536u /* records after which a row whose time is past does not come */
#define STEP 1024u  /* records between looks at who cancels */
/* So often, and after so many us, a row is looked for again that is still to be written. */
#define TRIES 20u
#define AGAIN 50000

struct _RsTraceFetcher {
	gatomicrefcount refs; /* the owner's and the thread's */
	RsTraceFiles *files;
	GCancellable *cancellable;
	GMutex lock;
	GCond changed;
	GQueue requests; /* Request, the newest first */

	/* Of the thread: */
	RsTraceReader *reader; /* NULL: none */
	RsTraceHeads *heads;
	const RsTraceRecord *held; /* it was handed out, and not looked at */
	guint64 passed;            /* all records before this time were looked at */
	gboolean has_begun;        /* there was a seek, and no end since */
	guint64 size;              /* of the files when they were opened */
};

typedef struct {
	GTask *task;
	RsTraceWanted *wanted;
	guint tries;
	gint64 due; /* monotonic us: not before, it is looked for again */
} Request;

/* ---- requests ---- */

/* A task's end, and with it that of what it refers to, is the main thread's. */
typedef struct {
	GTask *task;
	GPtrArray *rows; /* NULL: it was cancelled, or there are none any more */
} Answer;

static gboolean give(gpointer data)
{
	Answer *answer = data;

	if (answer->rows)
		g_task_return_pointer(answer->task, g_steal_pointer(&answer->rows),
				      (GDestroyNotify)g_ptr_array_unref);
	else
		g_task_return_new_error(answer->task, G_IO_ERROR, G_IO_ERROR_CANCELLED,
					"the trace was closed");
	return G_SOURCE_REMOVE;
}

static void answer_free(gpointer data)
{
	Answer *answer = data;

	g_object_unref(answer->task);
	g_clear_pointer(&answer->rows, g_ptr_array_unref);
	g_free(answer);
}

/* Frees the request. */
static void answer(Request *request, gboolean is_done)
{
	Answer *answer = g_new0(Answer, 1);
	g_autoptr(GSource) source = g_idle_source_new();

	answer->task = request->task;
	if (is_done)
		answer->rows = rs_trace_wanted_end(request->wanted);
	g_source_set_priority(source, G_PRIORITY_DEFAULT);
	g_source_set_callback(source, give, answer, answer_free);
	g_source_attach(source, g_task_get_context(request->task));
	rs_trace_wanted_free(request->wanted);
	g_free(request);
}

static void unref(RsTraceFetcher *fetcher)
{
	if (!g_atomic_ref_count_dec(&fetcher->refs))
		return;
	rs_trace_files_unref(fetcher->files);
	g_object_unref(fetcher->cancellable);
	rs_trace_heads_free(fetcher->heads);
	g_cond_clear(&fetcher->changed);
	g_mutex_clear(&fetcher->lock);
	g_free(fetcher);
}

/* ---- its thread: places ---- */

static void close_reader(RsTraceFetcher *fetcher)
{
	g_clear_object(&fetcher->reader);
	fetcher->held = NULL;
	fetcher->has_begun = FALSE;
}

static gboolean go_to(RsTraceFetcher *fetcher, RsTraceWanted *wanted, guint64 ns)
{
	/* A reader knows only windows that were there when it first went to a place. */
	if (rs_trace_files_size(fetcher->files) > fetcher->size)
		close_reader(fetcher);
	if (!fetcher->reader) {
		fetcher->size = rs_trace_files_size(fetcher->files);
		fetcher->reader = rs_trace_files_read(fetcher->files, fetcher->cancellable, NULL);
	}
	if (!fetcher->reader)
		return FALSE;
	if (!rs_trace_reader_seek(fetcher->reader, ns, fetcher->cancellable, NULL)) {
		close_reader(fetcher);
		return FALSE;
	}
	fetcher->held = NULL;
	fetcher->passed = 0;
	fetcher->has_begun = TRUE;
	rs_trace_heads_clear(fetcher->heads);
	rs_trace_wanted_begin(wanted);
	return TRUE;
}

/* The next record that nobody has looked at. */
static const RsTraceRecord *next(RsTraceFetcher *fetcher)
{
	const RsTraceRecord *record = g_steal_pointer(&fetcher->held);

	if (!record)
		record = rs_trace_reader_next(fetcher->reader, fetcher->cancellable, NULL);
	if (!record)
		fetcher->has_begun = FALSE;
	return record;
}

/* ---- its thread: rows ---- */

static gboolean is_cancelled(const RsTraceFetcher *fetcher, const Request *request)
{
	return g_cancellable_is_cancelled(fetcher->cancellable) ||
	       g_cancellable_is_cancelled(g_task_get_cancellable(request->task));
}

/* What is to be done every so many records. FALSE: to be read on elsewhere, or not at all. */
static gboolean look_around(RsTraceFetcher *fetcher, Request *request, guint64 *ns, guint *vain)
{
	const guint64 before = *ns;

	if (is_cancelled(fetcher, request))
		return FALSE;
	if (*vain >= LATE)
		rs_trace_wanted_pass(request->wanted, fetcher->passed);
	if (!rs_trace_wanted_next(request->wanted, ns))
		return FALSE;
	if (*ns != before)
		*vain = 0;
	return *vain < FAR || *ns <= fetcher->passed;
}

/*
 * Looks at records until all rows are found, or the next one is too far. A ring whose clock goes
 * back may have its part of a moment later than others.
 */
static void read_on(RsTraceFetcher *fetcher, Request *request, guint64 ns)
{
	const guint64 last = rs_trace_wanted_last(request->wanted);
	const RsTraceRecord *record;
	guint vain = 0;

	while ((record = next(fetcher))) {
		if (record->sorted_ns > last && rs_trace_wanted_is_done(request->wanted)) {
			fetcher->held = record;
			return;
		}
		rs_trace_wanted_take(request->wanted, fetcher->reader, record,
				     rs_trace_heads_take(fetcher->heads, record));
		fetcher->passed = MAX(fetcher->passed, record->sorted_ns);
		if (++vain % STEP == 0 && !look_around(fetcher, request, &ns, &vain))
			return;
	}
	rs_trace_wanted_pass(request->wanted, G_MAXUINT64);
}

static void search(RsTraceFetcher *fetcher, Request *request)
{
	gboolean again = FALSE;
	guint64 ns;

	while (!is_cancelled(fetcher, request) && rs_trace_wanted_next(request->wanted, &ns)) {
		if ((again || !fetcher->has_begun || ns <= fetcher->passed) &&
		    !go_to(fetcher, request->wanted, ns))
			return;
		read_on(fetcher, request, ns);
		again = TRUE;
	}
}

/* Whether rows that were not found may be in what is written meanwhile, or was. */
static gboolean has_more(RsTraceFetcher *fetcher, const Request *request)
{
	return request->tries < TRIES && (!rs_trace_files_have_ended(fetcher->files) ||
					  rs_trace_files_size(fetcher->files) > fetcher->size);
}

/* Others come first meanwhile. Files that have ended have all that there will be. */
static void put_off(RsTraceFetcher *fetcher, Request *request)
{
	request->tries++;
	if (!rs_trace_files_have_ended(fetcher->files))
		request->due = g_get_monotonic_time() + AGAIN;
	close_reader(fetcher);
	g_mutex_lock(&fetcher->lock);
	g_queue_push_tail(&fetcher->requests, request);
	g_mutex_unlock(&fetcher->lock);
}

static void serve(RsTraceFetcher *fetcher, Request *request)
{
	search(fetcher, request);
	if (is_cancelled(fetcher, request))
		answer(request, FALSE);
	else if (rs_trace_wanted_again(request->wanted) && has_more(fetcher, request))
		put_off(fetcher, request);
	else
		answer(request, TRUE);
}

/* The first request that is due, or was cancelled. NULL: none, and *due is when the next one is. */
static Request *take_due(RsTraceFetcher *fetcher, gint64 *due)
{
	const gint64 now = g_get_monotonic_time();

	*due = G_MAXINT64;
	for (GList *link = fetcher->requests.head; link; link = link->next) {
		Request *request = link->data;

		if (request->due <= now || is_cancelled(fetcher, request)) {
			g_queue_delete_link(&fetcher->requests, link);
			return request;
		}
		*due = MIN(*due, request->due);
	}
	return NULL;
}

/* NULL: the end. */
static Request *take(RsTraceFetcher *fetcher)
{
	Request *request = NULL;
	gint64 due;

	g_mutex_lock(&fetcher->lock);
	while (!g_cancellable_is_cancelled(fetcher->cancellable) &&
	       !(request = take_due(fetcher, &due))) {
		if (due == G_MAXINT64)
			g_cond_wait(&fetcher->changed, &fetcher->lock);
		else
			g_cond_wait_until(&fetcher->changed, &fetcher->lock, due);
	}
	g_mutex_unlock(&fetcher->lock);
	return request;
}

static gpointer work(gpointer data)
{
	RsTraceFetcher *fetcher = data;
	Request *request;

	while ((request = take(fetcher)))
		serve(fetcher, request);
	close_reader(fetcher);
	g_mutex_lock(&fetcher->lock);
	while ((request = g_queue_pop_head(&fetcher->requests)))
		answer(request, FALSE);
	g_mutex_unlock(&fetcher->lock);
	unref(fetcher);
	return NULL;
}

/* ---- its owner ---- */

RsTraceFetcher *rs_trace_fetcher_new(RsTraceFiles *files)
{
	RsTraceFetcher *fetcher = g_new0(RsTraceFetcher, 1);

	g_atomic_ref_count_init(&fetcher->refs);
	g_mutex_init(&fetcher->lock);
	g_cond_init(&fetcher->changed);
	g_queue_init(&fetcher->requests);
	fetcher->files = rs_trace_files_ref(files);
	fetcher->cancellable = g_cancellable_new();
	fetcher->heads = rs_trace_heads_new();
	g_atomic_ref_count_inc(&fetcher->refs);
	g_thread_unref(g_thread_new("fetch", work, fetcher));
	return fetcher;
}

void rs_trace_fetcher_free(RsTraceFetcher *fetcher)
{
	if (!fetcher)
		return;
	g_cancellable_cancel(fetcher->cancellable);
	g_mutex_lock(&fetcher->lock);
	g_cond_broadcast(&fetcher->changed);
	g_mutex_unlock(&fetcher->lock);
	unref(fetcher);
}

void rs_trace_fetcher_read(RsTraceFetcher *fetcher, GTask *task, const RsTraceTimeline *timeline,
			   RsTraceSelection *selection, const RsTraceTimelineRow *rows, guint n,
			   gboolean with_details)
{
	Request *request = g_new0(Request, 1);

	request->task = task;
	request->wanted = rs_trace_wanted_new(timeline, selection, rows, n, with_details);
	g_mutex_lock(&fetcher->lock);
	g_queue_push_head(&fetcher->requests, request);
	g_cond_broadcast(&fetcher->changed);
	g_mutex_unlock(&fetcher->lock);
}
