/* SPDX-License-Identifier: MIT */
#include "cli/profile.h"

#include <ringside/region.h>
#include <string.h>

static const struct rs_profile_item *nth(const GPtrArray *items, guint i)
{
	g_assert_cmpuint(i, <, items->len);
	return items->pdata[i];
}

static void check_trigger(const struct rs_profile_item *item, const char *event,
			  const char *actions, guint64 count)
{
	g_autofree char *of = rs_trigger_text_event(item->trigger);
	g_autofree char *what = rs_trigger_text_actions(item->trigger);

	g_assert_cmpstr(of, ==, event);
	g_assert_cmpstr(what, ==, actions);
	g_assert_cmpuint(item->trigger->count, ==, count);
}

static struct rs_profile *read_text(const char *text, GError **error)
{
	return rs_profile_new("p", text, strlen(text), error);
}

/* What a session says of an item is told where the file has that part of it. */
static void test_blame(void)
{
	static const struct {
		guint trigger; /* else of [events] */
		enum rs_profile_part part;
		guint nth;
		const char *want;
	} cases[] = {
		{0, RS_PROFILE_GLOB, 0, "p:2: no\n    enable = a:bc; a:b\n                   ^~~"},
		{1, RS_PROFILE_GLOB, 0, "p:4: no\n    on = c:d\n         ^~~"},
		{1, RS_PROFILE_IF, 0, "p:5: no\n    if = m > 3\n         ^~~~~"},
		{1, RS_PROFILE_DO, 1,
		 "p:6: no\n    do = pause; enable=x:y\n                ^~~~~~~~~~"},
		{1, RS_PROFILE_ALL, 0, "p:3: no\n    [trigger t]\n    ^~~~~~~~~~~"},
	};
	const char *text = "[events]\nenable = a:bc; a:b\n"
			   "[trigger t]\non = c:d\nif = m > 3\ndo = pause; enable=x:y\n";
	g_autoptr(GError) error = NULL;
	g_autoptr(RsProfile) p = read_text(text, &error);

	g_assert_no_error(error);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct rs_profile_item *item =
			cases[i].trigger ? nth(p->triggers, 0) : nth(p->enables, 1);
		g_autoptr(GError) told = NULL;

		rs_profile_blame(p, item, cases[i].part, cases[i].nth, "no", &told);
		g_assert_cmpstr(told->message, ==, cases[i].want);
	}
}

/* It becomes what options say. */
static void test_all(void)
{
	const char *text =
		"# mine\n[events]\nenable = a:*, !a:x; b:y\ndisable = a:z\n"
		"[filter one]\nevents = a:*\nif = pid > 2\n"
		"[trigger t]\non = a:b\nif = x == 1\ndo = pause; snapshot=/s\ncount = 3\n"
		"[trigger u]\non = c:*\ndo = stack\n[ring]\nmode = drop\n";
	g_autoptr(GError) error = NULL;
	g_autoptr(RsProfile) p = read_text(text, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(p->enables->len, ==, 2);
	g_assert_nonnull(strstr(nth(p->enables, 0)->glob, "!a:x"));
	g_assert_cmpstr(nth(p->enables, 1)->glob, ==, "b:y");
	g_assert_cmpstr(nth(p->disables, 0)->glob, ==, "a:z");
	g_assert_cmpstr(nth(p->filters, 0)->glob, ==, "a:*");
	g_assert_cmpstr(nth(p->filters, 0)->expression, ==, "pid > 2");
	check_trigger(nth(p->triggers, 0), "a:b: x == 1", "pause; snapshot=/s", 3);
	check_trigger(nth(p->triggers, 1), "c:*", "stack=16", 0);
	g_assert_cmpint(p->mode, ==, RS_MODE_DROP);
}

/* Lists, and selections, wherever a glob is taken. */
static void test_globs(void)
{
	const char *text = "[filter one]\nevents = a:*@level=3, !a:x\nif = pid > 2\n"
			   "[trigger t]\non = a:b, c:d\ndo = pause\n"
			   "[trigger u]\non = a:b,c:d\nif = x == 1\ndo = pause\n";
	g_autoptr(GError) error = NULL;
	g_autoptr(RsProfile) p = read_text(text, &error);

	g_assert_no_error(error);
	g_assert_cmpstr(nth(p->filters, 0)->glob, ==, "a:*@level=3,!a:x");
	check_trigger(nth(p->triggers, 0), "a:b,c:d", "pause", 0);
	check_trigger(nth(p->triggers, 1), "a:b,c:d: x == 1", "pause", 0);
}

/* What the one line of --trigger could not say. */
static void test_paths(void)
{
	const char *text = "[trigger t]\non = a:b\ndo = pause; snapshot=/a b @ c\n";
	g_autoptr(GError) error = NULL;
	g_autoptr(RsProfile) p = read_text(text, &error);

	g_assert_no_error(error);
	check_trigger(nth(p->triggers, 0), "a:b", "pause; snapshot=/a b @ c", 16);
}

static void test_nothing(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RsProfile) p = read_text("", &error);

	g_assert_no_error(error);
	g_assert_cmpuint(p->enables->len + p->disables->len + p->filters->len + p->triggers->len,
			 ==, 0);
	g_assert_cmpint(p->mode, ==, RS_PROFILE_ANY_MODE);
}

