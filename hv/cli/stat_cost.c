/* SPDX-License-Identifier: MIT */
#include "cli/stat_cost.h"

#include "machine/event_cost.h"

#define LOOK_US 50000 /* whether it is still wanted */

struct rs_cli_costs {
	double event_ns; /* negative: it could not be measured */
	GHashTable *of;  /* number of a source → struct rs_cli_cost */
};

/* At one moment. */
struct look {
	gint64 at_us;
	guint64 on;         /* events that are */
	GHashTable *events; /* number of a source → uint64_t, that it wrote so far */
};

GVariant *rs_cli_stat_each(void)
{
	GVariantBuilder options;

	g_variant_builder_init(&options, G_VARIANT_TYPE_VARDICT);
	g_variant_builder_add(&options, "{sv}", "each", g_variant_new_boolean(TRUE));
	return g_variant_builder_end(&options);
}

static void take_row(GHashTable *events, GVariant *row)
{
	guint64 written = 0, dropped = 0;
	guint32 number = 0;

	g_variant_lookup(row, "source_number", "u", &number);
	g_variant_lookup(row, "written", "t", &written);
	g_variant_lookup(row, "dropped", "t", &dropped);
	written += dropped;
	g_hash_table_replace(events, GUINT_TO_POINTER(number),
			     g_memdup2(&written, sizeof(written)));
}

static bool look(RsDBusSession1 *session, struct look *out)
{
	g_autoptr(GVariant) totals = NULL, each = NULL;

	*out = (struct look){0};
	if (!rs_dbus_session1_call_stat_sync(session, rs_cli_stat_each(), &totals, NULL, NULL,
					     NULL))
		return false;
	out->at_us = g_get_monotonic_time();
	out->events = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	g_variant_lookup(totals, "events_enabled", "t", &out->on);
	each = g_variant_lookup_value(totals, "each", G_VARIANT_TYPE("aa{sv}"));
	for (gsize i = 0; each && i < g_variant_n_children(each); i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(each, i);

		take_row(out->events, row);
	}
	return true;
}

static void look_clear(struct look *look)
{
	g_clear_pointer(&look->events, g_hash_table_unref);
}

/*
 * What was measured is that of code which this machine's CPU runs. Of what interprets the guest's
 * code nobody has said how much longer it takes.
 */
static void reckon(struct rs_cli_costs *costs, const RsTraceClientSource *source,
		   const struct look *first, const struct look *last)
{
	const gpointer key = GUINT_TO_POINTER(source->number);
	const uint64_t *from = g_hash_table_lookup(first->events, key);
	const uint64_t *to = g_hash_table_lookup(last->events, key);
	const double seconds = (double)MAX(last->at_us - first->at_us, 1) / 1e6;
	struct rs_cli_cost *cost;

	if (!from || !to)
		return;
	cost = g_new(struct rs_cli_cost, 1);
	cost->rate = (double)(MAX(*from, *to) - *from) / seconds;
	cost->event_ns = source->native ? costs->event_ns : -1;
	cost->share = cost->event_ns < 0 ? -1 : cost->rate * cost->event_ns / 1e9;
	g_hash_table_replace(costs->of, key, cost);
}

/* A few ms of the time between the two looks. */
static double measure(void)
{
	struct rs_error err = {0};
	double ns;

	if (!rs_event_cost(&ns, &err))
		return ns;
	rs_cli_fail(0, "the cost of an event could not be measured: %s", err.message);
	return -1;
}

struct rs_cli_costs *rs_cli_costs_take(RsDBusSession1 *session, const GPtrArray *sources,
				       gint64 between_us, const gint *stopped)
{
	struct rs_cli_costs *costs = NULL;
	struct look first, last = {0};
	gint64 until;

	if (!look(session, &first))
		return NULL;
	costs = g_new0(struct rs_cli_costs, 1);
	costs->of = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	costs->event_ns = measure();
	until = first.on ? first.at_us + between_us : 0;
	while (g_get_monotonic_time() < until && !(stopped && g_atomic_int_get(stopped)))
		g_usleep((gulong)MIN(LOOK_US, MAX(until - g_get_monotonic_time(), 0)));
	if (!look(session, &last))
		g_clear_pointer(&costs, rs_cli_costs_free);
	for (guint i = 0; costs && i < sources->len; i++)
		reckon(costs, sources->pdata[i], &first, &last);
	look_clear(&first);
	look_clear(&last);
	return costs;
}

void rs_cli_costs_free(struct rs_cli_costs *costs)
{
	if (!costs)
		return;
	g_hash_table_unref(costs->of);
	g_free(costs);
}

bool rs_cli_costs_of(const struct rs_cli_costs *costs, guint32 number, struct rs_cli_cost *out)
{
	const struct rs_cli_cost *cost =
		costs ? g_hash_table_lookup(costs->of, GUINT_TO_POINTER(number)) : NULL;

	if (cost)
		*out = *cost;
	return cost != NULL;
}
