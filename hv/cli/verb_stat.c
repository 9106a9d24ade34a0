/* SPDX-License-Identifier: MIT */
#include "cli/attach_domain.h"
#include "cli/figures.h"
#include "cli/stat_cost.h"
#include "cli/verb.h"

#include <inttypes.h>
#include <rs-trace-escape.h>
#include <stdio.h>
#include <string.h>

static uint64_t number(GVariant *dict, const char *name)
{
	guint64 value = 0;

	g_variant_lookup(dict, name, "t", &value);
	return value;
}

static const char *text(GVariant *dict, const char *name)
{
	const char *value = "";

	g_variant_lookup(dict, name, "&s", &value);
	return value;
}

/* The host need not know the sites of a guest that patches itself. */
static void print_sites(GVariant *t)
{
	gboolean self_patch = FALSE;
	const char *by = NULL;

	/* Sites of several sources have no single writer. */
	g_variant_lookup(t, "text", "&s", &by);
	g_variant_lookup(t, "self_patch", "b", &self_patch);
	printf("sites:       ");
	if (!self_patch || number(t, "sites"))
		printf("%" PRIu64 ", ", number(t, "sites"));
	printf("%" PRIu64 " patched%s%s%s, %" PRIu64 " refused\n", number(t, "sites_patched"),
	       self_patch && !by ? " by itself" : "", by ? " by " : "", by ? by : "",
	       number(t, "sites_refused"));
}

static void print_native(GVariant *t)
{
	uint64_t now = number(t, "native_filters"), full = number(t, "native_full");

	if (!now && !full)
		return;
	printf("native:      %" PRIu64 " filter%s, room for %.1f KiB more", now,
	       rs_cli_plural(now, "s"), (double)number(t, "native_left") / 1024);
	if (full)
		printf(", %" PRIu64 " did not fit", full);
	if (number(t, "native_pause_ns"))
		printf(", %.1f us of pause", (double)number(t, "native_pause_ns") / 1e3);
	putchar('\n');
}

/* Pages of another tracer are no events. */
static bool is_bridge(GVariant *t)
{
	gboolean bridge = FALSE;

	return g_variant_lookup(t, "bridge", "b", &bridge) && bridge;
}

/* What differs from other agents, for who wonders about the figures. */
static void print_bridge(GVariant *t)
{
	if (is_bridge(t))
		printf("bridge:      of ftrace, which is slower than the module. ENTRIES are pages "
		       "of many events\n");
}

static void print_seconds(uint64_t ns)
{
	printf(" %6" PRIu64 ".%06" PRIu64, ns / 1000000000, ns / 1000 % 1000000);
}

static void print_cpu(GVariant *cpu)
{
	printf("%3" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64,
	       number(cpu, "cpu"), number(cpu, "entries"), number(cpu, "overrun"),
	       number(cpu, "dropped"), number(cpu, "bytes"));
	if (number(cpu, "entries"))
		print_seconds(number(cpu, "oldest_ns"));
	else
		printf(" %13s", "-");
	print_seconds(number(cpu, "now_ns"));
	if (number(cpu, "too_large"))
		printf("  cut %" PRIu64, number(cpu, "too_large"));
	if (number(cpu, "skipped_pages"))
		printf("  skipped pages %" PRIu64, number(cpu, "skipped_pages"));
	putchar('\n');
}

/* 0 means that the target does not know, since no vCPU runs without exits. */
static void print_exits(uint64_t ours, uint64_t kvm)
{
	if (ours && kvm)
		printf("exits:       %" PRIu64 " to us, %" PRIu64 " in all as KVM counts them\n",
		       ours, kvm);
	else if (ours || kvm)
		printf("exits:       %" PRIu64 "%s\n", ours + kvm,
		       ours ? " to us" : " as KVM counts them");
}

static void print_clock(GVariant *t)
{
	guint64 error;

	if (!number(t, "clock_hz")) {
		printf("clock:       not known yet\n");
		return;
	}
	printf("clock:       %.3f MHz, %" PRIu64 " epoch%s, ", (double)number(t, "clock_hz") / 1e6,
	       number(t, "clock_epochs"), rs_cli_plural(number(t, "clock_epochs"), "s"));
	if (g_variant_lookup(t, "clock_error_ns", "t", &error))
		printf("times right to %.1f us\n", (double)error / 1e3);
	else
		printf("its error is not known\n");
}

/* A ring takes another size when events come. */
static bool sizes_differ(GVariant *cpus)
{
	bool differ = false;
	uint64_t first = 0;

	for (gsize i = 0; i < g_variant_n_children(cpus); i++) {
		g_autoptr(GVariant) cpu = g_variant_get_child_value(cpus, i);

		first = i ? first : number(cpu, "ring_bytes");
		differ |= number(cpu, "ring_bytes") != first;
	}
	return differ;
}

