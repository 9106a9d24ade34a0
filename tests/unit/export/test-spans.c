/* SPDX-License-Identifier: MIT */
/* Which events begin and end slices, and what is drawn of them when some are lost. */
#include "rs-trace-spans.h"
#include "../decode/build.h"

#define TASK 7u

typedef struct {
	RsTraceSchema *schema;
	RsSpans *spans;
	GByteArray *descs;
	guint n;
} Room;

static void set_up(Room *room, gconstpointer unused)
{
	*room = (Room){.schema = rs_trace_schema_new(), .descs = g_byte_array_new()};
}

static void tear_down(Room *room, gconstpointer unused)
{
	rs_spans_free(room->spans);
	rs_trace_schema_free(room->schema);
	g_byte_array_unref(room->descs);
}

static void add(Room *room, const char *system, const char *name, const char *field)
{
	TestDesc *desc = test_desc_new(RS_FIRST_EVENT_ID + room->n++, system, name);

	if (field)
		test_desc_int(desc, field, RS_KIND_UINT, 4);
	test_desc_end(desc, NULL, NULL, room->descs);
}

/* Ends the description, with what a user asks for. */
static void begin(Room *room, const char *const *slices, const char *const *counters)
{
	const RsTraceExportConfig config = {.slices = slices, .counters = counters};
	g_autoptr(GError) error = NULL;

	test_take(room->schema, 0, room->descs);
	room->spans = rs_spans_new(&config, NULL, &error);
	g_assert_no_error(error);
}

static const RsSpanClass *class_of(Room *room, const char *system, const char *name)
{
	return rs_spans_class(room->spans, rs_trace_schema_by_name(room->schema, system, name));
}

/* What an event of `task` is, with the slices that it ends before: "]]B". */
static void check(Room *room, guint64 task, const char *system, const char *name,
		  const char *expected)
{
	g_autoptr(GString) text = g_string_new(NULL);
	RsSpanStep step = rs_spans_step(room->spans, task, 1, class_of(room, system, name));

	for (guint n = step.inside; n; n--)
		g_string_append_c(text, ']');
	g_string_append_c(text, "iBE"[step.phase]);
	g_assert_cmpstr(text->str, ==, expected);
}

static void test_names(Room *room, gconstpointer unused)
{
	static const struct {
		const char *name, *span;
		RsSpanPhase phase;
	} rows[] = {{"read_begin", "x:read", RS_SPAN_BEGIN},
		    {"read_end", "x:read", RS_SPAN_END},
		    {"sys_enter", "x:sys", RS_SPAN_BEGIN},
		    {"sys_entry", "x:sys", RS_SPAN_BEGIN},
		    {"sys_exit", "x:sys", RS_SPAN_END},
		    {"enter", "x", RS_SPAN_BEGIN},
		    {"exit", "x", RS_SPAN_END},
		    {"beginend", NULL, RS_SPAN_INSTANT},
		    {"weekend", NULL, RS_SPAN_INSTANT},
		    {"end_read", NULL, RS_SPAN_INSTANT}};

	for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
		add(room, "x", rows[i].name, NULL);
	begin(room, NULL, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		const RsSpanClass *class = class_of(room, "x", rows[i].name);

		g_assert_cmpint(class->phase, ==, rows[i].phase);
		g_assert_cmpstr(class->span, ==, rows[i].span);
	}
}

static void test_slices_are_nested(Room *room, gconstpointer unused)
{
	add(room, "x", "a_begin", NULL);
	add(room, "x", "a_end", NULL);
	add(room, "x", "b_enter", NULL);
	add(room, "x", "b_exit", NULL);
	add(room, "task", "exit", NULL);
	begin(room, NULL, NULL);
	check(room, TASK, "x", "a_end", "i"); /* its begin was lost */
	check(room, TASK, "x", "a_begin", "B");
	check(room, TASK + 1, "x", "a_end", "i"); /* of another task */
	check(room, TASK, "x", "b_enter", "B");
	check(room, TASK, "x", "b_enter", "B");
	check(room, TASK, "x", "a_end", "]]E"); /* their ends were lost */
	check(room, TASK, "x", "b_exit", "i");
	check(room, TASK, "x", "a_begin", "B");
	check(room, TASK, "x", "b_enter", "B");
	check(room, TASK, "task", "exit", "]]i");
	check(room, TASK, "x", "a_end", "i");
	/* An end of one kind of words is not that of another. */
	check(room, TASK, "x", "a_begin", "B");
	check(room, TASK, "x", "b_exit", "i");
}

