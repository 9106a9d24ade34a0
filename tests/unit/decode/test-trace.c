/* SPDX-License-Identifier: MIT */
/* Pages through decoder, names, text and JSON: what each header promises. */
#include "rs-trace-cmdline.h"
#include "rs-trace-json.h"
#include "rs-trace-text.h"
#include "build.h"

#include <json-glib/json-glib.h>
#include <string.h>

typedef struct {
	RsTraceSchema *schema;
	RsTraceDecoder *decoder;
	GString *out;
	GByteArray *later; /* descriptors that the unknown callback adds */
	guint asked;
} Fixture;

static void show(const RsTraceRecord *record, gpointer data)
{
	Fixture *f = data;

	rs_trace_text_line(f->out, record, "task", 0);
}

static gboolean unknown(guint id, gpointer data)
{
	Fixture *f = data;

	f->asked++;
	if (f->later)
		rs_trace_schema_add(f->schema, f->later->data, f->later->len, NULL, NULL);
	return f->later != NULL;
}

static void set_up(Fixture *f, gconstpointer unused)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	test_desc_switch(bytes);
	f->schema = rs_trace_schema_new();
	rs_trace_schema_add(f->schema, bytes->data, bytes->len, NULL, NULL);
	f->decoder = rs_trace_decoder_new(4, f->schema, NULL, show, unknown, f);
	f->out = g_string_new(NULL);
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	rs_trace_decoder_free(f->decoder);
	rs_trace_schema_free(f->schema);
	g_string_free(f->out, TRUE);
	g_clear_pointer(&f->later, g_byte_array_unref);
}

static const guint32 pair[2] = {1, 2};

#define LINE(cpu, pid, flags, time)                                                                \
	"            task-" pid " [" cpu "] " flags " " time ": sched:switch: prev=1 next=2\n"

static void test_stream(Fixture *f, gconstpointer unused)
{
	TestPage *page = test_page_new(3, 0, 0x1fffff000, 42, 0);
	g_autoptr(GByteArray) bytes = NULL;

	test_page_record(page, 16, 0xfffff000, pair, sizeof(pair));
	test_page_record(page, 16, 0x10, pair, sizeof(pair)); /* the low half went round */
	test_page_context(page, 7,
			  RS_CTX_IRQS_OFF | RS_CTX_NEED_RESCHED | RS_CTX_HARDIRQ |
				  2 << RS_CTX_PREEMPT_SHIFT);
	test_page_time(page, G_GUINT64_CONSTANT(77000000123456));
	test_page_record(page, 16, (guint32)G_GUINT64_CONSTANT(77000000999999), pair, sizeof(pair));
	bytes = test_page_end(page);
	g_assert_true(rs_trace_decoder_push(f->decoder, 3, bytes->data, RS_RING_PAGE_HEADER,
					    bytes->len, 214));
	g_assert_cmpstr(f->out->str, ==,
			"CPU:3 [LOST 214 EVENTS]\n" LINE("003", "42     ", ".....", "    8.589930")
				LINE("003", "42     ", ".....", "    8.589934")
					LINE("003", "7      ", "dnh2.", "77000.000999"));
}

