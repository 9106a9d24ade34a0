/* SPDX-License-Identifier: MIT */
#include "filter/rs-trace-selection.h"
#include "build.h"
#include "rs-trace-error.h"

#include <string.h>

/* A schema with sched:switch and demo:all, and a record of each. */
typedef struct {
	RsTraceSchema *schema;
	GByteArray *all;
	guint32 pair[2];
	RsTraceRecord of_switch, of_all;
	RsTraceTask task;
} Fixture;

static void set_up(Fixture *f, gconstpointer unused)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();

	test_desc_switch(descs);
	test_desc_all(descs);
	f->schema = rs_trace_schema_new();
	test_take(f->schema, 0, descs);
	f->all = test_payload_all();
	f->pair[0] = 3;
	f->pair[1] = 4;
	f->task = (RsTraceTask){.comm = "lz-1", .tgid = 70};
	f->of_switch = f->of_all =
		(RsTraceRecord){.ns = 1000, .sorted_ns = 1000, .pid = 7, .ring = 1};
	f->of_switch.id = TEST_SWITCH;
	f->of_switch.event = rs_trace_schema_by_id(f->schema, TEST_SWITCH);
	f->of_switch.payload = (const guint8 *)f->pair;
	f->of_switch.size = sizeof(f->pair);
	f->of_all.id = TEST_ALL;
	f->of_all.event = rs_trace_schema_by_id(f->schema, TEST_ALL);
	f->of_all.payload = f->all->data;
	f->of_all.size = f->all->len;
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	rs_trace_schema_free(f->schema);
	g_byte_array_unref(f->all);
}

/* Whether a new selection wants the two records: "sa", "s-", "-a", "--". */
static const char *wants(Fixture *f, const RsTraceSelectionConfig *config)
{
	static const char *const answers[] = {"--", "s-", "-a", "sa"};
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceSelection) s = rs_trace_selection_new(config, &error);
	guint answer = 0;

	g_assert_no_error(error);
	/* twice, since the second time nothing is compiled */
	for (guint i = 0; i < 2; i++) {
		guint again = 0;

		again |= rs_trace_selection_matches(s, &f->of_switch, &f->task) ? 1 : 0;
		again |= rs_trace_selection_matches(s, &f->of_all, &f->task) ? 2 : 0;
		g_assert_true(!i || answer == again);
		answer = again;
	}
	rs_trace_selection_finish(s, &error);
	g_assert_no_error(error);
	return answers[answer];
}

static const char *filtered(Fixture *f, const char *expression)
{
	return wants(f, &(RsTraceSelectionConfig){.filters = (const char *[]){expression, NULL}});
}

static const char *only(Fixture *f, const char *filter)
{
	return wants(f, &(RsTraceSelectionConfig){.filters = (const char *[]){filter, NULL},
						  .only_filtered = TRUE});
}

