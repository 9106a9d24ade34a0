/* SPDX-License-Identifier: MIT */
/*
 * What peers ask for, for very many events, is worked out in several turns: others are answered
 * meanwhile, nothing changes before all is worked out, and what others change is not lost.
 */
#include "many.h"

#include "session/private.h"

#include <errno.h>
#include <ringside/atomic.h>
#include <ringside/record.h>
#include <string.h>

#define TERMS 100u /* of a peer's filter */

struct fixture {
	struct rs_session *session;
	struct rs_session_listener listener;
	struct sham *sham, *other;
	struct rs_session_result result; /* of the last request, while nothing was settled */
	int settled;
	/* Of the last that was settled. */
	uint32_t request, touched, problems;
	int ret;
};

static void on_settled(void *data, uint32_t request, int ret,
		       const struct rs_session_result *result, const struct rs_error *err)
{
	struct fixture *f = data;

	f->settled++;
	f->request = request;
	f->ret = ret;
	f->touched = result->touched;
	f->problems = result->problems ? result->problems->len : 0;
	g_assert_cmpuint(result->later, ==, 0);
	g_assert_true(!ret || *err->message);
}

static void set_up(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->sham = many_add(f->session, 4u << 20);
	f->other = many_add(f->session, 4u << 20);
	f->listener = (struct rs_session_listener){.data = f, .settled = on_settled};
	rs_session_add_listener(f->session, &f->listener);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	sham_hello(f->other, RS_GUEST_SELF_PATCH);
	many_describe(f->sham);
	while (!many_is_on(f->sham, MANY_EVENTS - 1))
		g_main_context_iteration(NULL, TRUE);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_result_clear(&f->result);
	rs_session_destroy(f->session);
	sham_free(f->sham);
	sham_free(f->other);
}

static int ask(struct fixture *f, const void *from, enum rs_session_ask_kind kind,
	       const char *owner, guint terms)
{
	g_autofree char *text = many_filter("", terms);
	const struct rs_session_ask what = {.from = from,
					    .owner = owner,
					    .kind = kind,
					    .glob = "*",
					    .expression = terms ? strstr(text, ": ") + 2 : NULL};

	rs_session_result_clear(&f->result);
	return rs_session_ask(f->session, &what, &f->result, NULL);
}

/* A filter of "host" that takes long. Returns its number. */
static uint32_t ask_much(struct fixture *f, const void *from)
{
	g_assert_cmpint(ask(f, from, RS_ASK_FILTER, RS_OWNER_HOST, TERMS), ==, 0);
	g_assert_cmpuint(f->result.later, >, 0);
	g_assert_cmpuint(f->result.touched, ==, 0);
	return f->result.later;
}

static void await_settled(struct fixture *f, int count)
{
	for (guint turns = 0; f->settled < count; turns++) {
		g_assert_cmpuint(turns, <, 10000);
		g_main_context_iteration(NULL, TRUE);
	}
}

static void test_turns(struct fixture *f, gconstpointer data)
{
	uint32_t request = ask_much(f, f);

	g_assert_cmpuint(many_filtered(f->session), ==, 0);
	sham_request(f->other, 0, RS_HCALL_LOG, 0, "here");
	sham_wait_answer(f->other, 0);
	g_assert_cmpint(f->settled, ==, 0);
	await_settled(f, 1);
	g_assert_cmpuint(f->request, ==, request);
	g_assert_cmpint(f->ret, ==, 0);
	g_assert_cmpuint(f->touched, ==, MANY_EVENTS);
	g_assert_cmpuint(many_filtered(f->session), ==, MANY_EVENTS);
	many_check_work(f->session);
	/* It is a rule for events that come. */
	sham_provider(f->other, "late", (const char *const[]){"one", NULL});
	rs_session_refresh(f->session);
	g_assert_cmpuint(many_filtered(f->session), ==, MANY_EVENTS + 1);
}

