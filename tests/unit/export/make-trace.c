/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace file with fields of every kind and size and every conversion, from random numbers,
 * for tests that compare what other tools show of it.
 *
 *	make-trace OUT [SOURCES [EVENTS [SEED]]]	every kind
 *	make-trace --hostile OUT [SOURCES [EVENTS [SEED]]]	cut records, any bytes
 *	make-trace --flat OUT EVENTS	two integers and a string, for benchmarks
 */
#include "rs-trace-writer.h"
#include "build.h"

#include <ringside/region.h>
#include <stdlib.h>
#include <string.h>

#define RINGS 3u
#define PAGE 4096u
#define PAYLOAD_MAX 1500u
#define KINDS 6u /* events */

typedef struct {
	RsTraceWriter *writer;
	GRand *rand;
	guint source;
	guint64 ns;
	guint64 seq[RINGS], records[RINGS];
	TestPage *page[RINGS];
	gsize used[RINGS];
	guint64 lost[RINGS];
	gboolean hostile;
} Maker;

static void check(gboolean ok, GError *error)
{
	if (!ok)
		g_error("%s", error->message);
}

static void put_table(Maker *m, guint kind, const RsTraceWriterTable *table)
{
	g_autoptr(GError) error = NULL;

	check(rs_trace_writer_put_table(m->writer, kind, m->source, table, &error), error);
}

/* ---- descriptors ---- */

static void desc_integers(GByteArray *out)
{
	static const guint sizes[] = {1, 2, 4, 8};
	TestDesc *desc = test_desc_new(TEST_ALL + 10, "every", "integers");
	GString *print = g_string_new(NULL), *args = g_string_new(NULL);
	static const char *const unsigned_ways[] = {"%u",  "%5d", "%-7u|", "%08x",
						    "%#x", "%X",  "%#o",   "%.4u"};
	static const char *const signed_ways[] = {"%d", "%6i", "%-7d|", "%06d", "%u", "%x"};

	for (guint i = 0; i < 4; i++) {
		g_autofree char *u = g_strdup_printf("u%u", sizes[i]);
		g_autofree char *s = g_strdup_printf("s%u", sizes[i]);
		g_autofree char *x = g_strdup_printf("x%u", sizes[i]);

		test_desc_int(desc, u, RS_KIND_UINT, sizes[i]);
		test_desc_int(desc, s, RS_KIND_SINT, sizes[i]);
		test_desc_int(desc, x, RS_KIND_HEX, sizes[i]);
		for (guint k = 0; k < G_N_ELEMENTS(unsigned_ways); k++) {
			g_string_append_printf(print, "%s ", unsigned_ways[k]);
			g_string_append_printf(args, "%s, ", k % 2 ? u : x);
		}
		for (guint k = 0; k < G_N_ELEMENTS(signed_ways); k++) {
			g_string_append_printf(print, "%s ", signed_ways[k]);
			g_string_append_printf(args, "%s, ", s);
		}
		g_string_append(print, "%hd %hhu %hu ");
		g_string_append_printf(args, "%s, %s, %s, ", s, u, s);
	}
	test_desc_int(desc, "p", RS_KIND_POINTER, 8);
	g_string_append(print, "%p %-20p|%c%c 100%%");
	g_string_append(args, "p, p, u1, x4");
	test_desc_end(desc, print->str, args->str, out);
	g_string_free(print, TRUE);
	g_string_free(args, TRUE);
}

