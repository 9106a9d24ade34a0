/* SPDX-License-Identifier: MIT */
/* What a recorder writes and counts, round by round, from rings that a test fills. */
#include "rs-trace-recorder.h"
#include "guest.h"

#include <fcntl.h>
#include <gio/gunixoutputstream.h>
#include <glib/gstdio.h>
#include <rs-trace-error.h>
#include <rs-trace-feed.h>
#include <rs-trace-live.h>
#include <rs-trace-reader.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MANY 64u /* pages of a window that nothing bounds */

typedef struct {
	Guest guest;
	GPtrArray *files; /* GMemoryOutputStream */
	RsTraceSink *recorder;
	RsTraceFeed *feed;
	guint64 refused; /* the number of the file that cannot be opened; 0: none */
} Bed;

static GOutputStream *next_file(guint64 number, gpointer data, GError **error)
{
	Bed *bed = data;

	g_assert_cmpuint(number, ==, bed->files->len + 1);
	if (number == bed->refused) {
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_FAILED, "no more files");
		return NULL;
	}
	g_ptr_array_add(bed->files, g_memory_output_stream_new_resizable());
	return g_object_ref(bed->files->pdata[number - 1]);
}

static void open_recorder(Bed *bed, RsTraceRecorderConfig config)
{
	g_autoptr(GOutputStream) stream = next_file(1, bed, NULL);
	RsTraceSource *pages;

	config.stream = stream;
	config.data = bed;
	bed->recorder = rs_trace_recorder_new(&config, NULL);
	g_assert_nonnull(bed->recorder);
	pages = rs_trace_live_new(bed->guest.region, RS_TRACE_FROM_START, RS_TRACE_LIVE_WHOLE,
				  NULL);
	bed->feed = rs_trace_feed_new(pages, bed->recorder, 0, NULL);
}

static void set_up(Bed *bed, gconstpointer unused)
{
	ticks = 0;
	open_guest(&bed->guest, "a");
	bed->files = g_ptr_array_new_with_free_func(g_object_unref);
}

static void tear_down(Bed *bed, gconstpointer unused)
{
	g_clear_pointer(&bed->feed, rs_trace_feed_free);
	bed->recorder->ops->free(bed->recorder);
	g_ptr_array_unref(bed->files);
	rs_trace_region_free(bed->guest.region);
}

/* FALSE: the recorder wants no more. */
static gboolean make_round(Bed *bed)
{
	const guint64 now = (guint64)g_get_monotonic_time() * 1000;

	bed->recorder->ops->begin_round(bed->recorder);
	rs_trace_feed_read(bed->feed, now);
	return bed->recorder->ops->end_round(bed->recorder, now);
}

static void end(Bed *bed, RsTraceRecorderStats *stats)
{
	for (guint ring = 0; ring < RINGS; ring++)
		rs_trace_feed_set_whole(bed->feed, ring, FALSE);
	make_round(bed);
	rs_trace_feed_finish(bed->feed);
	bed->recorder->ops->end(bed->recorder);
	g_assert_true(rs_trace_recorder_result(bed->recorder, stats, NULL));
}

typedef struct {
	guint64 events, unnamed, lost, first, last, largest;
} Read;

static RsTraceFile *open_file(const Bed *bed, guint i)
{
	GMemoryOutputStream *stream = bed->files->pdata[i];
	g_autoptr(GInputStream) in = g_memory_input_stream_new_from_data(
		g_memory_output_stream_get_data(stream),
		(gssize)g_memory_output_stream_get_data_size(stream), NULL);

	return rs_trace_file_new(in, NULL, NULL);
}

/* Reads one of the files alone. */
static void read_file(const Bed *bed, guint i, Read *out)
{
	g_autoptr(RsTraceReader) reader = rs_trace_reader_new(open_file(bed, i));
	GError *error = NULL;
	const RsTraceRecord *record;
	const RsTraceTask *task;
	guint64 number;

	while ((record = rs_trace_reader_next(reader, NULL, &error))) {
		out->lost += record->kind == RS_TRACE_RECORD_LOSS ? record->lost : 0;
		if (record->kind != RS_TRACE_RECORD_EVENT)
			continue;
		memcpy(&number, record->payload, sizeof(number));
		task = rs_trace_reader_task(reader);
		out->unnamed += !record->event || strcmp(task->comm, "a") != 0;
		out->first = out->events++ ? out->first : number;
		out->last = number;
	}
	g_assert_no_error(error);
	g_assert_false(rs_trace_reader_is_cut(reader));
}

