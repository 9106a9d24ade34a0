/* SPDX-License-Identifier: MIT */
#include "rs-trace-tee.h"
#include "rs-trace-feed.h"

#include <ringside/ring.h>
#include <string.h>

enum { KEEPS, DECODES, SIDES };

typedef struct {
	RsTraceSink sink;
	RsTraceSink *sides[SIDES];
	GPtrArray *joined; /* of Joined, which their feeds own */
} Tee;

typedef struct _Joined Joined;

/* What one of the sinks has of a source: a feed whose state is its own. */
typedef struct {
	RsTraceSource source; /* what a sink may ask of one; the rest is for the real feed */
	RsTraceFeed feed;
	Joined *joined;
} Side;

/* Parts of a page that the sink that keeps does not have yet. */
typedef struct {
	RsTraceChunk chunk; /* chunk.to is 0: there are none */
	guint8 *page;
	guint room;     /* bytes that the page may have */
	gboolean parts; /* they are wanted before the page is full */
} Gathered;

struct _Joined {
	RsTraceFeed *feed; /* the real one */
	Side sides[SIDES];
	Gathered *rings;
};

/* ---- pages for the sink that keeps ---- */

static void hand_over(Joined *joined, guint ring)
{
	Gathered *gathered = &joined->rings[ring];
	RsTraceFeed *feed = &joined->sides[KEEPS].feed;
	RsTraceChunk chunk = gathered->chunk;

	if (!chunk.to)
		return;
	/* First, as the sink may say in this call what it wants of later pages. */
	gathered->chunk.to = 0;
	feed->sink->ops->chunk(feed->sink, feed, &chunk);
}

static void hand_over_all(Joined *joined)
{
	for (guint i = 0; i < joined->feed->source->n_rings; i++)
		hand_over(joined, i);
}

static gboolean goes_on(const Gathered *gathered, const RsTraceChunk *chunk)
{
	const struct rs_ring_page *page = (const void *)gathered->page;

	return gathered->chunk.to == chunk->from && !chunk->lost &&
	       page->seq == ((const struct rs_ring_page *)(const void *)chunk->page)->seq;
}

static void gather(Joined *joined, const RsTraceChunk *chunk)
{
	Gathered *gathered = &joined->rings[chunk->ring];
	RsTraceChunk *all = &gathered->chunk;

	if (all->to && !goes_on(gathered, chunk))
		hand_over(joined, chunk->ring);
	if (gathered->room < chunk->to) {
		gathered->room = MAX(chunk->to, joined->feed->source->page_size);
		gathered->page = g_realloc(gathered->page, gathered->room);
	}
	if (!all->to) {
		*all = *chunk;
		memcpy(gathered->page, chunk->page, chunk->to);
	} else {
		all->to = chunk->to;
		all->records = chunk->records;
		memcpy(gathered->page, chunk->page, RS_RING_PAGE_HEADER);
		memcpy(gathered->page + chunk->from, chunk->page + chunk->from,
		       chunk->to - chunk->from);
	}
	all->page = gathered->page;
	if (gathered->parts || chunk->to >= joined->feed->source->page_size)
		hand_over(joined, chunk->ring);
}

/* ---- a source, as the sinks see it ---- */

/* Of the real feed, so that both sinks are told: a source tells only once what has changed. */
static void side_names(RsTraceSource *source, RsTraceFeed *feed)
{
	rs_trace_feed_update_names(((Side *)source)->joined->feed);
}

/* Only that of the sink that keeps: pages that are not full have come so far. */
static void side_set_whole(RsTraceSource *source, guint ring, gboolean whole)
{
	Joined *joined = ((Side *)source)->joined;

	if (source != &joined->sides[KEEPS].source)
		return;
	joined->rings[ring].parts = !whole;
	rs_trace_feed_set_whole(joined->feed, ring, whole);
	if (!whole)
		hand_over(joined, ring);
}

