/* SPDX-License-Identifier: MIT */
/*
 * Numbers at the limits of each integer field, plainly and under masks: which are accepted, and
 * what the program says of values at the same limits. 128 bits hold all of them. And symbols,
 * patterns and messages at theirs.
 */
#include "filter.h"
#include "filter/glob.h"
#include "sample.h"

#include <errno.h>
#include <string.h>

typedef __int128 wide;

static const char *const OPS[] = {"==", "!=", "<", "<=", ">", ">="};

static bool holds(unsigned int op, wide a, wide b)
{
	switch (op) {
	case 0:
		return a == b;
	case 1:
		return a != b;
	case 2:
		return a < b;
	case 3:
		return a <= b;
	case 4:
		return a > b;
	default:
		return a >= b;
	}
}

/* In decimal; a negative one may have 64 bits beside its sign. */
static char *text_of(wide value)
{
	guint64 low = (guint64)(value < 0 ? -value : value);

	if (value >= (wide)1 << 64)
		return g_strdup_printf("1%s", "8446744073709551616"); /* 2^64 */
	return g_strdup_printf("%s%" G_GUINT64_FORMAT, value < 0 ? "-" : "", low);
}

/* Numbers around the field's limits. */
static unsigned int limits_of(const RsTraceField *field, wide out[])
{
	wide span = (wide)1 << (field->size * 8);
	wide low = field->is_signed ? -(span >> 1) : 0;
	wide high = low + span - 1;
	const wide all[] = {low - 1, low, low + 1, -1, 0, 1, high - 1, high, high + 1};

	memcpy(out, all, sizeof(all));
	return G_N_ELEMENTS(all);
}

/* The program's verdict on each value that the field can have. */
static void check_program(const GByteArray *program, const RsTraceField *field, unsigned int op,
			  wide mask, wide value)
{
	wide values[9];
	unsigned int n = limits_of(field, values);

	for (unsigned int i = 1; i + 1 < n; i++) {
		struct sample entry;
		const struct rs_filter_input in = {.entry = &entry, .entry_size = sizeof(entry)};
		uint64_t bytes = (uint64_t)values[i];

		if (values[i] < values[1])
			continue; /* the field has no -1 */
		memset(&entry, 0xa5, sizeof(entry));
		memcpy((uint8_t *)&entry + field->offset, &bytes, field->size);
		g_assert_cmpint(rs_filter_run((const void *)program->data, program->len, &in), ==,
				holds(op, values[i] & mask, value));
	}
}

static void check(const RsTraceField *field, const char *masked, unsigned int op, wide mask,
		  wide value, bool good)
{
	g_autofree char *number = text_of(value);
	g_autofree char *expression =
		g_strdup_printf("%s%s %s %s", field->name, masked, OPS[op], number);
	GByteArray *program = NULL;

	g_test_message("%s", expression);
	g_assert_cmpint(sample_compile(expression, &program, NULL), ==, good ? 0 : -EINVAL);
	if (!good)
		return;
	check_program(program, field, op, mask, value);
	g_byte_array_unref(program);
}

static bool is_number(const RsTraceField *field)
{
	return field->kind == RS_KIND_UINT || field->kind == RS_KIND_SINT ||
	       field->kind == RS_KIND_HEX || field->kind == RS_KIND_POINTER;
}

static void test_plain(void)
{
	for (unsigned int f = 0; f < sample_event.n_fields; f++) {
		const RsTraceField *field = &sample_fields[f];
		wide values[9];
		unsigned int n = is_number(field) ? limits_of(field, values) : 0;

		for (unsigned int i = 0; i < n; i++)
			for (unsigned int op = 0; op < G_N_ELEMENTS(OPS); op++)
				check(field, "", op, -1, values[i],
				      values[i] >= values[1] && values[i] <= values[7]);
	}
}

/* The value must be one that the masked field can have or, for an order, lie between such. */
static void check_masked(const RsTraceField *field, wide mask, const wide *values, unsigned int n)
{
	g_autofree char *number = text_of(mask);
	g_autofree char *masked = g_strdup_printf(" & %s", number);
	wide span = (wide)1 << (field->size * 8);
	wide low = mask < 0 ? -(span >> 1) : 0, high = mask < 0 ? (span >> 1) - 1 : mask;
	bool good = mask && mask < span && (mask >= 0 || (field->is_signed && mask >= low));

	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int op = 0; op < G_N_ELEMENTS(OPS); op++) {
			bool reached = values[i] >= low && values[i] <= high;

			if (op < 2)
				reached = reached && (values[i] & mask) == values[i];
			check(field, masked, op, mask, values[i], good && reached);
		}
	}
}

