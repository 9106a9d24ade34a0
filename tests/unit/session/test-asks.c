/* SPDX-License-Identifier: MIT */
/*
 * Requests that fail in one of two guests. The other guest gets what was asked for, the answer
 * names the one that did not, and the request is kept. If it fails in both, nothing has changed.
 */
#include "session/session.h"

#include "sham.h"
#include <errno.h>
#include <ringside/record.h>
#include <string.h>

#define FIRST RS_FIRST_EVENT_ID

static const char *const sched[] = {"switch", "wakeup", NULL};
static const char *const late[] = {"late", NULL};

struct fixture {
	struct rs_session *session;
	struct rs_session_listener listener;
	struct sham *sham[2];
	struct rs_source *source[2];
	struct rs_session_result result; /* of the last request */
	struct rs_error err;
	GString *said;
	int failed;
};

static void on_message(void *data, const char *text)
{
	g_string_append_printf(((struct fixture *)data)->said, "%s\n", text);
}

static void on_failed(void *data, const struct rs_error *err)
{
	((struct fixture *)data)->failed++;
}

static void set_up(struct fixture *f, gconstpointer data)
{
	f->said = g_string_new(NULL);
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->listener =
		(struct rs_session_listener){.data = f, .message = on_message, .failed = on_failed};
	rs_session_add_listener(f->session, &f->listener);
	for (int i = 0; i < 2; i++) {
		struct rs_source_config config = {.kernel = "kern"};

		/* Two filters fit into the first region, and none into the second. */
		f->sham[i] = sham_new_with_text(1, RS_CHANNEL_MAILBOX, i ? 64 : 1024);
		g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham[i]->region,
						      &f->sham[i]->target, &f->source[i], NULL),
				==, 0);
	}
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	for (int i = 0; i < 2; i++) {
		sham_hello(f->sham[i], 0);
		sham_provider(f->sham[i], "sched", sched);
	}
	rs_session_refresh(f->session);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	for (int i = 0; i < 2; i++)
		f->sham[i]->unstoppable = f->sham[i]->read_only = f->sham[i]->dying = false;
	rs_session_result_clear(&f->result);
	rs_session_destroy(f->session);
	for (int i = 0; i < 2; i++)
		sham_free(f->sham[i]);
	g_string_free(f->said, TRUE);
}

/* ---- requests ---- */

static int enable(struct fixture *f, const char *glob)
{
	rs_session_result_clear(&f->result);
	return rs_session_enable(f->session, RS_OWNER_HOST, glob, &f->result, &f->err);
}

static int disable(struct fixture *f, const char *glob)
{
	rs_session_result_clear(&f->result);
	return rs_session_disable(f->session, RS_OWNER_HOST, glob, &f->result, &f->err);
}

static int filter(struct fixture *f, const char *glob, const char *expression)
{
	rs_session_result_clear(&f->result);
	return rs_session_set_filter(f->session, RS_OWNER_HOST, glob, expression, &f->result,
				     &f->err);
}

/* ---- what came of them ---- */

static bool is_on(struct fixture *f, int i, uint32_t n)
{
	bool on = sham_word(f->sham[i], FIRST + n) & RS_EVENT_ENABLED;

	if (on)
		g_assert_true(sham_patched(f->sham[i], FIRST + n));
	return on;
}

static bool is_filtered(struct fixture *f, int i, uint32_t n)
{
	return sham_word(f->sham[i], FIRST + n) >> RS_EVENT_FILTER_SHIFT;
}

/* The answer has one problem, in a line that contains all of these, and so has what was said. */
static void check_problem(struct fixture *f, const char *source, const char *what, const char *why)
{
	const char *line;

	g_assert_nonnull(f->result.problems);
	g_assert_cmpuint(f->result.problems->len, ==, 1);
	line = f->result.problems->pdata[0];
	g_assert_true(g_str_has_prefix(line, source));
	g_assert_true(strstr(line, what) && strstr(line, why) && !strchr(line, '\n'));
	g_assert_nonnull(strstr(f->said->str, line));
}

