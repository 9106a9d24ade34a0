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

static gboolean flush(RsTraceDatLane *lane, RsTraceDatSpool *spool, GError **error)
{
	guint64 commit = lane->used, missed = GUINT64_TO_LE(MIN(lane->missed, G_MAXINT32));
	guint8 *end = lane->page + RS_TRACE_DAT_PAGE_HEADER + lane->used;
	gsize rest = lane->page_size - RS_TRACE_DAT_PAGE_HEADER - lane->used;

	memset(end, 0, rest);
	if (lane->missed) {
		commit |= MISSED | MISSED_STORED;
		memcpy(end, &missed, sizeof(missed));
	}
	commit = GUINT64_TO_LE(commit);
	memcpy(lane->page + 8, &commit, sizeof(commit));
	lane->used = 0;
	lane->missed = 0;
	return rs_trace_dat_spool_append(spool, &lane->chain, lane->page, lane->page_size, error);
}

static void begin_page(RsTraceDatLane *lane, guint64 ns)
{
	guint64 le = GUINT64_TO_LE(ns);

	if (!lane->page)
		lane->page = g_malloc(lane->page_size);
	memcpy(lane->page, &le, sizeof(le));
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

gboolean rs_trace_dat_lane_add(RsTraceDatLane *lane, RsTraceDatSpool *spool, guint64 ns,
			       const guint8 *record, gsize size, GError **error)
{
	gsize room = lane->page_size - RS_TRACE_DAT_PAGE_HEADER - sizeof(guint64);
	guint words = (guint)(size + 3) / 4;
	guint32 delta;

	/* Losses can only stand before a page. */
	if (lane->used &&
	    (lane->pending || lane->used + 8 + record_bytes(size) > room || (ns ^ lane->ns) >> 59))
		if (!flush(lane, spool, error))
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

gboolean rs_trace_dat_lane_end(RsTraceDatLane *lane, RsTraceDatSpool *spool, GError **error)
{
	return !lane->used || flush(lane, spool, error);
}

void rs_trace_dat_lane_clear(RsTraceDatLane *lane)
{
	g_clear_pointer(&lane->page, g_free);
	g_clear_pointer(&lane->chain.extents, g_array_unref);
}