static void test_masked(void)
{
	for (unsigned int f = 0; f < sample_event.n_fields; f++) {
		const RsTraceField *field = &sample_fields[f];
		wide values[14], masks[11];
		unsigned int n = is_number(field) ? limits_of(field, values) : 0;

		if (!n)
			continue;
		memcpy(masks, values, n * sizeof(wide));
		masks[n] = -2;
		masks[n + 1] = ((wide)1 << (field->size * 8)) - 1;
		memcpy(values + n,
		       (const wide[]){-2, 2, masks[n + 1], masks[n + 1] + 1, masks[n + 1] - 1},
		       5 * sizeof(wide));
		for (unsigned int i = 0; i < n + 2; i++)
			check_masked(field, masks[i], values, n + 5);
	}
}

/* For one of several events a value that its mask cuts off is no mistake: it is never reached. */
static void test_cut_off(void)
{
	static const struct {
		const char *expression;
		bool want;
	} cases[] = {
		{"u8 & 2 == 1", false},     {"u8 & 2 != 1", true},  {"u8 & 256 == 0", true},
		{"u8 & 256 == 256", false}, {"u8 & 256", false},    {"u8 & 258 == 2", true},
		{"s8 & -2 == 1", false},    {"s8 & -2 != 1", true}, {"u64 & 2 == 3", false},
		{"u8 == 256", false},       {"u8 != 256", true},    {"u8 < 256", true},
	};
	struct sample entry = {.u8 = 3, .s8 = 1, .u64 = 3};
	const struct rs_filter_input in = {.entry = &entry, .entry_size = sizeof(entry)};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GByteArray) program = NULL;

		g_assert_cmpint(
			rs_filter_compile_more(&sample_event, cases[i].expression, &program, NULL),
			==, 0);
		g_assert_cmpint(rs_filter_run((const void *)program->data, program->len, &in), ==,
				cases[i].want);
	}
}

