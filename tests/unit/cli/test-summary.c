/* SPDX-License-Identifier: MIT */
#include "cli/summary.h"

#include <json-glib/json-glib.h>

static struct rs_source_stat *sample(void)
{
	struct rs_source_stat *stat = g_new0(struct rs_source_stat, 1);

	stat->written = 100;
	stat->dropped = 4;
	stat->overrun = 9;
	stat->sites = 15;
	stat->patches = 12;
	stat->batches = 5;
	stat->pause_last_ns = 58340;
	stat->pause_max_ns = 90149;
	stat->target.exits = 8;
	stat->target.kvm_exits = 250;
	stat->hypercalls = 4;
	stat->bad_hypercalls = 1;
	stat->target.doorbells = 6;
	stat->turned_away = 1;
	stat->target.console_waiting = 30;
	stat->target.console_lost = 3;
	return stat;
}

static void test_text(void)
{
	g_autofree struct rs_source_stat *stat = sample();
	struct rs_printer_stats printed = {.events = 95, .lost = 5};
	g_autofree char *text = rs_summary_text(stat, &printed, false);

	g_assert_cmpstr(text, ==,
			"# events: 100 recorded, 95 printed, 5 lost, 4 dropped\n"
			"# patches: 12 in 5 batches; 15 sites, 0 refused; pause last 58.3 us, "
			"max 90.1 us\n"
			"# exits: 250, by timers, console, page faults, doorbells …; an event by "
			"itself causes none\n"
			"# hypercalls: 4 (1 bad), doorbells 6\n"
			"# untraced: 1 program found no free region, as they say (--regions)\n");
}

static void test_text_no_pause(void)
{
	g_autofree struct rs_source_stat *stat = sample();
	struct rs_printer_stats printed = {.events = 95, .lost = 5};
	g_autofree char *text = NULL;

	stat->pause_last_ns = stat->pause_max_ns = 0;
	text = rs_summary_text(stat, &printed, false);
	g_assert_nonnull(strstr(text, "; 15 sites, 0 refused; no pause\n"));
}

/* The reader of the output went away, or did not read on. */
static void test_text_unread(void)
{
	g_autofree struct rs_source_stat *stat = sample();
	struct rs_printer_stats printed = {.events = 60, .lost = 5, .closed = true};
	g_autofree char *closed = rs_summary_text(stat, &printed, false), *unread = NULL,
			*claimed = NULL;

	g_assert_true(g_str_has_prefix(closed, "# events: 100 recorded, 60 printed, 5 lost, "
					       "4 dropped, 35 not read\n"));
	printed.closed = false;
	printed.unread = true;
	unread = rs_summary_text(stat, &printed, false);
	g_assert_cmpstr(unread, ==, closed);
	stat->written = 3;
	claimed = rs_summary_text(stat, &printed, false);
	g_assert_nonnull(strstr(claimed, " 0 not read\n"));
}

static void test_text_of_another_target(void)
{
	g_autofree struct rs_source_stat *stat = sample();
	struct rs_printer_stats printed = {.events = 100, .bad_records = 2};
	g_autofree char *text = NULL;

	stat->target.exits = stat->target.kvm_exits = 0;
	stat->self_patch = true;
	stat->sites_refused = 1;
	text = rs_summary_text(stat, &printed, false);
	g_assert_cmpstr(text, ==,
			"# events: 100 recorded, 100 printed, 0 lost, 4 dropped\n"
			"# bad: 2 records made no sense\n"
			"# patches: by the guest itself, 1 refused\n"
			"# hypercalls: 4 (1 bad), doorbells 6\n"
			"# untraced: 1 program found no free region, as they say (--regions)\n");
}

/* Who attaches again to memory that others had learns what his own session recorded. */
static void test_what_was_before(void)
{
	g_autofree struct rs_source_stat *stat = sample();
	struct rs_printer_stats printed = {.events = 70};
	g_autofree char *text = NULL, *bridged = NULL, *json = NULL;

	stat->before = (struct rs_ring_sums){.written = 60, .dropped = 3, .overrun = 8};
	text = rs_summary_text(stat, &printed, false);
	g_assert_true(g_str_has_prefix(text, "# events: 40 recorded (and 60 before), 70 printed, "
					     "0 lost, 1 dropped\n"));
	json = rs_summary_json(stat, &printed);
	g_assert_nonnull(strstr(json, "\"recorded\":40,\"recorded_before\":60,"));
	g_assert_nonnull(strstr(json, "\"dropped\":1,\"overrun\":1,"));
	stat->bridge = true;
	stat->before.written = 0;
	bridged = rs_summary_text(stat, &printed, false);
	g_assert_true(g_str_has_prefix(bridged, "# events: 100 pages recorded, 70 printed, "));
}

