/* SPDX-License-Identifier: MIT */
/* Format files become descriptions; and records are found in pages, whatever these say. */
#include "kernel.h"

#include <bridge/format.h>
#include <ringside/bridge.h>
#include <ringside/ftrace_page.h>
#include <string.h>

static bool parse(struct bridge_format *out, const char *text)
{
	g_autofree char *copy = g_strdup(text);

	return bridge_format_parse(out, "system", "event", copy);
}

static const struct rs_field_info *parse_field(struct bridge_format *out, const char *line)
{
	g_autofree char *text = g_strdup_printf("ID: 7\n\t%s\nprint fmt: \"\"\n", line);

	g_assert_true(parse(out, text));
	return out->info.field_count ? &out->info.fields[0] : NULL;
}

static void test_a_field_is_what_its_line_says(void)
{
	static const struct {
		const char *line, *name, *type;
		guint kind, offset, size, elem_size, elem_count, flags;
	} cases[] = {
		{"field:int a;\toffset:8;\tsize:4;\tsigned:1;", "a", "int", RS_KIND_SINT, 0, 4, 0,
		 0, RS_FIELD_SIGNED},
		{"field:enum hrtimer_mode m;\toffset:16;\tsize:4;\tsigned:0;", "m",
		 "enum hrtimer_mode", RS_KIND_UINT, 8, 4, 0, 0, 0},
		{"field:const void * p;\toffset:8;\tsize:8;\tsigned:0;", "p", "const void *",
		 RS_KIND_POINTER, 0, 8, 0, 0, 0},
		{"field:char *p;\toffset:8;\tsize:8;\tsigned:0;", "p", "char*", RS_KIND_POINTER, 0,
		 8, 0, 0, 0},
		{"field:char comm[16];\toffset:8;\tsize:16;\tsigned:0;", "comm", "char",
		 RS_KIND_STRING, 0, 16, 1, 16, 0},
		{"field:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;", "args", "u64",
		 RS_KIND_ARRAY, 8, 48, 8, 6, 0},
		{"field:odd_t x[3];\toffset:8;\tsize:6;\tsigned:0;", "x", "u16", RS_KIND_ARRAY, 0,
		 6, 2, 3, 0},
		{"field:struct in6 x;\toffset:8;\tsize:12;\tsigned:0;", "x", "u8", RS_KIND_ARRAY, 0,
		 12, 1, 12, RS_FIELD_HEX},
		{"field:__data_loc char[] s;\toffset:8;\tsize:4;\tsigned:0;", "s", "char",
		 RS_KIND_DYN_STRING, 0, 4, 1, 0, 0},
		{"field:__data_loc u32[] s;\toffset:8;\tsize:4;\tsigned:0;", "s", "u32",
		 RS_KIND_DYN_ARRAY, 0, 4, 4, 0, 0},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct bridge_format format;
		const struct rs_field_info *field = parse_field(&format, cases[i].line);

		g_assert_nonnull(field);
		g_assert_cmpstr(field->name, ==, cases[i].name);
		g_assert_cmpstr(field->type, ==, cases[i].type);
		g_assert_cmpint(field->kind, ==, cases[i].kind);
		g_assert_cmpint(field->offset, ==, cases[i].offset);
		g_assert_cmpint(field->size, ==, cases[i].size);
		g_assert_cmpint(field->elem_size, ==, cases[i].elem_size);
		g_assert_cmpint(field->elem_count, ==, cases[i].elem_count);
		g_assert_cmpint(field->flags, ==, cases[i].flags);
		bridge_format_deinit(&format);
	}
}

static void test_fields_that_we_cannot_have_are_left_out(void)
{
	static const char *const lines[] = {
		"field:int common_pid;\toffset:4;\tsize:4;\tsigned:1;",
		"field:char buf[];\toffset:16;\tsize:0;\tsigned:0;",
		"field:int a;\toffset:9999999;\tsize:4;\tsigned:1;",
		"field:int a;\toffset:8;\tsize:5000;\tsigned:1;",
		"field:int a b+;\toffset:8;\tsize:4;\tsigned:1;",
		"field:a;\toffset:8;\tsize:4;\tsigned:1;",
		"field:int a;\tsize:4;\tsigned:1;",
		"int a;\toffset:8;\tsize:4;\tsigned:1;",
	};

	for (guint i = 0; i < G_N_ELEMENTS(lines); i++) {
		struct bridge_format format;

		g_assert_null(parse_field(&format, lines[i]));
		bridge_format_deinit(&format);
	}
}