static void desc_symbols(GByteArray *out)
{
	static const guint sizes[] = {1, 2, 4, 8};
	TestDesc *desc = test_desc_new(TEST_ALL + 11, "every", "symbols.of-all");

	for (guint i = 0; i < 4; i++) {
		g_autofree char *e = g_strdup_printf("e%u", sizes[i]);
		g_autofree char *f = g_strdup_printf("f%u", sizes[i]);

		test_desc_int(desc, e, RS_KIND_ENUM, sizes[i]);
		for (guint k = 0; k < 5; k++) {
			g_autofree char *name = g_strdup_printf("%s VALUE%u", e, k);

			test_desc_symbol(desc, k * k, name);
		}
		test_desc_int(desc, f, RS_KIND_FLAGS, sizes[i]);
		for (guint k = 0; k < 5; k++) {
			g_autofree char *name = g_strdup_printf("BIT%u", k);

			test_desc_symbol(desc, 1u << k, name);
		}
	}
	test_desc_int(desc, "bare", RS_KIND_ENUM, 4);
	test_desc_int(desc, "bits", RS_KIND_FLAGS, 4);
	test_desc_end(desc, "%s,%s,%s;%s %s %s \"%s\" \\%s %s %s %d %x",
		      "e1, e2, e4, e8, f1, f2, f4, f8, bare, bits, e4, f2", out);
}

static void desc_arrays(GByteArray *out)
{
	static const guint sizes[] = {1, 2, 4, 8};
	static const guint flags[] = {0, RS_FIELD_SIGNED, RS_FIELD_HEX};
	TestDesc *desc = test_desc_new(TEST_ALL + 12, "every", "arrays");
	GString *print = g_string_new(NULL), *args = g_string_new(NULL);

	for (guint i = 0; i < 12; i++) {
		g_autofree char *name = g_strdup_printf("a%u", i);

		test_desc_array(desc, name, RS_KIND_ARRAY, sizes[i % 4], 1 + i, flags[i / 4]);
		g_string_append_printf(print, "%s=%%s ", name);
		g_string_append_printf(args, "%s%s", i ? ", " : "", name);
	}
	test_desc_end(desc, print->str, args->str, out);
	g_string_free(print, TRUE);
	g_string_free(args, TRUE);
}

static void desc_texts(GByteArray *out)
{
	TestDesc *desc = test_desc_new(TEST_ALL + 13, "texts", "strings");

	test_desc_array(desc, "one", RS_KIND_STRING, 1, 1, 0);
	test_desc_array(desc, "eight", RS_KIND_STRING, 1, 8, 0);
	test_desc_array(desc, "name", RS_KIND_STRING, 1, 30, 0);
	test_desc_array(desc, "a", RS_KIND_DYN_STRING, 0, 0, 0);
	test_desc_array(desc, "b", RS_KIND_DYN_STRING, 0, 0, 0);
	test_desc_array(desc, "c", RS_KIND_DYN_STRING, 0, 0, 0);
	test_desc_end(desc, "<%s> <%10s> <%-32s> a=%s b=%.3s c=%s", "one, eight, name, a, b, c",
		      out);
}

static void desc_dynamic(GByteArray *out)
{
	static const guint sizes[] = {1, 2, 4, 8};
	static const guint flags[] = {0, RS_FIELD_HEX};
	TestDesc *desc = test_desc_new(TEST_ALL + 14, "texts", "lists");
	GString *print = g_string_new(NULL), *args = g_string_new(NULL);

	for (guint i = 0; i < 8; i++) {
		g_autofree char *name = g_strdup_printf("d%u", i);

		test_desc_array(desc, name, RS_KIND_DYN_ARRAY, sizes[i % 4], 0, flags[i / 4]);
		g_string_append_printf(print, "%s=%%s ", name);
		g_string_append_printf(args, "%s%s", i ? ", " : "", name);
	}
	test_desc_end(desc, print->str, args->str, out);
	g_string_free(print, TRUE);
	g_string_free(args, TRUE);
}

static void desc_bare(GByteArray *out)
{
	TestDesc *desc = test_desc_new(TEST_ALL + 15, "texts", "nothing");

	test_desc_end(desc, "nothing to see, na\xc3\xafve \\ \"quoted\"", "", out);
}

static void desc_flat(GByteArray *out)
{
	TestDesc *desc = test_desc_new(TEST_ALL + 10, "flat", "event");

	test_desc_int(desc, "prev", RS_KIND_UINT, 4);
	test_desc_int(desc, "next", RS_KIND_UINT, 4);
	test_desc_array(desc, "comm", RS_KIND_STRING, 1, 16, 0);
	test_desc_end(desc, "prev=%u next=%u comm=%s", "prev, next, comm", out);
}

