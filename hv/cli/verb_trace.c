/* SPDX-License-Identifier: MIT */
/* An observer: maps the session's region read-only and decodes by itself. */
#include "cli/printer.h"
#include "cli/verb.h"
#include <glib-unix.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct observer {
	GMainLoop *loop;
	RsDBusSession1 *session;
};

static gboolean on_signal(gpointer data)
{
	struct observer *observer = data;

	g_main_loop_quit(observer->loop);
	return G_SOURCE_CONTINUE;
}

static void on_printer_done(void *data)
{
	struct observer *observer = data;

	g_main_loop_quit(observer->loop);
}

static void on_ended(RsDBusSession1 *session, const char *reason, int code, const char *text,
		     GVariant *more, gpointer data)
{
	struct observer *observer = data;

	rs_cli_fail(0, "the guest has ended: %s%s%s", reason, *text ? ": " : "", text);
	g_main_loop_quit(observer->loop);
}

static void on_closed(GDBusConnection *connection, gboolean by_peer, GError *error, gpointer data)
{
	struct observer *observer = data;

	g_main_loop_quit(observer->loop);
}

static int observe(RsDBusSession1 *session, struct rs_printer_config *config, double duration)
{
	GDBusConnection *connection = g_dbus_proxy_get_connection(G_DBUS_PROXY(session));
	struct observer observer = {.session = session};
	g_autofree char *state = rs_dbus_session1_dup_state(session);
	struct rs_printer *printer = NULL;
	struct rs_printer_stats stats;
	struct rs_error err = {0};
	guint sources[4] = {0};
	int code = RS_CLI_OK;

	config->data = &observer;
	config->done = on_printer_done;
	observer.loop = g_main_loop_new(NULL, FALSE);
	if (rs_printer_create(config, &printer, &err)) {
		g_main_loop_unref(observer.loop);
		return rs_cli_fail_error(&err);
	}
	sources[0] = g_unix_signal_add(SIGINT, on_signal, &observer);
	sources[1] = g_unix_signal_add(SIGTERM, on_signal, &observer);
	sources[2] = g_unix_signal_add(SIGHUP, on_signal, &observer);
	if (duration > 0)
		sources[3] = g_timeout_add((guint)(duration * 1000), on_signal, &observer);
	g_signal_connect(session, "ended", G_CALLBACK(on_ended), &observer);
	g_signal_connect(connection, "closed", G_CALLBACK(on_closed), &observer);
	if (!g_dbus_connection_is_closed(connection) && g_strcmp0(state, "ended"))
		g_main_loop_run(observer.loop);
	g_signal_handlers_disconnect_by_data(session, &observer);
	g_signal_handlers_disconnect_by_data(connection, &observer);
	for (size_t i = 0; i < G_N_ELEMENTS(sources); i++)
		g_clear_handle_id(&sources[i], g_source_remove);
	rs_printer_finish(printer, &stats);
	if (stats.error)
		code = rs_cli_fail(RS_CLI_FAILED, "the trace could not be written: %s",
				   g_strerror(stats.error));
	rs_printer_destroy(printer);
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
		{"count", 'n', 0, G_OPTION_ARG_INT64, &count, "End after so many events", "N"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &duration, "End after so many seconds",
		 "SECONDS"},
		{"new", 0, 0, G_OPTION_ARG_NONE, &fresh,
		 "Only what comes from now on, not what the rings hold", NULL},
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	struct rs_printer_config printer = {.header = true, .fd = STDOUT_FILENO};
	g_autoptr(RsTraceRegion) region = NULL;
	GError *error = NULL;
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	if (count < 0 || !rs_cli_good_duration(duration))
		return rs_cli_usage(verb,
				    "--count is not negative; --duration is in seconds, up to a "
				    "million");
	session = rs_cli_connect(verb, name, 0, &argc, argv, &code);
	if (!session)
		return code;
	if (argc > 1)
		return rs_cli_usage(verb, "too many arguments");
	region = rs_trace_client_open_region(session, &error);
	if (!region)
		return rs_cli_fail_gerror(error);
	printer.region = region;
	printer.json = json;
	printer.short_names = bare;
	printer.count = (uint64_t)count;
	printer.from = fresh ? RS_TRACE_FROM_NOW : RS_TRACE_FROM_OLDEST;
	return observe(session, &printer, duration);
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