/* In pieces, by a decoder that saw the pieces before and by one that did not. */
static void test_pieces(Fixture *f, gconstpointer unused)
{
	TestPage *page = test_page_new(0, 5, 1000000, 1, 0);
	g_autoptr(GByteArray) bytes = NULL;
	g_autofree char *whole = NULL;

	test_page_record(page, 16, 1000000, pair, sizeof(pair));
	test_page_context(page, 9, RS_CTX_SOFTIRQ);
	test_page_record(page, 16, 2000000, pair, sizeof(pair));
	bytes = test_page_end(page);
	rs_trace_decoder_push(f->decoder, 0, bytes->data, RS_RING_PAGE_HEADER, bytes->len, 0);
	whole = g_strdup(f->out->str);
	g_string_truncate(f->out, 0);
	g_assert_true(rs_trace_decoder_push(f->decoder, 0, bytes->data, RS_RING_PAGE_HEADER,
					    RS_RING_PAGE_HEADER + 16, 0));
	g_assert_true(rs_trace_decoder_push(f->decoder, 0, bytes->data, RS_RING_PAGE_HEADER + 16,
					    bytes->len, 0));
	g_assert_cmpstr(f->out->str, ==, whole);
	g_string_truncate(f->out, 0);
	g_assert_true(rs_trace_decoder_push(f->decoder, 1, bytes->data, RS_RING_PAGE_HEADER + 16,
					    bytes->len, 0));
	g_assert_cmpstr(f->out->str, ==, LINE("001", "9      ", "..s..", "    0.002000"));
	/* A piece that begins inside a record. */
	g_assert_false(rs_trace_decoder_push(f->decoder, 2, bytes->data, RS_RING_PAGE_HEADER + 8,
					     bytes->len, 0));
}

static void test_malformed(Fixture *f, gconstpointer unused)
{
	static const struct rs_rec_header heads[] = {
		{.id = 16, .size = 7},
		{.id = 16, .size = 0x7fff},
		{.id = 3, .size = 8},
		{.id = RS_REC_TIME, .size = 8},
		{.id = RS_REC_TIME, .size = 16},
	};
	RsTraceDecoderStats stats;

	for (guint i = 0; i < G_N_ELEMENTS(heads); i++) {
		TestPage *page = test_page_new(0, i, 0, 1, 0);
		g_autoptr(GByteArray) bytes = NULL;

		test_page_record(page, 16, 0, pair, sizeof(pair));
		test_page_raw(page, &heads[i], sizeof(heads[i]));
		bytes = test_page_end(page);
		g_assert_false(rs_trace_decoder_push(f->decoder, 0, bytes->data,
						     RS_RING_PAGE_HEADER, bytes->len, 0));
	}
	rs_trace_decoder_stats(f->decoder, &stats);
	g_assert_cmpuint(stats.records, ==, G_N_ELEMENTS(heads));
	g_assert_cmpuint(stats.bad_pages, ==, G_N_ELEMENTS(heads));
}

static void test_unknown(Fixture *f, gconstpointer unused)
{
	TestPage *page = test_page_new(0, 0, 0, 1, 0);
	g_autoptr(GByteArray) payload = test_payload_all();
	g_autoptr(GByteArray) bytes = NULL;
	RsTraceDecoderStats stats;

	test_page_record(page, 17, 0, payload->data, payload->len);
	test_page_record(page, 99, 0, NULL, 0);
	bytes = test_page_end(page);
	rs_trace_decoder_push(f->decoder, 0, bytes->data, RS_RING_PAGE_HEADER, bytes->len, 0);
	g_assert_cmpuint(f->asked, ==, 1);
	g_assert_nonnull(strstr(f->out->str, ": #99: (unknown event, 0 bytes)\n"));
	f->later = g_byte_array_new();
	test_desc_all(f->later);
	g_string_truncate(f->out, 0);
	rs_trace_decoder_push(f->decoder, 0, bytes->data, RS_RING_PAGE_HEADER, bytes->len, 0);
	g_assert_nonnull(strstr(
		f->out->str,
		": demo:all: 100% u=18446744073709551615 s=-5 x=beef p=0xffff800012345678 "
		"S\"quoted\"|A|C mac={0x2,0x0,0x0,0xab,0xcd,0xef} <bash    > list={1,-2,300} "
		"why=done!\n"));
	rs_trace_decoder_stats(f->decoder, &stats);
	g_assert_cmpuint(stats.unknown, ==, 3);
}

