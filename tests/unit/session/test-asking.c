/* SPDX-License-Identifier: MIT */
/*
 * A guest asks for a filter of very many events. It is compiled in several turns, others are
 * answered meanwhile, and nothing changes before all of it is compiled.
 */
#include "session/session.h"

#include "many.h"
#include <ringside/atomic.h>
#include <ringside/record.h>
#include <string.h>

#define EVENTS MANY_EVENTS
#define EACH MANY_EACH
#define TERMS MANY_TERMS

struct fixture {
	struct rs_session *session;
	struct sham *sham, *other;
};

static void set_up(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->sham = many_add(f->session, 2u << 20);
	f->other = many_add(f->session, 0);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_GUEST, "*", NULL, NULL), ==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	sham_hello(f->other, RS_GUEST_SELF_PATCH);
	many_describe(f->sham);
	while (!many_is_on(f->sham, EVENTS - 1))
		g_main_context_iteration(NULL, TRUE);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	sham_free(f->sham);
	sham_free(f->other);
}

/* An expression of so many terms for all events of the systems that match. */
static void ask(struct fixture *f, uint32_t slot, const char *systems, guint terms)
{
	g_autofree char *text = many_filter(systems, terms);

	sham_request(f->sham, slot, RS_HCALL_SET_FILTER, 0, text);
}

static bool answered(struct sham *sham, uint32_t slot)
{
	const struct rs_hcall_request *r =
		rs_trace_region_section(sham->region, RS_SEC_REQUEST, NULL);

	return rs_load_acquire(&sham_response(sham, slot)->sequence) == rs_load(&r[slot].sequence);
}

static void check_answer(struct fixture *f, uint32_t slot, int32_t result, uint64_t touched)
{
	sham_wait_answer(f->sham, slot);
	g_assert_cmpint(sham_response(f->sham, slot)->result, ==, result);
	g_assert_cmpuint(sham_response(f->sham, slot)->values[0], ==, touched);
}

/* Nothing is left to do: the timer does not want another turn at once. */
static void check_rests(struct fixture *f)
{
	GSource *timer = g_main_context_find_source_by_user_data(NULL, f->session);

	for (guint rounds = 0;; rounds++) {
		g_assert_cmpuint(rounds, <, 100);
		g_main_context_iteration(NULL, TRUE);
		if (g_source_get_ready_time(timer) >= g_source_get_time(timer) + 1000)
			return;
	}
}

/* Two rounds of the main loop, at least one of which serves the mailboxes. */
static void check_begun(struct fixture *f, uint32_t slot)
{
	for (guint i = 0; i < 2; i++)
		g_main_context_iteration(NULL, TRUE);
	g_assert_false(answered(f->sham, slot));
}

static void test_turns(struct fixture *f, gconstpointer data)
{
	ask(f, 0, "s*", TERMS);
	check_begun(f, 0);
	g_assert_cmpuint(many_filtered(f->session), ==, 0);
	sham_request(f->other, 0, RS_HCALL_LOG, 0, "here");
	sham_wait_answer(f->other, 0);
	g_assert_false(answered(f->sham, 0));
	check_answer(f, 0, 0, EVENTS);
	g_assert_cmpuint(many_filtered(f->session), ==, EVENTS);
	many_check_work(f->session);
	check_rests(f);
}

/* Little is done at once, by whichever way it was asked. */
static void test_little(struct fixture *f, gconstpointer data)
{
	GSource *timer = g_main_context_find_source_by_user_data(NULL, f->session);
	struct rs_target_events *events = &f->sham->target.events;
	struct rs_target_end end;

	ask(f, 0, "s3", 3);
	g_assert_false(events->hypercall(events->data, 0, &end));
	g_assert_true(answered(f->sham, 0));
	check_answer(f, 0, 0, EACH);
	ask(f, 0, "s*", TERMS);
	g_assert_false(events->hypercall(events->data, 0, &end));
	g_assert_false(answered(f->sham, 0));
	/* The rest is done as soon as can be, and not at the next look at the mailboxes. */
	g_assert_cmpint(g_source_get_ready_time(timer), ==, 0);
	check_answer(f, 0, 0, EVENTS);
	g_assert_cmpuint(many_filtered(f->session), ==, EVENTS);
}

/* What a guest may not have is refused at the first event. */
static void test_too_large(struct fixture *f, gconstpointer data)
{
	struct rs_target_events *events = &f->sham->target.events;
	struct rs_target_end end;

	ask(f, 0, "s*", 3 * TERMS);
	g_assert_false(events->hypercall(events->data, 0, &end));
	g_assert_true(answered(f->sham, 0));
	check_answer(f, 0, -RS_E2BIG, 0);
	g_assert_cmpuint(many_filtered(f->session), ==, 0);
	many_check_work(f->session);
}