/* ---- payloads ---- */

static guint64 any(Maker *m)
{
	guint64 value = (guint64)g_rand_int(m->rand) << 32 | g_rand_int(m->rand);

	/* Small values are as common as large ones, of both signs. */
	switch (g_rand_int_range(m->rand, 0, 4)) {
	case 0:
		return value;
	case 1:
		return value % 40;
	case 2:
		return -(value % 300);
	default:
		return value >> g_rand_int_range(m->rand, 0, 64);
	}
}

static void put_dynamic(Maker *m, GByteArray *payload, guint at, guint length, gboolean text)
{
	guint32 locator = rs_locator(payload->len, length + text);

	memcpy(payload->data + at, &locator, sizeof(locator));
	for (guint i = 0; i < length; i++) {
		guint8 c = (guint8)any(m);

		if (text)
			c = (guint8)g_rand_int_range(m->rand, 0x21, 0x7f);
		g_byte_array_append(payload, &c, 1);
	}
	if (text)
		g_byte_array_append(payload, (const guint8 *)"", 1);
}

/* The bytes of an event's entry as the schema lays it out, filled by kind. */
static GByteArray *make_payload(Maker *m, const RsTraceEvent *event)
{
	GByteArray *payload = g_byte_array_new();

	g_byte_array_set_size(payload, event->entry_size);
	if (payload->len)
		memset(payload->data, 0, payload->len);
	for (guint i = 0; i < event->n_fields; i++) {
		const RsTraceField *field = &event->fields[i];
		guint64 value = any(m);
		guint length = (guint)(value % 20);

		switch (field->kind) {
		case RS_KIND_ARRAY:
			for (guint k = 0; k < field->size; k++)
				payload->data[field->offset + k] = (guint8)any(m);
			break;
		case RS_KIND_STRING:
			for (guint k = 0; k < MIN(field->size, length); k++)
				payload->data[field->offset + k] =
					(guint8)g_rand_int_range(m->rand, 0x21, 0x7f);
			break;
		case RS_KIND_DYN_ARRAY:
			put_dynamic(m, payload, field->offset, length * field->elem_size, FALSE);
			break;
		case RS_KIND_DYN_STRING:
			put_dynamic(m, payload, field->offset, length, TRUE);
			break;
		default:
			memcpy(payload->data + field->offset, &value, field->size);
		}
	}
	return payload;
}

/* ---- pages ---- */

static void end_page(Maker *m, guint ring)
{
	struct rs_file_page entry = {
		.lost = m->lost[ring], .from = RS_RING_PAGE_HEADER, .ring = ring};
	g_autoptr(GByteArray) bytes = NULL;
	g_autoptr(GError) error = NULL;

	if (!m->page[ring])
		return;
	bytes = test_page_end(g_steal_pointer(&m->page[ring]));
	entry.to = bytes->len;
	check(rs_trace_writer_put_page(m->writer, m->source, bytes->data, &entry, &error), error);
	m->lost[ring] = 0;
}

/* Addresses of the text of a guest, of which none has a name here. */
static void put_stack(Maker *m, guint ring, guint n)
{
	struct rs_rec_stack head = {.id = RS_REC_STACK, .size = (uint16_t)(8 + 8 * n)};
	g_autoptr(GByteArray) mark = g_byte_array_new();

	g_byte_array_append(mark, (const guint8 *)&head, sizeof(head));
	for (guint i = 0; i < n; i++) {
		guint64 frame = 0xffffffff81000000 + any(m) % 5000;

		g_byte_array_append(mark, (const guint8 *)&frame, sizeof(frame));
	}
	test_page_raw(m->page[ring], mark->data, mark->len);
}