/* It failed in the second source alone. */
static void check_failed(struct fixture *f, uint32_t touched, const char *why)
{
	g_assert_cmpuint(f->result.touched, ==, touched);
	g_assert_false(f->result.pending);
	g_assert_cmpuint(f->result.unfiltered, ==, 0);
	g_assert_cmpuint(f->result.kept, ==, 0);
	check_problem(f, "kern.2: ", "nothing was changed there", why);
	g_assert_nonnull(f->result.failed);
	g_assert_cmpuint(f->result.failed->len, ==, 1);
	g_assert_cmpuint(g_array_index(f->result.failed, uint32_t, 0), ==,
			 rs_source_number(f->source[1]));
}

static void check_whole(struct fixture *f, uint32_t touched)
{
	g_assert_cmpuint(f->result.touched, ==, touched);
	g_assert_null(f->result.problems);
	g_assert_null(f->result.failed);
}

/* Later events get what the rules say. */
static void check_late(struct fixture *f, bool on, bool filtered)
{
	uint32_t n = f->sham[0]->events;

	sham_provider(f->sham[0], "sched", late);
	rs_session_refresh(f->session);
	g_assert_true(is_on(f, 0, n) == on);
	g_assert_true(is_filtered(f, 0, n) == filtered);
}

static void test_enable(struct fixture *f, gconstpointer data)
{
	f->sham[1]->unstoppable = true;
	g_assert_cmpint(enable(f, "sched:*"), ==, 0);
	check_failed(f, 2, "cannot be paused: it runs away");
	g_assert_true(is_on(f, 0, 0) && is_on(f, 0, 1));
	g_assert_false(is_on(f, 1, 0) || is_on(f, 1, 1));
	g_assert_false(sham_patched(f->sham[1], FIRST));
	check_late(f, true, false);
	/* Later events of the guest that failed get it too, and what failed can be asked again. */
	f->sham[1]->unstoppable = false;
	sham_provider(f->sham[1], "sched", late);
	rs_session_refresh(f->session);
	g_assert_true(is_on(f, 1, 2));
	g_assert_false(is_on(f, 1, 0));
	g_assert_cmpint(enable(f, "sched:*"), ==, 0);
	check_whole(f, 6);
	g_assert_true(is_on(f, 1, 0) && is_on(f, 1, 1));
}

static void test_enable_nowhere(struct fixture *f, gconstpointer data)
{
	f->sham[0]->unstoppable = f->sham[1]->unstoppable = true;
	g_assert_cmpint(enable(f, "sched:*"), ==, -EIO);
	g_assert_nonnull(strstr(f->err.message, "it runs away"));
	g_assert_true(g_str_has_prefix(f->err.message, "kern: "));
	check_whole(f, 0);
	f->sham[0]->unstoppable = f->sham[1]->unstoppable = false;
	g_assert_false(is_on(f, 0, 0) || is_on(f, 1, 0));
	check_late(f, false, false);
}

/* Which of them cannot be paused is told. One that can goes on. */
static void test_pause(struct fixture *f, gconstpointer data)
{
	f->sham[1]->unstoppable = true;
	g_assert_cmpint(rs_session_pause(f->session, NULL), ==, -EIO);
	g_assert_cmpint(rs_session_pause(f->session, &f->err), ==, -EIO);
	g_assert_cmpstr(f->err.message, ==, "kern.2: the guest cannot be paused: it runs away");
	g_assert_cmpint(f->sham[0]->pauses, ==, 2);
	g_assert_cmpint(f->sham[0]->resumes, ==, 2);
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_RUNNING);
}