/* Each has its line. */
static void test_mistakes(void)
{
	static const char *const wrong[][2] = {
		{"[event]\n", "p:1: "},
		{"[events]\nenabled = a\n",
		 "p:2: there is no key 'enabled' here, but enable, disable\n"
		 "    enabled = a\n"
		 "    ^~~~~~~"},
		{"[events]\nenable = ;\n", "p:2: "},
		{"[events]\nenable = a:*\ndisable = a:*@level=9\n", "p:3: "},
		{"\n[filter x]\nevents = a:b\n", "p:2: this needs a key 'if'"},
		{"[filter x]\nevents = a:b\nif = pid >\n", "p:3: "},
		{"[filter x]\nevents = a: b\nif = pid > 1\n", "p:2: "},
		{"[trigger x]\ndo = pause\n", "p:1: this needs a key 'on'"},
		{"[trigger x]\non = a:b\n", "p:1: this needs a key 'do'"},
		{"[trigger x]\non = a:b\ndo = jump\n", "p:3: "},
		{"[trigger x]\non = a:b: pid > 1\ndo = pause\n", "p:2: this is no glob: "},
		{"[trigger x]\non = a:b:pid\ndo = pause\n", "p:2: "},
		{"[trigger x]\non = a:b\nif = pid =\ndo = pause\n", "p:3: "},
		{"[trigger x]\non = a:b\ndo = pause\ncount = 0\n", "p:4: "},
		{"[trigger x]\non = a:b\ndo = pause\ncount = x\n", "p:4: "},
		{"[ring]\nmode = full\n", "p:2: "},
		{"[filter x]\nevents = a:b\nif = f ~ \"$${RS_NIX}*${RS_NIX}\" && g\n",
		 "p:3: the environment has no 'RS_NIX'\n"
		 "    if = f ~ \"$${RS_NIX}*${RS_NIX}\" && g\n"
		 "                         ^~~~~~~~~"},
		{"[events]\nenable = ${}\n", "p:2: the environment has no ''"},
		{"[events]\nenable = a:${RS_NIX; b:b\n", "p:2: a '}' is missing\n"
							 "    enable = a:${RS_NIX; b:b\n"
							 "               ^~~~~~~~~~~~~"},
		/* Of a list the part that is wrong. */
		{"[events]\ndisable = a:bc; \"a:b\" ;; c:d\n",
		 "p:2: no event can have a name that '\"a:b\"' matches\n"
		 "    disable = a:bc; \"a:b\" ;; c:d\n"
		 "                    ^~~~~"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(read_text(wrong[i][0], &error));
		g_assert_error(error, RS_TRACE_SPEC_ERROR, RS_TRACE_SPEC_ERROR_WRONG);
		if (!g_str_has_prefix(error->message, wrong[i][1]))
			g_error("%s: %s", wrong[i][0], error->message);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cli/profile/all", test_all);
	g_test_add_func("/cli/profile/blame", test_blame);
	g_test_add_func("/cli/profile/globs", test_globs);
	g_test_add_func("/cli/profile/paths", test_paths);
	g_test_add_func("/cli/profile/nothing", test_nothing);
	g_test_add_func("/cli/profile/mistakes", test_mistakes);
	return g_test_run();
}
