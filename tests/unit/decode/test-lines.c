/* SPDX-License-Identifier: MIT */
/* Lines of a trace are the same, whoever makes them: one thread, or several. */
#include "build-file.h"
#include "rs-trace-lines.h"
#include "rs-trace-reader-private.h"
#include "rs-trace-text.h"

#include <string.h>

#define WINDOWS 28u
#define RECORDS 150u /* of a page */

/* ---- a trace in which what records refer to changes all the time ---- */

/* Times of several rings are equal, and those of one go back now and then. */
static void put_records(File *f, guint source, guint ring, guint32 from)
{
	guint32 times[RECORDS + 1];

	for (guint i = 0; i < RECORDS; i++)
		times[i] = from + 2 * i - (i % 50 == 49 ? 20 : 0);
	times[RECORDS] = 0;
	put_page(f, source, ring, times, from % 7 ? 0 : 3);
}

static void put_task(File *f, guint source, guint32 since)
{
	g_autofree char *comm = g_strdup_printf("%u-%u", source, since);
	struct rs_cmdline_entry entry = test_task(7, since, comm);
	const RsTraceWriterTable table = {0, &entry, 1, sizeof(entry), NULL, 0};

	entry.sequence = 2;
	g_assert_true(rs_trace_writer_put_table(f->writer, RS_FILE_NAMES, source, &table, NULL));
}

static GBytes *make_file(void)
{
	GBytes *bytes;
	File f = {0};

	set_up(&f, NULL);
	for (guint i = 0; i < WINDOWS; i++) {
		const guint32 from = 100 + i * 2 * RECORDS;

		if (i % 9 == 0) {
			if (i)
				rs_trace_writer_put(f.writer, RS_FILE_LEFT, 1, NULL, 0, NULL);
			put_source(&f, 1, i % 2 ? "b" : "c");
			put_schema(&f, 1);
		}
		if (!i) {
			put_source(&f, 0, "a");
			put_schema(&f, 0);
		}
		put_task(&f, i % 2, from - 50);
		put_records(&f, 1, 0, from);
		put_records(&f, 0, 0, from);
		if (i % 3 == 0)
			put_records(&f, 0, 1, from + 10);
		end_window(&f, from + 2 * RECORDS);
	}
	bytes = finish(&f);
	tear_down(&f, NULL);
	return bytes;
}

/* ---- lines ---- */

typedef struct {
	RsTraceReader *reader;
	guint64 before; /* the state: time of the record before */
	guint64 now;
	GString *text;
	gsize most, longest; /* text that is wanted; of one write */
	guint padding;       /* of each eighth line, about */
	guint writes;
} Maker;

static const RsTraceRecord *next(const RsTraceTask **task, gpointer data)
{
	Maker *m = data;
	g_autoptr(GError) error = NULL;
	const RsTraceRecord *record;

	m->before = m->now;
	record = rs_trace_reader_next(m->reader, NULL, &error);
	g_assert_no_error(error);
	if (!record)
		return NULL;
	*task = rs_trace_reader_task(m->reader);
	m->now = record->ns;
	return record;
}

static void line(GString *out, const RsTraceRecord *record, const RsTraceTask *task, gpointer state,
		 gpointer data)
{
	guint64 *before = state;

	g_string_append_printf(out, "%" G_GINT64_FORMAT " ", (gint64)(record->ns - *before));
	*before = record->ns;
	if (record->ns % 16 == 0) {
		const gsize at = out->len, padding = ((Maker *)data)->padding;

		g_string_set_size(out, at + padding);
		memset(out->str + at, 'x', padding);
	}
	rs_trace_text_line(out, record, task, RS_TRACE_TEXT_SOURCE | RS_TRACE_TEXT_NS);
}

static gboolean take_text(const char *text, gsize size, gpointer data)
{
	Maker *m = data;

	g_string_append_len(m->text, text, (gssize)size);
	m->longest = MAX(m->longest, size);
	m->writes++;
	return m->text->len < m->most;
}

static void set_up_maker(Maker *m, GInputStream *stream)
{
	g_autoptr(GError) error = NULL;
	RsTraceFile *file = rs_trace_file_new(stream, NULL, &error);

	g_assert_no_error(error);
	*m = (Maker){
		.reader = rs_trace_reader_new(file), .text = g_string_new(NULL), .most = G_MAXSIZE};
	g_object_unref(stream);
}

static void tear_down_maker(Maker *m)
{
	g_object_unref(m->reader);
	g_string_free(m->text, TRUE);
}

static void make(Maker *m, guint jobs, guint batch)
{
	const RsTraceLinesConfig config = {.jobs = jobs,
					   .batch = batch,
					   .next = next,
					   .state = &m->before,
					   .state_size = sizeof(m->before),
					   .line = line,
					   .write = take_text,
					   .data = m};

	rs_trace_lines_make(m->reader, &config);
}

/* What one loop makes of it that knows nothing of threads. */
static char *make_plainly(GBytes *bytes, guint padding)
{
	const RsTraceRecord *record;
	const RsTraceTask *task;
	guint64 before = 0;
	char *text;
	Maker m;

	set_up_maker(&m, stream_of(bytes));
	m.padding = padding;
	while ((record = next(&task, &m)))
		line(m.text, record, task, &before, &m);
	text = g_strdup(m.text->str);
	tear_down_maker(&m);
	return text;
}