/* Whoever stops a session that is paused, or drops it, lets its guests go on. */
static void test_left_paused(struct fixture *f, gconstpointer stop)
{
	g_assert_cmpint(rs_session_pause(f->session, NULL), ==, 0);
	g_assert_cmpint(rs_session_pause(f->session, NULL), ==, -EBUSY);
	if (stop)
		rs_session_stop(f->session, "enough");
	else
		rs_session_destroy(g_steal_pointer(&f->session));
	for (int i = 0; i < 2; i++) {
		g_assert_cmpint(f->sham[i]->pauses, ==, 1);
		g_assert_cmpint(f->sham[i]->resumes, ==, 1);
	}
	if (stop)
		g_assert_cmpint(rs_session_resume(f->session, NULL), ==, -ESHUTDOWN);
}

/* One that has ended, or was never started, is nobody's failure. */
static void test_without_one(struct fixture *f, gconstpointer data)
{
	const struct rs_target_end end = {.reason = RS_END_EXIT};
	struct rs_source_config config = {.kernel = "kern"};
	struct sham *idle = sham_new(1, RS_CHANNEL_MAILBOX);
	struct rs_source *idle_source;
	struct rs_source_stat stat;

	g_assert_cmpint(enable(f, "sched:*"), ==, 0);
	f->sham[1]->target.events.ended(f->sham[1]->target.events.data, &end);
	g_assert_cmpint(rs_session_add_source(f->session, &config, idle->region, &idle->target,
					      &idle_source, NULL),
			==, 0);
	/* Nobody looks at what they write. */
	sham_hello(idle, 0);
	rs_source_stat(idle_source, &stat);
	g_assert_cmpint(stat.state, ==, RS_SESSION_WAITING);
	sham_provider(f->sham[1], "sched", late);
	rs_source_stat(f->source[1], &stat);
	g_assert_cmpint(stat.state, ==, RS_SESSION_ENDED);
	g_assert_cmpuint(stat.events, ==, 2);
	g_assert_cmpint(rs_session_pause(f->session, NULL), ==, 0);
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_PAUSED);
	g_assert_cmpint(rs_session_resume(f->session, NULL), ==, 0);
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_RUNNING);
	g_assert_cmpint(rs_session_detach(f->session, NULL), ==, 0);
	g_assert_false(sham_patched(f->sham[0], FIRST));
	g_assert_cmpint(idle->pauses, ==, 0);
	rs_session_destroy(g_steal_pointer(&f->session));
	sham_free(idle);
}

static void test_read_only(struct fixture *f, gconstpointer data)
{
	f->sham[1]->read_only = true;
	g_assert_cmpint(enable(f, "switch"), ==, 0);
	check_failed(f, 1, "it is engraved");
	g_assert_true(is_on(f, 0, 0) && !is_on(f, 1, 0));
	g_assert_false(sham_patched(f->sham[1], FIRST));
}

/* Without text that can be put back events are off all the same. */
static void test_disable(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(enable(f, "sched:*"), ==, 0);
	check_whole(f, 4);
	f->sham[1]->unstoppable = true;
	g_assert_cmpint(disable(f, "sched:*"), ==, 0);
	g_assert_cmpuint(f->result.touched, ==, 4);
	g_assert_null(f->result.failed);
	check_problem(f, "kern.2: ", "events are off", "it runs away");
	g_assert_false(is_on(f, 0, 0) || is_on(f, 0, 1) || is_on(f, 1, 0) || is_on(f, 1, 1));
	g_assert_false(sham_patched(f->sham[0], FIRST));
	g_assert_true(sham_patched(f->sham[1], FIRST));
	check_late(f, false, false);
	f->sham[1]->unstoppable = false;
	g_assert_cmpint(disable(f, "sched:*"), ==, 0);
	check_whole(f, 5);
	g_assert_false(sham_patched(f->sham[1], FIRST));
}

