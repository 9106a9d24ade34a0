/* SPDX-License-Identifier: MIT */
/*
 * Writes traces that are good files, but odd ones, for who shows them:
 *
 *	make-odd empty OUT	a source, and no record
 *	make-odd names OUT	tasks, strings and a source: markup, escapes, bidi, no UTF-8
 *	make-odd classes OUT	more events than a timeline has classes, a record of each
 *	make-odd times OUT	records at the first moment, at the last one, and backwards
 */
#include "build.h"
#include "rs-trace-writer.h"

#include <ringside/control.h>
#include <string.h>

#define PROVIDERS 3u
#define EVENTS 8000u /* of each */
#define PAGE_ROOM 4000u

static const char *const odd[] = {
	"<b>&amp;</b>",
	"\x1b[31mred\x1b[0m",
	"\xe2\x80\xaetxet", /* from right to left */
	"\xff\xfe\x80",     /* no UTF-8 */
	"a\nb\tc\r",
	"%s%n%d",
	"",
	"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",  /* Hebrew */
	"Z\xcc\x81\xcc\x82\xcc\x83\xcc\x84", /* marks upon marks */
};

typedef struct {
	RsTraceWriter *writer;
	guint64 seq;
} Maker;

static void check(gboolean ok, GError *error)
{
	if (!ok)
		g_error("%s", error->message);
}

static void put_table(Maker *m, guint kind, RsTraceWriterTable *table)
{
	g_autoptr(GError) error = NULL;

	check(rs_trace_writer_put_table(m->writer, kind, 0, table, &error), error);
}

static void put_provider(Maker *m, guint slot, GByteArray *descs)
{
	struct rs_provider entry;
	RsTraceWriterTable table = {slot, &entry, 1, sizeof(entry), NULL, 0};

	test_provider(&entry, slot, descs);
	table.data = descs->data;
	table.data_size = descs->len;
	put_table(m, RS_FILE_PROVIDER, &table);
}

static void begin(Maker *m, const char *name)
{
	const struct rs_clock_epoch epoch = {.mult = 1u << 31, .shift = 31}; /* ticks are ns */
	RsTraceWriterTable clock = {1, &epoch, 1, sizeof(epoch), NULL, 0};
	struct rs_file_source source = {.size = sizeof(source), .ring_count = 2, .number = 1};
	g_autoptr(GError) error = NULL;

	strncpy((char *)source.name, name, sizeof(source.name) - 1);
	check(rs_trace_writer_put(m->writer, RS_FILE_SOURCE, 0, &source, sizeof(source), &error),
	      error);
	put_table(m, RS_FILE_CLOCK, &clock);
}

/* Ends the page and writes it. */
static void put_page(Maker *m, TestPage *page, guint64 until)
{
	struct rs_file_page entry = {.from = RS_RING_PAGE_HEADER};
	g_autoptr(GByteArray) bytes = test_page_end(page);
	g_autoptr(GError) error = NULL;

	entry.to = bytes->len;
	check(rs_trace_writer_put_page(m->writer, 0, bytes->data, &entry, &error), error);
	check(rs_trace_writer_end_window(m->writer, until, &error), error);
}

static void make_names(Maker *m)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();
	TestDesc *desc = test_desc_new(TEST_SWITCH, "demo", "text");
	TestPage *page = test_page_new(0, 0, 1000, 1, 0);

	test_desc_array(desc, "text", RS_KIND_STRING, 1, 32, 0);
	test_desc_end(desc, "text=%s", "text", descs);
	put_provider(m, 0, descs);
	for (guint i = 0; i < G_N_ELEMENTS(odd); i++) {
		struct rs_cmdline_entry name = test_task(i + 1, 0, odd[i]);
		RsTraceWriterTable names = {i, &name, 1, sizeof(name), NULL, 0};

		name.sequence = 2;
		put_table(m, RS_FILE_NAMES, &names);
	}
	for (guint i = 0; i < G_N_ELEMENTS(odd); i++) {
		char text[32] = "";

		strncpy(text, odd[i], sizeof(text) - 1);
		test_page_context(page, i + 1, 0);
		test_page_record(page, TEST_SWITCH, 1000 + i * 1000, text, sizeof(text));
	}
	put_page(m, page, 1000000);
}

static void describe_many(GByteArray *descs, guint provider)
{
	for (guint i = 0; i < EVENTS; i++) {
		g_autofree char *name = g_strdup_printf("e%u", i);
		g_autofree char *system = g_strdup_printf("s%u", provider);
		TestDesc *desc =
			test_desc_new(RS_FIRST_EVENT_ID + provider * EVENTS + i, system, name);

		test_desc_end(desc, NULL, NULL, descs);
	}
}

static void make_classes(Maker *m)
{
	TestPage *page = NULL;

	for (guint i = 0; i < PROVIDERS; i++) {
		g_autoptr(GByteArray) descs = g_byte_array_new();

		describe_many(descs, i);
		put_provider(m, i, descs);
	}
	for (guint i = 0; i < PROVIDERS * EVENTS; i++) {
		if (!page) {
			page = test_page_new(0, m->seq++, i * 100, 1, 0);
			test_page_header(page)->records = i;
		}
		test_page_record(page, RS_FIRST_EVENT_ID + i, i * 100, NULL, 0);
		if (test_page_size(page) > PAGE_ROOM || i + 1 == PROVIDERS * EVENTS) {
			put_page(m, page, i * 100);
			page = NULL;
		}
	}
}

static void make_times(Maker *m)
{
	static const guint64 times[] = {0, 1, G_MAXUINT64 - 1, 5, G_MAXUINT64, G_MAXINT64, 7};
	g_autoptr(GByteArray) descs = g_byte_array_new();

	test_desc_switch(descs);
	put_provider(m, 0, descs);
	for (guint i = 0; i < G_N_ELEMENTS(times); i++) {
		TestPage *page = test_page_new(0, i, times[i], 1, 0);

		test_page_header(page)->records = i;
		test_page_record(page, TEST_SWITCH, (guint32)times[i], &(guint64){i}, 8);
		put_page(m, page, times[i]);
	}
}

int main(int argc, char **argv)
{
	const RsTraceWriterConfig config = {0};
	const char *kind = argc == 3 ? argv[1] : "";
	g_autoptr(GFileOutputStream) stream = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(GFile) file = NULL;
	Maker m = {0};

	if (argc != 3)
		g_error("usage: make-odd empty|names|classes|times OUT");
	file = g_file_new_for_path(argv[2]);
	stream = g_file_replace(file, NULL, FALSE, G_FILE_CREATE_NONE, NULL, &error);
	check(!!stream, error);
	m.writer = rs_trace_writer_new(G_OUTPUT_STREAM(stream), &config, &error);
	check(!!m.writer, error);
	begin(&m, g_str_equal(kind, "names") ? "<i>\x1b&" : "guest");
	if (g_str_equal(kind, "names"))
		make_names(&m);
	else if (g_str_equal(kind, "classes"))
		make_classes(&m);
	else if (g_str_equal(kind, "times"))
		make_times(&m);
	else if (!g_str_equal(kind, "empty"))
		g_error("'%s' is no kind", kind);
	check(rs_trace_writer_close(m.writer, &error), error);
	rs_trace_writer_free(m.writer);
	return 0;
}
