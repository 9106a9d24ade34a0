/* SPDX-License-Identifier: MIT */
/*
 * What an expression means in the two dialects whose union the grammar is: Linux's event filters,
 * whose self-tests of filters and of globs ask the same, and tp-lexer. docs/filters.md lists what
 * differs.
 */
#include "filter.h"
#include "sample.h"

#include <string.h>

/* ---- how && and || go together, and what is not looked at any more ---- */

#define LETTERS "abcdefgh"
#define N 8u

static RsTraceField letters[N];
static char names[N][2];

static const RsTraceEvent *letters_event(void)
{
	static const RsTraceEvent event = {.id = RS_FIRST_EVENT_ID,
					   .system = "test",
					   .name = "letters",
					   .entry_size = N * 4,
					   .n_fields = N,
					   .fields = letters};

	for (unsigned int i = 0; i < N; i++) {
		names[i][0] = LETTERS[i];
		letters[i] = (RsTraceField){.name = names[i],
					    .type = "int",
					    .kind = RS_KIND_SINT,
					    .is_signed = TRUE,
					    .size = 4,
					    .offset = i * 4};
	}
	return &event;
}

/* C does the same, and notes what it looks at. */
static unsigned int seen;
static const int32_t *values;

static bool is(unsigned int i)
{
	seen |= 1u << i;
	return values[i] == 1;
}

#define SHAPE(name, expression)                                                                    \
	static bool name(void)                                                                     \
	{                                                                                          \
		return expression;                                                                 \
	}
SHAPE(all, is(0) && is(1) && is(2) && is(3) && is(4) && is(5) && is(6) && is(7))
SHAPE(any, is(0) || is(1) || is(2) || is(3) || is(4) || is(5) || is(6) || is(7))
SHAPE(all_of_any, (is(0) || is(1)) && (is(2) || is(3)) && (is(4) || is(5)) && (is(6) || is(7)))
SHAPE(any_of_all, (is(0) && is(1)) || (is(2) && is(3)) || (is(4) && is(5)) || (is(6) && is(7)))
SHAPE(bare, (is(0) && is(1) && is(2) && is(3) && is(4) && is(5)) || (is(6) && is(7)))
SHAPE(flat, ((is(0) || is(1)) || (is(2) || is(3)) || (is(4) || is(5))) && (is(6) || is(7)))
SHAPE(deep_and, (((((((is(0) && is(1)) || is(2)) && is(3)) || is(4)) && is(5)) || is(6)) && is(7)))
SHAPE(deep_or, (((((((is(0) || is(1)) && is(2)) || is(3)) && is(4)) || is(5)) && is(6)) || is(7)))
SHAPE(negated, !(is(0) && !(is(1) || is(2))) || (!is(3) && !(is(4) || !is(5) || is(6))) || is(7))

static const struct {
	const char *expression;
	bool (*c)(void);
} SHAPES[] = {
	{"a == 1 && b == 1 && c == 1 && d == 1 && e == 1 && f == 1 && g == 1 && h == 1", all},
	{"a == 1 || b == 1 || c == 1 || d == 1 || e == 1 || f == 1 || g == 1 || h == 1", any},
	{"(a == 1 || b == 1) && (c == 1 || d == 1) && (e == 1 || f == 1) && (g == 1 || h == 1)",
	 all_of_any},
	{"(a == 1 && b == 1) || (c == 1 && d == 1) || (e == 1 && f == 1) || (g == 1 && h == 1)",
	 any_of_all},
	{"(a == 1 && b == 1) && (c == 1 && d == 1) && (e == 1 && f == 1) || (g == 1 && h == 1)",
	 bare},
	{"((a == 1 || b == 1) || (c == 1 || d == 1) || (e == 1 || f == 1)) && (g == 1 || h == 1)",
	 flat},
	{"((((((((a == 1) && (b == 1)) || (c == 1)) && (d == 1)) || (e == 1)) && (f == 1)) || "
	 "(g == 1)) && (h == 1))",
	 deep_and},
	{"((((((((a == 1) || (b == 1)) && (c == 1)) || (d == 1)) && (e == 1)) || (f == 1)) && "
	 "(g == 1)) || (h == 1))",
	 deep_or},
	{"!(a == 1 && !(b == 1 || c == 1)) || !d == 1 && !(e == 1 || !f == 1 || g == 1) || h == 1",
	 negated},
	/* the same with values first, and with fields alone */
	{"1 == a && (1 == b) && 1 == c && d && e && (f) && g == h && h", all},
};

/* The fields that the program looks at, as it goes on. */
static unsigned int walk(const GByteArray *program, const int32_t entry[N])
{
	const struct rs_filter_program *head = (const void *)program->data;
	const struct rs_filter_insn *insns = (const void *)(head + 1);
	unsigned int at = 0, looked = 0;

	while (at < head->insn_count) {
		const struct rs_filter_insn *insn = &insns[at];
		bool yes = entry[insn->offset / 4] == 1;

		looked |= 1u << insn->offset / 4;
		if (insn->op == RS_OP_PAIR_EQ)
			yes = entry[6] == entry[7];
		at = yes ? insn->on_true : insn->on_false;
	}
	return looked;
}

static void test_shapes(void)
{
	const RsTraceEvent *event = letters_event();

	for (unsigned int s = 0; s < G_N_ELEMENTS(SHAPES); s++) {
		g_autoptr(GByteArray) program = NULL;

		g_test_message("%s", SHAPES[s].expression);
		g_assert_cmpint(rs_filter_compile(&event, 1, SHAPES[s].expression, &program, NULL),
				==, 0);
		for (unsigned int bits = 0; bits < 1u << N; bits++) {
			int32_t entry[N];
			const struct rs_filter_input in = {.entry = entry,
							   .entry_size = sizeof(entry)};
			bool want;

			for (unsigned int i = 0; i < N; i++)
				entry[i] = bits >> i & 1;
			values = entry;
			seen = 0;
			want = SHAPES[s].c();
			g_assert_cmpint(
				rs_filter_run((const void *)program->data, program->len, &in), ==,
				want);
			if (!strstr(SHAPES[s].expression, "g == h"))
				g_assert_cmphex(walk(program, entry), ==, seen);
		}
	}
}

