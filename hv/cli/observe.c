/* SPDX-License-Identifier: MIT */
#include "cli/observe.h"

#include "cli/verb.h"

#include <glib-unix.h>
#include <rs-trace-escape.h>
#include <rs-trace-rundir.h>
#include <rs-trace-watch.h>

/* A dying process closes its sockets and its lock one after the other. */
#define DEATH_US 1000000
#define LOOK_US 20000

struct observer {
	struct rs_observation *of;
	RsDBusSession1 *session;
	bool several, closed;
};

static gboolean on_duration(gpointer data)
{
	struct observer *observer = data;

	observer->of->stopped = true;
	g_main_loop_quit(observer->of->loop);
	return G_SOURCE_CONTINUE;
}

/*
 * After --duration a reader that is only slow, such as a pager, still gets what was read. Who sends
 * a signal does not want to wait for it.
 */
static gboolean on_signal(gpointer data)
{
	struct observer *observer = data;

	if (observer->of->hurry)
		observer->of->hurry(observer->of->data);
	return on_duration(data);
}

/* The name comes from another process and is shown, so it is escaped. */
static gint on_come(const RsTraceClientSource *source, RsTraceRegion *region, RsTraceFrom from,
		    gpointer data)
{
	struct observer *observer = data;
	g_autofree char *name = rs_trace_escape(source->name, -1, NULL);

	return observer->of->come(name, source, region, from, observer->of->data);
}

static void on_gone(gint number, gpointer data)
{
	struct observer *observer = data;

	observer->of->gone(number, observer->of->data);
}

static void on_source_ended(const char *name, const char *reason, gpointer data)
{
	struct observer *observer = data;

	if (observer->of->ended)
		observer->of->ended(name, reason, observer->of->data);
}

static void on_panicked(const char *name, gpointer data)
{
	struct observer *observer = data;

	if (observer->of->panicked)
		observer->of->panicked(name, observer->of->data);
}

static void on_several(gpointer data)
{
	struct observer *observer = data;

	observer->several = true;
	if (observer->of->several)
		observer->of->several(observer->of->data);
}

/*
 * One that ends takes its files away, which a client that was stopped meanwhile can still see.
 */
bool rs_cli_session_has_died(RsDBusSession1 *session)
{
	const char *name = rs_dbus_session1_get_name(session);

	for (gint64 left = DEATH_US; left > 0; left -= LOOK_US) {
		g_autoptr(RsTraceRundirEntry) entry =
			name ? rs_trace_rundir_find(name, NULL) : NULL;

		if (!entry || !entry->live)
			return entry != NULL;
		g_usleep(LOOK_US);
	}
	return true;
}

static void close_view(struct observer *observer)
{
	if (observer->of->closing && !observer->closed)
		observer->of->closing(observer->of->data);
	observer->closed = true;
}

static void on_over(const RsTraceWatchEnd *end, gpointer data)
{
	struct observer *observer = data;
	const char *colon = end && *end->text ? ": " : "";

	close_view(observer);
	observer->of->over = true;
	if (end && observer->several)
		rs_cli_fail(0, "the session has ended; %s: %s%s%s", end->source, end->reason, colon,
			    end->text);
	else if (end)
		rs_cli_fail(0, "the guest has ended: %s%s%s", end->reason, colon, end->text);
	else
		observer->of->lost = rs_cli_session_has_died(observer->session);
	if (!end && !observer->of->lost)
		rs_cli_fail(0, "the session has ended");
	g_main_loop_quit(observer->of->loop);
}

void rs_cli_observe(RsDBusSession1 *session, RsTraceFrom from, double duration,
		    struct rs_observation *observation)
{
	struct observer observer = {.of = observation, .session = session};
	const RsTraceWatchConfig config = {
		.come = on_come,
		.gone = on_gone,
		.ended = on_source_ended,
		.panicked = on_panicked,
		.several = on_several,
		.over = on_over,
		.data = &observer,
	};
	g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
	g_autoptr(RsTraceWatch) watch = NULL;
	guint sources[4] = {0};

	observation->loop = loop;
	sources[0] = g_unix_signal_add(SIGINT, on_signal, &observer);
	sources[1] = g_unix_signal_add(SIGTERM, on_signal, &observer);
	sources[2] = g_unix_signal_add(SIGHUP, on_signal, &observer);
	if (duration > 0)
		sources[3] = g_timeout_add((guint)(duration * 1000), on_duration, &observer);
	watch = rs_trace_watch_new(session, from, &config);
	observation->begin(observation->data);
	if (!observation->stopped)
		g_main_loop_run(loop);
	/* While signals are still heard. */
	close_view(&observer);
	observation->loop = NULL;
	for (size_t i = 0; i < G_N_ELEMENTS(sources); i++)
		g_clear_handle_id(&sources[i], g_source_remove);
}
