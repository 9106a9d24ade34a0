/* SPDX-License-Identifier: MIT */
#include "random.h"
#include "reference.h"

#include <errno.h>
#include <string.h>

#define JOINS 5000
#define ENTRIES 8
#define MOST 5 /* programs of one join */

static GByteArray *compile(const char *expression)
{
	GByteArray *program = NULL;

	g_assert_cmpint(sample_compile(expression, &program, NULL), ==, 0);
	return program;
}

static bool run(const GByteArray *p, const struct rs_filter_input *in)
{
	return rs_filter_run((const struct rs_filter_program *)p->data, p->len, in);
}

static unsigned int insns(const GByteArray *p)
{
	return ((const struct rs_filter_program *)p->data)->insn_count;
}

static void test_two(void)
{
	g_autoptr(GByteArray) a = compile("u8 == 1 && why ~ *a?c*");
	g_autoptr(GByteArray) b = compile("CPU & CPUS{0,2} || why == abc");
	g_autoptr(GByteArray) joined = NULL;
	static const struct {
		uint8_t u8;
		uint32_t cpu;
		const char *why;
		bool want;
	} cases[] = {{1, 1, "xabc", true},
		     {1, 1, "xab", false},
		     {2, 1, "xabc", false},
		     {2, 1, "abc", true},
		     {2, 2, "x", true}};

	g_assert_cmpint(rs_filter_join(&sample_event, (GByteArray *[]){a, b}, 2, &joined, NULL), ==,
			0);
	g_assert_cmpuint(insns(joined), ==, insns(a) + insns(b));
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct sample entry = {.u8 = cases[i].u8};
		struct rs_dyn dyn[2] = {{NULL, 0},
					{cases[i].why, (uint32_t)strlen(cases[i].why) + 1}};
		struct rs_filter_input in = {.entry = &entry,
					     .entry_size = sizeof(entry),
					     .dyn = dyn,
					     .dyn_count = 2,
					     .cpu = cases[i].cpu};

		g_assert_cmpint(run(joined, &in), ==, cases[i].want);
	}
}

static void test_same(void)
{
	g_autoptr(GByteArray) a = compile("u8 == 1 && why ~ *a?c*"), b = compile("u16 > 3");
	g_autoptr(GByteArray) again = compile("u8 == 1 && why ~ *a?c*");
	g_autoptr(GByteArray) one = NULL, both = NULL;

	g_assert_cmpint(rs_filter_join(&sample_event, (GByteArray *[]){a, again}, 2, &one, NULL),
			==, 0);
	g_assert_cmpmem(one->data, one->len, a->data, a->len);
	g_assert_cmpint(
		rs_filter_join(&sample_event, (GByteArray *[]){a, b, again}, 3, &both, NULL), ==,
		0);
	g_assert_cmpuint(insns(both), ==, insns(a) + insns(b));
}

/* `terms` comparisons of a field with numbers from `from` on. */
static GByteArray *compile_many(unsigned int from, unsigned int terms)
{
	g_autoptr(GString) s = g_string_new(NULL);

	for (unsigned int i = 0; i < terms; i++)
		g_string_append_printf(s, "%su64 == %u", i ? " || " : "", from + i);
	return compile(s->str);
}

static void test_too_many(void)
{
	g_autoptr(GByteArray) a = compile_many(0, 64), b = compile_many(100, 64);
	g_autoptr(GByteArray) c = compile_many(200, 65), joined = NULL;
	GByteArray *none = NULL;
	struct rs_filter_error err = {0};

	g_assert_cmpint(rs_filter_join(&sample_event, (GByteArray *[]){a, b}, 2, &joined, NULL), ==,
			0);
	g_assert_cmpuint(insns(joined), ==, RS_FILTER_MAX_INSNS);
	g_assert_cmpint(rs_filter_join(&sample_event, (GByteArray *[]){a, c}, 2, &none, &err), ==,
			-E2BIG);
	g_assert_nonnull(strstr(err.message, "128"));
	g_assert_null(none);
}

static void test_too_large(void)
{
	GByteArray *programs[4], *joined = NULL;
	struct rs_filter_error err = {0};
	int ret;

	for (unsigned int i = 0; i < 4; i++) {
		g_autofree char *text = g_strnfill(4080, (gchar)('a' + i));
		g_autofree char *expression = g_strdup_printf("why == %s", text);

		programs[i] = compile(expression);
	}
	ret = rs_filter_join(&sample_event, programs, 3, &joined, NULL);
	g_assert_cmpint(ret, ==, 0);
	g_clear_pointer(&joined, g_byte_array_unref);
	ret = rs_filter_join(&sample_event, programs, 4, &joined, &err);
	g_assert_cmpint(ret, ==, -E2BIG);
	g_assert_nonnull(strstr(err.message, "16384"));
	for (unsigned int i = 0; i < 4; i++)
		g_byte_array_unref(programs[i]);
}

