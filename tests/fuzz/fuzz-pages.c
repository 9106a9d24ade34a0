/* SPDX-License-Identifier: MIT */
/*
 * A hostile page of records with hostile descriptors, through merger, text and JSON. Input: 16-bit
 * length of the descriptors, the descriptors, then the page with its header.
 */
#include "input.h"
#include "lines.h"
#include "seed.h"
#include "rs-trace-json.h"
#include "rs-trace-merger.h"
#include "rs-trace-text.h"
#include "../unit/decode/build.h"

#include <ringside/region.h>
#include <string.h>

static void put_seed(const char *name, const GByteArray *descs, const GByteArray *page)
{
	GByteArray *bytes = g_byte_array_new();
	guint16 length = (guint16)descs->len;

	g_byte_array_append(bytes, (const guint8 *)&length, 2);
	g_byte_array_append(bytes, descs->data, descs->len);
	g_byte_array_append(bytes, page->data, page->len);
	rs_fuzz_seed(name, bytes->data, bytes->len);
	g_byte_array_unref(bytes);
}

/* Signs of what has none, no digits, and text to the right; far more than one line may hold. */
static void put_widths(GByteArray *descs)
{
	TestDesc *desc = test_desc_new(TEST_ALL + 1, "any", "widths");
	g_autoptr(GString) print = g_string_new("%+d|% d|%.0d|%20s|%9s");
	g_autoptr(GString) args = g_string_new("b,b,a,s,e");

	test_desc_int(desc, "a", RS_KIND_UINT, 4);
	test_desc_int(desc, "b", RS_KIND_SINT, 2);
	test_desc_int(desc, "e", RS_KIND_ENUM, 1);
	test_desc_symbol(desc, 0, "zero");
	test_desc_array(desc, "s", RS_KIND_STRING, 1, 4, 0);
	for (guint i = 0; i < 100; i++) {
		g_string_append(print, "%255d");
		g_string_append(args, ",a");
	}
	test_desc_end(desc, print->str, args->str, descs);
}

/* Every conversion, an event without a format, every escape, and marks in each other's way. */
static void put_formats(void)
{
	static const char text[32] =
		"\n\r\t\"\\\x7f\xf0\x9f\x98\x80 \xe2\x80\xae\xff\xe1\x85\x9f\xf3\xa0\x81\x81";
	static const char zeros[16];
	GByteArray *descs = g_byte_array_new(), *payload = g_byte_array_new(), *whole;
	TestDesc *desc = test_desc_new(TEST_SWITCH, "any", "formats");
	TestPage *page = test_page_new(0, 1, 1u << 31, 7, 0);

	test_desc_int(desc, "a", RS_KIND_UINT, 4);
	test_desc_int(desc, "b", RS_KIND_SINT, 8);
	test_desc_array(desc, "s", RS_KIND_STRING, 1, sizeof(text), 0);
	test_desc_end(desc,
		      "%5d %-8u|%08x|%+d|% d|%#X|%#o|%.5d|%10.4x|%.3s|%c|%-3c|%5c|%-20s|%i %p %%",
		      "a,a,a,b,b,a,a,b,a,s,a,a,a,s,b,b", descs);
	desc = test_desc_new(TEST_ALL, "any", "plain");
	test_desc_int(desc, "a", RS_KIND_UINT, 4);
	test_desc_int(desc, "b", RS_KIND_SINT, 8);
	test_desc_array(desc, "s", RS_KIND_STRING, 1, sizeof(text), 0);
	test_desc_end(desc, NULL, NULL, descs);
	put_widths(descs);
	test_put(payload, 65, 4);
	test_put(payload, 0, 4);
	test_put(payload, (guint64)-3, 8);
	g_byte_array_append(payload, (const guint8 *)text, sizeof(text));
	test_page_record(page, TEST_SWITCH, 5, payload->data, payload->len);
	test_page_record(page, TEST_ALL, 6, payload->data, payload->len);
	test_page_record(page, TEST_ALL + 1, 6, payload->data, payload->len);
	test_page_record(page, TEST_ALL + 1, 6, zeros, sizeof(zeros));
	test_page_record(page, TEST_SWITCH, 7, payload->data, 12); /* cut */
	test_page_mark(page, RS_REC_TGID, 16);
	test_page_mark(page, RS_REC_CONTINUED, 16);
	test_page_record(page, TEST_ALL, 8, payload->data, payload->len);
	test_page_mark(page, RS_REC_CONTINUED, 8);
	whole = test_page_end(page);
	put_seed("formats", descs, whole);
	g_byte_array_unref(descs);
	g_byte_array_unref(payload);
	g_byte_array_unref(whole);
}

/* More text than one line may hold, of which the page has only a part. */
static void put_long(void)
{
	GByteArray *descs = g_byte_array_new(), *whole;
	TestDesc *desc = test_desc_new(TEST_SWITCH, "any", "long");
	TestPage *page = test_page_new(0, 1, 1u << 31, 7, 0);
	g_autoptr(GString) print = g_string_new(NULL);
	g_autoptr(GString) args = g_string_new(NULL);
	guint8 text[3000];

	memset(text, 'x', sizeof(text));
	test_desc_array(desc, "s", RS_KIND_STRING, 1, sizeof(text), 0);
	for (guint i = 0; i <= RS_TRACE_TEXT_MAX / sizeof(text); i++) {
		g_string_append(print, "%s");
		g_string_append(args, i ? ",s" : "s");
	}
	test_desc_end(desc, print->str, args->str, descs);
	test_page_record(page, TEST_SWITCH, 5, text, sizeof(text));
	test_page_mark(page, RS_REC_TIME, 8);
	whole = test_page_end(page);
	put_seed("long", descs, whole);
	g_byte_array_unref(descs);
	g_byte_array_unref(whole);
}

