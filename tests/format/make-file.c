/* SPDX-License-Identifier: MIT */
/*
 * make-file FILE [LEVEL]: a trace file with what the format has: fields of each kind, two sources,
 * pages that grow, losses, boots, clock epochs of two chains, names, a provider that dies, an event
 * that nobody knows, a block of a later kind. LEVEL is that of zstd.
 */
#include "rs-trace-writer.h"
#include "../unit/decode/build.h"

#include <ringside/control.h>
#include <stdlib.h>
#include <string.h>

#define JUMP 4950u /* in the page that begins then, the clock starts anew */

typedef struct {
	RsTraceWriter *writer;
	guint64 seq[2], records[2];
} Trace;

static void put_table(Trace *t, guint kind, guint source, const RsTraceWriterTable *table)
{
	if (!rs_trace_writer_put_table(t->writer, kind, source, table, NULL))
		g_error("a table cannot be written");
}

static void put_source(Trace *t, guint source, const char *name)
{
	struct rs_file_source info = {.size = sizeof(info), .ring_count = 2, .number = source + 1};

	g_strlcpy(info.name, name, sizeof(info.name));
	rs_trace_writer_put(t->writer, RS_FILE_SOURCE, source, &info, sizeof(info), NULL);
}

/* The provider is there in boot 1, and dies at tick 5000. */
static void put_providers(Trace *t, guint source)
{
	g_autoptr(GByteArray) first = g_byte_array_new(), second = g_byte_array_new();
	struct rs_provider entry;
	RsTraceWriterTable table = {0, &entry, 1, sizeof(entry), NULL, 0};

	test_desc_switch(first);
	test_provider(&entry, 0, first);
	table.data = first->data;
	table.data_size = first->len;
	put_table(t, RS_FILE_PROVIDER, source, &table);
	entry.state = RS_PROVIDER_DEAD;
	entry.until = 5000;
	table.data_size = 0; /* its descriptors are as before */
	put_table(t, RS_FILE_PROVIDER, source, &table);
	test_desc_all(second);
	test_provider(&entry, 1, second);
	table = (RsTraceWriterTable){1, &entry, 1, sizeof(entry), second->data, second->len};
	put_table(t, RS_FILE_PROVIDER, source, &table);
}

static void put_clock(Trace *t, guint source)
{
	const struct rs_clock_epoch epochs[] = {
		{.index = 0, .tsc_base = 100, .ns_base = 1000, .mult = 3, .shift = 1},
		{.index = 1, .tsc_base = 4000, .ns_base = 9000, .mult = 1u << 31, .shift = 31},
		{.index = 2, .chain = 2, .tsc_base = 50, .ns_base = 20000, .mult = 7, .shift = 2},
		{0},
	};
	const RsTraceWriterTable table = {3,    epochs, G_N_ELEMENTS(epochs), sizeof(*epochs),
					  NULL, 0};

	put_table(t, RS_FILE_CLOCK, source, &table);
}

static void put_name(Trace *t, guint source, guint64 since, const char *comm, guint tgid)
{
	struct rs_cmdline_entry entry = test_task(7, since, comm);
	const RsTraceWriterTable table = {0, &entry, 1, sizeof(entry), NULL, 0};

	entry.sequence = 2;
	entry.tgid = tgid;
	put_table(t, RS_FILE_NAMES, source, &table);
}

static void put_records(TestPage *page, guint64 ts)
{
	g_autoptr(GByteArray) all = test_payload_all();
	const guint64 pair = 0x200000001;

	test_page_record(page, TEST_SWITCH, (guint32)ts, &pair, sizeof(pair));
	test_page_context(page, 7, RS_CTX_HARDIRQ);
	test_page_record(page, TEST_ALL, (guint32)ts + 10, all->data, all->len);
	test_page_context(page, 0, 0);
	test_page_record(page, TEST_ALL, (guint32)ts + 20, all->data, 5);
	test_page_mark(page, RS_REC_ACTIVITY, 24);
	test_page_record(page, TEST_ALL + 7, (guint32)ts + 30, &pair, 3);
}

/* `pieces`: how often the page comes, each time with more of it. */
static void put_page(Trace *t, guint source, guint ring, guint64 ts, guint pieces, guint64 lost)
{
	TestPage *page = test_page_new(ring, t->seq[ring]++, ts, 7, 0);
	g_autoptr(GByteArray) bytes = NULL;
	struct rs_file_page entry = {.lost = lost, .from = RS_RING_PAGE_HEADER, .ring = ring};

	test_page_header(page)->records = t->records[ring];
	put_records(page, ts);
	if (pieces > 1)
		put_records(page, ts + 40);
	if (ts == JUMP) {
		test_page_time(page, 2, 60);
		put_records(page, 70);
	}
	t->records[ring] += 4;
	bytes = test_page_end(page);
	for (guint i = 0; i < pieces; i++) {
		/* A page may have been read behind its first record, which has 16 bytes. */
		entry.to = i + 1 < pieces ? RS_RING_PAGE_HEADER + 16 : bytes->len;
		if (!rs_trace_writer_put_page(t->writer, source, bytes->data, &entry, NULL))
			g_error("a page cannot be written");
		entry.from = entry.to;
		entry.lost = 0;
	}
}

static void put_all(Trace *t)
{
	const struct rs_file_lost lost = {.lost = 5, .ring = 1};

	put_source(t, 0, "kernel");
	put_providers(t, 0);
	put_clock(t, 0);
	put_name(t, 0, 1, "early", 0);
	put_page(t, 0, 0, 200, 1, 0);
	rs_trace_writer_end_window(t->writer, 30000, NULL);
	put_source(t, 1, "program");
	put_providers(t, 1);
	put_name(t, 0, 4000, "l\xc3\xa4ter", 6);
	put_page(t, 0, 1, 150, 2, 3);
	put_page(t, 1, 0, 4500, 2, 0);
	rs_trace_writer_put(t->writer, 0x4000, 0, "later", 8, NULL);
	rs_trace_writer_end_window(t->writer, 31000, NULL);
	put_page(t, 0, 0, JUMP, 1, 1000);
	rs_trace_writer_put(t->writer, RS_FILE_LOST, 0, &lost, sizeof(lost), NULL);
	rs_trace_writer_put(t->writer, RS_FILE_LEFT, 0, NULL, 0, NULL);
	put_page(t, 1, 1, 6000, 1, 0);
	rs_trace_writer_end_window(t->writer, 40000, NULL);
}

int main(int argc, char **argv)
{
	const RsTraceWriterConfig config = {
		.origin_ns = 5, .wall_ns = 6, .compression = argc > 2 ? atoi(argv[2]) : 0};
	g_autoptr(GFile) file = g_file_new_for_path(argc > 1 ? argv[1] : "trace");
	g_autoptr(GFileOutputStream) stream =
		g_file_replace(file, NULL, FALSE, G_FILE_CREATE_NONE, NULL, NULL);
	Trace t = {0};

	t.writer = rs_trace_writer_new(G_OUTPUT_STREAM(stream), &config, NULL);
	put_all(&t);
	if (!rs_trace_writer_close(t.writer, NULL))
		g_error("the file cannot be closed");
	rs_trace_writer_free(t.writer);
	return 0;
}
