/* SPDX-License-Identifier: MIT */
/* Pages through decoder, text and JSON: checks the promises of each header. */
#include "rs-trace-json.h"
#include "rs-trace-text.h"
#include "build.h"

#include <json-glib/json-glib.h>
#include <string.h>

#define UNKNOWN_MARK (RS_FIRST_EVENT_ID - 1)

typedef struct {
	RsTraceSchema *schema;
	RsTraceDecoder *decoder;
	GString *out;
	gboolean json;
} Fixture;

static const RsTraceTask task = {.comm = "task"};

static void show(const RsTraceRecord *record, gpointer data)
{
	Fixture *f = data;

	if (f->json)
		rs_trace_json_line(f->out, record, &task);
	else
		rs_trace_text_line(f->out, record, &task, 0);
}

static void set_up(Fixture *f, gconstpointer unused)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	test_desc_switch(bytes);
	f->schema = rs_trace_schema_new();
	test_take(f->schema, 0, bytes);
	f->decoder = rs_trace_decoder_new(4, f->schema, NULL, show, f);
	f->out = g_string_new(NULL);
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	rs_trace_decoder_free(f->decoder);
	rs_trace_schema_free(f->schema);
	g_string_free(f->out, TRUE);
}

/* Pushes a whole valid page. */
static void push(Fixture *f, guint ring, const GByteArray *page)
{
	g_assert_true(rs_trace_decoder_push(f->decoder, ring, page->data, RS_RING_PAGE_HEADER,
					    page->len, 0));
}

static const guint32 pair[2] = {1, 2};

#define LINE(cpu, pid, flags, time)                                                                \
	"            task-" pid " [" cpu "] " flags " " time ": sched:switch: prev=1 next=2\n"

static void test_stream(Fixture *f, gconstpointer unused)
{
	TestPage *page = test_page_new(3, 0, 0x1fffff000, 42, 0);
	g_autoptr(GByteArray) bytes = NULL;

	test_page_record(page, TEST_SWITCH, 0xfffff000, pair, sizeof(pair));
	test_page_record(page, TEST_SWITCH, 0x10, pair, sizeof(pair)); /* the low half went round */
	test_page_context(page, 7,
			  RS_CTX_IRQS_OFF | RS_CTX_NEED_RESCHED | RS_CTX_HARDIRQ |
				  2 << RS_CTX_PREEMPT_SHIFT | 3 << RS_CTX_MIGRATE_SHIFT);
	test_page_time(page, 0, G_GUINT64_CONSTANT(77000000123456));
	test_page_record(page, TEST_SWITCH, (guint32)G_GUINT64_CONSTANT(77000000999999), pair,
			 sizeof(pair));
	bytes = test_page_end(page);
	g_assert_true(rs_trace_decoder_push(f->decoder, 3, bytes->data, RS_RING_PAGE_HEADER,
					    bytes->len, 214));
	g_assert_cmpstr(f->out->str, ==,
			"CPU:3 [LOST 214 EVENTS]\n" LINE("003", "42     ", ".....", "    8.589930")
				LINE("003", "42     ", ".....", "    8.589935")
					LINE("003", "7      ", "dnh23", "77000.001000"));
}

/* A page in pieces, to a decoder that saw the earlier pieces and to one that did not. */
static void test_pieces(Fixture *f, gconstpointer unused)
{
	TestPage *page = test_page_new(0, 5, 1000000, 1, 0);
	g_autoptr(GByteArray) bytes = NULL;
	g_autofree char *whole = NULL;

	test_page_record(page, TEST_SWITCH, 1000000, pair, sizeof(pair));
	test_page_context(page, 9, RS_CTX_SOFTIRQ);
	test_page_record(page, TEST_SWITCH, 2000000, pair, sizeof(pair));
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
		{.id = TEST_SWITCH, .size = 7},  {.id = TEST_SWITCH, .size = 0x7fff},
		{.id = UNKNOWN_MARK, .size = 0}, {.id = UNKNOWN_MARK, .size = 24},
		{.id = RS_REC_TIME, .size = 8},  {.id = RS_REC_TIME, .size = 16},
	};
	const RsTraceDecoderStats *stats;

	for (guint i = 0; i < G_N_ELEMENTS(heads); i++) {
		TestPage *page = test_page_new(0, i, 0, 1, 0);
		g_autoptr(GByteArray) bytes = NULL;

		test_page_record(page, TEST_SWITCH, 0, pair, sizeof(pair));
		test_page_raw(page, &heads[i], sizeof(heads[i]));
		bytes = test_page_end(page);
		g_assert_false(rs_trace_decoder_push(f->decoder, 0, bytes->data,
						     RS_RING_PAGE_HEADER, bytes->len, 0));
	}
	stats = rs_trace_decoder_stats(f->decoder);
	g_assert_cmpuint(stats->records, ==, G_N_ELEMENTS(heads));
	g_assert_cmpuint(stats->bad_pages, ==, G_N_ELEMENTS(heads));
}

