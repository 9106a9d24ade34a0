/* SPDX-License-Identifier: MIT */
#include "expect/rs-trace-expectation.h"

#include <string.h>

/* What is wrong with a spec of these groups; NULL: nothing. */
static char *mistake(const char *text)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *whole = g_strconcat(text, "\n[trace]\nenable = *\n", NULL);
	g_autoptr(RsTraceSpec) spec = rs_trace_spec_new("a", whole, strlen(whole), &error);
	g_autoptr(GPtrArray) all = spec ? rs_trace_expectations_new(spec, &error) : NULL;

	g_assert_true(!all == !!error);
	return error ? g_strdup(error->message) : NULL;
}

static void test_mistakes(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"[expect x]\nevent = a:b\nuntil = x\n", "a:3: no other expectation"},
		{"[expect x]\nevent = a:b\nuntil = y\n[expect y]\nexit = 0\n",
		 "a:3: no other expectation"},
		{"[expect x]\nserial = a\nuntil = y\n", "a:3: 'until' does not go with 'serial'"},
		{"[expect x]\nevent = a:b\nbind = c=d\n[expect y]\nevent = a:b\nbind = c=e\n",
		 "a:6: '$c' has a value already"},
		{"[expect x]\nevent = a:b\nbind = c=d\n[expect y]\nevent = a:b: d == \"x$c\"\n",
		 "a:5: a variable stands for a whole value, so it has no quotes around it; $$ is a "
		 "$\n"
		 "    event = a:b: d == \"x$c\"\n"
		 "                        ^"},
		{"[expect x]\nevent = a:b\n[expect y]\nnever = a:b\n",
		 "a:4: this cannot be as well as 'x' in line 2\n"
		 "    never = a:b\n"
		 "            ^~~"},
		{"[expect x]\nnever = a:b: c == 1\n[expect y]\neach = a:b: c == 1\nthen = a:c\n",
		 "a:4: this cannot be as well as 'x' in line 2"},
		{"[expect x]\nserial = a\n[expect y]\nserial-never = a\n",
		 "a:4: this cannot be as well as 'x'"},
		{"[expect x]\nexit = 0\n[expect y]\nexit = 1..\n",
		 "a:4: this cannot be as well as 'x'"},
		{"[expect x]\nexit = 0\n[expect y]\nend = panic\n",
		 "a:4: this cannot be as well as 'x'"},
		{"[expect x]\nend = panic\n[expect y]\nexit = 0\n",
		 "a:4: this cannot be as well as 'x'"},
		{"[expect x]\nend = panic\n[expect y]\nend = reset\n",
		 "a:4: this cannot be as well as 'x'"},
		{"[expect x]\nend = exit\n", "a:2: a guest ends badly by one of panic"},
		{"[expect x]\nend = panic\ntext = (\n", "a:3: "},
		{"[expect x]\nexit = 0\ntext = a\n", "a:3: 'text' does not go with 'exit'"},
		{"[expect x]\nevent = a:b\n[expect y]\nnever = a:c\nsince = x\nuntil = x\n",
		 "a:6: it would end where it begins"},
		{"[expect x]\nevent = a:b\ncount = 0\n[expect y]\nnever = a:c\nsince = x\n",
		 "a:6: that one is expected not to happen"},
		{"[expect x]\ncount = 3\n", "a:1: this says nothing that is expected"},
		{"[expect x]\nevent = a:b\nnever = a:c\n", "a:3: an expectation has one of"},
		{"[expect x]\nnever = a:b\ncount = 3\n", "a:3: 'count' does not go with 'never'"},
		{"[expect x]\nevent =\n", "a:2: this is no event"},
		{"[expect x]\nevent = c == 1\n", "a:2: an event is GLOB or"},
		{"[expect x]\nevent = a:b,c:d:e\n", "a:2: an event is GLOB or"},
		{"[expect x]\nnever = a:*\x1b\n", "a:2: an event is GLOB or 'GLOB: EXPRESSION', "
						  "not 'a:*\\x1b'"},
		{"[expect x]\npair = a..b\nkey = ${RS_NIX}\n",
		 "a:3: 'RS_NIX' is no name of the matrix"},
		{"[expect x]\nlast = a:b\nis = ${RS_NIX}\n",
		 "a:3: 'RS_NIX' is no name of the matrix"},
		{"[expect x]\nevent = a:b\nsince = ${RS_NIX}\nwithin = x\n",
		 "a:3: 'RS_NIX' is no name"},
		{"[expect x]\nevent = a:b: c ==\n", "a:2: a value is due here\n"
						    "    event = a:b: c ==\n"
						    "                     ^"},
		{"[expect x]\neach = a:b\n", "a:2: each needs a partner"},
		{"[expect x]\neach = a:b\nthen = a:c\nafter = a:d\n",
		 "a:4: an expectation has one"},
		{"[expect x]\neach = a:b\nafter = a:c\nopen = 1\n", "a:4: only what has its"},
		{"[expect x]\nevent = a:b\nsame = pid\n", "a:3: same is of two events"},
		{"[expect x]\nevent = a:b\nwithin = 2ms\n", "a:3: within what"},
		{"[expect x]\nevent = a:b\nsince = y\n", "a:3: no expectation of an event"},
		{"[expect x]\nevent = a:b\nsince = x\n", "a:3: no expectation of an event"},
		{"[expect x]\nevent = a:b: c == $d\n",
		 "a:2: no expectation before this binds '$d'"},
		{"[expect x]\nevent = a:b\nbind = c\n", "a:3: this is no NAME=FIELD"},
		{"[expect x]\nevent = a:b\nbind = c d=e\n", "a:3: this is no NAME=FIELD"},
		{"[expect x]\nevent = a:b\nbind = c=2.\n",
		 "a:3: '2.' is no FIELD: no event goes before it"},
		{"[expect x]\nevent = a:b\nthen = a:c\nsame = c; d=\n", "a:4: '' is no FIELD"},
		{"[expect x]\nevent = a:b\ncount = x\n", "a:3: this is no range"},
		{"[expect x]\nserial = (\n", "a:2: "},
		{"[expect x]\nserial = \x1b(\n", "a:2: "},
		/* It is matched with bytes. */
		{"[expect x]\nserial = \\x{100}\n", "a:2: "},
		{"[expect x]\npair = a:b\n", "a:2: 'a:b' is no pair"},
		{"[expect x]\npair = a:b..a:c\n", "a:2: what of these pairs?"},
		{"[expect x]\npair = a:b..a:c\np99 = fast\n", "a:3: this is no time"},
		{"[expect x]\nlast = a:b\n", "a:2: the last event needs an expression"},
		{"[expect x]\nexit = no\n", "a:2: this is no range"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *got = mistake(cases[i].text);

		g_assert_nonnull(got);
		g_assert_null(strchr(got, '\x1b'));
		if (!g_str_has_prefix(got, cases[i].want))
			g_assert_cmpstr(got, ==, cases[i].want);
	}
}

