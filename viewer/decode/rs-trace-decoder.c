/* SPDX-License-Identifier: MIT */
#include "rs-trace-decoder.h"

struct _RsTraceDecoder {
	const RsTraceSchema *schema;
	const RsTraceClock *clock;
	RsTraceRecordFunc record;
	gpointer data;
	RsTraceDecoderStats stats;
	guint32 boot; /* the newest seen so far */
	guint16 source;
	guint n_rings;
	RsTracePageWalk walks[]; /* the position in each ring's stream; `at` 0: none yet */
};

RsTraceDecoder *rs_trace_decoder_new(guint n_rings, const RsTraceSchema *schema,
				     const RsTraceClock *clock, RsTraceRecordFunc record,
				     gpointer data)
{
	RsTraceDecoder *decoder = g_malloc0(sizeof(*decoder) + n_rings * sizeof(*decoder->walks));

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

static guint64 to_ns(const RsTraceDecoder *decoder, RsTracePageWalk *walk)
{
	return decoder->clock ? rs_trace_clock_ns(decoder->clock, &walk->epoch, walk->ts)
			      : walk->ts;
}

static const RsTraceEvent *find_event(RsTraceDecoder *decoder, const RsTracePageWalk *walk)
{
	const RsTraceEvent *event =
		rs_trace_schema_lookup(decoder->schema, walk->boot, walk->id, walk->ts);

	if (!event)
		decoder->stats.unknown++;
	return event;
}

static void emit_record(RsTraceDecoder *decoder, guint ring, RsTracePageWalk *walk,
			const guint8 *page)
{
	RsTraceRecord record = {
		.kind = RS_TRACE_RECORD_EVENT,
		.boot = walk->boot,
		.ns = to_ns(decoder, walk),
		.ts = walk->ts,
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
		.boot = walk->boot,
		.ns = to_ns(decoder, walk),
		.ts = walk->ts,
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
		.boot = walk->boot,
		.ns = to_ns(decoder, walk),
		.ts = walk->ts,
		.ring = (guint16)ring,
		.source = decoder->source,
	};

	decoder->boot = walk->boot;
	if (walk->boot == 1) /* every trace begins with it: no line is needed */
		return;
	if (decoder->clock)
		rs_trace_clock_boot(decoder->clock, walk->boot, &record.ns, &record.ts);
	decoder->record(&record, decoder->data);
}

/* Moves the walk to `from`. It is there after the last push, or it walks there from the start. */
static gboolean set_out(RsTraceDecoder *decoder, guint ring, RsTracePageWalk *walk,
			const guint8 *page, guint from)
{
	RsTracePageWalk fresh;
	RsTracePageItem item = RS_TRACE_PAGE_MARK;

	rs_trace_page_begin(&fresh, page);
	if (from > fresh.at && walk->at == from && walk->seq == fresh.seq)
		return TRUE;
	*walk = fresh;
	if (walk->boot > decoder->boot)
		emit_boot(decoder, ring, walk);
	while (item >= RS_TRACE_PAGE_MARK)
		item = rs_trace_page_next(walk, page, from);
	return item == RS_TRACE_PAGE_END;
}

gboolean rs_trace_decoder_push(RsTraceDecoder *decoder, guint ring, const guint8 *page, guint from,
			       guint to, guint64 lost)
{
	RsTracePageItem item;
	RsTracePageWalk *walk;

	g_return_val_if_fail(ring < decoder->n_rings, FALSE);
	g_return_val_if_fail(from >= RS_RING_PAGE_HEADER && from <= to, FALSE);
	walk = &decoder->walks[ring];
	item = set_out(decoder, ring, walk, page, from) ? RS_TRACE_PAGE_MARK : RS_TRACE_PAGE_BAD;
	if (lost)
		emit_loss(decoder, ring, walk, lost);
	while (item >= RS_TRACE_PAGE_MARK) {
		item = rs_trace_page_next(walk, page, to);
		if (item == RS_TRACE_PAGE_RECORD)
			emit_record(decoder, ring, walk, page);
	}
	if (item != RS_TRACE_PAGE_BAD)
		return TRUE;
	decoder->stats.bad_pages++;
	walk->at = 0;
	return FALSE;
}

void rs_trace_decoder_stats(const RsTraceDecoder *decoder, RsTraceDecoderStats *out)
{
	*out = decoder->stats;
}
