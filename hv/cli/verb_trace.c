/* SPDX-License-Identifier: MIT */
/*
 * `ringside trace`: an observer. It maps the session's regions read-only and decodes them by
 * itself.
 */
#include "cli/printer.h"
#include "cli/verb.h"
#include <glib-unix.h>
#include <rs-trace-escape.h>
#include <rs-trace-live.h>
#include <rs-trace-watch.h>
#include <unistd.h>

struct observer {
	GMainLoop *loop;
	struct rs_printer *printer;
	bool stopped; /* by the user; the sources go on */
	bool several; /* lines name their sources */
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

static int observe(RsDBusSession1 *session, struct rs_printer_config *config, RsTraceFrom from,
		   double duration)
{
	struct observer observer = {0};
	struct rs_printer_head head = {0};
	struct rs_printer_stats stats;
	int code = RS_CLI_OK;

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
	rs_printer_destroy(observer.printer);
	g_main_loop_unref(observer.loop);
	return code;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL;
	gboolean json = FALSE, bare = FALSE, fresh = FALSE;
	double duration = 0;
	gint64 count = 0;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"},
		{"json", 'j', 0, G_OPTION_ARG_NONE, &json, "One JSON object a line", NULL},
		{"short", 0, 0, G_OPTION_ARG_NONE, &bare,
		 "Events without their system: switch in place of sched:switch", NULL},
		{"count", 'n', 0, G_OPTION_ARG_INT64, &count,
		 "End after so many events (0: no limit)", "N"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &duration,
		 "End after so many seconds (0: no limit)", "SECONDS"},
		{"new", 0, 0, G_OPTION_ARG_NONE, &fresh,
		 "Only what comes from now on, not what the rings hold", NULL},
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	struct rs_printer_config printer = {.fd = STDOUT_FILENO};
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	code = rs_cli_check_limits(verb, count, duration);
	if (code)
		return code;
	session = rs_cli_connect(verb, name, 0, &argc, argv, &code);
	if (!session)
		return code;
	if (argc > 1)
		return rs_cli_usage(verb, "too many arguments");
	printer.json = json;
	printer.short_names = bare;
	printer.count = (uint64_t)count;
	if (!json)
		hint_off(session);
	return observe(session, &printer, fresh ? RS_TRACE_FROM_NOW : RS_TRACE_FROM_OLDEST,
		       duration);
}

const struct rs_verb rs_verb_trace = {
	.name = "trace",
	.args = "[NAME]",
	.summary = "follow a running session's trace",
	.details = "Shows what the rings still hold and then what comes, without consuming it: any "
		   "number of\n"
		   "observers can look on.",
	.run = run,
};