static void check_same(GBytes *bytes, const char *expected, gboolean is_pipe, guint jobs,
		       guint batch)
{
	Maker m;

	set_up_maker(&m, is_pipe ? pipe_of(bytes) : stream_of(bytes));
	make(&m, jobs, batch);
	g_assert_cmpstr(m.text->str, ==, expected);
	/* It is at the end, and nothing is held back. */
	g_assert_null(rs_trace_reader_next(m.reader, NULL, NULL));
	g_assert_false(rs_trace_lines_is_paused(m.reader));
	tear_down_maker(&m);
}

static void test_same(void)
{
	static const guint jobs[] = {1, 2, 3, 8}, batches[] = {0, 1, 7};
	g_autoptr(GBytes) bytes = make_file();
	g_autofree char *expected = make_plainly(bytes, 0);

	g_assert_nonnull(strstr(expected, "LOST 3 EVENTS"));
	g_assert_nonnull(strstr(expected, " b/sched:switch"));
	g_assert_nonnull(strstr(expected, "0-650-7"));
	for (guint i = 0; i < G_N_ELEMENTS(jobs); i++) {
		for (guint k = 0; k < G_N_ELEMENTS(batches); k++) {
			check_same(bytes, expected, FALSE, jobs[i], batches[k]);
			check_same(bytes, expected, TRUE, jobs[i], batches[k]);
		}
	}
}

/* Of several files none goes on while another one waits for its next window. */
static void test_files(void)
{
	g_autoptr(GBytes) bytes = make_file();
	g_autofree char *expected = NULL;

	for (guint jobs = 0; jobs < 5; jobs++) {
		const RsTraceTask *task;
		const RsTraceRecord *record;
		guint64 before = 0;
		Maker m;

		set_up_maker(&m, stream_of(bytes));
		rs_trace_reader_add_at(m.reader, file_of(bytes), 77);
		rs_trace_reader_add_at(m.reader, file_of(bytes), 5000);
		while (!jobs && (record = next(&task, &m)))
			line(m.text, record, task, &before, &m);
		if (jobs)
			make(&m, jobs, 0);
		if (expected)
			g_assert_cmpstr(m.text->str, ==, expected);
		else
			expected = g_strdup(m.text->str);
		tear_down_maker(&m);
	}
}

/* Who wants no more gets no more, and nobody waits for ever. */
static void test_stop(void)
{
	g_autoptr(GBytes) bytes = make_file();
	g_autofree char *expected = make_plainly(bytes, 0);

	for (guint jobs = 1; jobs < 5; jobs++) {
		for (gsize most = 1; most < strlen(expected); most = 3 * most + 1) {
			guint writes = 0;
			Maker m;

			set_up_maker(&m, stream_of(bytes));
			m.most = most;
			make(&m, jobs, 20);
			g_assert_cmpuint(m.text->len, >=, most);
			g_assert_true(!strncmp(m.text->str, expected, m.text->len));
			/* The last one was the one that said so. */
			g_assert_cmpuint(m.text->len - most, <, m.longest);
			g_assert_cmpuint(m.writes, >, writes);
			tear_down_maker(&m);
		}
	}
}

/* A batch with much text is written in parts, in its turn. */
static void test_large(void)
{
	const guint padding = 50000;
	g_autoptr(GBytes) bytes = make_file();
	g_autofree char *expected = make_plainly(bytes, padding);

	for (guint jobs = 1; jobs < 4; jobs++) {
		Maker m;

		set_up_maker(&m, stream_of(bytes));
		m.padding = padding;
		make(&m, jobs, 0);
		g_assert_true(g_str_equal(m.text->str, expected));
		g_assert_cmpuint(m.longest, <, (1u << 20) + 2 * padding);
		tear_down_maker(&m);
	}
}

/* How often it pauses before what threads that make lines may still look at changes. */
static guint count_pauses(GInputStream *stream)
{
	const RsTraceRecord *record;
	const RsTraceTask *task;
	guint n = 0;
	Maker m;

	set_up_maker(&m, stream);
	rs_trace_reader_set_pausing(m.reader, TRUE);
	while ((record = next(&task, &m)) || rs_trace_reader_is_paused(m.reader)) {
		rs_trace_reader_set_pausing(m.reader, !!record);
		n += !record;
	}
	tear_down_maker(&m);
	return n;
}

/* Windows with pages and names alone are loaded while lines of earlier ones are made. */
static void test_pauses(void)
{
	GBytes *bytes;
	File f = {0};

	set_up(&f, NULL);
	put_source(&f, 0, "a");
	put_schema(&f, 0);
	for (guint i = 0; i < WINDOWS; i++) {
		put_task(&f, 0, 50 + i * 2 * RECORDS);
		put_records(&f, 0, 0, 100 + i * 2 * RECORDS);
		if (i == WINDOWS / 2)
			put_schema(&f, 0);
		end_window(&f, 100 + (i + 1) * 2 * RECORDS);
	}
	bytes = finish(&f);
	tear_down(&f, NULL);
	/* It goes over the source and its schema at once. */
	g_assert_cmpuint(count_pauses(stream_of(bytes)), ==, 2);
	g_assert_cmpuint(count_pauses(pipe_of(bytes)), >, WINDOWS / 2);
	g_bytes_unref(bytes);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/lines/same", test_same);
	g_test_add_func("/decode/lines/files", test_files);
	g_test_add_func("/decode/lines/stop", test_stop);
	g_test_add_func("/decode/lines/large", test_large);
	g_test_add_func("/decode/lines/pauses", test_pauses);
	return g_test_run();
}
