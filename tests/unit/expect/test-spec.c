/* SPDX-License-Identifier: MIT */
#include "expect/rs-trace-spec.h"

#include <glib/gstdio.h>
#include <string.h>

static RsTraceSpec *make(const char *text, GError **error)
{
	return rs_trace_spec_new("a.spec", text, strlen(text), error);
}

/* The whole message, with the line and the caret. */
static void test_mistakes(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"[test]\nabout = x\nevnt = y\n",
		 "a.spec:3: there is no key 'evnt' here, but about, tags, timeout, "
		 "retries, setup, teardown, fixtures, boot, disk\n"
		 "    evnt = y\n"
		 "    ^~~~"},
		{"[nix]\n",
		 "a.spec:1: there is no group 'nix', but test, guest, trace, parameters, "
		 "matrix, fault NAME, expect NAME\n"
		 "    [nix]\n"
		 "    ^~~~~"},
		{"[test]\n about\n", "a.spec:2: this is no KEY = VALUE\n"
				     "     about\n"
				     "     ^"},
		{"about = x\n", "a.spec:1: there is no [GROUP] before this\n"
				"    about = x\n"
				"    ^"},
		{"[test]\n= x\n", "a.spec:2: there is no name before the '='\n"
				  "    = x\n"
				  "    ^"},
		{"[test\n", "a.spec:1: a group is [NAME]\n"
			    "    [test\n"
			    "    ^"},
		/* GKeyFile would take the later one, or join both. */
		{"[test]\nabout = x\nabout = yy\n", "a.spec:3: this is in line 2, too\n"
						    "    about = yy\n"
						    "            ^~"},
		{"[test]\n[guest]\n[test]\n", "a.spec:3: this is in line 1, too\n"
					      "    [test]\n"
					      "    ^~~~~~"},
		{"[matrix]\ncpus = ;\n", "a.spec:2: there is no value\n"
					 "    cpus = ;\n"
					 "           ^"},
		{"[matrix]\na = 1;2\nb = 3\n[guest]\nappend = ${b}\n",
		 "a.spec:2: nothing uses this name: it is no key of [guest], and no value has "
		 "${a}\n"
		 "    a = 1;2\n"
		 "        ^~~"},
		{"[parameters]\na = 1\n", "a.spec:2: nothing uses this name: no value has ${a}\n"
					  "    a = 1\n"
					  "        ^"},
		{"[parameters]\na = 1\n[matrix]\na = 2\n[guest]\nappend = ${a}\n",
		 "a.spec:2: this is a name of the matrix, too\n"
		 "    a = 1\n"
		 "        ^"},
		{"[matrix]\ncpus = 1;2\n[guest]\ncpus = 3\n",
		 "a.spec:4: this is a name of the matrix, which says it already\n"
		 "    cpus = 3\n"
		 "           ^"},
		{"[matrix]\na = 1;2\nb = ${nowhere_at_all}\n",
		 "a.spec:3: 'nowhere_at_all' is no name of the matrix, nor a parameter, nor of the "
		 "environment\n"
		 "    b = ${nowhere_at_all}\n"
		 "        ^~~~~~~~~~~~~~~~~"},
		{"[matrix]\na = 1; ${RS_NIX}\n",
		 "a.spec:2: 'RS_NIX' is no name of the matrix, nor a parameter, nor of the "
		 "environment\n"
		 "    a = 1; ${RS_NIX}\n"
		 "           ^~~~~~~~~"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(make(cases[i].text, &error));
		g_assert_error(error, RS_TRACE_SPEC_ERROR, RS_TRACE_SPEC_ERROR_WRONG);
		g_assert_cmpstr(error->message, ==, cases[i].want);
	}
}

static void test_bytes_that_are_no_text(void)
{
	static const char zero[] = "[test]\nabout = a\0b\n", bad[] = "[test]\nabout = \xff\n";
	g_autofree char *large = g_strnfill(RS_TRACE_SPEC_MAX + 1, '#');

	g_assert_null(rs_trace_spec_new("a", zero, sizeof(zero) - 1, NULL));
	g_assert_null(rs_trace_spec_new("a", bad, sizeof(bad) - 1, NULL));
	g_assert_null(rs_trace_spec_new("a", large, RS_TRACE_SPEC_MAX + 1, NULL));
}

