/* SPDX-License-Identifier: MIT */
/*
 * The peer of engine.py: how long a step of a thread takes, from the call to the news of its end.
 * Beside it, in the same run: a call that the session answers by itself, and one that the guest's
 * task answers.
 *
 *	bench-engine SESSION
 */
#include <rs-trace-client.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 200u
#define ENTRY (1u << 6)
#define WRITER 1u

struct peer {
	RsDBusSession1 *session;
	guint engine;
	guint64 stop; /* the last that was seen */
};

static void fail(const GError *error)
{
	fprintf(stderr, "bench-engine: %s\n", error ? error->message : "no answer");
	exit(1);
}

static void on_changed(RsDBusSession1 *session, guint generation, GVariant *more, gpointer changed)
{
	*(gboolean *)changed = TRUE;
}

/* The number of its last stop, if it is stopped; else 0. */
static guint64 stop_of(const struct peer *peer)
{
	g_autoptr(GVariant) rows = NULL, row = NULL;
	g_autoptr(GError) error = NULL;
	const char *state;
	guint64 stop = 0;

	if (!rs_dbus_session1_call_engine_list_sync(peer->session, rs_trace_client_no_options(),
						    &rows, NULL, NULL, &error) ||
	    g_variant_n_children(rows) != 1)
		fail(error);
	row = g_variant_get_child_value(rows, 0);
	if (g_variant_lookup(row, "state", "&s", &state) && g_str_equal(state, "stopped"))
		g_variant_lookup(row, "stop", "t", &stop);
	return stop;
}

static void wait_for_stop(struct peer *peer, const gboolean *changed)
{
	const gint64 until = g_get_monotonic_time() + 30 * G_USEC_PER_SEC;
	guint64 stop;

	while ((stop = stop_of(peer)) <= peer->stop) {
		while (!*changed && g_get_monotonic_time() < until)
			g_main_context_iteration(NULL, TRUE);
		if (!*changed)
			fail(NULL);
		*(gboolean *)changed = FALSE;
	}
	peer->stop = stop;
}

static void registers(const struct peer *peer)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GVariant) values = NULL;

	if (!rs_dbus_session1_call_engine_registers_sync(peer->session, peer->engine,
							 rs_trace_client_no_options(), &values,
							 NULL, NULL, &error))
		fail(error);
}

static void step(const struct peer *peer)
{
	g_autoptr(GError) error = NULL;

	if (!rs_dbus_session1_call_engine_control_sync(peer->session, peer->engine, "step",
						       rs_trace_client_no_options(), NULL, NULL,
						       &error))
		fail(error);
}

static int compare(gconstpointer a, gconstpointer b)
{
	const gint64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(gint64 *times)
{
	qsort(times, ROUNDS, sizeof(*times), compare);
	return (double)times[ROUNDS / 2] / 1000;
}

static void measure(struct peer *peer, const gboolean *changed)
{
	static gint64 alone[ROUNDS], task[ROUNDS], steps[ROUNDS];
	double a, t, s;

	for (guint i = 0; i < ROUNDS; i++) {
		const gint64 begin = g_get_monotonic_time();
		gint64 listed, looked;

		stop_of(peer);
		listed = g_get_monotonic_time();
		registers(peer);
		looked = g_get_monotonic_time();
		step(peer);
		wait_for_stop(peer, changed);
		alone[i] = listed - begin;
		task[i] = looked - listed;
		steps[i] = g_get_monotonic_time() - looked;
	}
	a = median(alone);
	t = median(task);
	s = median(steps);
	printf("the session answers      %8.3f ms\n", a);
	printf("the guest's task answers %8.3f ms  %6.1f x\n", t, t / a);
	printf("a step, until its news   %8.3f ms  %6.1f x, %.1f x of the task's answer\n", s,
	       s / a, s / t);
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	struct peer peer = {0};
	gboolean changed = FALSE;

	if (argc != 2)
		return 2;
	peer.session = rs_trace_client_connect(argv[1], &error);
	if (!peer.session)
		fail(error);
	g_signal_connect(peer.session, "changed", G_CALLBACK(on_changed), &changed);
	if (!rs_dbus_session1_call_engine_attach_sync(peer.session, WRITER, ENTRY,
						      rs_trace_client_no_options(), &peer.engine,
						      NULL, NULL, &error))
		fail(error);
	wait_for_stop(&peer, &changed);
	measure(&peer, &changed);
	g_object_unref(peer.session);
	return 0;
}
