/* SPDX-License-Identifier: MIT */
/* Print formats: what of them is refused, and that what they show is laid out as by C's printf. */
#include "rs-trace-text.h"
#include "build.h"

#include <string.h>

/* Bytes of the entry that the conversions show. */
typedef struct {
	guint64 u8;
	gint64 s8;
	guint32 u4;
	gint32 s4;
	char text[12];
	char letter;
	gint8 s1;
	gint16 s2;
} Entry;

static RsTraceSchema *schema_with(const char *print, const char *args, GError **error)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();
	RsTraceSchema *schema = rs_trace_schema_new();
	TestDesc *desc = test_desc_new(TEST_ALL, "x", "y");
	struct rs_provider entry;

	test_desc_int(desc, "u8", RS_KIND_UINT, 8);
	test_desc_int(desc, "s8", RS_KIND_SINT, 8);
	test_desc_int(desc, "u4", RS_KIND_UINT, 4);
	test_desc_int(desc, "s4", RS_KIND_SINT, 4);
	test_desc_array(desc, "text", RS_KIND_STRING, 1, 12, 0);
	test_desc_int(desc, "letter", RS_KIND_UINT, 1);
	test_desc_int(desc, "s1", RS_KIND_SINT, 1);
	test_desc_int(desc, "s2", RS_KIND_SINT, 2);
	test_desc_end(desc, print, args, descs);
	test_provider(&entry, 0, descs);
	rs_trace_schema_take(schema, 0, &entry, descs->data, descs->len, NULL, error);
	return schema;
}

static RsTraceSchema *schema_of(const char *print, const char *args)
{
	return schema_with(print, args, NULL);
}

static char *shown(const char *print, const char *args, const Entry *entry, guint size)
{
	g_autoptr(RsTraceSchema) schema = schema_of(print, args);
	GString *out = g_string_new("before ");
	RsTraceRecord record = {.payload = (const guint8 *)entry, .size = size, .id = TEST_ALL};

	record.event = rs_trace_schema_by_id(schema, TEST_ALL);
	g_assert_nonnull(record.event);
	rs_trace_text_message(out, &record);
	g_string_erase(out, 0, strlen("before "));
	return g_string_free(out, FALSE);
}

static gboolean takes(const char *print, const char *args)
{
	g_autoptr(RsTraceSchema) schema = schema_of(print, args);

	return rs_trace_schema_n_events(schema) == 1;
}

static char *by_c(const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	text = g_strdup_vprintf(format, ap);
	va_end(ap);
	return text;
}

static void check(const char *before, char conversion, const char *field, guint64 value)
{
	gboolean is_long = field[1] == '8', is_signed = strchr("di", conversion) != NULL;
	g_autofree char *print = g_strdup_printf("<%s%c>", before, conversion);
	g_autofree char *format =
		g_strdup_printf("<%s%s%c>", before, is_long ? "ll" : "", conversion);
	g_autofree char *want = NULL, *got = NULL;
	Entry entry = {.u8 = value, .s8 = (gint64)value, .u4 = (guint32)value, .s4 = (gint32)value};

	got = shown(print, field, &entry, sizeof(entry));
	want = is_long     ? by_c(format, value)
	       : is_signed ? by_c(format, (gint32)value)
			   : by_c(format, (guint32)value);
	g_assert_cmpstr(got, ==, want);
}

/* Flags, widths and precisions on either side of the number's own length. */
static void test_numbers(void)
{
	static const char *const flags[] = {"", "-", "0", "+", " ", "#", "-0", "+0", "#0", "- #"};
	static const char *const sizes[] = {"",    "1",   "5",   "6",   "7",   "9",
					    ".0",  ".1",  ".5",  ".6",  ".7",  "7.6",
					    "9.7", "6.7", "9.0", "255", ".255"};
	static const char *const fields[] = {"u8", "s8", "u4", "s4"};
	static const guint64 values[] = {0,
					 7,
					 12345,
					 (guint64)-12345,
					 0x12345,
					 G_MAXUINT64,
					 G_GUINT64_CONSTANT(1) << 63,
					 0x7fffffff};

	for (guint f = 0; f < G_N_ELEMENTS(flags); f++) {
		for (guint s = 0; s < G_N_ELEMENTS(sizes); s++) {
			g_autofree char *before = g_strconcat("%", flags[f], sizes[s], NULL);

			for (const char *c = "diuxXo"; *c; c++) {
				for (guint i = 0; i < G_N_ELEMENTS(fields); i++)
					check(before, *c, fields[i], values[(f + s) % 8]);
				check(before, *c, "s4", 0);
			}
		}
	}
	for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
		for (const char *c = "diuxXo"; *c; c++) {
			for (guint k = 0; k < G_N_ELEMENTS(fields); k++)
				check("%", *c, fields[k], values[i]);
		}
	}
}

