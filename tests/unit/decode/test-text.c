/* SPDX-License-Identifier: MIT */
/* Lines and their parts at each limit: columns, flags, fields, symbols, arrays. */
#include "rs-trace-text.h"

#include <ringside/record.h>
#include <string.h>

/* ---- numbers and bytes ---- */

static void test_integers(void)
{
	static const guint8 low[8] = {0x7f, 0, 0, 0, 0, 0, 0, 0};
	static const guint8 high[8] = {0x81, 0x92, 0xa3, 0xb4, 0xc5, 0xd6, 0xe7, 0xf8};

	for (guint size = 1; size <= 8; size *= 2) {
		g_assert_cmphex(rs_trace_load_integer(low, size, FALSE), ==, 0x7f);
		g_assert_cmphex(rs_trace_load_integer(low, size, TRUE), ==, 0x7f);
	}
	g_assert_cmphex(rs_trace_load_integer(high, 1, FALSE), ==, 0x81);
	g_assert_cmphex(rs_trace_load_integer(high, 2, FALSE), ==, 0x9281);
	g_assert_cmphex(rs_trace_load_integer(high, 4, FALSE), ==, 0xb4a39281);
	g_assert_cmphex(rs_trace_load_integer(high, 8, FALSE), ==, 0xf8e7d6c5b4a39281);
	g_assert_cmphex(rs_trace_load_integer(high, 1, TRUE), ==, 0xffffffffffffff81);
	g_assert_cmphex(rs_trace_load_integer(high, 2, TRUE), ==, 0xffffffffffff9281);
	g_assert_cmphex(rs_trace_load_integer(high, 4, TRUE), ==, 0xffffffffb4a39281);
	g_assert_cmphex(rs_trace_load_integer(high, 8, TRUE), ==, 0xf8e7d6c5b4a39281);
}

/* A field ends where the payload does, or is not there. */
static void test_field_bytes(void)
{
	const guint8 payload[16] = "abcdefgh\0jklmno";
	RsTraceField field = {.kind = RS_KIND_ARRAY, .size = 4, .offset = 12};
	const guint8 *bytes = NULL;
	guint length = 0;

	g_assert_true(rs_trace_field_bytes(&field, payload, 16, &bytes, &length));
	g_assert_true(bytes == payload + 12 && length == 4);
	g_assert_false(rs_trace_field_bytes(&field, payload, 15, &bytes, &length));
	g_assert_false(rs_trace_field_bytes(&field, payload, 11, &bytes, &length));
	g_assert_false(rs_trace_field_bytes(&field, payload, 0, &bytes, &length));
	field.offset = 16;
	g_assert_false(rs_trace_field_bytes(&field, payload, 16, &bytes, &length));
	field.size = 0;
	g_assert_true(rs_trace_field_bytes(&field, payload, 16, &bytes, &length));
	g_assert_true(length == 0);
	field = (RsTraceField){.kind = RS_KIND_STRING, .size = 12};
	g_assert_true(rs_trace_field_bytes(&field, payload, 16, &bytes, &length));
	g_assert_true(bytes == payload && length == 8);
	field.size = 8; /* has no NUL */
	g_assert_true(rs_trace_field_bytes(&field, payload, 16, &bytes, &length));
	g_assert_true(bytes == payload && length == 8);
}