/* Every prefix of the payload, with locators that point anywhere: nothing is read outside (ASan). */
static void test_hostile_payload(void)
{
	g_autoptr(GByteArray) descs = g_byte_array_new(), good = test_payload_all();
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(GString) out = g_string_new(NULL);
	RsTraceRecord record = {.id = 17};

	test_desc_all(descs);
	rs_trace_schema_add(schema, descs->data, descs->len, NULL, NULL);
	record.event = rs_trace_schema_by_id(schema, 17);
	for (guint size = 0; size <= good->len; size++) {
		g_autofree guint8 *payload = g_memdup2(good->data, size);

		record.payload = payload;
		record.size = size;
		rs_trace_text_line(out, &record, "x", 0);
		rs_trace_json_line(out, &record, "x");
		if (size >= 64) {
			memset(payload + 56, 0xff, 8);
			g_string_truncate(out, 0);
			rs_trace_text_line(out, &record, "x", 0);
			g_assert_nonnull(strstr(out->str, "list=(cut) why=(cut)\n"));
		}
	}
}

/* A line names the system, whether or not another has an event of that name, unless bare names are asked for. */
static void test_names(void)
{
	static const struct {
		const char *system, *name, *shown, *bare;
	} cases[] = {
		{"task", "exit", " task:exit: \n", " exit: \n"},
		{"syscalls", "exit", " syscalls:exit: \n", " exit: \n"},
		{"task", "fork", " task:fork: \n", " fork: \n"},
	};
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(GString) out = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GByteArray) descs = g_byte_array_new();
		RsTraceRecord record = {.id = 20 + i};

		test_desc_end(test_desc_new(20 + i, cases[i].system, cases[i].name), NULL, NULL,
			      descs);
		g_assert_cmpuint(rs_trace_schema_add(schema, descs->data, descs->len, NULL, NULL),
				 ==, descs->len);
		record.event = rs_trace_schema_by_id(schema, 20 + i);
		g_assert_nonnull(record.event);
		rs_trace_text_line(out, &record, "x", 0);
		g_assert_true(g_str_has_suffix(out->str, cases[i].shown));
		rs_trace_text_line(out, &record, "x", RS_TRACE_TEXT_SHORT);
		g_assert_true(g_str_has_suffix(out->str, cases[i].bare));
	}
}

/* The task's name is the guest's choice too. Columns are kept by what is printed. */
static void test_comm(void)
{
	static const struct {
		const char *comm, *shown;
	} cases[] = {
		{"sh", "              sh-7 "},
		{"0123456789abcdef", "0123456789abcdef-7 "},
		{"a\x1b\xff", "       a\\x1b\\xff-7 "},
		{"a\nb\nc\nd\ne", "a\\x0ab\\x0ac\\x0ad\\x0ae-7 "},
	};
	RsTraceRecord record = {.pid = 7, .id = 99};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GString) out = g_string_new("before\n");

		rs_trace_text_line(out, &record, cases[i].comm, 0);
		g_assert_true(g_str_has_prefix(out->str + 7, cases[i].shown));
	}
}

static void test_escapes(void)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(GString) out = g_string_new(NULL);
	static const char evil[24] = "a\x1b[2J\n\xc3\xa9\xff\xc2\x9b\"\\z";
	TestDesc *desc = test_desc_new(18, "x", "y");
	RsTraceRecord record = {.payload = (const guint8 *)evil, .size = sizeof(evil), .id = 18};
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *object;

	test_desc_array(desc, "s", RS_KIND_STRING, 1, sizeof(evil), 0);
	test_desc_end(desc, "\x1b%s\n", "s", descs);
	rs_trace_schema_add(schema, descs->data, descs->len, NULL, NULL);
	record.event = rs_trace_schema_by_id(schema, 18);
	rs_trace_text_message(out, &record);
	g_assert_cmpstr(out->str, ==, "\\x1ba\\x1b[2J\\x0a\xc3\xa9\\xff\\xc2\\x9b\"\\z\\x0a");
	g_string_truncate(out, 0);
	rs_trace_json_line(out, &record, "a\"\nb\\x0a");
	g_assert_true(json_parser_load_from_data(parser, out->str, (gssize)out->len, NULL));
	object = json_node_get_object(json_parser_get_root(parser));
	g_assert_cmpstr(json_object_get_string_member(object, "comm"), ==, "a\"\nb\\x0a");
	object = json_object_get_object_member(object, "fields");
	g_assert_cmpstr(json_object_get_string_member(object, "s"), ==,
			"a\x1b[2J\n\xc3\xa9\xee\xbf\xbf\xc2\x9b\"\\z");
}