/* A name that no event has, behind many that are known. */
static void test_unknown(struct fixture *f, gconstpointer data)
{
	g_autoptr(GString) text = g_string_new("s*:*: a==1");

	for (guint i = 1; i < TERMS; i++)
		g_string_append(text, "&&a!=1");
	g_string_append(text, "&&zzz==1");
	sham_request(f->sham, 0, RS_HCALL_SET_FILTER, 0, text->str);
	check_answer(f, 0, -RS_EINVAL, 0);
	g_assert_nonnull(
		strstr((const char *)sham_response(f->sham, 0)->data, "has a field 'zzz'"));
	g_assert_cmpuint(many_filtered(f->session), ==, 0);
	many_check_work(f->session);
}

/* In each slot of the guest: all of them are done. */
static void test_many(struct fixture *f, gconstpointer data)
{
	for (uint32_t i = 0; i < 16; i++) {
		g_autofree char *system = g_strdup_printf("s%u", i);

		ask(f, i, i % 2 ? "s*" : system, TERMS);
	}
	for (uint32_t i = 0; i < 16; i++)
		check_answer(f, i, 0, i % 2 ? EVENTS : EACH);
	g_assert_cmpuint(many_filtered(f->session), ==, EVENTS);
	many_check_work(f->session);
}

/* In the order of the slots, whoever asks again: it is its turn when all others had theirs. */
static void test_order(struct fixture *f, gconstpointer data)
{
	for (uint32_t i = 0; i < 4; i++)
		ask(f, i, "s*", TERMS);
	check_answer(f, 0, 0, EVENTS);
	ask(f, 0, "s*", TERMS);
	for (uint32_t i = 1; i < 4; i++) {
		for (uint32_t later = i + 1; later < 4; later++)
			g_assert_false(answered(f->sham, later));
		check_begun(f, i); /* it has to be worked out from its beginning */
		check_answer(f, i, 0, EVENTS);
		g_assert_false(answered(f->sham, 0));
	}
	check_answer(f, 0, 0, EVENTS);
	many_check_work(f->session);
	check_rests(f);
}

/* The events go, and others come, before it is done: it holds for those that are there then. */
static void test_changes(struct fixture *f, gconstpointer data)
{
	static const char *const late[] = {"late", NULL};

	ask(f, 0, "s*", TERMS);
	check_begun(f, 0);
	sham_provider_dies(f->sham, 0);
	sham_provider(f->sham, "s99", late);
	rs_session_refresh(f->session);
	check_answer(f, 0, 0, EVENTS - EACH + 1);
	g_assert_cmpuint(many_filtered(f->session), ==, EVENTS - EACH + 1);
}

/* Nobody waits for the first request any more, so it is not done. */
static void test_reused(struct fixture *f, gconstpointer data)
{
	ask(f, 0, "s*", TERMS);
	check_begun(f, 0);
	ask(f, 0, "s1", 1);
	check_answer(f, 0, 0, EACH);
	for (guint i = 0; i < 20; i++)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpuint(many_filtered(f->session), ==, EACH);
	check_rests(f);
}

/* What a guest asked for in the boot before is not done in the next one. */
static void test_boots(struct fixture *f, gconstpointer data)
{
	ask(f, 0, "s*", TERMS);
	check_begun(f, 0);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	many_describe(f->sham);
	rs_session_refresh(f->session);
	for (guint i = 0; i < 20; i++)
		g_main_context_iteration(NULL, TRUE);
	g_assert_false(answered(f->sham, 0));
	g_assert_cmpuint(many_filtered(f->session), ==, 0);
	check_rests(f);
}

/* The owners who want the event, in the order in which they asked. */
static char *who_wants(struct rs_session *session, const char *event)
{
	g_autoptr(GArray) list = rs_session_list(session, event);
	GString *names = g_string_new(NULL);

	g_assert_cmpuint(list->len, ==, 1);
	for (const struct rs_wish *wish = g_array_index(list, struct rs_session_event, 0).wishes;
	     wish; wish = wish->next) {
		if (wish->wanted)
			g_string_append_printf(names, "%s ", wish->owner->name);
	}
	return g_string_free(names, FALSE);
}

#define BULK 20000u /* sites: to switch them takes more than a turn */

