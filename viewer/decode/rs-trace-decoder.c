/* SPDX-License-Identifier: MIT */
#include "rs-trace-decoder-private.h"

#include <string.h>

/* The position in one ring's pages. */
typedef struct {
	RsTracePageWalk walk; /* of `bytes` */
	guint base;           /* where they begin in the page; position() 0: no page yet */
	gboolean bad;         /* the rest of the walk's page is invalid */
	/* What is still to be handed out: */
	const guint8 *bytes; /* of the caller; NULL: nothing */
	guint have;          /* how many there are */
	guint to;            /* where the page ends */
	gboolean is_short;   /* the walk needs more than there are */
	gboolean good;       /* the items before the new ones are valid */
	gboolean gap;        /* what lies before the next page is damaged */
	gboolean boot;       /* a boot begins with it, at: */
	RsTraceMoment boot_when;
	guint64 boot_ns;
	guint64 lost; /* before the next record */
} Stream;

struct _RsTraceDecoder {
	const RsTraceSchema *schema;
	RsTraceClock *clock;
	RsTraceRecordFunc record;
	gpointer data;
	RsTraceDecoderStats stats;
	guint32 boot; /* the newest seen so far */
	const RsTraceOrigin *origin;
	const RsTraceSymbols *symbols;
	guint n_rings;
	Stream streams[];
};

gsize rs_trace_decoder_size(guint n_rings)
{
	return sizeof(RsTraceDecoder) + n_rings * sizeof(Stream);
}

RsTraceDecoder *rs_trace_decoder_new(guint n_rings, const RsTraceSchema *schema,
				     RsTraceClock *clock, RsTraceRecordFunc record, gpointer data)
{
	RsTraceDecoder *decoder = g_malloc0(rs_trace_decoder_size(n_rings));

	decoder->schema = schema;
	decoder->clock = clock;
	decoder->record = record;
	decoder->data = data;
	decoder->n_rings = n_rings;
	return decoder;
}

void rs_trace_decoder_set_tables(RsTraceDecoder *decoder, const RsTraceSchema *schema,
				 RsTraceClock *clock)
{
	decoder->schema = schema;
	decoder->clock = clock;
}

void rs_trace_decoder_set_origin(RsTraceDecoder *decoder, const RsTraceOrigin *origin)
{
	decoder->origin = origin;
}

void rs_trace_decoder_set_symbols(RsTraceDecoder *decoder, const RsTraceSymbols *symbols)
{
	decoder->symbols = symbols;
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
	const RsTraceEvent *event = NULL;

	if (decoder->schema)
		event = rs_trace_schema_lookup(decoder->schema, walk->id, moment_of(walk));
	if (!event)
		decoder->stats.unknown++;
	return event;
}

/*
 * A record of this kind where the walk is, with nothing of an event. The fields are set one by one:
 * copies of whole structs made this three times as slow.
 */
static void make(const RsTraceDecoder *decoder, guint ring, const Stream *stream,
		 RsTraceRecordKind kind, RsTraceRecord *out)
{
	const RsTracePageWalk *walk = &stream->walk;

	memset(out, 0, sizeof(*out));
	out->kind = kind;
	out->ns = out->sorted_ns = to_ns(decoder, walk);
	out->when.boot = walk->boot;
	out->when.chain = walk->chain;
	out->when.ts = walk->ts;
	out->ring = (guint16)ring;
	out->origin = decoder->origin;
}

static void make_event(RsTraceDecoder *decoder, guint ring, const Stream *stream,
		       RsTraceRecord *out)
{
	const RsTracePageWalk *walk = &stream->walk;

	make(decoder, ring, stream, RS_TRACE_RECORD_EVENT, out);
	out->event = find_event(decoder, walk);
	out->payload = stream->bytes + walk->payload;
	out->size = walk->size;
	out->pid = walk->pid;
	out->tgid = walk->tgid;
	out->context = walk->context;
	out->id = walk->id;
	out->cut = walk->cut;
	out->symbols = decoder->symbols;
	out->n_stack = walk->n_stack;
	if (walk->n_stack)
		out->stack = stream->bytes + walk->stack;
	decoder->stats.records++;
}

