/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace file for the tests of exporters: export-sample FILE.
 *
 * Two sources with hostile names, events with fields of every kind and size and the worst names and
 * values, spans and counters, a provider that comes back with other events under the same ids,
 * losses at the beginning, in the middle and at the end of a ring, cut records, unknown ones, and
 * two boots. It is always the same file.
 */
#include "build.h"
#include "rs-trace-writer.h"

#include <string.h>

#define RINGS 3u
#define PAGE_MAX 16000u
#define ROUNDS 60u
#define WORDS_N 16u /* fields of `words` before its list */

/* Ids of what "fields" adds to TEST_SWITCH, TEST_ALL and the next one. */
enum {
	LATER = TEST_ALL + 1,
	SIZES,
	ARRAYS,
	WORDS,
	EMPTY,
	SPAN_BEGIN,
	SPAN_END,
	COUNTER,
	REUSED,
	UNKNOWN = 3000,
};

typedef struct {
	RsTraceWriter *writer;
	GRand *random;
	guint source;
	guint32 boot;
	guint64 now;
	TestPage *page; /* of ring `ring`; NULL: none is open */
	guint ring, page_bytes;
	guint64 lost; /* before the page */
	guint64 seq[RINGS], records[RINGS];
} Sample;

static void must(gboolean done)
{
	if (!done)
		g_error("the sample cannot be written");
}

/* ---- pages ---- */

static void end_page(Sample *s)
{
	struct rs_file_page entry = {.lost = s->lost, .from = RS_RING_PAGE_HEADER, .ring = s->ring};
	g_autoptr(GByteArray) bytes = NULL;

	if (!s->page)
		return;
	bytes = test_page_end(g_steal_pointer(&s->page));
	entry.to = bytes->len;
	must(rs_trace_writer_put_page(s->writer, s->source, bytes->data, &entry, NULL));
	s->lost = 0;
}

static void begin_page(Sample *s, guint ring)
{
	struct rs_ring_page *head;

	end_page(s);
	s->ring = ring;
	s->page_bytes = RS_RING_PAGE_HEADER;
	s->page = test_page_new(ring, s->seq[ring]++, s->now, 100 + ring, 0);
	head = test_page_header(s->page);
	head->records = s->records[ring];
	head->boot = s->boot;
	head->tgid = ring == 1 ? 90 : 0;
}

static void put(Sample *s, guint id, const GByteArray *payload)
{
	gsize size = payload ? payload->len : 0;

	if (s->page_bytes + size + 16 > PAGE_MAX)
		begin_page(s, s->ring);
	s->page_bytes += (guint)size + 16;
	s->now += 100 + (guint)g_rand_int_range(s->random, 0, 3000);
	test_page_record(s->page, id, (guint32)s->now, size ? payload->data : NULL, size);
	s->records[s->ring]++;
}

/* ---- descriptors ---- */

static void describe_sizes(GByteArray *out)
{
	static const struct {
		const char *letter;
		guint kind;
	} kinds[] = {{"u", RS_KIND_UINT},
		     {"s", RS_KIND_SINT},
		     {"x", RS_KIND_HEX},
		     {"e", RS_KIND_ENUM},
		     {"f", RS_KIND_FLAGS}};
	TestDesc *desc = test_desc_new(SIZES, "test.all-1", "sizes-of.every_kind");

	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		for (guint size = 1; size <= 8; size *= 2) {
			g_autofree char *name = g_strdup_printf("%s%u", kinds[i].letter, size * 8);

			test_desc_int(desc, name, kinds[i].kind, size);
			if (kinds[i].kind < RS_KIND_ENUM)
				continue;
			test_desc_symbol(desc, 1, "one");
			test_desc_symbol(desc, 2, "\"; }; evil \\\" { \\");
			test_desc_symbol(desc, 4, "\303\274ber */ /* //");
			test_desc_symbol(desc, 128, "%s \\x41 \\n");
			test_desc_symbol(desc, G_MAXUINT64, "all");
		}
	test_desc_int(desc, "p", RS_KIND_POINTER, 8);
	test_desc_int(desc, "no_names", RS_KIND_ENUM, 4);
	test_desc_end(desc, NULL, NULL, out);
}

