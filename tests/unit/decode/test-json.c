/* SPDX-License-Identifier: MIT */
/* Lines of JSON, byte for byte: each kind of record and field, and what is left out. */
#include "rs-trace-json.h"

#include <ringside/record.h>
#include <string.h>

#define TASK "\"cpu\":0,\"pid\":0,\"comm\":\"t\",\"flags\":\".....\""

static void check_line(RsTraceRecord record, const RsTraceTask *task, const RsTraceOrigin *origin,
		       const char *want)
{
	g_autoptr(GString) out = g_string_new("before\n");

	record.origin = origin;
	rs_trace_json_line(out, &record, task);
	g_assert_cmpstr(out->str + strlen("before\n"), ==, want);
}

static void test_kinds(void)
{
	const RsTraceTask task = {.comm = "t"}, group = {.comm = "a\"b", .tgid = 70};
	const RsTraceOrigin source = {.name = "src", .number = 5}, unnamed = {.number = 6};
	const RsTraceEvent event = {.system = "sys", .name = "ev"};
	RsTraceRecord record = {.id = 300, .payload = (const guint8 *)"\1\2\xff", .size = 3};

	check_line(record, &task, NULL, "{\"ns\":0," TASK ",\"id\":300,\"raw\":\"0102ff\"}\n");
	record.size = 0;
	check_line(record, &task, NULL, "{\"ns\":0," TASK ",\"id\":300,\"raw\":\"\"}\n");
	record.event = &event;
	record.cut = TRUE;
	check_line(record, &task, NULL,
		   "{\"ns\":0," TASK ",\"system\":\"sys\",\"event\":\"ev\",\"fields\":{},"
		   "\"cut\":true}\n");
	record = (RsTraceRecord){.event = &event,
				 .ns = G_MAXUINT64,
				 .ring = G_MAXUINT16,
				 .pid = G_MAXUINT32,
				 .context = RS_CTX_IRQS_OFF | RS_CTX_NMI};
	check_line(record, &group, &source,
		   "{\"ns\":18446744073709551615,\"source\":\"src\",\"source_number\":5,"
		   "\"cpu\":65535,\"pid\":4294967295,\"tgid\":70,\"comm\":\"a\\\"b\","
		   "\"flags\":\"d.z..\",\"system\":\"sys\",\"event\":\"ev\",\"fields\":{}}\n");
	record = (RsTraceRecord){
		.kind = RS_TRACE_RECORD_LOSS, .ns = 10, .ring = 3, .lost = G_MAXUINT64};
	check_line(record, &task, &unnamed,
		   "{\"ns\":10,\"cpu\":3,\"lost\":18446744073709551615}\n");
	record = (RsTraceRecord){.kind = RS_TRACE_RECORD_BOOT, .ns = 9, .when.boot = 2};
	check_line(record, &task, &source,
		   "{\"ns\":9,\"source\":\"src\",\"source_number\":5,\"boot\":2}\n");
}

/* ---- fields ---- */

static void check_field(RsTraceField field, gconstpointer payload, guint size, const char *want)
{
	const RsTraceTask task = {.comm = "t"};
	const RsTraceEvent event = {.system = "s", .name = "e", .fields = &field, .n_fields = 1};
	const RsTraceRecord record = {.event = &event, .payload = payload, .size = size};
	g_autofree char *line = g_strdup_printf(
		"{\"ns\":0," TASK ",\"system\":\"s\",\"event\":\"e\",\"fields\":{\"f\":%s}}\n",
		want);

	field.name = "f";
	check_line(record, &task, NULL, line);
}

static void test_integers(void)
{
	static const gint64 values[] = {0, 9, 10, -1, -10, G_MAXINT64, G_MININT64};
	static const char *const as_signed[] = {
		"0", "9", "10", "-1", "-10", "9223372036854775807", "-9223372036854775808"};
	static const char *const as_unsigned[] = {"0",
						  "9",
						  "10",
						  "18446744073709551615",
						  "18446744073709551606",
						  "9223372036854775807",
						  "9223372036854775808"};

	for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
		RsTraceField field = {.kind = RS_KIND_SINT, .size = 8, .is_signed = TRUE};

		check_field(field, &values[i], 8, as_signed[i]);
		check_field(field, &values[i], 7, "null");
		field = (RsTraceField){.kind = RS_KIND_UINT, .size = 8};
		check_field(field, &values[i], 8, as_unsigned[i]);
		field.kind = RS_KIND_HEX;
		check_field(field, &values[i], 8, as_unsigned[i]);
	}
	check_field((RsTraceField){.kind = RS_KIND_POINTER, .size = 8}, &values[3], 8,
		    "\"0xffffffffffffffff\"");
}