/* A guest in a QEMU makes no hypercalls but its hello. */
static void test_what_says_nothing(void)
{
	struct rs_source_stat stat = {.hypercalls = 2};
	struct rs_printer_stats printed = {0};
	g_autofree char *text = rs_summary_text(&stat, &printed, false);

	g_assert_null(strstr(text, "hypercalls"));
	g_assert_null(strstr(text, "exits"));
}

static void test_text_exits(void)
{
	g_autofree struct rs_source_stat *stat = sample();
	struct rs_printer_stats printed = {0};
	g_autofree char *both = NULL, *own = NULL;

	stat->batches = 1;
	printed.bad_records = 1;
	both = rs_summary_text(stat, &printed, false);
	g_assert_nonnull(strstr(both, "in 1 batch;"));
	g_assert_nonnull(strstr(both, "# bad: 1 record made"));
	g_assert_nonnull(strstr(both, "# exits: 250, by timers, "));
	/* They are not the events' doing, so no quotient says how many an event has. */
	g_assert_null(strstr(both, "each event"));
	/* If KVM's count is not known, use the exits to our VMM. */
	stat->target.kvm_exits = 0;
	own = rs_summary_text(stat, &printed, false);
	g_assert_nonnull(strstr(own, "# exits: 8, by"));
}

static void test_text_lost(void)
{
	g_autofree struct rs_source_stat *stat = sample();
	struct rs_printer_stats printed = {.events = 95, .lost = 5};
	g_autofree char *text = NULL;

	stat->lost_no_ring = 7;
	text = rs_summary_text(stat, &printed, false);
	g_assert_nonnull(strstr(text, "\n# lost besides, as the guest counts them: 7 for want of a "
				      "ring, 0 to deep nesting\n"));
}

static void test_json(void)
{
	static const struct {
		const char *name;
		gint64 value;
	} cases[] = {
		{"recorded", 100},     {"recorded_before", 0},
		{"printed", 95},       {"lost", 5},
		{"dropped", 4},        {"overrun", 9},
		{"bad_records", 1},    {"sites", 15},
		{"sites_refused", 0},  {"patches", 12},
		{"patch_batches", 5},  {"exits", 8},
		{"kvm_exits", 250},    {"pause_last_ns", 58340},
		{"hypercalls", 4},     {"pause_max_ns", 90149},
		{"bad_hypercalls", 1}, {"doorbells", 6},
		{"turned_away", 1},    {"console_unread", 33},
		{"lost_no_ring", 7},   {"lost_nested", 3},
	};
	g_autofree struct rs_source_stat *stat = sample();
	struct rs_printer_stats printed = {.events = 95, .lost = 5, .bad_records = 1};
	g_autofree char *text = NULL;
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *summary;

	stat->lost_no_ring = 7;
	stat->lost_nested = 3;
	text = rs_summary_json(stat, &printed);
	g_assert_null(strchr(text, '\n'));
	g_assert_true(json_parser_load_from_data(parser, text, -1, NULL));
	summary = json_object_get_object_member(json_node_get_object(json_parser_get_root(parser)),
						"summary");
	g_assert_nonnull(summary);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(json_object_get_int_member(summary, cases[i].name), ==,
				cases[i].value);
	g_assert_cmpuint(json_object_get_size(summary), ==, G_N_ELEMENTS(cases));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cli/summary/unread", test_text_unread);
	g_test_add_func("/cli/summary/text", test_text);
	g_test_add_func("/cli/summary/text-no-pause", test_text_no_pause);
	g_test_add_func("/cli/summary/text-of-another-target", test_text_of_another_target);
	g_test_add_func("/cli/summary/text-exits", test_text_exits);
	g_test_add_func("/cli/summary/before", test_what_was_before);
	g_test_add_func("/cli/summary/nothing", test_what_says_nothing);
	g_test_add_func("/cli/summary/lost", test_text_lost);
	g_test_add_func("/cli/summary/json", test_json);
	return g_test_run();
}