static void test_filters(Fixture *f, gconstpointer unused)
{
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){0}), ==, "sa");
	/* only where it is true: not of an event that has none of its fields */
	g_assert_cmpstr(filtered(f, "prev == 3"), ==, "s-");
	g_assert_cmpstr(filtered(f, "prev == 4"), ==, "--");
	g_assert_cmpstr(filtered(f, "s < 0"), ==, "-a");
	g_assert_cmpstr(filtered(f, "prev == 3 || s == -5"), ==, "sa");
	/* a term of another event's field is left out */
	g_assert_cmpstr(filtered(f, "prev == 3 && s == -5"), ==, "sa");
	g_assert_cmpstr(filtered(f, "why == \"done!\""), ==, "-a");
	g_assert_cmpstr(filtered(f, "why ~ d*x"), ==, "--");
	g_assert_cmpstr(filtered(f, "comm == bash"), ==, "-a"); /* its field hides the task's */
	g_assert_cmpstr(filtered(f, "state == R"), ==, "--");
	g_assert_cmpstr(filtered(f, "COMM ~ lz-*"), ==, "sa");
	g_assert_cmpstr(filtered(f, "COMM == lz"), ==, "--");
	g_assert_cmpstr(filtered(f, "PID == 7 && TGID == 70 && CPU == 1"), ==, "sa");
	g_assert_cmpstr(filtered(f, "CPU & CPUS{0,2-9}"), ==, "--");
	/* of the events of a glob */
	g_assert_cmpstr(filtered(f, "sched:*: prev == 4"), ==, "-a");
	g_assert_cmpstr(filtered(f, "demo:*: s == 1"), ==, "s-");
	g_assert_cmpstr(filtered(f, "sched:switch:prev == 4"), ==, "-a");
	g_assert_cmpstr(filtered(f, "why == \"a: b\""), ==, "--");
	g_assert_cmpstr(filtered(f, "demo:all:why == \"a: b\""), ==, "s-");
	/* and nothing else */
	g_assert_cmpstr(only(f, "sched:*: prev == 4"), ==, "--");
	g_assert_cmpstr(only(f, "sched:*: prev == 3"), ==, "s-");
	g_assert_cmpstr(only(f, "PID == 7"), ==, "sa");
	g_assert_cmpstr(
		wants(f, &(RsTraceSelectionConfig){.filters = (const char *[]){"demo:all: s == -5",
									       "PID == 8", NULL}}),
		==, "--");
}

static void test_lists(Fixture *f, gconstpointer unused)
{
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){.cpus = "1"}), ==, "sa");
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){.cpus = "0,2"}), ==, "--");
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){.pids = "1-9"}), ==, "sa");
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){.pids = "70"}), ==, "--");
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){.comm = "lz*"}), ==, "sa");
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){.comm = "bash"}), ==, "--");
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){.comm = "!lz*"}), ==, "--");
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){.comm = "!bash"}), ==, "sa");
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){.comm = "\\!bash"}), ==, "--");
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){.comm = "!"}), ==, "sa");
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){.events = "sched:*"}), ==, "s-");
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){.events = "none,all"}), ==, "-a");
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){.events = "sched:,demo:all"}), ==, "sa");
}

static const char *globbed(Fixture *f, const char *globs)
{
	return wants(f, &(RsTraceSelectionConfig){.events = globs});
}

/* The globs of `enable`: with a source before them, and a level and keywords behind them. */
static void test_sources_and_levels(Fixture *f, gconstpointer unused)
{
	const RsTraceOrigin guest = {.name = "guest"}, prog = {.name = "prog", .index = 1};
	RsTraceEvent event = *f->of_switch.event;
	RsTraceRecord unknown = {.ns = 1000, .sorted_ns = 1000, .origin = &guest};
	g_autoptr(RsTraceSelection) of_prog =
		rs_trace_selection_new(&(RsTraceSelectionConfig){.events = "prog/*"}, NULL);

	event.unique = 1000;
	event.level = 3;
	event.keyword = 6;
	f->of_switch.event = &event;
	f->of_switch.origin = &prog;
	f->of_all.origin = &guest;
	g_assert_cmpstr(globbed(f, "prog/*"), ==, "s-");
	g_assert_cmpstr(globbed(f, "p*/sched:switch,guest/demo:"), ==, "sa");
	g_assert_cmpstr(globbed(f, "*/all"), ==, "-a");
	g_assert_cmpstr(globbed(f, "*@level=3"), ==, "s-");
	g_assert_cmpstr(globbed(f, "*@level=2"), ==, "--");
	g_assert_cmpstr(globbed(f, "*@level=3,keyword-all=0x6,demo:*"), ==, "sa");
	g_assert_cmpstr(globbed(f, "*@level=3,keyword=0x8,demo:*"), ==, "-a");
	g_assert_cmpstr(filtered(f, "prog/*: next > 4"), ==, "-a");
	g_assert_cmpstr(filtered(f, "guest/*: u > 0"), ==, "sa");
	/* Of what nobody described, the source is known all the same. */
	g_assert_false(rs_trace_selection_matches(of_prog, &unknown, &f->task));
	unknown.origin = &prog;
	g_assert_true(rs_trace_selection_matches(of_prog, &unknown, &f->task));
}

