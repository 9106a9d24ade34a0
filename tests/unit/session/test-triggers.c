/* SPDX-License-Identifier: MIT */
/* Triggers: what they wish, how often they fire, and what they do. The time is this test's. */
#include "session/triggers.h"

#include "sham.h"
#include <errno.h>
#include <string.h>

#define MS G_GINT64_CONSTANT(1000)

static gint64 now;

gint64 __wrap_g_get_monotonic_time(void);

gint64 __wrap_g_get_monotonic_time(void)
{
	return now;
}

struct fixture {
	struct rs_session *session;
	struct rs_source *source;
	struct sham *sham;
	struct rs_session_listener listener;
	struct rs_trigger_watcher watcher;
	GString *said, *done; /* messages; what the watcher was asked for, in order */
	int refuse;           /* what the watcher answers; 0: it does it */
	uint64_t hits;
	struct rs_session_result result; /* of the last that was added */
};

static void on_message(void *data, const char *text)
{
	g_string_append_printf(((struct fixture *)data)->said, "%s\n", text);
}

static int watch(void *data, uint32_t number, const char *glob, const char *expression, bool shows,
		 struct rs_error *err)
{
	struct fixture *f = data;

	g_string_append_printf(f->done, "+%u%s;", number, shows ? " shows" : "");
	return f->refuse ? rs_error_set(err, -f->refuse, "refused") : 0;
}

static void unwatch(void *data, uint32_t number)
{
	g_string_append_printf(((struct fixture *)data)->done, "-%u;", number);
}

static uint64_t hits(void *data, uint32_t number)
{
	return ((struct fixture *)data)->hits;
}

static uint64_t lost(void *data)
{
	return 42;
}

static guint events_on(const struct fixture *f)
{
	struct rs_source_stat stat;

	rs_source_stat(f->source, &stat);
	return (guint)stat.events_on;
}

static int snapshot(void *data, uint32_t number, const char *path, struct rs_error *err)
{
	struct fixture *f = data;

	g_string_append_printf(f->done, "snapshot %s", path);
	if (rs_session_state(f->session) != RS_SESSION_ENDED)
		g_string_append_printf(f->done, " with %u on", events_on(f));
	g_string_append_c(f->done, ';');
	return f->refuse ? rs_error_set(err, -f->refuse, "refused") : 0;
}

static void set_up(struct fixture *f, gconstpointer data)
{
	static const char *const sched[] = {"switch", "wakeup", NULL};
	const struct rs_source_config config = {.kernel = "kern"};

	now = G_GINT64_CONSTANT(3600) * 1000000;
	f->said = g_string_new(NULL);
	f->done = g_string_new(NULL);
	f->listener = (struct rs_session_listener){.data = f, .message = on_message};
	f->watcher = (struct rs_trigger_watcher){.data = f,
						 .watch = watch,
						 .unwatch = unwatch,
						 .hits = hits,
						 .lost = lost,
						 .snapshot = snapshot};
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	rs_session_add_listener(f->session, &f->listener);
	f->sham = sham_new_with_text(1, RS_CHANNEL_MAILBOX, 4096);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, &f->source, NULL),
			==, 0);
	rs_session_set_trigger_watcher(f->session, &f->watcher);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham, RS_GUEST_STACKS);
	sham_provider(f->sham, "sched", sched);
	rs_session_refresh(f->session);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_result_clear(&f->result);
	rs_session_destroy(f->session);
	sham_free(f->sham);
	g_string_free(f->said, TRUE);
	g_string_free(f->done, TRUE);
}

static int add(struct fixture *f, const char *line, uint32_t *number, struct rs_error *err)
{
	struct rs_trigger_text *text = NULL;
	int ret;

	g_assert_cmpint(rs_trigger_text_parse(line, &text, NULL), ==, 0);
	rs_session_result_clear(&f->result);
	ret = rs_session_add_trigger(f->session, text, false, number, &f->result, err);
	if (ret)
		rs_trigger_text_free(text);
	return ret;
}

static uint32_t must_add(struct fixture *f, const char *line)
{
	struct rs_error err = {0};
	uint32_t number = 0;

	if (add(f, line, &number, &err))
		g_error("%s: %s", line, err.message);
	return number;
}

static uint32_t hit(struct fixture *f, uint32_t number)
{
	const struct rs_trigger_hit seen = {
		.source = 1, .event = "sched:switch", .text = "a line\n => of a stack"};

	return rs_session_trigger_hit(f->session, number, &seen);
}

static struct rs_session_event event_of(struct fixture *f, const char *name)
{
	g_autoptr(GArray) list = rs_session_list(f->session, name);

	g_assert_cmpuint(list->len, ==, 1);
	return g_array_index(list, struct rs_session_event, 0);
}

static struct rs_trigger_info info_of(struct fixture *f, guint i)
{
	g_autoptr(GArray) list = rs_session_list_triggers(f->session);