static void test_filter(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(enable(f, "sched:switch"), ==, 0);
	g_assert_cmpint(filter(f, "sched:*", "a > 1"), ==, 0);
	check_failed(f, 2, "filter");
	g_assert_true(is_on(f, 0, 0) && is_filtered(f, 0, 0));
	g_assert_true(is_on(f, 1, 0) && !is_filtered(f, 1, 0));
	/* Neither does the guest that failed remember it. */
	g_assert_cmpint(enable(f, "kern.2/*"), ==, 0);
	check_whole(f, 2);
	g_assert_cmpint(enable(f, "sched:late"), ==, -ENOENT);
	g_assert_cmpint(filter(f, "kern.2/*", "a > 1"), ==, -ENOSPC);
	g_assert_cmpint(enable(f, "sched:*"), ==, 0);
	check_late(f, true, true);
	/* The rule holds for the guest without room too. So a late event stays off there. */
	g_string_truncate(f->said, 0);
	sham_provider(f->sham[1], "sched", late);
	rs_session_refresh(f->session);
	g_assert_false(is_on(f, 1, 2));
	g_assert_nonnull(strstr(f->said->str, "kern.2: what is wanted cannot be switched on"));
	g_assert_cmpint(f->failed, ==, 0);
}

static void test_filter_nowhere(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(enable(f, "sched:*"), ==, 0);
	g_assert_cmpint(filter(f, "kern.2/sched:*", "a > 1"), ==, -ENOSPC);
	check_whole(f, 0);
	sham_provider(f->sham[1], "sched", late);
	rs_session_refresh(f->session);
	g_assert_true(is_on(f, 1, 2));
	/* With the rule kept, there would be no room for the filter of this event. */
	g_assert_cmpstr(f->said->str, ==, "");
}

/* There is room for the filters of three events, and not of four: none gets one. */
static void test_filter_room(struct fixture *f, gconstpointer data)
{
	static const char *const more[] = {"late", "later", NULL};

	sham_provider(f->sham[0], "sched", more);
	rs_session_refresh(f->session);
	g_assert_cmpint(enable(f, "kern/*"), ==, 0);
	for (int round = 0; round < 3; round++) {
		g_assert_cmpint(filter(f, "kern/*", "a > 1"), ==, -ENOSPC);
		for (uint32_t i = 0; i < 4; i++)
			g_assert_true(is_on(f, 0, i) && !is_filtered(f, 0, i));
	}
	/* What was taken for the first three is free again. */
	g_assert_cmpint(filter(f, "kern/sched:wakeup", "a > 1"), ==, 0);
	g_assert_cmpint(filter(f, "kern/sched:late*", "a > 1"), ==, 0);
	for (uint32_t i = 0; i < 4; i++)
		g_assert_true(is_filtered(f, 0, i) == (i > 0));
	g_assert_cmpint(filter(f, "kern/sched:switch", "a > 1"), ==, -ENOSPC);
	for (uint32_t i = 0; i < 4; i++)
		g_assert_true(is_filtered(f, 0, i) == (i > 0));
}

/* An event that cannot be switched on keeps no filter in force either. */
static void test_filter_off(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(filter(f, "kern/*", "a > 1"), ==, 0);
	g_assert_false(is_filtered(f, 0, 0) || is_filtered(f, 0, 1));
	f->sham[0]->unstoppable = true;
	for (int round = 0; round < 3; round++) {
		g_assert_cmpint(enable(f, "kern/*"), ==, -EIO);
		for (uint32_t i = 0; i < 2; i++)
			g_assert_cmphex(sham_word(f->sham[0], FIRST + i), ==, 0);
	}
	f->sham[0]->unstoppable = false;
	g_assert_cmpint(enable(f, "kern/*"), ==, 0);
	for (uint32_t i = 0; i < 2; i++)
		g_assert_true(is_on(f, 0, i) && is_filtered(f, 0, i));
}

