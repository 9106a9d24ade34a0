/* SPDX-License-Identifier: MIT */
#include "rs-trace-follower.h"

#include <rs-trace-cmdline.h>

/*
 * Limits for providers that have lost their slot, which are kept for earlier records: their number,
 * and their memory in bytes. Beyond these limits, the oldest are freed down to half.
 */
#define RETIRED_MAX 4096u
#define RETIRED_BYTES ((gsize)32 << 20)
/*
 * After this many bytes of new descriptors, the rest waits for the next round, so that each round
 * ends.
 */
#define DESCS_MAX ((gsize)1 << 20)

struct _RsTraceFollower {
	RsTraceSource *source;
	guint16 index;
	RsTraceMerger *merger;
	guint first_lane;

	RsTraceSchema *schema;
	RsTraceClock *clock;
	RsTraceCmdline *names;
	RsTraceDecoder *decoder;
	gsize descs; /* bytes of descriptors that were taken in this round */
	struct {
		RsTraceMoment when;
		guint64 ns;
	} last[]; /* time of the last record of each ring */
};

static void on_decoded(const RsTraceRecord *record, gpointer data)
{
	RsTraceFollower *follower = data;

	if (record->kind == RS_TRACE_RECORD_EVENT) {
		follower->last[record->ring].when = record->when;
		follower->last[record->ring].ns = record->ns;
	}
	rs_trace_merger_push(follower->merger, follower->first_lane + record->ring, record);
}

RsTraceFollower *rs_trace_follower_new(RsTraceSource *source, guint16 index, RsTraceMerger *merger)
{
	RsTraceFollower *follower =
		g_malloc0(sizeof(*follower) + source->n_rings * sizeof(*follower->last));

	follower->source = source;
	follower->index = index;
	follower->merger = merger;
	follower->names = rs_trace_cmdline_new();
	follower->clock = rs_trace_clock_new(0);
	follower->schema = rs_trace_schema_new();
	follower->decoder = rs_trace_decoder_new(source->n_rings, follower->schema, follower->clock,
						 on_decoded, follower);
	rs_trace_decoder_set_source(follower->decoder, index);
	if (merger)
		follower->first_lane = rs_trace_merger_add_lanes(merger, source->n_rings);
	return follower;
}

void rs_trace_follower_free(RsTraceFollower *follower)
{
	if (!follower)
		return;
	if (follower->merger)
		rs_trace_merger_remove_lanes(follower->merger, follower->first_lane,
					     follower->source->n_rings);
	rs_trace_decoder_free(follower->decoder);
	rs_trace_schema_free(follower->schema);
	rs_trace_cmdline_free(follower->names);
	rs_trace_clock_free(follower->clock);
	follower->source->ops->free(follower->source);
	g_free(follower);
}

static void take_chunk(RsTraceFollower *follower, const RsTraceChunk *chunk)
{
	if (!follower->merger)
		return;
	/* Only after the page was copied: then the source knows all that its records refer to. */
	follower->source->ops->changes(follower->source, follower);
	rs_trace_decoder_push(follower->decoder, chunk->ring, chunk->page, chunk->from, chunk->to,
			      chunk->lost);
}

/*
 * FALSE: too many providers are kept, and records in the merger point to some of their events.
 * These records must be shown first, which takes a round or two. This happens only to a guest whose
 * providers change as fast as it writes.
 */
static gboolean make_room(RsTraceFollower *follower)
{
	guint n;
	gsize bytes = rs_trace_schema_retired(follower->schema, &n);

	if (n <= RETIRED_MAX && bytes <= RETIRED_BYTES)
		return TRUE;
	if (rs_trace_follower_held(follower))
		return FALSE;
	rs_trace_schema_trim(follower->schema, RETIRED_MAX / 2, RETIRED_BYTES / 2);
	return TRUE;
}

/*
 * Reads up to RS_TRACE_FOLLOWER_CHUNKS of one ring. *stopped: the rest must wait for a later round.
 */
