/* SPDX-License-Identifier: MIT */
/* Globs element by element, with the names of events, at the limits of a word, and at random. */
#include "rs-trace-glob.h"

#include <string.h>

static gboolean matches(const char *pattern, const char *text)
{
	g_autoptr(RsTraceGlob) glob = rs_trace_glob_new(pattern);

	return rs_trace_glob_matches(glob, text);
}

static gboolean matches_event(const char *pattern, const char *system, const char *name)
{
	g_autoptr(RsTraceGlob) glob = rs_trace_glob_new(pattern);
	const RsTraceEvent event = {.system = system, .name = name};

	return rs_trace_glob_matches_event(glob, &event);
}

static void test_globs(void)
{
	static const struct {
		const char *glob, *text;
		gboolean matches;
	} cases[] = {
		{"", "", TRUE},
		{"", "a", FALSE},
		{"a", "", FALSE},
		{"?", "", FALSE},
		{"*", "", TRUE},
		{"**", "ab", TRUE},
		{"a?", "a", FALSE},
		{"a?", "ab", TRUE},
		{"a?", "abc", FALSE},
		{"*a*b", "xaxb", TRUE},
		{"*a*b", "xaxbx", FALSE},
		{"a*", "a", TRUE},
		{"*ab", "aab", TRUE},
		/* quoted */
		{"\\*", "*", TRUE},
		{"\\*", "a", FALSE},
		{"\\?", "?", TRUE},
		{"\\?", "a", FALSE},
		{"\\\\", "\\", TRUE},
		{"\\\\", "a", FALSE},
		{"\\[a]", "[a]", TRUE},
		{"\\[a]", "a", FALSE},
		{"a\\", "a\\", TRUE},
		{"\\", "\\", TRUE},
		{"\\", "a", FALSE},
		/* sets */
		{"[a-c]", "a", TRUE},
		{"[a-c]", "b", TRUE},
		{"[a-c]", "c", TRUE},
		{"[a-c]", "d", FALSE},
		{"[a-c]", "`", FALSE},
		{"[a-c]", "-", FALSE},
		{"[b-a]", "a", FALSE},
		{"[a-]", "a", TRUE},
		{"[a-]", "-", TRUE},
		{"[a-]", "b", FALSE},
		{"[-a]", "-", TRUE},
		{"[-a]", "b", FALSE},
		{"[abx-z]", "b", TRUE},
		{"[abx-z]", "y", TRUE},
		{"[abx-z]", "w", FALSE},
		{"[x-zab]", "b", TRUE},
		{"[x-zab]", "c", FALSE},
		{"[a-c]d", "bd", TRUE},
		{"[a-c]d", "b", FALSE},
		{"[a\xff]", "\xff", TRUE},
		{"[\x80-\xff]", "\xe2", TRUE},
		{"[a-\xff]", "\xfe", TRUE},
		{"[!a-c]", "b", FALSE},
		{"[!a-c]", "d", TRUE},
		{"[^a]", "a", FALSE},
		{"[^a]", "b", TRUE},
		{"[]a]", "]", TRUE},
		{"[]a]", "a", TRUE},
		{"[]a]", "b", FALSE},
		{"[!]a]", "]", FALSE},
		{"[!]a]", "a", FALSE},
		{"[!]a]", "b", TRUE},
		/* no set after all */
		{"[", "[", TRUE},
		{"[a", "[a", TRUE},
		{"[a", "a", FALSE},
		{"[]", "[]", TRUE},
		{"[!]", "x", FALSE},
		{"[!]", "!", FALSE},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("%s %s", cases[i].glob, cases[i].text);
		g_assert_cmpint(matches(cases[i].glob, cases[i].text), ==, cases[i].matches);
	}
}

static void test_events(void)
{
	static const char *const yes[] = {
		"sched:switch", "sched", "sw*ch", "sched:", "*:s[a-w]itch", "s?itch",
		"[!a]witch",    "*",     "*:",    "*:*",    "s*:",          "[a-z]*:*ch"};
	static const char *const no[] = {
		"sched:swit",    "irq:*", "[!s]witch", "[s",       "",           ":",
		"sched:switch:", "sche:", "switch:",   "sched:*x", "schedswitch"};

	for (guint i = 0; i < G_N_ELEMENTS(yes); i++) {
		g_test_message("%s", yes[i]);
		g_assert_true(matches_event(yes[i], "sched", "switch"));
	}
	for (guint i = 0; i < G_N_ELEMENTS(no); i++) {
		g_test_message("%s", no[i]);
		g_assert_false(matches_event(no[i], "sched", "switch"));
	}
}

