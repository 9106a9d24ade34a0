/* SPDX-License-Identifier: MIT */
#include "rs-trace-listener-private.h"
#include "rs-trace-kept.h"

#include <fcntl.h>
#include <gio/gunixoutputstream.h>
#include <glib/gi18n.h>
#include <rs-trace-client.h>
#include <rs-trace-escape.h>
#include <rs-trace-follower.h>
#include <rs-trace-live.h>
#include <rs-trace-pump.h>
#include <rs-trace-recorder.h>
#include <rs-trace-tee.h>
#include <rs-trace-watch.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_MS 5000u
#define WINDOW_MS 20u  /* who wants a row reads some three windows for it */
#define INTERVAL 20000 /* us after which what came is shown */
#define REMARKS_MAX 64u

struct _RsTraceListener {
	gatomicrefcount refs; /* the owner's and the thread's */
	char *session;
	RsTraceFiles *files;
	RsTraceTimeline *timeline;
	RsTracePulse *pulse;
	GCancellable *cancellable;
	GMainContext *context;
	GMainLoop *loop;
	GMutex lock;
	RsTraceLoaderStatus status;
	GPtrArray *remarks;          /* char *; under the lock */
	GDBusConnection *connection; /* under the lock */

	/* Of the thread: */
	RsTracePump *pump;     /* NULL: no source came so far */
	RsTraceSink *recorder; /* the pump's */
	GPtrArray *infos;      /* struct rs_file_source, of all that came */
	gboolean begun;        /* the sources that were there have been told */
	gboolean reads;
	gboolean over;       /* nothing is waited for any more */
	gboolean has_failed; /* so it is because of the file, which was said */

	/* Of the pump's thread: */
	guint64 origin_ns;
	gint64 shown;
};

static void unref(RsTraceListener *listener)
{
	if (!g_atomic_ref_count_dec(&listener->refs))
		return;
	g_free(listener->session);
	rs_trace_files_unref(listener->files);
	rs_trace_timeline_unref(listener->timeline);
	rs_trace_pulse_unref(listener->pulse);
	g_object_unref(listener->cancellable);
	g_main_loop_unref(listener->loop);
	g_main_context_unref(listener->context);
	g_clear_object(&listener->connection);
	g_clear_error(&listener->status.error);
	g_ptr_array_unref(listener->remarks);
	g_ptr_array_unref(listener->infos);
	g_mutex_clear(&listener->lock);
	g_free(listener);
}

/* ---- what is to be said ---- */

/* Takes `text` over. A guest can panic as often as it likes. */
static void remark(RsTraceListener *listener, char *text)
{
	g_mutex_lock(&listener->lock);
	if (listener->remarks->len < REMARKS_MAX)
		g_ptr_array_add(listener->remarks, text);
	else
		g_free(text);
	g_mutex_unlock(&listener->lock);
	rs_trace_pulse_beat(listener->pulse);
}

/* Also before the loop runs, which a watch calls at once with what is there. */
static void stop(RsTraceListener *listener)
{
	listener->over = TRUE;
	g_main_loop_quit(listener->loop);
}

/* Takes `error` over. */
static void fail(RsTraceListener *listener, GError *error)
{
	g_mutex_lock(&listener->lock);
	if (listener->status.error)
		g_error_free(error);
	else
		listener->status.error = error;
	g_mutex_unlock(&listener->lock);
	stop(listener);
}

static void on_panicked(const char *name, gpointer data)
{
	g_autofree char *escaped = rs_trace_escape(name, -1, NULL);

	remark(data, g_strdup_printf(_("The kernel of %s has panicked."), escaped));
}

static void on_over(const RsTraceWatchEnd *end, gpointer data)
{
	RsTraceListener *listener = data;

	if (end) {
		g_autofree char *source = rs_trace_escape(end->source, -1, NULL);
		g_autofree char *reason = rs_trace_escape(end->reason, -1, NULL);
		g_autofree char *text = rs_trace_escape(end->text, -1, NULL);

		remark(listener, g_strdup_printf(_("The session has ended. %s: %s%s%s"),
						 *source ? source : listener->session, reason,
						 *text ? ": " : "", text));
	} else {
		remark(listener, g_strdup(_("The session has gone away.")));
	}
	stop(listener);
}