	g_assert_cmpuint(i, <, list->len);
	return g_array_index(list, struct rs_trigger_info, i);
}

static guint count(struct fixture *f)
{
	g_autoptr(GArray) list = rs_session_list_triggers(f->session);

	return list->len;
}

/* The event is on while the trigger looks, filtered, for an owner of its own. */
static void test_wishes(struct fixture *f, gconstpointer data)
{
	uint32_t number = must_add(f, "pause; stack=5 @ sched:switch: a > 2");
	struct rs_session_event event = event_of(f, "sched:switch");

	g_assert_cmpstr(f->done->str, ==, "+1 shows;");
	g_assert_true(event.enabled);
	g_assert_cmpstr(event.filter, ==, "a > 2");
	g_assert_cmpuint(event.stack, ==, 5);
	g_assert_cmpstr(event.wishes->owner->name, ==, "trigger.1");
	g_assert_false(event_of(f, "sched:wakeup").enabled);
	g_assert_cmpint(rs_session_remove_trigger(f->session, number, NULL), ==, 0);
	g_assert_cmpstr(f->done->str, ==, "+1 shows;-1;");
	g_assert_false(event_of(f, "sched:switch").enabled);
	g_assert_null(event_of(f, "sched:switch").wishes);
	g_assert_cmpint(rs_session_remove_trigger(f->session, number, NULL), ==, -ENOENT);
	g_assert_cmpuint(hit(f, number), >, 0);
	g_assert_cmpint(f->sham->pauses, ==, f->sham->resumes);
}

/* It fires `count` times, and not more often than it may. */
static void test_count(struct fixture *f, gconstpointer data)
{
	uint32_t number = must_add(f, "stack; count=2 @ sched:switch");

	g_assert_cmpuint(hit(f, number), ==, RS_TRIGGER_GAP_MS);
	g_assert_cmpuint(info_of(f, 0).fired, ==, 1);
	now += (RS_TRIGGER_GAP_MS - 1) * MS;
	g_assert_cmpuint(hit(f, number), <=, 2);
	g_assert_cmpuint(info_of(f, 0).fired, ==, 1);
	g_assert_false(info_of(f, 0).spent);
	now += 1 * MS;
	f->hits = 77;
	hit(f, number);
	g_assert_cmpuint(info_of(f, 0).fired, ==, 2);
	g_assert_true(info_of(f, 0).spent);
	g_assert_cmpuint(info_of(f, 0).hits, ==, 77);
	g_assert_false(event_of(f, "sched:switch").enabled);
	g_assert_cmpstr(f->done->str, ==, "+1 shows;-1;");
	now += 1000 * MS;
	hit(f, number);
	g_assert_cmpuint(info_of(f, 0).fired, ==, 2);
	g_assert_nonnull(strstr(f->said->str, "trigger 1: sched:switch, "));
	g_assert_nonnull(strstr(f->said->str, "a line\n => of a stack\n"));
	/* It can be removed still. */
	g_assert_cmpint(rs_session_remove_trigger(f->session, number, NULL), ==, 0);
	g_assert_cmpuint(rs_session_triggers_lost(f->session), ==, 42);
}

static void test_actions(struct fixture *f, gconstpointer data)
{
	uint32_t number = must_add(f, "enable=sched:w*; snapshot=/s; pause; disable=sched:wakeup @ "
				      "sched:switch");

	hit(f, number);
	/* In their order. */
	g_assert_cmpstr(f->done->str, ==, "+1;snapshot /s with 2 on;");
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_PAUSED);
	g_assert_false(event_of(f, "sched:wakeup").enabled);
	/* That it is paused already is no problem. */
	now += 1000 * MS;
	f->refuse = -EBUSY;
	hit(f, number);
	g_assert_cmpstr(info_of(f, 0).problem, ==, "refused");
	g_assert_cmpint(rs_session_resume(f->session, NULL), ==, 0);
}

static void expect_word(struct fixture *f, bool on)
{
	const uint32_t id = event_of(f, "sched:switch").event->id;

	g_assert_cmpint((sham_word(f->sham, id) & RS_EVENT_ENABLED) != 0, ==, on);
	g_assert_cmpint(sham_patched(f->sham, id), ==, on);
}

