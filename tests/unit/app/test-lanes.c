/* SPDX-License-Identifier: MIT */
#include "../timeline/records.h"
#include "app/rs-viewer-lanes.h"

/* The labels of what is seen, by their places: "CPU 0 | CPU 1". */
static char *seen(RsViewerLanes *lanes, gboolean pinned)
{
	GString *out = g_string_new(NULL);
	guint n, y = 0;
	const RsViewerPlace *places = rs_viewer_lanes_places(lanes, pinned, &n);

	for (guint i = 0; i < n; i++) {
		g_assert_cmpuint(places[i].y, ==, y);
		g_assert_cmpuint(rs_viewer_lanes_at(lanes, pinned, y), ==, i);
		y += places[i].lane->height;
		g_assert_cmpuint(rs_viewer_lanes_at(lanes, pinned, y - 0.5), ==, i);
		g_string_append_printf(out, "%s%s", i ? " | " : "", places[i].lane->label);
	}
	g_assert_cmpuint(rs_viewer_lanes_height(lanes, pinned), ==, y);
	g_assert_cmpuint(rs_viewer_lanes_at(lanes, pinned, y), ==, G_MAXUINT);
	g_assert_cmpuint(rs_viewer_lanes_at(lanes, pinned, -1), ==, G_MAXUINT);
	return g_string_free(out, FALSE);
}

static void check(RsViewerLanes *lanes, gboolean pinned, const char *wanted)
{
	g_autofree char *got = seen(lanes, pinned);

	g_assert_cmpstr(got, ==, wanted);
}

static RsViewerLane *lane(RsViewerLanes *lanes, const char *label)
{
	for (guint pinned = 0; pinned < 2; pinned++) {
		guint n;
		const RsViewerPlace *places = rs_viewer_lanes_places(lanes, pinned, &n);

		for (guint i = 0; i < n; i++)
			if (g_str_equal(places[i].lane->label, label))
				return places[i].lane;
	}
	g_error("no lane %s", label);
}

static gboolean follow_tasks(RsViewerLanes *lanes, Guest *guest)
{
	gboolean changed;

	guest_flush(guest);
	rs_trace_timeline_lock(guest->timeline);
	changed = rs_viewer_lanes_sync(lanes, guest->timeline);
	rs_trace_timeline_unlock(guest->timeline);
	return changed;
}

static void fill(Guest *guest)
{
	guest_init(guest);
	guest_event(guest, 0, 1, 10, 7, 0);
	guest_event(guest, 0, 0, 11, 8, 1);
	guest_event(guest, 2, 0, 12, 9, 2);
}

#define ALL "kernel | CPU 0 | CPU 1 | Tasks | task7 7 | task8 8 | other | CPU 0 | Tasks | task9 9"

static void test_sync(void)
{
	g_autoptr(RsViewerLanes) lanes = rs_viewer_lanes_new(NULL);
	Guest guest;

	check(lanes, FALSE, "");
	fill(&guest);
	g_assert_true(follow_tasks(lanes, &guest));
	check(lanes, FALSE, ALL);
	g_assert_false(follow_tasks(lanes, &guest));
	guest_event(&guest, 0, 2, 20, 7, 0);
	g_assert_true(follow_tasks(lanes, &guest));
	check(lanes, FALSE,
	      "kernel | CPU 0 | CPU 1 | CPU 2 | Tasks | task7 7 | task8 8 | other | CPU 0 | "
	      "Tasks | task9 9");
	guest_clear(&guest);
}

static void test_find(void)
{
	g_autoptr(RsViewerLanes) lanes = rs_viewer_lanes_new(NULL);
	Guest guest;

	fill(&guest);
	follow_tasks(lanes, &guest);
	rs_viewer_lanes_fold(lanes, lane(lanes, "kernel"), TRUE);
	check(lanes, FALSE, "kernel | other | CPU 0 | Tasks | task9 9");
	/* It opens what is folded, in upper and lower case, and new lanes are searched too. */
	rs_viewer_lanes_find(lanes, "TASK7");
	check(lanes, FALSE, "kernel | Tasks | task7 7");
	rs_viewer_lanes_find(lanes, "oth");
	check(lanes, FALSE, "other | CPU 0 | Tasks | task9 9");
	guest_event(&guest, 2, 1, 20, 10, 0);
	follow_tasks(lanes, &guest);
	check(lanes, FALSE, "other | CPU 0 | CPU 1 | Tasks | task9 9 | task10 10");
	rs_viewer_lanes_find(lanes, "nobody");
	check(lanes, FALSE, "");
	rs_viewer_lanes_find(lanes, "");
	check(lanes, FALSE, "kernel | other | CPU 0 | CPU 1 | Tasks | task9 9 | task10 10");
	guest_clear(&guest);
}