static void describe_arrays(GByteArray *out)
{
	TestDesc *desc = test_desc_new(ARRAYS, "test.all-1", "arrays");

	for (guint flags = 0; flags <= (RS_FIELD_SIGNED | RS_FIELD_HEX); flags++)
		for (guint size = 1; size <= 8; size *= 2) {
			g_autofree char *fixed = g_strdup_printf("a%u_%u", size * 8, flags);
			g_autofree char *dynamic = g_strdup_printf("d%u_%u", size * 8, flags);

			test_desc_array(desc, fixed, RS_KIND_ARRAY, size, 3, flags);
			test_desc_array(desc, dynamic, RS_KIND_DYN_ARRAY, size, 0, flags);
		}
	test_desc_array(desc, "text", RS_KIND_STRING, 1, 16, 0);
	test_desc_array(desc, "dyn_text", RS_KIND_DYN_STRING, 0, 0, 0);
	test_desc_end(desc, NULL, NULL, out);
}

/* Names that mean something in TSDL, protobuf or JSON, or look like what an exporter adds. */
static void describe_words(GByteArray *out)
{
	static const char *const names[WORDS_N] = {
		"event", "struct",      "Bool",       "string",     "integer",     "_",
		"__x",   "list_length", "id",         "timestamp",  "constructor", "name",
		"ph",    "ts",          "common_pid", "_common_pid"};
	TestDesc *desc = test_desc_new(WORDS, "words", "clock");

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		test_desc_int(desc, names[i], RS_KIND_UINT, 4);
	test_desc_array(desc, "list", RS_KIND_DYN_ARRAY, 4, 0, 0);
	test_desc_end(desc, NULL, NULL, out);
}

static void describe_one(GByteArray *out, guint id, const char *name, const char *field)
{
	TestDesc *desc = test_desc_new(id, "span", name);

	if (field)
		test_desc_int(desc, field, RS_KIND_SINT, 4);
	test_desc_end(desc, NULL, NULL, out);
}

/* Its ids mean its events from now on. */
static void put_provider(Sample *s, guint slot, GByteArray *descs)
{
	struct rs_provider entry;
	RsTraceWriterTable table = {slot, &entry, 1, sizeof(entry), NULL, 0};

	test_provider(&entry, slot, descs);
	if (s->boot > 1) { /* that of the boot before has died */
		entry.sequence = 4;
		entry.state = RS_PROVIDER_DEAD;
		entry.until = s->now;
		must(rs_trace_writer_put_table(s->writer, RS_FILE_PROVIDER, s->source, &table,
					       NULL));
		entry.state = RS_PROVIDER_LIVE;
		entry.until = 0;
	}
	entry.sequence = 6 * s->boot;
	entry.generation = s->boot;
	entry.first_boot = entry.last_boot = s->boot;
	entry.since = s->boot > 1 ? s->now : 0;
	table.data = descs->data;
	table.data_size = descs->len;
	must(rs_trace_writer_put_table(s->writer, RS_FILE_PROVIDER, s->source, &table, NULL));
}

static void describe(Sample *s)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();

	test_desc_switch(descs);
	test_desc_all(descs);
	test_desc_later(descs);
	describe_sizes(descs);
	describe_arrays(descs);
	describe_words(descs);
	describe_one(descs, EMPTY, "empty", NULL);
	describe_one(descs, SPAN_BEGIN, "io_begin", "number");
	describe_one(descs, SPAN_END, "io_end", "number");
	describe_one(descs, COUNTER, "load", "value");
	put_provider(s, 0, descs);
}

/* The same id means another event in the second boot. */
static void describe_reused(Sample *s)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();

	describe_one(descs, REUSED, s->boot > 1 ? "second" : "first", s->boot > 1 ? "b" : "a");
	put_provider(s, 1, descs);
}

/* ---- payloads ---- */

static void put_sizes(Sample *s)
{
	g_autoptr(GByteArray) payload = g_byte_array_new();
	static const guint64 values[] = {0, 1, 2, 3, 4, 5, 127, 128, 255, 0x8000, G_MAXUINT64};

	for (guint kind = 0; kind < 5; kind++)
		for (guint size = 1; size <= 8; size *= 2) {
			guint i = (guint)g_rand_int_range(s->random, 0, G_N_ELEMENTS(values) + 1);
			guint64 value = i < G_N_ELEMENTS(values)
						? values[i]
						: (guint64)g_rand_int(s->random) << 32 |
							  g_rand_int(s->random);

			if (size < 8)
				value &= (G_GUINT64_CONSTANT(1) << 8 * size) - 1;
			test_put(payload, value, size);
		}
	test_put(payload, 0xffff800000000000 | g_rand_int(s->random), 8);
	test_put(payload, g_rand_int(s->random) % 3, 4);
	put(s, SIZES, payload);
}

