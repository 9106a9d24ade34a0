/* SPDX-License-Identifier: MIT */
/*
 * `ringside trace`: an observer. It maps the session's regions read-only and decodes them by
 * itself.
 */
#include "cli/printer.h"
#include "cli/verb.h"
#include <glib-unix.h>
#include <rs-trace-escape.h>
#include <rs-trace-region.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct observer {
	GMainLoop *loop;
	RsDBusSession1 *session;
	struct rs_printer *printer;
	GHashTable *followed; /* number → struct followed */
	RsTraceFrom from;
	guint32 changes; /* the session's count of changes of sources, as last told */
	bool stopped;    /* by the user; the sources go on */
	bool several;    /* more than one source has reported: lines name theirs */
};

/* A source that is printed, or was. */
struct followed {
	RsTraceRegion *region; /* NULL: it has been read to its end */
	int index;             /* in the printer */
	bool ending;
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

static void free_followed(gpointer data)
{
	struct followed *followed = data;

	rs_trace_region_free(followed->region);
	g_free(followed);
}

static void on_source_printed(void *data, void *source)
{
	struct followed *followed = source;

	g_clear_pointer(&followed->region, rs_trace_region_free);
}

/* The name comes from another process and is shown, so it is escaped. */
static void follow(struct observer *observer, const RsTraceClientSource *source)
{
	struct followed *followed = g_new0(struct followed, 1);
	g_autofree char *name = rs_trace_escape(source->name, -1, NULL);
	g_autoptr(GError) error = NULL;
	struct rs_error err = {0};

	g_hash_table_insert(observer->followed, GUINT_TO_POINTER(source->number), followed);
	followed->index = -1;
	/* The source may have gone by now. Then there is nothing to show. */
	followed->region = rs_trace_client_open_region(observer->session, source->number, &error);
	if (!followed->region)
		return;
	followed->index = rs_printer_add(observer->printer, name, source->number, followed->region,
					 observer->from, followed, &err);
	if (followed->index < 0)
		rs_cli_fail_error(&err);
}

static void stop_following(struct observer *observer, struct followed *followed)
{
	if (followed->index < 0 || followed->ending)
		return;
	followed->ending = true;
	rs_printer_end(observer->printer, followed->index);
}

/* Ends sources whose number is not in the list any more. Their regions may be laid out anew. */
static void drop_gone(struct observer *observer, const GPtrArray *list)
{
	GHashTableIter iter;
	gpointer key, value;

	g_hash_table_iter_init(&iter, observer->followed);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		struct followed *followed = value;
		bool there = false;

		for (guint i = 0; i < list->len && !there; i++)
			there = ((const RsTraceClientSource *)list->pdata[i])->number ==
				GPOINTER_TO_UINT(key);
		if (there)
			continue;
		stop_following(observer, followed);
		if (!followed->region)
			g_hash_table_iter_remove(&iter);
	}
}

/* Whether more than one source has reported: then lines are told apart by name. */
static bool have_several(const GPtrArray *list)
{
	guint reported = 0;

	for (guint i = 0; i < list->len; i++) {
		const RsTraceClientSource *source = list->pdata[i];

		reported += strcmp(source->state, "waiting") != 0;
	}
	return reported > 1;
}

static void look_at_sources(struct observer *observer)
{
	g_autoptr(GPtrArray) list = rs_trace_client_sources(observer->session, NULL);

	if (!list)
		return;
	drop_gone(observer, list);
	observer->several |= have_several(list);
	if (observer->several)
		rs_printer_name_sources(observer->printer);
	for (guint i = 0; i < list->len; i++) {
		const RsTraceClientSource *source = list->pdata[i];
		gpointer key = GUINT_TO_POINTER(source->number);
		struct followed *followed = g_hash_table_lookup(observer->followed, key);

		if (!followed)
			follow(observer, source);
		followed = g_hash_table_lookup(observer->followed, key);
		if (followed && source->joined && strcmp(source->state, "ended") == 0)
			stop_following(observer, followed);
	}
}