/* What one peer asks for is done in that order. */
static void test_order(struct fixture *f, gconstpointer data)
{
	uint32_t request = ask_much(f, f);

	g_assert_cmpint(ask(f, f, RS_ASK_FILTER, RS_OWNER_HOST, 0), ==, 0);
	g_assert_cmpuint(f->result.later, >, request);
	await_settled(f, 1);
	g_assert_cmpuint(f->request, ==, request);
	await_settled(f, 2);
	g_assert_cmpuint(f->request, ==, request + 1);
	g_assert_cmpuint(many_filtered(f->session), ==, 0);
}

/* Little that another one asks for is done at once, and what both changed is as both asked. */
static void test_beside(struct fixture *f, gconstpointer data)
{
	ask_much(f, f);
	g_assert_cmpint(ask(f, NULL, RS_ASK_ENABLE, "x", 0), ==, 0);
	g_assert_cmpuint(f->result.later, ==, 0);
	g_assert_cmpuint(f->result.touched, ==, MANY_EVENTS);
	g_assert_cmpint(f->settled, ==, 0);
	await_settled(f, 1);
	/* The other one wants everything. Once it does not, the filter is in force. */
	g_assert_cmpuint(many_filtered(f->session), ==, 0);
	g_assert_cmpint(ask(f, NULL, RS_ASK_FORGET, "x", 0), ==, 0);
	while (many_filtered(f->session) < MANY_EVENTS)
		g_main_context_iteration(NULL, TRUE);
	g_assert_true(many_is_on(f->sham, 0));
	many_check_work(f->session);
}

/* Two that take long are both done, and the turns are no longer for it. */
static void test_both(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(ask(f, NULL, RS_ASK_FILTER, "x", TERMS), ==, 0);
	g_assert_cmpuint(f->result.later, >, 0);
	ask_much(f, f);
	await_settled(f, 2);
	g_assert_cmpint(f->ret, ==, 0);
	g_assert_cmpuint(f->touched, ==, MANY_EVENTS);
	many_check_work(f->session);
}

/* Some agents have more to do than their sites. Whoever asked is told when it is done. */
static void test_followed(struct fixture *f, gconstpointer data)
{
	struct rs_guest_info *info =
		rs_trace_region_section(f->sham->region, RS_SEC_GUEST_INFO, NULL);
	const struct rs_control *control =
		rs_trace_region_section(f->sham->region, RS_SEC_CONTROL, NULL);
	struct rs_source *source = nth_source(f->session, 0);

	info->flags |= RS_GUEST_FOLLOWS;
	info->applied_generation = rs_load(&control->generation);
	rs_session_refresh(f->session);
	g_assert_cmpint(ask(f, f, RS_ASK_DISABLE, RS_OWNER_HOST, 0), ==, 0);
	g_assert_cmpuint(f->result.later, >, 0);
	for (guint i = 0; i < 20; i++)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(f->settled, ==, 0);
	g_assert_false(many_is_on(f->sham, 0));
	rs_store_release(&info->applied_generation, rs_load(&control->generation));
	await_settled(f, 1);
	g_assert_cmpuint(f->problems, ==, 0);
	/* It has fallen silent. */
	rs_session_set_patience(f->session, 300);
	g_assert_cmpint(ask(f, f, RS_ASK_ENABLE, RS_OWNER_HOST, 0), ==, 0);
	await_settled(f, 2);
	g_assert_cmpint(f->ret, ==, 0);
	g_assert_cmpuint(f->problems, ==, 1);
	/* A guest that stands still is not waited for. */
	g_assert_cmpint(rs_session_pause(f->session, NULL), ==, 0);
	g_assert_cmpint(ask(f, f, RS_ASK_DISABLE, RS_OWNER_HOST, 0), ==, 0);
	g_assert_cmpuint(f->result.later, ==, 0);
	g_assert_cmpint(rs_session_resume(f->session, NULL), ==, 0);
	/* Nor is one that has panicked, or a program that says so of itself. */
	source->panicked = true;
	g_assert_cmpint(ask(f, f, RS_ASK_ENABLE, RS_OWNER_HOST, 0), ==, 0);
	g_assert_cmpuint(f->result.later, ==, 0);
	source->panicked = false;
	source->machine = nth_source(f->session, 1);
	g_assert_cmpint(ask(f, f, RS_ASK_DISABLE, RS_OWNER_HOST, 0), ==, 0);
	g_assert_cmpuint(f->result.later, ==, 0);
	source->machine = NULL;
}

