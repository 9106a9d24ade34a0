/* SPDX-License-Identifier: MIT */
#include "walk.h"

#include <ringside/ring.h>

/* A record in pieces: only the first one has fields. */
enum { WHOLE, FIRST_PIECE, LATER_PIECE };

void rs_walk_begin(struct rs_walk *walk, const uint8_t *page, uint32_t size)
{
	struct rs_ring_page head;

	__builtin_memcpy(&head, page, sizeof(head));
	*walk = (struct rs_walk){
		.at = head.header_size,
		.end = head.committed < size ? head.committed : size,
		.ts = head.ts,
		.chain = head.chain,
		.pid = head.pid,
		.tgid = head.tgid,
		.context = head.context,
	};
	if (walk->at < RS_RING_PAGE_HEADER || walk->at % RS_RING_UNIT)
		walk->at = RS_RING_PAGE_HEADER;
}

/* False: it is bad, or the rest of the page is empty. */
static bool take_mark(struct rs_walk *walk, const uint8_t *at, const struct rs_rec_header *head,
		      uint32_t room)
{
	uint32_t size = head->size & RS_REC_SIZE_MASK;
	struct rs_rec_continued continued;
	struct rs_rec_time time;
	struct rs_rec_tgid tgid;

	if (head->id == RS_REC_PAD)
		return false;
	if (head->id == RS_REC_CONTEXT) {
		/* struct rs_rec_context has the same two fields behind its id. */
		walk->context = head->size;
		walk->tgid = walk->pid == head->ts ? walk->tgid : 0;
		walk->pid = head->ts;
		walk->at += sizeof(struct rs_rec_context);
		return true;
	}
	if (size < sizeof(*head) || size > room)
		return false;
	if (head->id == RS_REC_TIME) {
		if (size < sizeof(time))
			return false;
		__builtin_memcpy(&time, at, sizeof(time));
		walk->ts = time.ts;
		walk->chain = time.chain;
	} else if (head->id == RS_REC_TGID) {
		__builtin_memcpy(&tgid, at, sizeof(tgid));
		walk->tgid = tgid.tgid;
	} else if (head->id == RS_REC_CONTINUED) {
		if (size < sizeof(continued))
			return false;
		__builtin_memcpy(&continued, at, sizeof(continued));
		walk->piece = continued.offset ? LATER_PIECE : FIRST_PIECE;
	}
	walk->at += RS_ALIGN_UP(size, RS_RING_UNIT);
	return true;
}

bool rs_walk_next(struct rs_walk *walk, const uint8_t *page, struct rs_tracepoint_record *record)
{
	struct rs_rec_header head;
	uint32_t size;
	uint64_t ts;

	for (;;) {
		uint32_t room = walk->at < walk->end ? walk->end - walk->at : 0;
		const uint8_t *at = page + walk->at;

		if (room < sizeof(head))
			return false;
		__builtin_memcpy(&head, at, sizeof(head));
		size = head.size & RS_REC_SIZE_MASK;
		if (head.id >= RS_FIRST_EVENT_ID) {
			if (size < sizeof(head) || size > room)
				break;
			ts = (walk->ts & ~(uint64_t)UINT32_MAX) | head.ts;
			walk->ts = ts < walk->ts ? ts + (1ull << 32) : ts;
			*record = (struct rs_tracepoint_record){
				.ts = walk->ts,
				.chain = walk->chain,
				.pid = walk->pid,
				.tgid = walk->tgid,
				.context = walk->context,
				.id = head.id,
				.payload = at + sizeof(head),
				.size = walk->piece == LATER_PIECE ? 0
								   : size - (uint32_t)sizeof(head),
				.cut = head.size & RS_REC_CUT || walk->piece != WHOLE,
			};
			walk->piece = WHOLE;
			walk->at += RS_ALIGN_UP(size, RS_RING_UNIT);
			return true;
		}
		if (!take_mark(walk, at, &head, room))
			break;
	}
	walk->at = walk->end;
	return false;
}
