/* SPDX-License-Identifier: MIT */
/* A tee of a recorder and a follower: what is shown is what is in the file. */
#include "rs-trace-tee.h"
#include "guest.h"

#include <rs-trace-feed.h>
#include <rs-trace-follower.h>
#include <rs-trace-live.h>
#include <rs-trace-reader.h>
#include <rs-trace-recorder.h>
#include <string.h>

typedef struct {
	Guest guests[2];
	RsTraceFeed *feeds[2];
	GOutputStream *file;
	RsTraceSink *recorder, *follower, *tee;
	GString *shown;
	guint n_shown, limit;
} Bed;

static void show(const RsTraceRecord *record, const RsTraceTask *task, GString *out)
{
	guint64 number = record->lost;

	if (record->kind == RS_TRACE_RECORD_EVENT)
		memcpy(&number, record->payload, sizeof(number));
	g_string_append_printf(out, "%s/%u %d %s %s %u at %u\n", record->origin->name, record->ring,
			       (int)record->kind, task->comm,
			       record->event ? record->event->name : "-", (guint)number,
			       (guint)record->ns);
}

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	Bed *bed = data;

	bed->n_shown++;
	show(record, task, bed->shown);
}

static gboolean on_round(gpointer data)
{
	const Bed *bed = data;

	return !bed->limit || bed->n_shown < bed->limit;
}

static void describe(gpointer source, struct rs_file_source *out, gpointer data)
{
	const Guest *guest = source;

	g_strlcpy(out->name, guest->name, sizeof(out->name));
	out->ring_page_size = PAGE;
}

/* Both guests join a tee. */
static void open_tee(Bed *bed, guint64 max_bytes, guint window_ms)
{
	RsTraceFollowerConfig follower = {
		.record = on_record, .round = on_round, .describe = describe, .data = bed};
	RsTraceRecorderConfig config = {.stream = bed->file,
					.describe = describe,
					.window_ms = window_ms,
					.max_bytes = max_bytes};

	bed->follower = rs_trace_follower_new(&follower);
	bed->recorder = rs_trace_recorder_new(&config, NULL);
	bed->tee = rs_trace_tee_new(bed->recorder, bed->follower);
	for (guint i = 0; i < G_N_ELEMENTS(bed->guests); i++)
		bed->feeds[i] = rs_trace_feed_new(
			rs_trace_live_new(bed->guests[i].region, RS_TRACE_FROM_START, 0, NULL),
			bed->tee, (guint16)i, &bed->guests[i]);
}

static void set_up(Bed *bed, gconstpointer unused)
{
	ticks = 0;
	open_guest(&bed->guests[0], "a");
	open_guest(&bed->guests[1], "b");
	bed->file = g_memory_output_stream_new_resizable();
	bed->shown = g_string_new(NULL);
}

static void tear_down(Bed *bed, gconstpointer unused)
{
	for (guint i = 0; i < G_N_ELEMENTS(bed->guests); i++) {
		rs_trace_feed_free(bed->feeds[i]);
		rs_trace_region_free(bed->guests[i].region);
	}
	bed->tee->ops->free(bed->tee);
	g_object_unref(bed->file);
	g_string_free(bed->shown, TRUE);
}

static gboolean make_round(Bed *bed)
{
	const guint64 now = (guint64)g_get_monotonic_time() * 1000;

	bed->tee->ops->begin_round(bed->tee);
	for (guint i = 0; i < G_N_ELEMENTS(bed->feeds); i++)
		rs_trace_feed_read(bed->feeds[i], now);
	return bed->tee->ops->end_round(bed->tee, now);
}

static void finish(Bed *bed)
{
	make_round(bed);
	for (guint i = 0; i < G_N_ELEMENTS(bed->feeds); i++)
		rs_trace_feed_finish(bed->feeds[i]);
	bed->tee->ops->end(bed->tee);
}

/* The file has all that was shown, in the same order and with the same names. */
static void check_file(Bed *bed)
{
	GMemoryOutputStream *file = G_MEMORY_OUTPUT_STREAM(bed->file);
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(GInputStream) in = g_memory_input_stream_new_from_data(
		g_memory_output_stream_get_data(file),
		(gssize)g_memory_output_stream_get_data_size(file), NULL);
	g_autoptr(RsTraceReader) reader = rs_trace_reader_new(rs_trace_file_new(in, NULL, NULL));
	GError *error = NULL;
	const RsTraceRecord *record;

	g_assert_true(rs_trace_recorder_result(bed->recorder, &(RsTraceRecorderStats){0}, NULL));
	while ((record = rs_trace_reader_next(reader, NULL, &error)))
		show(record, rs_trace_reader_task(reader), out);
	g_assert_no_error(error);
	g_assert_false(rs_trace_reader_is_cut(reader));
	g_assert_cmpstr(out->str, ==, bed->shown->str);
}