static void test_texts(void)
{
	const guint32 locator = rs_locator(4, 3);
	char payload[8] = "....a\0b";

	memcpy(payload, &locator, 4);
	check_field((RsTraceField){.kind = RS_KIND_DYN_STRING, .size = 4}, payload, 8, "\"a\"");
	check_field((RsTraceField){.kind = RS_KIND_DYN_STRING, .size = 4}, payload, 6, "null");
	check_field((RsTraceField){.kind = RS_KIND_STRING, .size = 2}, "\n\"", 2, "\"\\n\\\"\"");
}

static void test_symbols(void)
{
	static const RsTraceSymbol symbols[] = {{1, "one"}, {4, "\""}};
	RsTraceField field = {.kind = RS_KIND_ENUM, .size = 1, .symbols = symbols, .n_symbols = 2};

	check_field(field, "\1", 1, "{\"value\":1,\"name\":\"one\"}");
	check_field(field, "\4", 1, "{\"value\":4,\"name\":\"\\\"\"}");
	check_field(field, "\5", 1, "{\"value\":5,\"name\":\"0x5\"}");
	field.kind = RS_KIND_FLAGS;
	check_field(field, "\5", 1, "{\"value\":5,\"name\":\"one|\\\"\"}");
	check_field(field, "\0", 1, "{\"value\":0,\"name\":\"\"}");
}

static void test_arrays(void)
{
	RsTraceField field = {.kind = RS_KIND_ARRAY, .size = 3, .elem_size = 1, .is_signed = TRUE};
	guint8 payload[12];

	check_field(field, "\1\xff\2", 3, "[1,-1,2]");
	field.is_signed = FALSE;
	check_field(field, "\1\xff\2", 3, "[1,255,2]");
	field = (RsTraceField){.kind = RS_KIND_DYN_ARRAY, .size = 4, .elem_size = 2};
	memcpy(payload + 4, "\1\0\2\0\3\0\4", 8);
	for (guint length = 0; length <= 7; length++) {
		static const char *const want[] = {"[]", "[1]", "[1,2]", "[1,2,3]"};
		const guint32 locator = rs_locator(4, length);

		memcpy(payload, &locator, 4);
		check_field(field, payload, sizeof(payload), want[length / 2]);
	}
}

/* Many fields may name the same bytes. Once the line is long, the rest of them is null. */
static void test_long(void)
{
	enum { FIELDS = 8, BYTES = RS_TRACE_JSON_MAX / 4 };
	g_autofree char *payload = g_strnfill(BYTES, 'x');
	const RsTraceTask task = {.comm = "t"};
	RsTraceField fields[FIELDS];
	const RsTraceEvent event = {
		.system = "s", .name = "e", .fields = fields, .n_fields = FIELDS};
	const RsTraceRecord record = {
		.event = &event, .payload = (const guint8 *)payload, .size = BYTES};
	g_autoptr(GString) out = g_string_new(NULL);
	guint texts = 0, nulls = 0;

	for (guint i = 0; i < FIELDS; i++)
		fields[i] = (RsTraceField){.name = "f", .kind = RS_KIND_STRING, .size = BYTES};
	rs_trace_json_line(out, &record, &task);
	for (const char *at = out->str; (at = strstr(at, "\"f\":")); at++) {
		texts += at[4] == '"';
		nulls += g_str_has_prefix(at + 4, "null");
	}
	g_assert_cmpuint(texts, ==, 4);
	g_assert_cmpuint(nulls, ==, FIELDS - 4);
	g_assert_true(g_str_has_suffix(out->str, ",\"f\":null}}\n"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/json/kinds", test_kinds);
	g_test_add_func("/decode/json/integers", test_integers);
	g_test_add_func("/decode/json/texts", test_texts);
	g_test_add_func("/decode/json/symbols", test_symbols);
	g_test_add_func("/decode/json/arrays", test_arrays);
	g_test_add_func("/decode/json/long", test_long);
	return g_test_run();
}
