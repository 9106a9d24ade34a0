/* SPDX-License-Identifier: MIT */
#include "rs-trace-page.h"

#include <string.h>

void rs_trace_page_begin(RsTracePageWalk *walk, const guint8 *page)
{
	struct rs_ring_page head;

	memcpy(&head, page, sizeof(head));
	walk->seq = head.seq;
	walk->ts = head.ts;
	walk->at = RS_RING_PAGE_HEADER;
	walk->pid = head.pid;
	walk->context = head.context;
	walk->epoch = head.epoch;
}

static RsTracePageItem take_mark(RsTracePageWalk *walk, const guint8 *at, guint room,
				 const struct rs_rec_header *head)
{
	switch (head->id) {
	case RS_REC_PAD:
		return RS_TRACE_PAGE_PAD;
	case RS_REC_CONTEXT:
		walk->context = head->size; /* struct rs_rec_context, field by field */
		walk->pid = head->ts;
		walk->at += sizeof(struct rs_rec_context);
		return RS_TRACE_PAGE_MARK;
	case RS_REC_TIME:
		if (head->size != sizeof(struct rs_rec_time) || room < sizeof(struct rs_rec_time))
			return RS_TRACE_PAGE_BAD;
		memcpy(&walk->ts, at + offsetof(struct rs_rec_time, ts), sizeof(walk->ts));
		walk->at += sizeof(struct rs_rec_time);
		return RS_TRACE_PAGE_MARK;
	default:
		return RS_TRACE_PAGE_BAD;
	}
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
	walk->id = head.id;
	walk->cut = (head.size & RS_REC_CUT) != 0;
	walk->payload = walk->at + (guint)sizeof(head);
	walk->size = size - (guint)sizeof(head);
	/* The last record may end in less than its padding. */
	walk->at = MIN(walk->at + RS_ALIGN_UP(size, RS_RING_UNIT), to);
	return RS_TRACE_PAGE_RECORD;
}