/* A filter is cleared everywhere, also where text of an event that is off is still patched. */
static void test_clear(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(enable(f, "sched:*"), ==, 0);
	g_assert_cmpint(filter(f, "kern/sched:*", "a > 1"), ==, 0);
	g_assert_true(is_filtered(f, 0, 0));
	f->sham[1]->unstoppable = true;
	g_assert_cmpint(disable(f, "kern.2/switch"), ==, 0);
	g_assert_true(sham_patched(f->sham[1], FIRST));
	g_assert_cmpint(filter(f, "sched:*", NULL), ==, 0);
	g_assert_cmpuint(f->result.touched, ==, 4);
	check_problem(f, "kern.2: ", "events are off", "it runs away");
	g_assert_true(is_on(f, 0, 0) && !is_filtered(f, 0, 0));
	check_late(f, true, false);
}

/* The guest ends while it is patched. */
static void test_ends(struct fixture *f, gconstpointer data)
{
	f->sham[1]->dying = true;
	g_assert_cmpint(enable(f, "sched:*"), ==, 0);
	check_failed(f, 2, "it has ended");
	g_assert_true(is_on(f, 0, 0));
	f->sham[0]->dying = true;
	g_assert_cmpint(disable(f, "sched:*"), ==, -ESHUTDOWN);
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_ENDED);
}

static void enable_for(struct fixture *f, const char *owner, const char *glob)
{
	rs_session_result_clear(&f->result);
	g_assert_cmpint(rs_session_enable(f->session, owner, glob, &f->result, &f->err), ==, 0);
}

/* Answers tell of the freeze, and that an owner keeps an event only if one does. */
static void test_frozen(struct fixture *f, gconstpointer data)
{
	struct rs_source_stat stat;

	g_assert_cmpint(enable(f, "sched:*"), ==, 0);
	g_assert_false(f->result.frozen);
	g_assert_cmpint(rs_session_set_frozen(f->session, true, NULL), ==, 0);
	g_assert_cmpint(enable(f, "sched:*"), ==, 0);
	g_assert_true(f->result.frozen);
	g_assert_cmpint(filter(f, "kern/sched:*", "a > 1"), ==, 0);
	g_assert_true(f->result.frozen);
	g_assert_cmpuint(f->result.touched, ==, 2);
	g_assert_cmpuint(f->result.kept, ==, 0);
	enable_for(f, "view", "kern/sched:switch");
	g_assert_cmpint(filter(f, "kern/sched:*", "a > 2"), ==, 0);
	g_assert_cmpuint(f->result.kept, ==, 1);
	g_assert_cmpstr(f->result.kept_for->pdata[0], ==, "view");
	g_assert_cmpuint(f->result.kept_for->len, ==, 1);
	g_assert_cmpint(disable(f, "kern/sched:*"), ==, 0);
	g_assert_cmpuint(f->result.kept, ==, 1);
	rs_session_stat(f->session, &stat);
	g_assert_true(stat.frozen && !stat.events_on);
	rs_source_stat(f->source[1], &stat);
	g_assert_true(stat.frozen);
	g_assert_cmpint(rs_session_set_frozen(f->session, false, NULL), ==, 0);
	g_assert_true(is_on(f, 0, 0) && !is_filtered(f, 0, 0) && !is_on(f, 0, 1));
	g_assert_cmpint(enable(f, "sched:*"), ==, 0);
	g_assert_false(f->result.frozen);
	rs_session_stat(f->session, &stat);
	g_assert_false(stat.frozen);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{"enable", test_enable},
		{"enable-nowhere", test_enable_nowhere},
		{"read-only", test_read_only},
		{"disable", test_disable},
		{"filter", test_filter},
		{"filter-nowhere", test_filter_nowhere},
		{"filter-room", test_filter_room},
		{"filter-off", test_filter_off},
		{"clear", test_clear},
		{"ends", test_ends},
		{"pause", test_pause},
		{"without-one", test_without_one},
		{"frozen", test_frozen},
		{"left-paused", test_left_paused},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/asks/%s", tests[i].name);

		g_test_add(path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	}
	g_test_add("/asks/stopped-paused", struct fixture, "stop", set_up, test_left_paused,
		   tear_down);
	return g_test_run();
}
