/* SPDX-License-Identifier: MIT */
/*
 * A recorder and a follower read the same regions at the same time, each by a pump. Records and
 * losses in the file are those that the follower passed on, whatever its windows.
 */
#include "guest.h"

#include <rs-trace-follower.h>
#include <rs-trace-live.h>
#include <rs-trace-page.h>
#include <rs-trace-pump.h>
#include <rs-trace-reader.h>
#include <rs-trace-recorder.h>
#include <stdio.h>
#include <string.h>

/* ---- how often this thread looks into pages: the linker puts these before the real ones ---- */

static _Thread_local guint walks;

RsTracePageItem __real_rs_trace_page_next(RsTracePageWalk *walk, const guint8 *page, guint to);
RsTracePageItem __wrap_rs_trace_page_next(RsTracePageWalk *walk, const guint8 *page, guint to);
guint __real_rs_trace_page_count(const guint8 *page, guint from, guint to, gboolean *bad);
guint __wrap_rs_trace_page_count(const guint8 *page, guint from, guint to, gboolean *bad);

RsTracePageItem __wrap_rs_trace_page_next(RsTracePageWalk *walk, const guint8 *page, guint to)
{
	walks++;
	return __real_rs_trace_page_next(walk, page, to);
}

guint __wrap_rs_trace_page_count(const guint8 *page, guint from, guint to, gboolean *bad)
{
	walks++;
	return __real_rs_trace_page_count(page, from, to, bad);
}

/* ---- both observers ---- */

typedef struct {
	Guest guests[3];
	RsTracePump *follows, *records;
	RsTraceSink *follower;
	RsTraceSink *recorder;
	RsTraceSinkOps recorder_ops;
	GOutputStream *file;
	GString *out;
	guint ended;
	/* The pumps stop at the end of a round while the gate is locked. */
	GMutex gate;
	gint parked;
	gint follow_rounds, record_rounds;
	guint follow_walks, record_walks; /* so far, by each thread; read while parked */
} Bed;

static void show(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	GString *out = data;
	guint64 number;

	g_string_append_printf(out, "%s ", record->origin->name);
	if (record->kind == RS_TRACE_RECORD_LOSS)
		g_string_append_printf(out, "%u lost %u", record->ring, (guint)record->lost);
	else if (record->kind == RS_TRACE_RECORD_BOOT)
		g_string_append_printf(out, "boot %u", record->when.boot);
	if (record->kind == RS_TRACE_RECORD_EVENT) {
		memcpy(&number, record->payload, sizeof(number));
		g_string_append_printf(out, "%u %s %s %u", record->ring, task->comm,
				       record->event ? record->event->name : "?", (guint)number);
	}
	g_string_append_printf(out, " at %u\n", (guint)record->ns);
}

static void on_show(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	show(record, task, ((Bed *)data)->out);
}

static void park(Bed *bed, gint *rounds)
{
	g_atomic_int_inc(rounds);
	g_atomic_int_inc(&bed->parked);
	g_mutex_lock(&bed->gate);
	g_mutex_unlock(&bed->gate);
	g_atomic_int_add(&bed->parked, -1);
}

static gboolean followed(gpointer data)
{
	Bed *bed = data;

	bed->follow_walks = walks;
	park(bed, &bed->follow_rounds);
	return TRUE;
}

static Bed *the_bed;

static gboolean end_record_round(RsTraceSink *sink, guint64 now_ns)
{
	gboolean wanted = the_bed->recorder_ops.end_round(sink, now_ns);

	the_bed->record_walks = walks;
	park(the_bed, &the_bed->record_rounds);
	return wanted;
}

static void describe(gpointer source, struct rs_file_source *out, gpointer data)
{
	const Guest *guest = source;

	g_strlcpy(out->name, guest->name, sizeof(out->name));
	out->ring_page_size = PAGE;
}

static void open_recorder(Bed *bed, const RsTraceRecorderConfig *file)
{
	static RsTraceSinkOps ops;
	RsTraceRecorderConfig config = *file;

	config.stream = bed->file = g_memory_output_stream_new_resizable();
	config.describe = describe;
	bed->recorder = rs_trace_recorder_new(&config, NULL);
	bed->recorder_ops = ops = *bed->recorder->ops;
	ops.end_round = end_record_round;
	bed->recorder->ops = &ops;
	the_bed = bed;
}

static void on_ended(gpointer source, gpointer data)
{
	((Bed *)data)->ended++;
}

static void wake(Bed *bed)
{
	rs_trace_pump_wake(bed->follows);
	rs_trace_pump_wake(bed->records);
	g_usleep(200);
}

/* Until both have read all that is there: a round may be under way, but the next one sees it. */
static void catch_up(Bed *bed)
{
	gint follow = g_atomic_int_get(&bed->follow_rounds) + 2;
	gint record = g_atomic_int_get(&bed->record_rounds) + 2;

	while (g_atomic_int_get(&bed->follow_rounds) < follow ||
	       g_atomic_int_get(&bed->record_rounds) < record)
		wake(bed);
}

