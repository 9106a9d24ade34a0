/* SPDX-License-Identifier: MIT */
#include "rs-trace-page.h"

#include "build.h"

#include <string.h>

#define UNKNOWN_MARK (RS_FIRST_EVENT_ID - 1)

static const guint32 pair[2] = {1, 2};

/* Skips marks up to the next record. */
static gboolean next_record(RsTracePageWalk *walk, const GByteArray *bytes)
{
	RsTracePageItem item;

	do
		item = rs_trace_page_next(walk, bytes->data, bytes->len);
	while (item == RS_TRACE_PAGE_MARK);
	g_assert_cmpint(item, !=, RS_TRACE_PAGE_BAD);
	return item == RS_TRACE_PAGE_RECORD;
}

static void test_items(void)
{
	TestPage *page = test_page_new(0, 9, 0x1fffffff0, 42, RS_CTX_NMI);
	g_autoptr(GByteArray) bytes = NULL;
	RsTracePageWalk walk;

	test_page_header(page)->boot = 3;
	test_page_header(page)->chain = 100000;
	test_page_record(page, TEST_SWITCH, 0x10, pair, sizeof(pair)); /* the low half wrapped */
	test_page_context(page, 7, RS_CTX_USER);
	test_page_time(page, 100001, 5000);
	test_page_record(page, TEST_ALL, 5001, pair, 3);
	bytes = test_page_end(page);
	rs_trace_page_begin(&walk, bytes->data);
	g_assert_cmpuint(walk.seq, ==, 9);
	g_assert_cmpuint(walk.boot, ==, 3);
	g_assert_cmpuint(walk.chain, ==, 100000);
	g_assert_cmpuint(walk.at, ==, RS_RING_PAGE_HEADER);

	g_assert_cmpint(rs_trace_page_next(&walk, bytes->data, bytes->len), ==,
			RS_TRACE_PAGE_RECORD);
	g_assert_cmpuint(walk.id, ==, TEST_SWITCH);
	g_assert_cmpuint(walk.ts, ==, 0x200000010);
	g_assert_cmpuint(walk.pid, ==, 42);
	g_assert_cmpuint(walk.context, ==, RS_CTX_NMI);
	g_assert_cmpmem(bytes->data + walk.payload, walk.size, pair, sizeof(pair));
	g_assert_cmpint(rs_trace_page_next(&walk, bytes->data, bytes->len), ==, RS_TRACE_PAGE_MARK);
	g_assert_cmpint(rs_trace_page_next(&walk, bytes->data, bytes->len), ==, RS_TRACE_PAGE_MARK);
	g_assert_cmpint(rs_trace_page_next(&walk, bytes->data, bytes->len), ==,
			RS_TRACE_PAGE_RECORD);
	g_assert_cmpuint(walk.id, ==, TEST_ALL);
	g_assert_cmpuint(walk.ts, ==, 5001);
	g_assert_cmpuint(walk.chain, ==, 100001);
	g_assert_cmpuint(walk.pid, ==, 7);
	g_assert_cmpuint(walk.context, ==, RS_CTX_USER);
	g_assert_cmpuint(walk.size, ==, 3);
	g_assert_cmpint(rs_trace_page_next(&walk, bytes->data, bytes->len), ==, RS_TRACE_PAGE_END);
}