static void check_text(const char *print, const char *args, const char *want)
{
	const Entry entry = {.text = "kworker", .letter = '@', .u8 = 0xbeef};
	g_autofree char *got = shown(print, args, &entry, sizeof(entry));

	g_assert_cmpstr(got, ==, want);
}

static void test_texts(void)
{
	check_text("<%s>", "text", "<kworker>");
	check_text("<%6s>", "text", "<kworker>");
	check_text("<%7s>", "text", "<kworker>");
	check_text("<%8s>", "text", "< kworker>");
	check_text("<%-8s>", "text", "<kworker >");
	check_text("%10s", "text", "   kworker");
	check_text("<%10s|%-10s>", "text, text", "<   kworker|kworker   >");
	check_text("<%.6s|%.7s|%.8s>", "text, text, text", "<kworke|kworker|kworker>");
	check_text("<%.0s|%2.0s|%-2.0s|%8.7s|%-8.6s>", "text, text, text, text, text",
		   "<|  |  | kworker|kworke  >");
	check_text("<%c|%1c|%2c|%-2c|%4c|%-4c>", "letter, letter, letter, letter, letter, letter",
		   "<@|@| @|@ |   @|@   >");
	check_text("<%p|%8p|%-8p>", "u8, u8, u8", "<0xbeef|  0xbeef|0xbeef  >");
	check_text("100%%|%u%%", "letter", "100%|64%");
}

/* Smaller numbers are shown as C shows them, which makes ints of them. */
static void test_small(void)
{
	const Entry entry = {.s1 = -1, .s2 = -2};
	g_autofree char *got =
		shown("%x %X %u %o %d %i", "s1, s2, s1, s2, s1, s2", &entry, sizeof(entry));

	g_assert_cmpstr(got, ==, "ffffffff FFFFFFFE 4294967295 37777777776 -1 -2");
}