static void side_written(RsTraceSource *source, guint ring, RsTraceRingMark *out)
{
	RsTraceSource *real = ((Side *)source)->joined->feed->source;

	real->ops->written(real, ring, out);
}

static guint64 side_records(RsTraceSource *source, guint ring)
{
	RsTraceSource *real = ((Side *)source)->joined->feed->source;

	return real->ops->records(real, ring);
}

static void side_init(Side *side, Joined *joined, RsTraceSink *sink)
{
	static const RsTraceSourceOps ops = {
		.names = side_names,
		.set_whole = side_set_whole,
		.written = side_written,
		.records = side_records,
	};
	const RsTraceFeed *feed = joined->feed;

	side->source = *feed->source;
	side->source.ops = &ops;
	side->joined = joined;
	side->feed = (RsTraceFeed){.source = &side->source,
				   .sink = sink,
				   .number = feed->number,
				   .data = feed->data,
				   .schema = feed->schema};
	side->feed.patience = &side->feed.own_patience;
}

/* ---- as a sink ---- */

static void join(RsTraceSink *sink, RsTraceFeed *feed)
{
	Tee *tee = (Tee *)sink;
	Joined *joined = g_new0(Joined, 1);

	joined->feed = feed;
	joined->rings = g_new0(Gathered, feed->source->n_rings);
	feed->state = joined;
	g_ptr_array_add(tee->joined, joined);
	for (guint i = 0; i < SIDES; i++)
		side_init(&joined->sides[i], joined, tee->sides[i]);
	for (guint i = 0; i < SIDES; i++)
		tee->sides[i]->ops->join(tee->sides[i], &joined->sides[i].feed);
}

static void leave(RsTraceSink *sink, RsTraceFeed *feed)
{
	Tee *tee = (Tee *)sink;
	Joined *joined = feed->state;

	hand_over_all(joined);
	for (guint i = 0; i < SIDES; i++)
		tee->sides[i]->ops->leave(tee->sides[i], &joined->sides[i].feed);
	for (guint i = 0; i < feed->source->n_rings; i++)
		g_free(joined->rings[i].page);
	g_free(joined->rings);
	g_ptr_array_remove_fast(tee->joined, joined);
	g_free(joined);
}

static void begin_round(RsTraceSink *sink)
{
	const Tee *tee = (const Tee *)sink;

	for (guint i = 0; i < SIDES; i++)
		tee->sides[i]->ops->begin_round(tee->sides[i]);
}

/* What the round has left in the real feeds is what the sinks find in theirs. */
static void show_round(const Tee *tee)
{
	for (guint i = 0; i < tee->joined->len; i++) {
		Joined *joined = tee->joined->pdata[i];

		for (guint k = 0; k < SIDES; k++) {
			joined->sides[k].feed.stopped = joined->feed->stopped;
			joined->sides[k].feed.more = joined->feed->more;
		}
	}
}

static void end_keeping(const Tee *tee)
{
	for (guint i = 0; i < tee->joined->len; i++)
		hand_over_all(tee->joined->pdata[i]);
	tee->sides[KEEPS]->ops->end(tee->sides[KEEPS]);
}

static gboolean end_round(RsTraceSink *sink, guint64 now_ns)
{
	const Tee *tee = (const Tee *)sink;
	gboolean wanted[SIDES];

	show_round(tee);
	for (guint i = 0; i < SIDES; i++)
		wanted[i] = tee->sides[i]->ops->end_round(tee->sides[i], now_ns);
	if (wanted[KEEPS] && wanted[DECODES])
		return TRUE;
	if (wanted[KEEPS])
		end_keeping(tee);
	if (wanted[DECODES])
		tee->sides[DECODES]->ops->end(tee->sides[DECODES]);
	return FALSE;
}

static void end(RsTraceSink *sink)
{
	const Tee *tee = (const Tee *)sink;

	show_round(tee);
	end_keeping(tee);
	tee->sides[DECODES]->ops->end(tee->sides[DECODES]);
}