/* ---- the pump's thread ---- */

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	RsTraceListener *listener = data;

	rs_trace_timeline_take(listener->timeline, record,
			       rs_trace_timeline_wants_task(listener->timeline, record) ? task
											: NULL);
}

static gboolean on_round(gpointer data)
{
	RsTraceListener *listener = data;
	const gint64 now = g_get_monotonic_time();
	const guint64 now_ns = (guint64)now * 1000;

	if (now - listener->shown < INTERVAL)
		return TRUE;
	listener->shown = now;
	rs_trace_timeline_set_end(listener->timeline, now_ns - MIN(now_ns, listener->origin_ns));
	rs_trace_timeline_flush(listener->timeline);
	rs_trace_pulse_beat(listener->pulse);
	return TRUE;
}

static void describe(gpointer source, struct rs_file_source *out, gpointer data)
{
	*out = *(const struct rs_file_source *)source;
}

/* ---- sources ---- */

static void take_wall_time(RsTraceListener *listener, RsTraceWriterConfig *file)
{
	const guint64 mono = (guint64)g_get_monotonic_time() * 1000;

	file->wall_ns = (guint64)g_get_real_time() * 1000 - (mono - file->origin_ns);
	g_mutex_lock(&listener->lock);
	listener->status.wall_ns = file->wall_ns;
	g_mutex_unlock(&listener->lock);
}

/*
 * Half of what is free on the file's disk: a view that is left open does not take the rest from the
 * others. 0: it is not known.
 */
static guint64 find_room(int fd)
{
	struct statvfs disk;

	if (fstatvfs(fd, &disk) < 0)
		return 0;
	return MAX((guint64)disk.f_bavail * disk.f_frsize / 2, RS_TRACE_WRITER_MIN);
}

static RsTraceSink *make_recorder(RsTraceListener *listener, const struct rs_region_header *header,
				  GError **error)
{
	RsTraceRecorderConfig config = {
		.file.origin_ns = header->origin_ns,
		.describe = describe,
		.window_ms = WINDOW_MS,
	};
	int fd = rs_trace_kept_new(error), out;
	g_autoptr(GOutputStream) stream = NULL;
	RsTraceSink *recorder;

	if (fd < 0)
		return NULL;
	out = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (out < 0) {
		g_set_error_literal(error, G_IO_ERROR, g_io_error_from_errno(errno),
				    g_strerror(errno));
		close(fd);
		return NULL;
	}
	take_wall_time(listener, &config.file);
	config.max_bytes = find_room(fd);
	stream = g_unix_output_stream_new(out, TRUE);
	config.stream = stream;
	recorder = rs_trace_recorder_new(&config, error);
	if (recorder)
		rs_trace_files_take(listener->files, fd);
	else
		close(fd);
	return recorder;
}

/* Once the pump has finished: whether all of its file could be written. If not, it says so. */
static gboolean check_file(RsTraceListener *listener)
{
	RsTraceRecorderStats stats;
	GError *error = NULL;

	if (!rs_trace_recorder_result(listener->recorder, &stats, &error)) {
		g_prefix_error(&error, "%s ",
			       _("The view has ended, and the session goes on: the file of the "
				 "view cannot be written."));
		listener->has_failed = TRUE;
		fail(listener, error);
		return FALSE;
	}
	if (stats.full) {
		g_autofree char *size = g_format_size(stats.bytes);

		remark(listener,
		       g_strdup_printf(_("The view has ended, and the session goes on: the file of "
					 "the view has %s, half of what was free on its disk."),
				       size));
		listener->has_failed = TRUE;
		stop(listener);
	}
	return !stats.full;
}