static void test_unknown(Fixture *f, gconstpointer unused)
{
	TestPage *page = test_page_new(0, 0, 0, 1, 0);
	g_autoptr(GByteArray) payload = test_payload_all(), descs = g_byte_array_new();
	g_autoptr(GByteArray) bytes = NULL;
	const RsTraceDecoderStats *stats;

	test_page_record(page, TEST_ALL, 0, payload->data, payload->len);
	test_page_record(page, 99, 0, NULL, 0);
	bytes = test_page_end(page);
	push(f, 0, bytes);
	g_assert_nonnull(strstr(f->out->str, ": #99: (unknown event, 0 bytes)\n"));
	g_assert_null(strstr(f->out->str, "demo:all"));
	test_desc_all(descs);
	test_take(f->schema, 1, descs);
	g_string_truncate(f->out, 0);
	push(f, 0, bytes);
	g_assert_nonnull(strstr(
		f->out->str,
		": demo:all: 100% u=18446744073709551615 s=-5 x=beef p=0xffff800012345678 "
		"S\"quoted\"|A|C mac={0x2,0x0,0x0,0xab,0xcd,0xef} <bash    > list={1,-2,300} "
		"why=done!\n"));
	stats = rs_trace_decoder_stats(f->decoder);
	g_assert_cmpuint(stats->unknown, ==, 3);
}

/* Each field as it is, whatever the print format makes of it. */
static void test_raw(Fixture *f, gconstpointer unused)
{
	g_autoptr(GByteArray) payload = test_payload_all(), descs = g_byte_array_new();
	g_autoptr(GString) out = g_string_new(NULL);
	RsTraceRecord record = {.payload = payload->data, .size = payload->len};

	test_desc_all(descs);
	test_take(f->schema, 1, descs);
	record.event = rs_trace_schema_by_id(f->schema, TEST_ALL);
	rs_trace_text_raw(out, &record);
	g_assert_cmpstr(out->str, ==,
			"u=18446744073709551615 s=-5 x=0xbeef p=0xffff800012345678 state=1 bits=5 "
			"mac={0x2,0x0,0x0,0xab,0xcd,0xef} comm=\"bash\" list={1,-2,300} "
			"why=\"done!\"");
	g_string_truncate(out, 0);
	rs_trace_text_line(out, &record, &task, RS_TRACE_TEXT_RAW | RS_TRACE_TEXT_SHORT);
	g_assert_nonnull(strstr(out->str, ": all: u=18446744073709551615 s=-5 "));
	g_string_truncate(out, 0);
	record.size = 12;
	record.cut = TRUE;
	rs_trace_text_raw(out, &record);
	g_assert_true(g_str_has_prefix(out->str, "u=18446744073709551615 s=-5 x=(cut) p=(cut) "));
	g_assert_true(g_str_has_suffix(out->str, " why=(cut) (cut)"));
}

/*
 * Marks that say what we do not show, or that nobody knows yet, and a header that is longer than
 * ours.
 */
