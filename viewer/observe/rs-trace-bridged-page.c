/* SPDX-License-Identifier: MIT */
#include "rs-trace-bridged-page-private.h"

#include <string.h>

static RsTraceBridgedPage *copy(const guint8 *bytes, guint size)
{
	RsTraceBridgedPage *page = g_malloc(sizeof(*page) + size);

	*page = (RsTraceBridgedPage){.since = g_get_monotonic_time(), .size = size};
	memcpy(page->bytes, bytes, size);
	return page;
}

RsTraceBridgedPage *rs_trace_bridged_page_new(const guint8 *bytes, guint size,
					      const struct rs_ring_page *head)
{
	RsTraceBridgedPage *page = copy(bytes, size);
	RsTracePageItem item;
	RsTracePageWalk walk;

	memcpy(page->bytes, head, sizeof(*head));
	page->from = rs_trace_page_first(page->bytes);
	rs_trace_page_begin(&walk, page->bytes);
	do
		item = rs_trace_page_next(&walk, page->bytes, size);
	while (item >= RS_TRACE_PAGE_MARK);
	page->records = walk.n;
	page->last = (RsTraceMoment){.boot = walk.boot, .chain = walk.chain, .ts = walk.ts};
	return page;
}

RsTraceBridgedPage *rs_trace_bridged_page_new_done(const guint8 *bytes, guint from, guint size)
{
	RsTraceBridgedPage *page = copy(bytes, size);

	page->from = from;
	page->records = rs_trace_page_count(bytes, from, size, NULL);
	return page;
}

/* Goes to the first record that is later. *end: where the one before it ends; 0: there is none. */
static gboolean find_later(const RsTraceBridgedPage *page, const RsTraceMoment *until,
			   RsTracePageWalk *walk, guint *end)
{
	RsTracePageItem item;

	*end = 0;
	rs_trace_page_begin(walk, page->bytes);
	while ((item = rs_trace_page_next(walk, page->bytes, page->size)) >= RS_TRACE_PAGE_MARK) {
		const RsTraceMoment when = {
			.boot = walk->boot, .chain = walk->chain, .ts = walk->ts};

		if (item == RS_TRACE_PAGE_MARK)
			continue;
		if (rs_trace_moment_compare(&when, until) > 0)
			return TRUE;
		*end = walk->at;
	}
	return FALSE;
}

RsTraceBridgedPage *rs_trace_bridged_page_split(RsTraceBridgedPage *page,
						const RsTraceMoment *until)
{
	RsTraceBridgedPage *rest;
	struct rs_ring_page head;
	RsTracePageWalk walk;
	guint end;

	if (!find_later(page, until, &walk, &end) || !end)
		return NULL;
	/* Marks before the record say of it what the header says already, or more. */
	memcpy(&head, page->bytes, sizeof(head));
	head.ts = walk.ts;
	head.chain = walk.chain;
	head.context = walk.context;
	head.pid = walk.pid;
	head.tgid = walk.tgid;
	head.header_size = sizeof(head);
	head.committed = (guint32)sizeof(head) + page->size - end;
	rest = g_malloc(sizeof(*rest) + head.committed);
	*rest = (RsTraceBridgedPage){.last = page->last,
				     .since = page->since,
				     .records = page->records - (walk.n - 1),
				     .from = sizeof(head),
				     .size = head.committed};
	memcpy(rest->bytes, &head, sizeof(head));
	memcpy(rest->bytes + sizeof(head), page->bytes + end, page->size - end);

	memcpy(&head, page->bytes, sizeof(head));
	head.committed = end;
	memcpy(page->bytes, &head, sizeof(head));
	page->size = end;
	page->records = walk.n - 1;
	return rest;
}
