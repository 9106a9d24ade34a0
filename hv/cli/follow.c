/* SPDX-License-Identifier: MIT */
#include "cli/follow.h"

#include "cli/observe.h"

#include <rs-trace-live.h>

struct follower {
	struct rs_observation observation;
	struct rs_printer *printer;
	RsDBusSession1 *session;
	struct rs_cli_following *following;   /* NULL: nobody wants to know */
	const struct rs_cli_symbols *symbols; /* NULL: none are wanted */
	struct rs_line_time *time;            /* NULL: as the trace has it */
};

static void on_printer_done(void *data)
{
	struct follower *follower = data;

	g_main_loop_quit(follower->observation.loop);
}

static int come(const char *name, const RsTraceClientSource *source, RsTraceRegion *region,
		RsTraceFrom from, void *data)
{
	struct follower *follower = data;
	g_autoptr(GError) error = NULL;
	const uint64_t origin_ns = region->header.origin_ns;
	RsTraceSource *pages =
		rs_trace_live_new_take(region, from, rs_trace_live_flags(source->joined), &error);

	if (!pages) {
		rs_cli_fail(0, "%s: %s", name, error->message);
		return -1;
	}
	if (follower->time)
		rs_line_time_live(follower->time, origin_ns);
	if (follower->symbols)
		rs_cli_symbols_give(follower->symbols, follower->session, source->number, pages);
	return (int)rs_printer_add(follower->printer, source->name, source->number, pages, NULL);
}

static void gone(int number, void *data)
{
	rs_printer_end(((struct follower *)data)->printer, (unsigned)number);
}

static void several(void *data)
{
	rs_printer_name_sources(((struct follower *)data)->printer);
}

static void begin(void *data)
{
	struct follower *follower = data;

	rs_printer_start(follower->printer);
	if (follower->following)
		follower->following->begun(follower->following->data);
}

static void hurry(void *data)
{
	rs_printer_hurry(((struct follower *)data)->printer);
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
	g_autoptr(GPtrArray) systems = g_ptr_array_new();
	g_autoptr(GVariant) totals = NULL, events = NULL;
	guint64 on = 1;

	if (rs_cli_is_paused(session))
		rs_cli_tell_paused(rs_dbus_session1_get_name(session));
	if (!rs_dbus_session1_call_stat_sync(session, rs_trace_client_no_options(), &totals, NULL,
					     NULL, NULL))
		return;
	/* Its events are off for that reason, whatever was enabled. */
	if (rs_cli_says_frozen(totals)) {
		rs_cli_tell_frozen(rs_dbus_session1_get_name(session));
		return;
	}
	g_variant_lookup(totals, "events_enabled", "t", &on);
	if (on || g_strcmp0(rs_dbus_session1_get_state(session), "running") != 0 ||
	    !rs_dbus_session1_call_list_sync(session, "", rs_trace_client_no_options(), &events,
					     NULL, NULL, NULL))
		return;
	for (gsize i = 0; i < g_variant_n_children(events); i++) {
		g_autoptr(GVariant) event = g_variant_get_child_value(events, i);
		const char *system;

		/* It lies in `events`. */
		if (g_variant_lookup(event, "system", "&s", &system))
			g_ptr_array_add(systems, (char *)system);
	}
	rs_cli_hint_off(rs_dbus_session1_get_name(session), systems, false);
}

int rs_cli_follow(RsDBusSession1 *session, struct rs_printer_config *config,
		  const struct rs_cli_symbols *symbols, RsTraceFrom from, double duration,
		  struct rs_cli_following *following)
{
	struct follower follower = {
		.session = session,
		.following = following,
		.symbols = symbols,
		.time = config->time,
		.observation = {.come = come,
				.gone = gone,
				.several = several,
				.begin = begin,
				.hurry = hurry,
				.data = &follower},
	};
	struct rs_printer_head head = {0};
	struct rs_printer_stats stats;
	int code = RS_CLI_OK;

	if (!config->json)
		hint_off(session);
	count(session, &head);
	config->head = &head;
	config->data = &follower;
	config->done = on_printer_done;
	follower.printer = rs_printer_create(config);
	rs_cli_observe(session, from, duration, &follower.observation);
	if (follower.observation.stopped)
		rs_printer_stop(follower.printer);
	rs_printer_finish(follower.printer, &stats);
	if (stats.unread)
		rs_cli_fail(0, "nobody read the trace: the rest was not written");
	if (stats.error)
		code = rs_cli_fail(RS_CLI_FAILED, "the trace could not be written: %s",
				   g_strerror(stats.error));
	else if (follower.observation.lost && !follower.observation.stopped)
		code = rs_cli_fail(RS_CLI_FAILED, "the session went away");
	rs_printer_destroy(follower.printer);
	if (following)
		following->over = follower.observation.over;
	return code;
}