static const char *const texts[] = {"",
				    "plain",
				    "=cmd|' /C calc'!A0",
				    "\033[31mred\007",
				    "a,b;\"c\"\n",
				    "\xff\xfe",
				    "\xc3\xbc\xe2\x82\xac",
				    "\xed\xa0\x80",
				    "\\x41\\",
				    "\xee\xbe\x80",
				    "tab\tcr\r",
				    "</script>",
				    "\xe2\x80\xae-rtl"};

static const char *any_text(Sample *s)
{
	return texts[g_rand_int_range(s->random, 0, G_N_ELEMENTS(texts))];
}

static void put_arrays(Sample *s)
{
	g_autoptr(GByteArray) fixed = g_byte_array_new(), tail = g_byte_array_new();
	/* Of each locator: its place << 16 | where its bytes are in `tail`; how many these are. */
	GArray *places = g_array_new(FALSE, FALSE, sizeof(guint32));
	const char *text;
	char field[16] = "";

	for (guint flags = 0; flags < 4; flags++)
		for (guint size = 1; size <= 8; size *= 2) {
			guint32 count = (guint32)g_rand_int_range(s->random, 0, 5);
			guint32 where[2] = {tail->len, count * size};

			for (guint i = 0; i < 3; i++)
				test_put(fixed, g_rand_int(s->random) * 0x100000001ull, size);
			test_put(fixed, 0, 4);
			where[0] |= (fixed->len - 4) << 16;
			g_array_append_vals(places, where, 2);
			for (guint i = 0; i < count * size; i++)
				g_byte_array_append(tail, &(guint8){(guint8)g_rand_int(s->random)},
						    1);
		}
	text = any_text(s);
	memcpy(field, text, MIN(strlen(text), sizeof(field)));
	g_byte_array_append(fixed, (const guint8 *)field, sizeof(field));
	text = any_text(s);
	test_put(fixed, 0, 4);
	*(guint32 *)(fixed->data + fixed->len - 4) =
		rs_locator(fixed->len + tail->len, (guint32)strlen(text) + 1);
	test_put_text(tail, text);
	for (guint i = 0; i < places->len; i += 2) {
		guint32 where = g_array_index(places, guint32, i);
		guint32 locator = rs_locator(fixed->len + (where & 0xffff),
					     g_array_index(places, guint32, i + 1));

		memcpy(fixed->data + (where >> 16), &locator, 4);
	}
	g_byte_array_append(fixed, tail->data, tail->len);
	g_array_unref(places);
	put(s, ARRAYS, fixed);
}

static void put_words(Sample *s)
{
	g_autoptr(GByteArray) payload = g_byte_array_new();

	for (guint32 i = 0; i < WORDS_N; i++)
		test_put(payload, i, 4);
	test_put(payload, rs_locator(4 * (WORDS_N + 1), 8), 4);
	test_put(payload, 7, 4);
	test_put(payload, 8, 4);
	put(s, WORDS, payload);
}

static void put_number(Sample *s, guint id, gint32 value)
{
	g_autoptr(GByteArray) payload = g_byte_array_new();

	test_put(payload, (guint32)value, 4);
	put(s, id, payload);
}

static void put_switch(Sample *s, guint32 prev, guint32 next)
{
	g_autoptr(GByteArray) payload = g_byte_array_new();

	test_put(payload, prev, 4);
	test_put(payload, next, 4);
	put(s, TEST_SWITCH, payload);
}

static void put_all(Sample *s, guint id, GByteArray *payload)
{
	put(s, id, payload);
	g_byte_array_unref(payload);
}

/* The end is missing: of the entry, or of what a locator names; or a locator says that it is. */
static void put_cut(Sample *s)
{
	g_autoptr(GByteArray) payload = test_payload_all();
	gint size = g_rand_int_range(s->random, 0, (gint32)payload->len);

	if (g_rand_boolean(s->random))
		test_cut_payload_all(payload);
	g_byte_array_set_size(payload, (guint)size);
	put(s, TEST_ALL, payload);
}

/* ---- sources ---- */

static void put_source(Sample *s, guint number, const char *name)
{
	struct rs_file_source info = {
		.size = sizeof(info), .ring_count = RINGS, .ring_pages = 4, .number = number};

	s->source = number;
	s->boot = 1;
	memset(s->seq, 0, sizeof(s->seq));
	memset(s->records, 0, sizeof(s->records));
	info.arch = 1;
	g_strlcpy(info.name, name, sizeof(info.name));
	g_strlcpy(info.kind, "kvm", sizeof(info.kind));
	must(rs_trace_writer_put(s->writer, RS_FILE_SOURCE, number, &info, sizeof(info), NULL));
}

