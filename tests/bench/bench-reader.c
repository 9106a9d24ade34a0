/* SPDX-License-Identifier: MIT */
/*
 * Reading trace files on one core: events a second through the reader, and how long it takes to
 * open a file of 10 GB and print its last 100 events. That file is sparse: most of its pages are
 * empty.
 */
#include "rs-trace-reader.h"
#include "rs-trace-text.h"
#include "rs-trace-writer.h"
#include "../unit/decode/build.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE_RECORDS 250u
#define EVENTS 4000000u
#define PASSES 5u /* the best of them counts */
/* So many windows that the last block of the index before the end is a GB before it. */
#define LARGE ((G_GUINT64_CONSTANT(10) << 30) - (32u << 20))
#define LAST 100u

/* ---- a file in which zeros take no room ---- */

typedef struct {
	GOutputStream parent;
	int fd;
} Sparse;
typedef GOutputStreamClass SparseClass;
GType sparse_get_type(void);
G_DEFINE_TYPE(Sparse, sparse, G_TYPE_OUTPUT_STREAM)

static gboolean is_zero(const guint8 *bytes, gsize size)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, size - 1);
}

static gssize sparse_write(GOutputStream *stream, const void *bytes, gsize size,
			   GCancellable *cancellable, GError **error)
{
	int fd = ((Sparse *)stream)->fd;

	if (size > RS_RING_PAGE_MAX && is_zero(bytes, size))
		return lseek(fd, (off_t)size, SEEK_CUR) < 0 ? -1 : (gssize)size;
	return write(fd, bytes, size);
}

static void sparse_class_init(SparseClass *class)
{
	class->write_fn = sparse_write;
}

static void sparse_init(Sparse *sparse)
{
}

static GOutputStream *sparse_new(int fd)
{
	Sparse *sparse = g_object_new(sparse_get_type(), NULL);

	sparse->fd = fd;
	return &sparse->parent;
}

/* ---- files ---- */

typedef struct {
	char *path;
	int fd;
	GOutputStream *stream;
	RsTraceWriter *writer;
	guint64 seq, ts;
} File;

static void begin(File *f, guint rings, gint compression)
{
	const RsTraceWriterConfig config = {.compression = compression};
	const struct rs_clock_epoch epoch = {.mult = 0x60000000, .shift = 32};
	const RsTraceWriterTable clock = {1, &epoch, 1, sizeof(epoch), NULL, 0};
	struct rs_file_source source = {.size = sizeof(source), .ring_count = rings};
	struct rs_cmdline_entry name = test_task(1234, 0, "bench");
	const RsTraceWriterTable names = {0, &name, 1, sizeof(name), NULL, 0};
	g_autoptr(GByteArray) descs = g_byte_array_new();
	struct rs_provider entry;
	RsTraceWriterTable provider = {0, &entry, 1, sizeof(entry), NULL, 0};

	*f = (File){.ts = 5000000};
	f->fd = g_file_open_tmp("rs-bench-XXXXXX", &f->path, NULL);
	if (f->fd < 0)
		g_error("no temporary file");
	f->stream = sparse_new(f->fd);
	f->writer = rs_trace_writer_new(f->stream, &config, NULL);
	test_desc_switch(descs);
	test_provider(&entry, 0, descs);
	provider.data = descs->data;
	provider.data_size = descs->len;
	name.sequence = 2;
	rs_trace_writer_put(f->writer, RS_FILE_SOURCE, 0, &source, sizeof(source), NULL);
	rs_trace_writer_put_table(f->writer, RS_FILE_PROVIDER, 0, &provider, NULL);
	rs_trace_writer_put_table(f->writer, RS_FILE_CLOCK, 0, &clock, NULL);
	rs_trace_writer_put_table(f->writer, RS_FILE_NAMES, 0, &names, NULL);
}

static void put_page(File *f, guint ring, guint rings)
{
	TestPage *page = test_page_new(ring, f->seq, f->ts, 1234, 0);
	struct rs_file_page entry = {.from = RS_RING_PAGE_HEADER, .ring = ring};
	g_autoptr(GByteArray) bytes = NULL;

	test_page_header(page)->records = f->seq * PAGE_RECORDS;
	for (guint32 i = 0; i < PAGE_RECORDS; i++) {
		guint32 pair[2] = {i * 77, i * 991};

		test_page_record(page, TEST_SWITCH, (guint32)(f->ts + i * 300), pair, sizeof(pair));
	}
	bytes = test_page_end(page);
	entry.to = bytes->len;
	rs_trace_writer_put_page(f->writer, 0, bytes->data, &entry, NULL);
	if (ring + 1 == rings) {
		f->seq++;
		f->ts += PAGE_RECORDS * 300;
	}
}

static void end_window(File *f)
{
	rs_trace_writer_end_window(f->writer, f->ts, NULL);
}

static void finish(File *f)
{
	GError *error = NULL;

	if (!rs_trace_writer_close(f->writer, &error))
		g_error("%s", error->message);
	rs_trace_writer_free(f->writer);
	g_object_unref(f->stream);
}

