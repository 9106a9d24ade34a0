/* SPDX-License-Identifier: MIT */
#include "rs-trace-follower.h"

#include <rs-trace-cmdline.h>

struct _RsTraceFollower {
	RsTraceSource *source;
	guint16 index;
	RsTraceMerger *merger;
	guint first_lane;

	RsTraceSchema *schema;
	RsTraceClock clock;
	RsTraceCmdline *names;
	RsTraceDecoder *decoder;
	gboolean boot_known;
	guint64 boot;
	guint64 bad_before; /* of decoders that are gone */
	struct {
		guint64 ts, ns;
	} last[]; /* record of each ring */
};

static void on_decoded(const RsTraceRecord *record, gpointer data)
{
	RsTraceFollower *follower = data;

	if (!record->lost) {
		follower->last[record->ring].ts = record->ts;
		follower->last[record->ring].ns = record->ns;
	}
	rs_trace_merger_push(follower->merger, follower->first_lane + record->ring, record);
}

static gboolean on_unknown(guint id, gpointer data)
{
	RsTraceFollower *follower = data;
	guint known = rs_trace_schema_n_events(follower->schema);

	follower->source->ops->descriptors(follower->source, follower);
	return rs_trace_schema_n_events(follower->schema) > known;
}

static void new_tables(RsTraceFollower *follower)
{
	follower->schema = rs_trace_schema_new();
	follower->decoder =
		rs_trace_decoder_new(follower->source->n_rings, follower->schema, &follower->clock,
				     on_decoded, on_unknown, follower);
	rs_trace_decoder_set_source(follower->decoder, follower->index);
}

RsTraceFollower *rs_trace_follower_new(RsTraceSource *source, guint16 index, RsTraceMerger *merger)
{
	RsTraceFollower *follower =
		g_malloc0(sizeof(*follower) + source->n_rings * sizeof(*follower->last));

	follower->source = source;
	follower->index = index;
	follower->merger = merger;
	follower->names = rs_trace_cmdline_new();
	rs_trace_clock_init(&follower->clock, 0);
	new_tables(follower);
	if (merger)
		follower->first_lane = rs_trace_merger_add_lanes(merger, source->n_rings);
	return follower;
}

void rs_trace_follower_free(RsTraceFollower *follower)
{
	if (!follower)
		return;
	rs_trace_decoder_free(follower->decoder);
	rs_trace_schema_free(follower->schema);
	rs_trace_cmdline_free(follower->names);
	follower->source->ops->free(follower->source);
	g_free(follower);
}

static void take_chunk(RsTraceFollower *follower, const RsTraceChunk *chunk)
{
	if (follower->merger)
		rs_trace_decoder_push(follower->decoder, chunk->ring, chunk->page, chunk->from,
				      chunk->to, chunk->lost);
}

RsTraceRingStatus rs_trace_follower_read(RsTraceFollower *follower, guint64 now_ns)
{
	RsTraceSource *source = follower->source;
	gboolean any = FALSE, in_flight = FALSE, ended = TRUE;

	if (follower->merger)
		source->ops->begin_round(source, follower);
	for (guint ring = 0; ring < source->n_rings; ring++) {
		RsTraceRingStatus status = RS_TRACE_RING_DATA;
		RsTraceChunk chunk;

		for (guint n = 0; n < RS_TRACE_FOLLOWER_CHUNKS && status == RS_TRACE_RING_DATA;
		     n++) {
			status = source->ops->next(source, ring, now_ns, &chunk);
			if (status != RS_TRACE_RING_DATA)
				break;
			any = TRUE;
			take_chunk(follower, &chunk);
		}
		ended &= status == RS_TRACE_RING_END;
		if (status != RS_TRACE_RING_DATA && status != RS_TRACE_RING_IN_FLIGHT)
			continue;
		in_flight = TRUE;
		if (follower->merger)
			rs_trace_merger_in_flight(follower->merger, follower->first_lane + ring);
	}
	return any         ? RS_TRACE_RING_DATA
	       : in_flight ? RS_TRACE_RING_IN_FLIGHT
	       : ended     ? RS_TRACE_RING_END
			   : RS_TRACE_RING_IDLE;
}

void rs_trace_follower_update_names(RsTraceFollower *follower)
{
	if (follower->merger)
		follower->source->ops->names(follower->source, follower);
}

void rs_trace_follower_finish(RsTraceFollower *follower)
{
	if (!follower->merger)
		return;
	for (guint ring = 0; ring < follower->source->n_rings; ring++) {
		RsTraceRecord record = {
			.lost = follower->source->ops->pending_loss(follower->source, ring),
			.ts = follower->last[ring].ts,
			.ns = follower->last[ring].ns,
			.ring = (guint16)ring,
			.source = follower->index,
		};

		if (record.lost)
			rs_trace_merger_push(follower->merger, follower->first_lane + ring,
					     &record);
	}
}

RsTraceSource *rs_trace_follower_source(const RsTraceFollower *follower)
{
	return follower->source;
}

const char *rs_trace_follower_comm(const RsTraceFollower *follower, const RsTraceRecord *record)
{
	return record->lost ? ""
			    : rs_trace_cmdline_lookup(follower->names, record->pid, record->ts);
}

guint64 rs_trace_follower_bad(const RsTraceFollower *follower)
{
	RsTraceDecoderStats stats;

	rs_trace_decoder_stats(follower->decoder, &stats);
	return follower->bad_before + stats.bad_pages + stats.unknown;
}

void rs_trace_follower_set_boot(RsTraceFollower *follower, guint64 boot, guint64 hz)
{
	if (follower->boot_known && follower->boot != boot) {
		if (follower->merger)
			rs_trace_merger_flush(follower->merger);
		follower->bad_before = rs_trace_follower_bad(follower);
		rs_trace_decoder_free(follower->decoder);
		rs_trace_schema_free(follower->schema);
		new_tables(follower);
	}
	follower->boot = boot;
	follower->boot_known = TRUE;
	if (!follower->clock.hz)
		follower->clock.hz = hz;
}

void rs_trace_follower_add_descriptors(RsTraceFollower *follower, const guint8 *data, gsize size)
{
	rs_trace_schema_add(follower->schema, data, size, NULL, NULL);
}

void rs_trace_follower_set_clock(RsTraceFollower *follower, const struct rs_control *control)
{
	rs_trace_clock_set_epochs(&follower->clock, control);
}

void rs_trace_follower_add_names(RsTraceFollower *follower, const guint8 *snapshot,
				 const guint8 *again, gsize size)
{
	rs_trace_cmdline_merge(follower->names, snapshot, again, size);
}
