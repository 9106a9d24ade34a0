/* SPDX-License-Identifier: MIT */
/*
 * Guests that change everything that they describe, as fast as they are looked at. What they cause
 * in one turn of the session's loop is bounded for all of them together, and each gets its turn.
 */
#include "session/session.h"

#include "sham.h"
#include <ringside/atomic.h>
#include <ringside/record.h>
#include <string.h>

#define GUESTS 16u
#define SLOTS 12u
#define EVENTS 16u
#define FIRST RS_FIRST_EVENT_ID
#define TURN (256u << 10) /* what docs/security.md promises, see session/private.h */
/* A turn ends with a piece of work that began in it: a provider, the rules for it, a request. */
#define PIECE (128u << 10)

struct fixture {
	struct rs_session *session;
	struct sham *sham[GUESTS];
	struct rs_source *source[GUESTS];
	guint32 since;
};

static void set_up(struct fixture *f, gconstpointer data)
{
	static char names[EVENTS][8];
	static const char *list[EVENTS + 1];

	for (guint i = 0; i < EVENTS; i++) {
		g_snprintf(names[i], sizeof(names[i]), "e%u", i);
		list[i] = names[i];
	}
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	for (guint i = 0; i < GUESTS; i++) {
		struct rs_source_config config = {.kernel = "k"};

		f->sham[i] = sham_new(1, RS_CHANNEL_MAILBOX);
		g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham[i]->region,
						      &f->sham[i]->target, &f->source[i], NULL),
				==, 0);
	}
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	for (guint i = 0; i < GUESTS; i++) {
		sham_hello(f->sham[i], RS_GUEST_SELF_PATCH);
		for (guint k = 0; k < SLOTS; k++) {
			g_autofree char *system = g_strdup_printf("s%u", k);

			sham_provider(f->sham[i], system, list);
		}
	}
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	for (guint i = 0; i < GUESTS; i++)
		sham_free(f->sham[i]);
}

/* Every provider is another one now, with descriptors of its own. */
static void change_all(struct fixture *f)
{
	f->since++;
	for (guint i = 0; i < GUESTS; i++) {
		for (guint k = 0; k < SLOTS; k++) {
			struct rs_provider *p =
				rs_trace_region_element(f->sham[i]->region, RS_SEC_PROVIDERS, k);

			p->since = f->since;
			rs_store_release(&p->sequence, p->sequence + 2);
		}
	}
}

static uint64_t most_work(struct fixture *f)
{
	struct rs_source_stat stat;

	rs_session_stat(f->session, &stat);
	return stat.most_work;
}

/* Whether the last provider of each guest has been read: its newest event is on. */
static bool all_seen(struct fixture *f)
{
	for (guint i = 0; i < GUESTS; i++) {
		if (!(sham_word(f->sham[i], FIRST + SLOTS * EVENTS - 1) & RS_EVENT_ENABLED))
			return false;
	}
	return true;
}

static void run_once(struct fixture *f)
{
	g_main_context_iteration(NULL, TRUE);
}

/* All of them at once are more than one turn. */
static void test_start(struct fixture *f, gconstpointer data)
{
	guint turns = 0;

	g_assert_cmpuint((uint64_t)GUESTS * f->sham[0]->event_bytes, >, 2 * TURN);
	while (!all_seen(f)) {
		run_once(f);
		turns++;
	}
	g_assert_cmpuint(turns, >, 2);
	g_assert_cmpuint(most_work(f), <, TURN + PIECE);
	g_assert_cmpuint(most_work(f), >, TURN / 2);
}

static bool answered(struct sham *sham)
{
	const struct rs_hcall_request *r =
		rs_trace_region_section(sham->region, RS_SEC_REQUEST, NULL);

	return rs_load_acquire(&sham_response(sham, 0)->sequence) == rs_load(&r->sequence);
}

/* Whoever says hello, or what it describes, is answered once all of that is on. */
static void test_hello(struct fixture *f, gconstpointer data)
{
	guint seen = 0;

	for (guint i = 0; i < GUESTS; i++)
		sham_request(f->sham[i], 0, i % 2 ? RS_HCALL_HELLO : RS_HCALL_REGISTER, 0, NULL);
	while (seen < GUESTS) {
		run_once(f);
		seen = 0;
		for (guint i = 0; i < GUESTS; i++) {
			if (!answered(f->sham[i]))
				continue;
			seen++;
			g_assert_cmpint(sham_response(f->sham[i], 0)->result, ==, 0);
			for (guint k = 0; k < SLOTS * EVENTS; k++)
				g_assert_cmphex(sham_word(f->sham[i], FIRST + k), ==,
						RS_EVENT_ENABLED);
		}
	}
}

