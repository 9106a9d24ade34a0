/* SPDX-License-Identifier: MIT */
#include "session/session.h"
#include "patch/patcher.h"
#include "region/publish.h"
#include "region/regions.h"
#include "session/owners.h"
#include "session/slots.h"

#include "sham.h"
#include <errno.h>
#include <ringside/atomic.h>
#include <ringside/filter.h>
#include <ringside/record.h>
#include <string.h>

#define FIRST RS_FIRST_EVENT_ID

static const char *const sched[] = {"switch", "wakeup", NULL};
static const char *const irq[] = {"entry", NULL};

struct heard {
	struct rs_session_listener listener;
	bool hello, ended, failed;
	int changes;
	GString *said;
	struct rs_error error;
	struct rs_target_end end;
};

static void on_changed(void *data, uint32_t generation)
{
	((struct heard *)data)->changes++;
}

static void on_hello(void *data, struct rs_source *source, const struct rs_guest_info *info)
{
	((struct heard *)data)->hello = true;
}

static void on_message(void *data, const char *text)
{
	g_string_append_printf(((struct heard *)data)->said, "%s\n", text);
}

static void on_failed(void *data, const struct rs_error *err)
{
	((struct heard *)data)->failed = true;
	((struct heard *)data)->error = *err;
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	((struct heard *)data)->ended = true;
	((struct heard *)data)->end = *end;
}

struct fixture {
	struct sham *sham;
	struct rs_session *session;
	struct heard heard;
};

static void set_up_with(struct fixture *f, uint32_t channel)
{
	struct rs_source_config config = {.kernel = "k"};
	struct rs_error err = {0};

	f->sham = sham_new(2, channel);
	g_assert_cmpint(rs_session_create("t", &f->session, &err), ==, 0);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, NULL, &err),
			==, 0);
	f->heard.listener = (struct rs_session_listener){.data = &f->heard,
							 .changed = on_changed,
							 .hello = on_hello,
							 .message = on_message,
							 .failed = on_failed,
							 .ended = on_ended};
	f->heard.said = g_string_new(NULL);
	rs_session_add_listener(f->session, &f->heard.listener);
}

static void set_up_unstarted(struct fixture *f, gconstpointer data)
{
	set_up_with(f, RS_CHANNEL_MAILBOX);
}

static void set_up(struct fixture *f, gconstpointer data)
{
	set_up_unstarted(f, data);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	sham_free(f->sham);
	g_string_free(f->heard.said, TRUE);
}

static void come_up(struct fixture *f, uint32_t flags)
{
	sham_hello(f->sham, flags);
	sham_provider(f->sham, "sched", sched);
	sham_provider(f->sham, "irq", irq);
	rs_session_refresh(f->session);
	g_assert_true(f->heard.hello);
}

static void test_enable(struct fixture *f, gconstpointer data)
{
	struct rs_session_result result = {0};
	struct rs_error err = {0};
	uint32_t before;

	come_up(f, RS_GUEST_SELF_PATCH);
	before = sham_generation(f->sham);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", &result, &err), ==,
			0);
	g_assert_cmpuint(result.touched, ==, 2);
	g_assert_false(result.pending);
	g_assert_cmphex(sham_word(f->sham, FIRST), ==, RS_EVENT_ENABLED);
	g_assert_cmphex(sham_word(f->sham, FIRST + 1), ==, RS_EVENT_ENABLED);
	g_assert_cmphex(sham_word(f->sham, FIRST + 2), ==, 0);
	/* A guest that patches itself looks at the generation; nobody pauses it. */
	g_assert_cmpuint(sham_generation(f->sham), >, before);
	g_assert_cmpint(f->sham->pauses, ==, 0);
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "switch", NULL, &err), ==, 0);
	g_assert_cmphex(sham_word(f->sham, FIRST), ==, 0);
	g_assert_cmphex(sham_word(f->sham, FIRST + 1), ==, RS_EVENT_ENABLED);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "nix:*", NULL, &err), ==,
			-ENOENT);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "", NULL, &err), ==, -EINVAL);
}