/* ---- patterns ---- */

static const struct {
	const char *pattern, *yes, *no; /* strings with blanks between them; "." is the empty one */
} PATTERNS[] = {
	{"tick", "tick", "tock ticks . tic"},
	{"", ".", "t"},
	{"[t]", "t", "o . tt"},
	{"[!t]", "o", "t ."},
	{"[to]", "t o", "i"},
	{"[!to]", "i", "t o"},
	{"[i-o]", "i m o", "h p"},
	{"[a-c-e-g]", "- a f g", "d h"},
	{"[]a-ceg-ik[]", "a ] [ h k", "f d"},
	{"[!]a-ceg-ik[]", "f d", "h ] ["},
	{"?", "t", "ti ."},
	{"??", "ti", "t tic"},
	{"?i?", "tic", "itc tci"},
	{"*??", "ti tic tick", "t ."},
	{"??*", "ti tic tick", "t ."},
	{"?*?", "ti tic tick", "t ."},
	{"*k", "k tk kk tkk ktk", "kt ."},
	{"*ck", "tick ck cck ckck", "tic"},
	{"*ic*", "tick ic paniced", "tok"},
	{"*ic*ae*ag*", "aicadaeafag", "aicadafag"},
	{"*a*b*[bc]*[ef]*g*", "abacadaeafag", "acadaeafag"},
	{"*a*b*[ef]*[cd]*g*", "abaecadg", "abacadaeafag"},
	{"*abcd*abcdef*", "abcabcdabcdeabcdefg", "abcabcabcabcefg"},
	{"*ab*cd*", "abcabcabcabcdefg", "abcabcabcabcefg"},
	/* Linux, not tp-lexer: a '!' in front inverts */
	{"!tick", "tock .", "tick"},
	{"!t*", "o .", "t tick"},
	{"!*ck", "tic", "tick"},
	{"!?i*", "tock", "tick"},
	/* tp-lexer, not Linux: '^' negates a class; a pattern may begin with a digit */
	{"b[^a]sh", "besh b^sh", "bash"},
	{"0*", "0 0:1", "1"},
};

static bool matches(const char *pattern, const char *text)
{
	g_autofree char *expression = g_strdup_printf("why ~ \"%s\"", pattern);
	const struct rs_dyn dyn[] = {{NULL, 0}, {text, (uint32_t)strlen(text) + 1}};
	const struct rs_filter_input in = {.entry = &(struct sample){0},
					   .entry_size = sizeof(struct sample),
					   .dyn = dyn,
					   .dyn_count = 2};
	g_autoptr(GByteArray) program = NULL;

	g_assert_cmpint(sample_compile(expression, &program, NULL), ==, 0);
	return rs_filter_run((const void *)program->data, program->len, &in);
}

static void check_all(const char *pattern, const char *texts, bool want)
{
	g_auto(GStrv) list = g_strsplit(texts, " ", -1);

	for (char **text = list; *text; text++) {
		g_test_message("%s, %s", pattern, *text);
		g_assert_cmpint(matches(pattern, strcmp(*text, ".") == 0 ? "" : *text), ==, want);
	}
}

static void test_patterns(void)
{
	for (unsigned int i = 0; i < G_N_ELEMENTS(PATTERNS); i++) {
		check_all(PATTERNS[i].pattern, PATTERNS[i].yes, true);
		check_all(PATTERNS[i].pattern, PATTERNS[i].no, false);
	}
}

/* ---- the words of tp-lexer ---- */

static void test_words(void)
{
	static const struct {
		const char *expression;
		bool want;
	} cases[] = {
		{"((u8 >= 10 && u8 < 15) || u8 == 17) && name != bash", true},
		{"u8 == 1 || u8 == 12 && name == bash", false},
		{"(u8 == 1 || u8 == 12) && name == sh*", true},
		{"bits & 0x10 == 0x10", true},
		{"bits & 0x10 != 0x10", false},
		{"s64 == -1", true},
		{"s16 == -(0x10)", true},
		{"name ~ sh*", true},
		{"name == sh", false}, /* it is "sh*" */
		{"why == \"C Program\"", true},
		{"  u8   !=   3   ", true},
		{"u64 > 5 && u64 == 18446744073709551615", true}, /* not truncated */
		{"name!=bash&&u8<=12", true},
	};
	const struct sample entry = {
		.u8 = 12, .s16 = -16, .u64 = UINT64_MAX, .s64 = -1, .bits = 0x30, .name = "sh*"};
	const struct rs_dyn dyn[] = {{NULL, 0}, {"C Program", 10}};
	const struct rs_filter_input in = {
		.entry = &entry, .entry_size = sizeof(entry), .dyn = dyn, .dyn_count = 2};

	for (unsigned int i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GByteArray) program = NULL;

		g_test_message("%s", cases[i].expression);
		g_assert_cmpint(sample_compile(cases[i].expression, &program, NULL), ==, 0);
		g_assert_cmpint(rs_filter_run((const void *)program->data, program->len, &in), ==,
				cases[i].want);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/filter/dialects/shapes", test_shapes);
	g_test_add_func("/filter/dialects/patterns", test_patterns);
	g_test_add_func("/filter/dialects/words", test_words);
	return g_test_run();
}
