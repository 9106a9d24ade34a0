/* SPDX-License-Identifier: MIT */
/* Random expressions on random entries: compares compiler and evaluator with the reference. */
#include "random.h"
#include "reference.h"

#include <string.h>

#define EXPRESSIONS 20000
#define ENTRIES 8

/* Returns the number of compared entries, 0 if the expression was refused. */
static unsigned int compare(GRand *r, const char *expression, unsigned int *yes)
{
	/* two events: by the lenient rules most expressions are valid */
	const RsTraceEvent *events[] = {&sample_event, &other_event};
	GByteArray *programs[2] = {NULL, NULL};
	struct rs_filter_ast ast;

	if (rs_filter_compile(events, 2, expression, programs, NULL))
		return 0;
	g_assert_cmpint(rs_filter_parse(expression, &ast, NULL), ==, 0);
	for (unsigned int i = 0; i < ENTRIES; i++) {
		struct random_input random;
		const struct rs_filter_input *in = random_input(r, &random);
		enum reference want = reference_run(&ast, &sample_event, in);

		g_assert_cmpint(want == REF_UNKNOWN, ==, programs[0] == NULL);
		if (programs[0] && rs_filter_run((void *)programs[0]->data, programs[0]->len, in) !=
					   (want == REF_TRUE))
			g_error("'%s': the reference says %d", expression, want);
		*yes += want == REF_TRUE;
	}
	rs_filter_ast_clear(&ast);
	for (unsigned int i = 0; i < 2; i++)
		g_clear_pointer(&programs[i], g_byte_array_unref);
	return ENTRIES;
}

/* A bare word means the same as in quotes. The reference cannot tell, as it shares the parser. */
static void compare_quoted(const char *expression, const char *quoted)
{
	const RsTraceEvent *events[] = {&sample_event, &other_event};
	GByteArray *a[2] = {NULL, NULL}, *b[2] = {NULL, NULL};
	int ret = rs_filter_compile(events, 2, expression, a, NULL);

	if (rs_filter_compile(events, 2, quoted, b, NULL) != ret)
		g_error("one is refused: '%s' or '%s'", expression, quoted);
	for (unsigned int i = 0; i < 2; i++) {
		bool same =
			!a[i] == !b[i] && (!a[i] || (a[i]->len == b[i]->len &&
						     !memcmp(a[i]->data, b[i]->data, a[i]->len)));

		if (!same)
			g_error("'%s' is not '%s'", expression, quoted);
		g_clear_pointer(&a[i], g_byte_array_unref);
		g_clear_pointer(&b[i], g_byte_array_unref);
	}
}

static void test_random(void)
{
	g_autoptr(GRand) r = g_rand_new_with_seed(20261121);
	unsigned int judged = 0, yes = 0, bare = 0;

	for (unsigned int i = 0; i < EXPRESSIONS; i++) {
		g_autoptr(GString) s = g_string_new(NULL), quoted = g_string_new(NULL);
		g_autoptr(GRand) again = g_rand_copy(r);

		random_expression(r, s, false, 3);
		random_expression(again, quoted, true, 3);
		compare_quoted(s->str, quoted->str);
		bare += strcmp(s->str, quoted->str) != 0;
		judged += compare(r, s->str, &yes);
	}
	g_test_message("%u of %u judged, %u true", judged, EXPRESSIONS * ENTRIES, yes);
	g_assert_cmpuint(bare, >, EXPRESSIONS / 4);
	/* few are refused, and both answers are frequent */
	g_assert_cmpuint(judged, >, EXPRESSIONS * ENTRIES / 4);
	g_assert_cmpuint(yes, >, judged / 4);
	g_assert_cmpuint(yes, <, judged * 3 / 4);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/filter/random", test_random);
	return g_test_run();
}