static void print_rings(GVariant *t, GVariant *cpus)
{
	/* A session that is older than we are does not say it. */
	if (*text(t, "ring_mode"))
		printf("rings:       %" G_GSIZE_FORMAT " of %s%" PRIu64 " KiB, mode %s\n",
		       g_variant_n_children(cpus), sizes_differ(cpus) ? "up to " : "",
		       number(t, "ring_bytes") / 1024, text(t, "ring_mode"));
}

static void print_frozen(GVariant *t, const char *session)
{
	if (rs_cli_says_frozen(t))
		printf("frozen:      nothing is recorded until ringside ring --thaw %s\n", session);
}

static void print_pause(GVariant *t)
{
	if (!number(t, "pause_max_ns"))
		printf("pause:       none\n");
	else
		printf("pause:       last %.1f us, max %.1f us, total %.1f us\n",
		       (double)number(t, "pause_last_ns") / 1e3,
		       (double)number(t, "pause_max_ns") / 1e3,
		       (double)number(t, "pause_total_ns") / 1e3);
}

/* "cost:        0.312 % of a CPU (120000 events/s x 26.0 ns); paused for 80.00 us in all" */
static void print_cost(GVariant *t, const struct rs_cli_cost *cost)
{
	const uint64_t paused_ns = number(t, "pause_total_ns") + number(t, "native_pause_ns");
	g_autoptr(GString) paused = g_string_new(NULL);

	if (!cost || is_bridge(t))
		return;
	rs_cli_append_span(paused, (double)paused_ns);
	if (cost->share >= 0)
		printf("cost:        %.3g %% of a CPU (%.0f events/s x %.1f ns)", cost->share * 100,
		       cost->rate, cost->event_ns);
	else
		printf("cost:        %.0f events/s; what one takes there is not known", cost->rate);
	if (paused_ns)
		printf("; paused for %s in all\n", paused->str);
	else
		printf("; no pause\n");
}

/* Of one `source`, or of the only one that the session has (NULL). `cost` may be NULL. */
static void print_text(const char *session, const char *source, const char *of, GVariant *t,
		       GVariant *cpus, const struct rs_cli_cost *cost)
{
	const char *what = source ? "source" : "session";
	g_autofree char *shown = rs_trace_escape(source ? source : session, -1, NULL);
	g_autofree char *kernel = rs_trace_escape(of, -1, NULL);

	printf("%s:%*s%s (%s, %s) %s\n", what, (int)(12 - strlen(what)), "", shown, text(t, "kind"),
	       text(t, "state"), kernel);
	print_clock(t);
	printf("events:      %" PRIu64 ", %" PRIu64 " enabled\n", number(t, "events"),
	       number(t, "events_enabled"));
	print_frozen(t, session);
	print_bridge(t);
	print_sites(t);
	print_native(t);
	printf("patches:     %" PRIu64 " in %" PRIu64 " batch%s\n", number(t, "patches"),
	       number(t, "patch_batches"), rs_cli_plural(number(t, "patch_batches"), "es"));
	print_pause(t);
	print_cost(t, cost);
	print_exits(number(t, "exits"), number(t, "kvm_exits"));
	printf("hypercalls:  %" PRIu64 ", %" PRIu64 " bad, %" PRIu64 " answered too late\n",
	       number(t, "hypercalls"), number(t, "bad_hypercalls"), number(t, "late_answers"));
	printf("doorbells:   %" PRIu64 "\n", number(t, "doorbells"));
	if (number(t, "lost_nested") || number(t, "lost_no_ring"))
		printf("lost:        %" PRIu64 " too deeply nested, %" PRIu64 " without a ring\n",
		       number(t, "lost_nested"), number(t, "lost_no_ring"));
	if (number(t, "callbacks_skipped"))
		printf("callbacks:   %" PRIu64 " calls left out, too deeply nested\n",
		       number(t, "callbacks_skipped"));
	print_rings(t, cpus);
	printf("%3s %10s %10s %10s %10s %13s %13s\n", "CPU", "ENTRIES", "OVERRUN", "DROPPED",
	       "BYTES", "OLDEST", "NOW");
	for (gsize i = 0; i < g_variant_n_children(cpus); i++) {
		g_autoptr(GVariant) cpu = g_variant_get_child_value(cpus, i);

		print_cpu(cpu);
	}
}

static void add_dict(JsonBuilder *b, GVariant *dict)
{
	GVariantIter iter;
	const char *name;
	GVariant *value;

	g_variant_iter_init(&iter, dict);
	while (g_variant_iter_loop(&iter, "{&sv}", &name, &value))
		rs_cli_add_variant(b, name, value);
}

static void add_real(JsonBuilder *b, const char *name, double value)
{
	json_builder_set_member_name(b, name);
	json_builder_add_double_value(b, value);
}

