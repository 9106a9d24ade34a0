/* SPDX-License-Identifier: MIT */
/* What was inside what, of slices that nest, break off and repeat, and of call stacks. */
#include "document/rs-trace-flame.h"

typedef struct {
	RsTraceFlame *flame;
	RsTraceEvent events[4];
	RsTraceOrigin *origin;
	struct rs_file_source info;
} Fixture;

enum { ENTER, EXIT, BEGIN, END };

static void set_up(Fixture *f, gconstpointer unused)
{
	static const char *const names[][2] = {
		{"call", "enter"}, {"call", "exit"}, {"work", "part_begin"}, {"work", "part_end"}};

	f->flame = rs_trace_flame_new(NULL, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		f->events[i] = (RsTraceEvent){
			.unique = i + 1, .system = names[i][0], .name = names[i][1], .print = ""};
	f->origin = rs_trace_origin_new(&f->info, FALSE, 0, NULL);
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	rs_trace_flame_free(f->flame);
	rs_trace_origin_free(f->origin);
}

static void add(Fixture *f, guint64 ns, guint32 pid, guint event)
{
	const RsTraceRecord record = {
		.ns = ns, .pid = pid, .event = &f->events[event], .origin = f->origin};
	const RsTraceTask task = {pid == 1 ? "one" : "two", 0};
	const RsTraceSample item = {&record, &task, "", 0};

	rs_trace_flame_add(f->flame, &item);
}

/* "depth name at+total(self)*count" of each box. */
static void check(Fixture *f, const char *expected)
{
	g_autoptr(GArray) boxes = rs_trace_flame_boxes(f->flame);
	g_autoptr(GString) out = g_string_new(NULL);

	for (guint i = 0; i < boxes->len; i++) {
		const RsTraceFlameBox *box = &g_array_index(boxes, RsTraceFlameBox, i);

		g_string_append_printf(out,
				       "%u %s %" G_GUINT64_FORMAT "+%" G_GUINT64_FORMAT
				       "(%" G_GUINT64_FORMAT ")*%" G_GUINT64_FORMAT "\n",
				       box->depth, box->name, box->at, box->total, box->self,
				       box->count);
	}
	g_assert_cmpstr(out->str, ==, expected);
}

static void test_nested(Fixture *f, gconstpointer unused)
{
	add(f, 10, 1, ENTER);
	add(f, 20, 1, BEGIN);
	add(f, 30, 1, END);
	add(f, 35, 1, BEGIN);
	add(f, 36, 2, ENTER); /* another task */
	add(f, 40, 1, END);
	add(f, 50, 1, EXIT);
	add(f, 60, 2, EXIT);
	add(f, 100, 1, BEGIN); /* outside of a call */
	add(f, 103, 1, END);
	rs_trace_flame_end(f->flame, 200);
	check(f, "0 one 0+43(0)*0\n"
		 "1 call 0+40(25)*1\n"
		 "2 work:part 0+15(15)*2\n"
		 "1 work:part 40+3(3)*1\n"
		 "0 two 43+24(0)*0\n"
		 "1 call 43+24(24)*1\n");
}

/* The end of a slice ends what is inside it, and what is open at the end lasts to it. */
static void test_broken(Fixture *f, gconstpointer unused)
{
	add(f, 5, 1, EXIT); /* of nothing */
	add(f, 10, 1, ENTER);
	add(f, 20, 1, BEGIN);
	add(f, 50, 1, EXIT);
	add(f, 60, 1, END); /* of nothing */
	add(f, 70, 1, BEGIN);
	rs_trace_flame_end(f->flame, 100);
	check(f, "0 one 0+70(0)*0\n"
		 "1 call 0+40(10)*1\n"
		 "2 work:part 0+30(30)*1\n"
		 "1 work:part 40+30(30)*1\n");
}

static void add_gap(Fixture *f, RsTraceRecordKind kind, guint64 ns)
{
	const RsTraceRecord record = {.kind = kind, .ns = ns, .lost = 1, .origin = f->origin};
	const RsTraceTask nobody = {"", 0};

	rs_trace_flame_add(f->flame, &(RsTraceSample){&record, &nobody, "", 0});
}

/* Who is open at a loss or at a boot may have ended there. */
static void test_gaps(Fixture *f, gconstpointer unused)
{
	add(f, 10, 1, ENTER);
	add(f, 20, 1, BEGIN);
	add(f, 21, 2, ENTER);
	add(f, 30, 2, EXIT);
	add_gap(f, RS_TRACE_RECORD_LOSS, 40);
	add(f, 50, 1, ENTER);
	add(f, 55, 1, EXIT);
	add(f, 60, 1, EXIT); /* of what was dropped */
	add(f, 70, 2, ENTER);
	add_gap(f, RS_TRACE_RECORD_BOOT, 80);
	rs_trace_flame_end(f->flame, 100);
	check(f, "0 two 0+9(0)*0\n"
		 "1 call 0+9(9)*1\n"
		 "0 one 9+5(0)*0\n"
		 "1 call 9+5(5)*1\n");
	g_assert_cmpuint(rs_trace_flame_broken(f->flame), ==, 3);
}

/* What has ended in a slice that is dropped is known. */
static void test_kept(Fixture *f, gconstpointer unused)
{
	add(f, 10, 1, ENTER);
	add(f, 20, 1, BEGIN);
	add(f, 30, 1, END);
	add_gap(f, RS_TRACE_RECORD_LOSS, 40);
	check(f, "0 one 0+10(0)*0\n"
		 "1 call 0+10(0)*0\n"
		 "2 work:part 0+10(10)*1\n");
	add(f, 50, 1, ENTER);
	add(f, 55, 1, EXIT);
	add(f, 60, 2, ENTER);
	add(f, 67, 2, EXIT);
	rs_trace_flame_end(f->flame, 100);
	check(f, "0 one 0+15(0)*0\n"
		 "1 call 0+15(5)*1\n"
		 "2 work:part 0+10(10)*1\n"
		 "0 two 15+7(0)*0\n"
		 "1 call 15+7(7)*1\n");
	g_assert_cmpuint(rs_trace_flame_broken(f->flame), ==, 1);
}

static void test_stacks(Fixture *f, gconstpointer unused)
{
	rs_trace_flame_add_folded(f->flame, "sh;main;read", 3);
	rs_trace_flame_add_folded(f->flame, "sh;main;write", 5);
	rs_trace_flame_add_folded(f->flame, "sh;main", 1);
	rs_trace_flame_add_folded(f->flame, "cat;main", 1);
	check(f, "0 sh 0+9(0)*9\n"
		 "1 main 0+9(1)*9\n"
		 "2 write 0+5(5)*5\n"
		 "2 read 5+3(3)*3\n"
		 "0 cat 9+1(0)*1\n"
		 "1 main 9+1(1)*1\n");
}

/* More than there is room for, and stacks that are too high. */
static void test_bounds(Fixture *f, gconstpointer unused)
{
	g_autoptr(GString) high = g_string_new("sh");
	g_autoptr(GArray) boxes = NULL;

	for (guint i = 0; i < 2000; i++)
		g_string_append_printf(high, ";f%u", i);
	rs_trace_flame_add_folded(f->flame, high->str, 1);
	for (guint i = 0; i < RS_TRACE_FLAME_NODES + 10; i++) {
		g_autofree char *name = g_strdup_printf("t%u", i);

		rs_trace_flame_add_folded(f->flame, name, 1);
	}
	boxes = rs_trace_flame_boxes(f->flame);
	g_assert_cmpuint(boxes->len, ==, RS_TRACE_FLAME_NODES);
	for (guint i = 0; i < 100000; i++) {
		add(f, i, 1, ENTER);
		add(f, i, 1, BEGIN);
	}
	rs_trace_flame_end(f->flame, 100000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, func) g_test_add("/flame/" name, Fixture, NULL, set_up, func, tear_down)
	ADD("nested", test_nested);
	ADD("broken", test_broken);
	ADD("gaps", test_gaps);
	ADD("kept", test_kept);
	ADD("stacks", test_stacks);
	ADD("bounds", test_bounds);
	return g_test_run();
}