static void test_dynamic_bytes(void)
{
	static const struct {
		guint32 offset, length;
		gboolean fits;
	} cases[] = {
		{4, 0, TRUE},   {4, 12, TRUE},  {4, 13, FALSE},     {15, 1, TRUE},
		{15, 2, FALSE}, {16, 0, TRUE},  {16, 1, FALSE},     {17, 0, FALSE},
		{0, 16, TRUE},  {0, 17, FALSE}, {0xffff, 0, FALSE}, {4, 0x7fff, FALSE},
	};
	guint8 payload[16] = "....efgh\0jklmno";

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		guint32 locator = rs_locator(cases[i].offset, cases[i].length);
		RsTraceField field = {.kind = RS_KIND_DYN_ARRAY, .size = 4};
		const guint8 *bytes = NULL;
		guint length = 99;

		g_test_message("%u", i);
		/* A front is found as a whole field is. */
		locator |= i % 2 ? RS_LOCATOR_CUT : 0;
		memcpy(payload, &locator, 4);
		g_assert_true(rs_trace_field_is_cut(&field, payload, 16) ==
			      (cases[i].fits && i % 2));
		g_assert_false(rs_trace_field_is_cut(&field, payload, 3));
		g_assert_true(rs_trace_field_bytes(&field, payload, 16, &bytes, &length) ==
			      cases[i].fits);
		if (!cases[i].fits)
			continue;
		g_assert_true(bytes == payload + cases[i].offset);
		g_assert_cmpuint(length, ==, cases[i].length);
		field.kind = RS_KIND_DYN_STRING;
		g_assert_true(rs_trace_field_bytes(&field, payload, 16, &bytes, &length));
		g_assert_cmpuint(length, ==, strnlen((const char *)bytes, cases[i].length));
	}
}

/* ---- flags ---- */

static void check_flags(guint context, const char *want)
{
	char flags[6] = "";

	rs_trace_text_flags(context, flags);
	g_assert_cmpstr(flags, ==, want);
}

static void test_flags(void)
{
	check_flags(0, ".....");
	check_flags(RS_CTX_USER, ".....");
	check_flags(RS_CTX_IRQS_OFF, "d....");
	check_flags(RS_CTX_NEED_RESCHED, ".n...");
	check_flags(RS_CTX_SOFTIRQ, "..s..");
	check_flags(RS_CTX_HARDIRQ, "..h..");
	check_flags(RS_CTX_HARDIRQ | RS_CTX_SOFTIRQ, "..H..");
	check_flags(RS_CTX_NMI, "..z..");
	check_flags(RS_CTX_NMI | RS_CTX_SOFTIRQ, "..z..");
	check_flags(RS_CTX_NMI | RS_CTX_HARDIRQ, "..Z..");
	for (guint n = 1; n <= 15; n++) {
		char want[6] = "...0.";

		want[3] = (char)(n < 10 ? '0' + n : 'a' + n - 10);
		check_flags(n << RS_CTX_PREEMPT_SHIFT, want);
	}
	for (guint n = 1; n <= 7; n++) {
		char want[6] = "....0";

		want[4] = (char)('0' + n);
		check_flags(n << RS_CTX_MIGRATE_SHIFT, want);
	}
	check_flags(0x7fff, "dnZf7");
	check_flags(0xff80, "...f7");
}

/* ---- lines ---- */

static const RsTraceEvent event = {.system = "sys", .name = "ev"};

static void check_line(RsTraceRecord record, const char *comm, const char *source,
		       RsTraceTextStyle style, const char *want)
{
	const RsTraceTask task = {.comm = comm};
	const RsTraceOrigin origin = {.name = "name", .escaped = source};
	g_autoptr(GString) out = g_string_new("before\n");

	record.origin = &origin;
	rs_trace_text_line(out, &record, &task, style | RS_TRACE_TEXT_SOURCE);
	g_assert_cmpstr(out->str + strlen("before\n"), ==, want);
}

static void test_columns(void)
{
	RsTraceRecord record = {.event = &event, .pid = 1, .ring = 2, .ns = 3000};

	check_line(record, "task", NULL, 0,
		   "            task-1       [002] .....     0.000003: sys:ev: \n");
	record.pid = 1234567;
	record.ring = 999;
	record.ns = 99999999999499;
	check_line(record, "a-task-of-16-byt", NULL, 0,
		   "a-task-of-16-byt-1234567 [999] ..... 99999.999999: sys:ev: \n");
	record.ns++; /* rounded, as ftrace does */
	check_line(record, "a-task-of-16-byt", NULL, 0,
		   "a-task-of-16-byt-1234567 [999] ..... 100000.000000: sys:ev: \n");
	check_line(record, "a-task-of-16-byt", NULL, RS_TRACE_TEXT_NS,
		   "a-task-of-16-byt-1234567 [999] ..... 99999.999999500: sys:ev: \n");
	record.pid = 12345678;
	record.ring = 1000;
	record.ns = 100000000000000;
	check_line(record, "a-task-of-17-byte", NULL, 0,
		   "a-task-of-17-byte-12345678 [1000] ..... 100000.000000: sys:ev: \n");
	record.pid = G_MAXUINT32;
	record.ring = G_MAXUINT16;
	record.ns = G_MAXUINT64;
	record.context = RS_CTX_IRQS_OFF | 1 << RS_CTX_MIGRATE_SHIFT;
	check_line(record, "a-task-of-15-by", NULL, 0,
		   " a-task-of-15-by-4294967295 [65535] d...1 18446744073.709552: sys:ev: \n");
	record = (RsTraceRecord){.event = &event, .ns = 499};
	check_line(record, "", NULL, 0,
		   "                -0       [000] .....     0.000000: sys:ev: \n");
}