static void make_loss(RsTraceDecoder *decoder, guint ring, Stream *stream, RsTraceRecord *out)
{
	make(decoder, ring, stream, RS_TRACE_RECORD_LOSS, out);
	out->lost = stream->lost;
	decoder->stats.lost += stream->lost;
	stream->lost = 0;
}

static void make_boot(const RsTraceDecoder *decoder, guint ring, Stream *stream, RsTraceRecord *out)
{
	make(decoder, ring, stream, RS_TRACE_RECORD_BOOT, out);
	out->ns = out->sorted_ns = stream->boot_ns;
	out->when = stream->boot_when;
	stream->boot = FALSE;
}

/* The page is the first one of a newer boot. */
static void note_boot(RsTraceDecoder *decoder, Stream *stream)
{
	decoder->boot = stream->walk.boot;
	if (decoder->boot == 1) /* every trace begins with it: no line is needed */
		return;
	stream->boot = TRUE;
	stream->boot_ns = to_ns(decoder, &stream->walk);
	stream->boot_when = moment_of(&stream->walk);
	if (decoder->clock)
		rs_trace_clock_boot(decoder->clock, decoder->boot, &stream->boot_ns,
				    &stream->boot_when);
}

static guint position(const Stream *stream)
{
	return stream->base + stream->walk.at;
}

static guint64 growth(guint64 from, guint64 to)
{
	return MAX(from, to) - from;
}

/* Records between two places of a ring, as the headers of their pages say. */
static guint64 missing(const RsTracePageWalk *old, const RsTracePageWalk *now)
{
	if (now->boot != old->boot)
		return 0;
	return growth(old->records + old->n, now->records + now->n) +
	       growth(old->dropped, now->dropped);
}

/*
 * Begins at the start of a page. Returns how many records were lost because the page right before
 * it has an invalid part. Whoever hands out the pages cannot know that, since only a walk shows it.
 */