/* Stops both, after they have read all. */
static void hold(Bed *bed)
{
	catch_up(bed);
	g_mutex_lock(&bed->gate);
	while (g_atomic_int_get(&bed->parked) < 2)
		wake(bed);
}

static void let_go(Bed *bed)
{
	g_mutex_unlock(&bed->gate);
	catch_up(bed);
}

static void join(Bed *bed, Guest *g, RsTraceFrom from)
{
	RsTraceSource *live = rs_trace_live_new(g->region, from, 0, NULL);
	RsTraceSource *whole = rs_trace_live_new(g->region, from, RS_TRACE_LIVE_WHOLE, NULL);

	if (from == RS_TRACE_FROM_NOW)
		g->before = g->emitted;

	g->first = rs_trace_pump_add(bed->follows, live, g);
	g->second = rs_trace_pump_add(bed->records, whole, g);
}

static void set_up(Bed *bed, gconstpointer file)
{
	RsTraceFollowerConfig follower = {
		.record = on_show, .round = followed, .describe = describe, .data = bed};
	RsTracePumpConfig config = {.ended = on_ended, .data = bed};

	ticks = 0;
	g_mutex_init(&bed->gate);
	bed->out = g_string_new(NULL);
	bed->follower = config.sink = rs_trace_follower_new(&follower);
	bed->follows = rs_trace_pump_new(&config);
	open_recorder(bed, file);
	config.sink = bed->recorder;
	bed->records = rs_trace_pump_new(&config);
	open_guest(&bed->guests[0], "a");
	open_guest(&bed->guests[1], "b");
	open_guest(&bed->guests[2], "c");
}

static void tear_down(Bed *bed, gconstpointer unused)
{
	rs_trace_pump_free(bed->follows);
	rs_trace_pump_free(bed->records);
	g_object_unref(bed->file);
	for (guint i = 0; i < G_N_ELEMENTS(bed->guests); i++)
		rs_trace_region_free(bed->guests[i].region);
	g_string_free(bed->out, TRUE);
	g_mutex_clear(&bed->gate);
}

/* Reads what was recorded. Returns how much of it was bad. */
static guint64 replay(Bed *bed, GString *out)
{
	GMemoryOutputStream *file = G_MEMORY_OUTPUT_STREAM(bed->file);
	g_autoptr(GInputStream) stream = g_memory_input_stream_new_from_data(
		g_memory_output_stream_get_data(file),
		(gssize)g_memory_output_stream_get_data_size(file), NULL);
	g_autoptr(RsTraceReader) reader =
		rs_trace_reader_new(rs_trace_file_new(stream, NULL, NULL));
	const RsTraceDecoderStats *stats;
	GError *error = NULL;
	const RsTraceRecord *record;
	const RsTraceTask *task;

	while ((record = rs_trace_reader_next(reader, NULL, &error))) {
		task = rs_trace_reader_task(reader);
		show(record, task, out);
	}
	g_assert_no_error(error);
	g_assert_false(rs_trace_reader_is_cut(reader));
	stats = rs_trace_reader_stats(reader);
	return stats->bad_pages + stats->unknown;
}

/* Records that were shown and lost, of one guest. */
static guint64 sum_of(const Guest *guest, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	guint64 sum = 0;

	for (guint i = 0; *lines[i]; i++) {
		guint lost = 0;

		if (*lines[i] != *guest->name || strstr(lines[i], " boot "))
			continue;
		sum += sscanf(lines[i], "%*s %*u lost %u", &lost) == 1 ? lost : 1;
	}
	return sum;
}

static void check(Bed *bed, guint64 bad)
{
	g_autoptr(GString) again = g_string_new(NULL);
	g_auto(GStrv) lines = NULL, others = NULL;

	g_assert_cmpuint(rs_trace_follower_bad(bed->follower), ==, bad);
	g_assert_cmpuint(replay(bed, again), ==, bad);
	lines = g_strsplit(bed->out->str, "\n", -1);
	others = g_strsplit(again->str, "\n", -1);
	for (guint i = 0; lines[i] && others[i]; i++)
		g_assert_cmpstr(lines[i], ==, others[i]);
	g_assert_cmpuint(g_strv_length(lines), ==, g_strv_length(others));
	for (guint i = 0; i < G_N_ELEMENTS(bed->guests); i++) {
		const Guest *guest = &bed->guests[i];

		g_assert_cmpuint(sum_of(guest, again->str), ==,
				 guest->emitted - guest->before + guest->dropped);
	}
}

static void finish(Bed *bed)
{
	RsTraceRecorderStats stats;

	rs_trace_pump_finish(bed->follows);
	rs_trace_pump_finish(bed->records);
	g_assert_true(rs_trace_recorder_result(bed->recorder, &stats, NULL));
	g_test_message("%u windows, %u pages, %u bytes", (guint)stats.windows, (guint)stats.pages,
		       (guint)stats.bytes);
}

