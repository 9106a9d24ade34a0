/* SPDX-License-Identifier: MIT */
#include "rs-trace-recorder.h"
#include "rs-trace-recorded.h"

#include <rs-trace-error.h>
#include <rs-trace-page.h>

#define WINDOW_MS 1000u
/*
 * By which the time of an honest record may be ahead of ours, as one knows a guest's clock. So each
 * keeps its time, here and where it is shown live.
 */
#define AHEAD_US 1000
#define TOLD_ROOM (4u << 20) /* bytes of what is told while a file is written */

typedef struct {
	RsTraceSink sink;
	RsTraceRecorderConfig config;
	RsTraceWriter *writer;
	GPtrArray *sources; /* RsTraceRecorded * */
	gint64 window_end;  /* monotonic us: when a window is to end */
	gint64 flush;       /* likewise: when pages are to be written, whatever windows do */
	gint64 rotate;      /* likewise: when another file is to begin */
	gboolean ending;    /* a window is: pages are wanted as far as they are written */
	gsize window_max;   /* bytes at which the window that is ending ends, come what may */
	guint64 before;     /* bytes of the files before this one */
	guint64 known;      /* bytes of this one that were known when it began */
	guint64 left;       /* events of sources that have left */
	guint64 refused;    /* events that came when nothing could be written any more */
	RsTraceRecorderStats stats;
	gboolean over; /* nothing more is wanted */
	GError *error;
	GMutex lock;
	RsTraceRecorderStats shown; /* under the lock */
} Recorder;

static void count_all(Recorder *recorder)
{
	for (guint i = 0; i < recorder->sources->len; i++)
		rs_trace_recorded_count(recorder->sources->pdata[i]);
}

/* ---- windows ---- */

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
			((const RsTraceRecorded *)recorder->sources->pdata[i])->feed->source;

		bytes += (gsize)2 * source->n_rings * source->ring_pages * source->page_size;
	}
	return bytes;
}

static gboolean put_names(Recorder *recorder, const RsTraceRecorded *recorded, GByteArray *entries)
{
	RsTraceWriterTable table = {.elements = entries->data};

	if (!entries->len)
		return TRUE;
	table.stride = (guint)recorded->names_stride;
	table.count = entries->len / table.stride;
	return rs_trace_writer_put_table(recorder->writer, RS_FILE_NAMES, recorded->feed->number,
					 &table, &recorder->error);
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
		const RsTraceRecorded *recorded = recorder->sources->pdata[i];
		g_autoptr(GByteArray) names = g_byte_array_new();

		rs_trace_recorded_all_names(recorded, names);
		if (rs_trace_told_write(recorded->told, writer, recorded->feed->number,
					&recorder->error))
			put_names(recorder, recorded, names);
	}
	recorder->known = rs_trace_writer_size(recorder->writer);
}

/*
 * Whether the file is so large or so old that another one is to begin. What is known is told again
 * to each file, and may alone be larger than the limit: then no file would hold a page. So it does
 * not count, and what is told later has room of its own.
 */
static gboolean is_old(const Recorder *recorder)
{
	const RsTraceRecorderConfig *config = &recorder->config;

	if (!config->next)
		return FALSE;
	if (config->rotate_ms && g_get_monotonic_time() >= recorder->rotate)
		return TRUE;
	return config->rotate_bytes &&
	       (rs_trace_writer_page_bytes(recorder->writer) >= config->rotate_bytes ||
		rs_trace_writer_size(recorder->writer) - recorder->known >=
			config->rotate_bytes + TOLD_ROOM);
}

static void end_window(Recorder *recorder)
{
	gint64 now = g_get_monotonic_time();
	guint64 ns = (guint64)(now + AHEAD_US) * 1000;

	recorder->ending = FALSE;
	recorder->stats.windows++;
	recorder->window_end = recorder->flush = now + recorder->config.window_ms * 1000;
	for (guint i = 0; i < recorder->sources->len; i++)
		rs_trace_told_end_window(((RsTraceRecorded *)recorder->sources->pdata[i])->told);
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

	for (guint i = 0; i < recorder->sources->len; i++)
		rs_trace_recorded_begin_round(recorder->sources->pdata[i]);
	if (recorder->ending ||
	    (g_get_monotonic_time() < recorder->window_end && !is_old(recorder) &&
	     rs_trace_writer_window_bytes(recorder->writer) < RS_FILE_WINDOW_BYTES / 2))
		return;
	recorder->ending = TRUE;
	recorder->window_max = window_max(recorder);
	for (guint i = 0; i < recorder->sources->len; i++)
		rs_trace_recorded_begin_end(recorder->sources->pdata[i]);
}