/*
 * It is done in the first source and not yet in the second when somebody changes one event of the
 * first. What is done again there leaves all other events as they are.
 */
static void test_done_again(void)
{
	static const char *const four[] = {"e0", "e1", "e2", "e3", NULL};
	static const struct rs_source_config config = {.kernel = "k"};
	const struct rs_session_ask all = {
		.from = four, .owner = "peer", .kind = RS_ASK_ENABLE, .glob = "*"};
	const struct rs_session_ask one = {
		.from = &config, .owner = "other", .kind = RS_ASK_ENABLE, .glob = "m:e0"};
	struct sham *first = sham_new_with_text(1, RS_CHANNEL_MAILBOX, 65536), *second;
	struct rs_session_result result = {0}, another = {0};
	struct rs_session *session;
	bool done = false;

	g_assert_cmpint(rs_session_create("t", &session, NULL), ==, 0);
	g_assert_cmpint(
		rs_session_add_source(session, &config, first->region, &first->target, NULL, NULL),
		==, 0);
	second = many_add(session, 0);
	g_assert_cmpint(rs_session_start(session, NULL), ==, 0);
	sham_hello(first, 0);
	sham_provider(first, "m", four);
	sham_bulk(first, "bulk", "b", BULK);
	sham_hello(second, RS_GUEST_SELF_PATCH);
	many_describe(second);
	for (guint i = 0; i < 100; i++)
		rs_session_refresh(session);
	g_assert_cmpint(rs_session_enable(session, RS_OWNER_HOST, "m:*", NULL, NULL), ==, 0);
	g_assert_cmpint(rs_session_ask(session, &all, &result, NULL), ==, 0);
	g_assert_cmpuint(result.later, !=, 0);
	while (!done) {
		g_autofree char *names = who_wants(session, "m:e1");

		done = strstr(names, "peer");
		if (!done)
			g_main_context_iteration(NULL, TRUE);
	}
	g_assert_false(many_is_on(second, 0));
	g_assert_cmpint(rs_session_ask(session, &one, &another, NULL), ==, 0);
	while (!many_is_on(second, MANY_EVENTS - 1))
		g_main_context_iteration(NULL, TRUE);
	for (guint i = 0; i < G_N_ELEMENTS(four) - 1; i++) {
		g_autofree char *event = g_strconcat("m:", four[i], NULL);
		g_autofree char *names = who_wants(session, event);

		g_assert_nonnull(strstr(names, "host"));
		g_assert_nonnull(strstr(names, "peer"));
	}
	rs_session_result_clear(&result);
	rs_session_result_clear(&another);
	rs_session_destroy(session);
	sham_free(first);
	sham_free(second);
}

static void test_detached(struct fixture *f, gconstpointer data)
{
	ask(f, 0, "s*", TERMS);
	check_begun(f, 0);
	g_assert_cmpint(rs_session_detach(f->session, NULL), ==, 0);
	g_assert_true(answered(f->sham, 0));
	check_answer(f, 0, -RS_EACCES, 0);
}

/*
 * It boots, as far as its number says, where nobody has looked since another of its requests has
 * made this one stale.
 */
static void test_boots_within(struct fixture *f, gconstpointer data)
{
	struct rs_guest_info *info =
		rs_trace_region_section(f->sham->region, RS_SEC_GUEST_INFO, NULL);

	ask(f, 0, "s*", TERMS);
	check_begun(f, 0);
	sham_request(f->sham, 1, RS_HCALL_UNREGISTER, 0, "");
	rs_store(&info->boot, rs_load(&info->boot) + 1);
	for (guint i = 0; i < 20; i++)
		g_main_context_iteration(NULL, TRUE);
	g_assert_false(answered(f->sham, 0));
	g_assert_cmpuint(many_filtered(f->session), ==, 0);
}

/* It ends while its request is at work, and is freed later. */
static void test_ends(struct fixture *f, gconstpointer data)
{
	ask(f, 0, "s*", TERMS);
	check_begun(f, 0);
	rs_session_stop(f->session, "enough");
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_ENDED);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{"turns", test_turns},
		{"little", test_little},
		{"too-large", test_too_large},
		{"unknown", test_unknown},
		{"many", test_many},
		{"changes", test_changes},
		{"order", test_order},
		{"reused", test_reused},
		{"boots", test_boots},
		{"detached", test_detached},
		{"boots-within", test_boots_within},
		{"ends", test_ends},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/asking/%s", tests[i].name);

		g_test_add(path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	}
	g_test_add_func("/session/asking/done-again", test_done_again);
	return g_test_run();
}
