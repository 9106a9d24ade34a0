/* SPDX-License-Identifier: MIT */
/* The tree of events that comes of a session's rows, and what becomes of it with the next ones. */
#include "app/rs-viewer-events.h"

#include <string.h>

typedef struct {
	guint32 source, id;
	const char *system, *name;
	gboolean on;
	const char *filter, *other; /* who else wants it */
	gboolean mine;              /* and so do we */
} Line;

static GVariant *row_of(const Line *line)
{
	g_autofree char *source = g_strdup_printf("vm%u", line->source);
	GVariantBuilder b, owners;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	g_variant_builder_add(&b, "{sv}", "source", g_variant_new_string(source));
	g_variant_builder_add(&b, "{sv}", "source_number", g_variant_new_uint32(line->source));
	g_variant_builder_add(&b, "{sv}", "id", g_variant_new_uint32(line->id));
	g_variant_builder_add(&b, "{sv}", "system", g_variant_new_string(line->system));
	g_variant_builder_add(&b, "{sv}", "name", g_variant_new_string(line->name));
	g_variant_builder_add(&b, "{sv}", "enabled", g_variant_new_boolean(line->on));
	g_variant_builder_add(&b, "{sv}", "unknown", g_variant_new_string("of a later version"));
	g_variant_builder_add(&b, "{sv}", "sites", g_variant_new_string("of a wrong type"));
	if (line->filter)
		g_variant_builder_add(&b, "{sv}", "filter", g_variant_new_string(line->filter));
	if (line->other) {
		g_variant_builder_init(&owners, G_VARIANT_TYPE("aa{sv}"));
		g_variant_builder_add_parsed(&owners, "{'name': <%s>, 'enabled': <true>}",
					     line->other);
		g_variant_builder_add_parsed(
			&owners, "{'name': <'host'>, 'enabled': <%b>, 'filter': <'mine'>}",
			line->mine);
		g_variant_builder_add(&b, "{sv}", "owners", g_variant_builder_end(&owners));
	}
	return g_variant_builder_end(&b);
}

static void take(RsViewerEvents *events, const Line *lines, guint n)
{
	g_autoptr(GVariant) rows = NULL;
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE("aa{sv}"));
	for (guint i = 0; i < n; i++)
		g_variant_builder_add_value(&b, row_of(&lines[i]));
	rows = g_variant_ref_sink(g_variant_builder_end(&b));
	rs_viewer_events_take(events, rows);
}

/* "sched(1/2): switch* wakeup;" – a star stands for on. */
static void print(GListModel *nodes, GString *out)
{
	for (guint i = 0; i < g_list_model_get_n_items(nodes); i++) {
		g_autoptr(RsViewerEvent) event = g_list_model_get_item(nodes, i);
		const RsViewerEventState state = rs_viewer_event_state(event);
		GListStore *children = rs_viewer_event_children(event);

		g_string_append_printf(out, "%s%s", rs_viewer_event_name(event),
				       state == RS_VIEWER_EVENT_ON      ? "*"
				       : state == RS_VIEWER_EVENT_MIXED ? "~"
									: "");
		if (children) {
			g_string_append(out, "( ");
			print(G_LIST_MODEL(children), out);
			g_string_append(out, ")");
		}
		g_string_append(out, " ");
	}
}

static void check(RsViewerEvents *events, const char *wanted)
{
	g_autoptr(GString) out = g_string_new(NULL);

	print(rs_viewer_events_roots(events), out);
	g_assert_cmpstr(out->str, ==, wanted);
}

static RsViewerEvent *nth(GListModel *nodes, guint n)
{
	RsViewerEvent *event = g_list_model_get_item(nodes, n);

	/* The model keeps it. */
	g_object_unref(event);
	return event;
}

static RsViewerEvent *child(RsViewerEvent *event, guint n)
{
	return nth(G_LIST_MODEL(rs_viewer_event_children(event)), n);
}

static void count_up(guint *n)
{
	++*n;
}

static void test_tree(void)
{
	g_autoptr(RsViewerEvents) events = rs_viewer_events_new();
	Line lines[] = {{1, 64, "sched", "wakeup", FALSE, NULL, NULL},
			{1, 65, "sched", "switch", TRUE, NULL, NULL},
			{1, 66, "irq", "ipi", FALSE, NULL, NULL}};
	RsViewerEvent *before;
	guint changes = 0;

	g_assert_false(rs_viewer_events_known(events));
	check(events, "");
	take(events, lines, 3);
	g_assert_true(rs_viewer_events_known(events));
	check(events, "irq( ipi ) sched~( switch* wakeup ) ");
	before = child(nth(rs_viewer_events_roots(events), 1), 1);
	g_signal_connect_swapped(before, "changed", G_CALLBACK(count_up), &changes);
	take(events, lines, 3);
	g_assert_cmpuint(changes, ==, 0);
	lines[0].on = TRUE;
	take(events, lines, 3);
	g_assert_cmpuint(changes, ==, 1);
	check(events, "irq( ipi ) sched*( switch* wakeup* ) ");
	/* The same nodes: what is open and chosen stays so. */
	g_assert_true(child(nth(rs_viewer_events_roots(events), 1), 1) == before);
	g_assert_cmpuint(g_list_model_get_n_items(rs_viewer_events_all(events)), ==, 3);
	take(events, lines + 1, 1);
	check(events, "sched*( switch* ) ");
	g_assert_cmpuint(g_list_model_get_n_items(rs_viewer_events_all(events)), ==, 1);
	take(events, NULL, 0);
	check(events, "");
}

