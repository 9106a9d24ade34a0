/* SPDX-License-Identifier: MIT */
#include "rs-trace-feed.h"

/*
 * Limits for providers that have lost their slot, which are kept for earlier records: their number,
 * and their memory in bytes. Beyond these limits, the oldest are freed down to half.
 */
#define RETIRED_BYTES ((gsize)32 << 20)
/*
 * After DESCS_MAX bytes of new descriptors and names of addresses, the rest waits for the next
 * round, so that each round ends. A fuzzer has only a few providers and pages, and is to come to
 * the limits with them.
 */
#ifdef RS_FUZZING
#define RETIRED_MAX 2u
#define DESCS_MAX ((gsize)1 << 10)
#else
#define RETIRED_MAX 4096u
#define DESCS_MAX ((gsize)1 << 20)
#endif

RsTraceFeed *rs_trace_feed_new(RsTraceSource *source, RsTraceSink *sink, guint16 number,
			       gpointer data)
{
	RsTraceFeed *feed = g_new0(RsTraceFeed, 1);

	feed->source = source;
	feed->sink = sink;
	feed->number = number;
	feed->data = data;
	feed->schema = rs_trace_schema_new();
	feed->credit = RS_TRACE_FEED_PATIENCE_US;
	feed->credit_at = g_get_monotonic_time();
	feed->patience = &feed->own_patience;
	if (sink)
		sink->ops->join(sink, feed);
	return feed;
}

void rs_trace_feed_free(RsTraceFeed *feed)
{
	if (!feed)
		return;
	if (feed->sink)
		feed->sink->ops->leave(feed->sink, feed);
	rs_trace_schema_free(feed->schema);
	feed->source->ops->free(feed->source);
	g_free(feed);
}

#define REST_US 50
#define CREDIT_PART 100 /* of the time that passes */

gboolean rs_trace_feed_rest(RsTraceFeed *feed)
{
	gint64 before = g_get_monotonic_time(), took;

	feed->credit += (before - feed->credit_at) / CREDIT_PART;
	feed->credit = MIN(feed->credit, RS_TRACE_FEED_PATIENCE_US);
	feed->credit_at = before;
	if (feed->credit <= 0 || *feed->patience <= 0)
		return FALSE;
	g_usleep(REST_US);
	took = g_get_monotonic_time() - before;
	feed->credit -= took;
	*feed->patience -= took;
	return TRUE;
}

void rs_trace_feed_share_patience(RsTraceFeed *feed, gint64 *patience)
{
	feed->patience = patience;
}

static void take_chunk(RsTraceFeed *feed, const RsTraceChunk *chunk)
{
	if (!feed->sink)
		return;
	/* Only after the page was copied: then the source knows all that its records refer to. */
	feed->source->ops->changes(feed->source, feed);
	feed->sink->ops->chunk(feed->sink, feed, chunk);
}

/*
 * FALSE: too many providers are kept, and the sink holds records that point to some of their
 * events. These records must be shown first, which takes a round or two. This happens only to a
 * guest whose providers change as fast as it writes.
 */
static gboolean make_room(RsTraceFeed *feed)
{
	guint n;
	gsize bytes = rs_trace_schema_retired(feed->schema, &n);

	if (n <= RETIRED_MAX && bytes <= RETIRED_BYTES)
		return TRUE;
	if (rs_trace_feed_held(feed))
		return FALSE;
	rs_trace_schema_trim(feed->schema, RETIRED_MAX / 2, RETIRED_BYTES / 2);
	return TRUE;
}

/* Reads up to RS_TRACE_FEED_CHUNKS of one ring. *stopped: the rest must wait for a later round. */
static RsTraceRingStatus read_ring(RsTraceFeed *feed, guint ring, guint64 now_ns, gboolean *any,
				   gboolean *stopped)
{
	RsTraceSource *source = feed->source;
	RsTraceRingStatus status = RS_TRACE_RING_DATA;
	RsTraceChunk chunk;

	for (guint n = 0; n < RS_TRACE_FEED_CHUNKS; n++) {
		*stopped |= feed->descs > DESCS_MAX || !make_room(feed);
		if (*stopped)
			break;
		status = source->ops->next(source, ring, now_ns, &chunk);
		if (status != RS_TRACE_RING_DATA)
			break;
		*any = TRUE;
		take_chunk(feed, &chunk);
	}
	return status;
}