/* What a number out of range lies between, and which number has the same bits. */
static void test_hints(void)
{
	static const struct {
		const char *expression, *want;
	} cases[] = {
		{"u8 == -1", "between 0 and 255; the same bits are 0xff"},
		{"u8 == -255", "between 0 and 255; the same bits are 0x1"},
		{"u8 == -257", "between 0 and 255"},
		{"u8 == 256", "between 0 and 255"},
		{"s8 == 128", "between -128 and 127; the same bits are -128"},
		{"s8 == 255", "between -128 and 127; the same bits are -1"},
		{"s8 == 256", "between -128 and 127"},
		{"s8 == -129", "between -128 and 127"},
		{"u8 & 256", "between 0 and 255"},
		{"u8 & -1 == 1", "between 0 and 255; the same bits are 0xff"},
		{"s8 & -129", "between -128 and 255"},
		{"s8 & 256", "between -128 and 255"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rs_filter_error err;
		GByteArray *program = NULL;

		g_assert_cmpint(sample_compile(cases[i].expression, &program, &err), ==, -EINVAL);
		if (!g_str_has_suffix(err.message, cases[i].want))
			g_error("%s: %s", cases[i].expression, err.message);
	}
}

/* A symbol's value has as many bits as its field, and the field's sign. */
static void test_symbols(void)
{
	static const struct {
		uint8_t size;
		bool is_signed;
		uint64_t symbol, bits;
	} cases[] = {
		{1, false, UINT64_MAX, 0xff},
		{1, false, 0x1ff, 0xff},
		{1, true, 0xff, 0xff},
		{1, true, 0x180, 0x80},
		{4, false, UINT64_MAX, UINT32_MAX},
		{4, true, UINT32_MAX, UINT32_MAX},
		{8, false, UINT64_MAX, UINT64_MAX},
		{8, false, 5, 5},
		{8, true, 1ull << 63, 1ull << 63},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const RsTraceSymbol symbol = {cases[i].symbol, "IT"};
		const RsTraceField field = {.name = "f",
					    .type = "t",
					    .kind = RS_KIND_ENUM,
					    .size = cases[i].size,
					    .is_signed = cases[i].is_signed,
					    .n_symbols = 1,
					    .symbols = &symbol};
		const RsTraceEvent event = {.id = RS_FIRST_EVENT_ID,
					    .system = "s",
					    .name = "e",
					    .entry_size = 8,
					    .n_fields = 1,
					    .fields = &field};
		uint64_t entry = cases[i].bits;
		const struct rs_filter_input in = {.entry = &entry, .entry_size = sizeof(entry)};
		g_autoptr(GByteArray) program = NULL;

		g_assert_cmpint(rs_filter_compile((const RsTraceEvent *[]){&event}, 1, "f == IT",
						  &program, NULL),
				==, 0);
		g_assert_true(rs_filter_run((const void *)program->data, program->len, &in));
		entry ^= 1;
		g_assert_false(rs_filter_run((const void *)program->data, program->len, &in));
	}
}

/* Where no name is like the one asked for, the first 12 are told, and whether there are more. */
static void test_told_names(void)
{
	char names[14][4];
	RsTraceField fields[14] = {{0}};

	for (guint i = 0; i < G_N_ELEMENTS(fields); i++) {
		g_snprintf(names[i], sizeof(names[i]), "f%02u", i);
		fields[i] = (RsTraceField){.name = names[i],
					   .type = "u8",
					   .kind = RS_KIND_UINT,
					   .size = 1,
					   .offset = i};
	}
	for (guint n = 0; n <= G_N_ELEMENTS(fields); n++) {
		const RsTraceEvent event = {.id = RS_FIRST_EVENT_ID,
					    .system = "s",
					    .name = "e",
					    .entry_size = 16,
					    .n_fields = n,
					    .fields = fields};
		g_autoptr(GByteArray) program = NULL;
		struct rs_filter_error err;

		g_assert_cmpint(rs_filter_compile((const RsTraceEvent *[]){&event}, 1,
						  "quite_something_else == 1", &program, &err),
				==, -ENOENT);
		for (guint i = 0; i < n; i++)
			g_assert_true((strstr(err.message, names[i]) != NULL) == (i < 12));
		g_assert_true((strstr(err.message, "…") != NULL) == (n > 12));
	}
}

/* A pattern ends where it ends, whatever lies behind it. */
static void test_patterns(void)
{
	static const struct {
		const char *text;
		size_t size;
		const char *literal; /* NULL: not a pattern */
	} cases[] = {
		{"", 0, ""},          {"x]", 1, "x"},     {"a\\*", 2, "a\\"}, {"a\\*", 3, "a*"},
		{"a\\", 2, "a\\"},    {"[a]", 2, NULL},   {"[]a]", 2, NULL},  {"[]a]", 3, NULL},
		{"[!]]", 3, NULL},    {"[a-c]", 4, NULL}, {"[\\]]", 3, NULL}, {"[\\]]", 2, NULL},
		{"[a-\\]]", 5, NULL}, {"[", 1, NULL},     {"[!", 2, NULL},
	};
	struct rs_glob glob;
	size_t at;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const char *why = rs_glob_parse(cases[i].text, cases[i].size, &glob, &at);

		g_assert_cmpint(why == NULL, ==, cases[i].literal != NULL);
		if (why)
			continue;
		g_assert_cmpint(glob.shape, ==, RS_GLOB_EXACT);
		g_assert_cmpstr(glob.literal->str, ==, cases[i].literal);
		g_assert_cmpuint(at, ==, cases[i].size);
		rs_glob_clear(&glob);
	}
}