static void drop(File *f)
{
	close(f->fd);
	g_unlink(f->path);
	g_free(f->path);
}

static RsTraceReader *open_reader(const File *f)
{
	GError *error = NULL;
	RsTraceReader *reader = rs_trace_reader_open(f->path, NULL, &error);

	if (!reader)
		g_error("%s", error->message);
	return reader;
}

/* Seconds; the sum keeps the compiler from leaving anything out. */
static gdouble read_all(const File *f, guint64 *n, guint64 *sum)
{
	g_autoptr(RsTraceReader) reader = open_reader(f);
	g_autoptr(GTimer) timer = g_timer_new();
	const RsTraceRecord *record;

	for (*n = 0; (record = rs_trace_reader_next(reader, NULL, NULL)); ++*n)
		*sum += record->ns;
	return g_timer_elapsed(timer, NULL);
}

static void measure(guint rings, gint compression)
{
	gdouble seconds = 1e9;
	guint64 n = 0, sum = 0;
	File f;

	begin(&f, rings, compression);
	for (guint i = 0; i < EVENTS / PAGE_RECORDS; i++) {
		put_page(&f, i % rings, rings);
		if (i % 1024 == 1023)
			end_window(&f);
	}
	finish(&f);
	for (guint i = 0; i < PASSES; i++)
		seconds = MIN(seconds, read_all(&f, &n, &sum));
	g_print("read %3u ring%s%-6s %6.2f M events/s %7.1f ns an event%s\n", rings,
		rings > 1 ? "s" : " ", compression ? " zstd" : "", (gdouble)n / seconds / 1e6,
		seconds * 1e9 / (gdouble)n,
		sum && n == EVENTS / PAGE_RECORDS * PAGE_RECORDS ? "" : " (wrong)");
	drop(&f);
}

/* Windows of 4 MiB of empty pages, of which only the heads of blocks are written. */
static void fill(File *f)
{
	static const guint8 empty[RS_RING_PAGE_MAX];
	const struct rs_file_page entry = {.from = RS_RING_PAGE_HEADER, .to = sizeof(empty)};
	guint64 size = 0;

	while (size < LARGE) {
		for (guint i = 0; i < 64; i++)
			rs_trace_writer_put_page(f->writer, 0, empty, &entry, NULL);
		end_window(f);
		size = rs_trace_writer_size(f->writer);
	}
}

static void print_last(const File *f, const char *what)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GTimer) timer = g_timer_new();
	g_autoptr(RsTraceReader) reader = open_reader(f);
	GError *error = NULL;
	const RsTraceRecord *record;
	const RsTraceTask *task;
	guint n = 0;

	if (!rs_trace_reader_seek_last(reader, LAST, NULL, &error))
		g_error("%s", error->message);
	while ((record = rs_trace_reader_next(reader, NULL, NULL))) {
		task = rs_trace_reader_task(reader);
		rs_trace_text_line(text, record, task, 0);
		n++;
	}
	g_print("last %u of 10 GB, %-14s %7.1f ms%s\n", LAST, what,
		g_timer_elapsed(timer, NULL) * 1e3, n == LAST ? "" : " (wrong)");
}

/* What the process needs to read all of a file is measured in one that does nothing else. */
static void read_alone(const char *path)
{
	File f = {.path = (char *)path};
	guint64 n, sum = 0;
	gdouble seconds = read_all(&f, &n, &sum);
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	g_print("read all of 10 GB: %.1f s, %" G_GUINT64_FORMAT " events, %.1f MiB at its peak%s\n",
		seconds, n, (gdouble)usage.ru_maxrss / 1024, sum ? "" : " (wrong)");
}

/* Takes away the end, and the block of the index before it, as if the recorder had been killed. */
static void cut_end(const File *f)
{
	struct rs_file_end end;
	const off_t at = lseek(f->fd, 0, SEEK_END) - RS_FILE_END_SIZE;

	if (pread(f->fd, &end, sizeof(end), at + (off_t)sizeof(struct rs_file_block)) !=
		    sizeof(end) ||
	    ftruncate(f->fd, (off_t)end.index))
		g_error("%s", g_strerror(errno));
}

static void measure_large(char *self)
{
	char *args[] = {self, NULL, NULL};
	File f;

	begin(&f, 1, 0);
	fill(&f);
	for (guint i = 0; i < 1000; i++)
		put_page(&f, 0, 1);
	end_window(&f);
	finish(&f);
	print_last(&f, "by its index");
	args[1] = f.path;
	g_spawn_sync(NULL, args, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL, NULL, NULL);
	cut_end(&f);
	print_last(&f, "without an end");
	drop(&f);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		read_alone(argv[1]);
		return 0;
	}
	measure(1, 0);
	measure(8, 0);
	measure(64, 0);
	measure(1, 1);
	measure_large(argv[0]);
	return 0;
}