/* Requests before any event is known: the last rule that matches counts. */
static void test_pending(struct fixture *f, gconstpointer data)
{
	struct rs_session_result result = {0};

	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "*", &result, NULL), ==, 0);
	g_assert_true(result.pending);
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "sched:wakeup", NULL, NULL),
			==, 0);
	g_assert_cmpint(
		rs_session_set_filter(f->session, RS_OWNER_HOST, "sched:*", "a > 3", NULL, NULL),
		==, 0);
	come_up(f, RS_GUEST_SELF_PATCH);
	g_assert_true(sham_word(f->sham, FIRST) & RS_EVENT_ENABLED);
	g_assert_cmphex(sham_word(f->sham, FIRST) >> RS_EVENT_FILTER_SHIFT, !=, 0);
	g_assert_false(sham_word(f->sham, FIRST + 1) & RS_EVENT_ENABLED);
	g_assert_cmphex(sham_word(f->sham, FIRST + 2), ==, RS_EVENT_ENABLED);
	g_assert_false(f->heard.failed);
}

static void test_late_and_gone(struct fixture *f, gconstpointer data)
{
	static const char *const late[] = {"packet", NULL};
	g_autoptr(GArray) list = NULL;
	uint32_t id;

	come_up(f, RS_GUEST_SELF_PATCH);
	rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL);
	id = sham_provider(f->sham, "net", late);
	rs_session_refresh(f->session);
	g_assert_cmphex(sham_word(f->sham, FIRST + 3), ==, RS_EVENT_ENABLED);
	sham_provider_dies(f->sham, id);
	rs_session_refresh(f->session);
	g_assert_cmphex(sham_word(f->sham, FIRST + 3), ==, 0);
	list = rs_session_list(f->session, "net:*");
	g_assert_cmpuint(list->len, ==, 1);
	g_assert_false(g_array_index(list, struct rs_session_event, 0).live);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "net:*", NULL, NULL), ==,
			-ENOENT);
}

/* A module that is loaded again has the same ids, and the requests apply again. */
static void test_returns(struct fixture *f, gconstpointer data)
{
	static const char *const late[] = {"packet", NULL};
	g_autoptr(GArray) list = NULL;
	uint32_t slot;

	come_up(f, RS_GUEST_SELF_PATCH);
	slot = sham_provider(f->sham, "net", late);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "net:*", NULL, NULL), ==, 0);
	g_assert_cmpint(
		rs_session_set_filter(f->session, RS_OWNER_HOST, "net:*", "a == 1", NULL, NULL), ==,
		0);
	for (int round = 0; round < 100; round++) {
		rs_session_refresh(f->session);
		g_assert_true(sham_word(f->sham, FIRST + 3) & RS_EVENT_ENABLED);
		g_assert_cmpuint(sham_word(f->sham, FIRST + 3) >> RS_EVENT_FILTER_SHIFT, !=, 0);
		sham_provider_dies(f->sham, slot);
		/* Every other time nobody looks in between. */
		if (round % 2) {
			rs_session_refresh(f->session);
			g_assert_cmphex(sham_word(f->sham, FIRST + 3), ==, 0);
		}
		sham_provider_returns(f->sham, slot);
	}
	rs_session_refresh(f->session);
	list = rs_session_list(f->session, "net:*");
	g_assert_cmpuint(list->len, ==, 1);
	g_assert_true(g_array_index(list, struct rs_session_event, 0).live);
	g_assert_false(f->heard.failed);
}

/* An unknown state is not a change, however often the session looks. */
static void test_odd_state(struct fixture *f, gconstpointer data)
{
	struct rs_provider *p = rs_trace_region_section(f->sham->region, RS_SEC_PROVIDERS, NULL);
	int changes;

	come_up(f, RS_GUEST_SELF_PATCH);
	rs_store_release(&p->state, 7);
	rs_session_refresh(f->session);
	changes = f->heard.changes;
	rs_session_refresh(f->session);
	g_assert_cmpint(f->heard.changes, ==, changes);
}