/* Which bytes a class of these accepts, as text. */
static void test_classes(void)
{
	static const struct {
		const char *text, *accepts;
	} cases[] = {
		{"[a]", "a"},      {"[abc]", "abc"}, {"[a-c]", "abc"},  {"[c-c]", "c"},
		{"[]]", "]"},      {"[]a]", "]a"},   {"[a-]", "-a"},    {"[-a]", "-a"},
		{"[+--]", "+,-"},  {"[\\]]", "]"},   {"[\\]-^]", "]^"}, {"[\\[-\\]]", "[\\]"},
		{"[a-b-]", "-ab"}, {"[\\-a]", "-a"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *negated = g_strdup_printf("[!%s", cases[i].text + 1);

		for (int not = 0; not < 2; not ++) {
			const char *text = not ? negated : cases[i].text;
			const struct rs_glob_element *e;
			struct rs_glob glob;
			size_t at;

			g_assert_null(rs_glob_parse(text, strlen(text), &glob, &at));
			g_assert_cmpuint(glob.elements->len, ==, 1);
			e = &g_array_index(glob.elements, struct rs_glob_element, 0);
			for (unsigned int c = 1; c < 256; c++)
				g_assert_cmpint(e->accepts[c / 64] >> c % 64 & 1, ==,
						(strchr(cases[i].accepts, (int)c) != NULL) != not );
			rs_glob_clear(&glob);
		}
	}
	for (const char *const *bad = (const char *const[]){"[b-a]", "[a-\\A]", NULL}; *bad;
	     bad++) {
		struct rs_glob glob;
		size_t at;

		g_assert_nonnull(rs_glob_parse(*bad, strlen(*bad), &glob, &at));
	}
}

static void check_shown(const char *expression, unsigned int at, unsigned int length,
			const char *want)
{
	const struct rs_filter_error err = {.at = at, .length = length, .message = "no"};
	g_autofree char *text = rs_filter_error_render(&err, expression);

	g_assert_cmpstr(text, ==, want);
}

/* The mark stands under the mistake, of whatever width that is. */
static void test_marks(void)
{
	check_shown("abc", 1, 1, "  abc\n   ^\nno");
	check_shown("abc", 1, 2, "  abc\n   ^~\nno");
	check_shown("abc", 0, 3, "  abc\n  ^~~\nno");
	check_shown("abc", 1, 0, "  abc\n   ^\nno");
	check_shown("abc", 3, 0, "  abc\n     ^\nno");
	check_shown("abc", 99, 9, "  abc\n     ^\nno");
	check_shown("a字b", 1, 3, "  a字b\n   ^~\nno");
	check_shown("a字b", 1, 0, "  a字b\n   ^~\nno");
	check_shown("a字b", 4, 1, "  a字b\n     ^\nno");
	check_shown("\001b", 0, 1, "  \\x01b\n  ^~~~\nno");
	check_shown("\001b", 1, 1, "  \\x01b\n      ^\nno");
}

/* Of a long expression 72 bytes are shown, with the mistake in the middle. */
static void test_window(void)
{
	for (unsigned int size = 71; size < 200; size += 1 + size / 74 * 30) {
		g_autofree char *text = g_strnfill(size, 'x');

		for (unsigned int at = 0; at <= size; at++) {
			unsigned int from = size > 72 && at > 36 ? at - 36 : 0;
			unsigned int to = MIN(size, from + 72);
			g_autofree char *want = g_strdup_printf(
				"  %s%.*s%s\n  %*s^\nno", from ? "…" : "", (int)(to - from), text,
				to < size ? "…" : "", (int)(at - from + (from > 0)), "");

			check_shown(text, at, 1, want);
		}
	}
}

/* It begins with a whole character. */
static void test_window_characters(void)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (unsigned int i = 0; i < 20; i++)
		g_string_append(text, "é");
	for (unsigned int i = 0; i < 40; i++)
		g_string_append_c(text, 'x');
	for (unsigned int at = 40; at < 44; at++) {
		const struct rs_filter_error err = {.at = at, .length = 1, .message = "no"};
		g_autofree char *shown = rs_filter_error_render(&err, text->str);
		g_autofree char *want = g_strdup_printf("  …%.8s", text->str + (at - 36 + at % 2));

		g_assert_true(g_str_has_prefix(shown, want));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/filter/limits/plain", test_plain);
	g_test_add_func("/filter/limits/masked", test_masked);
	g_test_add_func("/filter/limits/cut-off", test_cut_off);
	g_test_add_func("/filter/limits/hints", test_hints);
	g_test_add_func("/filter/limits/symbols", test_symbols);
	g_test_add_func("/filter/limits/told-names", test_told_names);
	g_test_add_func("/filter/limits/patterns", test_patterns);
	g_test_add_func("/filter/limits/classes", test_classes);
	g_test_add_func("/filter/limits/marks", test_marks);
	g_test_add_func("/filter/limits/window", test_window);
	g_test_add_func("/filter/limits/window-characters", test_window_characters);
	return g_test_run();
}
