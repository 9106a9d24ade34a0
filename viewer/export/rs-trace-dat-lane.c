/* SPDX-License-Identifier: MIT */
/*
 * A page of Linux' ring buffer: the time of its first record (8 bytes), how many bytes of records
 * follow with flags of what was missed (8 bytes), then records. Behind them is, if a flag says so,
 * how many were missed before the page. A record is a word of type (5 bits) and time since the one
 * before (27 bits), then its bytes, a multiple of 4.
 */
#include "rs-trace-dat-private.h"

#include <string.h>

#define DELTA_BITS 27
#define TYPE_LONG 0u         /* the length stands in the next word */
#define TYPE_SHORT_MAX 28u   /* up to here, the type is the length in words */
#define TYPE_TIME_EXTEND 30u /* more bits of the time since the one before, in the next word */
#define TYPE_TIME_STAMP 31u  /* the time itself */
#define MISSED G_GUINT64_CONSTANT(0x80000000)
#define MISSED_STORED G_GUINT64_CONSTANT(0x40000000)

static void put(RsTraceDatLane *lane, guint32 word)
{
	word = GUINT32_TO_LE(word);
	memcpy(lane->page + RS_TRACE_DAT_PAGE_HEADER + lane->used, &word, sizeof(word));
	lane->used += sizeof(word);
}

static void put_time(RsTraceDatLane *lane, guint type, guint64 time)
{
	put(lane, type | (guint32)(time & ((1u << DELTA_BITS) - 1)) << 5);
	put(lane, (guint32)(time >> DELTA_BITS));
}

/* ---- where the page is ---- */

static void drop_page(RsTraceDatLane *lane, RsTraceDatPool *pool)
{
	if (!lane->page)
		return;
	g_clear_pointer(&lane->page, g_free);
	g_queue_unlink(&pool->lanes, &lane->link);
	pool->held -= lane->page_size;
}

/* The lane that was not used for longest keeps its page in the spool only. */
static gboolean put_away(RsTraceDatPool *pool, GError **error)
{
	RsTraceDatLane *lane = g_queue_peek_tail(&pool->lanes);

	if (lane->used && !rs_trace_dat_spool_put(pool->spool, &lane->chain, lane->page,
						  RS_TRACE_DAT_PAGE_HEADER + lane->used, error))
		return FALSE;
	drop_page(lane, pool);
	return TRUE;
}

/* Gives the lane its page, with what was in it, and makes it the one that was used last. */
static gboolean hold_page(RsTraceDatLane *lane, RsTraceDatPool *pool, GError **error)
{
	if (lane->page) {
		if (pool->lanes.head != &lane->link) {
			g_queue_unlink(&pool->lanes, &lane->link);
			g_queue_push_head_link(&pool->lanes, &lane->link);
		}
		return TRUE;
	}
	while (pool->held && pool->held + lane->page_size > pool->max)
		if (!put_away(pool, error))
			return FALSE;
	lane->page = g_malloc(lane->page_size);
	pool->held += lane->page_size;
	g_queue_push_head_link(&pool->lanes, &lane->link);
	return !lane->used || rs_trace_dat_spool_get(pool->spool, &lane->chain, lane->page,
						     RS_TRACE_DAT_PAGE_HEADER + lane->used, error);
}

/* ---- pages ---- */

/* The page, which the lane holds, is full. */
static gboolean flush(RsTraceDatLane *lane, RsTraceDatPool *pool, GError **error)
{
	guint64 commit = lane->used, missed = GUINT64_TO_LE(MIN(lane->missed, G_MAXINT32));
	gsize size = RS_TRACE_DAT_PAGE_HEADER + lane->used;

	if (lane->missed) {
		commit |= MISSED | MISSED_STORED;
		memcpy(lane->page + size, &missed, sizeof(missed));
		size += sizeof(missed);
	}
	commit = GUINT64_TO_LE(commit);
	memcpy(lane->page + 8, &commit, sizeof(commit));
	if (!rs_trace_dat_spool_put(pool->spool, &lane->chain, lane->page, size, error))
		return FALSE;
	lane->chain.size += lane->page_size;
	lane->used = 0;
	lane->missed = 0;
	return TRUE;
}

static void begin_page(RsTraceDatLane *lane, guint64 ns)
{
	guint64 le = GUINT64_TO_LE(ns);

	memcpy(lane->page, &le, sizeof(le));
	memset(lane->page + sizeof(le), 0, RS_TRACE_DAT_PAGE_HEADER - sizeof(le));
	lane->ns = ns;
	lane->missed = lane->pending;
	lane->lost += lane->pending;
	lane->pending = 0;
}

static guint record_bytes(gsize size)
{
	guint words = (guint)(size + 3) / 4;

	return 4 * (words <= TYPE_SHORT_MAX ? 1 + words : 2 + words);
}

/* The time of the next record. Its delta: what is left for the record's own word. */
static guint32 put_delta(RsTraceDatLane *lane, guint64 ns)
{
	guint64 delta = ns - lane->ns;

	if (ns < lane->ns)
		put_time(lane, TYPE_TIME_STAMP, ns);
	else if (delta >> DELTA_BITS)
		put_time(lane, TYPE_TIME_EXTEND, delta);
	else
		return (guint32)delta;
	return 0;
}

gboolean rs_trace_dat_lane_add(RsTraceDatLane *lane, RsTraceDatPool *pool, guint64 ns,
			       const guint8 *record, gsize size, GError **error)
{
	gsize room = lane->page_size - RS_TRACE_DAT_PAGE_HEADER - sizeof(guint64);
	guint words = (guint)(size + 3) / 4;
	guint32 delta;

	if (!hold_page(lane, pool, error))
		return FALSE;
	/* Losses can only stand before a page. */
	if (lane->used &&
	    (lane->pending || lane->used + 8 + record_bytes(size) > room || (ns ^ lane->ns) >> 59))
		if (!flush(lane, pool, error))
			return FALSE;
	if (!lane->used)
		begin_page(lane, ns);
	delta = put_delta(lane, ns);
	if (words <= TYPE_SHORT_MAX) {
		put(lane, words | delta << 5);
	} else {
		put(lane, TYPE_LONG | delta << 5);
		put(lane, 4 * words + 4);
	}
	memcpy(lane->page + RS_TRACE_DAT_PAGE_HEADER + lane->used, record, size);
	memset(lane->page + RS_TRACE_DAT_PAGE_HEADER + lane->used + size, 0, 4 * words - size);
	lane->used += 4 * words;
	lane->ns = ns;
	lane->events++;
	return TRUE;
}

gboolean rs_trace_dat_lane_end(RsTraceDatLane *lane, RsTraceDatPool *pool, GError **error)
{
	if (lane->used && (!hold_page(lane, pool, error) || !flush(lane, pool, error)))
		return FALSE;
	drop_page(lane, pool);
	return TRUE;
}

RsTraceDatLane *rs_trace_dat_lane_new(gsize page_size)
{
	RsTraceDatLane *lane = g_new0(RsTraceDatLane, 1);

	lane->page_size = page_size;
	lane->link.data = lane;
	return lane;
}

void rs_trace_dat_lane_free(RsTraceDatLane *lane)
{
	g_clear_pointer(&lane->page, g_free);
	g_clear_pointer(&lane->chain.extents, g_array_unref);
	g_free(lane);
}