static void rs_fuzz_seeds(void)
{
	GByteArray *descs = g_byte_array_new(), *payload = test_payload_all(), *whole;
	TestPage *page = test_page_new(0, 1, 1u << 31, 7, RS_CTX_HARDIRQ);

	test_desc_switch(descs);
	test_desc_all(descs);
	test_desc_later(descs);
	test_page_record(page, TEST_ALL, 5, payload->data, payload->len);
	test_page_context(page, 8, 0);
	test_page_time(page, 2, G_GUINT64_CONSTANT(1) << 40);
	test_page_mark(page, RS_FIRST_EVENT_ID - 1, 24);
	test_page_record(page, TEST_SWITCH, 9, payload->data, 8);
	test_page_mark(page, RS_REC_STACK, 24);
	test_page_mark(page, RS_REC_CONTINUED, 24);
	test_page_record(page, TEST_ALL + 1, 9, payload->data, payload->len);
	whole = test_page_end(page);
	put_seed("page", descs, whole);
	put_formats();
	put_long();
	g_byte_array_unref(descs);
	g_byte_array_unref(payload);
	g_byte_array_unref(whole);
}

/* The output is one line of UTF-8. Its only control character is the newline. */
/* Prints any record. */
static void show(const RsTraceRecord *record, gpointer data)
{
	const RsTraceTask task = {.comm = "\x1b\xff", .tgid = record->pid};
	GString *out = data;

	g_string_truncate(out, 0);
	if (record->pid % 3 == 2)
		rs_trace_text_line(out, record, &task, RS_TRACE_TEXT_RAW);
	else if (record->pid % 3)
		rs_trace_text_line(out, record, &task, 0);
	else
		rs_trace_text_line(out, record, &task, RS_TRACE_TEXT_SHORT | RS_TRACE_TEXT_SOURCE);
	rs_fuzz_check_line(out);
	g_string_truncate(out, 0);
	rs_trace_json_line(out, record, &task);
	rs_fuzz_check_line(out);
}

static void hold(const RsTraceRecord *record, gpointer data)
{
	rs_trace_merger_push(data, record->ring, record);
}

/* The schema of a provider that has all ids and lives for ever. */
static RsTraceSchema *describe(const guint8 *descs, gsize size)
{
	const struct rs_provider entry = {.sequence = 2,
					  .state = RS_PROVIDER_LIVE,
					  .last_boot = G_MAXUINT32,
					  .event_count = RS_MAX_EVENTS};
	RsTraceSchema *schema = rs_trace_schema_new();

	rs_trace_schema_take(schema, 0, &entry, descs, size, NULL, NULL);
	return schema;
}

static RsTraceClock *make_clock(void)
{
	static const struct rs_clock_epoch table[] = {
		{.index = 0, .tsc_base = 1u << 30, .ns_base = 1000, .mult = 3, .shift = 1},
		{.index = 1, .tsc_base = 1u << 31, .mult = ~0u},
		{.index = 2, .chain = 2, .tsc_base = 100, .ns_base = ~0ull / 2, .mult = 1},
	};
	RsTraceClock *clock = rs_trace_clock_new(0);

	rs_trace_clock_take(clock, table, G_N_ELEMENTS(table), G_N_ELEMENTS(table));
	return clock;
}

static void push(RsTraceDecoder *decoder, guint8 *page, guint bytes)
{
	struct rs_ring_page head;

	rs_trace_decoder_push(decoder, 0, page, RS_RING_PAGE_HEADER, bytes, 0);
	/* What is behind an invalid part was counted. */
	rs_trace_decoder_push(decoder, 0, page, bytes, bytes, 0);
	rs_trace_decoder_push(decoder, 1, page,
			      RS_RING_PAGE_HEADER + (bytes - RS_RING_PAGE_HEADER) / 2, bytes, 3);
	/* The next page, of another boot. */
	memcpy(&head, page, sizeof(head));
	head.boot++;
	head.seq++;
	head.records += bytes / 8;
	memcpy(page, &head, sizeof(head));
	rs_trace_decoder_push(decoder, 1, page, RS_RING_PAGE_HEADER, bytes, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const RsTraceOrigin origin = {.name = "a\xff\"", .escaped = "source", .number = 7};
	RsTraceSchema *schema;
	RsTraceDecoder *decoder;
	RsTraceClock *clock;
	RsTraceMerger *merger;
	GString *out;
	guint8 *page;
	guint16 length;
	guint bytes;

	if (size < 2)
		return 0;
	memcpy(&length, data, 2);
	if (length > size - 2 || size - 2 - length < RS_RING_PAGE_HEADER ||
	    size - 2 - length > RS_RING_PAGE_MAX)
		return 0;
	schema = describe(data + 2, length);
	bytes = (guint)(size - 2 - length);
	page = g_memdup2(data + 2 + length, bytes); /* its own, so that ASan sees its end */
	out = g_string_new(NULL);
	merger = rs_trace_merger_new(0, 8192, show, out);
	rs_trace_merger_add_lanes(merger, 2);
	clock = make_clock();
	decoder = rs_trace_decoder_new(2, schema, clock, hold, merger);
	rs_trace_decoder_set_origin(decoder, &origin);
	rs_trace_merger_begin_round(merger);
	push(decoder, page, bytes);
	rs_trace_merger_in_flight(merger, 0);
	rs_trace_merger_end_round(merger, 0);
	rs_trace_merger_flush(merger);
	rs_trace_merger_free(merger);
	rs_trace_decoder_free(decoder);
	rs_trace_clock_free(clock);
	g_string_free(out, TRUE);
	g_free(page);
	rs_trace_schema_free(schema);
	return 0;
}
