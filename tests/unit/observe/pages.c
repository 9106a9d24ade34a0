/* SPDX-License-Identifier: MIT */
#include "pages.h"

#include <string.h>

static void begin_round(RsTraceSource *source, RsTraceFollower *follower)
{
	TestPages *pages = (TestPages *)source;
	const struct rs_control control = {0};

	rs_trace_follower_set_boot(follower, pages->boot, 0);
	rs_trace_follower_set_clock(follower, &control);
	if (!pages->descs)
		return;
	rs_trace_follower_add_descriptors(follower, pages->descs->data, pages->descs->len);
	g_clear_pointer(&pages->descs, g_byte_array_unref);
}

static void descriptors(RsTraceSource *source, RsTraceFollower *follower)
{
	TestPages *pages = (TestPages *)source;

	pages->told++;
	if (pages->later)
		rs_trace_follower_add_descriptors(follower, pages->later->data, pages->later->len);
}

static void names(RsTraceSource *source, RsTraceFollower *follower)
{
	struct rs_cmdline_entry entry = {.sequence = 2, .pid = 7, .comm = "seven"};

	rs_trace_follower_add_names(follower, (guint8 *)&entry, NULL, sizeof(entry));
}

static RsTraceRingStatus next(RsTraceSource *source, guint ring, guint64 now_ns, RsTraceChunk *out)
{
	static GByteArray *last;
	TestPages *pages = (TestPages *)source;

	for (guint i = 0; i < pages->pages->len; i++) {
		GByteArray *page = pages->pages->pdata[i];
		struct rs_ring_page head;

		memcpy(&head, page->data, sizeof(head));
		if (head.ring != ring)
			continue;
		g_clear_pointer(&last, g_byte_array_unref);
		last = g_ptr_array_steal_index(pages->pages, i);
		*out = (RsTraceChunk){.ring = ring,
				      .from = RS_RING_PAGE_HEADER,
				      .to = last->len,
				      .page = last->data};
		return RS_TRACE_RING_DATA;
	}
	g_clear_pointer(&last, g_byte_array_unref);
	return pages->endless ? RS_TRACE_RING_IDLE : RS_TRACE_RING_END;
}

static guint64 pending_loss(RsTraceSource *source, guint ring)
{
	return ring == 1 ? 5 : 0;
}

static gboolean arm(RsTraceSource *source)
{
	return FALSE;
}

static void free_pages(RsTraceSource *source)
{
	TestPages *pages = (TestPages *)source;

	(*pages->freed)++;
	g_ptr_array_unref(pages->pages);
	g_clear_pointer(&pages->descs, g_byte_array_unref);
	g_clear_pointer(&pages->later, g_byte_array_unref);
	g_free(pages);
}

TestPages *test_pages_new(guint *freed)
{
	static const RsTraceSourceOps ops = {
		.begin_round = begin_round,
		.descriptors = descriptors,
		.names = names,
		.next = next,
		.pending_loss = pending_loss,
		.arm = arm,
		.free = free_pages,
	};
	TestPages *pages = g_new0(TestPages, 1);

	pages->source = (RsTraceSource){.ops = &ops, .n_rings = 2, .ring_pages = 4};
	pages->pages = g_ptr_array_new_with_free_func((GDestroyNotify)g_byte_array_unref);
	pages->descs = g_byte_array_new();
	test_desc_switch(pages->descs);
	pages->freed = freed;
	return pages;
}

void test_pages_add(TestPages *pages, guint ring, guint64 ts, guint pid, guint id)
{
	static const guint32 pair[2] = {1, 2};
	TestPage *page = test_page_new(ring, 0, ts, pid, 0);

	test_page_record(page, id, (guint32)ts, pair, sizeof(pair));
	g_ptr_array_add(pages->pages, test_page_end(page));
}
