/* SPDX-License-Identifier: MIT */
#include "rs-trace-decoder.h"

#include <string.h>

/* Where a ring's stream stands. */
typedef struct {
	guint64 seq;
	guint64 ts;
	guint32 at; /* 0: nowhere */
	guint32 pid;
	guint16 context;
	guint16 epoch;
} Place;

struct _RsTraceDecoder {
	const RsTraceSchema *schema;
	const RsTraceClock *clock;
	RsTraceRecordFunc record;
	RsTraceUnknownFunc unknown;
	gpointer data;
	RsTraceDecoderStats stats;
	gboolean asked; /* for an unknown id, in this push */
	Place places[RS_MAX_CPUS];
};

RsTraceDecoder *rs_trace_decoder_new(const RsTraceSchema *schema, const RsTraceClock *clock,
				     RsTraceRecordFunc record, RsTraceUnknownFunc unknown,
				     gpointer data)
{
	RsTraceDecoder *decoder = g_new0(RsTraceDecoder, 1);

	decoder->schema = schema;
	decoder->clock = clock;
	decoder->record = record;
	decoder->unknown = unknown;
	decoder->data = data;
	return decoder;
}

void rs_trace_decoder_free(RsTraceDecoder *decoder)
{
	g_free(decoder);
}

static guint64 to_ns(const RsTraceDecoder *decoder, const Place *place)
{
	return decoder->clock ? rs_trace_clock_ns(decoder->clock, place->epoch, place->ts)
			      : place->ts;
}

static const RsTraceEvent *find_event(RsTraceDecoder *decoder, guint id)
{
	const RsTraceEvent *event = rs_trace_schema_by_id(decoder->schema, id);

	if (!event && decoder->unknown && !decoder->asked) {
		decoder->asked = TRUE;
		if (decoder->unknown(id, decoder->data))
			event = rs_trace_schema_by_id(decoder->schema, id);
	}
	if (!event)
		decoder->stats.unknown++;
	return event;
}

/*
 * Takes what lies at place->at, and moves behind it. FALSE: it makes no sense. Records are handed
 * out when `emit`; else only their times and marks are followed.
 */
static gboolean step(RsTraceDecoder *decoder, guint ring, Place *place, const guint8 *page,
		     guint to, gboolean emit)
{
	guint room = to - place->at;
	struct rs_rec_header head;
	guint size;

	if (room < sizeof(head))
		return FALSE;
	memcpy(&head, page + place->at, sizeof(head));
	if (head.id == RS_REC_PAD) {
		place->at = to;
		return TRUE;
	}
	if (head.id == RS_REC_CONTEXT) {
		place->context = head.size; /* struct rs_rec_context, field by field */
		place->pid = head.ts;
		place->at += sizeof(struct rs_rec_context);
		return TRUE;
	}
	size = head.size & RS_REC_SIZE_MASK;
	if (head.id == RS_REC_TIME) {
		if (size != sizeof(struct rs_rec_time) || room < size)
			return FALSE;
		memcpy(&place->ts, page + place->at + offsetof(struct rs_rec_time, ts), 8);
		place->at += size;
		return TRUE;
	}
	if (head.id < RS_FIRST_EVENT_ID || size < sizeof(head) || size > room)
		return FALSE;
	guint64 ts = (place->ts & ~(guint64)G_MAXUINT32) | head.ts;
	place->ts = ts < place->ts ? ts + (G_GUINT64_CONSTANT(1) << 32) : ts;
	if (emit) {
		RsTraceRecord record = {
			.ns = to_ns(decoder, place),
			.ts = place->ts,
			.event = find_event(decoder, head.id),
			.payload = page + place->at + sizeof(head),
			.size = size - (guint)sizeof(head),
			.pid = place->pid,
			.context = place->context,
			.id = head.id,
			.ring = (guint16)ring,
			.cut = (head.size & RS_REC_CUT) != 0,
		};

		decoder->stats.records++;
		decoder->record(&record, decoder->data);
	}
	/* The last record may end in less than its padding. */
	place->at = MIN(place->at + RS_ALIGN_UP(size, RS_RING_UNIT), to);
	return TRUE;
}

static void emit_loss(RsTraceDecoder *decoder, guint ring, const Place *place, guint64 lost)
{
	RsTraceRecord record = {
		.ns = to_ns(decoder, place),
		.ts = place->ts,
		.lost = lost,
		.ring = (guint16)ring,
	};

	decoder->stats.lost += lost;
	decoder->record(&record, decoder->data);
}

/* Sets out at `from`: goes on where the last push ended, or follows the page from its start. */
static gboolean set_out(RsTraceDecoder *decoder, guint ring, Place *place, const guint8 *page,
			guint from)
{
	struct rs_ring_page head;

	memcpy(&head, page, sizeof(head));
	if (from > RS_RING_PAGE_HEADER && place->at == from && place->seq == head.seq)
		return TRUE;
	place->seq = head.seq;
	place->ts = head.ts;
	place->pid = head.pid;
	place->context = head.context;
	place->epoch = head.epoch;
	place->at = RS_RING_PAGE_HEADER;
	while (place->at < from)
		if (!step(decoder, ring, place, page, from, FALSE))
			return FALSE;
	return place->at == from;
}

gboolean rs_trace_decoder_push(RsTraceDecoder *decoder, guint ring, const guint8 *page, guint from,
			       guint to, guint64 lost)
{
	Place *place;
	gboolean good;

	g_return_val_if_fail(ring < RS_MAX_CPUS, FALSE);
	g_return_val_if_fail(from >= RS_RING_PAGE_HEADER && from <= to, FALSE);
	place = &decoder->places[ring];
	decoder->asked = FALSE;
	good = set_out(decoder, ring, place, page, from);
	if (lost)
		emit_loss(decoder, ring, place, lost);
	while (good && place->at < to)
		good = step(decoder, ring, place, page, to, TRUE);
	if (!good) {
		decoder->stats.bad_pages++;
		place->at = 0;
	}
	return good;
}

void rs_trace_decoder_stats(const RsTraceDecoder *decoder, RsTraceDecoderStats *out)
{
	*out = decoder->stats;
}
