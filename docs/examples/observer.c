/* SPDX-License-Identifier: MIT */
/*
 * observer SESSION: prints the events of all sources of a running session, until it ends. Programs
 * that join it meanwhile are shown too.
 *
 *     gcc -o observer observer.c $(pkg-config --cflags --libs libringside)
 */
#include <rs-trace-escape.h>
#include <rs-trace-follower.h>
#include <rs-trace-live.h>
#include <rs-trace-pump.h>
#include <rs-trace-text.h>
#include <rs-trace-watch.h>

typedef struct {
	GMainLoop *loop;
	RsTracePump *pump;
} Observer;

/* The records of all sources come here in the order of time, on the pump's thread. */
static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	g_autoptr(GString) line = g_string_new(NULL);

	rs_trace_text_line(line, record, task, RS_TRACE_TEXT_NONE);
	g_print("%s", line->str);
}

static gint on_come(const RsTraceClientSource *source, RsTraceRegion *region, RsTraceFrom from,
		    gpointer data)
{
	Observer *observer = data;
	g_autofree char *name = rs_trace_escape(source->name, -1, NULL);
	RsTraceSource *pages = rs_trace_live_new_take(region, from, RS_TRACE_LIVE_NONE, NULL);

	g_printerr("observer: %s comes\n", name);
	return pages ? (gint)rs_trace_pump_add(observer->pump, pages, NULL) : -1;
}

static void on_gone(gint number, gpointer data)
{
	Observer *observer = data;

	rs_trace_pump_end(observer->pump, (guint)number);
}

static void on_over(const RsTraceWatchEnd *end, gpointer data)
{
	Observer *observer = data;

	g_main_loop_quit(observer->loop);
}

int main(int argc, char **argv)
{
	const RsTraceFollowerConfig follower = {.record = on_record};
	const RsTracePumpConfig pump = {.sink = rs_trace_follower_new(&follower)};
	Observer observer = {g_main_loop_new(NULL, FALSE), rs_trace_pump_new(&pump)};
	const RsTraceWatchConfig config = {
		.come = on_come, .gone = on_gone, .over = on_over, .data = &observer};
	RsDBusSession1 *session;
	RsTraceWatch *watch;
	GError *error = NULL;

	if (argc != 2) {
		g_printerr("usage: observer SESSION (`ringside ps` lists them)\n");
		return 2;
	}
	rs_trace_live_guard(); /* memory that somebody cuts short does not end us */
	session = rs_trace_client_connect(argv[1], &error);
	if (!session) {
		g_printerr("observer: %s\n", error->message);
		return 1;
	}
	watch = rs_trace_watch_new(session, RS_TRACE_FROM_OLDEST, &config);
	rs_trace_pump_start(observer.pump);
	g_main_loop_run(observer.loop);
	rs_trace_pump_finish(observer.pump); /* reads what is still in the rings */
	rs_trace_watch_free(watch);
	rs_trace_pump_free(observer.pump);
	g_main_loop_unref(observer.loop);
	g_object_unref(session);
	return 0;
}