static void test_reboot(struct fixture *f, gconstpointer data)
{
	static const char *const other[] = {"tick", "switch", NULL};

	come_up(f, RS_GUEST_SELF_PATCH);
	rs_session_enable(f->session, RS_OWNER_HOST, "sched:switch", NULL, NULL);
	g_assert_cmphex(sham_word(f->sham, FIRST), ==, RS_EVENT_ENABLED);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	sham_provider(f->sham, "sched", other);
	rs_session_refresh(f->session);
	/* The id means another event now. */
	g_assert_cmphex(sham_word(f->sham, FIRST), ==, 0);
	g_assert_cmphex(sham_word(f->sham, FIRST + 1), ==, RS_EVENT_ENABLED);
	g_assert_nonnull(strstr(f->heard.said->str, "started anew"));
}

static void test_filter(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};
	uint32_t word;

	come_up(f, RS_GUEST_SELF_PATCH);
	rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL);
	g_assert_cmpint(rs_session_set_filter(f->session, RS_OWNER_HOST, "sched:switch",
					      "a == 1 && c ~ \"w*\"", NULL, &err),
			==, 0);
	word = sham_word(f->sham, FIRST);
	g_assert_cmphex(word >> RS_EVENT_FILTER_SHIFT, !=, 0);
	g_assert_true(word & RS_EVENT_ENABLED);
	/* A bad one changes nothing, and shows where. */
	g_assert_cmpint(rs_session_set_filter(f->session, RS_OWNER_HOST, "sched:*",
					      "a == 1 && nix > 2", NULL, &err),
			==, -EBADMSG);
	g_assert_nonnull(strstr(err.message, "^"));
	g_assert_cmphex(sham_word(f->sham, FIRST), ==, word);
	g_assert_cmphex(sham_word(f->sham, FIRST + 1), ==, RS_EVENT_ENABLED);
	g_assert_cmpint(
		rs_session_set_filter(f->session, RS_OWNER_HOST, "sched:*", " ", NULL, &err), ==,
		0);
	g_assert_cmphex(sham_word(f->sham, FIRST), ==, RS_EVENT_ENABLED);
}

/* A typing mistake in a request before the start. */
/* The linker puts this before GLib's. A test that stops the time sets it on. */
static gint64 stopped_at;

gint64 __real_g_get_monotonic_time(void);
gint64 __wrap_g_get_monotonic_time(void);

gint64 __wrap_g_get_monotonic_time(void)
{
	return stopped_at ? stopped_at : __real_g_get_monotonic_time();
}

static void test_bad_rule(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};
	int ret;

	stopped_at = __real_g_get_monotonic_time();

	/* A mistake that does not depend on events is an error at once … */
	ret = rs_session_set_filter(f->session, RS_OWNER_HOST, "sched:*", "a ==", NULL, &err);
	g_assert_cmpint(ret, ==, -EBADMSG);
	/* … others are errors when the events are known. */
	ret = rs_session_set_filter(f->session, RS_OWNER_HOST, "sched:*", "nix == 1", NULL, &err);
	g_assert_cmpint(ret, ==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	come_up(f, RS_GUEST_SELF_PATCH);
	g_assert_true(f->heard.failed);
	g_assert_cmpint(f->heard.error.code, ==, EBADMSG);
	g_assert_nonnull(strstr(f->heard.error.message, "^"));
	/* Once is enough. */
	f->heard.failed = false;
	come_up(f, RS_GUEST_SELF_PATCH);
	g_assert_false(f->heard.failed);
	stopped_at = 0;
}