/* Nothing is recorded, what is asked for is kept, and comes into force. */
static void test_freeze(struct fixture *f, gconstpointer data)
{
	uint32_t number = must_add(f, "freeze @ sched:switch: a > 2");
	uint32_t more;

	g_assert_cmpint(rs_session_enable(f->session, "host", "sched:wakeup", NULL, NULL), ==, 0);
	expect_word(f, true);
	hit(f, number);
	g_assert_true(rs_session_is_frozen(f->session));
	expect_word(f, false);
	g_assert_false(event_of(f, "sched:wakeup").enabled);
	g_assert_nonnull(event_of(f, "sched:wakeup").note);
	/* Also of what comes, and of who asks. */
	g_assert_cmpint(rs_session_enable(f->session, "view", "sched:*", NULL, NULL), ==, 0);
	more = sham_provider(f->sham, "late", (const char *const[]){"one", NULL});
	g_assert_cmpint(rs_session_enable(f->session, "view", "late:*", NULL, NULL), ==, 0);
	g_assert_cmpuint(more, >, 0);
	g_assert_false(event_of(f, "late:one").enabled);
	expect_word(f, false);
	g_assert_cmpint(rs_session_set_frozen(f->session, false, NULL), ==, 0);
	expect_word(f, true);
	g_assert_true(event_of(f, "late:one").enabled);
	g_assert_true(event_of(f, "sched:wakeup").enabled);
	/* "view" wants all of it, and then the trigger's filter is in force again. */
	rs_session_forget_owner(f->session, "view");
	g_assert_cmpstr(event_of(f, "sched:switch").filter, ==, "a > 2");
	g_assert_cmpuint(sham_word(f->sham, event_of(f, "sched:switch").event->id) &
				 ~(uint32_t)RS_EVENT_ENABLED,
			 !=, 0);
	g_assert_cmpint(rs_session_set_frozen(f->session, true, NULL), ==, 0);
	g_assert_cmpint(rs_session_set_frozen(f->session, true, NULL), ==, 0);
	g_assert_cmpint(rs_session_set_frozen(f->session, false, NULL), ==, 0);
	g_assert_cmpuint(sham_word(f->sham, event_of(f, "sched:switch").event->id) &
				 ~(uint32_t)RS_EVENT_ENABLED,
			 !=, 0);
}

static void refuse(struct fixture *f, const char *line, int code, const char *message)
{
	struct rs_error err = {0};
	uint32_t number = 0;
	int ret = add(f, line, &number, &err);

	if (ret != -code || !strstr(err.message, message))
		g_error("%s: %d %s", line, ret, err.message);
	g_assert_cmpuint(number, ==, 0);
	g_assert_cmpuint(count(f), ==, 0);
	g_assert_null(event_of(f, "sched:switch").wishes);
}

static void test_refused(struct fixture *f, gconstpointer data)
{
	const struct rs_target_end end = {.reason = RS_END_EXIT};

	refuse(f, "pause @ sched:swich", ENOENT, "did you mean 'sched:switch'");
	refuse(f, "pause @ sched:switch: nix > 2", EBADMSG, "nix");
	refuse(f, "enable=sched:nix @ sched:switch", ENOENT, "sched:nix");
	refuse(f, "disable=nix @ sched:switch", ENOENT, "nix");
	f->refuse = -EINVAL;
	refuse(f, "pause @ sched:switch", EINVAL, "refused");
	f->refuse = 0;
	rs_session_set_trigger_watcher(f->session, NULL);
	refuse(f, "pause @ sched:switch", ENOTSUP, "nobody");
	rs_session_set_trigger_watcher(f->session, &f->watcher);
	/* What was refused has not been left to the watcher. */
	g_assert_cmpstr(f->done->str, ==, "+1;-1;+1;-1;+1;");
	f->sham->target.events.ended(f->sham->target.events.data, &end);
	g_assert_cmpint(rs_session_set_frozen(f->session, true, NULL), ==, -ESHUTDOWN);
	g_assert_false(rs_session_is_frozen(f->session));
}

/* Those that are spent make room, and no others. */
static void test_room(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};
	uint32_t number = 0;

	for (guint i = 0; i < RS_TRIGGERS_MAX; i++)
		must_add(f, "stack; count=1 @ sched:switch");
	g_assert_cmpint(add(f, "pause @ sched:switch", &number, &err), ==, -ENOSPC);
	hit(f, 3);
	g_assert_cmpuint(must_add(f, "pause @ sched:switch"), ==, RS_TRIGGERS_MAX + 1);
	g_assert_cmpuint(count(f), ==, RS_TRIGGERS_MAX);
	g_assert_cmpuint(info_of(f, 2).number, ==, 4);
}

/* The guest has gone: what the rings hold is still wanted, and nothing else can be done. */
static void test_end(struct fixture *f, gconstpointer data)
{
	const struct rs_target_end end = {.reason = RS_END_EXIT};
	uint32_t number = must_add(f, "pause; freeze; enable=sched:*; snapshot=/s @ sched:switch");

	f->sham->target.events.ended(f->sham->target.events.data, &end);
	hit(f, number);
	g_assert_cmpstr(f->done->str, ==, "+1;snapshot /s;");
	g_assert_null(info_of(f, 0).problem);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{"wishes", test_wishes}, {"count", test_count},     {"actions", test_actions},
		{"freeze", test_freeze}, {"refused", test_refused}, {"room", test_room},
		{"end", test_end},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/triggers/%s", tests[i].name);

		g_test_add(path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	}
	return g_test_run();
}
