/* SPDX-License-Identifier: MIT */
#include "cli/bench.h"

#include "base/ticks.h"
#include "cli/stat_cost.h"

#define OWNER "bench"
#define TIMES 11u         /* that something is switched */
#define READY_US 20000000 /* for a guest that has just been started … */
#define OTHERS_US 1000000 /* … and has told of other events */
#define LOOK_US 50000

/* What switching took, ns: the best of several, but for the pause. */
struct switching {
	uint64_t on, off;
	uint64_t pause; /* of the guest meanwhile: the worst */
	guint events;
};

static GVariant *list(RsDBusSession1 *session, const char *glob)
{
	GVariant *events = NULL;

	rs_dbus_session1_call_list_sync(session, glob, rs_trace_client_no_options(), &events, NULL,
					NULL, NULL);
	return events;
}

static bool has_events(RsDBusSession1 *session)
{
	g_autoptr(GVariant) events = list(session, "*");

	return events && g_variant_n_children(events);
}

/* Events that match, once there are any. NULL: none came for so many us. */
static GVariant *await_events(RsDBusSession1 *session, const char *glob, gint64 us,
			      const gint *stopped)
{
	const gint64 until = g_get_monotonic_time() + us;
	gint64 others = 0; /* since then there are some that do not match */

	for (;; g_usleep(LOOK_US)) {
		GVariant *events = list(session, glob);
		const gint64 now = g_get_monotonic_time();

		if (events && g_variant_n_children(events))
			return events;
		/* Or the session has gone. */
		if (!events)
			return NULL;
		g_clear_pointer(&events, g_variant_unref);
		if (!others && has_events(session))
			others = now;
		if (now > until || (others && now - others > OTHERS_US) ||
		    g_atomic_int_get(stopped))
			return NULL;
	}
}

static uint64_t total(RsDBusSession1 *session, const char *key)
{
	g_autoptr(GVariant) totals = NULL;
	guint64 value = 0;

	if (rs_dbus_session1_call_stat_sync(session, rs_trace_client_no_options(), &totals, NULL,
					    NULL, NULL))
		g_variant_lookup(totals, key, "t", &value);
	return value;
}

static int enable(RsDBusSession1 *session, const char *glob, struct switching *out)
{
	const uint64_t before = total(session, "pause_total_ns"), begun = rs_monotonic_ns();
	g_auto(GStrv) problems = NULL;
	GError *error = NULL;
	gboolean pending;

	if (!rs_dbus_session1_call_enable_sync(session, glob, rs_cli_owner_options(OWNER),
					       &out->events, &pending, &problems, NULL, NULL,
					       &error))
		return rs_cli_fail_gerror(error);
	out->on = rs_monotonic_ns() - begun;
	out->pause = total(session, "pause_total_ns") - before;
	return RS_CLI_OK;
}

/* `out` NULL: a failure is not told. */
static int disable(RsDBusSession1 *session, const char *glob, struct switching *out)
{
	const uint64_t begun = rs_monotonic_ns();
	g_auto(GStrv) problems = NULL;
	GError *error = NULL;
	gboolean pending;
	guint touched;

	if (!rs_dbus_session1_call_disable_sync(session, glob, rs_cli_owner_options(OWNER),
						&touched, &pending, &problems, NULL, NULL,
						out ? &error : NULL))
		return out ? rs_cli_fail_gerror(error) : RS_CLI_FAILED;
	if (out)
		out->off = rs_monotonic_ns() - begun;
	return RS_CLI_OK;
}

static int switch_often(RsDBusSession1 *session, const char *glob, struct switching *best)
{
	int code = RS_CLI_OK;

	*best = (struct switching){UINT64_MAX, UINT64_MAX, 0, 0};
	for (unsigned i = 0; i < TIMES && !code; i++) {
		struct switching one = {0};

		code = enable(session, glob, &one);
		if (!code)
			code = disable(session, glob, &one);
		best->on = MIN(best->on, one.on);
		best->off = MIN(best->off, one.off);
		best->pause = MAX(best->pause, one.pause);
		best->events = one.events;
	}
	return code;
}