/* Of the length modifiers only h and hh show less, where nothing longer follows them. */
static void test_lengths(void)
{
	const Entry entry = {.u8 = 0xfedcba9876543210, .letter = '@', .s8 = -0x8182838485868788};
	static const struct {
		const char *print, *want;
	} cases[] = {
		{"%x", "fedcba9876543210"},
		{"%hx", "3210"},
		{"%hhx", "10"},
		{"%hhhx", "10"},
		{"%lx", "fedcba9876543210"},
		{"%llx", "fedcba9876543210"},
		{"%hlx", "fedcba9876543210"},
		{"%hhlx", "fedcba9876543210"},
		{"%lhx", "3210"},
		{"%jx", "fedcba9876543210"},
		{"%zx", "fedcba9876543210"},
		{"%tx", "fedcba9876543210"},
		{"%hjx", "fedcba9876543210"},
		{"%hp", "0xfedcba9876543210"},
		{"%hhc", "\\x10"},
		{"%hX", "3210"},
		{"%ho", "31020"},
		{"%hu", "12816"},
		{"%hd", "12816"},
		{"%hhi", "16"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *got = shown(cases[i].print, "u8", &entry, sizeof(entry));

		g_test_message("%s", cases[i].print);
		g_assert_cmpstr(got, ==, cases[i].want);
	}
	/* The sign is that of what is shown. */
	{
		g_autofree char *got =
			shown("%hd %hhd %hu %hhu", "s8, s8, s8, s8", &entry, sizeof(entry));

		g_assert_cmpstr(got, ==, "30840 120 30840 120");
	}
}

/* A record that ends within a field, or exactly behind it. */
static void test_cut(void)
{
	const Entry entry = {.u8 = 1, .s8 = 2, .u4 = 3, .s4 = 4, .text = "eleven byte"};
	static const struct {
		guint size;
		const char *want;
	} cases[] = {
		{7, "(cut) (cut)"},
		{8, "1 (cut)"},
		{offsetof(Entry, text) + 11, "1 (cut)"},
		{offsetof(Entry, text) + 12, "1 eleven byte"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *got = shown("%u %s", "u8, text", &entry, cases[i].size);

		g_assert_cmpstr(got, ==, cases[i].want);
	}
}

/* %s shows what is no plain number, and the others what is one: symbols can be shown both ways. */
static void test_kinds(void)
{
	for (guint kind = RS_KIND_UINT; kind <= RS_KIND_DYN_STRING; kind++) {
		for (const char *c = "diuxXocpseb"; *c; c++) {
			gboolean symbols = kind == RS_KIND_ENUM || kind == RS_KIND_FLAGS;
			gboolean fits =
				*c == 's' ? kind >= RS_KIND_ENUM : kind < RS_KIND_ENUM || symbols;
			g_autoptr(GByteArray) descs = g_byte_array_new();
			g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
			g_autofree char *print = g_strdup_printf("%%%c", *c);
			TestDesc *desc = test_desc_new(TEST_ALL, "x", "y");
			struct rs_provider entry;

			if (kind <= RS_KIND_FLAGS)
				test_desc_int(desc, "f", kind, 8);
			else
				test_desc_array(desc, "f", kind, 1, 8, 0);
			if (symbols)
				test_desc_symbol(desc, 1, "ONE");
			test_desc_end(desc, print, "f", descs);
			test_provider(&entry, 0, descs);
			rs_trace_schema_take(schema, 0, &entry, descs->data, descs->len, NULL,
					     NULL);
			g_test_message("%%%c of kind %u", *c, kind);
			g_assert_cmpuint(rs_trace_schema_n_events(schema), ==,
					 fits && !strchr("eb", *c));
		}
	}
}

static void test_refused(void)
{
	g_autoptr(GString) print = g_string_new(NULL), args = g_string_new("u8");

	g_assert_true(takes("%255u %.255u", "u8, u8"));
	g_assert_false(takes("%256u", "u8"));
	g_assert_false(takes("%.256u", "u8"));
	g_assert_true(takes("%u", "__entry->u8"));
	g_assert_true(takes("%u", " REC->u8 "));
	g_assert_true(takes("%s", "__get_str( text )"));
	g_assert_false(takes("%s", "__get_str(text"));
	g_assert_false(takes("%u %u", "u8"));
	g_assert_false(takes("%u", "u8, u8"));
	g_assert_false(takes("", "u8"));
	g_assert_true(takes("", " \t"));
	g_assert_false(takes("%u", "u8,"));
	g_assert_false(takes("%u", "u9"));
	g_assert_false(takes("%c", "text"));
	g_assert_false(takes("%s", "u8"));
	for (guint i = 0; i < RS_TRACE_PRINT_ARGS_MAX; i++) {
		g_string_append(print, "%u");
		if (i)
			g_string_append(args, ",u8");
	}
	g_assert_true(takes(print->str, args->str));
	g_string_append(print, "%u");
	g_string_append(args, ",u8");
	g_assert_false(takes(print->str, args->str));
}

/* The guest's author is told what is wrong, and not only that something is. */
static void test_reasons(void)
{
	static const struct {
		const char *print, *args, *why;
	} cases[] = {
		{"%*u", "u8", "'*' width"},
		{"%.*u", "u8", "'*' precision"},
		{"%256u", "u8", "width above 255"},
		{"%2550u", "u8", "width above 255"},
		{"%.256u", "u8", "precision above 255"},
		{"%", "u8", "unknown conversion"},
		{"%l", "u8", "unknown conversion"},
		{"%u %u", "u8", "more conversions than arguments"},
		{"%u", "u8, u4", "fewer conversions than arguments"},
		{"%u", "u8, nix", "argument 2 is not a field"},
		{"%s", "u8", "field u8 by %s"},
		{"\xff%u", "u8", "not UTF-8"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(RsTraceSchema) schema =
			schema_with(cases[i].print, cases[i].args, &error);

		g_assert_nonnull(schema);
		g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR);
		if (!strstr(error->message, cases[i].why))
			g_error("%s: %s", cases[i].print, error->message);
	}
}

/* A line ends after RS_TRACE_TEXT_MAX bytes, and never within a character. */
static void test_long(void)
{
	static const char *const ends[] = {"", "a", "aa", "aaa"};
	const Entry entry = {.u8 = 1};

	for (guint i = 0; i < G_N_ELEMENTS(ends); i++) {
		g_autoptr(GString) print = g_string_new(ends[i]);
		g_autofree char *got = NULL;
		gsize length;

		while (print->len <= RS_TRACE_TEXT_MAX)
			g_string_append(print, "\xe2\x82\xac");
		length = print->len;
		while (length > RS_TRACE_TEXT_MAX)
			length -= 3;
		g_string_append(print, "%u");
		got = shown(print->str, "u8", &entry, sizeof(entry));
		g_assert_cmpuint(strlen(got), ==, length + strlen("..."));
		g_assert_true(g_utf8_validate(got, -1, NULL));
		g_assert_true(g_str_has_suffix(got, "\xe2\x82\xac..."));
	}
	/* As much as is allowed is not cut. */
	{
		g_autofree char *print = g_strnfill(RS_TRACE_TEXT_MAX, 'a');
		g_autofree char *got = shown(print, "", &entry, sizeof(entry));

		g_assert_cmpstr(got, ==, print);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/print/numbers", test_numbers);
	g_test_add_func("/decode/print/texts", test_texts);
	g_test_add_func("/decode/print/small", test_small);
	g_test_add_func("/decode/print/lengths", test_lengths);
	g_test_add_func("/decode/print/cut", test_cut);
	g_test_add_func("/decode/print/kinds", test_kinds);
	g_test_add_func("/decode/print/refused", test_refused);
	g_test_add_func("/decode/print/reasons", test_reasons);
	g_test_add_func("/decode/print/long", test_long);
	return g_test_run();
}