static void test_flips(struct fixture *f, gconstpointer data)
{
	bool quiet[GUESTS] = {0};
	guint answered = 0;

	while (!all_seen(f))
		run_once(f);
	for (guint i = 0; i < GUESTS; i++)
		sham_request(f->sham[i], 0, RS_HCALL_QUERY, FIRST, NULL);
	/* Nobody is quiet, and yet everybody is answered. */
	for (guint turn = 0; answered < GUESTS; turn++) {
		change_all(f);
		run_once(f);
		g_assert_cmpuint(turn, <, 50 * GUESTS);
		for (guint i = 0; i < GUESTS; i++) {
			if (quiet[i] || !rs_load_acquire(&sham_response(f->sham[i], 0)->sequence))
				continue;
			quiet[i] = true;
			answered++;
		}
	}
	for (guint turn = 0; turn < 100; turn++) {
		change_all(f);
		run_once(f);
	}
	g_assert_cmpuint(most_work(f), <, TURN + PIECE);
}

/* A question by the host, or by a peer, is answered in a turn too. */
static void test_list(struct fixture *f, gconstpointer data)
{
	for (guint i = 0; i < 10; i++) {
		g_autoptr(GArray) list = NULL;

		change_all(f);
		list = rs_session_list(f->session, NULL);
		g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "nix/*", NULL, NULL),
				<, 0);
	}
	g_assert_cmpuint(most_work(f), <, TURN + PIECE);
	/* In the end all is there. */
	while (!all_seen(f))
		run_once(f);
}

/* Requests that change every event, in every mailbox. */
static void test_requests(struct fixture *f, gconstpointer data)
{
	while (!all_seen(f))
		run_once(f);
	for (guint round = 0; round < 20; round++) {
		for (guint i = 0; i < GUESTS; i++) {
			for (guint k = 0; k < 16; k++)
				sham_request(f->sham[i], k,
					     round % 2 ? RS_HCALL_ENABLE : RS_HCALL_DISABLE, 0,
					     "*");
		}
		run_once(f);
	}
	for (guint i = 0; i < GUESTS; i++) {
		for (guint k = 0; k < 16; k++)
			sham_wait_answer(f->sham[i], k);
	}
	g_assert_cmpuint(most_work(f), <, TURN + PIECE);
	g_assert_cmpuint(most_work(f), >, TURN / 2);
}

/*
 * As many filters of a guest as it has events, each for one of them, applied when the provider
 * comes back: each filter is compiled once, and each rule is compared once with each event.
 */
static void test_rules(struct fixture *f, gconstpointer data)
{
	const guint n = SLOTS * EVENTS - 1;
	struct sham *sham = f->sham[0];
	uint64_t before;

	while (!all_seen(f))
		run_once(f);
	for (guint i = 0; i < n; i++) {
		g_autofree char *glob = g_strdup_printf("k/s%u:*e%u", i / EVENTS, i % EVENTS);

		g_assert_cmpint(rs_session_set_filter(f->session, RS_OWNER_GUEST, glob,
						      "a == 17 || b > 2000", NULL, NULL),
				==, 0);
	}
	before = most_work(f);
	for (guint k = 0; k < SLOTS; k++)
		sham_provider_dies(sham, k);
	rs_session_refresh(f->session);
	for (guint k = 0; k < SLOTS; k++)
		sham_provider_returns(sham, k);
	rs_session_refresh(f->session);
	g_assert_cmpuint(most_work(f), <=, MAX(before, TURN + PIECE + 8ull * n * (n + 1)));
	while (!(sham_word(sham, FIRST + n) & RS_EVENT_ENABLED))
		run_once(f);
	g_assert_true(sham_word(sham, FIRST) & RS_EVENT_ENABLED);
}

/*
 * Many filters of a guest whose globs are long. They are compared in several turns when the events
 * come back.
 */
static void test_long_globs(struct fixture *f, gconstpointer data)
{
	g_autofree char *class = g_strnfill(490, 'e');
	const guint n = SLOTS * EVENTS - 1;
	struct sham *sham = f->sham[0];

	while (!all_seen(f))
		run_once(f);
	for (guint i = 0; i < n; i++) {
		g_autofree char *glob =
			g_strdup_printf("k/s%u:*[%s]%u", i / EVENTS, class, i % EVENTS);

		g_assert_cmpint(rs_session_set_filter(f->session, RS_OWNER_GUEST, glob, "a == 17",
						      NULL, NULL),
				==, 0);
	}
	for (guint k = 0; k < SLOTS; k++)
		sham_provider_dies(sham, k);
	rs_session_refresh(f->session);
	for (guint k = 0; k < SLOTS; k++)
		sham_provider_returns(sham, k);
	for (guint turns = 0; turns < 3; turns++) {
		rs_session_refresh(f->session);
		g_assert_true(sham_word(sham, FIRST) & RS_EVENT_ENABLED);
		g_assert_false(sham_word(sham, FIRST + n) & RS_EVENT_ENABLED);
	}
	while (!(sham_word(sham, FIRST + n) & RS_EVENT_ENABLED))
		run_once(f);
	g_assert_cmpuint(most_work(f), <, 2 * TURN + PIECE);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{"start", test_start},           {"flips", test_flips},       {"list", test_list},
		{"hello", test_hello},           {"requests", test_requests}, {"rules", test_rules},
		{"long-globs", test_long_globs},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/turns/%s", tests[i].name);

		g_test_add(path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	}
	return g_test_run();
}