static void test_json(void)
{
	g_autoptr(GByteArray) descs = g_byte_array_new(), payload = test_payload_all();
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(JsonParser) parser = json_parser_new();
	RsTraceRecord record = {.ns = 5, .lost = 3, .ring = 1};

	rs_trace_json_line(out, &record, "");
	g_assert_cmpstr(out->str, ==, "{\"ns\":5,\"cpu\":1,\"lost\":3}\n");
	g_string_truncate(out, 0);
	test_desc_all(descs);
	rs_trace_schema_add(schema, descs->data, descs->len, NULL, NULL);
	record = (RsTraceRecord){.ns = G_MAXUINT64,
				 .event = rs_trace_schema_by_id(schema, 17),
				 .payload = payload->data,
				 .size = payload->len,
				 .pid = 4000000000,
				 .context = RS_CTX_NMI,
				 .cut = TRUE,
				 .id = 17};
	rs_trace_json_line(out, &record, "sh");
	g_assert_cmpstr(out->str, ==,
			"{\"ns\":18446744073709551615,\"cpu\":0,\"pid\":4000000000,\"comm\":\"sh\","
			"\"flags\":\"..z..\",\"system\":\"demo\",\"event\":\"all\",\"fields\":{"
			"\"u\":18446744073709551615,\"s\":-5,\"x\":48879,"
			"\"p\":\"0xffff800012345678\","
			"\"state\":{\"value\":1,\"name\":\"S\\\"quoted\\\"\"},"
			"\"bits\":{\"value\":5,\"name\":\"A|C\"},\"mac\":[2,0,0,171,205,239],"
			"\"comm\":\"bash\",\"list\":[1,-2,300],\"why\":\"done!\"},\"cut\":true}\n");
	g_assert_true(json_parser_load_from_data(parser, out->str, -1, NULL));
}

static void test_cmdline(void)
{
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();
	guint8 section[4 * sizeof(struct rs_cmdline_bucket)] = {0}, again[sizeof(section)];

	test_cmdline_put(section, 4, 7, 100, "first");
	test_cmdline_put(section, 4, 7, 200, "second");
	test_cmdline_put(section, 4, 8, 50, "0123456789abcdef");
	test_cmdline_put(section, 4, 9, 50, "\x1b[2J");
	memcpy(again, section, sizeof(section));
	test_cmdline_put(section, 4, 10, 50, "torn");
	rs_trace_cmdline_merge(names, section, again, sizeof(section));
	/* Never a later owner's name. */
	g_assert_cmpstr(rs_trace_cmdline_lookup(names, 7, 99), ==, "<...>");
	g_assert_cmpstr(rs_trace_cmdline_lookup(names, 7, 100), ==, "first");
	g_assert_cmpstr(rs_trace_cmdline_lookup(names, 7, 199), ==, "first");
	g_assert_cmpstr(rs_trace_cmdline_lookup(names, 7, 200), ==, "second");
	g_assert_cmpstr(rs_trace_cmdline_lookup(names, 8, 50), ==, "0123456789abcdef");
	g_assert_cmpstr(rs_trace_cmdline_lookup(names, 9, 50), ==, "\x1b[2J");
	g_assert_cmpstr(rs_trace_cmdline_lookup(names, 10, 50), ==, "<...>");
	g_assert_cmpstr(rs_trace_cmdline_lookup(names, 0, 50), ==, "<idle>");
	/* The guest's cache forgets; the history does not. */
	memset(section, 0, sizeof(section));
	test_cmdline_put(section, 4, 7, 300, "third");
	rs_trace_cmdline_merge(names, section, NULL, sizeof(section));
	g_assert_cmpstr(rs_trace_cmdline_lookup(names, 7, 150), ==, "first");
	g_assert_cmpstr(rs_trace_cmdline_lookup(names, 7, 300), ==, "third");
}