/* A thread group is the header's or the last mark's, until another task runs. */
static void test_tgid(void)
{
	static const struct rs_rec_tgid mark = {.id = RS_REC_TGID, .size = 8, .tgid = 5};
	static const guint expected[] = {40, 40, 0, 5, 5, 0};
	TestPage *page = test_page_new(0, 9, 1000, 42, 0);
	g_autoptr(GByteArray) bytes = NULL;
	RsTracePageWalk walk;

	test_page_header(page)->tgid = 40;
	test_page_record(page, TEST_SWITCH, 1000, pair, sizeof(pair));
	test_page_context(page, 42, RS_CTX_NMI); /* the same task */
	test_page_record(page, TEST_SWITCH, 1001, pair, sizeof(pair));
	test_page_context(page, 7, 0);
	test_page_record(page, TEST_SWITCH, 1002, pair, sizeof(pair));
	test_page_raw(page, &mark, sizeof(mark));
	test_page_record(page, TEST_SWITCH, 1003, pair, sizeof(pair));
	test_page_record(page, TEST_SWITCH, 1004, pair, sizeof(pair));
	test_page_context(page, 42, 0);
	test_page_record(page, TEST_SWITCH, 1005, pair, sizeof(pair));
	bytes = test_page_end(page);
	rs_trace_page_begin(&walk, bytes->data);
	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		g_assert_true(next_record(&walk, bytes));
		g_assert_cmpuint(walk.tgid, ==, expected[i]);
	}
	g_assert_false(next_record(&walk, bytes));
}

/* A stack is the next record's alone. Frames beyond RS_STACK_MAX are left out. */
static void test_stack(void)
{
	static const struct {
		guint size, frames;
	} marks[] = {{8, 0}, {16, 1}, {23, 1}, {8 + 64 * 8, 64}, {8 + 65 * 8, 64}};

	for (guint i = 0; i < G_N_ELEMENTS(marks); i++) {
		TestPage *page = test_page_new(0, 0, 1000, 42, 0);
		g_autoptr(GByteArray) bytes = NULL;
		RsTracePageWalk walk;

		test_page_mark(page, RS_REC_STACK, marks[i].size);
		test_page_context(page, 7, 0);
		test_page_record(page, TEST_SWITCH, 2000, pair, sizeof(pair));
		test_page_record(page, TEST_SWITCH, 2001, pair, sizeof(pair));
		bytes = test_page_end(page);
		rs_trace_page_begin(&walk, bytes->data);
		g_assert_true(next_record(&walk, bytes));
		g_assert_cmpuint(walk.n_stack, ==, marks[i].frames);
		if (walk.n_stack)
			g_assert_cmpuint(walk.stack, ==, RS_RING_PAGE_HEADER + 8);
		g_assert_true(next_record(&walk, bytes));
		g_assert_cmpuint(walk.n_stack, ==, 0);
	}
}

/* The walk skips marks by their sizes, known or not, and the next record is as without them. */
static void test_marks_are_stepped_over(void)
{
	static const struct {
		guint id, size;
	} marks[] = {
		{RS_REC_TGID, 8},   {RS_REC_ACTIVITY, 24},  {RS_REC_RELATED, 24},
		{RS_REC_STACK, 8},  {RS_REC_STACK, 8 + 64}, {UNKNOWN_MARK, 8},
		{UNKNOWN_MARK, 24}, {UNKNOWN_MARK, 21},     {RS_REC_ACTIVITY, 48}, /* grown since */
	};
	TestPage *page = test_page_new(0, 0, 1000, 42, RS_CTX_NMI);
	g_autoptr(GByteArray) bytes = NULL;
	RsTracePageWalk walk;

	for (guint i = 0; i < G_N_ELEMENTS(marks); i++) {
		test_page_mark(page, marks[i].id, marks[i].size);
		test_page_record(page, TEST_SWITCH + i, 2000 + i, pair, sizeof(pair));
	}
	bytes = test_page_end(page);
	rs_trace_page_begin(&walk, bytes->data);
	for (guint i = 0; i < G_N_ELEMENTS(marks); i++) {
		g_assert_true(next_record(&walk, bytes));
		g_assert_cmpuint(walk.id, ==, TEST_SWITCH + i);
		g_assert_cmpuint(walk.ts, ==, 2000 + i);
		g_assert_cmpuint(walk.pid, ==, 42);
		g_assert_cmpuint(walk.context, ==, RS_CTX_NMI);
		g_assert_cmpmem(bytes->data + walk.payload, walk.size, pair, sizeof(pair));
	}
	g_assert_false(next_record(&walk, bytes));
}