/* Who is called something else while a search is on leaves the view, and others come into it. */
static void test_rename(void)
{
	g_autoptr(RsViewerLanes) lanes = rs_viewer_lanes_new(NULL);
	const double height = 26 + 22 + 1; /* headings, and one task */
	Guest guest;

	fill(&guest);
	guest_event(&guest, 0, 0, 13, 6, 0);
	follow_tasks(lanes, &guest);
	rs_viewer_lanes_find(lanes, "task");
	check(lanes, FALSE,
	      "kernel | Tasks | task7 7 | task8 8 | task6 6 | other | Tasks | task9 9");
	guest_switch(&guest, 0, 20, 6, 0, 7, "ls");
	guest_switch(&guest, 0, 21, 6, 0, 8, "cat");
	follow_tasks(lanes, &guest);
	rs_trace_timeline_lock(guest.timeline);
	g_assert_true(rs_viewer_lanes_name_tasks(lanes, FALSE, 0, height, guest.timeline));
	g_assert_false(rs_viewer_lanes_name_tasks(lanes, FALSE, 0, height, guest.timeline));
	rs_trace_timeline_unlock(guest.timeline);
	check(lanes, FALSE, "kernel | Tasks | task6 6 | other | Tasks | task9 9");
	rs_viewer_lanes_find(lanes, "");
	check(lanes, FALSE,
	      "kernel | CPU 0 | CPU 1 | Tasks | ls 7 | cat 8 | task6 6 | other | CPU 0 | Tasks | "
	      "task9 9");
	guest_clear(&guest);
}

static void test_choice(void)
{
	g_autoptr(RsViewerLanes) lanes = rs_viewer_lanes_new(NULL);
	RsViewerLane *added, *second;
	Guest guest;

	fill(&guest);
	follow_tasks(lanes, &guest);
	added = rs_viewer_lanes_choose(lanes, RS_VIEWER_LANE_EVENTS, "test:*");
	second = rs_viewer_lanes_choose(lanes, RS_VIEWER_LANE_PAIR, "a..b");
	g_assert_true(rs_viewer_lanes_choose(lanes, RS_VIEWER_LANE_EVENTS, "test:*") == added);
	check(lanes, FALSE, "test:* | a..b | " ALL);
	g_assert_true(rs_viewer_lanes_move(lanes, second, FALSE));
	g_assert_false(rs_viewer_lanes_move(lanes, second, FALSE));
	check(lanes, FALSE, "a..b | test:* | " ALL);
	rs_viewer_lanes_remove(lanes, second);
	rs_viewer_lanes_pin(lanes, lane(lanes, "task8 8"), TRUE);
	rs_viewer_lanes_pin(lanes, added, TRUE);
	check(lanes, TRUE, "task8 8 | test:*");
	g_assert_true(rs_viewer_lanes_move(lanes, added, FALSE));
	check(lanes, TRUE, "test:* | task8 8");
	rs_viewer_lanes_hide(lanes, lane(lanes, "CPU 1"), TRUE);
	rs_viewer_lanes_hide(lanes, lane(lanes, "task7 7"), TRUE);
	g_assert_cmpuint(rs_viewer_lanes_n_hidden(lanes), ==, 2);
	/* Without a lane of its own a heading is not seen. */
	check(lanes, FALSE, "kernel | CPU 0 | other | CPU 0 | Tasks | task9 9");
	rs_viewer_lanes_show_all(lanes);
	rs_viewer_lanes_pin(lanes, lane(lanes, "task8 8"), FALSE);
	check(lanes, FALSE, ALL);
	for (guint i = 0; i < 2 * RS_VIEWER_LANES_CHOSEN; i++) {
		g_autofree char *text = g_strdup_printf("%u", i);

		rs_viewer_lanes_choose(lanes, RS_VIEWER_LANE_EVENTS, text);
	}
	g_assert_cmpuint(rs_viewer_lanes_chosen(lanes)->len, ==, RS_VIEWER_LANES_CHOSEN);
	guest_clear(&guest);
}