static void test_grown_page(Fixture *f, gconstpointer unused)
{
	TestPage *page = test_page_new(0, 0, 1000000, 1, 0);
	const guint8 more[64] = {0x5a};
	g_autoptr(GByteArray) bytes = NULL;

	test_page_header(page)->header_size = RS_RING_PAGE_HEADER + sizeof(more);
	test_page_raw(page, more, sizeof(more));
	test_page_mark(page, RS_REC_TGID, 8);
	test_page_mark(page, UNKNOWN_MARK, 24);
	test_page_record(page, TEST_SWITCH, 1000000, pair, sizeof(pair));
	test_page_mark(page, RS_REC_STACK, 8 + 3 * 8);
	test_page_mark(page, RS_REC_ACTIVITY, 24);
	test_page_record(page, TEST_SWITCH, 2000000, pair, sizeof(pair));
	bytes = test_page_end(page);
	push(f, 0, bytes);
	g_assert_cmpstr(f->out->str, ==,
			LINE("000", "1      ", ".....", "    0.001000") LINE(
				"000", "1      ", ".....",
				"    0.002000") " => 0x5a5a5a5a5a5a5a5a\n => 0x5a5a5a5a5a5a5a5a\n "
						"=> 0x5a5a5a5a5a5a5a5a\n");
}

static GByteArray *one_record(guint ring, guint64 seq, guint boot, guint64 ts)
{
	TestPage *page = test_page_new(ring, seq, ts, 1, 0);

	test_page_header(page)->boot = boot;
	test_page_record(page, TEST_SWITCH, (guint32)ts, pair, sizeof(pair));
	return test_page_end(page);
}

/*
 * Ring 0 has pages of two boots, in which one id meant two events; rings 1 and 2 have one of each.
 * A boot is announced once, before its first record.
 */
static void test_boots(Fixture *f, gconstpointer unused)
{
	static const char *const text = LINE(
		"000", "1      ", ".....",
		"    0.005000") "[BOOT 2 AT 0.001000]\n"
				"            task-1       [000] .....     0.001000: other:event: \n"
				"            task-1       [001] .....     0.002000: other:event: "
				"\n" LINE("002", "1      ", ".....", "    0.006000");
	static const char *const json = "{\"ns\":5000000,\"cpu\":0,\"pid\":1,\"comm\":\"task\","
					"\"flags\":\".....\",\"system\":\"sched\","
					"\"event\":\"switch\",\"fields\":{\"prev\":1,\"next\":2}}\n"
					"{\"ns\":1000000,\"boot\":2}\n"
					"{\"ns\":1000000,\"cpu\":0,\"pid\":1,";
	g_autoptr(GByteArray) old = one_record(0, 0, 1, 5000000), descs = g_byte_array_new();
	g_autoptr(GByteArray) new = one_record(0, 1, 2, 1000000);
	g_autoptr(GByteArray) second = one_record(1, 1, 2, 2000000);
	g_autoptr(GByteArray) late = one_record(2, 0, 1, 6000000);
	struct rs_provider entry;

	test_desc_end(test_desc_new(TEST_SWITCH, "other", "event"), NULL, NULL, descs);
	test_provider(&entry, 1, descs);
	entry.first_boot = entry.last_boot = 2;
	rs_trace_schema_take(f->schema, 1, &entry, descs->data, descs->len, NULL, NULL);
	/* Then observers that come after all of it has happened. */
	for (guint observer = 0; observer < 3; observer++) {
		g_string_truncate(f->out, 0);
		f->json = observer == 2;
		push(f, 0, old);
		push(f, 0, new);
		push(f, 1, second);
		push(f, 2, late);
		if (f->json)
			g_assert_true(g_str_has_prefix(f->out->str, json));
		else
			g_assert_cmpstr(f->out->str, ==, text);
		rs_trace_decoder_free(f->decoder);
		f->decoder = rs_trace_decoder_new(4, f->schema, NULL, show, f);
	}
}

static void collect(const RsTraceRecord *record, gpointer data)
{
	g_string_append_printf(data, "%u:%" G_GUINT64_FORMAT " ", record->kind, record->ns);
}

