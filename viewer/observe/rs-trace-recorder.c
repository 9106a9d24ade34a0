/* SPDX-License-Identifier: MIT */
#include "rs-trace-recorder.h"
#include "rs-trace-feed.h"

#include <ringside/cmdline.h>
#include <string.h>

#define WINDOW_MS 1000u

typedef struct {
	RsTraceSink sink;
	RsTraceRecorderConfig config;
	RsTraceWriter *writer;
	GPtrArray *sources; /* Recorded * */
	gint64 window_end;  /* monotonic us: when a window is to end */
	gboolean ending;    /* a window is: pages are wanted as far as they are written */
	RsTraceRecorderStats stats;
	GError *error;
} Recorder;

/* What a window's end asks of a ring. */
typedef struct {
	gboolean in_flight; /* not read to its end in this round */
	gboolean behind;    /* records of it from before the window's end may be missing */
	guint pages;        /* that came since */
} Ring;

/* One source. */
typedef struct {
	RsTraceFeed *feed;
	guint8 *names; /* as they were last written */
	gsize names_size;
	Ring rings[];
} Recorded;

/* ---- windows ---- */

static void begin_end(Recorded *recorded)
{
	for (guint i = 0; i < recorded->feed->source->n_rings; i++) {
		recorded->rings[i] = (Ring){.behind = TRUE};
		rs_trace_feed_set_whole(recorded->feed, i, FALSE);
	}
}

/* Whether the source has handed out all that was in its rings when the window's end began. */
static gboolean has_caught_up(Recorded *recorded)
{
	const RsTraceSource *source = recorded->feed->source;
	gboolean all = TRUE;

	for (guint i = 0; i < source->n_rings; i++) {
		Ring *ring = &recorded->rings[i];

		/* A ring that has come round once has nothing that was there before. */
		if (ring->behind && ((!ring->in_flight && !recorded->feed->stopped) ||
				     ring->pages >= source->ring_pages)) {
			ring->behind = FALSE;
			rs_trace_feed_set_whole(recorded->feed, i, TRUE);
		}
		all &= !ring->behind;
	}
	return all;
}

static void end_window(Recorder *recorder)
{
	gint64 now = g_get_monotonic_time();
	guint64 ns = (guint64)now * 1000;

	recorder->ending = FALSE;
	recorder->stats.windows++;
	recorder->window_end = now + recorder->config.window_ms * 1000;
	rs_trace_writer_end_window(recorder->writer, ns - MIN(ns, recorder->config.file.origin_ns),
				   &recorder->error);
}

static void begin_round(RsTraceSink *sink)
{
	Recorder *recorder = (Recorder *)sink;

	for (guint i = 0; i < recorder->sources->len; i++) {
		Recorded *recorded = recorder->sources->pdata[i];

		for (guint ring = 0; ring < recorded->feed->source->n_rings; ring++)
			recorded->rings[ring].in_flight = FALSE;
	}
	if (recorder->ending ||
	    (g_get_monotonic_time() < recorder->window_end &&
	     rs_trace_writer_window_bytes(recorder->writer) < RS_FILE_WINDOW_BYTES / 2))
		return;
	recorder->ending = TRUE;
	for (guint i = 0; i < recorder->sources->len; i++)
		begin_end(recorder->sources->pdata[i]);
}

static gboolean end_round(RsTraceSink *sink, guint64 now_ns)
{
	Recorder *recorder = (Recorder *)sink;
	gboolean all = TRUE;

	for (guint i = 0; i < recorder->sources->len; i++) {
		Recorded *recorded = recorder->sources->pdata[i];

		rs_trace_feed_update_names(recorded->feed);
		if (recorder->ending)
			all &= has_caught_up(recorded);
	}
	if (recorder->ending && all && !recorder->error)
		end_window(recorder);
	return !recorder->error;
}

static void in_flight(RsTraceSink *sink, RsTraceFeed *feed, guint ring)
{
	Recorded *recorded = feed->state;

	recorded->rings[ring].in_flight = TRUE;
}

/* ---- what is told ---- */

static void put(Recorder *recorder, RsTraceFeed *feed, guint kind, gconstpointer body, gsize size)
{
	if (!recorder->error)
		rs_trace_writer_put(recorder->writer, kind, feed->number, body, size,
				    &recorder->error);
}

static void put_table(Recorder *recorder, RsTraceFeed *feed, guint kind,
		      const RsTraceWriterTable *table)
{
	if (!recorder->error)
		rs_trace_writer_put_table(recorder->writer, kind, feed->number, table,
					  &recorder->error);
}

static void join(RsTraceSink *sink, RsTraceFeed *feed)
{
	Recorder *recorder = (Recorder *)sink;
	struct rs_file_source info = {0};
	Recorded *recorded =
		g_malloc0(sizeof(*recorded) + feed->source->n_rings * sizeof(*recorded->rings));

	recorded->feed = feed;
	feed->state = recorded;
	g_ptr_array_add(recorder->sources, recorded);
	if (recorder->config.describe)
		recorder->config.describe(feed->data, &info, recorder->config.data);
	info.size = sizeof(info);
	info.ring_count = feed->source->n_rings;
	info.ring_pages = feed->source->ring_pages;
	put(recorder, feed, RS_FILE_SOURCE, &info, sizeof(info));
	if (recorder->ending)
		begin_end(recorded);
}

static void leave(RsTraceSink *sink, RsTraceFeed *feed)
{
	Recorder *recorder = (Recorder *)sink;
	Recorded *recorded = feed->state;

	put(recorder, feed, RS_FILE_LEFT, NULL, 0);
	g_ptr_array_remove_fast(recorder->sources, recorded);
	g_free(recorded->names);
	g_free(recorded);
}