static void test_cmdline_bounds(void)
{
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();
	const char comm[RS_COMM_LEN] = "x", last[RS_COMM_LEN] = "last";

	for (guint i = 0; i < 200000; i++)
		rs_trace_cmdline_add(names, i, 1, comm);
	for (guint i = 0; i < 1000; i++)
		rs_trace_cmdline_add(names, 5, i, i == 999 ? last : comm);
	g_assert_cmpstr(rs_trace_cmdline_lookup(names, 100, 5), ==, "<...>");
	g_assert_cmpstr(rs_trace_cmdline_lookup(names, 199999, 5), ==, "x");
	g_assert_cmpstr(rs_trace_cmdline_lookup(names, 5, 5000), ==, "last");
	g_assert_cmpstr(rs_trace_cmdline_lookup(names, 5, 500), ==, "<...>");
}

static void test_clock(void)
{
	RsTraceClock clock;
	struct rs_control control = {.epoch_count = 4};

	rs_trace_clock_init(&clock, 0);
	g_assert_cmpuint(rs_trace_clock_ns(&clock, 0, 77), ==, 77);
	rs_trace_clock_init(&clock, 2000000000);
	g_assert_cmpuint(rs_trace_clock_ns(&clock, 9, G_MAXUINT64), ==, G_MAXUINT64 / 2);
	control.epochs[1] = (struct rs_clock_epoch){1000, 500, 1u << 31, 32, 0};
	control.epochs[2] = (struct rs_clock_epoch){0, 5, 0xffffffff, 0, 0};
	control.epochs[3] = (struct rs_clock_epoch){0, 5, 1, 200, 0};
	rs_trace_clock_set_epochs(&clock, &control);
	g_assert_cmpuint(rs_trace_clock_ns(&clock, 1, 1100), ==, 550);
	g_assert_cmpuint(rs_trace_clock_ns(&clock, 1, 900), ==, 450);
	g_assert_cmpuint(rs_trace_clock_ns(&clock, 65, 1100), ==, 550);
	g_assert_cmpuint(rs_trace_clock_ns(&clock, 1, G_GUINT64_CONSTANT(1) << 62), ==,
			 (G_GUINT64_CONSTANT(1) << 61));
	g_assert_cmpuint(rs_trace_clock_ns(&clock, 2, G_MAXUINT64), ==, G_MAXUINT64);
	g_assert_cmpuint(rs_trace_clock_ns(&clock, 3, 2000), ==, 1000);
	g_assert_cmpuint(rs_trace_clock_ns(&clock, 4, 2000), ==, 1000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define WITH_PAGES(name, func) g_test_add(name, Fixture, NULL, set_up, func, tear_down)
	WITH_PAGES("/decode/decoder/stream", test_stream);
	WITH_PAGES("/decode/decoder/pieces", test_pieces);
	WITH_PAGES("/decode/decoder/malformed", test_malformed);
	WITH_PAGES("/decode/decoder/unknown", test_unknown);
	g_test_add_func("/decode/text/hostile-payload", test_hostile_payload);
	g_test_add_func("/decode/text/escapes", test_escapes);
	g_test_add_func("/decode/text/names", test_names);
	g_test_add_func("/decode/text/comm", test_comm);
	g_test_add_func("/decode/json/line", test_json);
	g_test_add_func("/decode/cmdline/history", test_cmdline);
	g_test_add_func("/decode/cmdline/bounds", test_cmdline_bounds);
	g_test_add_func("/decode/clock/epochs", test_clock);
	return g_test_run();
}