/* If its file is good, its sources have ended, perhaps before the watch hears of that. */
static void on_done(gpointer data)
{
	RsTraceListener *listener = data;

	if (!listener->pump || g_cancellable_is_cancelled(listener->cancellable))
		return;
	rs_trace_pump_finish(listener->pump);
	if (check_file(listener))
		rs_trace_pulse_beat(listener->pulse);
}

/* The first source tells the origin of time, which all of them share. */
static gboolean make_pump(RsTraceListener *listener, const struct rs_region_header *header,
			  GError **error)
{
	const RsTraceFollowerConfig follower = {
		.record = on_record,
		.round = on_round,
		.describe = describe,
		.data = listener,
		.origin_ns = header->origin_ns,
		/* The window of the file that is not over yet ends within that time. */
		.ahead_ns = (guint64)WINDOW_MS * 1000000,
	};
	RsTraceSink *recorder = make_recorder(listener, header, error);

	if (!recorder)
		return FALSE;
	listener->origin_ns = header->origin_ns;
	listener->recorder = recorder;
	listener->pump = rs_trace_pump_new(&(RsTracePumpConfig){
		.sink = rs_trace_tee_new(recorder, rs_trace_follower_new(&follower)),
		.done = on_done,
		.data = listener,
	});
	return TRUE;
}

static void start(RsTraceListener *listener)
{
	if (!listener->pump || !listener->begun || listener->reads)
		return;
	listener->reads = TRUE;
	rs_trace_pump_start(listener->pump);
}

static gint add_source(RsTraceListener *listener, const RsTraceClientSource *source,
		       const struct rs_region_header *header, RsTraceSource *pages)
{
	struct rs_file_source *info = g_new0(struct rs_file_source, 1);
	guint number;

	info->number = source->number;
	info->machine = source->machine;
	info->session_id = header->session_id;
	g_strlcpy(info->name, source->name, sizeof(info->name));
	g_strlcpy(info->kind, source->kind, sizeof(info->kind));
	g_ptr_array_add(listener->infos, info);
	number = rs_trace_pump_add(listener->pump, pages, info);
	start(listener);
	return (gint)number;
}

static gint on_come(const RsTraceClientSource *source, RsTraceRegion *region, RsTraceFrom from,
		    gpointer data)
{
	RsTraceListener *listener = data;
	const struct rs_region_header header = region->header;
	GError *error = NULL;
	RsTraceSource *pages =
		rs_trace_live_new_take(region, from, rs_trace_live_flags(source->joined), &error);

	if (!pages) {
		g_autofree char *name = rs_trace_escape(source->name, -1, NULL);

		remark(listener, g_strdup_printf("%s: %s", name, error->message));
		g_error_free(error);
		return -1;
	}
	if (!listener->pump && !make_pump(listener, &header, &error)) {
		pages->ops->free(pages);
		fail(listener, error);
		return -1;
	}
	return add_source(listener, source, &header, pages);
}

static void on_gone(gint number, gpointer data)
{
	rs_trace_pump_end(((RsTraceListener *)data)->pump, (guint)number);
}

/* ---- its thread ---- */

static void set_connection(RsTraceListener *listener, GDBusConnection *connection)
{
	g_mutex_lock(&listener->lock);
	g_set_object(&listener->connection, connection);
	g_mutex_unlock(&listener->lock);
	rs_trace_pulse_beat(listener->pulse);
}

static void follow(RsTraceListener *listener, RsDBusSession1 *session)
{
	const RsTraceWatchConfig config = {
		.come = on_come,
		.gone = on_gone,
		.panicked = on_panicked,
		.over = on_over,
		.data = listener,
	};
	RsTraceWatch *watch;

	set_connection(listener, g_dbus_proxy_get_connection(G_DBUS_PROXY(session)));
	watch = rs_trace_watch_new(session, RS_TRACE_FROM_OLDEST, &config);
	listener->begun = TRUE;
	start(listener);
	if (!listener->over && !g_cancellable_is_cancelled(listener->cancellable))
		g_main_loop_run(listener->loop);
	rs_trace_watch_free(watch);
	if (!listener->has_failed) /* else the session goes on */
		set_connection(listener, NULL);
}