static void add_cost(JsonBuilder *b, GVariant *t, const struct rs_cli_costs *costs, guint32 number)
{
	struct rs_cli_cost cost;

	if (is_bridge(t) || !rs_cli_costs_of(costs, number, &cost))
		return;
	add_real(b, "rate", cost.rate);
	if (cost.share < 0)
		return;
	add_real(b, "event_ns", cost.event_ns);
	add_real(b, "cost", cost.share);
}

static void add_cpus(JsonBuilder *b, GVariant *cpus)
{
	json_builder_set_member_name(b, "cpus");
	json_builder_begin_array(b);
	for (gsize i = 0; i < g_variant_n_children(cpus); i++) {
		g_autoptr(GVariant) cpu = g_variant_get_child_value(cpus, i);

		json_builder_begin_object(b);
		add_dict(b, cpu);
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
}

/*
 * Asks for the figures of a source, or of the session if `number` is 0. FALSE: there is no such
 * source now, or the session has gone.
 */
static gboolean ask(RsDBusSession1 *session, guint32 number, GVariant **totals, GVariant **cpus,
		    GError **error)
{
	return rs_dbus_session1_call_stat_sync(session, rs_trace_client_source(number), totals,
					       cpus, NULL, error);
}

static void add_sources(JsonBuilder *b, RsDBusSession1 *session, const GPtrArray *sources,
			const struct rs_cli_costs *costs)
{
	g_autoptr(RsTraceRundirEntry) entry =
		rs_trace_rundir_find(rs_dbus_session1_get_name(session), NULL);

	json_builder_set_member_name(b, "sources");
	json_builder_begin_array(b);
	for (guint i = 0; i < sources->len; i++) {
		const RsTraceClientSource *source = sources->pdata[i];
		g_autoptr(GVariant) totals = NULL, cpus = NULL;

		if (!ask(session, source->number, &totals, &cpus, NULL))
			continue;
		json_builder_begin_object(b);
		json_builder_set_member_name(b, "name");
		json_builder_add_string_value(b, source->name);
		rs_cli_add_number(b, "number", source->number);
		if (!source->joined)
			rs_cli_add_domain(b, entry, source->number);
		add_dict(b, totals);
		add_cost(b, totals, costs, source->number);
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
}

static int print_json(RsDBusSession1 *session, const GPtrArray *sources,
		      const struct rs_cli_costs *costs)
{
	g_autoptr(GVariant) totals = NULL, cpus = NULL;
	g_autoptr(JsonBuilder) b = json_builder_new();
	GError *error = NULL;

	if (!ask(session, 0, &totals, &cpus, &error))
		return rs_cli_fail_gerror(error);
	json_builder_begin_object(b);
	json_builder_set_member_name(b, "name");
	json_builder_add_string_value(b, rs_dbus_session1_get_name(session));
	add_dict(b, totals);
	add_cpus(b, cpus);
	add_sources(b, session, sources, costs);
	json_builder_end_object(b);
	rs_cli_print_json(b);
	return RS_CLI_OK;
}

/* Prints one source's figures as those of the session. If there are several, prints each one's. */
static int print_all(RsDBusSession1 *session, const GPtrArray *sources,
		     const struct rs_cli_costs *costs)
{
	for (guint i = 0; i < sources->len; i++) {
		const RsTraceClientSource *source = sources->pdata[i];
		g_autoptr(GVariant) totals = NULL, cpus = NULL;
		g_autoptr(GError) error = NULL;
		const bool alone = sources->len == 1;
		struct rs_cli_cost cost;
		bool has_cost;

		if (!ask(session, source->number, &totals, &cpus, &error)) {
			if (alone)
				return rs_cli_fail_gerror(g_steal_pointer(&error));
			continue;
		}
		if (!alone && i)
			putchar('\n');
		has_cost = rs_cli_costs_of(costs, source->number, &cost);
		print_text(rs_dbus_session1_get_name(session), alone ? NULL : source->name,
			   source->kernel, totals, cpus, has_cost ? &cost : NULL);
	}
	return RS_CLI_OK;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL;
	gboolean json = FALSE;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"},
		{"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL},
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	g_autoptr(GPtrArray) sources = NULL;
	g_autoptr(RsCliCosts) costs = NULL;
	GError *error = NULL;
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	session = rs_cli_connect(verb, name, 0, &argc, argv, &code);
	if (!session)
		return code;
	if (argc > 1)
		return rs_cli_usage(verb, "too many arguments");
	sources = rs_trace_client_sources(session, &error);
	if (!sources)
		return rs_cli_fail_gerror(error);
	costs = rs_cli_costs_take(session, sources, RS_CLI_COSTS_US, NULL);
	return json ? print_json(session, sources, costs) : print_all(session, sources, costs);
}

const struct rs_verb rs_verb_stat = {
	.name = "stat",
	.args = "[NAME]",
	.summary = "show a session's counters",
	.run = run,
};