/* Times are of a whole stream: the first record is where it begins. */
static void test_times(Fixture *f, gconstpointer unused)
{
	static const struct {
		const char *from, *until, *want; /* of records at 1000, 2000, ... 6000 */
	} rows[] = {
		{NULL, NULL, "123456"}, {"2us", NULL, "23456"},    {NULL, "2us", "1"},
		{"+2us", NULL, "3456"}, {"+1us", "+3us", "23"},    {"-2us", NULL, "456"},
		{"-2us", "-1us", "4"},  {"2001ns", "4000ns", "3"}, {"9", NULL, ""},
		{"-1", "+1", "123456"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		RsTraceSelectionConfig config = {.from = rows[i].from, .until = rows[i].until};
		g_autoptr(RsTraceSelection) s = rs_trace_selection_new(&config, NULL);
		g_autoptr(GString) got = g_string_new(NULL);
		bool needs = (rows[i].from && rows[i].from[0] == '-') ||
			     (rows[i].until && rows[i].until[0] == '-');

		g_assert_cmpint(rs_trace_selection_needs_last(s), ==, needs);
		if (needs)
			rs_trace_selection_set_last(s, 6000);
		for (guint k = 1; k <= 6; k++) {
			f->of_switch.sorted_ns = k * 1000;
			if (rs_trace_selection_matches(s, &f->of_switch, &f->task))
				g_string_append_c(got, (char)('0' + k));
		}
		g_assert_cmpstr(got->str, ==, rows[i].want);
	}
}

static void test_the_end_is_seen(Fixture *f, gconstpointer unused)
{
	RsTraceSelectionConfig config = {.until = "2us"};
	g_autoptr(RsTraceSelection) s = rs_trace_selection_new(&config, NULL);

	g_assert_true(rs_trace_selection_matches(s, &f->of_switch, &f->task));
	/* A guest whose clock is ahead does not end it, nor does any number of its records. */
	f->of_all.ns = G_MAXUINT64;
	f->of_all.sorted_ns = 2000;
	for (guint i = 0; i < 300000; i++)
		g_assert_false(rs_trace_selection_matches(s, &f->of_all, &f->task));
	g_assert_false(rs_trace_selection_is_over(s));
	g_assert_true(rs_trace_selection_matches(s, &f->of_switch, &f->task));
	f->of_all.sorted_ns = G_GUINT64_CONSTANT(10000001999);
	g_assert_false(rs_trace_selection_matches(s, &f->of_all, &f->task));
	g_assert_false(rs_trace_selection_is_over(s));
	f->of_all.sorted_ns++;
	g_assert_false(rs_trace_selection_matches(s, &f->of_all, &f->task));
	g_assert_true(rs_trace_selection_is_over(s));
	g_assert_true(rs_trace_selection_finish(s, NULL));
}

/* A loss is seen, whatever was lost. */
static void test_losses(Fixture *f, gconstpointer unused)
{
	const RsTraceRecord loss = {
		.kind = RS_TRACE_RECORD_LOSS, .sorted_ns = 1000, .lost = 5, .ring = 1};
	static const RsTraceSelectionConfig yes[] = {
		{0}, {.cpus = "1"}, {.pids = "3"}, {.comm = "x"}, {.events = "x"}};
	static const RsTraceSelectionConfig no[] = {{.cpus = "0"}, {.from = "1"}, {.until = "1us"}};

	for (guint i = 0; i < G_N_ELEMENTS(yes); i++) {
		g_autoptr(RsTraceSelection) s = rs_trace_selection_new(&yes[i], NULL);

		g_assert_true(rs_trace_selection_matches(s, &loss, &f->task));
	}
	for (guint i = 0; i < G_N_ELEMENTS(no); i++) {
		g_autoptr(RsTraceSelection) s = rs_trace_selection_new(&no[i], NULL);

		g_assert_false(rs_trace_selection_matches(s, &loss, &f->task));
	}
}

/* An event that is not known, and one of which a part is missing, as in a damaged trace. */
static void test_records_that_are_not_whole(Fixture *f, gconstpointer unused)
{
	f->of_switch.event = NULL;
	g_assert_cmpstr(filtered(f, "PID == 7"), ==, "sa");
	g_assert_cmpstr(filtered(f, "s == -5"), ==, "-a");
	g_assert_cmpstr(wants(f, &(RsTraceSelectionConfig){.events = "sched:*"}), ==, "--");
	for (guint size = 0; size < f->all->len; size++) {
		g_autofree guint8 *part = g_memdup2(f->all->data, size);

		f->of_all.payload = part;
		f->of_all.size = size;
		/* what cannot be known is shown, as a guest would record it */
		g_assert_cmpstr(filtered(f, "s == -5 && u > 1"), ==, "-a");
		g_assert_cmpstr(filtered(f, "why == \"done!\" && comm ~ b*"), ==, "-a");
	}
}

/* A descriptor that comes again may lie where the old one lay, with other fields. */
static void test_descriptors_that_come_again(Fixture *f, gconstpointer unused)
{
	RsTraceSelectionConfig config = {.filters = (const char *[]){"next == 4", NULL}};
	g_autoptr(RsTraceSelection) s = rs_trace_selection_new(&config, NULL);

	for (guint i = 0; i < 50; i++) {
		RsTraceSchema *schema = rs_trace_schema_new();
		g_autoptr(GByteArray) descs = g_byte_array_new();
		TestDesc *desc = test_desc_new(TEST_SWITCH, "sched", "switch");

		test_desc_int(desc, i % 2 ? "prev" : "next", RS_KIND_UINT, 4);
		test_desc_int(desc, i % 2 ? "next" : "prev", RS_KIND_UINT, 4);
		test_desc_end(desc, NULL, NULL, descs);
		test_take(schema, 0, descs);
		f->of_switch.event = rs_trace_schema_by_id(schema, TEST_SWITCH);
		g_assert_cmpint(rs_trace_selection_matches(s, &f->of_switch, &f->task), ==, i % 2);
		rs_trace_schema_free(schema);
	}
}

static char *failure(Fixture *f, const RsTraceSelectionConfig *config)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceSelection) s = rs_trace_selection_new(config, &error);

	if (s) {
		rs_trace_selection_matches(s, &f->of_switch, &f->task);
		rs_trace_selection_matches(s, &f->of_all, &f->task);
		g_assert_false(rs_trace_selection_finish(s, &error));
	}
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	return g_strdup(error->message);
}

