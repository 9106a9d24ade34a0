/* SPDX-License-Identifier: MIT */
#include "hand.h"

#include "region/regions.h"
#include <ringside/record.h>
#include <rs-trace-page.h>
#include <string.h>

static void open_with(struct hand *r, uint32_t mode, uint32_t pages, uint32_t index, uint32_t more)
{
	struct rs_region_config config = {.vcpus = 3,
					  .ring_bytes = pages * HAND_PAGE,
					  .ring_page_size = HAND_PAGE,
					  .ring_mode = mode};
	struct rs_region_header *h;
	struct rs_error err = {0};

	memset(r, 0, sizeof(*r));
	r->n_pages = pages;
	r->index = index;
	r->header = RS_RING_PAGE_HEADER;
	g_assert_cmpint(rs_region_create(&config, &r->region, &err), ==, 0);
	h = &r->region->header;
	h->section[RS_SEC_RING_STATE].stride += more;
	h->section[RS_SEC_RING_CTL].stride += more;
	r->state = (void *)(r->region->map + h->section[RS_SEC_RING_STATE].offset +
			    index * (sizeof(*r->state) + more));
	r->ctl = (void *)(r->region->map + h->section[RS_SEC_RING_CTL].offset +
			  index * (sizeof(*r->ctl) + more));
	r->pages = r->region->map + h->section[RS_SEC_RINGS].offset + index * pages * HAND_PAGE;
	r->state->word = RS_WORD_INITIAL(HAND_PAGE / 8);
	r->seq = -1;
	r->offset = HAND_PAGE;
}

void hand_open_of(struct hand *r, uint32_t mode, uint32_t index, uint32_t more)
{
	open_with(r, mode, HAND_PAGES, index, more);
}

void hand_open_large(struct hand *r, uint32_t mode, uint32_t pages)
{
	open_with(r, mode, pages, 0, 0);
}

void hand_open(struct hand *r, uint32_t mode)
{
	open_with(r, mode, HAND_PAGES, 0, 0);
}

struct rs_ring_page *hand_page(struct hand *r, int64_t seq)
{
	return (void *)(r->pages + (seq % r->n_pages) * HAND_PAGE);
}

void hand_publish(struct hand *r)
{
	r->state->word = (uint64_t)r->records << RS_WORD_RECORDS_SHIFT |
			 ((uint64_t)r->seq & RS_WORD_PAGE_MASK) << RS_WORD_PAGE_SHIFT |
			 r->offset / 8;
}

void hand_pad(struct hand *r)
{
	struct rs_ring_page *p;

	if (r->seq < 0 || r->offset == HAND_PAGE)
		return;
	p = hand_page(r, r->seq);
	memset((uint8_t *)p + r->offset, 0, sizeof(struct rs_rec_header));
	p->committed += HAND_PAGE - r->offset;
}

void hand_turn(struct hand *r, uint32_t skip)
{
	struct rs_ring_page *p;

	hand_pad(r);
	for (uint32_t i = 1; i <= skip; i++)
		hand_page(r, r->seq + i)->committed += HAND_PAGE;
	r->seq += 1 + skip;
	p = hand_page(r, r->seq);
	p->seq = (uint64_t)r->seq;
	p->records = r->records;
	p->dropped = r->dropped;
	p->skipped = (uint16_t)skip;
	p->ts = 1000;
	p->boot = 1;
	p->header_size = (uint16_t)r->header;
	p->committed += r->header;
	r->offset = r->header;
	r->state->pages = (uint64_t)r->seq + 1;
	r->state->records = r->records;
}

uint8_t *hand_reserve(struct hand *r)
{
	uint8_t *at;

	if (r->offset + HAND_RECORD > HAND_PAGE)
		hand_turn(r, 0);
	at = (uint8_t *)hand_page(r, r->seq) + r->offset;
	r->offset += HAND_RECORD;
	r->records++;
	hand_publish(r);
	return at;
}

void hand_commit(struct hand *r, uint8_t *at)
{
	struct rs_rec_header h = {.id = RS_FIRST_EVENT_ID, .size = HAND_RECORD, .ts = 2000};

	memcpy(at, &h, sizeof(h));
	memset(at + sizeof(h), 0x5a, HAND_RECORD - sizeof(h));
	((struct rs_ring_page *)(r->pages + (at - r->pages) / HAND_PAGE * HAND_PAGE))->committed +=
		HAND_RECORD;
}

void hand_emit(struct hand *r, uint32_t n)
{
	while (n--)
		hand_commit(r, hand_reserve(r));
}

void hand_go_back(struct hand *r, int64_t to)
{
	memset(r->pages, 0, (size_t)r->n_pages * HAND_PAGE);
	for (int64_t seq = to; seq < to + r->n_pages; seq++)
		hand_page(r, seq)->committed = (uint32_t)(seq / (size_t)r->n_pages * HAND_PAGE);
	r->seq = to - 1;
	r->offset = HAND_PAGE;
	r->records = 0;
}

RsTraceRing *hand_reader(struct hand *r, RsTraceFrom from, bool consumer)
{
	RsTraceRingConfig config = {
		.ring = r->index, .from = from, .consumer = consumer, .patience_ns = 100};
	RsTraceRing *out = NULL;

	out = rs_trace_ring_new(r->region, &config, NULL);
	g_assert_nonnull(out);
	return out;
}

uint32_t hand_count(const RsTraceChunk *chunk)
{
	return rs_trace_page_count(chunk->page, chunk->from, chunk->to, NULL);
}

void hand_drain(RsTraceRing *reader, uint64_t *records, uint64_t *lost)
{
	RsTraceChunk chunk;

	*records = *lost = 0;
	while (rs_trace_ring_next(reader, 0, &chunk) == RS_TRACE_RING_DATA) {
		g_assert_cmpuint(chunk.from, <=, chunk.to);
		g_assert_cmpuint(chunk.to, <=, HAND_PAGE);
		*records += hand_count(&chunk);
		*lost += chunk.lost;
	}
}

void hand_close(struct hand *r, RsTraceRing *reader)
{
	rs_trace_ring_free(reader);
	rs_trace_region_free(r->region);
}
