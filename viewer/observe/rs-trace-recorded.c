/* SPDX-License-Identifier: MIT */
#include "rs-trace-recorded.h"

#include <ringside/cmdline.h>
#include <ringside/ring.h>
#include <string.h>

RsTraceRecorded *rs_trace_recorded_new(RsTraceFeed *feed, RsTraceTold *told)
{
	RsTraceRecorded *recorded =
		g_malloc0(sizeof(*recorded) + feed->source->n_rings * sizeof(*recorded->rings));

	recorded->feed = feed;
	recorded->told = told;
	return recorded;
}

void rs_trace_recorded_free(RsTraceRecorded *recorded)
{
	rs_trace_told_free(recorded->told);
	g_free(recorded->names);
	g_free(recorded);
}

guint64 rs_trace_recorded_count(RsTraceRecorded *recorded)
{
	RsTraceSource *source = recorded->feed->source;

	for (guint i = 0; i < source->n_rings; i++)
		recorded->rings[i].events = source->ops->records(source, i);
	return rs_trace_recorded_events(recorded);
}

guint64 rs_trace_recorded_events(const RsTraceRecorded *recorded)
{
	guint64 n = 0;

	for (guint i = 0; i < recorded->feed->source->n_rings; i++)
		n += recorded->rings[i].events;
	return n;
}

/* ---- windows ---- */

void rs_trace_recorded_begin_round(RsTraceRecorded *recorded)
{
	for (guint i = 0; i < recorded->feed->source->n_rings; i++)
		recorded->rings[i].in_flight = FALSE;
}

void rs_trace_recorded_begin_end(RsTraceRecorded *recorded)
{
	RsTraceSource *source = recorded->feed->source;

	for (guint i = 0; i < source->n_rings; i++) {
		RsTraceRecordedRing *ring = &recorded->rings[i];

		ring->in_flight = FALSE;
		ring->behind = TRUE;
		source->ops->written(source, i, &ring->target);
		rs_trace_feed_set_whole(recorded->feed, i, FALSE);
	}
}

static void catch_up(RsTraceRecorded *recorded, guint ring)
{
	recorded->rings[ring].behind = FALSE;
	rs_trace_feed_set_whole(recorded->feed, ring, TRUE);
}

/* A ring that has handed out what was written when the end began need not be read any further. */
void rs_trace_recorded_take_chunk(RsTraceRecorded *recorded, const RsTraceChunk *chunk)
{
	const gint64 seq = (gint64)((const struct rs_ring_page *)chunk->page)->seq;
	RsTraceRecordedRing *ring = &recorded->rings[chunk->ring];

	ring->events = chunk->records;
	if (ring->behind && (seq > ring->target.seq ||
			     (seq == ring->target.seq && chunk->to >= ring->target.offset)))
		catch_up(recorded, chunk->ring);
}

gboolean rs_trace_recorded_caught_up(RsTraceRecorded *recorded)
{
	gboolean all = TRUE;

	for (guint i = 0; i < recorded->feed->source->n_rings; i++) {
		const RsTraceRecordedRing *ring = &recorded->rings[i];

		/* The target is what a guest says. A ring that was read to its end has no more. */
		if (ring->behind && !ring->in_flight && !recorded->feed->stopped)
			catch_up(recorded, i);
		all &= !ring->behind;
	}
	return all;
}

/* ---- names ---- */

/* Whether an entry is whole, and other than it was. */
static gboolean is_news(const guint8 *before, const guint8 *now, const guint8 *again, gsize stride)
{
	const struct rs_cmdline_entry *entry = (const void *)now;

	return entry->sequence && entry->sequence % 2 == 0 &&
	       (!again || !memcmp(now, again, stride)) && memcmp(before, now, stride);
}

void rs_trace_recorded_take_names(RsTraceRecorded *recorded, const guint8 *snapshot,
				  const guint8 *again, gsize size, gsize stride, GByteArray *news)
{
	if (recorded->names_size < size) {
		recorded->names = g_realloc(recorded->names, size);
		memset(recorded->names + recorded->names_size, 0, size - recorded->names_size);
		recorded->names_size = size;
	}
	recorded->names_stride = stride;
	for (gsize at = 0; at + stride <= size; at += stride) {
		if (!is_news(recorded->names + at, snapshot + at, again ? again + at : NULL,
			     stride))
			continue;
		memcpy(recorded->names + at, snapshot + at, stride);
		g_byte_array_append(news, snapshot + at, (guint)stride);
	}
}

void rs_trace_recorded_all_names(const RsTraceRecorded *recorded, GByteArray *out)
{
	const gsize stride = recorded->names_stride;

	for (gsize at = 0; at + stride <= recorded->names_size && stride; at += stride)
		if (((const struct rs_cmdline_entry *)(void *)(recorded->names + at))->sequence)
			g_byte_array_append(out, recorded->names + at, (guint)stride);
}