/* Events go, and others come, meanwhile: it holds for those that are there in the end. */
static void test_changes(struct fixture *f, gconstpointer data)
{
	static const char *const late[] = {"late", NULL};

	ask_much(f, f);
	for (guint i = 0; i < 3; i++)
		g_main_context_iteration(NULL, TRUE);
	sham_provider_dies(f->sham, 0);
	sham_provider(f->sham, "s99", late);
	sham_provider(f->other, "s99", late);
	rs_session_refresh(f->session);
	await_settled(f, 1);
	g_assert_cmpuint(f->touched, ==, MANY_EVENTS - MANY_EACH + 2);
	g_assert_cmpuint(many_filtered(f->session), ==, MANY_EVENTS - MANY_EACH + 2);
}

/* A guest that describes other events all the time does not keep the others from being done. */
static void test_restless(struct fixture *f, gconstpointer data)
{
	sham_provider(f->other, "calm", (const char *const[]){"one", NULL});
	rs_session_refresh(f->session);
	ask_much(f, f);
	for (guint n = 0; !f->settled; n++) {
		g_assert_cmpuint(n, <, 1000);
		if (n % 2)
			sham_provider_returns(f->sham, 0);
		else
			sham_provider_dies(f->sham, 0);
		rs_session_refresh(f->session);
		g_main_context_iteration(NULL, TRUE);
	}
	g_assert_cmpint(f->ret, ==, 0);
	g_assert_cmpuint(f->touched, ==, 1);
	g_assert_cmpuint(many_filtered(f->session), >=, 1);
	many_check_work(f->session);
}

/* The same, and each time it is another provider, whose events are described anew. */
static void test_renewed(struct fixture *f, gconstpointer data)
{
	sham_provider(f->other, "calm", (const char *const[]){"one", NULL});
	rs_session_refresh(f->session);
	ask_much(f, f);
	for (guint n = 1; !f->settled; n++) {
		g_assert_cmpuint(n, <, 10000);
		for (guint i = 0; i < MANY_PROVIDERS; i++) {
			struct rs_provider *p =
				rs_trace_region_element(f->sham->region, RS_SEC_PROVIDERS, i);

			p->since = n;
			rs_store_release(&p->sequence, p->sequence + 2);
		}
		rs_session_refresh(f->session);
		g_main_context_iteration(NULL, TRUE);
	}
	g_assert_cmpint(f->ret, ==, 0);
	g_assert_cmpuint(f->touched, ==, 1);
}

/* A guest that changes its mind all the time about all of its events holds nobody up. */
static void test_toggled(struct fixture *f, gconstpointer data)
{
	ask_much(f, f);
	ask_much(f, f->sham);
	for (guint n = 0; f->settled < 2; n++) {
		g_assert_cmpuint(n, <, 10000);
		rs_session_enable(f->session, RS_OWNER_GUEST, n % 2 ? "*" : "s*:*", NULL, NULL);
		rs_session_disable(f->session, RS_OWNER_GUEST, "*", NULL, NULL);
		g_main_context_iteration(NULL, TRUE);
	}
	g_assert_cmpint(f->ret, ==, 0);
	g_assert_cmpuint(f->touched, ==, MANY_EVENTS);
}

