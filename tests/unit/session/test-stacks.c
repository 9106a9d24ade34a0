/* SPDX-License-Identifier: MIT */
/* Call stacks are asked only of agents that take them; where one does not, that is told. */
#include "session/session.h"

#include "sham.h"
#include <errno.h>
#include <ringside/record.h>
#include <string.h>

#define FIRST RS_FIRST_EVENT_ID
#define NONE "its agent takes no call stacks: the records come without"

static const char *const one[] = {"one", NULL};

struct fixture {
	struct rs_session *session;
	struct sham *sham;
	struct rs_session_listener listener;
	struct rs_session_result result;
	char *said; /* the last message; NULL: none */
};

static void on_message(void *data, const char *text)
{
	struct fixture *f = data;

	g_free(f->said);
	f->said = g_strdup(text);
}

static void set_up(struct fixture *f, gconstpointer data)
{
	struct rs_source_config config = {.kernel = "kern"};

	f->sham = sham_new(1, RS_CHANNEL_MAILBOX);
	f->listener = (struct rs_session_listener){.data = f, .message = on_message};
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	rs_session_add_listener(f->session, &f->listener);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, NULL, NULL),
			==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_result_clear(&f->result);
	rs_session_destroy(f->session);
	sham_free(f->sham);
	g_free(f->said);
}

static void report(struct fixture *f, uint32_t flags)
{
	sham_hello(f->sham, RS_GUEST_SELF_PATCH | flags);
	sham_provider(f->sham, "first", one);
	rs_session_refresh(f->session);
}

static void enable(struct fixture *f, uint32_t stack)
{
	const struct rs_session_ask what = {
		.owner = RS_OWNER_HOST,
		.kind = RS_ASK_ENABLE,
		.glob = "first:one",
		.stack = stack,
	};

	rs_session_result_clear(&f->result);
	f->result = (struct rs_session_result){0};
	g_clear_pointer(&f->said, g_free);
	g_assert_cmpint(rs_session_ask(f->session, &what, &f->result, NULL), ==, 0);
}

static uint32_t depth(struct fixture *f)
{
	uint32_t word = sham_word(f->sham, FIRST);

	g_assert_true(word & RS_EVENT_ENABLED);
	return (word & RS_EVENT_STACK_MASK) >> RS_EVENT_STACK_SHIFT;
}

static void test_who_asks_an_agent_without_stacks_is_told(struct fixture *f, gconstpointer data)
{
	report(f, 0);
	for (int i = 0; i < 2; i++) {
		enable(f, 16);
		g_assert_cmpuint(f->result.touched, ==, 1);
		g_assert_cmpuint(f->result.problems->len, ==, 1);
		g_assert_cmpstr(f->result.problems->pdata[0], ==, NONE);
		g_assert_cmpuint(depth(f), ==, 0);
	}
	enable(f, 0);
	g_assert_null(f->result.problems);
	g_assert_null(f->said);
}

static void test_others_get_the_depth(struct fixture *f, gconstpointer data)
{
	report(f, RS_GUEST_STACKS);
	enable(f, 16);
	g_assert_null(f->result.problems);
	g_assert_null(f->said);
	g_assert_cmpuint(depth(f), ==, 16);
}

static void test_a_wish_kept_for_later_is_told_of_when_it_is_met(struct fixture *f,
								 gconstpointer data)
{
	enable(f, 8);
	g_assert_true(f->result.pending);
	g_assert_null(f->result.problems);
	report(f, 0);
	g_assert_cmpstr(f->said, ==, NONE);
	g_assert_cmpuint(depth(f), ==, 0);
}

static void test_a_kept_wish_is_met_in_silence_where_it_can_be(struct fixture *f,
							       gconstpointer data)
{
	enable(f, 8);
	report(f, RS_GUEST_STACKS);
	g_assert_null(f->said);
	g_assert_cmpuint(depth(f), ==, 8);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{"without", test_who_asks_an_agent_without_stacks_is_told},
		{"with", test_others_get_the_depth},
		{"kept", test_a_wish_kept_for_later_is_told_of_when_it_is_met},
		{"met", test_a_kept_wish_is_met_in_silence_where_it_can_be},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/stacks/%s", tests[i].name);

		g_test_add(path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	}
	return g_test_run();
}