static char *glob(RsViewerEvents *events, RsViewerEvent *event)
{
	return rs_viewer_events_glob(events, event);
}

/* With several sources each is at the top, and globs name them. */
static void test_sources(void)
{
	g_autoptr(RsViewerEvents) events = rs_viewer_events_new();
	const Line lines[] = {{1, 64, "sched", "switch", TRUE, NULL, NULL},
			      {2, 64, "sched", "switch", FALSE, NULL, NULL}};
	g_autofree char *one = NULL, *two = NULL, *system = NULL, *source = NULL;
	guint moves = 0;

	take(events, lines, 1);
	one = glob(events, child(nth(rs_viewer_events_roots(events), 0), 0));
	g_assert_cmpstr(one, ==, "sched:switch");
	g_signal_connect_swapped(events, "notify::roots", G_CALLBACK(count_up), &moves);
	take(events, lines, 2);
	g_assert_cmpuint(moves, ==, 1);
	check(events, "vm1*( sched*( switch* ) ) vm2( sched( switch ) ) ");
	source = glob(events, nth(rs_viewer_events_roots(events), 1));
	system = glob(events, child(nth(rs_viewer_events_roots(events), 1), 0));
	two = glob(events, child(child(nth(rs_viewer_events_roots(events), 1), 0), 0));
	g_assert_cmpstr(source, ==, "vm2/*");
	g_assert_cmpstr(system, ==, "vm2/sched:*");
	g_assert_cmpstr(two, ==, "vm2/sched:switch");
	take(events, lines + 1, 1);
	g_assert_cmpuint(moves, ==, 2);
	check(events, "sched( switch ) ");
}

/* Who else wants an event, and with which filter, is told below its name. */
static void test_remarks(void)
{
	g_autoptr(RsViewerEvents) events = rs_viewer_events_new();
	Line line = {1, 64, "sched", "switch", TRUE, "(mine) || \"\x1b[2J\"", "guest"};
	RsViewerEvent *event;

	take(events, &line, 1);
	event = child(nth(rs_viewer_events_roots(events), 0), 0);
	g_assert_cmpstr(rs_viewer_event_remark(event), ==, "if (mine) || \"\\x1b[2J\" · for guest");
	line.mine = TRUE;
	line.filter = NULL;
	take(events, &line, 1);
	g_assert_cmpstr(rs_viewer_event_remark(event), ==, "also for guest");
	g_assert_cmpstr(rs_viewer_event_own_filter(event), ==, "mine");
}

/* Why nothing was changed is told in words that help. */
static void test_explain(void)
{
	g_autoptr(GError) busy = g_error_new(RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BUSY,
					     "another command is changing the session: try again");
	g_autoptr(GError) bad = g_error_new(RS_TRACE_SESSION_ERROR,
					    RS_TRACE_SESSION_ERROR_BAD_FILTER, "bad\n  a\x07\n  ^");
	g_autofree char *first = rs_viewer_events_explain(busy);
	g_autofree char *second = rs_viewer_events_explain(bad);

	g_assert_nonnull(strstr(first, "try again"));
	g_assert_cmpstr(second, ==, "bad\n  a\\x07\n  ^");
}

static void test_counts(void)
{
	g_autoptr(RsViewerEvent) source =
		rs_viewer_event_new(RS_VIEWER_EVENT_SOURCE, NULL, "vm", 1, 0);
	g_autoptr(RsViewerEvent) system =
		rs_viewer_event_new(RS_VIEWER_EVENT_SYSTEM, source, "sched", 1, 0);
	g_autoptr(RsViewerEvent) a = rs_viewer_event_new(RS_VIEWER_EVENT_EVENT, system, "a", 1, 1);
	g_autoptr(RsViewerEvent) b = rs_viewer_event_new(RS_VIEWER_EVENT_EVENT, system, "b", 1, 2);
	guint64 count;
	double rate;

	g_list_store_append(rs_viewer_event_children(system), a);
	g_list_store_append(rs_viewer_event_children(system), b);
	rs_viewer_event_set_count(a, 100, 1);
	rs_viewer_event_sum_up(system);
	g_assert_false(rs_viewer_event_count(system, &count, &rate));
	rs_viewer_event_set_count(b, 5, 1);
	rs_viewer_event_set_count(a, 150, 2);
	rs_viewer_event_sum_up(system);
	g_assert_true(rs_viewer_event_count(a, &count, &rate));
	g_assert_cmpfloat(rate, ==, 25);
	g_assert_true(rs_viewer_event_count(system, &count, &rate));
	g_assert_cmpuint(count, ==, 155);
	g_assert_cmpfloat(rate, ==, 25);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/app/events/tree", test_tree);
	g_test_add_func("/app/events/sources", test_sources);
	g_test_add_func("/app/events/remarks", test_remarks);
	g_test_add_func("/app/events/explain", test_explain);
	g_test_add_func("/app/events/counts", test_counts);
	return g_test_run();
}
