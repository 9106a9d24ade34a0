/* SPDX-License-Identifier: MIT */
#include "rs-trace-page.h"

#include <string.h>

guint rs_trace_page_first(const guint8 *page)
{
	struct rs_ring_page head;

	memcpy(&head, page, sizeof(head));
	if (head.header_size < RS_RING_PAGE_HEADER || head.header_size % RS_RING_UNIT)
		return RS_RING_PAGE_HEADER;
	return head.header_size;
}

void rs_trace_page_begin(RsTracePageWalk *walk, const guint8 *page)
{
	struct rs_ring_page head;

	memcpy(&head, page, sizeof(head));
	walk->seq = head.seq;
	walk->records = head.records;
	walk->dropped = head.dropped;
	walk->n = 0;
	walk->ts = head.ts;
	walk->at = rs_trace_page_first(page);
	walk->boot = head.boot;
	walk->pid = head.pid;
	walk->tgid = head.tgid;
	walk->context = head.context;
	walk->chain = head.chain;
	walk->piece = RS_TRACE_PAGE_WHOLE;
	walk->next_stack = 0;
	walk->n_stack = 0;
}

static RsTracePageItem take_mark(RsTracePageWalk *walk, const guint8 *at, guint room,
				 const struct rs_rec_header *head)
{
	guint size = head->size & RS_REC_SIZE_MASK;
	struct rs_rec_time time;
	struct rs_rec_continued continued;
	struct rs_rec_tgid tgid;

	if (head->id == RS_REC_PAD)
		return RS_TRACE_PAGE_PAD;
	if (head->id == RS_REC_CONTEXT) {
		walk->context = head->size; /* struct rs_rec_context, field by field */
		if (walk->pid != head->ts)
			walk->tgid = 0;
		walk->pid = head->ts;
		walk->at += sizeof(struct rs_rec_context);
		return RS_TRACE_PAGE_MARK;
	}
	if (size < sizeof(*head) || size > room)
		return RS_TRACE_PAGE_BAD;
	if (head->id == RS_REC_TIME) {
		if (size < sizeof(time))
			return RS_TRACE_PAGE_BAD;
		memcpy(&time, at, sizeof(time));
		walk->ts = time.ts;
		walk->chain = time.chain;
	} else if (head->id == RS_REC_TGID) {
		memcpy(&tgid, at, sizeof(tgid)); /* as long as any mark */
		walk->tgid = tgid.tgid;
	} else if (head->id == RS_REC_CONTINUED) {
		if (size < sizeof(continued))
			return RS_TRACE_PAGE_BAD;
		memcpy(&continued, at, sizeof(continued));
		walk->piece =
			continued.offset ? RS_TRACE_PAGE_LATER_PIECE : RS_TRACE_PAGE_FIRST_PIECE;
	} else if (head->id == RS_REC_STACK) {
		walk->stack = walk->at + (guint)sizeof(struct rs_rec_stack);
		walk->next_stack = (size - (guint)sizeof(struct rs_rec_stack)) / 8;
		walk->next_stack = MIN(walk->next_stack, RS_STACK_MAX);
	}
	/* Other marks do not change the output. */
	walk->at += MIN(RS_ALIGN_UP(size, RS_RING_UNIT), room);
	return RS_TRACE_PAGE_MARK;
}

RsTracePageItem rs_trace_page_next(RsTracePageWalk *walk, const guint8 *page, guint to)
{
	const guint8 *at = page + walk->at;
	guint room = to - walk->at, size;
	struct rs_rec_header head;
	guint64 ts;

	if (walk->at >= to)
		return RS_TRACE_PAGE_END;
	if (room < sizeof(head))
		return RS_TRACE_PAGE_BAD;
	memcpy(&head, at, sizeof(head));
	if (head.id < RS_FIRST_EVENT_ID)
		return take_mark(walk, at, room, &head);
	size = head.size & RS_REC_SIZE_MASK;
	if (size < sizeof(head) || size > room)
		return RS_TRACE_PAGE_BAD;
	ts = (walk->ts & ~(guint64)G_MAXUINT32) | head.ts;
	walk->ts = ts < walk->ts ? ts + (G_GUINT64_CONSTANT(1) << 32) : ts;
	walk->n++;
	walk->id = head.id;
	walk->cut = (head.size & RS_REC_CUT) || walk->piece != RS_TRACE_PAGE_WHOLE;
	walk->payload = walk->at + (guint)sizeof(head);
	walk->size = walk->piece == RS_TRACE_PAGE_LATER_PIECE ? 0 : size - (guint)sizeof(head);
	walk->piece = RS_TRACE_PAGE_WHOLE;
	walk->n_stack = walk->next_stack;
	walk->next_stack = 0;
	/* `to` may lie inside the last record's padding. */
	walk->at = MIN(walk->at + RS_ALIGN_UP(size, RS_RING_UNIT), to);
	return RS_TRACE_PAGE_RECORD;
}

guint rs_trace_page_count(const guint8 *page, guint from, guint to, gboolean *bad)
{
	RsTracePageWalk walk = {.at = from};
	RsTracePageItem item;

	do
		item = rs_trace_page_next(&walk, page, to);
	while (item >= RS_TRACE_PAGE_MARK);
	if (bad)
		*bad = item == RS_TRACE_PAGE_BAD;
	return walk.n;
}
