/* SPDX-License-Identifier: MIT */
/* Wishes for events that are not there yet, in a session that runs: asked for, listed, ended. */
#include "session/session.h"

#include "sham.h"
#include <errno.h>
#include <ringside/record.h>
#include <string.h>

#define FIRST RS_FIRST_EVENT_ID

static const char *const one[] = {"one", NULL};
static const char *const late[] = {"read", "write", NULL};

struct fixture {
	struct rs_session *session;
	struct sham *sham;
	struct rs_session_result result;
	struct rs_error err;
};

/* The guest has reported, with a provider "first". */
static void set_up(struct fixture *f, gconstpointer data)
{
	struct rs_source_config config = {.kernel = "kern"};

	f->sham = sham_new(1, RS_CHANNEL_MAILBOX);
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, NULL, NULL),
			==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	sham_provider(f->sham, "first", one);
	rs_session_refresh(f->session);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_result_clear(&f->result);
	rs_session_destroy(f->session);
	sham_free(f->sham);
}

static int ask(struct fixture *f, const char *owner, enum rs_session_ask_kind kind,
	       const char *glob, const char *expression, bool ahead)
{
	const struct rs_session_ask what = {
		.owner = owner,
		.kind = kind,
		.glob = glob,
		.expression = expression,
		.ahead = ahead,
	};

	rs_session_result_clear(&f->result);
	f->result = (struct rs_session_result){0};
	return rs_session_ask(f->session, &what, &f->result, &f->err);
}

static int enable(struct fixture *f, const char *glob, bool ahead)
{
	return ask(f, RS_OWNER_HOST, RS_ASK_ENABLE, glob, NULL, ahead);
}

static int disable(struct fixture *f, const char *glob)
{
	return ask(f, RS_OWNER_HOST, RS_ASK_DISABLE, glob, NULL, false);
}

static bool is_on(struct fixture *f, uint32_t n)
{
	return sham_word(f->sham, FIRST + n) & RS_EVENT_ENABLED;
}

/* "OWNER WISH GLOB [if FILTER] [met]", one line for each rule. */
static char *kept(struct fixture *f)
{
	static const char *const wishes[] = {"enable", "disable", "filter"};
	g_autoptr(GArray) list = rs_session_list_rules(f->session);
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < list->len; i++) {
		const struct rs_session_rule *row = &g_array_index(list, struct rs_session_rule, i);

		g_string_append_printf(text, "%s%s %s %s", row->source ? "k/" : "", row->owner,
				       wishes[row->rule->kind], row->rule->glob);
		if (row->rule->expression)
			g_string_append_printf(text, " if %s", row->rule->expression);
		g_string_append(text, row->rule->met ? " met\n" : "\n");
	}
	return g_string_free(text, FALSE);
}

static void check_kept(struct fixture *f, const char *what)
{
	g_autofree char *got = kept(f);

	g_assert_cmpstr(got, ==, what);
}

static void test_a_glob_that_matches_nothing_is_kept_if_asked(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(enable(f, "late:*", false), ==, -ENOENT);
	check_kept(f, "");
	g_assert_cmpint(enable(f, "late:*", true), ==, 0);
	g_assert_true(f->result.pending);
	g_assert_cmpuint(f->result.touched, ==, 0);
	check_kept(f, "host enable late:*\n");
	sham_provider(f->sham, "late", late);
	rs_session_refresh(f->session);
	g_assert_true(is_on(f, 1) && is_on(f, 2));
	g_assert_false(is_on(f, 0));
	check_kept(f, "host enable late:* met\n");
	/* A wrong glob stays wrong. */
	g_assert_cmpint(enable(f, "late:*@level=9", true), ==, -EINVAL);
	g_assert_cmpint(enable(f, "", true), ==, -EINVAL);
	g_assert_cmpint(enable(f, "no name:*", true), ==, -EINVAL);
	/* What matches something is no other than without. */
	g_assert_cmpint(enable(f, "first:*", true), ==, 0);
	g_assert_false(f->result.pending);
	g_assert_cmpuint(f->result.touched, ==, 1);
	check_kept(f, "host enable late:* met\nhost enable first:* met\n");
}

static void test_a_filter_is_kept_ahead(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(ask(f, RS_OWNER_HOST, RS_ASK_FILTER, "late:*", "a > 1", false), ==,
			-ENOENT);
	g_assert_cmpint(ask(f, RS_OWNER_HOST, RS_ASK_FILTER, "late:*", "a >", true), ==, -EBADMSG);
	g_assert_cmpint(ask(f, RS_OWNER_HOST, RS_ASK_FILTER, "late:*", "a > 1", true), ==, 0);
	g_assert_true(f->result.pending);
	g_assert_cmpint(enable(f, "late:read", true), ==, 0);
	check_kept(f, "host filter late:* if a > 1\nhost enable late:read\n");
	sham_provider(f->sham, "late", late);
	rs_session_refresh(f->session);
	g_assert_true(is_on(f, 1) && !is_on(f, 2));
	g_assert_cmphex(sham_word(f->sham, FIRST + 1) >> RS_EVENT_FILTER_SHIFT, !=, 0);
}

