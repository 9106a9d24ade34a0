/* SPDX-License-Identifier: MIT */
#include "rs-trace-escape.h"

#include <json-glib/json-glib.h>
#include <string.h>

static void test_text(void)
{
	static const struct {
		const char *raw, *keep, *shown;
	} cases[] = {
		{"", NULL, ""},
		{"plain, with % and \"", NULL, "plain, with % and \""},
		{"two\nlines", "\n", "two\nlines"},
		{"two\nlines", NULL, "two\\x0alines"},
		{"a\tb\rc", "\n\t", "a\tb\\x0dc"},
		{"\x1b[2J\a", "\n\t", "\\x1b[2J\\x07"},
		{"\x7f", "", "\\x7f"},
		{"Gr\xc3\xbc\xc3\x9f", NULL, "Gr\xc3\xbc\xc3\x9f"},
		/* Escaped text stays as it is. */
		{"\\x1b \\", NULL, "\\x1b \\"},
		/*
		 * Bytes that are not UTF-8: alone, cut off, too long a form, half of a surrogate
		 * pair.
		 */
		{"\xff", NULL, "\\xff"},
		{"\xc3", NULL, "\\xc3"},
		{"a\xe2\x82", NULL, "a\\xe2\\x82"},
		{"\xc0\x9b", NULL, "\\xc0\\x9b"},
		{"\xed\xa0\x80", NULL, "\\xed\\xa0\\x80"},
		/* Characters that do not print: a C1 control, right-to-left override, Arabic letter
		 * mark, zero-width joiner, line separator, one that is not assigned. */
		{"\xc2\x9b", NULL, "\\xc2\\x9b"},
		{"\xe2\x80\xae", NULL, "\\xe2\\x80\\xae"},
		{"\xd8\x9c", NULL, "\\xd8\\x9c"},
		{"\xe2\x80\x8d", NULL, "\\xe2\\x80\\x8d"},
		{"\xe2\x80\xa8", NULL, "\\xe2\\x80\\xa8"},
		{"\xef\xbf\xbe", NULL, "\\xef\\xbf\\xbe"},
		/* Byte order mark, soft hyphen, a tag. */
		{"\xef\xbb\xbf", NULL, "\\xef\\xbb\\xbf"},
		{"\xc2\xad", NULL, "\\xc2\\xad"},
		{"\xf3\xa0\x81\x81", NULL, "\\xf3\\xa0\\x81\\x81"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *shown = rs_trace_escape(cases[i].raw, -1, cases[i].keep);

		g_assert_cmpstr(shown, ==, cases[i].shown);
	}
}

static void test_size(void)
{
	g_autofree char *whole = rs_trace_escape("a\0b", 3, "\n"),
			*part = rs_trace_escape("abc", 2, NULL);

	g_assert_cmpstr(whole, ==, "a\\x00b");
	g_assert_cmpstr(part, ==, "ab");
	g_assert_cmpuint(rs_trace_plain_char("\xc3\xbc", 2), ==, 2);
	g_assert_cmpuint(rs_trace_plain_char("\xc3\xbc", 1), ==, 0);
	g_assert_cmpuint(rs_trace_plain_char("\0", 1), ==, 0);
}

static void test_json(void)
{
	static const struct {
		const char *raw, *shown;
	} cases[] = {
		{"plain \xc3\xbc /", "plain \xc3\xbc /"},
		/* A newline, and four characters that look like one in text. */
		{"\n", "\\n"},
		{"\\x0a", "\\\\x0a"},
		{" ~\x1f\x7f", " ~\\u001f\\u007f"},
		{"\t\r\b\x1b\x7f\"\\", "\\t\\r\\u0008\\u001b\\u007f\\\"\\\\"},
		{"\xc2\x9b\xe2\x80\xae", "\\u009b\\u202e"},
		/* The last character of one unit, and the last of two. */
		{"\xef\xbf\xbf", "\\uffff"},
		{"\xf4\x8f\xbf\xbf", "\\udbff\\udfff"},
		{"\xf3\xa0\x80\x80", "\\udb40\\udc00"},
		{"\xf3\xa0\x80\x81", "\\udb40\\udc01"},
		{"\xd8\x9c\xef\xbb\xbf\xc2\xad", "\\u061c\\ufeff\\u00ad"},
		{"a\xff\xc3", "a\\uefff\\uefc3"},
		/*
		 * U+EF7F and U+F000 stay. What is between would mean a byte, so its three bytes
		 * become three characters.
		 */
		{"\xee\xbd\xbf", "\xee\xbd\xbf"},
		{"\xef\x80\x80", "\xef\x80\x80"},
		{"\xee\xbe\x80", "\\uefee\\uefbe\\uef80"},
		{"\xee\xbf\xbf", "\\uefee\\uefbf\\uefbf"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GString) out = g_string_new(NULL);

		rs_trace_append_json_escaped(out, cases[i].raw, strlen(cases[i].raw));
		g_assert_cmpstr(out->str, ==, cases[i].shown);
	}
}

/* Each range of characters that nobody sees. What stands before and after it is shown. */
static void test_invisible(void)
{
	static const gunichar ranges[][2] = {
		{0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},     {0x115f, 0x1160},
		{0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f},   {0x2028, 0x202e},
		{0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
		{0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff},
	};

	for (guint i = 0; i < G_N_ELEMENTS(ranges); i++) {
		for (gunichar c = ranges[i][0] - 1; c <= ranges[i][1] + 1; c++) {
			gboolean hidden = c >= ranges[i][0] && c <= ranges[i][1];
			char text[7] = "";
			gsize size = (gsize)g_unichar_to_utf8(c, text);

			g_test_message("U+%04X", c);
			g_assert_cmpuint(rs_trace_plain_char(text, size), ==,
					 !hidden && g_unichar_isprint(c) ? size : 0);
		}
	}
	g_assert_cmpuint(rs_trace_plain_char("\u0350", 2), ==, 2);
	g_assert_cmpuint(rs_trace_plain_char("\u1161", 3), ==, 3);
	g_assert_cmpuint(rs_trace_plain_char("\ufe10", 3), ==, 3);
}

/* A NUL in the middle is a character like others. */
static void test_json_size(void)
{
	g_autoptr(GString) out = g_string_new("<");

	rs_trace_append_json_escaped(out, "a\0b\0c", 4);
	g_assert_cmpstr(out->str, ==, "<a\\u0000b\\u0000");
	rs_trace_append_json_escaped(out, "\xc3\xbc", 1);
	g_assert_cmpstr(out->str, ==, "<a\\u0000b\\u0000\\uefc3");
	rs_trace_append_json_escaped(out, "ab\xc3\xbc", 3);
	rs_trace_append_json_escaped(out, "\n", 0);
	g_assert_cmpstr(out->str, ==, "<a\\u0000b\\u0000\\uefc3ab\\uefc3");
}

/* Restores the bytes of a string as docs/json.md tells a reader. */
static GByteArray *bytes_of(const char *text)
{
	GByteArray *bytes = g_byte_array_new();

	for (; *text; text = g_utf8_next_char(text)) {
		gunichar c = g_utf8_get_char(text);
		guint8 byte = (guint8)c;

		if (c >= 0xef80 && c <= 0xefff)
			g_byte_array_append(bytes, &byte, 1);
		else
			g_byte_array_append(bytes, (const guint8 *)text,
					    (guint)(g_utf8_next_char(text) - text));
	}
	return bytes;
}

/*
 * Through a JSON parser and back, whatever the bytes are: seeds of every kind, strung together at
 * random.
 */
static void test_json_round_trip(void)
{
	static const char *const seeds[] = {"a",
					    "\"",
					    "\\",
					    "\n",
					    "\x7f",
					    "\xff",
					    "\xc3",
					    "\xee",
					    "\xbe",
					    "\x80",
					    "\xee\xbe\x80",
					    "\xee\xbf\xbf",
					    "\xf3\xa0\x80\x81",
					    "\xed\xa0\x80",
					    "\xe2\x80\xae"};

	for (guint i = 0; i < 20000; i++) {
		g_autoptr(GString) raw = g_string_new(NULL), out = g_string_new("[\"");
		g_autoptr(JsonParser) parser = json_parser_new();
		g_autoptr(GByteArray) bytes = NULL;
		GError *error = NULL;

		for (gint n = g_test_rand_int_range(0, 12); n; n--) {
			if (g_test_rand_bit())
				g_string_append_c(raw, (char)g_test_rand_int_range(1, 256));
			else
				g_string_append(
					raw, seeds[g_test_rand_int_range(0, G_N_ELEMENTS(seeds))]);
		}
		rs_trace_append_json_escaped(out, raw->str, raw->len);
		g_string_append(out, "\"]");
		g_assert_true(g_utf8_validate(out->str, (gssize)out->len, NULL));
		json_parser_load_from_data(parser, out->str, (gssize)out->len, &error);
		g_assert_no_error(error);
		bytes = bytes_of(json_array_get_string_element(
			json_node_get_array(json_parser_get_root(parser)), 0));
		g_assert_cmpmem(bytes->data, bytes->len, raw->str, raw->len);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/escape/text", test_text);
	g_test_add_func("/decode/escape/size", test_size);
	g_test_add_func("/decode/escape/json", test_json);
	g_test_add_func("/decode/escape/invisible", test_invisible);
	g_test_add_func("/decode/escape/json-size", test_json_size);
	g_test_add_func("/decode/escape/json-round-trip", test_json_round_trip);
	return g_test_run();
}
