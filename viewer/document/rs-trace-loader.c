/* SPDX-License-Identifier: MIT */
#include "rs-trace-loader-private.h"

#include <malloc.h>

#define STEP 64u       /* records between looks at the clock */
#define INTERVAL 20000 /* us after which what was taken is shown */

struct _RsTraceLoader {
	gatomicrefcount refs; /* the owner's and the thread's */
	GStrv paths;
	RsTraceFiles *files;
	RsTraceTimeline *timeline;
	RsTracePulse *pulse;
	GCancellable *cancellable;
	GMutex lock;
	RsTraceLoaderStatus status;
};

static void unref(RsTraceLoader *loader)
{
	if (!g_atomic_ref_count_dec(&loader->refs))
		return;
	g_strfreev(loader->paths);
	rs_trace_files_unref(loader->files);
	rs_trace_timeline_unref(loader->timeline);
	rs_trace_pulse_unref(loader->pulse);
	g_object_unref(loader->cancellable);
	g_clear_error(&loader->status.error);
	g_strfreev(loader->status.remarks);
	g_mutex_clear(&loader->lock);
	g_free(loader);
}

/* ---- its thread ---- */

static void show(RsTraceLoader *loader, RsTraceReader *reader)
{
	guint64 done, total;

	rs_trace_timeline_flush(loader->timeline);
	rs_trace_reader_progress(reader, &done, &total);
	g_mutex_lock(&loader->lock);
	loader->status.progress = total ? MIN((double)done / (double)total, 1) : -1;
	loader->status.wall_ns = rs_trace_reader_get_wall_time(reader);
	g_mutex_unlock(&loader->lock);
	rs_trace_pulse_beat(loader->pulse);
}

/* FALSE: there is no more, or `error` is set. */
static gboolean take_some(RsTraceLoader *loader, RsTraceReader *reader, GError **error)
{
	RsTraceTimeline *timeline = loader->timeline;

	for (guint i = 0; i < STEP; i++) {
		const RsTraceRecord *record =
			rs_trace_reader_next(reader, loader->cancellable, error);
		const RsTraceTask *task = NULL;

		if (!record)
			return FALSE;
		if (rs_trace_timeline_wants_task(timeline, record))
			task = rs_trace_reader_task(reader);
		rs_trace_timeline_take(timeline, record, task);
	}
	return !g_cancellable_set_error_if_cancelled(loader->cancellable, error);
}

static void take_all(RsTraceLoader *loader, RsTraceReader *reader, GError **error)
{
	gint64 shown = 0, now;

	while (take_some(loader, reader, error)) {
		now = g_get_monotonic_time();
		if (now - shown < INTERVAL)
			continue;
		show(loader, reader);
		shown = now;
	}
	show(loader, reader);
}

/* Takes `error` over. `reader` may be NULL. */
static void end(RsTraceLoader *loader, RsTraceReader *reader, GError *error)
{
	RsTraceLoaderStatus *status = &loader->status;

	rs_trace_files_end(loader->files);
	g_mutex_lock(&loader->lock);
	status->has_ended = TRUE;
	status->progress = 1;
	status->error = error;
	if (reader) {
		g_strfreev(status->remarks);
		status->remarks = rs_trace_reader_remarks(reader);
	}
	g_mutex_unlock(&loader->lock);
	rs_trace_pulse_beat(loader->pulse);
}

static gpointer work(gpointer data)
{
	RsTraceLoader *loader = data;
	GError *error = NULL;
	g_autoptr(RsTraceReader) reader = rs_trace_files_open(
		loader->files, (const char *const *)loader->paths, loader->cancellable, &error);

	if (reader)
		take_all(loader, reader, &error);
	end(loader, reader, error);
	g_clear_object(&reader);
	unref(loader);
	malloc_trim(0); /* a reader's blocks and pages lie between what the timeline keeps */
	return NULL;
}

/* ---- its owner ---- */

RsTraceLoader *rs_trace_loader_new(const char *const *paths, RsTraceFiles *files,
				   RsTraceTimeline *timeline, RsTracePulse *pulse)
{
	RsTraceLoader *loader = g_new0(RsTraceLoader, 1);

	g_atomic_ref_count_init(&loader->refs);
	loader->paths = g_strdupv((char **)paths);
	loader->files = rs_trace_files_ref(files);
	loader->timeline = rs_trace_timeline_ref(timeline);
	loader->pulse = rs_trace_pulse_ref(pulse);
	loader->cancellable = g_cancellable_new();
	loader->status.progress = -1;
	loader->status.remarks = g_new0(char *, 1);
	g_mutex_init(&loader->lock);
	g_atomic_ref_count_inc(&loader->refs);
	g_thread_unref(g_thread_new("load", work, loader));
	return loader;
}

void rs_trace_loader_free(RsTraceLoader *loader)
{
	if (!loader)
		return;
	g_cancellable_cancel(loader->cancellable);
	unref(loader);
}

void rs_trace_loader_status(RsTraceLoader *loader, RsTraceLoaderStatus *out)
{
	g_mutex_lock(&loader->lock);
	*out = loader->status;
	out->error = out->error ? g_error_copy(out->error) : NULL;
	out->remarks = g_strdupv(out->remarks);
	g_mutex_unlock(&loader->lock);
}