static void test_mistakes(Fixture *f, gconstpointer unused)
{
	const struct {
		RsTraceSelectionConfig config;
		const char *message;
	} rows[] = {
		{{.filters = (const char *[]){"prev ==", NULL}}, "bad filter\n  prev ==\n"},
		{{.filters = (const char *[]){"nxt == 4", NULL}},
		 "none of the 2 events has a field 'nxt'; did you mean 'next'?"},
		{{.filters = (const char *[]){"prev == 3 && nwhy == x", NULL}},
		 "has a field 'nwhy'; did you mean 'why'?"},
		{{.filters = (const char *[]){"why < 3", NULL}}, "demo:all: "},
		{{.filters = (const char *[]){"PID == 7", "sched:*: prev ~ x", NULL}}, "prev ~ x"},
		{{.filters = (const char *[]){"sched:*:", NULL}}, "'sched:*:' has no expression"},
		{{.events = "all,*@level=7"}, "'7' is no level"},
		{{.filters = (const char *[]){"*@x=1: prev == 3", NULL}}, "'x=1'"},
		{{.cpus = "1024"}, "1023"},
		{{.pids = "x"}, "'x'"},
		{{.from = "yesterday"}, "'yesterday'"},
		{{.until = "\033[1m"}, "'\\x1b[1m'"},
	};
	g_autofree char *large = g_strnfill(3000, 'x');
	g_autofree char *message = failure(f, &(RsTraceSelectionConfig){.events = large});

	g_assert_nonnull(strstr(message, "bytes"));
	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *got = failure(f, &rows[i].config);

		g_test_message("%s", got);
		g_assert_nonnull(strstr(got, rows[i].message));
	}
}