static void check_order(const Bed *bed)
{
	g_auto(GStrv) lines = g_strsplit(bed->shown->str, "\n", -1);
	guint64 last = 0;

	for (guint i = 0; *lines[i]; i++) {
		const guint64 ns = g_ascii_strtoull(strrchr(lines[i], ' '), NULL, 10);

		g_assert_cmpuint(ns, >=, last);
		last = ns;
	}
}

/* Names, another boot, an epoch, losses, and a source that leaves. */
static void test_same(Bed *bed, gconstpointer unused)
{
	Guest *a = &bed->guests[0], *b = &bed->guests[1];

	open_tee(bed, 0, 2);
	for (guint i = 0; i < 40; i++) {
		emit(a, i % RINGS, i % 7 + 1);
		emit(b, (i + 1) % RINGS, i == 20 ? 7 * FIT : 3);
		if (i == 10)
			set_name(a, 1, "later");
		if (i == 30)
			begin_epoch(b, 1, EPOCH_NS);
		g_usleep(500);
		g_assert_true(make_round(bed));
	}
	finish(bed);
	check_order(bed);
	check_file(bed);
	g_assert_nonnull(strstr(bed->shown->str, "a/0 0 a first "));
	g_assert_nonnull(strstr(bed->shown->str, "a/1 0 later first "));
	g_assert_nonnull(strstr(bed->shown->str, " 1  - "));
	g_assert_cmpuint(rs_trace_follower_bad(bed->follower), ==, 0);
	g_assert_cmpuint(bed->n_shown, >=, a->emitted);
}

/* What is shown at once is kept page by page, and what has waited for that when a window ends. */
static void test_gathers(Bed *bed, gconstpointer unused)
{
	RsTraceRecorderStats stats;

	open_tee(bed, 0, 60000);
	for (guint i = 0; i < 2 * FIT + 2; i++) {
		emit(&bed->guests[0], 0, 1);
		make_round(bed);
	}
	make_round(bed);
	make_round(bed);
	g_assert_cmpuint(bed->n_shown, >=, 2 * FIT + 2);
	rs_trace_recorder_result(bed->recorder, &stats, NULL);
	g_assert_cmpuint(stats.pages, ==, 2);
	finish(bed);
	rs_trace_recorder_result(bed->recorder, &stats, NULL);
	g_assert_cmpuint(stats.pages, ==, 3);
	check_file(bed);
}

/* A window that ends asks for the part of a page that is there. */
static void test_window(Bed *bed, gconstpointer unused)
{
	RsTraceRecorderStats stats = {0};

	open_tee(bed, 0, 50);
	emit(&bed->guests[0], 0, 2);
	make_round(bed);
	rs_trace_recorder_result(bed->recorder, &stats, NULL);
	g_assert_cmpuint(stats.pages, ==, 0);
	while (!stats.windows) {
		g_usleep(1000);
		make_round(bed);
		rs_trace_recorder_result(bed->recorder, &stats, NULL);
	}
	g_assert_cmpuint(stats.pages, ==, 1);
	emit(&bed->guests[0], 0, 2);
	finish(bed);
	check_file(bed);
}

/* The follower has enough: the file is complete all the same. */
static void test_follower_ends(Bed *bed, gconstpointer unused)
{
	guint rounds = 0;

	open_tee(bed, 0, 2);
	bed->limit = 50;
	do {
		emit(&bed->guests[0], 0, 5);
	} while (make_round(bed) && rounds++ < 100);
	g_assert_cmpuint(rounds, <, 100);
	g_assert_cmpuint(bed->n_shown, >=, 50);
	g_assert_true(rs_trace_recorder_result(bed->recorder, &(RsTraceRecorderStats){0}, NULL));
	/* What was read and not shown yet is in the file, too. */
	bed->limit = 0;
	bed->follower->ops->end(bed->follower);
	check_file(bed);
}

/* The file is full: the follower shows what it still holds, and hears of no more. */
static void test_recorder_ends(Bed *bed, gconstpointer unused)
{
	RsTraceRecorderStats stats;
	guint rounds = 0;

	open_tee(bed, 64 << 10, 2);
	do {
		emit(&bed->guests[1], 1, FIT);
	} while (make_round(bed) && rounds++ < 1000);
	g_assert_cmpuint(rounds, <, 1000);
	g_assert_true(rs_trace_recorder_result(bed->recorder, &stats, NULL));
	g_assert_true(stats.full);
	g_assert_cmpuint(bed->n_shown, >=, stats.events);
	g_assert_false(rs_trace_feed_held(bed->feeds[1]));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/observe/tee/same", Bed, NULL, set_up, test_same, tear_down);
	g_test_add("/observe/tee/gathers", Bed, NULL, set_up, test_gathers, tear_down);
	g_test_add("/observe/tee/window", Bed, NULL, set_up, test_window, tear_down);
	g_test_add("/observe/tee/follower-ends", Bed, NULL, set_up, test_follower_ends, tear_down);
	g_test_add("/observe/tee/recorder-ends", Bed, NULL, set_up, test_recorder_ends, tear_down);
	return g_test_run();
}
