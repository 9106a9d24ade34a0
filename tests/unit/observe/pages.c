/* SPDX-License-Identifier: MIT */
#include "pages.h"

#include <string.h>

static void begin_round(RsTraceSource *source, RsTraceFeed *feed)
{
	const struct rs_file_boot boots[RS_BOOTS] = {[2] = {.boot = 2, .ts = 105}};

	rs_trace_feed_tell_boots(feed, boots, 0);
	rs_trace_feed_tell_clock(feed, NULL, 0, 0);
}

/* Tells of the provider in slot `boot` - 1, once. */
static void tell(TestPages *pages, RsTraceFeed *feed, guint boot, GByteArray **descs)
{
	struct rs_provider entry;
	guint slot = boot - 1;

	if (!*descs)
		return;
	g_atomic_int_inc(&pages->told);
	test_provider(&entry, slot, *descs);
	entry.first_boot = entry.last_boot = boot;
	rs_trace_feed_tell_provider(feed, slot, &entry, (*descs)->data, (*descs)->len);
	g_clear_pointer(descs, g_byte_array_unref);
}

static void tell_another(TestPages *pages, RsTraceFeed *feed)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();
	TestDesc *desc = test_desc_new(TEST_SWITCH, "another", "event");
	struct rs_provider entry;

	test_desc_int(desc, "n", RS_KIND_ENUM, 4);
	for (guint i = 0; i < pages->churn; i++)
		test_desc_symbol(desc, i, "symbol");
	test_desc_end(desc, NULL, NULL, descs);
	test_provider(&entry, 0, descs);
	entry.desc_offset = 8 * (guint)g_atomic_int_add(&pages->told, 1);
	rs_trace_feed_tell_provider(feed, 0, &entry, descs->data, descs->len);
}

static void providers(RsTraceSource *source, RsTraceFeed *feed)
{
	TestPages *pages = (TestPages *)source;

	if (pages->churn) {
		tell_another(pages, feed);
		return;
	}
	tell(pages, feed, 1, &pages->descs);
	tell(pages, feed, 2, &pages->later);
}

static void names(RsTraceSource *source, RsTraceFeed *feed)
{
	struct rs_cmdline_entry entries[2] = {test_task(7, 0, "seven"), test_task(7, 0, "again")};

	entries[1].boot = 2;
	rs_trace_feed_tell_names(feed, (guint8 *)entries, NULL, sizeof(entries), sizeof(*entries));
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
		last = pages->repeats ? g_byte_array_ref(page)
				      : g_ptr_array_steal_index(pages->pages, i);
		*out = (RsTraceChunk){.ring = ring,
				      .from = RS_RING_PAGE_HEADER,
				      .to = last->len,
				      .page = last->data};
		return RS_TRACE_RING_DATA;
	}
	g_clear_pointer(&last, g_byte_array_unref);
	return pages->endless ? RS_TRACE_RING_IDLE : RS_TRACE_RING_END;
}

static void set_whole(RsTraceSource *source, guint ring, gboolean whole)
{
}

static void written(RsTraceSource *source, guint ring, RsTraceRingMark *out)
{
	*out = (RsTraceRingMark){.seq = -1};
}

static guint64 records(RsTraceSource *source, guint ring)
{
	return 0;
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
		.changes = providers,
		.names = names,
		.next = next,
		.set_whole = set_whole,
		.written = written,
		.records = records,
		.pending_loss = pending_loss,
		.arm = arm,
		.free = free_pages,
	};
	TestPages *pages = g_new0(TestPages, 1);

	pages->source =
		(RsTraceSource){.ops = &ops, .n_rings = 2, .ring_pages = 4, .page_size = 4096};
	pages->pages = g_ptr_array_new_with_free_func((GDestroyNotify)g_byte_array_unref);
	pages->descs = g_byte_array_new();
	test_desc_switch(pages->descs);
	pages->freed = freed;
	return pages;
}

void test_pages_add(TestPages *pages, guint ring, guint64 ts, guint pid, guint id)
{
	test_pages_add_boot(pages, 1, ring, ts, pid, id);
}

void test_pages_add_boot(TestPages *pages, guint boot, guint ring, guint64 ts, guint pid, guint id)
{
	static const guint32 pair[2] = {1, 2};
	TestPage *page = test_page_new(ring, 0, ts, pid, 0);

	test_page_header(page)->boot = boot;
	test_page_record(page, id, (guint32)ts, pair, sizeof(pair));
	g_ptr_array_add(pages->pages, test_page_end(page));
}