/* Pieces of a larger payload: what is not the start has no fields, and the next record is whole. */
static void test_pieces(void)
{
	struct rs_rec_continued mark = {
		.id = RS_REC_CONTINUED, .size = sizeof(mark), .total = 24, .tag = 9};
	TestPage *page = test_page_new(0, 0, 1000, 42, 0);
	g_autoptr(GByteArray) bytes = NULL;
	RsTracePageWalk walk;

	for (mark.offset = 0; mark.offset < 24; mark.offset += 8) {
		test_page_raw(page, &mark, sizeof(mark));
		test_page_record(page, TEST_SWITCH, 2000 + mark.offset, pair, sizeof(pair));
	}
	test_page_record(page, TEST_SWITCH, 3000, pair, sizeof(pair));
	bytes = test_page_end(page);
	rs_trace_page_begin(&walk, bytes->data);
	for (guint i = 0; i < 4; i++) {
		g_assert_true(next_record(&walk, bytes));
		g_assert_cmpint(walk.cut, ==, i < 3);
		g_assert_cmpuint(walk.size, ==, i == 0 || i == 3 ? sizeof(pair) : 0);
	}
	g_assert_false(next_record(&walk, bytes));
}

/* A larger time mark has fields that we do not know. The known ones are used. */
static void test_larger_time(void)
{
	struct {
		struct rs_rec_time time;
		guint64 more;
	} mark = {{.id = RS_REC_TIME, .size = sizeof(mark), .chain = 7, .ts = 1ull << 40}, ~0ull};
	TestPage *page = test_page_new(0, 0, 1000, 42, 0);
	g_autoptr(GByteArray) bytes = NULL;
	RsTracePageWalk walk;

	test_page_raw(page, &mark, sizeof(mark));
	test_page_record(page, TEST_SWITCH, 1, pair, sizeof(pair));
	bytes = test_page_end(page);
	rs_trace_page_begin(&walk, bytes->data);
	g_assert_true(next_record(&walk, bytes));
	g_assert_cmpuint(walk.ts, ==, (1ull << 40) + 1);
	g_assert_cmpuint(walk.chain, ==, 7);
}

/* Records begin where the header says that it ends. A wrong value does no harm. */
static void test_header_size(void)
{
	static const struct {
		guint said, found;
	} cases[] = {{128, 128}, {72, 72}, {0, 64}, {56, 64}, {129, 64}, {65528, 65528}};
	TestPage *page = test_page_new(0, 0, 1000, 42, 0);
	guint8 more[64];
	g_autoptr(GByteArray) bytes = NULL;
	RsTracePageWalk walk;

	memset(more, 0x5a, sizeof(more));
	test_page_header(page)->header_size = 128;
	test_page_raw(page, more, sizeof(more));
	test_page_record(page, TEST_SWITCH, 1001, pair, sizeof(pair));
	bytes = test_page_end(page);
	rs_trace_page_begin(&walk, bytes->data);
	g_assert_true(next_record(&walk, bytes));
	g_assert_cmpuint(walk.id, ==, TEST_SWITCH);
	g_assert_cmpuint(walk.payload, ==, 128 + sizeof(struct rs_rec_header));
	g_assert_false(next_record(&walk, bytes));
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		((struct rs_ring_page *)bytes->data)->header_size = (guint16)cases[i].said;
		g_assert_cmpuint(rs_trace_page_first(bytes->data), ==, cases[i].found);
	}
	/* The last wrong value lies after the page's end. */
	rs_trace_page_begin(&walk, bytes->data);
	g_assert_cmpint(rs_trace_page_next(&walk, bytes->data, bytes->len), ==, RS_TRACE_PAGE_END);
}