/* A guest's bytes make no colours, and ours end where they should. */
static void test_colors(void)
{
	RsTraceRecord record = {.event = &event, .pid = 1, .ring = 2, .ns = 3000};

	check_line(record, "a\x1b[1m", "src", RS_TRACE_TEXT_COLOR,
		   "\033[32m        a\\x1b[1m\033[0m-1       [002] .....     0.000003: "
		   "\033[1;36msrc/sys:ev: \033[0m\n");
	record = (RsTraceRecord){.kind = RS_TRACE_RECORD_LOSS, .ring = 3, .lost = 214};
	check_line(record, "x", "src", RS_TRACE_TEXT_COLOR,
		   "\033[1;31msrc/CPU:3 [LOST 214 EVENTS]\033[0m\n");
	record = (RsTraceRecord){.kind = RS_TRACE_RECORD_BOOT, .when.boot = 4, .ns = 5000006999};
	check_line(record, "x", NULL, RS_TRACE_TEXT_COLOR,
		   "\033[1;33m[BOOT 4 AT 5.000007]\033[0m\n");
}

/* Escapes make a name longer: what they take is taken from the blanks, and from nothing else. */
static void test_escaped_names(void)
{
	static const struct {
		const char *comm, *want;
	} cases[] = {
		{"a\x1b", "           a\\x1b"},
		{"12345678901\x1b", " 12345678901\\x1b"},
		{"123456789012\x1b", "123456789012\\x1b"},
		{"1234567890123\x1b", "1234567890123\\x1b"},
		{"123456789012345\x1b", "123456789012345\\x1b"},
		{"1234567890123456\x1b", "1234567890123456\\x1b"},
		{"\x1b\x1b\x1b\x1b", "\\x1b\\x1b\\x1b\\x1b"},
		{"\x1b\x1b\x1b\x1b\x1b", "\\x1b\\x1b\\x1b\\x1b\\x1b"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *want = g_strconcat(
			cases[i].want, "-0       [000] .....     0.000000: sys:ev: \n", NULL);

		check_line((RsTraceRecord){.event = &event}, cases[i].comm, NULL, 0, want);
	}
}

static void test_kinds(void)
{
	RsTraceRecord record = {.event = &event};

	check_line(record, "x", "src", 0,
		   "               x-0       [000] .....     0.000000: src/sys:ev: \n");
	check_line(record, "x", "src", RS_TRACE_TEXT_SHORT,
		   "               x-0       [000] .....     0.000000: src/ev: \n");
	record.cut = TRUE;
	check_line(record, "x", NULL, RS_TRACE_TEXT_SHORT,
		   "               x-0       [000] .....     0.000000: ev:  (cut)\n");
	record = (RsTraceRecord){.id = 77, .size = 5};
	check_line(record, "x", NULL, 0,
		   "               x-0       [000] .....     0.000000: #77: (unknown event, 5 "
		   "bytes)\n");
	record = (RsTraceRecord){.kind = RS_TRACE_RECORD_LOSS, .ring = 3, .lost = 214};
	check_line(record, "x", NULL, 0, "CPU:3 [LOST 214 EVENTS]\n");
	check_line(record, "x", "src", 0, "src/CPU:3 [LOST 214 EVENTS]\n");
	record = (RsTraceRecord){.kind = RS_TRACE_RECORD_BOOT, .when.boot = 4, .ns = 5000006999};
	check_line(record, "x", NULL, 0, "[BOOT 4 AT 5.000007]\n");
	check_line(record, "x", "src", 0, "[BOOT 4 OF src AT 5.000007]\n");
}

/* ---- fields, as a print format shows them by %s ---- */

static void check_field(const RsTraceField *field, gconstpointer payload, guint size,
			const char *want)
{
	const RsTracePrintStep step = {
		.literal = "", .field = field, .conversion = 's', .precision = -1};
	const RsTraceEvent shown = {.steps = &step, .n_steps = 1};
	RsTraceRecord record = {.event = &shown, .payload = payload, .size = size};
	g_autoptr(GString) out = g_string_new(NULL);

	rs_trace_text_message(out, &record);
	g_assert_cmpstr(out->str, ==, want);
}

static void append(GString *out, const char *text, gsize size)
{
	g_string_append_len(out, text, (gssize)size);
}

static void test_symbols(void)
{
	static const RsTraceSymbol symbols[] = {
		{0, "none"}, {1, "one"}, {6, "six"}, {4, "four"}, {8, "eight\n"}};
	static const struct {
		guint64 value;
		const char *name, *flags;
	} cases[] = {
		{0, "none", ""},
		{1, "one", "one"},
		{2, "0x2", "0x2"},
		{4, "four", "four"},
		{5, "0x5", "one|four"},
		{6, "six", "six"},
		{7, "0x7", "one|six"},
		{8, "eight\\x0a", "eight\\x0a"},
		{0x1f, "0x1f", "one|six|eight\\x0a|0x10"},
		{G_MAXUINT64, "0xffffffffffffffff", "one|six|eight\\x0a|0xfffffffffffffff0"},
	};
	RsTraceField field = {.size = 8, .symbols = symbols, .n_symbols = G_N_ELEMENTS(symbols)};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		field.kind = RS_KIND_ENUM;
		check_field(&field, &cases[i].value, 8, cases[i].name);
		field.kind = RS_KIND_FLAGS;
		check_field(&field, &cases[i].value, 8, cases[i].flags);
	}
	/* The bar comes between names, whatever stands before the field. */
	{
		g_autoptr(GString) out = g_string_new("flags=");

		rs_trace_append_symbols(out, &field, 0x15, append);
		g_assert_cmpstr(out->str, ==, "flags=one|four|0x10");
	}
}

