/* SPDX-License-Identifier: MIT */
#include "recording.h"

#include <rs-trace-feed.h>
#include <string.h>

typedef enum { BOOTS, PROVIDER, CLOCK, NAMES, CHUNK, LOST } Kind;

/* One call. Bytes that it passed are copied. */
typedef struct {
	Kind kind;
	guint number;  /* slot, ring or epoch_count */
	guint64 value; /* hz, stride or lost */
	struct rs_provider entry;
	RsTraceChunk chunk;
	GBytes *bytes, *again;
} Entry;

static void entry_free(gpointer data)
{
	Entry *entry = data;

	g_clear_pointer(&entry->bytes, g_bytes_unref);
	g_clear_pointer(&entry->again, g_bytes_unref);
	g_free(entry);
}

static void recorded_free(gpointer data)
{
	TestRecorded *recorded = data;

	g_ptr_array_unref(recorded->entries);
	g_free(recorded);
}

/* ---- the sink ---- */

static Entry *add(RsTraceFeed *feed, Kind kind, guint number, guint64 value, gconstpointer bytes,
		  gsize size)
{
	TestRecorded *recorded = feed->state;
	Entry *entry = g_new0(Entry, 1);

	g_assert_false(recorded->left);
	entry->kind = kind;
	entry->number = number;
	entry->value = value;
	entry->bytes = bytes ? g_bytes_new(bytes, size) : NULL;
	g_ptr_array_add(recorded->entries, entry);
	return entry;
}

static void join(RsTraceSink *sink, RsTraceFeed *feed)
{
	TestRecorded *recorded = g_new0(TestRecorded, 1);

	recorded->data = feed->data;
	recorded->n_rings = feed->source->n_rings;
	recorded->entries = g_ptr_array_new_with_free_func(entry_free);
	g_ptr_array_add(((TestRecorder *)sink)->recorded, recorded);
	g_ptr_array_add(((TestRecorder *)sink)->feeds, feed);
	feed->state = recorded;
}

static void leave(RsTraceSink *sink, RsTraceFeed *feed)
{
	((TestRecorded *)feed->state)->left = TRUE;
	g_ptr_array_remove(((TestRecorder *)sink)->feeds, feed);
}

static void begin_round(RsTraceSink *sink)
{
	g_assert_false(((TestRecorder *)sink)->ended);
}

static void boots(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_boot table[RS_BOOTS],
		  guint64 hz)
{
	add(feed, BOOTS, 0, hz, table, RS_BOOTS * sizeof(*table));
}

static void provider(RsTraceSink *sink, RsTraceFeed *feed, guint slot,
		     const struct rs_provider *from, const guint8 *descs, gsize size)
{
	add(feed, PROVIDER, slot, 0, descs, size)->entry = *from;
}

static void epochs(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_clock_epoch *table,
		   guint n, guint32 epoch_count)
{
	add(feed, CLOCK, epoch_count, 0, table, n * sizeof(*table));
}

static void names(RsTraceSink *sink, RsTraceFeed *feed, const guint8 *snapshot, const guint8 *again,
		  gsize size, gsize stride)
{
	add(feed, NAMES, 0, stride, snapshot, size)->again = g_bytes_new(again, size);
}

static void chunk(RsTraceSink *sink, RsTraceFeed *feed, const RsTraceChunk *from)
{
	TestRecorded *recorded = feed->state;

	recorded->pages++;
	recorded->unfilled += from->to % RS_RING_PAGE_MIN != 0;
	add(feed, CHUNK, from->ring, 0, from->page, from->to)->chunk = *from;
}

static void lost(RsTraceSink *sink, RsTraceFeed *feed, guint ring, guint64 n)
{
	add(feed, LOST, ring, n, NULL, 0);
}

static gboolean end_round(RsTraceSink *sink, guint64 now_ns)
{
	TestRecorder *recorder = (TestRecorder *)sink;

	for (guint i = 0; i < recorder->feeds->len; i++)
		rs_trace_feed_update_names(recorder->feeds->pdata[i]);
	recorder->round(recorder->data);
	return TRUE;
}

static void end(RsTraceSink *sink)
{
	((TestRecorder *)sink)->ended = TRUE;
}

static void free_recorder(RsTraceSink *sink)
{
	TestRecorder *recorder = (TestRecorder *)sink;

	g_ptr_array_unref(recorder->recorded);
	g_ptr_array_unref(recorder->feeds);
	g_free(recorder);
}

