/* SPDX-License-Identifier: MIT */
/* What a recording is told of its source: the names of addresses, while images come and move. */
#define _GNU_SOURCE
#include "guest.h"

#include "../symbols/image.h"

#include <rs-trace-feed.h>
#include <rs-trace-live.h>
#include <rs-trace-reader.h>
#include <rs-trace-recorder.h>
#include <sys/mman.h>
#include <unistd.h>

#define KERNEL 0x10000u
#define MODULE 0x10800u
#define HEADS 16u

typedef struct {
	Guest guest;
	GPtrArray *files; /* GMemoryOutputStream */
	RsTraceSink *recorder;
	RsTraceFeed *feed;
} Bed;

static GOutputStream *next_file(guint64 number, gpointer data, GError **error)
{
	Bed *bed = data;

	g_ptr_array_add(bed->files, g_memory_output_stream_new_resizable());
	return g_object_ref(bed->files->pdata[bed->files->len - 1]);
}

/* An image that can lie anywhere, with a build id of these bytes. */
static void add_symbols(RsTraceSource *pages, guint8 id)
{
	g_autoptr(RsTraceSymbolFile) file = NULL;
	int fd = memfd_create("symbols", MFD_CLOEXEC);
	struct image image;

	make(&image);
	image.head.e_type = ET_DYN;
	memset(image.note.id, id, sizeof(image.note.id));
	g_assert_cmpint(write(fd, &image, sizeof(image)), ==, sizeof(image));
	file = rs_trace_symbol_file_read(fd, "image", NULL);
	close(fd);
	rs_trace_live_add_symbols(pages, file);
}

static void set_up(Bed *bed, gconstpointer unused)
{
	RsTraceRecorderConfig config = {
		.window_ms = 1, .next = next_file, .rotate_ms = 1, .data = bed};
	g_autoptr(GOutputStream) stream = NULL;
	RsTraceSource *pages;

	ticks = 0;
	open_guest(&bed->guest, "a");
	bed->files = g_ptr_array_new_with_free_func(g_object_unref);
	config.stream = stream = next_file(1, bed, NULL);
	bed->recorder = rs_trace_recorder_new(&config, NULL);
	pages = rs_trace_live_new(bed->guest.region, RS_TRACE_FROM_START, RS_TRACE_LIVE_WHOLE,
				  NULL);
	add_symbols(pages, 1);
	add_symbols(pages, 2);
	bed->feed = rs_trace_feed_new(pages, bed->recorder, 0, NULL);
}

static void tear_down(Bed *bed, gconstpointer unused)
{
	rs_trace_feed_free(bed->feed);
	bed->recorder->ops->free(bed->recorder);
	g_ptr_array_unref(bed->files);
	rs_trace_region_free(bed->guest.region);
}

/* Slot `slot` has a provider of the image with that id, at that place. */
static void put(Bed *bed, guint slot, guint boot, guint8 id, guint64 start)
{
	struct rs_provider *entry = element(&bed->guest, RS_SEC_PROVIDERS, slot);

	entry->sequence += 2;
	entry->image_start = start;
	entry->first_boot = entry->last_boot = boot;
	entry->generation = 1;
	entry->since = 5;
	entry->build_id_size = 20;
	memset(entry->build_id, id, 20);
	rs_shared_add32(&info_of(&bed->guest)->provider_changes, 1);
}

/* A window is written. */
static void go_on(Bed *bed)
{
	for (guint i = 0; i < 3; i++) {
		const guint64 now = (guint64)g_get_monotonic_time() * 1000;

		emit(&bed->guest, 0, 1);
		bed->recorder->ops->begin_round(bed->recorder);
		rs_trace_feed_read(bed->feed, now);
		bed->recorder->ops->end_round(bed->recorder, now);
		g_usleep(1100);
	}
}

static void end(Bed *bed)
{
	RsTraceRecorderStats stats = {0};

	go_on(bed);
	rs_trace_feed_finish(bed->feed);
	bed->recorder->ops->end(bed->recorder);
	g_assert_true(rs_trace_recorder_result(bed->recorder, &stats, NULL));
}