static void test_arrays(void)
{
	static const gint8 bytes[8] = {0, 1, -1, 127, -128, 10, 99, 100};
	static const gint64 wide[2] = {G_MININT64, G_MAXINT64};
	RsTraceField field = {.kind = RS_KIND_ARRAY, .size = 8, .elem_size = 1, .elem_count = 8};
	guint8 dynamic[12] = {0};

	check_field(&field, bytes, 8, "{0,1,255,127,128,10,99,100}");
	check_field(&field, bytes, 7, "(cut)");
	field.is_signed = TRUE;
	check_field(&field, bytes, 8, "{0,1,-1,127,-128,10,99,100}");
	field.is_hex = TRUE;
	check_field(&field, bytes, 8, "{0x0,0x1,0xff,0x7f,0x80,0xa,0x63,0x64}");
	field = (RsTraceField){
		.kind = RS_KIND_ARRAY, .size = 16, .elem_size = 8, .is_signed = TRUE};
	check_field(&field, wide, 16, "{-9223372036854775808,9223372036854775807}");
	/* Elements that are there in part are left out. */
	field = (RsTraceField){.kind = RS_KIND_DYN_ARRAY, .size = 4, .elem_size = 2};
	for (guint length = 0; length <= 7; length++) {
		static const char *const want[] = {"{}", "{1}", "{1,2}", "{1,2,3}"};
		const guint32 locator = rs_locator(4, length);

		memcpy(dynamic, &locator, 4);
		memcpy(dynamic + 4, "\1\0\2\0\3\0\4", 8);
		check_field(&field, dynamic, sizeof(dynamic), want[length / 2]);
	}
}