static void test_nothing_at_all(void)
{
	g_autoptr(RsTraceSpec) spec = make("", NULL);
	g_autoptr(GError) error = NULL;

	g_assert_nonnull(spec);
	rs_trace_spec_blame(spec, "guest", NULL, &error, "there is no guest");
	g_assert_true(g_str_has_prefix(error->message, "a.spec:1: there is no guest\n"));
}

static void test_a_matrix_has_too_many_cases(void)
{
	g_autoptr(GString) text = g_string_new("[matrix]\n");
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < 40; i++)
		g_string_append_printf(text, "a%u = 0; 1; 2; 3\n", i);
	g_assert_null(make(text->str, &error));
	g_assert_nonnull(strstr(error->message, "more than 1024 cases"));
}

static void test_cases(void)
{
	static const char *const want[] = {"cpus=1, word=a", "cpus=1, word=b", "cpus=2, word=a",
					   "cpus=2, word=b"};
	g_autoptr(RsTraceSpec) spec = make("[guest]\nappend = say ${word}\nkernel = x\n"
					   "[matrix]\ncpus = 1; 2\nword = a; b\n",
					   NULL);

	g_assert_cmpuint(rs_trace_spec_n_cases(spec), ==, G_N_ELEMENTS(want));
	for (guint i = 0; i < G_N_ELEMENTS(want); i++) {
		g_autofree char *append = NULL, *cpus = NULL;

		g_autoptr(RsTraceSpec) one = rs_trace_spec_new_case(spec, i);

		append = rs_trace_spec_get(one, "guest", "append", NULL);
		cpus = rs_trace_spec_get(one, "guest", "cpus", NULL);
		g_assert_cmpstr(rs_trace_spec_case(one), ==, want[i]);
		g_assert_cmpstr(append, ==, i % 2 ? "say b" : "say a");
		/* A name of the matrix is a key of the guest. */
		g_assert_cmpstr(cpus, ==, i < 2 ? "1" : "2");
	}
}

static void test_a_matrix_has_too_many_names(void)
{
	g_autoptr(GString) text = g_string_new("[matrix]\n");
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < 65; i++)
		g_string_append_printf(text, "a%u = 0\n", i);
	g_assert_null(make(text->str, &error));
	g_assert_nonnull(strstr(error->message, "more than 64 names"));
}

/* Who gives a name gives it to one case. */
static void test_given(void)
{
	g_autoptr(RsTraceSpec) spec = make("[guest]\nkernel = ${disk}/k\n", NULL);
	g_autoptr(RsTraceSpec) one = rs_trace_spec_new_case(spec, 0);
	g_autofree char *kernel = NULL;

	rs_trace_spec_give(one, "disk", "/there");
	kernel = rs_trace_spec_get(one, "guest", "kernel", NULL);
	g_assert_cmpstr(kernel, ==, "/there/k");
	g_assert_null(rs_trace_spec_get(spec, "guest", "kernel", NULL));
}

static void test_settings(void)
{
	g_autoptr(GHashTable) settings = g_hash_table_new(g_str_hash, g_str_equal);
	g_autofree char *path = NULL, *append = NULL, *cpus = NULL;
	g_autoptr(RsTraceSpec) spec = NULL;
	g_autoptr(RsTraceSpec) without = NULL;
	const int fd = g_file_open_tmp(NULL, &path, NULL);

	g_assert_true(g_close(fd, NULL));
	g_assert_true(g_file_set_contents(path,
					  "[parameters]\na = 1\nb = 2\n[matrix]\ncpus = 3; 4\n"
					  "[guest]\nappend = ${a} ${b}\n",
					  -1, NULL));
	g_hash_table_insert(settings, (char *)"b", (char *)"7");
	g_hash_table_insert(settings, (char *)"cpus", (char *)"5;6;8");
	spec = rs_trace_spec_load(path, settings, NULL);
	append = rs_trace_spec_get(spec, "guest", "append", NULL);
	cpus = rs_trace_spec_get(spec, "guest", "cpus", NULL);
	g_assert_cmpstr(append, ==, "1 7");
	g_assert_cmpstr(cpus, ==, "5");
	g_assert_cmpuint(rs_trace_spec_n_cases(spec), ==, 3);
	g_assert_true(rs_trace_spec_uses(spec, "a") && rs_trace_spec_uses(spec, "cpus"));
	g_assert_false(rs_trace_spec_uses(spec, "c"));
	without = rs_trace_spec_load(path, NULL, NULL);
	g_assert_cmpuint(rs_trace_spec_n_cases(without), ==, 2);
	g_unlink(path);
}