TestRecorder *test_recorder_new(void (*round)(gpointer), gpointer data)
{
	static const RsTraceSinkOps ops = {
		.join = join,
		.leave = leave,
		.begin_round = begin_round,
		.end_round = end_round,
		.end = end,
		.boots = boots,
		.provider = provider,
		.clock = epochs,
		.names = names,
		.chunk = chunk,
		.lost = lost,
		.free = free_recorder,
	};
	TestRecorder *recorder = g_new0(TestRecorder, 1);

	recorder->sink.ops = &ops;
	recorder->recorded = g_ptr_array_new_with_free_func(recorded_free);
	recorder->feeds = g_ptr_array_new();
	recorder->round = round;
	recorder->data = data;
	return recorder;
}

/* ---- the source ---- */

typedef struct {
	RsTraceSource source;
	const TestRecorded *recorded;
	guint handed; /* entries before this one precede a chunk that was handed out */
	guint told;   /* entries before this one were told, but for names */
	guint named;  /* names before this one were told */
	guint at[];   /* by ring: the next entry to look at */
} Replay;

static const Entry *entry_at(const Replay *replay, guint i)
{
	const GPtrArray *entries = replay->recorded->entries;

	return i < entries->len ? entries->pdata[i] : NULL;
}

static gconstpointer bytes_of(GBytes *bytes)
{
	return bytes ? g_bytes_get_data(bytes, NULL) : NULL;
}

static void tell(const Entry *entry, RsTraceFeed *feed)
{
	gsize size = entry->bytes ? g_bytes_get_size(entry->bytes) : 0;
	gconstpointer bytes = bytes_of(entry->bytes);

	if (entry->kind == BOOTS)
		rs_trace_feed_tell_boots(feed, bytes, entry->value);
	else if (entry->kind == PROVIDER)
		rs_trace_feed_tell_provider(feed, entry->number, &entry->entry, bytes, size);
	else if (entry->kind == CLOCK)
		rs_trace_feed_tell_clock(feed, bytes, (guint)(size / sizeof(struct rs_clock_epoch)),
					 entry->number);
	else if (entry->kind == NAMES)
		rs_trace_feed_tell_names(feed, bytes, bytes_of(entry->again), size, entry->value);
}

static void replay_nothing(RsTraceSource *source, RsTraceFeed *feed)
{
}

static void replay_changes(RsTraceSource *source, RsTraceFeed *feed)
{
	Replay *replay = (Replay *)source;

	for (; replay->told < replay->handed; replay->told++)
		if (entry_at(replay, replay->told)->kind != NAMES)
			tell(entry_at(replay, replay->told), feed);
}

/* The names that were told after a page belong to it too. */
static void replay_names(RsTraceSource *source, RsTraceFeed *feed)
{
	Replay *replay = (Replay *)source;
	const Entry *entry;

	while ((entry = entry_at(replay, replay->named)) &&
	       (replay->named <= replay->handed || entry->kind != CHUNK)) {
		if (entry->kind == NAMES)
			tell(entry, feed);
		replay->named++;
	}
}

static RsTraceRingStatus replay_next(RsTraceSource *source, guint ring, guint64 now_ns,
				     RsTraceChunk *out)
{
	Replay *replay = (Replay *)source;
	const Entry *entry;

	while ((entry = entry_at(replay, replay->at[ring]++))) {
		if (entry->kind != CHUNK || entry->number != ring)
			continue;
		*out = entry->chunk;
		out->page = bytes_of(entry->bytes);
		replay->handed = MAX(replay->handed, replay->at[ring]);
		return RS_TRACE_RING_DATA;
	}
	replay->at[ring]--;
	return RS_TRACE_RING_END;
}

static void replay_flush(RsTraceSource *source)
{
}

static guint64 replay_loss(RsTraceSource *source, guint ring)
{
	const Entry *entry;
	guint64 n = 0;

	for (guint i = 0; (entry = entry_at((Replay *)source, i)); i++)
		if (entry->kind == LOST && entry->number == ring)
			n += entry->value;
	return n;
}

static gboolean replay_arm(RsTraceSource *source)
{
	return FALSE;
}

static void replay_free(RsTraceSource *source)
{
	g_free(source);
}

RsTraceSource *test_replay_new(const TestRecorded *recorded)
{
	static const RsTraceSourceOps ops = {
		.begin_round = replay_nothing,
		.changes = replay_changes,
		.names = replay_names,
		.next = replay_next,
		.flush = replay_flush,
		.pending_loss = replay_loss,
		.arm = replay_arm,
		.free = replay_free,
	};
	Replay *replay = g_malloc0(sizeof(*replay) + recorded->n_rings * sizeof(*replay->at));

	replay->source =
		(RsTraceSource){.ops = &ops, .n_rings = recorded->n_rings, .ring_pages = 4};
	replay->recorded = recorded;
	return &replay->source;
}