static void test_the_print_format_is_kept_as_text(void)
{
	struct bridge_format format;

	g_assert_true(
		parse(&format, "name: event\nID: 42\nprint fmt: \"a=%d %%\xc3\xa9\", REC->a\n"));
	g_assert_cmpstr(format.info.print, ==, "ID: 42\nprint fmt: \"a=%%d %%%%??\", REC->a");
	g_assert_cmpint(format.id, ==, 42);
	bridge_format_deinit(&format);
}

static void test_what_is_no_format_is_refused(void)
{
	static const char *const texts[] = {"", "ID: 7\n", "print fmt: \"\"\n",
					    "ID: 70000\nprint fmt: \"\"\n",
					    "ID: x\nprint fmt: \"\"\n"};
	struct bridge_format format;
	char good[] = "ID: 7\nprint fmt: \"\"\n";

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
		g_assert_false(parse(&format, texts[i]));
	g_assert_false(bridge_format_parse(&format, "sys tem", "event", good));
}

/* ---- pages ---- */

static guint count(const GByteArray *page, guint64 *last)
{
	struct rs_ftrace_record record;
	struct rs_ftrace_walk walk;
	guint n = 0;

	if (!rs_ftrace_begin(&walk, page->data, page->len))
		return G_MAXUINT;
	for (; rs_ftrace_next(&walk, &record); n++) {
		g_assert_true(record.data >= page->data);
		g_assert_true(record.data + record.data_size <= page->data + page->len);
		*last = record.ts;
	}
	return n;
}

static void test_a_dropped_record_leaves_its_time(void)
{
	g_autoptr(GByteArray) page = test_page_begin(100);
	struct rs_ftrace_record record;
	struct rs_ftrace_walk walk;
	guint64 last = 0;

	test_page_hop(page, 0, 1, "a", 1);
	test_page_hop(page, 10, 1, "b", 1);
	test_page_open(page, 20, 1, "c");
	g_assert_cmpint(count(page, &last), ==, 3);
	g_assert_cmpint(last, ==, 130);
	rs_ftrace_begin(&walk, page->data, page->len);
	rs_ftrace_next(&walk, &record);
	rs_ftrace_next(&walk, &record);
	rs_ftrace_drop(page->data, &record);
	g_assert_cmpint(count(page, &last), ==, 2);
	g_assert_cmpint(last, ==, 130);
}

static void put_word(GByteArray *page, guint32 word)
{
	guint32 length;

	g_byte_array_append(page, (const guint8 *)&word, sizeof(word));
	length = page->len - RS_FTRACE_HEADER;
	memcpy(page->data + 8, &length, sizeof(length));
}

static void test_time_passes_between_records(void)
{
	g_autoptr(GByteArray) page = test_page_begin(1ull << 50);
	guint64 last = 0;

	put_word(page, RS_FTRACE_EXTEND | 5u << 5); /* 2^27 * 3 + 5 */
	put_word(page, 3);
	test_page_hop(page, 1, 1, "a", 1);
	g_assert_cmpint(count(page, &last), ==, 1);
	g_assert_cmpint(last, ==, (1ull << 50) + (3ull << 27) + 6);
	put_word(page, RS_FTRACE_STAMP | 9u << 5);
	put_word(page, 4);
	test_page_hop(page, 1, 1, "b", 1);
	g_assert_cmpint(count(page, &last), ==, 2);
	/* A stamp holds all but the upper five bits. */
	g_assert_cmpint(last, ==, (4ull << 27) + 10);
}

/* Each byte in turn holds nonsense, and the page is cut at each place. */
static void test_a_hostile_page_stays_within_its_bytes(void)
{
	g_autoptr(GByteArray) good = test_page_begin(100);
	guint64 last;

	test_page_hop(good, 0, 1, "a", 1);
	test_page_open(good, 20, 1, "some name");
	test_page_missed(good, TRUE, 3);
	for (guint at = 0; at < good->len; at++) {
		for (guint value = 0; value < 256; value += 15) {
			g_autofree guint8 *exact = g_memdup2(good->data, good->len);
			const GByteArray page = {exact, good->len}, cut = {exact, at};

			exact[at] = (guint8)value;
			count(&page, &last);
			count(&cut, &last);
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/bridge/format/fields", test_a_field_is_what_its_line_says);
	g_test_add_func("/bridge/format/left-out", test_fields_that_we_cannot_have_are_left_out);
	g_test_add_func("/bridge/format/print", test_the_print_format_is_kept_as_text);
	g_test_add_func("/bridge/format/refused", test_what_is_no_format_is_refused);
	g_test_add_func("/bridge/page/dropped", test_a_dropped_record_leaves_its_time);
	g_test_add_func("/bridge/page/time", test_time_passes_between_records);
	g_test_add_func("/bridge/page/hostile", test_a_hostile_page_stays_within_its_bytes);
	return g_test_run();
}
