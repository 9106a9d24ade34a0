/* SPDX-License-Identifier: MIT */
#include "rs-trace-follower.h"
#include "rs-trace-feed.h"

#include <rs-trace-merger.h>

typedef struct {
	RsTraceSink sink;
	RsTraceFollowerConfig config;
	RsTraceMerger *merger;
	GPtrArray *followed; /* of Followed, borrowed */
	guint n_joined;      /* so far */
	gsize symbols;       /* bytes of names of addresses */
	guint64 bad;         /* of sources that have left */
	guint64 latest;      /* no record of this round is sorted behind it */
} Follower;

/* One source. */
typedef struct {
	RsTraceFeed *feed;
	struct rs_file_source info;
	RsTraceOrigin *origin; /* of `info` */
	RsTraceMerger *merger;
	guint first_lane;
	RsTraceClock *clock;
	RsTraceCmdline *names;
	RsTraceSymbols *symbols;
	RsTraceDecoder *decoder;
	struct {
		RsTraceMoment when;
		guint64 ns;
	} last[]; /* time of the last record of each ring */
} Followed;

/* ---- records ---- */

static void on_decoded(const RsTraceRecord *record, gpointer data)
{
	Followed *followed = data;

	if (record->kind == RS_TRACE_RECORD_EVENT) {
		followed->last[record->ring].when = record->when;
		followed->last[record->ring].ns = record->ns;
	}
	rs_trace_merger_push(followed->merger, followed->first_lane + record->ring, record);
}

static void find_task(const Followed *followed, const RsTraceRecord *record, RsTraceTask *out)
{
	if (record->kind != RS_TRACE_RECORD_EVENT) {
		*out = (RsTraceTask){.comm = ""};
		return;
	}
	rs_trace_cmdline_lookup(followed->names, record->pid, record->when, out);
	/* The table may have lost the task, or not have it yet. */
	if (record->tgid)
		out->tgid = record->tgid;
}

void rs_trace_follower_task(const RsTraceFeed *feed, const RsTraceRecord *record, RsTraceTask *out)
{
	find_task(feed->state, record, out);
}

static void on_merged(const RsTraceRecord *record, gpointer data)
{
	Follower *follower = data;
	RsTraceRecord bounded;
	RsTraceTask task;

	find_task(record->origin->owner, record, &task);
	if (record->sorted_ns > follower->latest) {
		bounded = *record;
		bounded.sorted_ns = follower->latest;
		record = &bounded;
	}
	follower->config.record(record, &task, follower->config.data);
}

/* ---- as a sink ---- */

static void describe(Follower *follower, Followed *followed)
{
	const RsTraceFollowerConfig *config = &follower->config;

	if (config->describe)
		config->describe(followed->feed->data, &followed->info, config->data);
	followed->info.size = sizeof(followed->info);
	followed->info.ring_count = followed->feed->source->n_rings;
	followed->info.name[sizeof(followed->info.name) - 1] = 0;
	followed->origin = rs_trace_origin_new(&followed->info, config->describe != NULL,
					       follower->n_joined++, followed);
	for (guint i = 0; i < follower->followed->len; i++)
		rs_trace_origin_meet(followed->origin,
				     ((Followed *)follower->followed->pdata[i])->origin);
}

static void join(RsTraceSink *sink, RsTraceFeed *feed)
{
	Follower *follower = (Follower *)sink;
	guint n_rings = feed->source->n_rings;
	Followed *followed = g_malloc0(sizeof(*followed) + n_rings * sizeof(*followed->last));

	followed->feed = feed;
	describe(follower, followed);
	followed->merger = follower->merger;
	followed->first_lane = rs_trace_merger_add_lanes(follower->merger, n_rings);
	followed->names = rs_trace_cmdline_new();
	followed->symbols = rs_trace_symbols_new();
	followed->clock = rs_trace_clock_new(0);
	followed->decoder =
		rs_trace_decoder_new(n_rings, feed->schema, followed->clock, on_decoded, followed);
	rs_trace_decoder_set_origin(followed->decoder, followed->origin);
	rs_trace_decoder_set_symbols(followed->decoder, followed->symbols);
	g_ptr_array_add(follower->followed, followed);
	feed->state = followed;
}

static guint64 bad_of(const Followed *followed)
{
	const RsTraceDecoderStats *stats = rs_trace_decoder_stats(followed->decoder);

	return stats->bad_pages + stats->unknown;
}

static void leave(RsTraceSink *sink, RsTraceFeed *feed)
{
	Follower *follower = (Follower *)sink;
	Followed *followed = feed->state;

	follower->bad += bad_of(followed);
	g_ptr_array_remove_fast(follower->followed, followed);
	follower->symbols -= rs_trace_symbols_size(followed->symbols);
	rs_trace_merger_remove_lanes(follower->merger, followed->first_lane, feed->source->n_rings);
	rs_trace_decoder_free(followed->decoder);
	rs_trace_cmdline_free(followed->names);
	rs_trace_symbols_free(followed->symbols);
	rs_trace_clock_free(followed->clock);
	rs_trace_origin_free(followed->origin);
	g_free(followed);
}

static void begin_round(RsTraceSink *sink)
{
	rs_trace_merger_begin_round(((Follower *)sink)->merger);
}

static void update_names(Follower *follower)
{
	for (guint i = 0; i < follower->followed->len; i++) {
		const Followed *followed = follower->followed->pdata[i];

		rs_trace_feed_update_names(followed->feed);
	}
}

static gboolean has_shown(Follower *follower)
{
	return !follower->config.round || follower->config.round(follower->config.data);
}