static RsTraceRingStatus read_ring(RsTraceFollower *follower, guint ring, guint64 now_ns,
				   gboolean *any, gboolean *stopped)
{
	RsTraceSource *source = follower->source;
	RsTraceRingStatus status = RS_TRACE_RING_DATA;
	RsTraceChunk chunk;

	for (guint n = 0; n < RS_TRACE_FOLLOWER_CHUNKS; n++) {
		*stopped |= follower->descs > DESCS_MAX || !make_room(follower);
		if (*stopped)
			break;
		status = source->ops->next(source, ring, now_ns, &chunk);
		if (status != RS_TRACE_RING_DATA)
			break;
		*any = TRUE;
		take_chunk(follower, &chunk);
	}
	return status;
}

RsTraceRingStatus rs_trace_follower_read(RsTraceFollower *follower, guint64 now_ns)
{
	RsTraceSource *source = follower->source;
	gboolean any = FALSE, in_flight = FALSE, ended = TRUE, stopped = FALSE;

	follower->descs = 0;
	if (follower->merger)
		source->ops->begin_round(source, follower);
	for (guint ring = 0; ring < source->n_rings; ring++) {
		RsTraceRingStatus status = read_ring(follower, ring, now_ns, &any, &stopped);

		ended &= status == RS_TRACE_RING_END;
		if (status != RS_TRACE_RING_DATA && status != RS_TRACE_RING_IN_FLIGHT)
			continue;
		in_flight = TRUE;
		/*
		 * After a stop, this ring waits until records in the merger are shown. So it must
		 * not hold them back.
		 */
		if (follower->merger && !stopped)
			rs_trace_merger_in_flight(follower->merger, follower->first_lane + ring);
	}
	return stopped     ? RS_TRACE_RING_IN_FLIGHT
	       : any       ? RS_TRACE_RING_DATA
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
			.kind = RS_TRACE_RECORD_LOSS,
			.lost = follower->source->ops->pending_loss(follower->source, ring),
			.when = follower->last[ring].when,
			.ns = follower->last[ring].ns,
			.ring = (guint16)ring,
			.source = follower->index,
		};

		if (record.lost)
			rs_trace_merger_push(follower->merger, follower->first_lane + ring,
					     &record);
	}
}

gboolean rs_trace_follower_held(const RsTraceFollower *follower)
{
	return follower->merger &&
	       rs_trace_merger_lanes_held(follower->merger, follower->first_lane,
					  follower->source->n_rings);
}

RsTraceSource *rs_trace_follower_source(const RsTraceFollower *follower)
{
	return follower->source;
}

void rs_trace_follower_task(const RsTraceFollower *follower, const RsTraceRecord *record,
			    RsTraceTask *out)
{
	if (record->kind != RS_TRACE_RECORD_EVENT) {
		*out = (RsTraceTask){.comm = ""};
		return;
	}
	rs_trace_cmdline_lookup(follower->names, record->pid, record->when, out);
	/* The table may have lost the task, or not have it yet. */
	if (record->tgid)
		out->tgid = record->tgid;
}

guint64 rs_trace_follower_bad(const RsTraceFollower *follower)
{
	RsTraceDecoderStats stats;

	rs_trace_decoder_stats(follower->decoder, &stats);
	return stats.bad_pages + stats.unknown;
}

void rs_trace_follower_set_boots(RsTraceFollower *follower, const struct rs_boot boots[RS_BOOTS],
				 guint64 hz)
{
	rs_trace_clock_set_boots(follower->clock, boots);
	rs_trace_clock_set_hz(follower->clock, hz);
}

void rs_trace_follower_take_provider(RsTraceFollower *follower, guint slot,
				     const struct rs_provider *entry, const guint8 *data,
				     gsize size)
{
	follower->descs += size;
	rs_trace_schema_take(follower->schema, slot, entry, data, size, NULL, NULL);
}

const RsTraceSchema *rs_trace_follower_schema(const RsTraceFollower *follower)
{
	return follower->schema;
}

void rs_trace_follower_set_clock(RsTraceFollower *follower, const struct rs_clock_epoch *table,
				 guint n, guint32 epoch_count)
{
	rs_trace_clock_take(follower->clock, table, n, epoch_count);
}

void rs_trace_follower_add_names(RsTraceFollower *follower, const guint8 *snapshot,
				 const guint8 *again, gsize size, gsize stride)
{
	rs_trace_cmdline_merge(follower->names, snapshot, again, size, stride);
}