/* More than the ring holds, from the start of a page on: both observers lose the same. */
static void flood(Bed *bed, Guest *g)
{
	hold(bed);
	emit(g, 0, 10 * FIT + 5);
	let_go(bed);
}

/* The agent attaches again, with another event, another name and another epoch. */
static void boot_again(Guest *g)
{
	struct rs_provider *old = element(g, RS_SEC_PROVIDERS, 0);

	old->sequence += 2;
	old->state = RS_PROVIDER_DEAD;
	old->until = tick();
	begin_epoch(g, 1, EPOCH_NS);
	begin_boot(g, 2, "second");
	set_name(g, 2, "again");
}

/* A record without an end hides the rest of its page. */
static void spoil(Bed *bed, Guest *g)
{
	uint8_t *bad;

	hold(bed);
	emit(g, 1, 10);
	bad = next_place(g, 1);
	emit(g, 1, FIT);
	((struct rs_rec_header *)bad)->size = 0;
	let_go(bed);
}

/* The source writes no more. It refused nine records at last. */
static void end_source(Bed *bed, Guest *g)
{
	struct rs_ring_state *state = element(g, RS_SEC_RING_STATE, 1);

	emit(g, 1, 3);
	state->dropped = g->dropped = 9;
	rs_trace_pump_end(bed->follows, g->first);
	rs_trace_pump_end(bed->records, g->second);
	while (bed->ended < 2)
		g_main_context_iteration(NULL, TRUE);
}

static void test_same(Bed *bed, gconstpointer unused)
{
	Guest *a = &bed->guests[0], *b = &bed->guests[1], *c = &bed->guests[2];

	emit(a, 0, 1);
	emit(b, 1, 7 * FIT); /* a part is overwritten before anybody reads */
	join(bed, a, RS_TRACE_FROM_START);
	join(bed, b, RS_TRACE_FROM_START);
	rs_trace_pump_start(bed->follows);
	rs_trace_pump_start(bed->records);
	for (guint i = 0; i < 20; i++) {
		emit(a, i % RINGS, i * 5);
		emit(b, i % RINGS, 3);
		catch_up(bed);
	}
	set_name(a, 1, "later");
	emit(a, 0, 5);
	emit(c, 0, 10);
	join(bed, c, RS_TRACE_FROM_NOW);
	emit(c, 0, FIT - 10);
	for (guint i = 0; i < 10; i++) {
		emit(c, i % RINGS, 2 * FIT);
		catch_up(bed);
	}
	flood(bed, c);
	spoil(bed, b);
	boot_again(a);
	emit(a, 1, 30);
	catch_up(bed);
	end_source(bed, b);
	emit(a, 0, 100);
	emit(c, 1, 1);
	finish(bed);
	check(bed, 1);
	/* Times of the second boot are those of the second epoch. */
	g_assert_true(g_regex_match_simple("a boot 2 at \\d+010\n", bed->out->str, 0, 0));
	g_assert_false(
		g_regex_match_simple("a \\d again second \\d+ at \\d+000\n", bed->out->str, 0, 0));
	g_assert_nonnull(strstr(bed->out->str, "a 0 later first "));
	g_assert_nonnull(strstr(bed->out->str, "a 0 again second "));
	g_assert_nonnull(strstr(bed->out->str, "b 1 lost 9 at"));
	g_assert_nonnull(strstr(bed->out->str, "c 0 lost "));
}

/* Nobody looks at the records of pages that are only taken. */
static void test_unparsed(Bed *bed, gconstpointer unused)
{
	Guest *a = &bed->guests[0];
	RsTraceRecorderStats stats;

	join(bed, a, RS_TRACE_FROM_START);
	rs_trace_pump_start(bed->follows);
	rs_trace_pump_start(bed->records);
	for (guint i = 0; i < 10; i++) {
		emit(a, 0, FIT);
		spoil(bed, a);
	}
	hold(bed);
	rs_trace_recorder_result(bed->recorder, &stats, NULL);
	g_assert_cmpuint(stats.pages, >=, 20);
	g_assert_cmpuint(bed->record_walks, ==, 0);
	g_assert_cmpuint(bed->follow_walks, >, 10 * FIT);
	let_go(bed);
	finish(bed);
	check(bed, 10);
}

int main(int argc, char **argv)
{
	/* Once the default, once windows that end in each round, and small blocks of zstd. */
	static const RsTraceRecorderConfig plain = {0};
	static const RsTraceRecorderConfig windows = {.window_ms = 1};
	static const RsTraceRecorderConfig packed = {.file.compression = 1, .window_ms = 20};

	g_test_init(&argc, &argv, NULL);
	g_test_add("/observe/sink/same", Bed, &plain, set_up, test_same, tear_down);
	g_test_add("/observe/sink/same/windows", Bed, &windows, set_up, test_same, tear_down);
	g_test_add("/observe/sink/same/packed", Bed, &packed, set_up, test_same, tear_down);
	g_test_add("/observe/sink/unparsed", Bed, &plain, set_up, test_unparsed, tear_down);
	return g_test_run();
}