static void bound_times(Follower *follower, guint64 now_ns)
{
	const RsTraceFollowerConfig *config = &follower->config;

	follower->latest = config->ahead_ns
				   ? now_ns - MIN(now_ns, config->origin_ns) + config->ahead_ns
				   : G_MAXUINT64;
}

static gboolean end_round(RsTraceSink *sink, guint64 now_ns)
{
	Follower *follower = (Follower *)sink;

	bound_times(follower, now_ns);
	/*
	 * In every round: a record that is released below was written at least one round ago. So
	 * the name of its task has been noted by now. An older look would show an earlier name of
	 * the task.
	 */
	if (rs_trace_merger_held(follower->merger))
		update_names(follower);
	rs_trace_merger_end_round(follower->merger, (gint64)(now_ns / 1000));
	return has_shown(follower);
}

static void end(RsTraceSink *sink)
{
	Follower *follower = (Follower *)sink;

	update_names(follower);
	rs_trace_merger_flush(follower->merger);
	has_shown(follower);
}

static void take_boots(RsTraceSink *sink, RsTraceFeed *feed,
		       const struct rs_file_boot boots[RS_BOOTS], guint64 hz)
{
	Followed *followed = feed->state;

	rs_trace_clock_set_file_boots(followed->clock, boots);
	rs_trace_origin_take_boots(&followed->info, boots);
	rs_trace_clock_set_hz(followed->clock, hz);
}

static void take_clock(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_clock_epoch *table,
		       guint n, guint32 epoch_count)
{
	Followed *followed = feed->state;

	rs_trace_clock_take(followed->clock, table, n, epoch_count);
}

static void take_symbols(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_file_symbols *head,
			 GBytes *data)
{
	Follower *follower = (Follower *)sink;
	Followed *followed = feed->state;
	gsize size;
	gconstpointer bytes = g_bytes_get_data(data, &size);

	follower->symbols -= rs_trace_symbols_size(followed->symbols);
	rs_trace_symbols_take(followed->symbols, head, bytes, size,
			      RS_TRACE_SYMBOLS_MAX - follower->symbols, NULL);
	follower->symbols += rs_trace_symbols_size(followed->symbols);
}

static void take_names(RsTraceSink *sink, RsTraceFeed *feed, const guint8 *snapshot,
		       const guint8 *again, gsize size, gsize stride)
{
	Followed *followed = feed->state;

	rs_trace_cmdline_merge(followed->names, snapshot, again, size, stride);
}

static void take_chunk(RsTraceSink *sink, RsTraceFeed *feed, const RsTraceChunk *chunk)
{
	Followed *followed = feed->state;

	rs_trace_decoder_push(followed->decoder, chunk->ring, chunk->page, chunk->from, chunk->to,
			      chunk->lost);
}

static void in_flight(RsTraceSink *sink, RsTraceFeed *feed, guint ring)
{
	Followed *followed = feed->state;

	rs_trace_merger_in_flight(followed->merger, followed->first_lane + ring);
}

/*
 * Of a ring without a record: when its source's other rings have their newest so far, or, if they
 * have none either, the time of the last round, if that is known.
 */
static guint64 time_of_loss(const Follower *follower, const Followed *followed, guint ring)
{
	const RsTraceFeed *feed = followed->feed;
	guint64 ns = followed->last[ring].ns;

	for (guint i = 0; !followed->last[ring].ns && i < feed->source->n_rings; i++)
		ns = MAX(ns, followed->last[i].ns);
	if (!ns && follower->latest != G_MAXUINT64)
		ns = follower->latest - follower->config.ahead_ns;
	return ns;
}

static void take_loss(RsTraceSink *sink, RsTraceFeed *feed, guint ring, guint64 lost)
{
	Followed *followed = feed->state;
	const guint64 ns = time_of_loss((const Follower *)sink, followed, ring);
	RsTraceRecord record = {
		.kind = RS_TRACE_RECORD_LOSS,
		.lost = lost,
		.when = followed->last[ring].when,
		.ns = ns,
		.sorted_ns = ns,
		.ring = (guint16)ring,
		.origin = followed->origin,
	};

	rs_trace_merger_push(followed->merger, followed->first_lane + ring, &record);
}

static gboolean held(RsTraceSink *sink, RsTraceFeed *feed)
{
	const Followed *followed = feed->state;

	return rs_trace_merger_lanes_held(followed->merger, followed->first_lane,
					  feed->source->n_rings);
}

static void free_follower(RsTraceSink *sink)
{
	Follower *follower = (Follower *)sink;

	rs_trace_merger_free(follower->merger);
	g_ptr_array_unref(follower->followed);
	g_free(follower);
}

RsTraceSink *rs_trace_follower_new(const RsTraceFollowerConfig *config)
{
	static const RsTraceSinkOps ops = {
		.join = join,
		.leave = leave,
		.begin_round = begin_round,
		.end_round = end_round,
		.end = end,
		.boots = take_boots,
		.clock = take_clock,
		.symbols = take_symbols,
		.names = take_names,
		.chunk = take_chunk,
		.in_flight = in_flight,
		.lost = take_loss,
		.held = held,
		.free = free_follower,
	};
	Follower *follower = g_new0(Follower, 1);

	follower->sink.ops = &ops;
	follower->config = *config;
	follower->latest = G_MAXUINT64;
	follower->merger = rs_trace_merger_new(0, 0, on_merged, follower);
	follower->followed = g_ptr_array_new();
	return &follower->sink;
}

guint64 rs_trace_follower_bad(const RsTraceSink *sink)
{
	const Follower *follower = (const Follower *)sink;
	guint64 bad = follower->bad;

	for (guint i = 0; i < follower->followed->len; i++)
		bad += bad_of(follower->followed->pdata[i]);
	return bad;
}