static void on_changed(RsDBusSession1 *session, guint generation, GVariant *more, gpointer data)
{
	struct observer *observer = data;
	guint32 changes = 0;

	g_variant_lookup(more, "sources", "u", &changes);
	if (changes == observer->changes)
		return;
	observer->changes = changes;
	look_at_sources(observer);
}

static void on_ended(RsDBusSession1 *session, const char *reason, int code, const char *text,
		     GVariant *more, gpointer data)
{
	struct observer *observer = data;

	const char *source = "";

	g_variant_lookup(more, "source", "&s", &source);
	if (observer->several)
		rs_cli_fail(0, "the session has ended; %s: %s%s%s", source, reason,
			    *text ? ": " : "", text);
	else
		rs_cli_fail(0, "the guest has ended: %s%s%s", reason, *text ? ": " : "", text);
	g_main_loop_quit(observer->loop);
}

static void on_closed(GDBusConnection *connection, gboolean by_peer, GError *error, gpointer data)
{
	struct observer *observer = data;

	g_main_loop_quit(observer->loop);
}

static void wait_for_end(struct observer *observer, double duration)
{
	GDBusConnection *connection = g_dbus_proxy_get_connection(G_DBUS_PROXY(observer->session));
	g_autofree char *state = rs_dbus_session1_dup_state(observer->session);
	guint watches[4] = {0};

	watches[0] = g_unix_signal_add(SIGINT, on_signal, observer);
	watches[1] = g_unix_signal_add(SIGTERM, on_signal, observer);
	watches[2] = g_unix_signal_add(SIGHUP, on_signal, observer);
	if (duration > 0)
		watches[3] = g_timeout_add((guint)(duration * 1000), on_duration, observer);
	g_signal_connect(observer->session, "changed", G_CALLBACK(on_changed), observer);
	g_signal_connect(observer->session, "ended", G_CALLBACK(on_ended), observer);
	g_signal_connect(connection, "closed", G_CALLBACK(on_closed), observer);
	look_at_sources(observer);
	rs_printer_start(observer->printer);
	observer->from = RS_TRACE_FROM_START; /* sources that come from now on are new */
	if (!g_dbus_connection_is_closed(connection) && g_strcmp0(state, "ended"))
		g_main_loop_run(observer->loop);
	g_signal_handlers_disconnect_by_data(observer->session, observer);
	g_signal_handlers_disconnect_by_data(connection, observer);
	for (size_t i = 0; i < G_N_ELEMENTS(watches); i++)
		g_clear_handle_id(&watches[i], g_source_remove);
}

/*
 * Counts what the rings of all sources hold, for the header. Returns whether there are several
 * sources.
 */
static bool count(RsDBusSession1 *session, struct rs_printer_head *head)
{
	g_autoptr(GPtrArray) list = rs_trace_client_sources(session, NULL);

	for (guint i = 0; list && i < list->len; i++) {
		const RsTraceClientSource *source = list->pdata[i];
		g_autoptr(RsTraceRegion) region =
			rs_trace_client_open_region(session, source->number, NULL);

		if (region)
			rs_printer_count(head, region);
	}
	return list && have_several(list);
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
	struct observer observer = {.session = session, .from = from};
	struct rs_printer_head head = {0};
	struct rs_printer_stats stats;
	int code = RS_CLI_OK;

	config->source_names = count(session, &head);
	config->head = &head;
	config->data = &observer;
	config->ended = on_source_printed;
	config->done = on_printer_done;
	observer.loop = g_main_loop_new(NULL, FALSE);
	observer.followed = g_hash_table_new_full(NULL, NULL, NULL, free_followed);
	observer.printer = rs_printer_create(config);
	wait_for_end(&observer, duration);
	if (observer.stopped)
		rs_printer_stop(observer.printer);
	rs_printer_finish(observer.printer, &stats);
	if (stats.unread)
		rs_cli_fail(0, "nobody read the trace: the rest was not written");
	if (stats.error)
		code = rs_cli_fail(RS_CLI_FAILED, "the trace could not be written: %s",
				   g_strerror(stats.error));
	rs_printer_destroy(observer.printer);
	g_hash_table_unref(observer.followed);
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
	struct rs_printer_config printer = {.fd = STDOUT_FILENO};
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