RsTraceRingStatus rs_trace_feed_read(RsTraceFeed *feed, guint64 now_ns)
{
	RsTraceSource *source = feed->source;
	RsTraceSink *sink = feed->sink;
	gboolean any = FALSE, in_flight = FALSE, ended = TRUE, stopped = FALSE, more = FALSE;

	feed->descs = 0;
	feed->own_patience = RS_TRACE_FEED_PATIENCE_US;
	if (sink)
		source->ops->begin_round(source, feed);
	for (guint ring = 0; ring < source->n_rings; ring++) {
		RsTraceRingStatus status = read_ring(feed, ring, now_ns, &any, &stopped);

		ended &= status == RS_TRACE_RING_END;
		if (status != RS_TRACE_RING_DATA && status != RS_TRACE_RING_IN_FLIGHT)
			continue;
		in_flight = TRUE;
		more |= status == RS_TRACE_RING_DATA;
		/*
		 * After a stop, this ring waits until the sink has let records go. So it must not
		 * hold them back.
		 */
		if (sink && sink->ops->in_flight && !stopped)
			sink->ops->in_flight(sink, feed, ring);
	}
	feed->stopped = stopped;
	feed->more = more && !stopped;
	return stopped     ? RS_TRACE_RING_IN_FLIGHT
	       : any       ? RS_TRACE_RING_DATA
	       : in_flight ? RS_TRACE_RING_IN_FLIGHT
	       : ended     ? RS_TRACE_RING_END
			   : RS_TRACE_RING_IDLE;
}

void rs_trace_feed_set_whole(RsTraceFeed *feed, guint ring, gboolean whole)
{
	feed->source->ops->set_whole(feed->source, ring, whole);
}

void rs_trace_feed_update_names(RsTraceFeed *feed)
{
	feed->source->ops->names(feed->source, feed);
}

void rs_trace_feed_let_go(RsTraceFeed *feed)
{
	RsTraceSource *source = feed->source;
	RsTraceChunk chunk;

	/* A source without a record has events, too. */
	if (feed->sink)
		source->ops->changes(source, feed);
	if (!feed->sink || !source->ops->let_go || !source->ops->let_go(source))
		return;
	for (guint ring = 0; ring < source->n_rings; ring++)
		while (source->ops->next(source, ring, 0, &chunk) == RS_TRACE_RING_DATA)
			take_chunk(feed, &chunk);
}

void rs_trace_feed_finish(RsTraceFeed *feed)
{
	rs_trace_feed_let_go(feed);
	for (guint ring = 0; feed->sink && ring < feed->source->n_rings; ring++) {
		guint64 lost = feed->source->ops->pending_loss(feed->source, ring);

		if (lost)
			feed->sink->ops->lost(feed->sink, feed, ring, lost);
	}
}

gboolean rs_trace_feed_held(RsTraceFeed *feed)
{
	return feed->sink && feed->sink->ops->held && feed->sink->ops->held(feed->sink, feed);
}

void rs_trace_feed_tell_boots(RsTraceFeed *feed, const struct rs_file_boot boots[RS_BOOTS],
			      guint64 hz)
{
	if (feed->sink->ops->boots)
		feed->sink->ops->boots(feed->sink, feed, boots, hz);
}

void rs_trace_feed_tell_provider(RsTraceFeed *feed, guint slot, const struct rs_provider *entry,
				 const guint8 *descs, gsize size)
{
	feed->descs += size;
	rs_trace_schema_take(feed->schema, slot, entry, descs, size, NULL, NULL);
	if (feed->sink->ops->provider)
		feed->sink->ops->provider(feed->sink, feed, slot, entry, descs, size);
}

void rs_trace_feed_tell_clock(RsTraceFeed *feed, const struct rs_clock_epoch *table, guint n,
			      guint32 epoch_count)
{
	if (feed->sink->ops->clock)
		feed->sink->ops->clock(feed->sink, feed, table, n, epoch_count);
}

void rs_trace_feed_tell_names(RsTraceFeed *feed, const guint8 *snapshot, const guint8 *again,
			      gsize size, gsize stride)
{
	if (feed->sink->ops->names)
		feed->sink->ops->names(feed->sink, feed, snapshot, again, size, stride);
}

void rs_trace_feed_tell_symbols(RsTraceFeed *feed, const struct rs_file_symbols *head, GBytes *data)
{
	feed->descs += g_bytes_get_size(data);
	if (feed->sink->ops->symbols)
		feed->sink->ops->symbols(feed->sink, feed, head, data);
}