/* For others: to switch it for us changes nothing. */
static bool is_any_on(GVariant *events)
{
	for (gsize i = 0; i < g_variant_n_children(events); i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(events, i);
		gboolean on = FALSE;

		if (g_variant_lookup(row, "enabled", "b", &on) && on)
			return true;
	}
	return false;
}

static char *first_of(GVariant *events)
{
	g_autoptr(GVariant) row = g_variant_get_child_value(events, 0);
	const char *system = "", *name = "";

	g_variant_lookup(row, "system", "&s", &system);
	g_variant_lookup(row, "name", "&s", &name);
	return g_strconcat(system, ":", name, NULL);
}

static void show_switching(struct rs_bench *bench, const struct switching *one,
			   const struct switching *all)
{
	rs_bench_count(bench, "events", "events that were switched", all->events);
	rs_bench_ns(bench, "enable_one", "to switch one of them on", (double)one->on);
	rs_bench_ns(bench, "pause_one", "the guest stands still, at most", (double)one->pause);
	rs_bench_ns(bench, "enable_all", "to switch all of them on", (double)all->on);
	rs_bench_ns(bench, "pause_all", "the guest stands still, at most", (double)all->pause);
	rs_bench_ns(bench, "disable_all", "to switch all of them off", (double)all->off);
}

/* While they are on. */
static int show_costs(struct rs_bench *bench, RsDBusSession1 *session, double seconds)
{
	GError *error = NULL;
	g_autoptr(GPtrArray) sources = rs_trace_client_sources(session, &error);
	g_autoptr(RsCliCosts) costs = NULL;

	if (!sources)
		return rs_cli_fail_gerror(error);
	costs = rs_cli_costs_take(session, sources, (gint64)(seconds * 1e6), bench->stopped);
	if (!costs)
		return rs_cli_fail(RS_CLI_NOT_FOUND, "the session went away");
	for (guint i = 0; i < sources->len; i++) {
		const RsTraceClientSource *source = sources->pdata[i];
		struct rs_cli_cost cost;

		if (!rs_cli_costs_of(costs, source->number, &cost))
			continue;
		bench->source = source->name;
		if (sources->len > 1)
			bench->title = source->name;
		rs_bench_rate(bench, "rate", "events, while they are on", cost.rate);
		if (cost.share >= 0)
			rs_bench_share(bench, "cost", "what they take of one CPU", cost.share);
		else
			rs_bench_not_known(bench, "what they take of one CPU");
	}
	return RS_CLI_OK;
}

static int measure_switching(struct rs_bench *bench, RsDBusSession1 *session, const char *glob,
			     GVariant *events)
{
	g_autofree char *first = first_of(events);
	struct switching one, all;
	int code;

	if (is_any_on(events)) {
		rs_cli_fail(0, "some of these events are on for others, and stay on: how long it "
			       "takes to switch them is not measured");
		return RS_CLI_OK;
	}
	code = switch_often(session, first, &one);
	if (!code)
		code = switch_often(session, glob, &all);
	if (!code)
		show_switching(bench, &one, &all);
	return code;
}

static int measure(struct rs_bench *bench, RsDBusSession1 *session, const char *glob,
		   GVariant *events, double seconds)
{
	struct switching last = {0};
	int code = measure_switching(bench, session, glob, events), more;

	if (!code && g_atomic_int_get(bench->stopped))
		code = RS_CLI_FAILED;
	if (!code)
		code = enable(session, glob, &last);
	if (code)
		return code;
	code = show_costs(bench, session, seconds);
	/* What has failed was told, perhaps that the session has gone. */
	more = disable(session, glob, code ? NULL : &last);
	return code ? code : more;
}

int rs_bench_session(struct rs_bench *bench, RsDBusSession1 *session, bool fresh, const char *glob,
		     double seconds)
{
	g_autoptr(GVariant) events =
		await_events(session, glob, fresh ? READY_US : 0, bench->stopped);
	g_autofree char *name = g_strdup(rs_dbus_session1_get_name(session));
	int code;

	if (g_atomic_int_get(bench->stopped))
		return RS_CLI_FAILED;
	if (!events)
		return rs_cli_fail(RS_CLI_NOT_FOUND, "no event matches '%s'", glob);
	bench->title = bench->source = name;
	code = measure(bench, session, glob, events, seconds);
	bench->source = bench->title = NULL;
	return code;
}