/* What the session's last moments left is still read, unless nobody wants it. */
static void finish(RsTraceListener *listener)
{
	if (listener->pump && g_cancellable_is_cancelled(listener->cancellable)) {
		rs_trace_pump_stop(listener->pump);
	} else if (listener->pump && !listener->has_failed) {
		rs_trace_pump_finish(listener->pump);
		check_file(listener);
	}
	g_clear_pointer(&listener->pump, rs_trace_pump_free);
	rs_trace_timeline_set_end(listener->timeline, 0);
	rs_trace_timeline_flush(listener->timeline);
	rs_trace_files_fail(listener->files); /* if no source came */
	rs_trace_files_end(listener->files);
	g_mutex_lock(&listener->lock);
	listener->status.has_ended = TRUE;
	listener->status.progress = 1;
	g_mutex_unlock(&listener->lock);
	rs_trace_pulse_beat(listener->pulse);
}

static gpointer work(gpointer data)
{
	RsTraceListener *listener = data;
	GError *error = NULL;
	RsDBusSession1 *session;

	g_main_context_push_thread_default(listener->context);
	rs_trace_live_guard();
	session = rs_trace_client_connect_within(listener->session, CONNECT_MS, &error);
	if (session)
		follow(listener, session);
	else
		fail(listener, error);
	g_clear_object(&session);
	finish(listener);
	g_main_context_pop_thread_default(listener->context);
	unref(listener);
	return NULL;
}

/* ---- its owner ---- */

RsTraceListener *rs_trace_listener_new(const char *session, RsTraceFiles *files,
				       RsTraceTimeline *timeline, RsTracePulse *pulse)
{
	RsTraceListener *listener = g_new0(RsTraceListener, 1);

	g_atomic_ref_count_init(&listener->refs);
	listener->session = g_strdup(session);
	listener->files = rs_trace_files_ref(files);
	listener->timeline = rs_trace_timeline_ref(timeline);
	listener->pulse = rs_trace_pulse_ref(pulse);
	listener->cancellable = g_cancellable_new();
	listener->context = g_main_context_new();
	listener->loop = g_main_loop_new(listener->context, FALSE);
	listener->status.progress = -1;
	listener->remarks = g_ptr_array_new_with_free_func(g_free);
	listener->infos = g_ptr_array_new_with_free_func(g_free);
	g_mutex_init(&listener->lock);
	g_atomic_ref_count_inc(&listener->refs);
	g_thread_unref(g_thread_new("listen", work, listener));
	return listener;
}

static gboolean quit(gpointer data)
{
	g_main_loop_quit(data);
	return G_SOURCE_REMOVE;
}

void rs_trace_listener_free(RsTraceListener *listener)
{
	g_autoptr(GSource) source = NULL;

	if (!listener)
		return;
	g_cancellable_cancel(listener->cancellable);
	/* By a source: it may be about to run, and has not begun to. */
	source = g_idle_source_new();
	g_source_set_priority(source, G_PRIORITY_DEFAULT);
	g_source_set_callback(source, quit, g_main_loop_ref(listener->loop),
			      (GDestroyNotify)g_main_loop_unref);
	g_source_attach(source, listener->context);
	unref(listener);
}

void rs_trace_listener_status(RsTraceListener *listener, RsTraceLoaderStatus *out)
{
	g_mutex_lock(&listener->lock);
	*out = listener->status;
	out->error = out->error ? g_error_copy(out->error) : NULL;
	out->remarks = g_new0(char *, listener->remarks->len + 1);
	for (guint i = 0; i < listener->remarks->len; i++)
		out->remarks[i] = g_strdup(listener->remarks->pdata[i]);
	g_mutex_unlock(&listener->lock);
}

GDBusConnection *rs_trace_listener_connection(RsTraceListener *listener)
{
	GDBusConnection *connection;

	g_mutex_lock(&listener->lock);
	connection = listener->connection ? g_object_ref(listener->connection) : NULL;
	g_mutex_unlock(&listener->lock);
	return connection;
}
