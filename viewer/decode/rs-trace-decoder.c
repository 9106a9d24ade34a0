/* SPDX-License-Identifier: MIT */
#include "rs-trace-decoder.h"

/* The position in one ring's pages. */
typedef struct {
	RsTracePageWalk walk; /* `at` 0: none yet */
	gboolean bad;         /* the rest of the walk's page is invalid */
	guint64 records;      /* of the ring before that rest */
} Stream;

struct _RsTraceDecoder {
	const RsTraceSchema *schema;
	RsTraceClock *clock;
	RsTraceRecordFunc record;
	gpointer data;
	RsTraceDecoderStats stats;
	guint32 boot; /* the newest seen so far */
	guint16 source;
	guint n_rings;
	Stream streams[];
};

RsTraceDecoder *rs_trace_decoder_new(guint n_rings, const RsTraceSchema *schema,
				     RsTraceClock *clock, RsTraceRecordFunc record, gpointer data)
{
	RsTraceDecoder *decoder = g_malloc0(sizeof(*decoder) + n_rings * sizeof(*decoder->streams));

	decoder->schema = schema;
	decoder->clock = clock;
	decoder->record = record;
	decoder->data = data;
	decoder->n_rings = n_rings;
	return decoder;
}

void rs_trace_decoder_set_source(RsTraceDecoder *decoder, guint16 source)
{
	decoder->source = source;
}

void rs_trace_decoder_free(RsTraceDecoder *decoder)
{
	g_free(decoder);
}

static guint64 to_ns(const RsTraceDecoder *decoder, const RsTracePageWalk *walk)
{
	return decoder->clock ? rs_trace_clock_ns(decoder->clock, walk->chain, walk->ts, NULL)
			      : walk->ts;
}

static RsTraceMoment moment_of(const RsTracePageWalk *walk)
{
	return (RsTraceMoment){walk->boot, walk->chain, walk->ts};
}

static const RsTraceEvent *find_event(RsTraceDecoder *decoder, const RsTracePageWalk *walk)
{
	const RsTraceEvent *event =
		rs_trace_schema_lookup(decoder->schema, walk->id, moment_of(walk));

	if (!event)
		decoder->stats.unknown++;
	return event;
}

static void emit_record(RsTraceDecoder *decoder, guint ring, RsTracePageWalk *walk,
			const guint8 *page)
{
	RsTraceRecord record = {
		.kind = RS_TRACE_RECORD_EVENT,
		.ns = to_ns(decoder, walk),
		.when = moment_of(walk),
		.event = find_event(decoder, walk),
		.payload = page + walk->payload,
		.size = walk->size,
		.pid = walk->pid,
		.tgid = walk->tgid,
		.context = walk->context,
		.id = walk->id,
		.ring = (guint16)ring,
		.source = decoder->source,
		.cut = walk->cut,
	};

	decoder->stats.records++;
	decoder->record(&record, decoder->data);
}

static void emit_loss(RsTraceDecoder *decoder, guint ring, RsTracePageWalk *walk, guint64 lost)
{
	RsTraceRecord record = {
		.kind = RS_TRACE_RECORD_LOSS,
		.ns = to_ns(decoder, walk),
		.when = moment_of(walk),
		.lost = lost,
		.ring = (guint16)ring,
		.source = decoder->source,
	};

	decoder->stats.lost += lost;
	decoder->record(&record, decoder->data);
}

/* The page is the first one of a newer boot. */
static void emit_boot(RsTraceDecoder *decoder, guint ring, RsTracePageWalk *walk)
{
	RsTraceRecord record = {
		.kind = RS_TRACE_RECORD_BOOT,
		.ns = to_ns(decoder, walk),
		.when = moment_of(walk),
		.ring = (guint16)ring,
		.source = decoder->source,
	};

	decoder->boot = walk->boot;
	if (walk->boot == 1) /* every trace begins with it: no line is needed */
		return;
	if (decoder->clock)
		rs_trace_clock_boot(decoder->clock, walk->boot, &record.ns, &record.when);
	decoder->record(&record, decoder->data);
}

/*
 * Begins at the start of a page. Returns how many records were lost because the page right before
 * it has an invalid part. Whoever hands out the pages cannot know that, since only a walk shows it.
 */
static guint64 begin_page(RsTraceDecoder *decoder, guint ring, Stream *stream,
			  const RsTracePageWalk *fresh)
{
	guint64 lost = 0;

	if (stream->bad && fresh->seq == stream->walk.seq + 1 && fresh->records > stream->records)
		lost = fresh->records - stream->records;
	stream->bad = FALSE;
	stream->walk = *fresh;
	if (fresh->boot > decoder->boot)
		emit_boot(decoder, ring, &stream->walk);
	return lost;
}

/* Takes the items below `to`, without their records. FALSE: they do not end there. */
static gboolean skip(RsTracePageWalk *walk, const guint8 *page, guint to)
{
	RsTracePageItem item;

	do
		item = rs_trace_page_next(walk, page, to);
	while (item >= RS_TRACE_PAGE_MARK);
	return item == RS_TRACE_PAGE_END;
}

/* Hands out the records below `to`. FALSE: an item is invalid. */
static gboolean take(RsTraceDecoder *decoder, guint ring, RsTracePageWalk *walk, const guint8 *page,
		     guint to)
{
	RsTracePageItem item;

	while ((item = rs_trace_page_next(walk, page, to)) >= RS_TRACE_PAGE_MARK)
		if (item == RS_TRACE_PAGE_RECORD)
			emit_record(decoder, ring, walk, page);
	return item != RS_TRACE_PAGE_BAD;
}

gboolean rs_trace_decoder_push(RsTraceDecoder *decoder, guint ring, const guint8 *page, guint from,
			       guint to, guint64 lost)
{
	RsTracePageWalk fresh;
	gboolean grown, good = TRUE;
	Stream *stream;

	g_return_val_if_fail(ring < decoder->n_rings, FALSE);
	g_return_val_if_fail(from >= RS_RING_PAGE_HEADER && from <= to, FALSE);
	stream = &decoder->streams[ring];
	rs_trace_page_begin(&fresh, page);
	grown = from > fresh.at && stream->walk.at && stream->walk.seq == fresh.seq;
	if (grown && stream->bad)
		return FALSE; /* it was counted before */
	if (!grown || stream->walk.at != from) {
		lost += begin_page(decoder, ring, stream, &fresh);
		good = skip(&stream->walk, page, from);
	}
	if (lost)
		emit_loss(decoder, ring, &stream->walk, lost);
	if (good && take(decoder, ring, &stream->walk, page, to))
		return TRUE;
	decoder->stats.bad_pages++;
	stream->bad = TRUE;
	stream->records =
		fresh.records + rs_trace_page_count(page, fresh.at, stream->walk.at, NULL);
	return FALSE;
}

void rs_trace_decoder_stats(const RsTraceDecoder *decoder, RsTraceDecoderStats *out)
{
	*out = decoder->stats;
}
