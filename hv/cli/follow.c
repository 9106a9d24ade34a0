/* SPDX-License-Identifier: MIT */
#include "cli/follow.h"

#include <glib-unix.h>
#include <rs-trace-escape.h>
#include <rs-trace-live.h>
#include <rs-trace-watch.h>

struct observer {
	GMainLoop *loop;
	struct rs_printer *printer;
	bool stopped; /* by the user; the sources go on */
	bool several; /* lines name their sources */
	bool lost;    /* the session went away, and nobody told how it ended */
	RsDBusSession1 *session;
};

static gboolean on_duration(gpointer data)
{
	struct observer *observer = data;

	observer->stopped = true;
	g_main_loop_quit(observer->loop);
	return G_SOURCE_CONTINUE;
}

/*
 * After --duration a reader that is only slow, such as a pager, still gets what was read. Who sends
 * a signal does not want to wait for it.
 */
static gboolean on_signal(gpointer data)
{
	struct observer *observer = data;

	rs_printer_hurry(observer->printer);
	return on_duration(data);
}

static void on_printer_done(void *data)
{
	struct observer *observer = data;

	g_main_loop_quit(observer->loop);
}

/* ---- sources: they come and go ---- */

/* The name comes from another process and is shown, so it is escaped. */
static gint on_come(const RsTraceClientSource *source, RsTraceRegion *region, RsTraceFrom from,
		    gpointer data)
{
	struct observer *observer = data;
	g_autofree char *name = rs_trace_escape(source->name, -1, NULL);
	g_autoptr(GError) error = NULL;
	RsTraceSource *pages = rs_trace_live_new_take(region, from, RS_TRACE_LIVE_NONE, &error);

	if (pages)
		return (gint)rs_printer_add(observer->printer, name, source->number, pages, NULL);
	rs_cli_fail(0, "%s: %s", name, error->message);
	return -1;
}

static void on_gone(gint number, gpointer data)
{
	struct observer *observer = data;

	rs_printer_end(observer->printer, (guint)number);
}

static void on_several(gpointer data)
{
	struct observer *observer = data;

	observer->several = true;
	rs_printer_name_sources(observer->printer);
}

static void on_over(const RsTraceWatchEnd *end, gpointer data)
{
	struct observer *observer = data;
	const char *colon = end && *end->text ? ": " : "";

	if (end && observer->several)
		rs_cli_fail(0, "the session has ended; %s: %s%s%s", end->source, end->reason, colon,
			    end->text);
	else if (end)
		rs_cli_fail(0, "the guest has ended: %s%s%s", end->reason, colon, end->text);
	else
		observer->lost =
			g_strcmp0(rs_dbus_session1_get_state(observer->session), "ended") != 0;
	g_main_loop_quit(observer->loop);
}

static void wait_for_end(struct observer *observer, RsDBusSession1 *session, RsTraceFrom from,
			 double duration)
{
	const RsTraceWatchConfig config = {
		.come = on_come,
		.gone = on_gone,
		.several = on_several,
		.over = on_over,
		.data = observer,
	};
	g_autoptr(RsTraceWatch) watch = NULL;
	guint sources[4] = {0};

	sources[0] = g_unix_signal_add(SIGINT, on_signal, observer);
	sources[1] = g_unix_signal_add(SIGTERM, on_signal, observer);
	sources[2] = g_unix_signal_add(SIGHUP, on_signal, observer);
	if (duration > 0)
		sources[3] = g_timeout_add((guint)(duration * 1000), on_duration, observer);
	watch = rs_trace_watch_new(session, from, &config);
	rs_printer_start(observer->printer);
	g_main_loop_run(observer->loop);
	for (size_t i = 0; i < G_N_ELEMENTS(sources); i++)
		g_clear_handle_id(&sources[i], g_source_remove);
}

/* Counts what the rings of all sources hold, for the header. */
static void count(RsDBusSession1 *session, struct rs_printer_head *head)
{
	g_autoptr(GPtrArray) list = rs_trace_client_sources(session, NULL);

	for (guint i = 0; list && i < list->len; i++) {
		const RsTraceClientSource *source = list->pdata[i];
		g_autoptr(RsTraceRegion) region =
			rs_trace_client_open_region(session, source->number, NULL);

		if (region)
			rs_printer_count(head, region);
	}
}

/* A session whose agents have not reported yet may have been asked for events. */
static void hint_off(RsDBusSession1 *session)
{
	g_autoptr(GVariant) totals = NULL;
	guint64 on = 1;

	if (!rs_dbus_session1_call_stat_sync(session, rs_trace_client_no_options(), &totals, NULL,
					     NULL, NULL))
		return;
	g_variant_lookup(totals, "events_enabled", "t", &on);
	if (!on && g_strcmp0(rs_dbus_session1_get_state(session), "running") == 0)
		rs_cli_hint_off(rs_dbus_session1_get_name(session));
}

int rs_cli_follow(RsDBusSession1 *session, struct rs_printer_config *config, RsTraceFrom from,
		  double duration)
{
	struct observer observer = {.session = session};
	struct rs_printer_head head = {0};
	struct rs_printer_stats stats;
	int code = RS_CLI_OK;

	if (!config->json)
		hint_off(session);
	count(session, &head);
	config->head = &head;
	config->data = &observer;
	config->done = on_printer_done;
	observer.loop = g_main_loop_new(NULL, FALSE);
	observer.printer = rs_printer_create(config);
	wait_for_end(&observer, session, from, duration);
	if (observer.stopped)
		rs_printer_stop(observer.printer);
	rs_printer_finish(observer.printer, &stats);
	if (stats.unread)
		rs_cli_fail(0, "nobody read the trace: the rest was not written");
	if (stats.error)
		code = rs_cli_fail(RS_CLI_FAILED, "the trace could not be written: %s",
				   g_strerror(stats.error));
	else if (observer.lost && !observer.stopped)
		code = rs_cli_fail(RS_CLI_FAILED, "the session went away");
	rs_printer_destroy(observer.printer);
	g_main_loop_unref(observer.loop);
	return code;
}