/* After a mistake nothing matches, so that nobody takes the rest for the answer. */
/* What the trace has may be known before there are records, and whether there are any. */
static void test_fields_are_known_before_records(Fixture *f, gconstpointer unused)
{
	const RsTraceOrigin guest = {.name = "guest"};
	const char *const names[] = {"prev == 3", "sched:*: nxt == 3"};

	for (guint i = 0; i < 2; i++) {
		const char *const filters[] = {names[i], NULL};
		g_autoptr(RsTraceSelection) s =
			rs_trace_selection_new(&(RsTraceSelectionConfig){.filters = filters}, NULL);
		g_autoptr(GError) error = NULL;

		g_assert_true(rs_trace_selection_is_filtered(s));
		g_assert_true(rs_trace_selection_finish(s, NULL)); /* nothing is known */
		for (guint k = 0; k < 2; k++) {
			rs_trace_selection_know(s, &guest, f->of_switch.event);
			rs_trace_selection_know(s, &guest, f->of_all.event);
		}
		g_assert_cmpint(rs_trace_selection_finish(s, &error), ==, i == 0);
		g_assert_true(!error || strstr(error->message, "'next'"));
	}
	{
		const char *const filters[] = {"sched:*: nxt == 3", NULL};
		g_autoptr(RsTraceSelection) s =
			rs_trace_selection_new(&(RsTraceSelectionConfig){.filters = filters}, NULL);
		g_autoptr(GError) error = NULL;

		rs_trace_selection_know(s, &guest, f->of_switch.event);
		g_assert_false(rs_trace_selection_finish(s, &error));
		g_assert_nonnull(
			strstr(error->message, "sched:switch has no field 'nxt'; did you"));
	}
}

static void test_a_mistake_ends_it(Fixture *f, gconstpointer unused)
{
	RsTraceSelectionConfig config = {.filters = (const char *[]){"why < 3", NULL}};
	g_autoptr(RsTraceSelection) s = rs_trace_selection_new(&config, NULL);
	const RsTraceRecord loss = {.kind = RS_TRACE_RECORD_LOSS};

	g_assert_true(rs_trace_selection_matches(s, &loss, &f->task));
	g_assert_false(rs_trace_selection_matches(s, &f->of_all, &f->task));
	g_assert_true(rs_trace_selection_is_over(s));
	g_assert_false(rs_trace_selection_matches(s, &loss, &f->task));
}

#define ADD(name, func)                                                                            \
	g_test_add("/filter/selection/" name, Fixture, NULL, set_up, func, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("filters", test_filters);
	ADD("lists", test_lists);
	ADD("sources-and-levels", test_sources_and_levels);
	ADD("times", test_times);
	ADD("end", test_the_end_is_seen);
	ADD("losses", test_losses);
	ADD("not-whole", test_records_that_are_not_whole);
	ADD("come-again", test_descriptors_that_come_again);
	ADD("mistakes", test_mistakes);
	ADD("fields-are-known", test_fields_are_known_before_records);
	ADD("a-mistake-ends-it", test_a_mistake_ends_it);
	return g_test_run();
}
