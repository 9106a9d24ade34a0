/* SPDX-License-Identifier: MIT */
/* Guests that panic in machines that are not ours. */
#include "session/session.h"

#include "sham.h"
#include <string.h>

struct fixture {
	struct rs_session *session;
	struct rs_session_listener listener;
	struct sham *sham;
	struct rs_source *source;
	struct rs_target_ops ops;
	GString *said;
	uint32_t changes;
};

static void on_message(void *data, const char *text)
{
	struct fixture *f = data;

	g_string_append_printf(f->said, "%s\n", text);
}

static void set_up(struct fixture *f, gconstpointer data)
{
	const struct rs_source_config config = {.kernel = "k"};

	f->said = g_string_new(NULL);
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->listener = (struct rs_session_listener){.data = f, .message = on_message};
	rs_session_add_listener(f->session, &f->listener);
	f->sham = sham_new(1, RS_CHANNEL_MAILBOX);
	f->ops = *f->sham->target.ops;
	f->ops.borrowed = data != NULL;
	f->sham->target.ops = &f->ops;
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, &f->source, NULL),
			==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
	f->changes = rs_session_source_changes(f->session);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	sham_free(f->sham);
	g_string_free(f->said, TRUE);
}

static void agent_says(struct fixture *f, const char *why)
{
	sham_request(f->sham, 0, RS_HCALL_PANIC, 0, why);
	sham_wait_answer(f->sham, 0);
}

static void machine_says(struct fixture *f)
{
	f->sham->target.events.panicked(f->sham->target.events.data, g_get_monotonic_time());
}

static void check(const struct fixture *f, uint32_t panics, const char *said)
{
	g_assert_cmpuint(rs_source_panics(f->source), ==, panics);
	g_assert_cmpstr(f->said->str, ==, said);
	g_assert_null(rs_source_end(f->source));
}

static void test_the_session_goes_on(struct fixture *f, gconstpointer data)
{
	agent_says(f, "no\n\x1b init");
	check(f, 1, "the guest has panicked: no\\x0a\\x1b init\n");
	g_assert_cmpuint(rs_session_source_changes(f->session), >, f->changes);
}

static void test_two_who_tell_it_are_one_panic(struct fixture *f, gconstpointer data)
{
	machine_says(f);
	check(f, 1, "the guest has panicked\n");
	agent_says(f, "why");
	check(f, 1, "the guest has panicked\nthe guest has panicked: why\n");
	machine_says(f);
	agent_says(f, "another");
	check(f, 1, "the guest has panicked\nthe guest has panicked: why\n");
}

static void test_the_next_boot_may_panic_again(struct fixture *f, gconstpointer data)
{
	machine_says(f);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
	machine_says(f);
	check(f, 2,
	      "the guest has panicked\nthe guest's agent started anew\nthe guest has panicked\n");
	/* Also one whose agent never came. */
	f->sham->target.events.reset(f->sham->target.events.data, g_get_monotonic_time());
	machine_says(f);
	g_assert_cmpuint(rs_source_panics(f->source), ==, 3);
}

/* A reset may be told when the next boot's agent has come already. Nobody forgets that one. */
static void test_a_reset_that_is_told_late(struct fixture *f, gconstpointer data)
{
	const struct rs_target_events *events = &f->sham->target.events;
	struct rs_guest_info *info =
		rs_trace_region_section(f->sham->region, RS_SEC_GUEST_INFO, NULL);
	const struct rs_control *control =
		rs_trace_region_section(f->sham->region, RS_SEC_CONTROL, NULL);
	gint64 reset = g_get_monotonic_time();

	g_usleep(30000);
	rs_session_refresh(f->session);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
	events->panicked(events->data, reset - 1);
	events->reset(events->data, reset);
	check(f, 0, "the guest's agent started anew\n");
	g_assert_cmpint(rs_source_state(f->source), ==, RS_SESSION_RUNNING);
	/* This one ends that boot. */
	events->reset(events->data, g_get_monotonic_time());
	for (int i = 0; i < 3; i++)
		rs_session_refresh(f->session);
	check(f, 0, "the guest's agent started anew\nthe machine was reset\n");
	g_assert_cmpint(rs_source_state(f->source), ==, RS_SESSION_WAITING);
	/* One that nobody takes for a late one, but the agent answers. */
	info->tsc_hz = 1000000000;
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
	g_assert_cmpint(rs_source_state(f->source), ==, RS_SESSION_RUNNING);
	info->clock_pong = control->clock_ping;
	events->reset(events->data, g_get_monotonic_time());
	for (int i = 0; i < 3; i++)
		rs_session_refresh(f->session);
	g_assert_cmpint(rs_source_state(f->source), ==, RS_SESSION_WAITING);
	info->clock_pong = control->clock_ping;
	rs_session_refresh(f->session);
	g_assert_cmpint(rs_source_state(f->source), ==, RS_SESSION_RUNNING);
}

static void test_the_end_says_why(struct fixture *f, gconstpointer data)
{
	const struct rs_target_end end = {.reason = RS_END_PANIC, .text = "the machine says so"};

	agent_says(f, "why");
	f->sham->target.events.ended(f->sham->target.events.data, &end);
	g_assert_cmpint(rs_source_end(f->source)->reason, ==, RS_END_PANIC);
	g_assert_cmpstr(rs_source_end(f->source)->text, ==, "why");
}

static void test_a_machine_of_ours_ends(struct fixture *f, gconstpointer data)
{
	sham_request(f->sham, 0, RS_HCALL_PANIC, 0, "why");
	while (!rs_source_end(f->source))
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(rs_source_end(f->source)->reason, ==, RS_END_PANIC);
	g_assert_cmpuint(rs_source_panics(f->source), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define TEST(name, borrowed, function)                                                             \
	g_test_add("/panic/" name, struct fixture, borrowed, set_up, function, tear_down)
	TEST("goes-on", "borrowed", test_the_session_goes_on);
	TEST("told-twice", "borrowed", test_two_who_tell_it_are_one_panic);
	TEST("next-boot", "borrowed", test_the_next_boot_may_panic_again);
	TEST("late-reset", "borrowed", test_a_reset_that_is_told_late);
	TEST("end", "borrowed", test_the_end_says_why);
	TEST("ours", NULL, test_a_machine_of_ours_ends);
	return g_test_run();
}