static void test_depth_is_bounded(Room *room, gconstpointer unused)
{
	add(room, "x", "a_begin", NULL);
	add(room, "x", "a_end", NULL);
	begin(room, NULL, NULL);
	for (guint i = 0; i < 32; i++)
		check(room, TASK, "x", "a_begin", "B");
	check(room, TASK, "x", "a_begin", "i");
	check(room, TASK, "x", "a_end", "i");
	for (guint i = 0; i < 32; i++)
		check(room, TASK, "x", "a_end", "E");
	check(room, TASK, "x", "a_end", "i");
	g_assert_cmpuint(rs_spans_too_deep(room->spans), ==, 1);
}

/* Recursion: the ends of what is too deep are not those of the slices around it. */
static void test_what_is_too_deep_keeps_its_ends(Room *room, gconstpointer unused)
{
	const guint depth = 1000;

	add(room, "x", "a_begin", NULL);
	add(room, "x", "a_end", NULL);
	add(room, "x", "b_begin", NULL);
	add(room, "x", "b_end", NULL);
	add(room, "task", "exit", NULL);
	begin(room, NULL, NULL);
	for (guint i = 0; i < depth; i++)
		check(room, TASK, "x", "a_begin", i < 32 ? "B" : "i");
	for (guint i = depth; i > 0; i--)
		check(room, TASK, "x", "a_end", i <= 32 ? "E" : "i");
	g_assert_cmpuint(rs_spans_too_deep(room->spans), ==, depth - 32);
	/* The end of an outer one ends them too. */
	check(room, TASK, "x", "b_begin", "B");
	for (guint i = 0; i < 50; i++)
		check(room, TASK, "x", "a_begin", i < 31 ? "B" : "i");
	check(room, TASK, "x", "b_end", "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]E");
	check(room, TASK, "x", "a_end", "i");
	for (guint i = 0; i < depth; i++)
		check(room, TASK, "x", "a_begin", i < 32 ? "B" : "i");
	check(room, TASK, "task", "exit", "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]i");
	check(room, TASK, "x", "a_begin", "B");
	check(room, TASK, "x", "a_end", "E");
}

/* The thread group of a task may become known inside its slices. */
static void test_ends_are_in_the_process_of_their_begin(Room *room, gconstpointer unused)
{
	const RsSpanClass *begins, *ends, *outer, *last;
	RsSpanStep step;

	add(room, "x", "a_begin", NULL);
	add(room, "x", "a_end", NULL);
	add(room, "x", "b_begin", NULL);
	add(room, "x", "b_end", NULL);
	add(room, "task", "exit", NULL);
	begin(room, NULL, NULL);
	begins = class_of(room, "x", "a_begin");
	ends = class_of(room, "x", "a_end");
	outer = class_of(room, "x", "b_begin");
	last = class_of(room, "task", "exit");
	g_assert_cmpint(rs_spans_step(room->spans, TASK, 5, begins).process, ==, 5);
	g_assert_cmpint(rs_spans_step(room->spans, TASK, 4, begins).process, ==, 4);
	g_assert_cmpint(rs_spans_step(room->spans, TASK, 3, ends).process, ==, 4);
	g_assert_cmpint(rs_spans_step(room->spans, TASK, 3, ends).process, ==, 5);
	g_assert_cmpint(rs_spans_step(room->spans, TASK, 3, ends).process, ==, 3);
	rs_spans_step(room->spans, TASK, 6, outer);
	rs_spans_step(room->spans, TASK, 7, begins);
	rs_spans_step(room->spans, TASK, 8, begins);
	step = rs_spans_step(room->spans, TASK, 3, class_of(room, "x", "b_end"));
	g_assert_cmpint(step.process, ==, 6);
	g_assert_cmpuint(step.inside, ==, 2);
	g_assert_cmpint(step.processes[0], ==, 7);
	g_assert_cmpint(step.processes[1], ==, 8);
	rs_spans_step(room->spans, TASK, 9, begins);
	step = rs_spans_step(room->spans, TASK, 3, last);
	g_assert_cmpint(step.process, ==, 3);
	g_assert_cmpuint(step.inside, ==, 1);
	g_assert_cmpint(step.processes[0], ==, 9);
}

