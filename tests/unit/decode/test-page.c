/* SPDX-License-Identifier: MIT */
#include "rs-trace-page.h"

#include "build.h"

static const guint32 pair[2] = {1, 2};

static void test_items(void)
{
	TestPage *page = test_page_new(0, 9, 0x1fffffff0, 42, RS_CTX_NMI);
	g_autoptr(GByteArray) bytes = NULL;
	RsTracePageWalk walk;

	test_page_record(page, 16, 0x10, pair, sizeof(pair)); /* the low half went round */
	test_page_context(page, 7, RS_CTX_USER);
	test_page_time(page, 5000);
	test_page_record(page, 17, 5001, pair, 3);
	bytes = test_page_end(page);
	rs_trace_page_begin(&walk, bytes->data);
	g_assert_cmpuint(walk.seq, ==, 9);
	g_assert_cmpuint(walk.at, ==, RS_RING_PAGE_HEADER);

	g_assert_cmpint(rs_trace_page_next(&walk, bytes->data, bytes->len), ==,
			RS_TRACE_PAGE_RECORD);
	g_assert_cmpuint(walk.id, ==, 16);
	g_assert_cmpuint(walk.ts, ==, 0x200000010);
	g_assert_cmpuint(walk.pid, ==, 42);
	g_assert_cmpuint(walk.context, ==, RS_CTX_NMI);
	g_assert_cmpmem(bytes->data + walk.payload, walk.size, pair, sizeof(pair));
	g_assert_cmpint(rs_trace_page_next(&walk, bytes->data, bytes->len), ==, RS_TRACE_PAGE_MARK);
	g_assert_cmpint(rs_trace_page_next(&walk, bytes->data, bytes->len), ==, RS_TRACE_PAGE_MARK);
	g_assert_cmpint(rs_trace_page_next(&walk, bytes->data, bytes->len), ==,
			RS_TRACE_PAGE_RECORD);
	g_assert_cmpuint(walk.id, ==, 17);
	g_assert_cmpuint(walk.ts, ==, 5001);
	g_assert_cmpuint(walk.pid, ==, 7);
	g_assert_cmpuint(walk.context, ==, RS_CTX_USER);
	g_assert_cmpuint(walk.size, ==, 3);
	g_assert_cmpint(rs_trace_page_next(&walk, bytes->data, bytes->len), ==, RS_TRACE_PAGE_END);
}

/* What is wrong or padding stays where it is, however often it is looked at. */
static void test_ends(void)
{
	static const struct {
		struct rs_rec_header head;
		guint room; /* bytes from the head to the end */
		RsTracePageItem item;
	} cases[] = {
		{{.id = RS_REC_PAD}, 8, RS_TRACE_PAGE_PAD},
		{{.id = 16, .size = 8}, 7, RS_TRACE_PAGE_BAD},
		{{.id = 16, .size = 7}, 16, RS_TRACE_PAGE_BAD},
		{{.id = 16, .size = 17}, 16, RS_TRACE_PAGE_BAD},
		{{.id = RS_REC_TIME, .size = 16}, 8, RS_TRACE_PAGE_BAD},
		{{.id = RS_REC_TIME, .size = 8}, 16, RS_TRACE_PAGE_BAD},
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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/page/items", test_items);
	g_test_add_func("/decode/page/ends", test_ends);
	return g_test_run();
}