static void put_record(Maker *m, guint ring, guint id, guint pid, guint context,
		       const GByteArray *payload)
{
	guint n_stack = g_rand_int_range(m->rand, 0, 8) ? 0 : 1 + pid % 5;
	gsize size = 32 + 8 * n_stack + ((payload->len + 15) & ~7u);

	if (m->page[ring] && m->used[ring] + size > PAGE)
		end_page(m, ring);
	if (!m->page[ring]) {
		m->page[ring] = test_page_new(ring, m->seq[ring]++, m->ns, pid, context);
		test_page_header(m->page[ring])->records = m->records[ring];
		m->used[ring] = RS_RING_PAGE_HEADER;
	}
	test_page_context(m->page[ring], pid, context);
	test_page_time(m->page[ring], 0, m->ns);
	m->used[ring] += size;
	if (m->used[ring] > PAGE)
		g_error("a record is too large");
	if (n_stack)
		put_stack(m, ring, n_stack);
	test_page_record(m->page[ring], id, (guint32)m->ns, payload->data, payload->len);
	m->records[ring]++;
}

static void lose(Maker *m, guint ring, guint64 n)
{
	end_page(m, ring);
	m->lost[ring] = n;
	m->records[ring] += n;
}

/* ---- a file ---- */

static void put_start(Maker *m, guint source, GByteArray *descs, gboolean flat)
{
	struct rs_file_source info = {.size = sizeof(info),
				      .ring_count = RINGS,
				      .ring_pages = 64,
				      .ring_page_size = PAGE,
				      .number = source + 1,
				      .session_id = 0x1234};
	struct rs_boot boots[RS_BOOTS] = {0};
	struct rs_provider provider;
	g_autoptr(GError) error = NULL;

	m->source = source;
	g_snprintf(info.name, sizeof(info.name), "guest%u", source);
	check(rs_trace_writer_put(m->writer, RS_FILE_SOURCE, source, &info, sizeof(info), &error),
	      error);
	boots[1] = (struct rs_boot){.boot = 1};
	put_table(m, RS_FILE_BOOTS,
		  &(RsTraceWriterTable){1000000000, boots, RS_BOOTS, sizeof(struct rs_boot), NULL,
					0});
	if (flat) {
		desc_flat(descs);
	} else {
		desc_integers(descs);
		desc_symbols(descs);
		desc_arrays(descs);
		desc_texts(descs);
		desc_dynamic(descs);
		desc_bare(descs);
	}
	test_provider(&provider, 0, descs);
	put_table(
		m, RS_FILE_PROVIDER,
		&(RsTraceWriterTable){0, &provider, 1, sizeof(provider), descs->data, descs->len});
	for (guint pid = 1; pid < 8; pid++) {
		g_autofree char *comm = g_strdup_printf("task %u", pid);
		struct rs_cmdline_entry entry = test_task(pid, 1, comm);

		put_table(m, RS_FILE_NAMES,
			  &(RsTraceWriterTable){0, &entry, 1, sizeof(entry), NULL, 0});
	}
}

/* As a guest may write it: without its end, or with any bytes in it. */
static void spoil(Maker *m, GByteArray *payload)
{
	if (!payload->len)
		return;
	if (!g_rand_int_range(m->rand, 0, 3))
		g_byte_array_set_size(payload,
				      (guint)g_rand_int_range(m->rand, 0, (gint)payload->len));
	for (gint i = g_rand_int_range(m->rand, 0, 20); i && payload->len; i--)
		payload->data[g_rand_int_range(m->rand, 0, (gint)payload->len)] = (guint8)any(m);
}

