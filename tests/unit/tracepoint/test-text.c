/* SPDX-License-Identifier: MIT */
/* Text that the guest makes by itself is what the host makes of the same bytes. */
#include "schema.h"

#include "../../../guest-agent/tracepoint/escape.h"
#include "../../../guest-agent/tracepoint/format.h"
#include "../../../guest-agent/tracepoint/print.h"
#include "../../../guest-agent/tracepoint/text.h"

#include <rs-trace-escape.h>
#include <rs-trace-text.h>
#include <string.h>

static guint draw(gpointer data, guint below)
{
	return (guint)g_rand_int_range(data, 0, (gint32)below);
}

/* The whole text, and as much of it as a smaller buffer holds. */
static void check_sizes(const char *whole, guint length, const char *few, guint room)
{
	g_assert_cmpuint(strlen(whole), ==, length);
	if (room) {
		g_assert_cmpuint(strlen(few), ==, MIN(length, room - 1));
		g_assert_true(strncmp(whole, few, strlen(few)) == 0);
	}
}

static void check_format(struct schema *schema, guint room)
{
	const RsTraceEvent *event = schema_event(schema);
	static char text[RS_FORMAT_MAX + 100], few[256];
	g_autofree char *expected = NULL;
	int length = rs_format(&schema->info, RS_FIRST_EVENT_ID, text, sizeof(text));

	g_assert_true(rs_print_is_good(&schema->info) == !schema->refused);
	if (!event) {
		g_assert_cmpint(length, ==, -RS_EBADMSG);
		return;
	}
	expected = rs_trace_event_format(event);
	g_assert_cmpstr(text, ==, expected);
	g_assert_cmpint(rs_format(&schema->info, RS_FIRST_EVENT_ID, few, room), ==, length);
	check_sizes(text, (guint)length, few, room);
}

/* The one difference: escape.h. */
static gboolean has_unassigned(const char *text)
{
	g_assert_true(g_utf8_validate(text, -1, NULL));
	for (; *text; text = g_utf8_next_char(text))
		if (g_unichar_type(g_utf8_get_char(text)) == G_UNICODE_UNASSIGNED)
			return TRUE;
	return FALSE;
}

static void check_text(struct schema *schema, GByteArray *payload, guint room, gboolean cut)
{
	static char text[RS_MESSAGE_MAX + 100], few[256];
	struct rs_out out = {.out = text, .size = sizeof(text)}, less = {.out = few, .size = room};
	g_autoptr(GString) expected = g_string_new(NULL);
	/* So that a sanitizer sees each byte that is read behind it. */
	g_autofree guint8 *bytes = g_memdup2(payload->data, payload->len);
	const RsTraceRecord record = {
		.event = schema_event(schema), .payload = bytes, .size = payload->len, .cut = cut};

	rs_trace_text_message(expected, &record);
	rs_put_message(&out, &schema->info, bytes, payload->len, cut);
	rs_put_end(&out);
	if (!has_unassigned(text))
		g_assert_cmpstr(text, ==, expected->str);
	rs_put_message(&less, &schema->info, bytes, payload->len, cut);
	g_assert_cmpuint(rs_put_end(&less), ==, out.at);
	check_sizes(text, out.at, few, room);
}

static void test_text_is_the_hosts(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)g_test_rand_int());
	guint good = 0;

	for (guint i = 0; i < 4000; i++) {
		struct schema schema;

		schema_make(&schema, draw, rand);
		good += !schema.refused;
		check_format(&schema, draw(rand, 256));
		for (guint k = 0; k < 8; k++) {
			g_autoptr(GByteArray) payload = schema_payload(&schema, draw, rand);

			check_text(&schema, payload, draw(rand, 256), !draw(rand, 5));
		}
		schema_clear(&schema);
	}
	/* Both kinds are common. */
	g_assert_cmpuint(good, >, 1000);
	g_assert_cmpuint(good, <, 3900);
}

