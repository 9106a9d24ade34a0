/* SPDX-License-Identifier: MIT */
/*
 * A guest asks for a filter of very many events. It is compiled in several turns, others are
 * answered meanwhile, and nothing changes before all of it is compiled.
 */
#include "session/session.h"

#include "region/regions.h"
#include "sham.h"
#include <ringside/atomic.h>
#include <ringside/record.h>
#include <string.h>

#define FIRST RS_FIRST_EVENT_ID
#define PROVIDERS 16u
#define EACH 32u
#define EVENTS (PROVIDERS * EACH)
#define TURN (256u << 10)  /* see session/private.h */
#define PIECE (192u << 10) /* all events get their filter */
#define TERMS 40u          /* that a guest may use */

struct fixture {
	struct rs_session *session;
	struct sham *sham, *other;
};

static struct sham *add_guest(struct fixture *f, uint32_t filter_bytes)
{
	struct rs_region_config config = {.vcpus = 4,
					  .ring_bytes = 65536,
					  .event_capacity = 2048,
					  .filter_bytes = filter_bytes,
					  .hcall_channel = RS_CHANNEL_MAILBOX};
	struct rs_source_config source = {.kernel = "k"};
	RsTraceRegion *region;
	struct sham *sham;

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	sham = sham_on(region, false);
	g_assert_cmpint(
		rs_session_add_source(f->session, &source, region, &sham->target, NULL, NULL), ==,
		0);
	return sham;
}

static void describe(struct sham *sham)
{
	static char names[EACH][8];
	static const char *list[EACH + 1];

	for (guint i = 0; i < EACH; i++) {
		g_snprintf(names[i], sizeof(names[i]), "e%u", i);
		list[i] = names[i];
	}
	for (guint i = 0; i < PROVIDERS; i++) {
		g_autofree char *system = g_strdup_printf("s%u", i);

		sham_provider(sham, system, list);
	}
}

static bool is_on(struct sham *sham, uint32_t n)
{
	return sham_word(sham, FIRST + n) & RS_EVENT_ENABLED;
}

/* How many events are filtered. */
static guint filtered(struct fixture *f)
{
	g_autoptr(GArray) list = rs_session_list(f->session, NULL);
	guint count = 0;

	for (guint i = 0; i < list->len; i++)
		count += g_array_index(list, struct rs_session_event, i).filter != NULL;
	return count;
}

static void set_up(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->sham = add_guest(f, 2u << 20);
	f->other = add_guest(f, 0);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_GUEST, "*", NULL, NULL), ==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	sham_hello(f->other, RS_GUEST_SELF_PATCH);
	describe(f->sham);
	while (!is_on(f->sham, EVENTS - 1))
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
	g_autoptr(GString) text = g_string_new(systems);

	g_string_append(text, ":*: a==1");
	for (guint i = 1; i < terms; i++)
		g_string_append(text, "&&a!=1");
	sham_request(f->sham, slot, RS_HCALL_SET_FILTER, 0, text->str);
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

static void check_work(struct fixture *f)
{
	struct rs_source_stat stat;

	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.most_work, <, TURN + PIECE);
}

static void test_turns(struct fixture *f, gconstpointer data)
{
	ask(f, 0, "s*", TERMS);
	check_begun(f, 0);
	g_assert_cmpuint(filtered(f), ==, 0);
	sham_request(f->other, 0, RS_HCALL_LOG, 0, "here");
	sham_wait_answer(f->other, 0);
	g_assert_false(answered(f->sham, 0));
	check_answer(f, 0, 0, EVENTS);
	g_assert_cmpuint(filtered(f), ==, EVENTS);
	check_work(f);
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
	g_assert_cmpuint(filtered(f), ==, EVENTS);
}

/* What a guest may not have is refused at the first event. */
static void test_too_large(struct fixture *f, gconstpointer data)
{
	struct rs_target_events *events = &f->sham->target.events;
	struct rs_target_end end;

	ask(f, 0, "s*", 3 * TERMS);
	g_assert_false(events->hypercall(events->data, 0, &end));
	g_assert_true(answered(f->sham, 0));
	check_answer(f, 0, RS_ERR_TOO_LARGE, 0);
	g_assert_cmpuint(filtered(f), ==, 0);
	check_work(f);
}

/* A name that no event has, behind many that are known. */
static void test_unknown(struct fixture *f, gconstpointer data)
{
	g_autoptr(GString) text = g_string_new("s*:*: a==1");

	for (guint i = 1; i < TERMS; i++)
		g_string_append(text, "&&a!=1");
	g_string_append(text, "&&zzz==1");
	sham_request(f->sham, 0, RS_HCALL_SET_FILTER, 0, text->str);
	check_answer(f, 0, RS_ERR_BAD_ARGUMENT, 0);
	g_assert_nonnull(
		strstr((const char *)sham_response(f->sham, 0)->data, "has a field 'zzz'"));
	g_assert_cmpuint(filtered(f), ==, 0);
	check_work(f);
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
	g_assert_cmpuint(filtered(f), ==, EVENTS);
	check_work(f);
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
	check_work(f);
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
	g_assert_cmpuint(filtered(f), ==, EVENTS - EACH + 1);
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
	g_assert_cmpuint(filtered(f), ==, EACH);
	check_rests(f);
}

/* What a guest asked for in the boot before is not done in the next one. */
static void test_boots(struct fixture *f, gconstpointer data)
{
	ask(f, 0, "s*", TERMS);
	check_begun(f, 0);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	describe(f->sham);
	rs_session_refresh(f->session);
	for (guint i = 0; i < 20; i++)
		g_main_context_iteration(NULL, TRUE);
	g_assert_false(answered(f->sham, 0));
	g_assert_cmpuint(filtered(f), ==, 0);
	check_rests(f);
}

static void test_detached(struct fixture *f, gconstpointer data)
{
	ask(f, 0, "s*", TERMS);
	check_begun(f, 0);
	g_assert_cmpint(rs_session_detach(f->session, NULL), ==, 0);
	g_assert_true(answered(f->sham, 0));
	check_answer(f, 0, RS_ERR_REFUSED, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{"turns", test_turns},       {"little", test_little}, {"too-large", test_too_large},
		{"unknown", test_unknown},   {"many", test_many},     {"changes", test_changes},
		{"order", test_order},       {"reused", test_reused}, {"boots", test_boots},
		{"detached", test_detached},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/asking/%s", tests[i].name);

		g_test_add(path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	}
	return g_test_run();
}