/* Bytes of pages in the largest window. */
static gsize largest_window(const Bed *bed)
{
	g_autoptr(RsTraceFile) file = open_file(bed, 0);
	gsize bytes = 0, largest = 0;
	RsTraceFileBlock block;

	while (rs_trace_file_next(file, TRUE, &block, NULL) == RS_TRACE_FILE_BLOCK) {
		bytes += block.kind == RS_FILE_PAGES ? g_bytes_get_size(block.data) : 0;
		if (block.kind != RS_FILE_WINDOW)
			continue;
		largest = MAX(largest, bytes);
		bytes = 0;
	}
	return largest;
}

/* The events that are counted from headers are those that are in the file. */
static void test_counts(Bed *bed, gconstpointer unused)
{
	RsTraceRecorderStats stats;
	Read got = {0};

	open_recorder(bed, (RsTraceRecorderConfig){.window_ms = 1});
	for (guint i = 0; i < 50; i++) {
		emit(&bed->guest, i % RINGS, i * 13 % 150);
		make_round(bed);
		if (i % 5)
			g_usleep(1500);
	}
	rs_trace_recorder_progress(bed->recorder, &stats);
	g_assert_cmpuint(stats.events, >, bed->guest.emitted - 2 * FIT);
	g_assert_cmpuint(stats.events, <=, bed->guest.emitted);
	emit(&bed->guest, 0, 10 * FIT + 3); /* more than the ring holds */
	end(bed, &stats);
	read_file(bed, 0, &got);
	g_assert_cmpuint(stats.lost, >, 0);
	g_assert_cmpuint(stats.lost, ==, got.lost);
	g_assert_cmpuint(stats.events, ==, got.events);
	g_assert_cmpuint(stats.events + stats.lost, ==, bed->guest.emitted);
	g_assert_cmpuint(stats.files, ==, 1);
}

/* What a header claims counts for no more than a page can hold. */
static void test_hostile_counts(Bed *bed, gconstpointer unused)
{
	RsTraceRecorderStats stats;
	struct rs_ring_page *page;

	open_recorder(bed, (RsTraceRecorderConfig){0});
	emit(&bed->guest, 0, FIT + 1);
	page = (struct rs_ring_page *)(void *)(next_place(&bed->guest, 0) - 64 -
					       RS_RING_PAGE_HEADER);
	g_assert_cmpuint(page->records, ==, FIT);
	page->records = G_MAXUINT64;
	end(bed, &stats);
	g_assert_cmpuint(stats.events, <=, PAGE / RS_RING_UNIT + 1);
}

/*
 * A producer that is stopped in its record, while another ring is flooded. The window ends once the
 * rings could have been written over, and what was gathered is in the file before.
 */
static void test_a_window_is_bounded(Bed *bed, gconstpointer unused)
{
	const gsize rings = RINGS * PAGES * PAGE;
	RsTraceRecorderStats stats;
	struct rs_ring_page *stuck;

	open_recorder(bed, (RsTraceRecorderConfig){.window_ms = 1});
	emit(&bed->guest, 1, 3);
	stuck = (struct rs_ring_page *)(void *)(next_place(&bed->guest, 1) - 3 * 64 -
						RS_RING_PAGE_HEADER);
	rs_store(&stuck->committed, rs_load(&stuck->committed) - 64);
	for (guint i = 0; i < MANY; i++) {
		g_usleep(100);
		emit(&bed->guest, 0, FIT);
		make_round(bed);
	}
	rs_store(&stuck->committed, rs_load(&stuck->committed) + 64);
	end(bed, &stats);
	g_assert_cmpuint(stats.windows, >=, 3);
	g_assert_cmpuint(largest_window(bed), <=, 3 * rings);
	g_assert_cmpuint(stats.events, ==, bed->guest.emitted);
}

/* A page that is handed out before it is full is handed out once, however fast it grows. */
static void test_a_target_is_asked_for_once(Bed *bed, gconstpointer unused)
{
	RsTraceRecorderStats stats;

	open_recorder(bed, (RsTraceRecorderConfig){.window_ms = 1});
	emit(&bed->guest, 0, 1);
	for (guint i = 0; i < 10; i++) {
		g_usleep(1500);
		emit(&bed->guest, 0, 1);
		make_round(bed);
		emit(&bed->guest, 0, 1);
		make_round(bed);
	}
	end(bed, &stats);
	g_assert_cmpuint(stats.windows, <=, 12);
	g_assert_cmpuint(stats.pages, <=, stats.windows);
	g_assert_cmpuint(stats.events, ==, bed->guest.emitted);
}