/* Calls a function of both sinks, each with its own feed. */
#define PASS_ON(sink, feed, call, ...)                                                             \
	do {                                                                                       \
		const Tee *tee_ = (const Tee *)(sink);                                             \
		Joined *joined_ = (feed)->state;                                                   \
                                                                                                   \
		for (guint i_ = 0; i_ < SIDES; i_++)                                               \
			if (tee_->sides[i_]->ops->call)                                            \
				tee_->sides[i_]->ops->call(tee_->sides[i_],                        \
							   &joined_->sides[i_].feed, __VA_ARGS__); \
	} while (0)

static void take_boots(RsTraceSink *sink, RsTraceFeed *feed,
		       const struct rs_file_boot boots[RS_BOOTS], guint64 hz)
{
	PASS_ON(sink, feed, boots, boots, hz);
}

static void take_provider(RsTraceSink *sink, RsTraceFeed *feed, guint slot,
			  const struct rs_provider *entry, const guint8 *descs, gsize size)
{
	PASS_ON(sink, feed, provider, slot, entry, descs, size);
}

static void take_clock(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_clock_epoch *table,
		       guint n, guint32 epoch_count)
{
	PASS_ON(sink, feed, clock, table, n, epoch_count);
}

static void take_names(RsTraceSink *sink, RsTraceFeed *feed, const guint8 *snapshot,
		       const guint8 *again, gsize size, gsize stride)
{
	PASS_ON(sink, feed, names, snapshot, again, size, stride);
}

static void take_symbols(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_file_symbols *head,
			 GBytes *data)
{
	PASS_ON(sink, feed, symbols, head, data);
}

static void take_chunk(RsTraceSink *sink, RsTraceFeed *feed, const RsTraceChunk *chunk)
{
	const Tee *tee = (const Tee *)sink;
	Joined *joined = feed->state;

	gather(joined, chunk);
	tee->sides[DECODES]->ops->chunk(tee->sides[DECODES], &joined->sides[DECODES].feed, chunk);
}

static void in_flight(RsTraceSink *sink, RsTraceFeed *feed, guint ring)
{
	PASS_ON(sink, feed, in_flight, ring);
}

static void take_lost(RsTraceSink *sink, RsTraceFeed *feed, guint ring, guint64 lost)
{
	hand_over(feed->state, ring);
	PASS_ON(sink, feed, lost, ring, lost);
}

static gboolean held(RsTraceSink *sink, RsTraceFeed *feed)
{
	Joined *joined = feed->state;

	return rs_trace_feed_held(&joined->sides[KEEPS].feed) ||
	       rs_trace_feed_held(&joined->sides[DECODES].feed);
}

static void free_tee(RsTraceSink *sink)
{
	Tee *tee = (Tee *)sink;

	for (guint i = 0; i < SIDES; i++)
		tee->sides[i]->ops->free(tee->sides[i]);
	g_ptr_array_unref(tee->joined);
	g_free(tee);
}

RsTraceSink *rs_trace_tee_new(RsTraceSink *keeps, RsTraceSink *decodes)
{
	static const RsTraceSinkOps ops = {
		.join = join,
		.leave = leave,
		.begin_round = begin_round,
		.end_round = end_round,
		.end = end,
		.boots = take_boots,
		.provider = take_provider,
		.clock = take_clock,
		.names = take_names,
		.symbols = take_symbols,
		.chunk = take_chunk,
		.in_flight = in_flight,
		.lost = take_lost,
		.held = held,
		.free = free_tee,
	};
	Tee *tee = g_new0(Tee, 1);

	tee->sink.ops = &ops;
	tee->sides[KEEPS] = keeps;
	tee->sides[DECODES] = decodes;
	tee->joined = g_ptr_array_new();
	return &tee->sink;
}