/* A later event that the filter does not fit only causes a message. */
static void test_late_rule(struct fixture *f, gconstpointer data)
{
	static const char *const net[] = {"packet", NULL};
	int ret;

	stopped_at = __real_g_get_monotonic_time();
	ret = rs_session_set_filter(f->session, RS_OWNER_HOST, "net:*", "a > 3", NULL, NULL);
	g_assert_cmpint(ret, ==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	come_up(f, RS_GUEST_SELF_PATCH);
	stopped_at += RS_SESSION_START_MS * 1000;
	f->sham->odd = true;
	sham_provider(f->sham, "net", net);
	rs_session_refresh(f->session);
	g_assert_false(f->heard.failed);
	g_assert_nonnull(strstr(f->heard.said->str, "does not fit"));
	stopped_at = 0;
}

static void test_split(void)
{
	static const struct {
		const char *text, *glob, *expression;
	} cases[] = {
		{"sched:switch: prev != 0", "sched:switch", "prev != 0"},
		{"sched:switch:prev != 0", "sched:switch", "prev != 0"},
		{"*: COMM == \"a: b\"", "*", "COMM == \"a: b\""},
		{"switch: a", "switch", "a"},
		{"sched:*:", "sched:*", ""},
		{"sched::", "sched:", ""},
		{"s::", "s:", ""},
		{"switch:", "switch", ""},
		{"a:b:", "a:b", ""},
		{"a:b:c:d", "a:b", "c:d"},
		{"  a  :  b  ", "a", "b"},
	};
	struct rs_error err = {0};
	char *glob, *expression;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_assert_cmpint(rs_session_split_filter(cases[i].text, &glob, &expression, &err),
				==, 0);
		g_assert_cmpstr(glob, ==, cases[i].glob);
		g_assert_cmpstr(expression, ==, cases[i].expression);
		g_free(glob);
		g_free(expression);
	}
	g_assert_cmpint(rs_session_split_filter("sched:switch", &glob, &expression, &err), ==,
			-EINVAL);
	g_assert_cmpint(rs_session_split_filter("x", &glob, &expression, &err), ==, -EINVAL);
	g_assert_cmpint(rs_session_split_filter("", &glob, &expression, &err), ==, -EINVAL);
	g_assert_cmpint(rs_session_split_filter(": a", &glob, &expression, &err), ==, -EINVAL);
	g_assert_cmpint(rs_session_split_filter(":a", &glob, &expression, &err), ==, -EINVAL);
	g_assert_cmpint(rs_session_split_filter(":", &glob, &expression, &err), ==, -EINVAL);
	g_assert_cmpint(rs_session_split_filter("a:b", &glob, &expression, &err), ==, -EINVAL);
}

static int32_t ask(struct fixture *f, uint32_t number, uint64_t arg, const char *text)
{
	sham_request(f->sham, 1, number, arg, text);
	sham_wait_answer(f->sham, 1);
	return sham_response(f->sham, 1)->result;
}

static void test_mailbox(struct fixture *f, gconstpointer data)
{
	struct rs_source_stat stat;

	come_up(f, RS_GUEST_SELF_PATCH);
	g_assert_cmpint(ask(f, RS_HCALL_ENABLE, 0, "sched:*"), ==, 0);
	g_assert_cmpuint(sham_response(f->sham, 1)->values[0], ==, 2);
	g_assert_cmpint(ask(f, RS_HCALL_QUERY, FIRST, NULL), ==, 0);
	g_assert_cmpuint(sham_response(f->sham, 1)->values[0], ==, 1);
	g_assert_cmpint(ask(f, RS_HCALL_SET_FILTER, 0, "sched:switch: a == 1"), ==, 0);
	g_assert_cmpint(ask(f, RS_HCALL_SET_FILTER, 0, "sched:switch: a =="), ==, -RS_EINVAL);
	g_assert_cmpint(ask(f, RS_HCALL_ENABLE, 0, "nix"), ==, -RS_ENOENT);
	g_assert_cmpint(ask(f, RS_HCALL_ENABLE, 0, "\xff\xfe"), ==, -RS_EINVAL);
	g_assert_cmpint(ask(f, RS_HCALL_QUERY, UINT64_MAX, NULL), ==, -RS_ENOENT);
	g_assert_cmpint(ask(f, RS_HCALL_REGISTER, UINT64_MAX, NULL), ==, -RS_EINVAL);
	g_assert_cmpint(ask(f, 12345, 0, NULL), ==, -RS_ENOSYS);
	g_assert_cmpint(ask(f, RS_HCALL_LOG, 0, "hi \033[31m"), ==, 0);
	g_assert_nonnull(strstr(f->heard.said->str, "guest: hi \\x1b[31m"));
	rs_source_stat(rs_session_source(f->session, 0), &stat);
	g_assert_cmpuint(stat.hypercalls, ==, 10);
	g_assert_cmpuint(stat.bad_hypercalls, ==, 4);
	/* The guest's reason stays, whatever the target says afterwards. */
	sham_request(f->sham, 0, RS_HCALL_EXIT, 7, NULL);
	sham_wait(&f->heard.ended);
	g_assert_cmpint(f->heard.end.reason, ==, RS_END_EXIT);
	g_assert_cmpint(f->heard.end.code, ==, 7);
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_ENDED);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==,
			-ESHUTDOWN);
}