static void put_events(Maker *m, const RsTraceSchema *schema, guint n)
{
	g_autoptr(GByteArray) odd = g_byte_array_new();

	g_byte_array_append(odd, (const guint8 *)"odd", 3);
	for (guint i = 0; i < n; i++) {
		guint ring = (guint)g_rand_int_range(m->rand, 0, RINGS);
		const RsTraceEvent *event = rs_trace_schema_nth_of(schema, 0, i % KINDS);
		guint context =
			g_rand_int(m->rand) &
			(RS_CTX_IRQS_OFF | RS_CTX_NEED_RESCHED | RS_CTX_HARDIRQ | RS_CTX_SOFTIRQ |
			 0xf << RS_CTX_PREEMPT_SHIFT | 7 << RS_CTX_MIGRATE_SHIFT);
		g_autoptr(GByteArray) payload = make_payload(m, event);

		if (m->hostile)
			spoil(m, payload);
		m->ns += 1 + any(m) % (g_rand_int_range(m->rand, 0, 50) ? 100000u : 1000000000000u);
		if (!g_rand_int_range(m->rand, 0, 40))
			lose(m, ring, 1 + any(m) % 1000);
		put_record(m, ring, event->id, (guint)g_rand_int_range(m->rand, 0, 9), context,
			   payload);
		if (!(i % 100))
			put_record(m, ring, 999, 3, 0, odd);
	}
	for (guint ring = 0; ring < RINGS; ring++)
		end_page(m, ring);
}

static void put_flat(Maker *m, guint n)
{
	guint8 payload[24] = {0};
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < n;) {
		guint ring = (i / 90) % 2;
		TestPage *page = test_page_new(ring, m->seq[ring]++, m->ns, 1 + i / 90 % 7, 0);

		test_page_header(page)->records = m->records[ring];
		for (guint k = 0; k < 90 && i < n; k++, i++, m->ns += 250) {
			memcpy(payload, &i, sizeof(i));
			memcpy(payload + 4, &k, sizeof(k));
			g_snprintf((char *)payload + 8, 16, "worker/%u", k);
			test_page_record(page, TEST_ALL + 10, (guint32)m->ns, payload,
					 sizeof(payload));
			m->records[ring]++;
		}
		m->page[ring] = page;
		end_page(m, ring);
		if (rs_trace_writer_window_bytes(m->writer) > RS_FILE_WINDOW_BYTES / 2)
			check(rs_trace_writer_end_window(m->writer, m->ns, &error), error);
	}
}

static RsTraceWriter *open_writer(const char *path)
{
	static const RsTraceWriterConfig config = {.origin_ns = 1};
	g_autoptr(GFile) file = g_file_new_for_path(path);
	g_autoptr(GError) error = NULL;
	g_autoptr(GFileOutputStream) out =
		g_file_replace(file, NULL, FALSE, G_FILE_CREATE_NONE, NULL, &error);
	RsTraceWriter *writer;

	check(out != NULL, error);
	writer = rs_trace_writer_new(G_OUTPUT_STREAM(out), &config, &error);
	check(writer != NULL, error);
	return writer;
}

int main(int argc, char **argv)
{
	gboolean flat = argc > 1 && g_str_equal(argv[1], "--flat");
	gboolean hostile = argc > 1 && g_str_equal(argv[1], "--hostile");
	int at = 1 + (flat || hostile); /* of OUT */
	guint n_sources = !flat && argc > at + 1 ? (guint)atoi(argv[at + 1]) : 1;
	guint n = argc > at + 2 - flat ? (guint)atoi(argv[at + 2 - flat]) : 500;
	g_autoptr(GRand) rand =
		g_rand_new_with_seed(argc > at + 3 ? (guint32)atoi(argv[at + 3]) : 1);
	g_autoptr(RsTraceWriter) writer = NULL;
	g_autoptr(GError) error = NULL;
	Maker m = {.rand = rand, .hostile = hostile};

	if (argc <= at)
		return 2;
	m.writer = writer = open_writer(argv[at]);
	for (guint i = 0; i < n_sources; i++) {
		g_autoptr(GByteArray) descs = g_byte_array_new();
		g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();

		put_start(&m, i, descs, flat);
		test_take(schema, 0, descs);
		m.ns = 1000;
		memset(m.seq, 0, sizeof(m.seq));
		memset(m.records, 0, sizeof(m.records));
		if (flat)
			put_flat(&m, n);
		else
			put_events(&m, schema, n);
	}
	check(rs_trace_writer_close(writer, &error), error);
	return 0;
}