/* All of it comes back, also for lanes that are not there yet when it is loaded. */
static void test_file(void)
{
	g_autoptr(RsViewerLanes) lanes = rs_viewer_lanes_new(NULL);
	g_autoptr(GKeyFile) file = g_key_file_new(), again = g_key_file_new();
	g_autofree char *text = NULL, *text_again = NULL;
	Guest guest;

	fill(&guest);
	follow_tasks(lanes, &guest);
	rs_viewer_lanes_choose(lanes, RS_VIEWER_LANE_COUNTER, "test:a.x; y");
	rs_viewer_lanes_pin(lanes, lane(lanes, "task9 9"), TRUE);
	rs_viewer_lanes_pin(lanes, lane(lanes, "task7 7"), TRUE);
	rs_viewer_lanes_move(lanes, lane(lanes, "task7 7"), FALSE);
	rs_viewer_lanes_move(lanes, lane(lanes, "CPU 1"), FALSE);
	rs_viewer_lanes_set_height(lanes, lane(lanes, "CPU 1"), 77);
	rs_viewer_lanes_hide(lanes, lane(lanes, "task8 8"), TRUE);
	rs_viewer_lanes_fold(lanes, lane(lanes, "other"), TRUE);
	rs_viewer_lanes_save(lanes, file, "g");
	text = g_key_file_to_data(file, NULL, NULL);
	for (guint early = 0; early < 2; early++) {
		g_autoptr(RsViewerLanes) other = rs_viewer_lanes_new(NULL);

		if (!early)
			follow_tasks(other, &guest);
		rs_viewer_lanes_load(other, file, "g");
		if (early)
			follow_tasks(other, &guest);
		check(other, FALSE, "test:a.x; y | kernel | CPU 1 | CPU 0 | other");
		check(other, TRUE, "task7 7 | task9 9");
		g_assert_cmpuint(lane(other, "CPU 1")->height, ==, 77);
		if (early)
			continue;
		rs_viewer_lanes_save(other, again, "g");
		text_again = g_key_file_to_data(again, NULL, NULL);
		g_assert_cmpstr(text, ==, text_again);
		/* Nothing is left of it. */
		g_key_file_remove_group(again, "g", NULL);
		rs_viewer_lanes_load(other, again, "g");
		check(other, FALSE, ALL);
		check(other, TRUE, "");
	}
	guest_clear(&guest);
}

static void test_bad_file(void)
{
	static const char bad[] =
		"[g]\nlanes=events:;pair;nonsense:x;task:1:2:3;counter:\\\\;\n"
		"pinned=cpu:0:0;cpu:0:0;;x\nhidden=\\\nheights=999999999999:cpu:0:1;"
		"cpu;:;-3:task:0:1:7\norder=;;;cpu:0:1\nfolded=tasks:99999999\n";
	g_autoptr(RsViewerLanes) lanes = rs_viewer_lanes_new(NULL);
	g_autoptr(GKeyFile) file = g_key_file_new();
	Guest guest;

	fill(&guest);
	follow_tasks(lanes, &guest);
	g_assert_true(g_key_file_load_from_data(file, bad, sizeof(bad) - 1, 0, NULL));
	rs_viewer_lanes_load(lanes, file, "g");
	check(lanes, TRUE, "CPU 0");
	g_assert_cmpuint(lane(lanes, "CPU 1")->height, ==, RS_VIEWER_LANE_HIGH);
	guest_clear(&guest);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lanes/sync", test_sync);
	g_test_add_func("/lanes/find", test_find);
	g_test_add_func("/lanes/rename", test_rename);
	g_test_add_func("/lanes/choice", test_choice);
	g_test_add_func("/lanes/file", test_file);
	g_test_add_func("/lanes/bad-file", test_bad_file);
	return g_test_run();
}