/* Globs of each length up to the limit, and names as long as they may be. */
static void test_lengths(void)
{
	for (guint n = 0; n <= RS_TRACE_GLOB_MAX; n++) {
		g_autofree char *text = g_strnfill(n, 'a'), *more = g_strnfill(n + 1, 'a');
		g_autofree char *any = g_strnfill(n, '?'), *stars = g_strnfill(n, '*');

		g_assert_true(matches(text, text));
		g_assert_false(matches(text, more));
		g_assert_true(matches(any, text));
		g_assert_false(matches(any, more));
		g_assert_cmpint(matches(stars, more), ==, n > 0);
		if (!n)
			continue;
		g_assert_false(matches(text, text + 1));
		for (guint at = n % 61; at < n; at += 61) {
			g_autofree char *starred = g_strdup(text), *other = g_strdup(text);

			starred[at] = '*';
			other[at] = 'b';
			g_assert_true(matches(starred, more));
			g_assert_true(matches(starred, other));
			g_assert_true(matches(starred, text + 1));
			g_assert_false(n > 1 && matches(starred, text + 2));
			g_assert_false(matches(text, other));
		}
	}
}

static void test_inverse(void)
{
	g_autoptr(RsTraceGlob) glob = rs_trace_glob_new_inverse("a*");

	g_assert_false(rs_trace_glob_matches(glob, "ab"));
	g_assert_true(rs_trace_glob_matches(glob, "ba"));
	g_assert_true(rs_trace_glob_matches(glob, ""));
}

static void test_too_long(void)
{
	g_autofree char *text = g_strnfill(RS_TRACE_GLOB_MAX + 1, '*');

	g_assert_null(rs_trace_glob_new(text));
	g_assert_null(rs_trace_glob_new_inverse(text));
	g_assert_true(matches(text + 1, "a"));
	rs_trace_glob_free(NULL);
}

/* Each byte is its own, and a glob may name all of them. */
static void test_bytes(void)
{
	g_autoptr(GString) all = g_string_new(NULL), text = NULL;

	for (guint c = 1; c < 256; c++) {
		const char one[] = {(char)c, 0}, range[] = {'[', (char)c, '-', (char)c, ']', 0};
		const char not [] = {'[', '!', (char)c, '-', (char)c, ']', 0};

		g_string_append_printf(all, "%s%c", strchr("*?[\\", (int)c) ? "\\" : "", (int)c);
		for (guint d = 1; d < 256 && !strchr("!^]", (int)c); d++) {
			const char other[] = {(char)d, 0};

			g_assert_cmpint(matches(range, other), ==, c == d);
			g_assert_cmpint(matches(not, other), ==, c != d);
		}
		g_assert_true(matches("?", one));
	}
	g_assert_cmpuint(all->len, ==, 255 + 4);
	text = g_string_new(NULL);
	for (guint c = 1; c < 256; c++)
		g_string_append_c(text, (char)c);
	g_assert_true(matches(all->str, text->str));
	for (guint i = 0; i < text->len; i++) {
		text->str[i]++;
		g_assert_false(matches(all->str, text->str));
		text->str[i]--;
	}
}

/* What is left of the pattern and of the text match: only letters, stars and question marks. */
static gboolean plainly(const char *pattern, const char *text)
{
	for (; *pattern; pattern++, text++) {
		if (*pattern == '*') {
			while (!plainly(pattern + 1, text)) {
				if (!*text++)
					return FALSE;
			}
			return TRUE;
		}
		if (!*text || (*pattern != '?' && *pattern != *text))
			return FALSE;
	}
	return !*text;
}

static void test_random(void)
{
	guint hits = 0;

	for (guint round = 0; round < 20000; round++) {
		char pattern[13] = "", text[13] = "";
		gint n = g_test_rand_int_range(0, 12), m = g_test_rand_int_range(0, 12);

		for (gint i = 0; i < n; i++)
			pattern[i] = "ab*?*"[g_test_rand_int_range(0, 5)];
		for (gint i = 0; i < m; i++)
			text[i] = "ab"[g_test_rand_int_range(0, 2)];
		if (matches(pattern, text) != plainly(pattern, text))
			g_error("%s %s", pattern, text);
		hits += matches(pattern, text);
	}
	g_assert_cmpuint(hits, >, 1000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/glob/elements", test_globs);
	g_test_add_func("/glob/events", test_events);
	g_test_add_func("/glob/lengths", test_lengths);
	g_test_add_func("/glob/inverse", test_inverse);
	g_test_add_func("/glob/too-long", test_too_long);
	g_test_add_func("/glob/bytes", test_bytes);
	g_test_add_func("/glob/random", test_random);
	return g_test_run();
}