/* In one page: ticks alone tell some epochs. Then the counter goes back, and a mark says so. */
static void test_epochs(Fixture *f, gconstpointer unused)
{
	static const guint64 bases[][2] = {
		{1000, 10000}, {2000, 15000}, {100, 30000}, {500, 40000}};
	struct rs_clock_epoch table[G_N_ELEMENTS(bases)];
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0);
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(RsTraceDecoder) decoder = rs_trace_decoder_new(1, f->schema, clock, collect, out);
	TestPage *page = test_page_new(0, 0, 1500, 1, 0);
	g_autoptr(GByteArray) bytes = NULL;
	guint half;

	for (guint i = 0; i < G_N_ELEMENTS(bases); i++)
		table[i] = (struct rs_clock_epoch){.index = i,
						   .chain = i < 2 ? 0 : 2,
						   .tsc_base = bases[i][0],
						   .ns_base = bases[i][1],
						   .mult = 1};
	rs_trace_clock_take(clock, table, G_N_ELEMENTS(table), G_N_ELEMENTS(table));
	test_page_record(page, TEST_SWITCH, 1500, NULL, 0);
	test_page_record(page, TEST_SWITCH, 2500, NULL, 0);
	test_page_time(page, 2, 150);
	test_page_record(page, TEST_SWITCH, 150, NULL, 0);
	half = RS_RING_PAGE_HEADER + 3 * 8 + sizeof(struct rs_rec_time);
	test_page_record(page, TEST_SWITCH, 450, NULL, 0);
	test_page_record(page, TEST_SWITCH, 600, NULL, 0);
	bytes = test_page_end(page);
	g_assert_true(
		rs_trace_decoder_push(decoder, 0, bytes->data, RS_RING_PAGE_HEADER, bytes->len, 0));
	g_assert_cmpstr(out->str, ==, "0:10500 0:15500 0:30050 0:30350 0:40100 ");
	/* A decoder that joins after the mark follows it too. */
	g_string_truncate(out, 0);
	g_assert_true(rs_trace_decoder_push(decoder, 0, bytes->data, half, bytes->len, 0));
	g_assert_cmpstr(out->str, ==, "0:30350 0:40100 ");
}

/* A boot has the time of its begin, as the agent says, not of its first record. */
static void test_boot_time(Fixture *f, gconstpointer unused)
{
	const struct rs_clock_epoch table[] = {
		{.index = 0, .ns_base = 1000, .mult = 1},
		{.index = 1, .chain = 1, .ns_base = 700000, .mult = 1},
	};
	const struct rs_boot boots[RS_BOOTS] = {[2] = {.boot = 2, .chain = 1, .ts = 50}};
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0);
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(RsTraceDecoder) decoder = rs_trace_decoder_new(1, f->schema, clock, collect, out);
	g_autoptr(GByteArray) old = one_record(0, 0, 1, 600000), new = one_record(0, 1, 2, 90);

	((struct rs_ring_page *)new->data)->chain = 1;
	rs_trace_clock_take(clock, table, 2, 2);
	rs_trace_clock_set_boots(clock, boots);
	rs_trace_decoder_push(decoder, 0, old->data, RS_RING_PAGE_HEADER, old->len, 0);
	rs_trace_decoder_push(decoder, 0, new->data, RS_RING_PAGE_HEADER, new->len, 0);
	g_assert_cmpstr(out->str, ==, "0:601000 2:700050 0:700090 ");
}

/*
 * Every prefix of the payload, with locators that point anywhere: nothing is read outside (ASan).
 */
static void test_hostile_payload(void)
{
	g_autoptr(GByteArray) descs = g_byte_array_new(), good = test_payload_all();
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(GString) out = g_string_new(NULL);
	RsTraceRecord record = {.id = TEST_ALL};

	test_desc_all(descs);
	test_take(schema, 0, descs);
	record.event = rs_trace_schema_by_id(schema, TEST_ALL);
	for (guint size = 0; size <= good->len; size++) {
		g_autofree guint8 *payload = g_memdup2(good->data, size);

		record.payload = payload;
		record.size = size;
		rs_trace_text_line(out, &record, &task, 0);
		rs_trace_json_line(out, &record, &task);
		if (size >= 64) {
			memset(payload + 56, 0xff, 8);
			g_string_truncate(out, 0);
			rs_trace_text_line(out, &record, &task, 0);
			g_assert_nonnull(strstr(out->str, "list=(cut) why=(cut)\n"));
		}
	}
}