static void test_a_dollar(void)
{
	g_autoptr(GHashTable) values = g_hash_table_new(g_str_hash, g_str_equal);
	g_autofree char *filled = NULL, *none = NULL, *missing = NULL;

	g_hash_table_insert(values, (char *)"pid", (char *)"7");
	filled = rs_trace_expect_fill("a:b: c == \"$$pid\" && d == $pid", values, NULL);
	none = rs_trace_expect_fill("a:b: d == $pid2", values, &missing);
	g_assert_cmpstr(filled, ==, "a:b: c == \"$pid\" && d == 7");
	g_assert_null(none);
	g_assert_cmpstr(missing, ==, "pid2");
	g_assert_null(mistake("[expect x]\nevent = a:b: c == \"$$d\"\n"));
}

/* What looks like it, and is none. */
static void test_no_contradictions(void)
{
	g_assert_null(mistake("[expect x]\nevent = a:b\n[expect y]\nnever = a:b\nsince = x\n"));
	g_assert_null(mistake("[expect x]\nevent = a:b\ncount = 0..\n[expect y]\nnever = a:b\n"));
	g_assert_null(mistake("[expect x]\nexit = 0..3\n[expect y]\nexit = 3..\n"));
	g_assert_null(mistake("[expect x]\nserial = a\n[expect y]\nserial-never = b\n"));
}

static void test_good(void)
{
	static const char text[] = "[expect fork]\nevent = sched:fork: child > 1\n"
				   "bind = child=child; name = comm\n"
				   "[expect runs]\nevent = sched:switch: next == $child\n"
				   "since = fork\nwithin = 2ms\n"
				   "[expect locks]\neach = lock:free\nafter = lock:take\n"
				   "same = lock; pid\nwithin = 1s\n"
				   "[expect fast]\npair = a..b\nkey = c..d\np99 = 1ms\nmax = 2ms\n"
				   "[expect end]\nlast = sched:*\nis = prev == 0\n"
				   "[expect code]\nexit = 0..3\n[trace]\nenable = *\n";
	g_autoptr(RsTraceSpec) spec = rs_trace_spec_new("a", text, strlen(text), NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) all = rs_trace_expectations_new(spec, &error);
	const RsTraceExpectation *runs, *locks, *fast;

	g_assert_no_error(error);
	g_assert_cmpuint(all->len, ==, 6);
	runs = all->pdata[1];
	locks = all->pdata[2];
	fast = all->pdata[3];
	g_assert_cmpstr(runs->since, ==, "fork");
	g_assert_cmpuint(runs->within, ==, 2000000);
	g_assert_cmpuint(runs->line, ==, 5);
	g_assert_true(locks->before);
	g_assert_cmpuint(locks->same->len, ==, 2);
	g_assert_cmpuint(fast->n_limits, ==, 2);
	g_assert_cmpuint(fast->limits[1].most, ==, 2000000);
}

static void test_variables(void)
{
	g_autoptr(GHashTable) values = g_hash_table_new(g_str_hash, g_str_equal);
	g_autofree char *missing = NULL, *filled = NULL;

	g_hash_table_insert(values, (gpointer) "a", (gpointer) "12");
	g_hash_table_insert(values, (gpointer) "ab", (gpointer) "\"x\"");
	filled = rs_trace_expect_fill("p == $a && q == $ab", values, &missing);
	g_assert_cmpstr(filled, ==, "p == 12 && q == \"x\"");
	g_assert_null(rs_trace_expect_fill("p == $abc", values, &missing));
	g_assert_cmpstr(missing, ==, "abc");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/expectation/agree", test_no_contradictions);
	g_test_add_func("/expectation/dollar", test_a_dollar);
	g_test_add_func("/expectation/mistakes", test_mistakes);
	g_test_add_func("/expectation/good", test_good);
	g_test_add_func("/expectation/variables", test_variables);
	return g_test_run();
}
