/* SPDX-License-Identifier: MIT */
/*
 * libtraceevent, which trace-cmd and perf read with, understands our format files and prints the
 * same.
 */
#include "rs-trace-text.h"
#include "build.h"

#include <event-parse.h>
#include <string.h>
#include <trace-seq.h>

/* The payload as a Linux record: after the common fields, with adjusted locators. */
static GByteArray *as_linux(const RsTraceEvent *event, const GByteArray *payload)
{
	GByteArray *record = g_byte_array_new();

	test_put(record, event->id, 2);
	test_put(record, 0, 1);
	test_put(record, 0, 1);
	test_put(record, 42, 4);
	g_byte_array_append(record, payload->data, payload->len);
	for (guint i = 0; i < event->n_fields; i++) {
		guint32 locator;

		if (event->fields[i].kind < RS_KIND_DYN_ARRAY)
			continue;
		memcpy(&locator, record->data + 8 + event->fields[i].offset, 4);
		locator += 8;
		memcpy(record->data + 8 + event->fields[i].offset, &locator, 4);
	}
	return record;
}

static void check(const RsTraceEvent *event, const GByteArray *payload)
{
	struct tep_handle *tep = tep_alloc();
	struct tep_event *parsed = NULL;
	struct trace_seq seq;
	struct tep_record record = {0};
	g_autoptr(GByteArray) bytes = as_linux(event, payload);
	g_autoptr(GString) ours = g_string_new(NULL);
	g_autofree char *format = rs_trace_event_format(event);
	RsTraceRecord mine = {.event = event, .payload = payload->data, .size = payload->len};

	g_assert_cmpint(tep_parse_event(tep, format, strlen(format), event->system), ==, 0);
	parsed = tep_find_event_by_name(tep, event->system, event->name);
	g_assert_nonnull(parsed);
	g_assert_cmpint(parsed->id, ==, event->id);
	g_assert_cmpint(parsed->format.nr_fields, ==, event->n_fields);
	g_assert_false(parsed->flags & TEP_EVENT_FL_FAILED);
	record.data = bytes->data;
	record.size = (int)bytes->len;
	trace_seq_init(&seq);
	tep_print_event(tep, &seq, &record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&seq);
	rs_trace_text_message(ours, &mine);
	g_assert_cmpstr(seq.buffer, ==, ours->str);
	trace_seq_destroy(&seq);
	tep_free(tep);
}

static void test_plain(void)
{
	g_autoptr(GByteArray) descs = g_byte_array_new(), payload = g_byte_array_new();
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();

	test_desc_switch(descs);
	test_take(schema, 0, descs);
	test_put(payload, 4000000000, 4);
	test_put(payload, 7, 4);
	check(rs_trace_schema_by_id(schema, TEST_SWITCH), payload);
}

/*
 * Every kind but arrays in the text: libtraceevent writes those unlike the kernel, which we follow.
 */
static void test_kinds(void)
{
	g_autoptr(GByteArray) descs = g_byte_array_new(), payload = g_byte_array_new();
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	TestDesc *desc = test_desc_new(TEST_ALL, "demo", "kinds");

	test_desc_int(desc, "u", RS_KIND_UINT, 8);
	test_desc_int(desc, "s", RS_KIND_SINT, 4);
	test_desc_int(desc, "x", RS_KIND_HEX, 8);
	test_desc_int(desc, "state", RS_KIND_ENUM, 4);
	test_desc_symbol(desc, 0, "R");
	test_desc_symbol(desc, 1, "S");
	test_desc_int(desc, "bits", RS_KIND_FLAGS, 4);
	test_desc_symbol(desc, 1, "A");
	test_desc_symbol(desc, 4, "C");
	test_desc_array(desc, "comm", RS_KIND_STRING, 1, 16, 0);
	test_desc_array(desc, "mac", RS_KIND_ARRAY, 1, 4, RS_FIELD_HEX);
	test_desc_array(desc, "list", RS_KIND_DYN_ARRAY, 2, 0, RS_FIELD_HEX);
	test_desc_array(desc, "why", RS_KIND_DYN_STRING, 0, 0, 0);
	test_desc_end(desc, "u=%u s=%d x=%#x %s|%s comm=%s why=%s 5%%",
		      "u, s, x, state, bits, comm, why", descs);
	test_take(schema, 0, descs);
	test_put(payload, G_MAXUINT64, 8);
	test_put(payload, (guint32)-5, 4);
	test_put(payload, 0, 4);
	payload->len = 12;
	test_put(payload, 0xdeadbeefcafe, 8);
	test_put(payload, 1, 4);
	test_put(payload, 5, 4);
	g_byte_array_append(payload, (const guint8 *)"bash\0\0\0\0\0\0\0\0\0\0\0", 16);
	test_put(payload, 0x04030201, 4);
	test_put(payload, rs_locator(payload->len + 8, 4), 4);
	test_put(payload, rs_locator(payload->len + 8, 6), 4);
	test_put(payload, 0x11, 2);
	test_put(payload, 0x222, 2);
	test_put_text(payload, "done!");
	check(rs_trace_schema_by_id(schema, TEST_ALL), payload);
}

/* Checks only that libtraceevent accepts the format. */
static void test_understood(gconstpointer data)
{
	void (*describe)(GByteArray * out) = data;
	g_autoptr(GByteArray) descs = g_byte_array_new();
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	struct tep_handle *tep = tep_alloc();
	struct tep_event *parsed;
	const RsTraceEvent *event;
	g_autofree char *format = NULL;

	describe(descs);
	test_take(schema, 0, descs);
	event = rs_trace_schema_nth(schema, 0);
	format = rs_trace_event_format(event);
	g_assert_cmpint(tep_parse_event(tep, format, strlen(format), "demo"), ==, 0);
	parsed = tep_find_event(tep, (int)event->id);
	g_assert_nonnull(parsed);
	g_assert_false(parsed->flags & TEP_EVENT_FL_FAILED);
	g_assert_cmpint(parsed->format.nr_fields, ==, event->n_fields);
	tep_free(tep);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/tep/plain", test_plain);
	g_test_add_func("/decode/tep/kinds", test_kinds);
	g_test_add_data_func("/decode/tep/all", test_desc_all, test_understood);
	g_test_add_data_func("/decode/tep/later", test_desc_later, test_understood);
	return g_test_run();
}