/* At an invalid item or padding the walk stays, however often it is called. */
static void test_ends(void)
{
	static const struct {
		struct rs_rec_header head;
		guint room; /* bytes from the head to the end */
		RsTracePageItem item;
	} cases[] = {
		{{.id = RS_REC_PAD}, 8, RS_TRACE_PAGE_PAD},
		{{.id = TEST_SWITCH, .size = 8}, 7, RS_TRACE_PAGE_BAD},
		{{.id = TEST_SWITCH, .size = 7}, 16, RS_TRACE_PAGE_BAD},
		{{.id = TEST_SWITCH, .size = 17}, 16, RS_TRACE_PAGE_BAD},
		{{.id = RS_REC_TIME, .size = 16}, 8, RS_TRACE_PAGE_BAD},
		{{.id = RS_REC_TIME, .size = 8}, 16, RS_TRACE_PAGE_BAD},
		{{.id = RS_REC_STACK, .size = 24}, 16, RS_TRACE_PAGE_BAD},
		{{.id = UNKNOWN_MARK, .size = 0}, 16, RS_TRACE_PAGE_BAD},
		{{.id = UNKNOWN_MARK, .size = 7}, 16, RS_TRACE_PAGE_BAD},
		{{.id = UNKNOWN_MARK, .size = 17}, 16, RS_TRACE_PAGE_BAD},
		{{.id = UNKNOWN_MARK, .size = 8}, 4, RS_TRACE_PAGE_BAD},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct {
			struct rs_ring_page page;
			struct rs_rec_header head;
			guint8 rest[8];
		} bytes = {.head = cases[i].head};
		RsTracePageWalk walk;

		rs_trace_page_begin(&walk, (const guint8 *)&bytes);
		for (guint again = 0; again < 2; again++) {
			g_assert_cmpint(rs_trace_page_next(&walk, (const guint8 *)&bytes,
							   RS_RING_PAGE_HEADER + cases[i].room),
					==, cases[i].item);
			g_assert_cmpuint(walk.at, ==, RS_RING_PAGE_HEADER);
		}
	}
}

/* What just fits is taken, with the end anywhere in its padding, and the walk ends there. */
static void test_fits(void)
{
	static const struct {
		guint id, size;
		guint room;
		RsTracePageItem item;
	} cases[] = {
		{TEST_SWITCH, 8, 8, RS_TRACE_PAGE_RECORD},
		{TEST_SWITCH, 9, 9, RS_TRACE_PAGE_RECORD},
		{TEST_SWITCH, 9, 15, RS_TRACE_PAGE_RECORD},
		{TEST_SWITCH, 9, 16, RS_TRACE_PAGE_RECORD},
		{TEST_SWITCH, 16, 16, RS_TRACE_PAGE_RECORD},
		{TEST_SWITCH, 24, 24, RS_TRACE_PAGE_RECORD},
		{RS_FIRST_EVENT_ID, 8, 8, RS_TRACE_PAGE_RECORD},
		{UNKNOWN_MARK, 8, 8, RS_TRACE_PAGE_MARK},
		{UNKNOWN_MARK, 17, 17, RS_TRACE_PAGE_MARK},
		{UNKNOWN_MARK, 17, 23, RS_TRACE_PAGE_MARK},
		{UNKNOWN_MARK, 17, 24, RS_TRACE_PAGE_MARK},
		{RS_REC_CONTEXT, 0, 8, RS_TRACE_PAGE_MARK}, /* it has no size */
		{RS_REC_TGID, 8, 8, RS_TRACE_PAGE_MARK},
		{RS_REC_TIME, sizeof(struct rs_rec_time), 16, RS_TRACE_PAGE_MARK},
		{RS_REC_CONTINUED, sizeof(struct rs_rec_continued), sizeof(struct rs_rec_continued),
		 RS_TRACE_PAGE_MARK},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct {
			struct rs_ring_page page;
			struct rs_rec_header head;
			guint8 rest[24];
		} bytes = {.head = {.id = (guint16)cases[i].id, .size = (guint16)cases[i].size}};
		guint to = RS_RING_PAGE_HEADER + cases[i].room;
		RsTracePageWalk walk;
		gboolean bad;

		rs_trace_page_begin(&walk, (const guint8 *)&bytes);
		g_assert_cmpint(rs_trace_page_next(&walk, (const guint8 *)&bytes, to), ==,
				cases[i].item);
		g_assert_cmpuint(walk.at, ==, to);
		g_assert_cmpint(rs_trace_page_next(&walk, (const guint8 *)&bytes, to), ==,
				RS_TRACE_PAGE_END);
		g_assert_cmpuint(
			rs_trace_page_count((const guint8 *)&bytes, RS_RING_PAGE_HEADER, to, &bad),
			==, cases[i].item == RS_TRACE_PAGE_RECORD);
		g_assert_false(bad);
		/* A byte less than it says that it has. */
		to = RS_RING_PAGE_HEADER + MAX(cases[i].size, 8) - 1;
		rs_trace_page_begin(&walk, (const guint8 *)&bytes);
		g_assert_cmpint(rs_trace_page_next(&walk, (const guint8 *)&bytes, to), ==,
				RS_TRACE_PAGE_BAD);
		g_assert_cmpuint(
			rs_trace_page_count((const guint8 *)&bytes, RS_RING_PAGE_HEADER, to, &bad),
			==, 0);
		g_assert_true(bad);
	}
}