/*
 * A line names the system, whether or not another has an event of that name, unless bare names are
 * asked for.
 */
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
		RsTraceRecord record = {.id = (guint16)(TEST_ALL + i)};

		test_desc_end(test_desc_new(TEST_ALL + i, cases[i].system, cases[i].name), NULL,
			      NULL, descs);
		test_take(schema, i, descs);
		record.event = rs_trace_schema_by_id(schema, TEST_ALL + i);
		g_assert_nonnull(record.event);
		rs_trace_text_line(out, &record, &task, 0);
		g_assert_true(g_str_has_suffix(out->str, cases[i].shown));
		rs_trace_text_line(out, &record, &task, RS_TRACE_TEXT_SHORT);
		g_assert_true(g_str_has_suffix(out->str, cases[i].bare));
	}
}

/* The guest also chooses the task's name. Columns align by the printed characters. */
static void test_comm(void)
{
	static const struct {
		const char *comm, *shown;
	} cases[] = {
		{"sh", "              sh-7 "},
		{"0123456789abcdef", "0123456789abcdef-7 "},
		{"0123456789abcdef0123456789abcdef01234567",
		 "0123456789abcdef0123456789abcdef01234567-7 "},
		{"a\x1b\xff", "       a\\x1b\\xff-7 "},
		{"a\nb\nc\nd\ne", "a\\x0ab\\x0ac\\x0ad\\x0ae-7 "},
	};
	RsTraceRecord record = {.pid = 7, .id = 99};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GString) out = g_string_new("before\n");

		rs_trace_text_line(out, &record, &(RsTraceTask){.comm = cases[i].comm}, 0);
		g_assert_true(g_str_has_prefix(out->str + 7, cases[i].shown));
	}
}

static void test_escapes(void)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(GString) out = g_string_new(NULL);
	static const char evil[24] = "a\x1b[2J\n\xc3\xa9\xff\xc2\x9b\"\\z";
	TestDesc *desc = test_desc_new(TEST_ALL, "x", "y");
	RsTraceRecord record = {
		.payload = (const guint8 *)evil, .size = sizeof(evil), .id = TEST_ALL};
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *object;

	test_desc_array(desc, "s", RS_KIND_STRING, 1, sizeof(evil), 0);
	test_desc_end(desc, "\x1b%s\n", "s", descs);
	test_take(schema, 0, descs);
	record.event = rs_trace_schema_by_id(schema, TEST_ALL);
	rs_trace_text_message(out, &record);
	g_assert_cmpstr(out->str, ==, "\\x1ba\\x1b[2J\\x0a\xc3\xa9\\xff\\xc2\\x9b\"\\z\\x0a");
	g_string_truncate(out, 0);
	rs_trace_json_line(out, &record, &(RsTraceTask){.comm = "a\"\nb\\x0a"});
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
	RsTraceRecord record = {.kind = RS_TRACE_RECORD_LOSS, .ns = 5, .lost = 3, .ring = 1};

	rs_trace_json_line(out, &record, NULL);
	g_assert_cmpstr(out->str, ==, "{\"ns\":5,\"cpu\":1,\"lost\":3}\n");
	g_string_truncate(out, 0);
	record = (RsTraceRecord){
		.kind = RS_TRACE_RECORD_BOOT, .ns = 5, .when = {.boot = G_MAXUINT32}, .ring = 1};
	record.origin = &(RsTraceOrigin){.name = "web.7", .number = 7};
	rs_trace_json_line(out, &record, NULL);
	g_assert_cmpstr(
		out->str, ==,
		"{\"ns\":5,\"source\":\"web.7\",\"source_number\":7,\"boot\":4294967295}\n");
	g_string_truncate(out, 0);
	test_desc_all(descs);
	test_take(schema, 0, descs);
	record = (RsTraceRecord){.ns = G_MAXUINT64,
				 .event = rs_trace_schema_by_id(schema, TEST_ALL),
				 .payload = payload->data,
				 .size = payload->len,
				 .pid = 4000000000,
				 .context = RS_CTX_NMI,
				 .cut = TRUE,
				 .id = TEST_ALL};
	rs_trace_json_line(out, &record, &(RsTraceTask){.comm = "sh", .tgid = 3999999999});
	g_assert_cmpstr(out->str, ==,
			"{\"ns\":18446744073709551615,\"cpu\":0,\"pid\":4000000000,"
			"\"tgid\":3999999999,\"comm\":\"sh\",\"flags\":\"..z..\",\"system\":"
			"\"demo\",\"event\":\"all\",\"fields\":{"
			"\"u\":18446744073709551615,\"s\":-5,\"x\":48879,"
			"\"p\":\"0xffff800012345678\","
			"\"state\":{\"value\":1,\"name\":\"S\\\"quoted\\\"\"},"
			"\"bits\":{\"value\":5,\"name\":\"A|C\"},\"mac\":[2,0,0,171,205,239],"
			"\"comm\":\"bash\",\"list\":[1,-2,300],\"why\":\"done!\"},\"cut\":true}\n");
	g_assert_true(json_parser_load_from_data(parser, out->str, -1, NULL));
}

