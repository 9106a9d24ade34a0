/* SPDX-License-Identifier: MIT */
#include "rs-trace-recorder.h"
#include "rs-trace-feed.h"
#include "rs-trace-told.h"

#include <ringside/cmdline.h>
#include <ringside/ring.h>
#include <rs-trace-error.h>
#include <rs-trace-page.h>
#include <string.h>

#define WINDOW_MS 1000u

typedef struct {
	RsTraceSink sink;
	RsTraceRecorderConfig config;
	RsTraceWriter *writer;
	GPtrArray *sources; /* Recorded * */
	gint64 window_end;  /* monotonic us: when a window is to end */
	gint64 flush;       /* likewise: when pages are to be written, whatever windows do */
	gint64 rotate;      /* likewise: when another file is to begin */
	gboolean ending;    /* a window is: pages are wanted as far as they are written */
	gsize window_max;   /* bytes at which the window that is ending ends, come what may */
	guint64 before;     /* bytes of the files before this one */
	guint64 left;       /* events of sources that have left */
	guint64 refused;    /* events that came when nothing could be written any more */
	RsTraceRecorderStats stats;
	gboolean over; /* nothing more is wanted */
	GError *error;
	GMutex lock;
	RsTraceRecorderStats shown; /* under the lock */
} Recorder;

/* What a window's end asks of a ring. */
typedef struct {
	gboolean in_flight;     /* not read to its end in this round */
	gboolean behind;        /* records of it from before the window's end may be missing */
	RsTraceRingMark target; /* where they end */
	guint64 events;         /* in pages before the last one */
} Ring;

/* One source. */
typedef struct {
	RsTraceFeed *feed;
	RsTraceTold *told; /* NULL: there is one file */
	guint8 *names;     /* as they were last written */
	gsize names_size, names_stride;
	Ring rings[];
} Recorded;

/* ---- counts ---- */

/* Counted to the last one, which looks into a page of each ring. */
static guint64 records_of(Recorded *recorded)
{
	RsTraceSource *source = recorded->feed->source;
	guint64 n = 0;

	for (guint ring = 0; ring < source->n_rings; ring++)
		n += recorded->rings[ring].events = source->ops->records(source, ring);
	return n;
}

static void count_all(Recorder *recorder)
{
	for (guint i = 0; i < recorder->sources->len; i++)
		records_of(recorder->sources->pdata[i]);
}

/* ---- windows ---- */

static void begin_end(Recorded *recorded)
{
	const RsTraceSource *source = recorded->feed->source;

	for (guint i = 0; i < source->n_rings; i++) {
		Ring *ring = &recorded->rings[i];

		ring->in_flight = FALSE;
		ring->behind = TRUE;
		source->ops->written(recorded->feed->source, i, &ring->target);
		rs_trace_feed_set_whole(recorded->feed, i, FALSE);
	}
}

static void catch_up(Recorded *recorded, guint ring)
{
	recorded->rings[ring].behind = FALSE;
	rs_trace_feed_set_whole(recorded->feed, ring, TRUE);
}

/* A ring that has handed out what was written when the end began need not be read any further. */
static void look_at_target(Recorded *recorded, const RsTraceChunk *chunk)
{
	const gint64 seq = (gint64)((const struct rs_ring_page *)chunk->page)->seq;
	const Ring *ring = &recorded->rings[chunk->ring];

	if (ring->behind && (seq > ring->target.seq ||
			     (seq == ring->target.seq && chunk->to >= ring->target.offset)))
		catch_up(recorded, chunk->ring);
}

/* Whether the source has handed out all that was in its rings when the window's end began. */
static gboolean has_caught_up(Recorded *recorded)
{
	gboolean all = TRUE;

	for (guint i = 0; i < recorded->feed->source->n_rings; i++) {
		const Ring *ring = &recorded->rings[i];

		/* The target is what a guest says. A ring that was read to its end has no more. */
		if (ring->behind && !ring->in_flight && !recorded->feed->stopped)
			catch_up(recorded, i);
		all &= !ring->behind;
	}
	return all;
}

/*
 * While one ring is read up to its target others go on, as fast as they are read: in the worst case
 * each hands out as much again. A window gets no larger than that: a producer that never finishes
 * its record would hold it open.
 */