static void test_too_slow(void)
{
	g_autoptr(GByteArray) a = compile("why ~ *a?* || why ~ *b?* || why ~ *c?* || why ~ *d?*");
	g_autoptr(GByteArray) b = compile("why ~ *e?* || why ~ *f?* || why ~ *g?*");
	g_autoptr(GByteArray) c = compile("why ~ *h?*"), most = NULL;
	GByteArray *joined = NULL;
	struct rs_filter_error err = {0};

	g_assert_cmpint(rs_filter_join(&sample_event, (GByteArray *[]){a, b}, 2, &most, NULL), ==,
			0);
	g_assert_cmpuint(rs_filter_steps(most->data), ==,
			 rs_filter_steps(a->data) + rs_filter_steps(b->data));
	g_assert_cmpint(rs_filter_join(&sample_event, (GByteArray *[]){a, b, c}, 3, &joined, &err),
			==, -E2BIG);
	g_assert_cmpstr(err.message, ==,
			"the filters of all owners together may take 32776 steps for this event, "
			"more than 32768");
	g_assert_null(joined);
}

static void test_other_event(void)
{
	g_autoptr(GByteArray) a = compile("u8 == 1"), joined = NULL;
	GByteArray *b = NULL;

	g_assert_cmpint(
		rs_filter_compile((const RsTraceEvent *[]){&other_event}, 1, "u8 == 1", &b, NULL),
		==, 0);
	g_assert_cmpint(rs_filter_join(&sample_event, (GByteArray *[]){a, b}, 2, &joined, NULL), ==,
			-EINVAL);
	g_assert_cmpint(rs_filter_join(&sample_event, (GByteArray *[]){b, a}, 2, &joined, NULL), ==,
			-EINVAL);
	g_assert_null(joined);
	g_byte_array_unref(b);
}

struct choice { /* what one owner may have asked for */
	char *expression;
	struct rs_filter_ast ast; /* its words lie in `expression` */
	GByteArray *program;
};

/* A random expression that is valid for the sample event. */
static void choose(GRand *r, struct choice *choice)
{
	const RsTraceEvent *events[] = {&sample_event, &other_event};

	for (;;) {
		g_autoptr(GString) s = g_string_new(NULL);
		GByteArray *programs[2] = {NULL, NULL};

		random_expression(r, s, false, 2);
		if (rs_filter_compile(events, 2, s->str, programs, NULL))
			continue;
		g_clear_pointer(&programs[1], g_byte_array_unref);
		if (!programs[0])
			continue;
		choice->program = programs[0];
		choice->expression = g_strdup(s->str);
		g_assert_cmpint(rs_filter_parse(choice->expression, &choice->ast, NULL), ==, 0);
		return;
	}
}

/* The joined program accepts an entry if, and only if, one of the expressions is true for it. */
static void test_random(void)
{
	g_autoptr(GRand) r = g_rand_new_with_seed(20261205);
	unsigned int yes = 0;

	for (unsigned int round = 0; round < JOINS; round++) {
		size_t count = (size_t)g_rand_int_range(r, 1, MOST + 1);
		struct choice choices[MOST] = {0};
		GByteArray *programs[MOST];
		g_autoptr(GByteArray) joined = NULL;

		for (size_t i = 0; i < count; i++) {
			choose(r, &choices[i]);
			programs[i] = choices[i].program;
		}
		g_assert_cmpint(rs_filter_join(&sample_event, programs, count, &joined, NULL), ==,
				0);
		for (unsigned int n = 0; n < ENTRIES; n++) {
			struct random_input random;
			const struct rs_filter_input *in = random_input(r, &random);
			bool want = false;

			for (size_t i = 0; i < count; i++)
				want |= reference_run(&choices[i].ast, &sample_event, in) ==
					REF_TRUE;
			g_assert_cmpint(run(joined, in), ==, want);
			yes += want;
		}
		for (size_t i = 0; i < count; i++) {
			rs_filter_ast_clear(&choices[i].ast);
			g_free(choices[i].expression);
			g_byte_array_unref(choices[i].program);
		}
	}
	/* both answers are frequent */
	g_assert_cmpuint(yes, >, JOINS * ENTRIES / 4);
	g_assert_cmpuint(yes, <, JOINS * ENTRIES * 9 / 10);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/filter/join/two", test_two);
	g_test_add_func("/filter/join/same", test_same);
	g_test_add_func("/filter/join/too-many", test_too_many);
	g_test_add_func("/filter/join/too-large", test_too_large);
	g_test_add_func("/filter/join/too-slow", test_too_slow);
	g_test_add_func("/filter/join/other-event", test_other_event);
	g_test_add_func("/filter/join/random", test_random);
	return g_test_run();
}