/* h and hh show the low bytes, and a precision counts the guest's bytes: as in C. */
static void test_conversions(void)
{
	static const struct {
		const char *print, *args, *expected;
	} cases[] = {
		{"%x %hx %hhx %lx", "u4,u4,u4,u4", "8f819083 9083 83 8f819083"},
		{"%d %hd %hhd %ld", "u4,u4,u4,u4", "-1887334269 -28541 -125 -1887334269"},
		{"%hu %hhu %ho %#hhX %06hhx", "u4,u4,u4,u4,u4", "36995 131 110203 0X83 000083"},
		{"%x %hx %hhx %d %hhd", "s1,s1,s1,s1,s1", "ffffff85 ff85 85 -123 -123"},
		{"%llx %hx %hhx %hhd", "u8,u8,u8,u8", "807060584838281 8281 81 -127"},
		{"<%.3s> <%.0s> <%.99s>", "text,text,text", "<a\\x0ab> <> <a\\x0abc\\x1bz>"},
		{"<%7.3s> <%-7.3s>", "text,text", "< a\\x0ab> <a\\x0ab >"},
		{"<%.2s> <%5.3s>", "wide,wide", "<\\xe2\\x82> <    \xe2\x82\xac>"},
		{"<%.4s> <%.2s>", "state,list", "<Runn> <{1>"},
	};
	static const guint8 bytes[] = {0x83, 0x90, 0x81, 0x8f, 0x85, 0,    0,    0,
				       0x81, 0x82, 0x83, 0x84, 0x05, 0x06, 0x07, 0x08,
				       'a',  '\n', 'b',  'c',  0x1b, 'z',  0,    0xe2,
				       0x82, 0xac, 'x',  0,    1,    1,    2,    3};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GByteArray) descs = g_byte_array_new();
		g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
		g_autoptr(GString) out = g_string_new(NULL);
		TestDesc *desc = test_desc_new(TEST_ALL, "x", "y");
		RsTraceRecord record = {.payload = bytes, .size = sizeof(bytes), .id = TEST_ALL};

		test_desc_int(desc, "u4", RS_KIND_UINT, 4);
		test_desc_int(desc, "s1", RS_KIND_SINT, 1);
		test_desc_int(desc, "u8", RS_KIND_UINT, 8);
		test_desc_array(desc, "text", RS_KIND_STRING, 1, 7, 0);
		test_desc_array(desc, "wide", RS_KIND_STRING, 1, 5, 0);
		test_desc_int(desc, "state", RS_KIND_ENUM, 1);
		test_desc_symbol(desc, 1, "Running");
		test_desc_array(desc, "list", RS_KIND_ARRAY, 1, 3, 0);
		test_desc_end(desc, cases[i].print, cases[i].args, descs);
		test_take(schema, 0, descs);
		record.event = rs_trace_schema_by_id(schema, TEST_ALL);
		rs_trace_text_message(out, &record);
		g_assert_cmpstr(out->str, ==, cases[i].expected);
	}
}