static guint64 begin_page(RsTraceDecoder *decoder, Stream *stream, const RsTracePageWalk *fresh)
{
	guint64 lost = 0;

	if (stream->bad && fresh->seq == stream->walk.seq + 1)
		lost = growth(stream->walk.records + stream->walk.n, fresh->records);
	stream->bad = FALSE;
	stream->walk = *fresh;
	stream->base = 0;
	if (fresh->boot > decoder->boot)
		note_boot(decoder, stream);
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

void rs_trace_decoder_slice(RsTraceDecoder *decoder, guint ring, const guint8 *bytes, guint at,
			    guint size)
{
	Stream *stream = &decoder->streams[ring];

	stream->walk.at += stream->base - at;
	stream->walk.stack += stream->base - at;
	stream->base = at;
	stream->bytes = bytes;
	stream->have = size;
	stream->is_short = FALSE;
}

gboolean rs_trace_decoder_begin(RsTraceDecoder *decoder, guint ring, const guint8 *page, guint from,
				guint to, guint64 lost)
{
	RsTracePageWalk fresh, old;
	gboolean grown, gap;
	Stream *stream;

	g_return_val_if_fail(ring < decoder->n_rings, FALSE);
	g_return_val_if_fail(from >= RS_RING_PAGE_HEADER && from <= to, FALSE);
	stream = &decoder->streams[ring];
	gap = stream->gap && position(stream);
	stream->gap = FALSE;
	rs_trace_page_begin(&fresh, page);
	grown = from > fresh.at && position(stream) && stream->walk.seq == fresh.seq;
	stream->bytes = NULL;
	if (grown && stream->bad)
		return FALSE; /* it was counted before */
	old = stream->walk;
	stream->good = TRUE;
	if (!grown || position(stream) != from) {
		lost += begin_page(decoder, stream, &fresh);
		stream->good = skip(&stream->walk, page, from);
	}
	if (gap)
		lost = MAX(lost, missing(&old, &stream->walk));
	rs_trace_decoder_slice(decoder, ring, page, 0, to);
	stream->to = to;
	stream->lost = lost;
	return TRUE;
}

void rs_trace_decoder_after_gap(RsTraceDecoder *decoder, guint ring)
{
	decoder->streams[ring].gap = TRUE;
}

void rs_trace_decoder_miss(RsTraceDecoder *decoder, guint ring)
{
	decoder->stats.bad_pages++;
	rs_trace_decoder_after_gap(decoder, ring);
}

guint rs_trace_decoder_at(const RsTraceDecoder *decoder, guint ring)
{
	const Stream *stream = &decoder->streams[ring];
	const RsTracePageWalk *walk = &stream->walk;

	return stream->base + (walk->next_stack ? walk->stack : walk->at);
}

gboolean rs_trace_decoder_is_short(const RsTraceDecoder *decoder, guint ring)
{
	return decoder->streams[ring].is_short;
}

/* The page has no more. */
static void end_page(RsTraceDecoder *decoder, Stream *stream, gboolean good)
{
	stream->bytes = NULL;
	if (good)
		return;
	decoder->stats.bad_pages++;
	stream->bad = TRUE;
}

/* If the item is not there as a whole, goes back to where one has to begin with more bytes. */
static RsTracePageItem next_of_slice(Stream *stream)
{
	RsTracePageWalk before = stream->walk;
	RsTracePageItem item;

	while ((item = rs_trace_page_next(&stream->walk, stream->bytes, stream->have)) ==
	       RS_TRACE_PAGE_MARK)
		if (!stream->walk.next_stack)
			before = stream->walk;
	stream->is_short = item == RS_TRACE_PAGE_END || item == RS_TRACE_PAGE_BAD;
	if (stream->is_short)
		stream->walk = before;
	return item;
}

/* What comes behind the marks. */
static RsTracePageItem next_item(Stream *stream)
{
	RsTracePageItem item;

	if (!stream->good)
		return RS_TRACE_PAGE_BAD;
	if (stream->base + stream->have < stream->to)
		return next_of_slice(stream);
	do
		item = rs_trace_page_next(&stream->walk, stream->bytes, stream->have);
	while (item == RS_TRACE_PAGE_MARK);
	return item;
}

gboolean rs_trace_decoder_next(RsTraceDecoder *decoder, guint ring, RsTraceRecord *out)
{
	Stream *stream = &decoder->streams[ring];
	RsTracePageItem item;

	if (!stream->bytes)
		return FALSE;
	if (stream->boot) {
		make_boot(decoder, ring, stream, out);
		return TRUE;
	}
	if (stream->lost) {
		make_loss(decoder, ring, stream, out);
		return TRUE;
	}
	item = next_item(stream);
	if (item == RS_TRACE_PAGE_RECORD)
		make_event(decoder, ring, stream, out);
	else if (!stream->is_short)
		end_page(decoder, stream, item != RS_TRACE_PAGE_BAD);
	return item == RS_TRACE_PAGE_RECORD;
}

gboolean rs_trace_decoder_push(RsTraceDecoder *decoder, guint ring, const guint8 *page, guint from,
			       guint to, guint64 lost)
{
	RsTraceRecord record;

	if (!rs_trace_decoder_begin(decoder, ring, page, from, to, lost))
		return FALSE;
	while (rs_trace_decoder_next(decoder, ring, &record))
		decoder->record(&record, decoder->data);
	return !decoder->streams[ring].bad;
}

const RsTraceDecoderStats *rs_trace_decoder_stats(const RsTraceDecoder *decoder)
{
	return &decoder->stats;
}