static gsize window_max(const Recorder *recorder)
{
	gsize bytes = rs_trace_writer_window_bytes(recorder->writer);

	for (guint i = 0; i < recorder->sources->len; i++) {
		const RsTraceSource *source =
			((const Recorded *)recorder->sources->pdata[i])->feed->source;

		bytes += (gsize)2 * source->n_rings * source->ring_pages * source->page_size;
	}
	return bytes;
}

static gboolean put_names(Recorder *recorder, const Recorded *recorded, GByteArray *entries)
{
	const RsTraceWriterTable table = {
		.elements = entries->data,
		.count = (guint)(entries->len / recorded->names_stride),
		.stride = (guint)recorded->names_stride,
	};

	return !entries->len ||
	       rs_trace_writer_put_table(recorder->writer, RS_FILE_NAMES, recorded->feed->number,
					 &table, &recorder->error);
}

/* All names that are known. */
static gboolean put_all_names(Recorder *recorder, const Recorded *recorded)
{
	g_autoptr(GByteArray) all = g_byte_array_new();

	for (gsize at = 0; at < recorded->names_size; at += recorded->names_stride)
		if (((const struct rs_cmdline_entry *)(void *)(recorded->names + at))->sequence)
			g_byte_array_append(all, recorded->names + at,
					    (guint)recorded->names_stride);
	return put_names(recorder, recorded, all);
}

/* Errors: as rs_trace_writer_new(). */
static RsTraceWriter *new_writer(const Recorder *recorder, GOutputStream *stream, GError **error)
{
	RsTraceWriterConfig config = recorder->config.file;
	const guint64 most = recorder->config.max_bytes;

	if (most && most < recorder->before + RS_TRACE_WRITER_MIN) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_FULL,
			    "a file needs %u bytes at least", RS_TRACE_WRITER_MIN);
		return NULL;
	}
	config.max_bytes = most ? most - recorder->before : 0;
	return rs_trace_writer_new(stream, &config, error);
}

/* Ends the file, and begins the next one with all that is known. */
static void rotate(Recorder *recorder)
{
	g_autoptr(GOutputStream) stream = NULL;
	RsTraceWriter *writer;

	if (!rs_trace_writer_close(recorder->writer, &recorder->error))
		return;
	recorder->before += rs_trace_writer_size(recorder->writer);
	stream = recorder->config.next(recorder->stats.files + 1, recorder->config.data,
				       &recorder->error);
	writer = stream ? new_writer(recorder, stream, &recorder->error) : NULL;
	if (!writer)
		return;
	rs_trace_writer_free(recorder->writer);
	recorder->writer = writer;
	recorder->stats.files++;
	recorder->rotate = g_get_monotonic_time() + (gint64)recorder->config.rotate_ms * 1000;
	for (guint i = 0; i < recorder->sources->len && !recorder->error; i++) {
		const Recorded *recorded = recorder->sources->pdata[i];

		if (rs_trace_told_write(recorded->told, writer, recorded->feed->number,
					&recorder->error))
			put_all_names(recorder, recorded);
	}
}

/* Whether the file is so large or so old that another one is to begin. */
static gboolean is_old(const Recorder *recorder)
{
	const RsTraceRecorderConfig *config = &recorder->config;

	return config->next && ((config->rotate_bytes &&
				 rs_trace_writer_size(recorder->writer) >= config->rotate_bytes) ||
				(config->rotate_ms && g_get_monotonic_time() >= recorder->rotate));
}

static void end_window(Recorder *recorder)
{
	gint64 now = g_get_monotonic_time();
	guint64 ns = (guint64)now * 1000;

	recorder->ending = FALSE;
	recorder->stats.windows++;
	recorder->window_end = recorder->flush = now + recorder->config.window_ms * 1000;
	for (guint i = 0; i < recorder->sources->len; i++)
		rs_trace_told_end_window(((Recorded *)recorder->sources->pdata[i])->told);
	rs_trace_writer_end_window(recorder->writer, ns - MIN(ns, recorder->config.file.origin_ns),
				   &recorder->error);
}