/* Each file opens alone, with names and events, and together they have all. */
static void test_files(Bed *bed, gconstpointer unused)
{
	RsTraceRecorderStats stats;
	guint64 events = 0, lost = 0;
	Read got = {0};

	open_recorder(bed, (RsTraceRecorderConfig){
				   .window_ms = 1, .next = next_file, .rotate_bytes = 4 * PAGE});
	for (guint i = 0; i < 40; i++) {
		emit(&bed->guest, i % RINGS, FIT / 2);
		make_round(bed);
		g_usleep(1500);
	}
	emit(&bed->guest, 0, 10 * FIT);
	end(bed, &stats);
	g_assert_cmpuint(stats.files, ==, bed->files->len);
	g_assert_cmpuint(stats.files, >=, 4);
	for (guint i = 0; i < bed->files->len; i++) {
		Read one = {0};

		read_file(bed, i, &one);
		g_assert_cmpuint(one.unnamed, ==, 0);
		events += one.events;
		lost += one.lost;
		if (one.events && i)
			g_assert_cmpuint(one.first, >, got.last);
		got = one.events ? one : got;
	}
	g_assert_cmpuint(events, ==, stats.events);
	g_assert_cmpuint(lost, ==, stats.lost);
	g_assert_cmpuint(events + lost, ==, bed->guest.emitted);
}

/* What is told to each file does not fill it: it may be more than a file is to have. */
static void test_no_file_without_events(Bed *bed, gconstpointer unused)
{
	RsTraceRecorderStats stats;
	guint emits = 0;

	open_recorder(
		bed, (RsTraceRecorderConfig){.window_ms = 1, .next = next_file, .rotate_bytes = 1});
	for (guint i = 0; i < 40; i++) {
		if (i % 8 == 0) {
			emit(&bed->guest, 0, FIT / 2);
			emits++;
		}
		make_round(bed);
		g_usleep(1500);
	}
	end(bed, &stats);
	g_assert_cmpuint(stats.files, >=, 3);
	g_assert_cmpuint(stats.files, <=, emits + 1);
	for (guint i = 0; i < bed->files->len; i++) {
		Read one = {0};

		read_file(bed, i, &one);
		g_assert_true(one.events || i == bed->files->len - 1);
	}
	g_assert_cmpuint(stats.events, ==, bed->guest.emitted);
}

/* A guest that renames its tasks and fires nothing fills no disk, since old files go. */
static void test_files_of_names(Bed *bed, gconstpointer unused)
{
	guint buckets = bed->guest.region->header.section[RS_SEC_CMDLINE].count;
	struct rs_cmdline_bucket *names =
		rs_trace_region_section(bed->guest.region, RS_SEC_CMDLINE, NULL);
	RsTraceRecorderStats stats;

	open_recorder(
		bed, (RsTraceRecorderConfig){.window_ms = 1, .next = next_file, .rotate_bytes = 1});
	for (guint i = 0; i < 400; i++) {
		for (guint pid = 1; pid < 2000; pid++) {
			g_autofree char *comm = g_strdup_printf("%u-%u", i, pid);
			struct rs_cmdline_entry *to = names[rs_cmdline_hash(pid, buckets)].way;
			struct rs_cmdline_entry task = test_task(pid, tick(), comm);

			task.sequence = to->sequence + 2;
			*to = task;
		}
		rs_shared_add32(&info_of(&bed->guest)->cmdline_changes, 1);
		make_round(bed);
		g_usleep(1500);
	}
	end(bed, &stats);
	g_assert_cmpuint(stats.bytes, >, 8 << 20);
	g_assert_cmpuint(stats.files, >=, stats.bytes / (5 << 20));
}

/* A provider's records may come after it has gone, also in the next file. */
static void test_files_know_what_has_gone(Bed *bed, gconstpointer unused)
{
	struct rs_provider *provider = element(&bed->guest, RS_SEC_PROVIDERS, 0);
	RsTraceRecorderStats stats;

	open_recorder(bed,
		      (RsTraceRecorderConfig){.window_ms = 1, .next = next_file, .rotate_ms = 3});
	emit(&bed->guest, 0, 1);
	for (guint i = 0; i < 20; i++) {
		emit(&bed->guest, 0, 3);
		emit(&bed->guest, 1, FIT - 5);
		if (i == 10) {
			provider->sequence += 2;
			provider->state = RS_PROVIDER_DEAD;
			provider->until = tick();
			begin_epoch(&bed->guest, 1, EPOCH_NS);
			begin_boot(&bed->guest, 2, "second");
			set_name(&bed->guest, 2, "a");
		}
		make_round(bed);
		g_usleep(1000);
	}
	end(bed, &stats);
	g_assert_cmpuint(stats.files, >=, 3);
	for (guint i = 0; i < bed->files->len; i++) {
		Read one = {0};

		read_file(bed, i, &one);
		g_assert_cmpuint(one.unnamed, ==, 0);
	}
	g_assert_cmpuint(stats.events, ==, bed->guest.emitted);
}

