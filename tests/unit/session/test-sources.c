/* SPDX-License-Identifier: MIT */
/*
 * A session of two guests. Each has its own ids, its own region and its own end. A request goes to
 * both.
 */
#include "session/session.h"

#include "sham.h"
#include <errno.h>
#include <ringside/filter.h>
#include <ringside/record.h>
#include <string.h>

#define FIRST RS_FIRST_EVENT_ID

static const char *const sched[] = {"switch", "wakeup", NULL};
static const char *const irq[] = {"entry", NULL};

struct fixture {
	struct rs_session *session;
	struct rs_session_listener listener;
	struct sham *sham[2];
	struct rs_source *source[2];
	int hellos[2], ends[2];
	GString *said;
};

static int index_of(const struct fixture *f, const struct rs_source *source)
{
	g_assert_true(source == f->source[0] || source == f->source[1]);
	return source == f->source[1];
}

static void on_hello(void *data, struct rs_source *source, const struct rs_guest_info *info)
{
	struct fixture *f = data;

	f->hellos[index_of(f, source)]++;
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	struct fixture *f = data;

	f->ends[index_of(f, source)]++;
}

static void on_message(void *data, const char *text)
{
	struct fixture *f = data;

	g_string_append_printf(f->said, "%s\n", text);
}

static void add(struct fixture *f, int i, const char *kernel)
{
	struct rs_source_config config = {.kernel = kernel};
	struct rs_error err = {0};

	f->sham[i] = sham_new(1, RS_CHANNEL_MAILBOX);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham[i]->region,
					      &f->sham[i]->target, &f->source[i], &err),
			==, 0);
}

static void set_up(struct fixture *f, gconstpointer data)
{
	f->said = g_string_new(NULL);
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->listener = (struct rs_session_listener){
		.data = f, .hello = on_hello, .message = on_message, .ended = on_ended};
	rs_session_add_listener(f->session, &f->listener);
	add(f, 0, "/boot/kern.elf");
	add(f, 1, "./kern");
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	for (int i = 0; i < 2; i++)
		sham_free(f->sham[i]);
	g_string_free(f->said, TRUE);
}

/* The same ids mean different events in each guest. */
static void come_up(struct fixture *f)
{
	sham_hello(f->sham[0], RS_GUEST_SELF_PATCH);
	sham_provider(f->sham[0], "sched", sched);
	sham_hello(f->sham[1], RS_GUEST_SELF_PATCH);
	sham_provider(f->sham[1], "irq", irq);
	sham_provider(f->sham[1], "sched", sched);
	rs_session_refresh(f->session);
}

static bool is_on(struct fixture *f, int i, uint32_t id)
{
	return sham_word(f->sham[i], FIRST + id) & RS_EVENT_ENABLED;
}

static bool is_filtered(struct fixture *f, int i, uint32_t id)
{
	return sham_word(f->sham[i], FIRST + id) >> RS_EVENT_FILTER_SHIFT;
}

static void test_names(struct fixture *f, gconstpointer data)
{
	struct rs_source_config config = {.name = "kern"};
	struct sham *third = sham_new(1, RS_CHANNEL_MAILBOX);
	struct rs_error err = {0};

	g_assert_cmpstr(rs_source_name(f->source[0]), ==, "kern");
	g_assert_cmpstr(rs_source_name(f->source[1]), ==, "kern.2");
	g_assert_cmpint(rs_session_add_source(f->session, &config, third->region, &third->target,
					      NULL, &err),
			==, -EEXIST);
	config.name = "a/b";
	g_assert_cmpint(rs_session_add_source(f->session, &config, third->region, &third->target,
					      NULL, &err),
			==, -EINVAL);
	g_assert_cmpuint(rs_session_n_sources(f->session), ==, 2);
	/* Neither region nor target was taken over. */
	g_assert_false(third->destroyed);
	rs_trace_region_free(third->region);
	g_free(third);
}

static void test_enable(struct fixture *f, gconstpointer data)
{
	struct rs_session_result result = {0};
	struct rs_error err = {0};

	come_up(f);
	g_assert_cmpint(f->hellos[0], ==, 1);
	g_assert_cmpint(f->hellos[1], ==, 1);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "sched:switch", &result, &err),
			==, 0);
	g_assert_cmpuint(result.touched, ==, 2);
	g_assert_true(is_on(f, 0, 0) && is_on(f, 1, 1));
	g_assert_false(is_on(f, 0, 1) || is_on(f, 1, 0) || is_on(f, 1, 2));
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "kern.2/*", &result, &err), ==,
			0);
	g_assert_cmpuint(result.touched, ==, 3);
	g_assert_false(is_on(f, 0, 1));
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "k*n/sched:*", &result, &err),
			==, 0);
	g_assert_cmpuint(result.touched, ==, 2);
	g_assert_true(is_on(f, 1, 1) && !is_on(f, 0, 0));
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "kern/irq:*", NULL, &err), ==,
			-ENOENT);
}

static void test_list(struct fixture *f, gconstpointer data)
{
	g_autoptr(GArray) list = NULL;
	const struct rs_session_event *e;

	come_up(f);
	list = rs_session_list(f->session, "switch");
	g_assert_cmpuint(list->len, ==, 2);
	e = &g_array_index(list, struct rs_session_event, 0);
	g_assert_true(e[0].source == f->source[0] && e[1].source == f->source[1]);
	g_assert_cmpuint(e[0].event->id, ==, FIRST);
	g_assert_cmpuint(e[1].event->id, ==, FIRST + 1);
}