/* A guest that writes anything anywhere into its part. */
static void test_scribble(struct fixture *f, gconstpointer data)
{
	const struct rs_region_header *h = &f->sham->region->header;
	uint8_t *from = f->sham->region->map + h->guest_offset;
	size_t size = h->section[RS_SEC_RINGS].offset - h->guest_offset;
	struct rs_source_stat stat;

	come_up(f, RS_GUEST_SELF_PATCH);
	rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL);
	for (int round = 0; round < 200; round++) {
		GRand *rand = g_rand_new_with_seed((guint32)round);
		struct rs_guest_info *info = (void *)from;

		for (int i = 0; i < 2000; i++)
			from[(size_t)g_rand_int(rand) % size] = (uint8_t)g_rand_int(rand);
		/* In some rounds the magic is right, so that the session reads on. */
		if (round % 2) {
			info->magic = RS_GUEST_MAGIC;
			info->abi_major = RS_ABI_MAJOR;
			info->session_id = h->session_id;
		}
		rs_session_refresh(f->session);
		rs_source_stat(rs_session_source(f->session, 0), &stat);
		g_array_unref(rs_session_list(f->session, NULL));
		rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL);
		g_rand_free(rand);
	}
}

static void test_pause(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};

	come_up(f, 0);
	g_assert_cmpint(rs_session_resume(f->session, &err), ==, -EBUSY);
	g_assert_cmpint(rs_session_pause(f->session, &err), ==, 0);
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_PAUSED);
	g_assert_cmpint(rs_session_pause(f->session, &err), ==, -EBUSY);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, &err), ==, 0);
	/* Patching has not resumed it. */
	g_assert_cmpint(f->sham->pauses, ==, 1);
	g_assert_cmpint(f->sham->resumes, ==, 0);
	g_assert_cmpint(rs_session_resume(f->session, &err), ==, 0);
	g_assert_cmpint(f->sham->resumes, ==, 1);
}

static void test_names(void)
{
	struct rs_error err = {0};
	g_autofree char *big = g_strnfill(RS_SESSION_NAME_MAX + 1, 'a');

	g_assert_cmpint(rs_session_check_name("demo-1.b_C", &err), ==, 0);
	g_assert_cmpint(rs_session_check_name("", &err), ==, -EINVAL);
	g_assert_cmpint(rs_session_check_name("../x", &err), ==, -EINVAL);
	g_assert_cmpint(rs_session_check_name("a/b", &err), ==, -EINVAL);
	g_assert_cmpint(rs_session_check_name("-x", &err), ==, -EINVAL);
	g_assert_cmpint(rs_session_check_name("a b", &err), ==, -EINVAL);
	g_assert_cmpint(rs_session_check_name(big, &err), ==, -EINVAL);
}

/* Whoever could not make one need not ask before freeing it. */
static void test_nothing_to_free(void)
{
	rs_owner_free(NULL);
	rs_owners_free(NULL);
	rs_patcher_destroy(NULL);
	rs_publisher_destroy(NULL);
	rs_regions_free(NULL);
	rs_session_destroy(NULL);
	rs_slots_destroy(NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{"enable", test_enable}, {"pending", test_pending}, {"late", test_late_and_gone},
		{"reboot", test_reboot}, {"returns", test_returns}, {"odd-state", test_odd_state},
		{"filter", test_filter}, {"mailbox", test_mailbox}, {"scribble", test_scribble},
		{"pause", test_pause},
	};

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/session/names", test_names);
	g_test_add_func("/session/split", test_split);
	g_test_add_func("/session/nothing-to-free", test_nothing_to_free);
	g_test_add("/session/bad-rule", struct fixture, NULL, set_up_unstarted, test_bad_rule,
		   tear_down);
	g_test_add("/session/late-rule", struct fixture, NULL, set_up_unstarted, test_late_rule,
		   tear_down);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/session/%s", tests[i].name);

		g_test_add(path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	}
	return g_test_run();
}