static void test_a_next_file_that_cannot_be(Bed *bed, gconstpointer unused)
{
	RsTraceRecorderStats stats;
	GError *error = NULL;
	Read one = {0};

	bed->refused = 2;
	open_recorder(bed, (RsTraceRecorderConfig){
				   .window_ms = 1, .next = next_file, .rotate_bytes = PAGE});
	for (guint i = 0; i < 1000; i++) {
		emit(&bed->guest, 0, FIT);
		if (!make_round(bed))
			break;
		g_usleep(1500);
	}
	g_assert_false(rs_trace_recorder_result(bed->recorder, &stats, &error));
	g_assert_cmpstr(error->message, ==, "no more files");
	g_error_free(error);
	read_file(bed, 0, &one);
	g_assert_cmpuint(one.events, >, 0);
	g_assert_cmpuint(one.events, ==, stats.events);
}

/* The file ends well before it has more bytes than it may have. */
static void test_a_full_file(Bed *bed, gconstpointer unused)
{
	const guint64 most = 50000;
	RsTraceRecorderStats stats;
	guint rounds = 0;
	Read got = {0};

	open_recorder(bed, (RsTraceRecorderConfig){.window_ms = 1, .max_bytes = most});
	do {
		emit(&bed->guest, rounds++ % RINGS, FIT);
		g_usleep(500);
	} while (make_round(bed) && rounds < 1000);
	g_assert_true(rs_trace_recorder_result(bed->recorder, &stats, NULL));
	g_assert_true(stats.full);
	g_assert_cmpuint(stats.bytes, <=, most);
	g_assert_cmpuint(stats.bytes, >, most / 2);
	g_assert_cmpuint(stats.bytes, ==,
			 g_memory_output_stream_get_data_size(bed->files->pdata[0]));
	read_file(bed, 0, &got);
	g_assert_cmpuint(got.events, >, FIT * 5);
	g_assert_cmpuint(got.events, ==, stats.events);
}

static void test_a_limit_without_room(Bed *bed, gconstpointer unused)
{
	g_autoptr(GOutputStream) stream = g_memory_output_stream_new_resizable();
	const RsTraceRecorderConfig config = {.stream = stream, .max_bytes = 100};
	GError *error = NULL;

	g_assert_null(rs_trace_recorder_new(&config, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_FULL);
	g_error_free(error);
	open_recorder(bed, (RsTraceRecorderConfig){0});
}

/* What of a block was written when the disk was full is taken away again. */
static void test_a_full_disk(Bed *bed, gconstpointer unused)
{
	g_autofree char *path = NULL;
	int fd = g_file_open_tmp("rs-full-XXXXXX", &path, NULL);
	g_autoptr(GOutputStream) stream = g_unix_output_stream_new(fd, TRUE);
	const RsTraceWriterConfig config = {0};
	g_autoptr(RsTraceWriter) writer = rs_trace_writer_new(stream, &config, NULL);
	struct rlimit before, limit;
	guint8 body[64] = {0};
	GError *error = NULL;
	guint64 good;

	g_assert_true(rs_trace_writer_put(writer, RS_FILE_SOURCE, 0, body, sizeof(body), NULL));
	good = rs_trace_writer_size(writer);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = good + 40; /* a part of the next block fits */
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	g_assert_false(rs_trace_writer_put(writer, RS_FILE_SOURCE, 1, body, sizeof(body), &error));
	setrlimit(RLIMIT_FSIZE, &before);
	g_assert_nonnull(error);
	g_error_free(error);
	g_assert_cmpint(lseek(fd, 0, SEEK_END), ==, good);
	g_assert_cmpuint(rs_trace_writer_size(writer), ==, good);
	unlink(path);
	open_recorder(bed, (RsTraceRecorderConfig){0});
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, function)                                                                        \
	g_test_add("/observe/recorder/" name, Bed, NULL, set_up, function, tear_down)
	ADD("counts", test_counts);
	ADD("counts/hostile", test_hostile_counts);
	ADD("window/bounded", test_a_window_is_bounded);
	ADD("window/target", test_a_target_is_asked_for_once);
	ADD("files", test_files);
	ADD("files/events", test_no_file_without_events);
	ADD("files/names", test_files_of_names);
	ADD("files/gone", test_files_know_what_has_gone);
	ADD("files/refused", test_a_next_file_that_cannot_be);
	ADD("full", test_a_full_file);
	ADD("full/at-once", test_a_limit_without_room);
	ADD("full/disk", test_a_full_disk);
	return g_test_run();
}