static void test_what_a_user_asks_for(Room *room, gconstpointer unused)
{
	static const char *const slices[] = {"irq..x:done", NULL};
	static const char *const counters[] = {"x:done.left", "irq.none", NULL};

	add(room, "x", "irq", NULL);
	add(room, "x", "done", "left");
	add(room, "y", "done", "left");
	add(room, "y", "level", "value");
	begin(room, slices, counters);
	check(room, TASK, "x", "irq", "B");
	check(room, TASK, "y", "done", "i");
	check(room, TASK, "x", "done", "E");
	g_assert_cmpstr(class_of(room, "x", "done")->counter_name, ==, "x:done.left");
	g_assert_cmpint(class_of(room, "y", "done")->counter, ==, -1);
	g_assert_cmpint(class_of(room, "x", "irq")->counter, ==, -1);
	g_assert_cmpstr(class_of(room, "y", "level")->counter_name, ==, "y:level.value");
}

/* These are pairs of names with one g_str_hash(). */
static void test_names_of_one_hash_differ(Room *room, gconstpointer unused)
{
	GHashTable *tracks = rs_tracks_new();

	add(room, "x", "ab", "value");
	add(room, "x", "bA", "value");
	add(room, "x", "ab_begin", NULL);
	add(room, "x", "bA_end", NULL);
	begin(room, NULL, NULL);
	g_assert_cmpuint(g_str_hash(class_of(room, "x", "ab")->counter_name), ==,
			 g_str_hash(class_of(room, "x", "bA")->counter_name));
	g_assert_cmpuint(class_of(room, "x", "ab")->counter_id, !=,
			 class_of(room, "x", "bA")->counter_id);
	check(room, TASK, "x", "ab_begin", "B");
	check(room, TASK, "x", "bA_end", "i");
	g_assert_true(rs_tracks_is_news(tracks, TASK, 1, "ab"));
	g_assert_false(rs_tracks_is_news(tracks, TASK, 1, "ab"));
	g_assert_true(rs_tracks_is_news(tracks, TASK, 1, "bA"));
	g_assert_true(rs_tracks_is_news(tracks, TASK, 2, "bA"));
	g_assert_true(rs_tracks_is_news(tracks, TASK + 1, 2, "bA"));
	g_assert_false(rs_tracks_is_news(tracks, TASK, 2, "bA"));
	g_hash_table_unref(tracks);
}

static void test_tracks_differ(void)
{
	g_assert_cmpuint(rs_track(RS_TRACK_TASK, 0, 5), !=, rs_track(RS_TRACK_TASK, 1, 5));
	g_assert_cmpuint(rs_track(RS_TRACK_TASK, 0, 5), !=, rs_track(RS_TRACK_PROCESS, 0, 5));
	g_assert_cmpint(rs_track_pid(0, 0xffffffff), >=, 0);
	g_assert_cmpint(rs_track_pid(0xffffff, 0xffffffff), >=, 0);
	g_assert_cmpint(rs_track_pid(2, 7), ==, 2 * (1 << 22) + 7);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/export/spans/names", Room, NULL, set_up, test_names, tear_down);
	g_test_add("/export/spans/nested", Room, NULL, set_up, test_slices_are_nested, tear_down);
	g_test_add("/export/spans/depth", Room, NULL, set_up, test_depth_is_bounded, tear_down);
	g_test_add("/export/spans/too-deep", Room, NULL, set_up,
		   test_what_is_too_deep_keeps_its_ends, tear_down);
	g_test_add("/export/spans/processes", Room, NULL, set_up,
		   test_ends_are_in_the_process_of_their_begin, tear_down);
	g_test_add("/export/spans/user", Room, NULL, set_up, test_what_a_user_asks_for, tear_down);
	g_test_add("/export/spans/one-hash", Room, NULL, set_up, test_names_of_one_hash_differ,
		   tear_down);
	g_test_add_func("/export/spans/tracks", test_tracks_differ);
	return g_test_run();
}