/* A file that is full ends well: what did not fit was not recorded, and the rest is good. */
static void end_full(Recorder *recorder)
{
	if (!g_error_matches(recorder->error, RS_TRACE_ERROR, RS_TRACE_ERROR_FULL))
		return;
	g_clear_error(&recorder->error);
	recorder->stats.full = recorder->over = TRUE;
	end_window(recorder);
	if (!recorder->error)
		rs_trace_writer_close(recorder->writer, &recorder->error);
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
	    (g_get_monotonic_time() < recorder->window_end && !is_old(recorder) &&
	     rs_trace_writer_window_bytes(recorder->writer) < RS_FILE_WINDOW_BYTES / 2))
		return;
	recorder->ending = TRUE;
	recorder->window_max = window_max(recorder);
	for (guint i = 0; i < recorder->sources->len; i++)
		begin_end(recorder->sources->pdata[i]);
}

static void fill_stats(const Recorder *recorder, RsTraceRecorderStats *out)
{
	RsTraceWriterRefused refused;

	*out = recorder->stats;
	out->bytes = recorder->before + rs_trace_writer_size(recorder->writer);
	out->events = recorder->left;
	for (guint i = 0; i < recorder->sources->len; i++) {
		const Recorded *recorded = recorder->sources->pdata[i];

		for (guint ring = 0; ring < recorded->feed->source->n_rings; ring++)
			out->events += recorded->rings[ring].events;
	}
	rs_trace_writer_refused(recorder->writer, &refused);
	out->events -= MIN(out->events, refused.records + recorder->refused);
	out->pages -= MIN(out->pages, refused.pages);
	out->lost -= MIN(out->lost, refused.lost);
}

static void show_stats(Recorder *recorder)
{
	g_mutex_lock(&recorder->lock);
	fill_stats(recorder, &recorder->shown);
	g_mutex_unlock(&recorder->lock);
}

/* What is gathered does not wait for a window that cannot end. */
static void flush(Recorder *recorder)
{
	const gint64 now = g_get_monotonic_time();

	if (now < recorder->flush)
		return;
	recorder->flush = now + recorder->config.window_ms * 1000;
	rs_trace_writer_flush(recorder->writer, &recorder->error);
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
	all |= rs_trace_writer_window_bytes(recorder->writer) > recorder->window_max;
	if (!recorder->error && recorder->ending && all) {
		const gboolean old = is_old(recorder);

		end_window(recorder);
		if (!recorder->error && old)
			rotate(recorder);
	} else if (!recorder->error) {
		flush(recorder);
	}
	end_full(recorder);
	if (recorder->error || recorder->over)
		count_all(recorder);
	show_stats(recorder);
	return !recorder->error && !recorder->over;
}

static void in_flight(RsTraceSink *sink, RsTraceFeed *feed, guint ring)
{
	Recorded *recorded = feed->state;

	recorded->rings[ring].in_flight = TRUE;
}

/* ---- what is told ---- */

static gboolean is_open(const Recorder *recorder)
{
	return !recorder->error && !recorder->over;
}

static void put(Recorder *recorder, RsTraceFeed *feed, guint kind, gconstpointer body, gsize size)
{
	if (is_open(recorder))
		rs_trace_writer_put(recorder->writer, kind, feed->number, body, size,
				    &recorder->error);
}

static void put_table(Recorder *recorder, RsTraceFeed *feed, guint kind,
		      const RsTraceWriterTable *table)
{
	if (is_open(recorder))
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
	info.ring_page_size = feed->source->page_size;
	recorded->told = recorder->config.next ? rs_trace_told_new(&info) : NULL;
	put(recorder, feed, RS_FILE_SOURCE, &info, sizeof(info));
	if (recorder->ending)
		begin_end(recorded);
}

static void leave(RsTraceSink *sink, RsTraceFeed *feed)
{
	Recorder *recorder = (Recorder *)sink;
	Recorded *recorded = feed->state;

	recorder->left += records_of(recorded);
	put(recorder, feed, RS_FILE_LEFT, NULL, 0);
	g_ptr_array_remove_fast(recorder->sources, recorded);
	rs_trace_told_free(recorded->told);
	g_free(recorded->names);
	g_free(recorded);
}

static void take_boots(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_boot boots[RS_BOOTS],
		       guint64 hz)
{
	const RsTraceWriterTable table = {hz, boots, RS_BOOTS, sizeof(*boots), NULL, 0};

	rs_trace_told_boots(((Recorded *)feed->state)->told, boots, hz);
	put_table((Recorder *)sink, feed, RS_FILE_BOOTS, &table);
}