/* Fields of an unknown kind are bytes, in text and JSON. */
static void test_unknown_kind(void)
{
	g_autoptr(GByteArray) descs = g_byte_array_new(), payload = test_payload_later();
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(GString) out = g_string_new(NULL);
	RsTraceRecord record = {.payload = payload->data, .size = payload->len, .id = TEST_ALL + 1};

	test_desc_later(descs);
	test_take(schema, 0, descs);
	record.event = rs_trace_schema_by_id(schema, TEST_ALL + 1);
	rs_trace_text_message(out, &record);
	g_assert_cmpstr(
		out->str, ==,
		"why=ha odd={0x0,0x1,0xfe,0xff,0x10,0x20} "
		"real={0x8,0x7,0x6,0x5,0x4,0x3,0x2,0x1} blob={0x1,0xfe,0xff,0x10,0x20} n=9");
	g_string_truncate(out, 0);
	rs_trace_json_line(out, &record, &task);
	g_assert_true(g_str_has_suffix(
		out->str, ",\"fields\":{\"why\":\"ha\",\"odd\":[0,1,254,255,16,32],"
			  "\"real\":[8,7,6,5,4,3,2,1],\"blob\":[1,254,255,16,32],\"n\":9}}\n"));
}

static void append_lines(GString *out, const RsTraceRecord *record)
{
	rs_trace_text_line(out, record, &task, 0);
	rs_trace_json_line(out, record, &task);
}

/* A line is bounded by what it has itself, not by what stands before it. */
static void test_behind_others(void)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new(), payload = test_payload_all();
	g_autoptr(GString) alone = g_string_new(NULL), behind = g_string_new(NULL);
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	RsTraceRecord record = {.kind = RS_TRACE_RECORD_EVENT, .payload = payload->data};

	test_desc_all(bytes);
	test_take(schema, 0, bytes);
	record.event = rs_trace_schema_by_id(schema, TEST_ALL);
	record.size = payload->len;
	append_lines(alone, &record);
	g_string_set_size(behind, RS_TRACE_JSON_MAX + 1);
	append_lines(behind, &record);
	g_assert_cmpstr(behind->str + RS_TRACE_JSON_MAX + 1, ==, alone->str);
}

/* Of several sources each line says which it is from. */
static void test_text_source(Fixture *f, gconstpointer unused)
{
	const RsTraceRecordKind kinds[] = {RS_TRACE_RECORD_EVENT, RS_TRACE_RECORD_LOSS,
					   RS_TRACE_RECORD_BOOT};
	const RsTraceOrigin origin = {.name = "1", .escaped = "one"};
	static const char *const shown[] = {": one/sched:switch: ", "one/CPU:0 [LOST 5 EVENTS]\n",
					    "[BOOT 2 OF one AT "};

	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		RsTraceRecord record = {.kind = kinds[i],
					.event = rs_trace_schema_by_id(f->schema, TEST_SWITCH),
					.payload = (const guint8 *)pair,
					.size = sizeof(pair),
					.lost = 5,
					.when.boot = 2,
					.origin = &origin};

		rs_trace_text_line(f->out, &record, &task, RS_TRACE_TEXT_SOURCE);
		g_assert_nonnull(strstr(f->out->str, shown[i]));
		g_string_truncate(f->out, 0);
		rs_trace_text_line(f->out, &record, &task, 0);
		g_assert_null(strstr(f->out->str, "one"));
		g_string_truncate(f->out, 0);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define WITH_PAGES(name, func) g_test_add(name, Fixture, NULL, set_up, func, tear_down)
	WITH_PAGES("/decode/decoder/stream", test_stream);
	WITH_PAGES("/decode/decoder/pieces", test_pieces);
	WITH_PAGES("/decode/decoder/malformed", test_malformed);
	WITH_PAGES("/decode/decoder/unknown", test_unknown);
	WITH_PAGES("/decode/decoder/grown-page", test_grown_page);
	WITH_PAGES("/decode/decoder/boots", test_boots);
	WITH_PAGES("/decode/decoder/boot-time", test_boot_time);
	WITH_PAGES("/decode/decoder/epochs", test_epochs);
	g_test_add_func("/decode/text/hostile-payload", test_hostile_payload);
	g_test_add_func("/decode/text/escapes", test_escapes);
	g_test_add_func("/decode/text/names", test_names);
	g_test_add_func("/decode/text/comm", test_comm);
	g_test_add_func("/decode/text/conversions", test_conversions);
	g_test_add_func("/decode/text/unknown-kind", test_unknown_kind);
	g_test_add_func("/decode/json/line", test_json);
	g_test_add_func("/decode/text/behind-others", test_behind_others);
	WITH_PAGES("/decode/text/source", test_text_source);
	WITH_PAGES("/decode/text/raw", test_raw);
	return g_test_run();
}