/* Of what did not fit the front is shown, and that it goes on. */
static void test_fronts(void)
{
	static const char *const want[] = {"{...}", "{...}", "{24930,...}", "{24930,...}",
					   "{24930,25444,...}"};
	RsTraceField field = {.kind = RS_KIND_DYN_ARRAY, .size = 4, .elem_size = 2};
	guint8 payload[9] = "....badc";

	for (guint length = 0; length <= 4; length++) {
		const guint32 locator = rs_locator(4, length) | RS_LOCATOR_CUT;
		g_autofree char *text = g_strdup_printf("%.*s...", (int)length, "badc");

		memcpy(payload, &locator, 4);
		field.kind = RS_KIND_DYN_ARRAY;
		check_field(&field, payload, 8, want[length]);
		field.kind = RS_KIND_DYN_STRING;
		check_field(&field, payload, 8, text);
		check_field(&field, payload, 4 + length, text);
		check_field(&field, payload, 3 + length, "(cut)");
	}
}

static void test_numbers(void)
{
	static const gint64 values[] = {0, 1, -1, 9, 10, -10, G_MAXINT64, G_MININT64};
	static const char *const as_signed[] = {
		"0", "1", "-1", "9", "10", "-10", "9223372036854775807", "-9223372036854775808"};
	static const char *const as_unsigned[] = {"0",
						  "1",
						  "18446744073709551615",
						  "9",
						  "10",
						  "18446744073709551606",
						  "9223372036854775807",
						  "9223372036854775808"};
	static const char *const as_hex[] = {"0x0",
					     "0x1",
					     "0xffffffffffffffff",
					     "0x9",
					     "0xa",
					     "0xfffffffffffffff6",
					     "0x7fffffffffffffff",
					     "0x8000000000000000"};

	for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
		RsTraceField field = {.kind = RS_KIND_SINT, .size = 8, .is_signed = TRUE};

		check_field(&field, &values[i], 8, as_signed[i]);
		field = (RsTraceField){.kind = RS_KIND_UINT, .size = 8};
		check_field(&field, &values[i], 8, as_unsigned[i]);
		field = (RsTraceField){.kind = RS_KIND_HEX, .size = 8, .is_hex = TRUE};
		check_field(&field, &values[i], 8, as_hex[i]);
	}
}

/* ---- the header ---- */

static void test_header(void)
{
	g_autoptr(GString) out = g_string_new("x");

	rs_trace_text_header(out, 123, 4567, 8);
	g_assert_nonnull(
		strstr(out->str, "# entries-in-buffer/entries-written: 123/4567   #P:8\n"));
	g_assert_true(g_str_has_prefix(out->str, "x# tracer: nop\n"));
	g_assert_null(strstr(out->str, "CPUs"));
	/* Counts of what is still to come would be wrong from the first line on. */
	g_string_truncate(out, 0);
	rs_trace_text_header(out, 0, 0, 8);
	g_assert_true(g_str_has_prefix(out->str, "# tracer: nop\n#\n# CPUs: 8\n#\n"));
	g_assert_null(strstr(out->str, "entries"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/text/integers", test_integers);
	g_test_add_func("/decode/text/field-bytes", test_field_bytes);
	g_test_add_func("/decode/text/dynamic-bytes", test_dynamic_bytes);
	g_test_add_func("/decode/text/flags", test_flags);
	g_test_add_func("/decode/text/columns", test_columns);
	g_test_add_func("/decode/text/colors", test_colors);
	g_test_add_func("/decode/text/escaped-names", test_escaped_names);
	g_test_add_func("/decode/text/kinds", test_kinds);
	g_test_add_func("/decode/text/symbols", test_symbols);
	g_test_add_func("/decode/text/arrays", test_arrays);
	g_test_add_func("/decode/text/fronts", test_fronts);
	g_test_add_func("/decode/text/numbers", test_numbers);
	g_test_add_func("/decode/text/header", test_header);
	return g_test_run();
}