static void test_disable_ends_what_was_kept(struct fixture *f, gconstpointer data)
{
	enable(f, "late:*", true);
	/* Another glob, which matches nothing either, is a mistake as before. */
	g_assert_cmpint(disable(f, "lat:*"), ==, -ENOENT);
	g_assert_cmpint(disable(f, "late:*"), ==, 0);
	g_assert_true(f->result.pending);
	check_kept(f, "");
	g_assert_cmpint(disable(f, "late:*"), ==, -ENOENT);
	/* One with a selection is another glob, and the message says so. */
	enable(f, "late:*@level=3", true);
	g_assert_cmpint(disable(f, "late:*"), ==, -ENOENT);
	g_assert_nonnull(strstr(f->err.message, "'late:*@level=3' is kept"));
	g_assert_cmpint(disable(f, "late:*@level=3"), ==, 0);
	sham_provider(f->sham, "late", late);
	rs_session_refresh(f->session);
	g_assert_false(is_on(f, 1) || is_on(f, 2));
	/* Nothing is left of the owner. */
	g_assert_false(rs_session_knows_owner(f->session, RS_OWNER_HOST));
}

static void test_each_owner_has_its_own(struct fixture *f, gconstpointer data)
{
	enable(f, "late:*", true);
	g_assert_cmpint(ask(f, "view", RS_ASK_ENABLE, "late:read", NULL, true), ==, 0);
	g_assert_cmpint(ask(f, RS_OWNER_GUEST, RS_ASK_ENABLE, "late:write", NULL, true), ==, 0);
	check_kept(f, "host enable late:*\nview enable late:read\nk/guest enable late:write\n");
	g_assert_cmpint(ask(f, "view", RS_ASK_DISABLE, "late:*", NULL, false), ==, -ENOENT);
	g_assert_cmpint(disable(f, "late:*"), ==, 0);
	rs_session_forget_owner(f->session, "view");
	check_kept(f, "k/guest enable late:write\n");
	sham_provider(f->sham, "late", late);
	rs_session_refresh(f->session);
	g_assert_true(!is_on(f, 1) && is_on(f, 2));
}

/* It goes on holding while its provider comes and goes. */
static void test_it_survives_a_reload(struct fixture *f, gconstpointer data)
{
	uint32_t slot;

	enable(f, "late:*", true);
	slot = sham_provider(f->sham, "late", late);
	rs_session_refresh(f->session);
	for (int i = 0; i < 3; i++) {
		g_assert_true(is_on(f, 1));
		sham_provider_dies(f->sham, slot);
		rs_session_refresh(f->session);
		g_assert_false(is_on(f, 1));
		sham_provider_returns(f->sham, slot);
		rs_session_refresh(f->session);
	}
	g_assert_true(is_on(f, 1) && is_on(f, 2));
	check_kept(f, "host enable late:* met\n");
	/* While it is away its glob can be ended, too. */
	sham_provider_dies(f->sham, slot);
	rs_session_refresh(f->session);
	g_assert_cmpint(disable(f, "late:*"), ==, 0);
	sham_provider_returns(f->sham, slot);
	rs_session_refresh(f->session);
	g_assert_false(is_on(f, 1) || is_on(f, 2));
}

static void test_the_table_is_bounded(struct fixture *f, gconstpointer data)
{
	for (uint32_t i = 0; i < RS_OWNER_MAX_RULES; i++) {
		g_autofree char *glob = g_strdup_printf("late:e%u", i);

		g_assert_cmpint(enable(f, glob, true), ==, 0);
	}
	g_assert_cmpint(enable(f, "late:more", true), ==, -ENOSPC);
	g_assert_cmpint(disable(f, "*"), ==, 0);
	check_kept(f, "");
	g_assert_cmpint(enable(f, "late:more", true), ==, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{"kept", test_a_glob_that_matches_nothing_is_kept_if_asked},
		{"filter", test_a_filter_is_kept_ahead},
		{"disable", test_disable_ends_what_was_kept},
		{"owners", test_each_owner_has_its_own},
		{"reload", test_it_survives_a_reload},
		{"bounded", test_the_table_is_bounded},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/ahead/%s", tests[i].name);

		g_test_add(path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	}
	return g_test_run();
}