static void take_provider(RsTraceSink *sink, RsTraceFeed *feed, guint slot,
			  const struct rs_provider *entry, const guint8 *descs, gsize size)
{
	const RsTraceWriterTable table = {slot, entry, 1, sizeof(*entry), descs, size};

	rs_trace_told_provider(((Recorded *)feed->state)->told, slot, entry, descs, size);
	put_table((Recorder *)sink, feed, RS_FILE_PROVIDER, &table);
}

static void take_clock(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_clock_epoch *epochs,
		       guint n, guint32 epoch_count)
{
	/* Epoch i is entry i % n. While the table is not full, its used part is such a table. */
	const guint used = MIN(n, epoch_count);
	const RsTraceWriterTable table = {epoch_count, epochs, used, sizeof(*epochs), NULL, 0};

	rs_trace_told_clock(((Recorded *)feed->state)->told, epochs, used, epoch_count);
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
	Recorder *recorder = (Recorder *)sink;
	Recorded *recorded = feed->state;

	if (recorded->names_size < size) {
		recorded->names = g_realloc(recorded->names, size);
		memset(recorded->names + recorded->names_size, 0, size - recorded->names_size);
		recorded->names_size = size;
	}
	recorded->names_stride = stride;
	for (gsize at = 0; at + stride <= size; at += stride) {
		if (!is_news(recorded->names + at, snapshot + at, again ? again + at : NULL,
			     stride))
			continue;
		memcpy(recorded->names + at, snapshot + at, stride);
		g_byte_array_append(news, snapshot + at, (guint)stride);
	}
	if (is_open(recorder))
		put_names(recorder, recorded, news);
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

	/* What comes in the rest of the round in which the file was full. */
	if (!is_open(recorder)) {
		recorder->refused += rs_trace_page_count(chunk->page, chunk->from, chunk->to, NULL);
		return;
	}
	recorder->stats.pages++;
	recorder->stats.lost += chunk->lost;
	recorded->rings[chunk->ring].events = chunk->records;
	look_at_target(recorded, chunk);
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
	count_all(recorder);
	if (!recorder->error)
		end_window(recorder);
	if (!recorder->error)
		rs_trace_writer_close(recorder->writer, &recorder->error);
	end_full(recorder);
	recorder->over = TRUE;
	show_stats(recorder);
}

/* ---- the recorder ---- */

gboolean rs_trace_recorder_result(const RsTraceSink *sink, RsTraceRecorderStats *out,
				  GError **error)
{
	const Recorder *recorder = (const Recorder *)sink;

	fill_stats(recorder, out);
	if (recorder->error && error)
		*error = g_error_copy(recorder->error);
	return !recorder->error;
}

void rs_trace_recorder_progress(RsTraceSink *sink, RsTraceRecorderStats *out)
{
	Recorder *recorder = (Recorder *)sink;

	g_mutex_lock(&recorder->lock);
	*out = recorder->shown;
	g_mutex_unlock(&recorder->lock);
}

static void free_recorder(RsTraceSink *sink)
{
	Recorder *recorder = (Recorder *)sink;

	rs_trace_writer_free(recorder->writer);
	g_ptr_array_unref(recorder->sources);
	g_clear_error(&recorder->error);
	g_mutex_clear(&recorder->lock);
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
	Recorder *recorder = g_new0(Recorder, 1);
	const gint64 now = g_get_monotonic_time();

	recorder->sink.ops = &ops;
	recorder->config = *config;
	recorder->config.window_ms = config->window_ms ? config->window_ms : WINDOW_MS;
	recorder->config.stream = NULL; /* the writer has it */
	recorder->sources = g_ptr_array_new();
	recorder->window_end = recorder->flush = now + recorder->config.window_ms * 1000;
	recorder->rotate = now + (gint64)config->rotate_ms * 1000;
	recorder->stats.files = 1;
	g_mutex_init(&recorder->lock);
	recorder->writer = new_writer(recorder, config->stream, error);
	if (recorder->writer)
		return &recorder->sink;
	free_recorder(&recorder->sink);
	return NULL;
}
