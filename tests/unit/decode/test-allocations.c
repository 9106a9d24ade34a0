/* SPDX-License-Identifier: MIT */
/*
 * Nothing is allocated for each event: from pages to records, in the order of time, to text and to
 * JSON. A hundred times as many events take as many calls of the allocator. Fields are of all
 * kinds, whole and cut, addresses have names, events have stacks, and some are unknown.
 */
#include "build.h"
#include "rs-trace-cmdline.h"
#include "rs-trace-json.h"
#include "rs-trace-merger.h"
#include "rs-trace-text.h"

#include <string.h>
#include <zstd.h>

#define FEW 1000u
#define PAGE_EVENTS 100u
#define TEST_SHORT (TEST_ALL + 2)
#define TEST_UNKNOWN (TEST_ALL + 3)

/* ---- the allocator, with a counter ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static guint64 calls;

void *malloc(size_t size)
{
	calls++;
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	calls++;
	return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	calls++;
	return __libc_realloc(old, size);
}

/* ---- events ---- */

typedef enum { RECORDS, TEXT, RAW, JSON, MERGED } Way;

typedef struct {
	Way way;
	RsTraceMerger *merger;
	RsTraceCmdline *names;
	RsTraceSymbols *symbols;
	GString *out;
	guint64 n;
} Sink;

static void make_line(const RsTraceRecord *record, gpointer data)
{
	static const guint64 frames[] = {0x1234, 0x10, G_MAXUINT64 - 1};
	RsTraceRecord full = *record;
	Sink *sink = data;
	RsTraceTask task;

	full.stack = (const guint8 *)frames;
	full.n_stack = G_N_ELEMENTS(frames);
	full.symbols = sink->symbols;
	sink->n++;
	if (sink->way == RECORDS || sink->way == MERGED)
		return;
	g_string_truncate(sink->out, 0);
	rs_trace_cmdline_lookup(sink->names, record->pid, record->when, &task);
	if (sink->way == JSON)
		rs_trace_json_line(sink->out, &full, &task);
	else
		rs_trace_text_line(sink->out, &full, &task,
				   sink->way == RAW ? RS_TRACE_TEXT_RAW : 0);
}

static void take(const RsTraceRecord *record, gpointer data)
{
	Sink *sink = data;

	if (sink->way == MERGED)
		rs_trace_merger_push(sink->merger, 0, record);
	else
		make_line(record, sink);
}

static void add(TestPage *page, guint id, guint32 ts, const GByteArray *payload)
{
	test_page_record(page, id, ts, payload->data, payload->len);
}

static GByteArray *make_page(void)
{
	g_autoptr(GByteArray) all = test_payload_all(), cut = test_payload_all();
	g_autoptr(GByteArray) later = test_payload_later();
	TestPage *page = test_page_new(0, 0, 1000, 7, 0);

	test_cut_payload_all(cut);
	for (guint i = 0; i < PAGE_EVENTS; i++) {
		guint32 pair[2] = {i, i * 991};

		if (i % 10 == 9)
			test_page_record(page, TEST_UNKNOWN, 1000 + i, pair, sizeof(pair));
		else if (i % 5 == 4)
			test_page_record(page, TEST_SHORT, 1000 + i, "na\001me\377\0", 8);
		else if (i % 4 == 0)
			test_page_record(page, TEST_SWITCH, 1000 + i, pair, sizeof(pair));
		else if (i % 4 == 1)
			add(page, TEST_ALL, 1000 + i, all);
		else if (i % 4 == 2)
			add(page, TEST_ALL, 1000 + i, cut);
		else
			add(page, TEST_ALL + 1, 1000 + i, later);
	}
	return test_page_end(page);
}

/* Strings that are cut and laid out by the print format, too. */
static void describe(RsTraceSchema *schema)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();
	TestDesc *desc;

	test_desc_switch(descs);
	test_desc_all(descs);
	test_desc_later(descs);
	desc = test_desc_new(TEST_SHORT, "demo", "short");
	test_desc_array(desc, "name", RS_KIND_STRING, 1, 8, 0);
	test_desc_end(desc, "<%.3s> <%-10.2s> <%12s>", "name, name, name", descs);
	test_take(schema, 0, descs);
}

/* One name, which all addresses from 0x1000 on lie in. */
static void name_addresses(RsTraceSymbols *symbols)
{
	static const struct {
		struct rs_file_symbol symbol;
		char name[8];
	} unpacked = {{0x1000, 0, 0}, "code"};
	struct rs_file_symbols head = {.to = G_MAXUINT64, .count = 1, .unpacked = sizeof(unpacked)};
	guint8 packed[256];
	gsize size = ZSTD_compress(packed, sizeof(packed), &unpacked, sizeof(unpacked), 1);

	g_assert_true(rs_trace_symbols_take(symbols, &head, packed, size, 1 << 20, NULL));
}

/* Calls of the allocator for so many events. */
static guint64 count(Way way, guint events)
{
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(1000000);
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();
	g_autoptr(GString) out = g_string_sized_new(1 << 16);
	g_autoptr(GByteArray) page = make_page();
	Sink sink = {.way = way, .names = names, .symbols = symbols, .out = out};
	g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(0, 0, make_line, &sink);
	g_autoptr(RsTraceDecoder) decoder = rs_trace_decoder_new(1, schema, clock, take, &sink);
	struct rs_cmdline_entry task = test_task(7, 0, "task");
	guint64 before;

	sink.merger = merger;
	rs_trace_merger_add_lanes(merger, 1);
	rs_trace_cmdline_add(names, &task);
	describe(schema);
	name_addresses(symbols);
	before = calls;
	for (guint i = 0; i < events / PAGE_EVENTS; i++) {
		rs_trace_merger_begin_round(merger);
		g_assert_true(rs_trace_decoder_push(decoder, 0, page->data, RS_RING_PAGE_HEADER,
						    page->len, 0));
		rs_trace_merger_end_round(merger, i);
	}
	rs_trace_merger_flush(merger);
	g_assert_cmpuint(sink.n, ==, events);
	return calls - before;
}

static void test_decode(gconstpointer way)
{
	const guint64 few = count(GPOINTER_TO_UINT(way), FEW);

	g_assert_cmpuint(count(GPOINTER_TO_UINT(way), 100 * FEW), ==, few);
}

/* Else the others would find nothing. */
static void test_counter(void)
{
	const guint64 before = calls;

	g_free(g_strdup("x"));
	g_assert_cmpuint(calls, ==, before + 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/allocations/counter", test_counter);
	g_test_add_data_func("/decode/allocations/records", GUINT_TO_POINTER(RECORDS), test_decode);
	g_test_add_data_func("/decode/allocations/text", GUINT_TO_POINTER(TEXT), test_decode);
	g_test_add_data_func("/decode/allocations/raw", GUINT_TO_POINTER(RAW), test_decode);
	g_test_add_data_func("/decode/allocations/json", GUINT_TO_POINTER(JSON), test_decode);
	g_test_add_data_func("/decode/allocations/merged", GUINT_TO_POINTER(MERGED), test_decode);
	return g_test_run();
}
