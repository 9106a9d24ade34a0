/* SPDX-License-Identifier: MIT */
/* What is suggested for the name of an event that does not exist. */
#include "session/session.h"

#include "sham.h"
#include <errno.h>
#include <string.h>

#define COMPARED 1000u /* events that are compared */
#define EACH 25u       /* events of each provider of all guests but the last one */
#define PROVIDERS 5u
#define GUESTS (COMPARED / EACH / PROVIDERS + 1)

struct fixture {
	struct rs_session *session;
	struct sham *sham[GUESTS];
	guint n;
};

/* A guest with one provider. */
static void add_guest(struct fixture *f, const char *system, const char *const *events)
{
	struct rs_source_config config = {.kernel = "kern"};
	struct sham *sham = sham_new(1, RS_CHANNEL_MAILBOX);

	f->sham[f->n++] = sham;
	g_assert_cmpint(
		rs_session_add_source(f->session, &config, sham->region, &sham->target, NULL, NULL),
		==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(sham, RS_GUEST_SELF_PATCH);
	sham_provider(sham, system, events);
	rs_session_refresh(f->session);
}

static void set_up(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	for (guint i = 0; i < f->n; i++)
		sham_free(f->sham[i]);
}

static void check(struct fixture *f, const char *glob, const char *want)
{
	g_autofree char *text = rs_session_suggest(f->session, glob);
	struct rs_error err = {0};

	g_assert_cmpstr(text, ==, want);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, glob, NULL, &err), ==,
			-ENOENT);
	g_assert_true(g_str_has_suffix(err.message, want));
	/* A guest is told nothing of what others have. */
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_GUEST, glob, NULL, &err), ==,
			-ENOENT);
	g_assert_null(strstr(err.message, "did you mean"));
}

static void test_names(struct fixture *f, gconstpointer data)
{
	static const char *const sched[] = {"switch", "wakeup", NULL};

	add_guest(f, "sched", sched);
	check(f, "swich", "; did you mean 'sched:switch'?");
	check(f, "sched:wakup", "; did you mean 'sched:wakeup'?");
	check(f, "shed:switch", "; did you mean 'sched:switch'?");
	check(f, "kern/wakup", "; did you mean 'sched:wakeup'?");
	check(f, "something:else", "");
	check(f, "swi*x", "");
	check(f, "swic?", "");
	check(f, "swic[x]", "");
}

/* Comparing takes time, so no more than so many events are looked at. */
static void test_many(struct fixture *f, gconstpointer data)
{
	static const char *const last[] = {"alphabet", "kernel_entry", NULL};
	g_autoptr(GArray) listed = NULL;
	static char names[EACH][8];
	static const char *list[EACH + 1];

	for (guint i = 0; i < EACH; i++) {
		g_snprintf(names[i], sizeof(names[i]), "e%u", i);
		list[i] = names[i];
	}
	for (guint i = 0; i + 1 < GUESTS; i++) {
		add_guest(f, "s", i ? list : list + 1);
		for (guint k = 1; k < PROVIDERS; k++)
			sham_provider(f->sham[i], "s", list);
	}
	add_guest(f, "last", last);
	listed = rs_session_list(f->session, NULL);
	g_assert_cmpuint(listed->len, ==, COMPARED + 1);
	check(f, "alphabe", "; did you mean 'last:alphabet'?");
	check(f, "kernel_entr", "");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/session/suggest/names", struct fixture, NULL, set_up, test_names, tear_down);
	g_test_add("/session/suggest/many", struct fixture, NULL, set_up, test_many, tear_down);
	return g_test_run();
}