/* A mark that is shorter than its kind's first fields. */
static void test_short_marks(void)
{
	static const struct {
		guint id, least;
	} kinds[] = {{RS_REC_TIME, sizeof(struct rs_rec_time)},
		     {RS_REC_CONTINUED, sizeof(struct rs_rec_continued)}};

	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
		for (guint size = 8; size <= kinds[i].least; size++) {
			TestPage *page = test_page_new(0, 0, 1000, 42, 0);
			g_autoptr(GByteArray) bytes = NULL;
			RsTracePageWalk walk;

			test_page_mark(page, kinds[i].id, size);
			test_page_record(page, TEST_SWITCH, 2000, pair, sizeof(pair));
			bytes = test_page_end(page);
			rs_trace_page_begin(&walk, bytes->data);
			g_assert_cmpint(rs_trace_page_next(&walk, bytes->data, bytes->len), ==,
					size < kinds[i].least ? RS_TRACE_PAGE_BAD
							      : RS_TRACE_PAGE_MARK);
		}
	}
}

/* The low half of a time stays or grows; a smaller one has wrapped. */
static void test_times(void)
{
	static const guint64 times[] = {0x1fffffffe, 0x1fffffffe, 0x1ffffffff, 0x200000000,
					0x200000000};
	TestPage *page = test_page_new(0, 0, times[0], 42, 0);
	g_autoptr(GByteArray) bytes = NULL;
	RsTracePageWalk walk;

	for (guint i = 0; i < G_N_ELEMENTS(times); i++)
		test_page_record(page, TEST_SWITCH, (guint32)times[i], pair, sizeof(pair));
	bytes = test_page_end(page);
	rs_trace_page_begin(&walk, bytes->data);
	for (guint i = 0; i < G_N_ELEMENTS(times); i++) {
		g_assert_true(next_record(&walk, bytes));
		g_assert_cmpuint(walk.ts, ==, times[i]);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/page/pieces", test_pieces);
	g_test_add_func("/decode/page/items", test_items);
	g_test_add_func("/decode/page/tgid", test_tgid);
	g_test_add_func("/decode/page/stack", test_stack);
	g_test_add_func("/decode/page/marks", test_marks_are_stepped_over);
	g_test_add_func("/decode/page/larger-time", test_larger_time);
	g_test_add_func("/decode/page/header-size", test_header_size);
	g_test_add_func("/decode/page/ends", test_ends);
	g_test_add_func("/decode/page/fits", test_fits);
	g_test_add_func("/decode/page/short-marks", test_short_marks);
	g_test_add_func("/decode/page/times", test_times);
	return g_test_run();
}