static void take_boots(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_boot boots[RS_BOOTS],
		       guint64 hz)
{
	const RsTraceWriterTable table = {hz, boots, RS_BOOTS, sizeof(*boots), NULL, 0};

	put_table((Recorder *)sink, feed, RS_FILE_BOOTS, &table);
}

static void take_provider(RsTraceSink *sink, RsTraceFeed *feed, guint slot,
			  const struct rs_provider *entry, const guint8 *descs, gsize size)
{
	const RsTraceWriterTable table = {slot, entry, 1, sizeof(*entry), descs, size};

	put_table((Recorder *)sink, feed, RS_FILE_PROVIDER, &table);
}

static void take_clock(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_clock_epoch *epochs,
		       guint n, guint32 epoch_count)
{
	const RsTraceWriterTable table = {epoch_count, epochs, n, sizeof(*epochs), NULL, 0};

	put_table((Recorder *)sink, feed, RS_FILE_CLOCK, &table);
}

/* Whether an entry is whole, and other than it was. */
static gboolean is_news(const guint8 *before, const guint8 *now, const guint8 *again, gsize stride)
{
	const struct rs_cmdline_entry *entry = (const void *)now;

	return entry->sequence && entry->sequence % 2 == 0 &&
	       (!again || !memcmp(now, again, stride)) && memcmp(before, now, stride);
}

static void take_names(RsTraceSink *sink, RsTraceFeed *feed, const guint8 *snapshot,
		       const guint8 *again, gsize size, gsize stride)
{
	g_autoptr(GByteArray) news = g_byte_array_new();
	RsTraceWriterTable table = {.stride = (guint)stride};
	Recorded *recorded = feed->state;

	if (recorded->names_size < size) {
		recorded->names = g_realloc(recorded->names, size);
		memset(recorded->names + recorded->names_size, 0, size - recorded->names_size);
		recorded->names_size = size;
	}
	for (gsize at = 0; at + stride <= size; at += stride) {
		if (!is_news(recorded->names + at, snapshot + at, again ? again + at : NULL,
			     stride))
			continue;
		memcpy(recorded->names + at, snapshot + at, stride);
		g_byte_array_append(news, snapshot + at, (guint)stride);
		table.count++;
	}
	table.elements = news->data;
	if (table.count)
		put_table((Recorder *)sink, feed, RS_FILE_NAMES, &table);
}

static void take_chunk(RsTraceSink *sink, RsTraceFeed *feed, const RsTraceChunk *chunk)
{
	const struct rs_file_page page = {
		.lost = chunk->lost,
		.from = chunk->from,
		.to = chunk->to,
		.ring = chunk->ring,
	};
	Recorder *recorder = (Recorder *)sink;
	Recorded *recorded = feed->state;

	recorder->stats.pages++;
	recorder->stats.lost += chunk->lost;
	recorded->rings[chunk->ring].pages++;
	if (!recorder->error)
		rs_trace_writer_put_page(recorder->writer, feed->number, chunk->page, &page,
					 &recorder->error);
}

static void take_lost(RsTraceSink *sink, RsTraceFeed *feed, guint ring, guint64 lost)
{
	const struct rs_file_lost body = {.lost = lost, .ring = ring};
	Recorder *recorder = (Recorder *)sink;

	recorder->stats.lost += lost;
	put(recorder, feed, RS_FILE_LOST, &body, sizeof(body));
}

static void end(RsTraceSink *sink)
{
	Recorder *recorder = (Recorder *)sink;

	for (guint i = 0; i < recorder->sources->len; i++)
		rs_trace_feed_update_names(((Recorded *)recorder->sources->pdata[i])->feed);
	if (!recorder->error)
		end_window(recorder);
	if (!recorder->error)
		rs_trace_writer_close(recorder->writer, &recorder->error);
}

/* ---- the recorder ---- */

gboolean rs_trace_recorder_result(const RsTraceSink *sink, RsTraceRecorderStats *out,
				  GError **error)
{
	const Recorder *recorder = (const Recorder *)sink;

	*out = recorder->stats;
	out->bytes = rs_trace_writer_size(recorder->writer);
	if (recorder->error && error)
		*error = g_error_copy(recorder->error);
	return !recorder->error;
}

static void free_recorder(RsTraceSink *sink)
{
	Recorder *recorder = (Recorder *)sink;

	rs_trace_writer_free(recorder->writer);
	g_object_unref(recorder->config.stream);
	g_ptr_array_unref(recorder->sources);
	g_clear_error(&recorder->error);
	g_free(recorder);
}

RsTraceSink *rs_trace_recorder_new(const RsTraceRecorderConfig *config, GError **error)
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
		.chunk = take_chunk,
		.in_flight = in_flight,
		.lost = take_lost,
		.free = free_recorder,
	};
	RsTraceWriter *writer = rs_trace_writer_new(config->stream, &config->file, error);
	Recorder *recorder;

	if (!writer)
		return NULL;
	recorder = g_new0(Recorder, 1);
	recorder->sink.ops = &ops;
	recorder->config = *config;
	recorder->config.window_ms = config->window_ms ? config->window_ms : WINDOW_MS;
	g_object_ref(config->stream);
	recorder->writer = writer;
	recorder->sources = g_ptr_array_new();
	recorder->window_end = g_get_monotonic_time() + recorder->config.window_ms * 1000;
	return &recorder->sink;
}