static void test_values(void)
{
	g_autoptr(RsTraceSpec) spec = make("# a comment\n[expect one]\nevent = a ; b;;  \n"
					   "within = 1.5ms\ncount = 2..3\nsame=\\d+\n",
					   NULL);
	g_auto(GStrv) list = rs_trace_spec_list(spec, "expect one", "event", NULL);
	g_autofree char *raw = rs_trace_spec_get(spec, "expect one", "same", NULL);
	g_auto(GStrv) named = rs_trace_spec_named(spec, "expect");
	guint64 ns, least, most;

	g_assert_cmpstr(rs_trace_spec_case(spec), ==, "");
	g_assert_cmpuint(rs_trace_spec_n_cases(spec), ==, 1);
	g_assert_cmpstr(named[0], ==, "one");
	g_assert_null(named[1]);
	g_assert_cmpuint(g_strv_length(list), ==, 2);
	g_assert_cmpstr(list[1], ==, "b");
	/* Backslashes are the pattern's. */
	g_assert_cmpstr(raw, ==, "\\d+");
	g_assert_true(rs_trace_spec_duration(spec, "expect one", "within", &ns, NULL));
	g_assert_cmpuint(ns, ==, 1500000);
	g_assert_true(rs_trace_spec_range(spec, "expect one", "count", &least, &most, NULL));
	g_assert_cmpuint(least, ==, 2);
	g_assert_cmpuint(most, ==, 3);
	g_assert_cmpuint(rs_trace_spec_line(spec, "expect one", "count"), ==, 5);
}

static void test_wrong_values(void)
{
	static const char *const durations[] = {"", "2", "ms", "-1s", "1 year", "0x10s", "1e99s"};
	static const char *const ranges[] = {"", "..", "3..1", "a", "1...2", "-1", "1..x"};
	guint64 a, b;

	for (guint i = 0; i < G_N_ELEMENTS(durations); i++) {
		g_autofree char *text = g_strdup_printf("[expect x]\nwithin = %s\n", durations[i]);
		g_autoptr(RsTraceSpec) spec = make(text, NULL);
		g_autoptr(GError) error = NULL;

		g_assert_false(rs_trace_spec_duration(spec, "expect x", "within", &a, &error));
		g_assert_error(error, RS_TRACE_SPEC_ERROR, RS_TRACE_SPEC_ERROR_WRONG);
	}
	for (guint i = 0; i < G_N_ELEMENTS(ranges); i++) {
		g_autofree char *text = g_strdup_printf("[expect x]\ncount = %s\n", ranges[i]);
		g_autoptr(RsTraceSpec) spec = make(text, NULL);
		g_autoptr(GError) error = NULL;

		g_assert_false(rs_trace_spec_range(spec, "expect x", "count", &a, &b, &error));
		g_assert_error(error, RS_TRACE_SPEC_ERROR, RS_TRACE_SPEC_ERROR_WRONG);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/spec/settings", test_settings);
	g_test_add_func("/spec/names", test_a_matrix_has_too_many_names);
	g_test_add_func("/spec/given", test_given);
	g_test_add_func("/spec/mistakes", test_mistakes);
	g_test_add_func("/spec/no-text", test_bytes_that_are_no_text);
	g_test_add_func("/spec/nothing", test_nothing_at_all);
	g_test_add_func("/spec/too-many-cases", test_a_matrix_has_too_many_cases);
	g_test_add_func("/spec/cases", test_cases);
	g_test_add_func("/spec/values", test_values);
	g_test_add_func("/spec/wrong-values", test_wrong_values);
	return g_test_run();
}