/* An owner is forgotten, and asks again before that is done: then it has what it asked for. */
static void test_forgotten(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(ask(f, f, RS_ASK_ENABLE, "x", 0), ==, 0);
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==, 0);
	rs_session_set_turn(f->session, 4096);
	g_assert_cmpint(ask(f, NULL, RS_ASK_FORGET, "x", 0), ==, 0);
	g_assert_cmpuint(f->result.later, >, 0);
	g_assert_cmpint(ask(f, f, RS_ASK_ENABLE, "x", 0), ==, 0);
	await_settled(f, 2);
	for (guint i = 0; i < MANY_EVENTS; i++)
		g_assert_true(many_is_on(f->sham, i));
	g_assert_true(rs_session_knows_owner(f->session, "x"));
	f->settled = 0;
	g_assert_cmpint(ask(f, NULL, RS_ASK_FORGET, "x", 0), ==, 0);
	await_settled(f, 1);
	g_assert_false(rs_session_knows_owner(f->session, "x"));
	g_assert_false(many_is_on(f->sham, 0));
}

/* Nobody waits for it any more, so it is not done. */
static void test_dropped(struct fixture *f, gconstpointer data)
{
	ask_much(f, f);
	ask_much(f, f->sham);
	rs_session_drop_asks(f->session, f);
	await_settled(f, 1);
	g_assert_cmpint(ask(f, NULL, RS_ASK_FILTER, RS_OWNER_HOST, 0), ==, 0);
	await_settled(f, 1);
	ask_much(f, f);
	rs_session_drop_asks(f->session, f);
	for (guint i = 0; i < 20; i++)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(f->settled, ==, 1);
	g_assert_cmpuint(many_filtered(f->session), ==, 0);
}

/* The session goes, or its guests end: whoever waits is told. */
static void test_ends(struct fixture *f, gconstpointer detach)
{
	ask_much(f, f);
	ask_much(f, f);
	if (detach)
		g_assert_cmpint(rs_session_detach(f->session, NULL), ==, 0);
	else
		rs_session_stop(f->session, "enough");
	g_assert_cmpint(f->settled, ==, 2);
	g_assert_cmpint(f->ret, ==, -ESHUTDOWN);
}

/* A mistake is told at once, whatever waits. */
static void test_mistake(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};

	ask_much(f, f);
	g_assert_cmpint(rs_session_set_filter(f->session, RS_OWNER_HOST, "*", "a ==", NULL, &err),
			==, -EBADMSG);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "nix", NULL, &err), ==,
			-ENOENT);
	await_settled(f, 1);
	g_assert_cmpint(f->ret, ==, 0);
}

/* A long filter, and very many events that come when it is there. */
static void test_rules(struct fixture *f, gconstpointer data)
{
	struct sham *late = f->other;

	ask_much(f, f);
	await_settled(f, 1);
	many_describe(late);
	for (guint turns = 0; !many_is_on(late, MANY_EVENTS - 1); turns++) {
		g_assert_cmpuint(turns, <, 10000);
		g_main_context_iteration(NULL, TRUE);
	}
	g_assert_cmpuint(many_filtered(f->session), >, MANY_EVENTS);
	many_check_work(f->session);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
		bool data;
	} tests[] = {
		{"turns", test_turns},         {"order", test_order},
		{"beside", test_beside},       {"both", test_both},
		{"changes", test_changes},     {"followed", test_followed},
		{"restless", test_restless},   {"dropped", test_dropped},
		{"renewed", test_renewed},     {"toggled", test_toggled},
		{"forgotten", test_forgotten}, {"ends", test_ends},
		{"detached", test_ends, true}, {"mistake", test_mistake},
		{"rules", test_rules},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/later/%s", tests[i].name);

		g_test_add(path, struct fixture, tests[i].data ? path : NULL, set_up, tests[i].run,
			   tear_down);
	}
	return g_test_run();
}