/* Rules are applied to each source when its agent reports. */
static void test_pending(struct fixture *f, gconstpointer data)
{
	struct rs_session_result result = {0};
	struct rs_error err = {0};

	sham_hello(f->sham[0], RS_GUEST_SELF_PATCH);
	sham_provider(f->sham[0], "sched", sched);
	rs_session_refresh(f->session);
	/* The other guest may still register such an event. */
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "irq:*", &result, &err), ==,
			0);
	g_assert_true(result.pending);
	g_assert_cmpint(
		rs_session_enable(f->session, RS_OWNER_HOST, "kern.2/switch", &result, &err), ==,
		0);
	come_up(f);
	g_assert_true(is_on(f, 1, 0) && is_on(f, 1, 1));
	g_assert_false(is_on(f, 0, 0) || is_on(f, 1, 2));
}

/* One expression for events of all sources. If it does not fit, no event is changed. */
static void test_filter(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};

	come_up(f);
	rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL);
	g_assert_cmpint(rs_session_set_filter(f->session, RS_OWNER_HOST, "sched:switch", "a > 1",
					      NULL, &err),
			==, 0);
	g_assert_true(is_filtered(f, 0, 0) && is_filtered(f, 1, 1));
	g_assert_cmpint(rs_session_set_filter(f->session, RS_OWNER_HOST, "kern/*", "", NULL, &err),
			==, 0);
	g_assert_true(!is_filtered(f, 0, 0) && is_filtered(f, 1, 1));
	g_assert_cmpint(
		rs_session_set_filter(f->session, RS_OWNER_HOST, "*", "nix > 1", NULL, &err), ==,
		-EBADMSG);
	g_assert_true(!is_filtered(f, 0, 0) && is_filtered(f, 1, 1));
}

/* What one guest asks for does not concern the other. */
static void test_guest_asks(struct fixture *f, gconstpointer data)
{
	come_up(f);
	sham_request(f->sham[1], 0, RS_HCALL_ENABLE, 0, "sched:*");
	sham_wait_answer(f->sham[1], 0);
	g_assert_cmpint(sham_response(f->sham[1], 0)->result, ==, 0);
	g_assert_true(is_on(f, 1, 1) && is_on(f, 1, 2));
	g_assert_false(is_on(f, 0, 0) || is_on(f, 0, 1));
	sham_request(f->sham[1], 0, RS_HCALL_SET_FILTER, 0, "sched:switch: a == 1");
	sham_wait_answer(f->sham[1], 0);
	g_assert_true(is_filtered(f, 1, 1) && !is_filtered(f, 0, 0));
	/* The same holds when the other guest boots later and rules are applied. */
	sham_hello(f->sham[0], RS_GUEST_SELF_PATCH);
	sham_provider(f->sham[0], "sched", sched);
	rs_session_refresh(f->session);
	g_assert_false(is_filtered(f, 0, 0));
	sham_request(f->sham[1], 0, RS_HCALL_LOG, 0, "hi");
	sham_wait_answer(f->sham[1], 0);
	g_assert_nonnull(strstr(f->said->str, "kern.2: guest: hi"));
}

static void test_ends(struct fixture *f, gconstpointer data)
{
	struct rs_target_end end = {.reason = RS_END_EXIT, .code = 3};
	struct rs_error err = {0};

	come_up(f);
	f->sham[0]->target.events.ended(f->sham[0]->target.events.data, &end);
	g_assert_cmpint(f->ends[0], ==, 1);
	g_assert_cmpint(f->ends[1], ==, 0);
	g_assert_null(rs_session_end(f->session));
	g_assert_cmpint(rs_source_state(f->source[0]), ==, RS_SESSION_ENDED);
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_RUNNING);
	/* The other guest goes on undisturbed. */
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, &err), ==, 0);
	g_assert_true(is_on(f, 1, 0) && !is_on(f, 0, 0));
	end.code = 0;
	f->sham[1]->target.events.ended(f->sham[1]->target.events.data, &end);
	g_assert_cmpint(f->ends[1], ==, 1);
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_ENDED);
	/* The first failure is the session's end. */
	g_assert_cmpint(rs_session_end(f->session)->code, ==, 3);
}

static void test_pause(struct fixture *f, gconstpointer data)
{
	struct rs_target_end end = {.reason = RS_END_EXIT};
	struct rs_error err = {0};

	come_up(f);
	g_assert_cmpint(rs_session_pause(f->session, &err), ==, 0);
	g_assert_cmpint(f->sham[0]->pauses + f->sham[1]->pauses, ==, 2);
	g_assert_cmpint(rs_source_state(f->source[1]), ==, RS_SESSION_PAUSED);
	f->sham[0]->target.events.ended(f->sham[0]->target.events.data, &end);
	g_assert_cmpint(rs_session_resume(f->session, &err), ==, 0);
	g_assert_cmpint(f->sham[0]->resumes, ==, 0);
	g_assert_cmpint(f->sham[1]->resumes, ==, 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{"names", test_names},     {"enable", test_enable}, {"list", test_list},
		{"pending", test_pending}, {"filter", test_filter}, {"guest-asks", test_guest_asks},
		{"ends", test_ends},       {"pause", test_pause},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/sources/%s", tests[i].name);

		g_test_add(path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	}
	return g_test_run();
}