static void put_names(Sample *s)
{
	static const char *const comms[] = {"init", "=2+3", "\xff\"\\,\n"};

	for (guint i = 0; i < G_N_ELEMENTS(comms); i++) {
		struct rs_cmdline_entry entry = test_task(100 + i, 1, comms[i]);
		const RsTraceWriterTable table = {0, &entry, 1, sizeof(entry), NULL, 0};

		must(rs_trace_writer_put_table(s->writer, RS_FILE_NAMES, s->source, &table, NULL));
	}
}

/* Of the next record. */
static void put_stack(Sample *s, guint n)
{
	struct rs_rec_stack head = {.id = RS_REC_STACK, .size = (uint16_t)(8 + 8 * n)};
	g_autoptr(GByteArray) mark = g_byte_array_new();

	g_byte_array_append(mark, (const guint8 *)&head, sizeof(head));
	for (guint i = 0; i < n; i++)
		test_put(mark, G_GUINT64_CONSTANT(0xffffffff81000000) + i * 0x123, 8);
	test_page_raw(s->page, mark->data, mark->len);
	s->page_bytes += mark->len;
}

/* What page headers of rings other than 1 leave open. */
static void put_group(Sample *s, guint32 tgid)
{
	const struct rs_rec_tgid mark = {RS_REC_TGID, sizeof(mark), tgid};

	test_page_raw(s->page, (const guint8 *)&mark, sizeof(mark));
	s->page_bytes += sizeof(mark);
}

static void put_round(Sample *s, guint round)
{
	begin_page(s, round % RINGS);
	if (round % 7 == 3)
		s->lost = round + (round == 10 ? G_GUINT64_CONSTANT(1) << 40 : 0);
	test_page_context(s->page, 100 + round % 5, round * 0x0153);
	put_number(s, SPAN_BEGIN, (gint32)round);
	put_stack(s, 1 + round % 9);
	put_switch(s, 100 + round % 5, 100 + (round + 1) % 5);
	put_sizes(s);
	put_arrays(s);
	put_words(s);
	if (round % 6 == 2)
		put_group(s, 91);
	put_all(s, TEST_ALL, test_payload_all());
	put_all(s, LATER, test_payload_later());
	put(s, EMPTY, NULL);
	put_number(s, COUNTER, (gint32)(round * 1000) - 20000);
	if (round % 3 == 0)
		put_cut(s);
	if (round % 4 == 0)
		put_number(s, UNKNOWN, -1);
	put_number(s, REUSED, (gint32)round);
	put_number(s, SPAN_END, (gint32)round);
	end_page(s);
}

static void put_fields(Sample *s)
{
	static const char *const names[] = {"vm\"; }; \033 \\ /../x\xff", "two"};
	const struct rs_file_lost lost = {.lost = 77, .ring = 2};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		s->now = 1000000000;
		put_source(s, i + 1, names[i]);
		put_names(s);
		s->lost = i ? 0 : 5; /* before its first record */
		for (guint round = 0; round < ROUNDS; round++) {
			s->boot = round < ROUNDS / 2 ? 1 : 2;
			if (round % (ROUNDS / 2) == 0) {
				describe(s);
				describe_reused(s);
			}
			put_round(s, round);
		}
		must(rs_trace_writer_put(s->writer, RS_FILE_LOST, s->source, &lost, sizeof(lost),
					 NULL));
	}
	must(rs_trace_writer_end_window(s->writer, G_MAXUINT64, NULL));
}

int main(int argc, char **argv)
{
	const RsTraceWriterConfig config = {.origin_ns = 5000, .wall_ns = 1700000000123456789};
	g_autoptr(GFile) file = g_file_new_for_path(argc > 1 ? argv[1] : "/");
	g_autoptr(GFileOutputStream) stream =
		g_file_replace(file, NULL, FALSE, G_FILE_CREATE_NONE, NULL, NULL);
	Sample sample = {.random = g_rand_new_with_seed(7)};

	if (!stream)
		g_error("usage: export-sample FILE");
	sample.writer = rs_trace_writer_new(G_OUTPUT_STREAM(stream), &config, NULL);
	put_fields(&sample);
	must(rs_trace_writer_close(sample.writer, NULL));
	rs_trace_writer_free(sample.writer);
	g_rand_free(sample.random);
	return 0;
}
