/* SPDX-License-Identifier: MIT */
/*
 * make-large KIND FILE: a small trace file that says much, of one of the kinds that are listed at
 * the end. A reader that holds all that such a file says takes more memory than there should be.
 */
#include "rs-trace-writer.h"
#include "../unit/decode/build.h"

#include <ringside/control.h>
#include <ringside/region.h>
#include <string.h>

static RsTraceWriter *writer;

static void must(gboolean ok)
{
	if (!ok)
		g_error("the file cannot be written");
}

static void put_source(guint number, guint rings)
{
	struct rs_file_source info = {.size = sizeof(info), .ring_count = rings};

	g_snprintf(info.name, sizeof(info.name), "source%u", number);
	must(rs_trace_writer_put(writer, RS_FILE_SOURCE, number, &info, sizeof(info), NULL));
}

static void put_provider(guint source, guint slot, GByteArray *descs)
{
	struct rs_provider entry;
	RsTraceWriterTable table = {slot, &entry, 1, sizeof(entry), NULL, 0};

	test_provider(&entry, slot, descs);
	table.data = descs->data;
	table.data_size = descs->len;
	must(rs_trace_writer_put_table(writer, RS_FILE_PROVIDER, source, &table, NULL));
}

/* An event with fields, whose names begin with `prefix`. */
static void add_event(GByteArray *descs, guint id, const char *prefix, guint fields)
{
	g_autofree char *event = g_strdup_printf("%s%u", prefix, id);
	TestDesc *desc = test_desc_new(id, "large", event);

	for (guint i = 0; i < fields; i++) {
		g_autofree char *name = g_strdup_printf("%sfield%u", prefix, i);

		test_desc_int(desc, name, RS_KIND_UINT, 4);
	}
	test_desc_end(desc, NULL, NULL, descs);
}

static void put_switch(guint source)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();

	test_desc_switch(descs);
	put_provider(source, 0, descs);
}

/* Up to `size` bytes of records, `step` ticks from one to the next. */
static GByteArray *make_page(guint size, guint step)
{
	TestPage *page = test_page_new(0, 0, 1, 7, 0);
	const guint64 pair = 0x200000001;

	for (guint i = 0; i < (size - RS_RING_PAGE_HEADER) / 16; i++)
		test_page_record(page, TEST_SWITCH, 1 + i * step, &pair, sizeof(pair));
	return test_page_end(page);
}

static void put_page(guint source, guint ring, const GByteArray *page)
{
	const struct rs_file_page entry = {
		.from = RS_RING_PAGE_HEADER,
		.to = page->len,
		.ring = ring,
	};

	must(rs_trace_writer_put_page(writer, source, page->data, &entry, NULL));
}

static void put_rings(guint size, guint sources, guint rings)
{
	g_autoptr(GByteArray) page = make_page(size, 1);

	for (guint source = 0; source < sources; source++) {
		put_source(source, rings);
		put_switch(source);
		for (guint ring = 0; ring < rings; ring++)
			put_page(source, ring, page);
	}
}

/* Rings whose pages pack well. */
static void put_pages(void)
{
	put_rings(RS_RING_PAGE_MAX, 2, 750);
}

/* As many rings as a reader takes. */
static void put_many_rings(void)
{
	put_rings(4096, 64, 1024);
}

/* Many small pages of few rings, in one window. */
static void put_small_pages(void)
{
	g_autoptr(GByteArray) page = make_page(80, 1);

	put_source(0, 64);
	put_switch(0);
	for (guint i = 0; i < 600000; i++)
		put_page(0, i % 64, page);
}

static void put_sources(guint n, guint events, gboolean alike)
{
	g_autoptr(GByteArray) page = make_page(80, 1);

	for (guint source = 0; source < n; source++) {
		g_autoptr(GByteArray) descs = g_byte_array_new();
		g_autofree char *prefix = g_strdup_printf("s%u_", alike ? 0 : source);

		put_source(source, 1);
		test_desc_switch(descs);
		for (guint i = 0; i < events; i++)
			add_event(descs, TEST_ALL + i, prefix, 8);
		if (events)
			put_provider(source, 0, descs);
		put_page(source, 0, page);
	}
}