/* All that a file says of symbols. Returns how often. */
static guint read_heads(const Bed *bed, guint i, struct rs_file_symbols heads[HEADS])
{
	GMemoryOutputStream *stream = bed->files->pdata[i];
	g_autoptr(GInputStream) in = g_memory_input_stream_new_from_data(
		g_memory_output_stream_get_data(stream),
		(gssize)g_memory_output_stream_get_data_size(stream), NULL);
	g_autoptr(RsTraceFile) file = rs_trace_file_new(in, NULL, NULL);
	RsTraceFileBlock block;
	guint n = 0;

	while (rs_trace_file_next(file, TRUE, &block, NULL) == RS_TRACE_FILE_BLOCK)
		if (block.kind == RS_FILE_SYMBOLS && n < HEADS)
			rs_trace_file_take(&block, 0, &heads[n++], sizeof(*heads));
	return n;
}

/* Each image once, however often the providers of both change in turns. */
static void test_an_image_is_told_once(Bed *bed, gconstpointer unused)
{
	struct rs_file_symbols heads[HEADS];

	begin_boot(&bed->guest, 2, "other");
	put(bed, 0, 2, 1, KERNEL);
	put(bed, 1, 2, 2, MODULE);
	for (guint i = 0; i < 20; i++) {
		go_on(bed);
		put(bed, i & 1, 2, (guint8)(1 + (i & 1)), i & 1 ? MODULE : KERNEL);
	}
	end(bed);
	g_assert_cmpuint(bed->files->len, >=, 3);
	for (guint i = 0; i < bed->files->len; i++) {
		g_assert_cmpuint(read_heads(bed, i, heads), ==, 2);
		g_assert_cmphex(heads[0].from, ==, KERNEL);
		g_assert_cmpuint(heads[0].boot, ==, 2);
		g_assert_cmpuint(heads[0].ts, ==, 0);
		/* It lies where the kernel is, and says since when. */
		g_assert_cmphex(heads[1].from, ==, MODULE);
		g_assert_cmpuint(heads[1].boot, ==, 2);
		g_assert_cmpuint(heads[1].ts, ==, 5);
	}
}

/* In each boot it is told again where it lies. Files that begin later do not have the old place. */
static void test_an_image_moves(Bed *bed, gconstpointer unused)
{
	struct rs_file_symbols heads[HEADS];

	put(bed, 0, 1, 1, KERNEL);
	go_on(bed);
	put(bed, 0, 1, 1, KERNEL);
	begin_epoch(&bed->guest, 1, EPOCH_NS);
	begin_boot(&bed->guest, 2, "second");
	put(bed, 1, 2, 1, 8 * KERNEL);
	for (guint i = 0; i < 10; i++)
		go_on(bed);
	end(bed);
	g_assert_cmpuint(read_heads(bed, 0, heads), >=, 1);
	g_assert_cmphex(heads[0].from, ==, KERNEL);
	g_assert_cmpuint(heads[0].boot, ==, 1);
	g_assert_cmpuint(bed->files->len, >=, 6);
	g_assert_cmpuint(read_heads(bed, bed->files->len - 1, heads), ==, 1);
	g_assert_cmphex(heads[0].from, ==, 8 * KERNEL);
	g_assert_cmpuint(heads[0].boot, ==, 2);
}

/* The agent says what it is only after the source has joined. */
static void test_the_agent_is_known(Bed *bed, gconstpointer unused)
{
	info_of(&bed->guest)->owner_pid = 77;
	go_on(bed);
	go_on(bed);
	end(bed);
	for (guint i = 0; i < bed->files->len; i++) {
		GMemoryOutputStream *stream = bed->files->pdata[i];
		g_autoptr(GInputStream) in = g_memory_input_stream_new_from_data(
			g_memory_output_stream_get_data(stream),
			(gssize)g_memory_output_stream_get_data_size(stream), NULL);
		g_autoptr(RsTraceReader) reader =
			rs_trace_reader_new(rs_trace_file_new(in, NULL, NULL));
		const RsTraceRecord *record;

		while ((record = rs_trace_reader_next(reader, NULL, NULL))) {
			g_assert_cmpuint(record->origin->info->arch, ==, RS_ARCH_X86_64);
			g_assert_cmpuint(record->origin->info->pid, ==, 77);
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, function)                                                                        \
	g_test_add("/observe/told/" name, Bed, NULL, set_up, function, tear_down)
	ADD("once", test_an_image_is_told_once);
	ADD("moves", test_an_image_moves);
	ADD("agent", test_the_agent_is_known);
	return g_test_run();
}