static void fill_stats(const Recorder *recorder, RsTraceRecorderStats *out)
{
	RsTraceWriterRefused refused;

	*out = recorder->stats;
	out->bytes = recorder->before + rs_trace_writer_size(recorder->writer);
	out->events = recorder->left;
	for (guint i = 0; i < recorder->sources->len; i++)
		out->events += rs_trace_recorded_events(recorder->sources->pdata[i]);
	rs_trace_writer_refused(recorder->writer, &refused);
	out->refused = refused.records + recorder->refused;
	out->events -= MIN(out->events, out->refused);
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
		RsTraceRecorded *recorded = recorder->sources->pdata[i];

		rs_trace_feed_update_names(recorded->feed);
		if (recorder->ending)
			all &= rs_trace_recorded_caught_up(recorded);
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
	RsTraceRecorded *recorded = feed->state;

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
	RsTraceRecorded *recorded;

	if (recorder->config.describe)
		recorder->config.describe(feed->data, &info, recorder->config.data);
	info.size = sizeof(info);
	info.ring_count = feed->source->n_rings;
	info.ring_pages = feed->source->ring_pages;
	info.ring_page_size = feed->source->page_size;
	recorded = rs_trace_recorded_new(feed,
					 recorder->config.next ? rs_trace_told_new(&info) : NULL);
	feed->state = recorded;
	g_ptr_array_add(recorder->sources, recorded);
	put(recorder, feed, RS_FILE_SOURCE, &info, sizeof(info));
	if (recorder->ending)
		rs_trace_recorded_begin_end(recorded);
}

static void leave(RsTraceSink *sink, RsTraceFeed *feed)
{
	Recorder *recorder = (Recorder *)sink;
	RsTraceRecorded *recorded = feed->state;

	recorder->left += rs_trace_recorded_count(recorded);
	put(recorder, feed, RS_FILE_LEFT, NULL, 0);
	g_ptr_array_remove_fast(recorder->sources, recorded);
	rs_trace_recorded_free(recorded);
}

static void take_boots(RsTraceSink *sink, RsTraceFeed *feed,
		       const struct rs_file_boot boots[RS_BOOTS], guint64 hz)
{
	const RsTraceWriterTable table = {hz, boots, RS_BOOTS, sizeof(*boots), NULL, 0};

	rs_trace_told_boots(((RsTraceRecorded *)feed->state)->told, boots, hz);
	put_table((Recorder *)sink, feed, RS_FILE_BOOTS, &table);
}

static void take_provider(RsTraceSink *sink, RsTraceFeed *feed, guint slot,
			  const struct rs_provider *entry, const guint8 *descs, gsize size)
{
	const RsTraceWriterTable table = {slot, entry, 1, sizeof(*entry), descs, size};

	rs_trace_told_provider(((RsTraceRecorded *)feed->state)->told, slot, entry, descs, size);
	put_table((Recorder *)sink, feed, RS_FILE_PROVIDER, &table);
}

static void take_symbols(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_file_symbols *head,
			 GBytes *data)
{
	gsize size;
	gconstpointer bytes = g_bytes_get_data(data, &size);
	const RsTraceWriterTable table = {0, head, 1, sizeof(*head), bytes, size};

	rs_trace_told_symbols(((RsTraceRecorded *)feed->state)->told, head, data);
	put_table((Recorder *)sink, feed, RS_FILE_SYMBOLS, &table);
}

static void take_clock(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_clock_epoch *epochs,
		       guint n, guint32 epoch_count)
{
	/* Epoch i is entry i % n. While the table is not full, its used part is such a table. */
	const guint used = MIN(n, epoch_count);
	const RsTraceWriterTable table = {epoch_count, epochs, used, sizeof(*epochs), NULL, 0};

	rs_trace_told_clock(((RsTraceRecorded *)feed->state)->told, epochs, used, epoch_count);
	put_table((Recorder *)sink, feed, RS_FILE_CLOCK, &table);
}

static void take_names(RsTraceSink *sink, RsTraceFeed *feed, const guint8 *snapshot,
		       const guint8 *again, gsize size, gsize stride)
{
	g_autoptr(GByteArray) news = g_byte_array_new();
	Recorder *recorder = (Recorder *)sink;
	RsTraceRecorded *recorded = feed->state;

	rs_trace_recorded_take_names(recorded, snapshot, again, size, stride, news);
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
	RsTraceRecorded *recorded = feed->state;

	/* What comes in the rest of the round in which the file was full. */
	if (!is_open(recorder)) {
		recorder->refused += rs_trace_page_count(chunk->page, chunk->from, chunk->to, NULL);
		return;
	}
	recorder->stats.pages++;
	recorder->stats.lost += chunk->lost;
	rs_trace_recorded_take_chunk(recorded, chunk);
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
		rs_trace_feed_update_names(((RsTraceRecorded *)recorder->sources->pdata[i])->feed);
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
		.symbols = take_symbols,
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