/* Characters of one byte to four: as the host judges them, but for unassigned ones. */
static void test_plain_characters_are_the_hosts(void)
{
	for (gunichar c = 0; c < 0x110000; c++) {
		char text[8] = {0};
		guint size, plain;

		if (c >= 0xd800 && c < 0xe000)
			continue;
		size = (guint)g_unichar_to_utf8(c, text);
		plain = rs_plain_character(text, size);
		if (g_unichar_type(c) != G_UNICODE_UNASSIGNED)
			g_assert_cmpuint(plain, ==, rs_trace_plain_char(text, size));
		/* Invisible is invisible, assigned or not. */
		if (c >= 0xe0000 && c <= 0xe0fff)
			g_assert_cmpuint(plain, ==, 0);
		if (size > 1)
			g_assert_cmpuint(rs_plain_character(text, size - 1), ==, 0);
	}
}

/* All pairs of a first and a second byte, with good ones behind: only UTF-8 is plain. */
static void test_broken_characters_are_not_plain(void)
{
	for (guint i = 0; i < 0x10000; i++) {
		char text[] = {(char)(i >> 8), (char)i, '\x80', '\x81', 0};
		gunichar c = g_utf8_get_char_validated(text, 4);

		if (c == (gunichar)-1 || c == (gunichar)-2)
			g_assert_cmpuint(rs_plain_character(text, 4), ==, 0);
		else if (text[0] && text[1])
			g_assert_true(rs_is_utf8(text) == g_utf8_validate(text, -1, NULL));
	}
}

/* A text of more than 64 KiB ends between two characters, and says so. */
static void test_long_text_is_cut_as_by_the_host(void)
{
	const struct rs_field_info field = {
		.name = "a", .type = "char", .kind = RS_KIND_DYN_STRING, .size = 4, .elem_size = 1};
	struct schema schema = {.info = {.system = "long",
					 .name = "text",
					 .print = "%s%s%s%s-",
					 .print_args = "a,a,a,a",
					 .fields = &field,
					 .field_count = 1,
					 .entry_size = 4}};

	for (guint shift = 0; shift < 5; shift++) {
		g_autoptr(GByteArray) payload = g_byte_array_new();
		guint32 locator = rs_locator(4, 20000);

		schema_describe(&schema);
		g_byte_array_append(payload, (const guint8 *)&locator, 4);
		for (guint i = 0; i < shift; i++)
			g_byte_array_append(payload, (const guint8 *)"x", 1);
		while (payload->len < 20004)
			g_byte_array_append(payload, (const guint8 *)"\xe2\x82\xac", 3);
		check_text(&schema, payload, 100, shift & 1);
		rs_trace_schema_free(schema.host);
	}
}

/* As many symbols as a descriptor holds make a format file of more than 64 KiB. */
static void test_long_format_is_cut_as_by_the_host(void)
{
	static char names[2000][8];
	g_autofree struct rs_symbol_info *symbols = g_new0(struct rs_symbol_info, 2000);
	struct rs_field_info fields[] = {
		{.name = "a", .type = "u64", .kind = RS_KIND_ENUM, .size = 8, .symbol_count = 2000},
	};
	struct schema schema = {.info = {.system = "long",
					 .name = "format",
					 .print = "%s %s",
					 .print_args = "a, a",
					 .fields = fields,
					 .field_count = 1,
					 .entry_size = 8}};

	for (guint i = 0; i < 2000; i++) {
		g_snprintf(names[i], sizeof(names[i]), "s%u", i);
		symbols[i] = (struct rs_symbol_info){i * 0x123456789u, names[i]};
	}
	fields[0].symbols = symbols;
	schema_describe(&schema);
	check_format(&schema, 100);
	g_assert_cmpuint((guint)rs_format(&schema.info, 64, NULL, 0), >, RS_FORMAT_MAX);
	rs_trace_schema_free(schema.host);
	/* And one that just fits. */
	fields[0].symbol_count = 800;
	schema_describe(&schema);
	check_format(&schema, 100);
	g_assert_cmpuint((guint)rs_format(&schema.info, 64, NULL, 0), <, RS_FORMAT_MAX);
	rs_trace_schema_free(schema.host);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tracepoint/text/random", test_text_is_the_hosts);
	g_test_add_func("/tracepoint/text/plain", test_plain_characters_are_the_hosts);
	g_test_add_func("/tracepoint/text/broken", test_broken_characters_are_not_plain);
	g_test_add_func("/tracepoint/text/long", test_long_text_is_cut_as_by_the_host);
	g_test_add_func("/tracepoint/text/long-format", test_long_format_is_cut_as_by_the_host);
	return g_test_run();
}