static void put_alike(void)
{
	put_sources(3000, 20, TRUE);
}

static void put_unlike(void)
{
	put_sources(3000, 20, FALSE);
}

static void put_empty(void)
{
	put_sources(30000, 0, TRUE);
}

static void put_most(void)
{
	put_sources(65536, 0, TRUE);
}

/* One provider's descriptors, as many as a block can have. */
static void put_descriptors(void)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();

	put_source(0, 1);
	test_desc_switch(descs);
	for (guint id = TEST_ALL; id < 40000 && descs->len < RS_FILE_DESCS_MAX - 8192; id++)
		add_event(descs, id, "one_", 24);
	put_provider(0, 0, descs);
}

/* Many providers of one source that live all the time. */
static void put_providers(void)
{
	guint id = TEST_ALL;

	put_source(0, 1);
	for (guint slot = 0; slot < 500; slot++) {
		g_autoptr(GByteArray) descs = g_byte_array_new();
		g_autofree char *prefix = g_strdup_printf("p%u_", slot);

		for (guint i = 0; i < 100; i++)
			add_event(descs, id++, prefix, 24);
		put_provider(0, slot, descs);
	}
}

static void put_names(void)
{
	g_autofree struct rs_cmdline_entry *names = g_new0(struct rs_cmdline_entry, 65536);
	const RsTraceWriterTable table = {0, names, 65536, sizeof(*names), NULL, 0};

	for (guint i = 0; i < 65536; i++) {
		names[i] = test_task(i, 1, "name");
		names[i].sequence = 2;
	}
	for (guint source = 0; source < 15; source++) {
		put_source(source, 1);
		must(rs_trace_writer_put_table(writer, RS_FILE_NAMES, source, &table, NULL));
	}
}

static void put_clocks(void)
{
	g_autofree struct rs_clock_epoch *epochs = g_new0(struct rs_clock_epoch, 65536);
	const RsTraceWriterTable table = {65536, epochs, 65536, sizeof(*epochs), NULL, 0};

	for (guint i = 0; i < 65536; i++)
		epochs[i] = (struct rs_clock_epoch){
			.index = i, .chain = i, .tsc_base = i, .ns_base = i, .mult = 1};
	for (guint source = 0; source < 15; source++) {
		put_source(source, 1);
		must(rs_trace_writer_put_table(writer, RS_FILE_CLOCK, source, &table, NULL));
	}
}

static const struct {
	const char *name;
	void (*put)(void);
} kinds[] = {
	{"pages", put_pages},
	{"rings", put_many_rings},
	{"small-pages", put_small_pages},
	{"sources-alike", put_alike},
	{"sources", put_unlike},
	{"empty-sources", put_empty},
	{"most-sources", put_most},
	{"provider", put_descriptors},
	{"providers", put_providers},
	{"names", put_names},
	{"clocks", put_clocks},
};

int main(int argc, char **argv)
{
	const RsTraceWriterConfig config = {.compression = 3};
	g_autoptr(GFile) file = g_file_new_for_path(argc > 2 ? argv[2] : "trace");
	g_autoptr(GFileOutputStream) stream =
		g_file_replace(file, NULL, FALSE, G_FILE_CREATE_NONE, NULL, NULL);

	writer = rs_trace_writer_new(G_OUTPUT_STREAM(stream), &config, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (argc > 1 && !strcmp(argv[1], kinds[i].name))
			kinds[i].put();
	must(rs_trace_writer_end_window(writer, 1u << 30, NULL));
	must(rs_trace_writer_close(writer, NULL));
	rs_trace_writer_free(writer);
	return 0;
}
