/* SPDX-License-Identifier: MIT */
/*
 * A provider with very many sites. They are read in steps, so that others are answered meanwhile,
 * and the guest's own requests about it are answered when they are read.
 */
#include "session/session.h"

#include "sham.h"
#include <ringside/atomic.h>
#include <ringside/hypercall.h>
#include <ringside/record.h>
#include <string.h>

#define FIRST RS_FIRST_EVENT_ID
#define SITES 50000u
#define TURN (256u << 10)  /* see session/private.h */
#define PIECE (192u << 10) /* two batches of sites: of a request, and of what is still to be done */

static const char *const sched[] = {"switch", NULL};

struct fixture {
	struct rs_session *session;
	struct rs_session_listener listener;
	struct sham *busy, *other;
	int settled, ret;  /* `ret` of the last that was settled */
	GString *problems; /* of the last that was settled */
};

static void on_settled(void *data, uint32_t request, int ret,
		       const struct rs_session_result *result, const struct rs_error *err)
{
	const GPtrArray *problems = result->problems;
	struct fixture *f = data;

	f->settled++;
	g_string_truncate(f->problems, 0);
	f->ret = ret;
	for (guint i = 0; problems && i < problems->len; i++)
		g_string_append_printf(f->problems, "%s\n", (char *)problems->pdata[i]);
}

static struct sham *add_guest(struct fixture *f)
{
	struct sham *sham = sham_new_with_text(1, RS_CHANNEL_MAILBOX, 1024);
	struct rs_source_config config = {.kernel = "k"};

	g_assert_cmpint(
		rs_session_add_source(f->session, &config, sham->region, &sham->target, NULL, NULL),
		==, 0);
	return sham;
}

static uint64_t most_work(struct fixture *f)
{
	struct rs_source_stat stat;

	rs_session_stat(f->session, &stat);
	return stat.most_work;
}

static bool answered(struct sham *sham)
{
	const struct rs_hcall_request *r =
		rs_trace_region_section(sham->region, RS_SEC_REQUEST, NULL);

	return rs_load_acquire(&sham_response(sham, 0)->sequence) == rs_load(&r->sequence);
}

static bool is_on(struct sham *sham, uint32_t n)
{
	return sham_word(sham, FIRST + n) & RS_EVENT_ENABLED;
}

static void run_once(void)
{
	g_main_context_iteration(NULL, TRUE);
}

/* Both guests have reported, and all is wanted. The busy one registers its bulk. */
static void set_up(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->busy = add_guest(f);
	f->other = add_guest(f);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->busy, 0);
	sham_provider(f->busy, "sched", sched);
	sham_hello(f->other, 0);
	sham_provider(f->other, "sched", sched);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==, 0);
	sham_bulk(f->busy, "bulk", "many", SITES);
	sham_request(f->busy, 0, RS_HCALL_REGISTER, 1, NULL);
	f->problems = g_string_new(NULL);
	f->listener = (struct rs_session_listener){.data = f, .settled = on_settled};
	rs_session_add_listener(f->session, &f->listener);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, 0);
	sham_free(f->busy);
	sham_free(f->other);
	g_string_free(f->problems, TRUE);
}

static void check_begun(struct fixture *f)
{
	run_once();
	run_once();
	g_assert_false(answered(f->busy) || is_on(f->busy, 1));
}

/* The other guest is answered in two turns, and the busy one when its event is on. */
static void test_turns(struct fixture *f, gconstpointer data)
{
	struct rs_session_result result = {0};
	guint turns = 2;

	check_begun(f);
	sham_request(f->other, 0, RS_HCALL_QUERY, FIRST, NULL);
	for (guint i = 0; i < 2; i++, turns++)
		run_once();
	g_assert_true(answered(f->other));
	g_assert_false(answered(f->busy));
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, 0);
	for (; !answered(f->busy); turns++) {
		g_assert_cmpuint(turns, <, 1000);
		run_once();
	}
	g_assert_cmpint(sham_response(f->busy, 0)->result, ==, 0);
	g_assert_true(is_on(f->busy, 1));
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, SITES);
	g_assert_cmpuint(turns, >, 5);
	g_assert_cmpuint(most_work(f), <, TURN + PIECE);
	/* They go off in turns, too, and others are answered meanwhile. */
	g_assert_cmpint(f->settled, ==, 0);
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "*", &result, NULL), ==, 0);
	g_assert_true(result.later);
	rs_session_result_clear(&result);
	g_assert_false(is_on(f->busy, 1));
	g_assert_cmpuint(sham_bulk_patched(f->busy), >, SITES / 2);
	sham_request(f->other, 0, RS_HCALL_QUERY, FIRST, NULL);
	for (turns = 0; turns < 2; turns++)
		run_once();
	g_assert_true(answered(f->other));
	for (; f->settled < 1; turns++)
		run_once();
	g_assert_cmpuint(turns, >, 5);
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, 0);
	g_assert_cmpuint(most_work(f), <, TURN + PIECE);
}

/* Other providers that come meanwhile have to wait, and lose nothing. */
static void test_beside(struct fixture *f, gconstpointer data)
{
	static const char *const systems[] = {"a", "b", "c"};

	for (guint i = 0; i < G_N_ELEMENTS(systems); i++)
		sham_provider(f->busy, systems[i], sched);
	check_begun(f);
	g_assert_false(is_on(f->busy, 2) || is_on(f->busy, 3) || is_on(f->busy, 4));
	for (guint turns = 0; !answered(f->busy); turns++) {
		g_assert_cmpuint(turns, <, 1000);
		run_once();
	}
	for (guint i = 0; i < 2 + G_N_ELEMENTS(systems); i++)
		g_assert_true(is_on(f->busy, i));
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, SITES);
	for (guint i = 2; i < 2 + G_N_ELEMENTS(systems); i++)
		g_assert_true(sham_patched(f->busy, FIRST + i));
}

/* Whoever waits for it when the session goes is refused once, in whatever slot. */
static void test_detached(struct fixture *f, gconstpointer data)
{
	struct rs_source_stat stat;

	sham_request(f->busy, 15, RS_HCALL_REGISTER, 1, NULL);
	check_begun(f);
	g_assert_cmpint(rs_session_detach(f->session, NULL), ==, 0);
	g_assert_cmpint(sham_response(f->busy, 0)->result, ==, -RS_EACCES);
	g_assert_cmpint(sham_response(f->busy, 15)->result, ==, -RS_EACCES);
	/* The guest goes on, and is looked at. */
	for (guint turns = 0; turns < 100; turns++) {
		struct rs_target_events *events = &f->busy->target.events;
		struct rs_target_end end;

		sham_request(f->busy, 3, RS_HCALL_QUERY, FIRST, NULL);
		g_assert_false(events->hypercall(events->data, 3, &end));
		rs_session_refresh(f->session);
	}
	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.late_answers, ==, 0);
}

/* Whoever asks about it meanwhile is told, and what is asked for others is done. */
static void test_asked(struct fixture *f, gconstpointer data)
{
	g_autoptr(GArray) list = NULL;
	const struct rs_session_event *e;

	check_begun(f);
	list = rs_session_list(f->session, "bulk:many");
	g_assert_cmpuint(list->len, ==, 1);
	e = &g_array_index(list, struct rs_session_event, 0);
	g_assert_false(e->live);
	g_assert_cmpstr(e->note, ==, "its sites are being read");
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL), ==,
			0);
	g_assert_false(is_on(f->busy, 0) || is_on(f->other, 0));
	sham_wait_answer(f->busy, 0);
	g_assert_true(is_on(f->busy, 1));
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, SITES);
}

/* Others come back while the sites of one are read: theirs are read later, and none is lost. */
static void test_others_return(struct fixture *f, gconstpointer data)
{
	static const char *const systems[] = {"a", "b", "c"};
	const guint n = 2 + G_N_ELEMENTS(systems);

	for (guint i = 0; i < G_N_ELEMENTS(systems); i++)
		sham_provider(f->busy, systems[i], sched);
	sham_wait_answer(f->busy, 0);
	for (guint slot = 2; slot < n; slot++) {
		sham_provider_dies(f->busy, 1);
		sham_request(f->busy, 0, RS_HCALL_UNREGISTER, 1, NULL);
		sham_wait_answer(f->busy, 0);
		sham_provider_returns(f->busy, 1);
		sham_request(f->busy, 0, RS_HCALL_REGISTER, 1, NULL);
		check_begun(f);
		sham_provider_dies(f->busy, slot);
		sham_provider_returns(f->busy, slot);
		sham_wait_answer(f->busy, 0);
		for (guint i = 0; i < n; i++)
			g_assert_true(is_on(f->busy, i));
		for (guint i = 2; i < n; i++)
			g_assert_true(sham_patched(f->busy, FIRST + i));
	}
}

/* Another one goes before all is read: what is read does not depend on it. */
static void test_other_goes(struct fixture *f, gconstpointer data)
{
	check_begun(f);
	sham_provider_dies(f->busy, 0);
	sham_wait_answer(f->busy, 0);
	g_assert_cmpint(sham_response(f->busy, 0)->result, ==, 0);
	g_assert_true(is_on(f->busy, 1) && !is_on(f->busy, 0));
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, SITES);
}

/* It goes before all is read, and comes back. */
static void test_goes(struct fixture *f, gconstpointer data)
{
	check_begun(f);
	sham_provider_dies(f->busy, 1);
	sham_wait_answer(f->busy, 0);
	g_assert_cmpint(sham_response(f->busy, 0)->result, ==, -RS_ENOENT);
	g_assert_false(is_on(f->busy, 1));
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, 0);
	sham_provider_returns(f->busy, 1);
	sham_request(f->busy, 0, RS_HCALL_REGISTER, 1, NULL);
	sham_wait_answer(f->busy, 0);
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, SITES);
	sham_request(f->busy, 0, RS_HCALL_UNREGISTER, 1, NULL);
	sham_wait_answer(f->busy, 0);
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, 0);
}

/* The guest boots again meanwhile: nobody is answered, and nothing is left of it. */
static void test_boots(struct fixture *f, gconstpointer data)
{
	struct rs_source_stat stat;

	check_begun(f);
	sham_hello(f->busy, 0);
	sham_provider(f->busy, "sched", sched);
	sham_request(f->busy, 0, RS_HCALL_HELLO, 0, NULL);
	sham_wait_answer(f->busy, 0);
	g_assert_true(is_on(f->busy, 0));
	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.sites, ==, 2);
}

/* The session ends meanwhile: the guest is told so. */
static void test_ends(struct fixture *f, gconstpointer data)
{
	check_begun(f);
	g_assert_cmpint(rs_session_detach(f->session, NULL), ==, 0);
	g_assert_true(answered(f->busy));
	g_assert_cmpint(sham_response(f->busy, 0)->result, ==, -RS_EACCES);
}

/* All is read and on. */
static void await_all(struct fixture *f)
{
	sham_wait_answer(f->busy, 0);
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, SITES);
}

static int ask(struct fixture *f, bool on, bool *later)
{
	struct rs_session_result result = {0};
	int ret = on ? rs_session_enable(f->session, RS_OWNER_HOST, "*", &result, NULL)
		     : rs_session_disable(f->session, RS_OWNER_HOST, "*", &result, NULL);

	*later = result.later;
	rs_session_result_clear(&result);
	return ret;
}

/* On and off, each before the other is done: the last one counts, and each is settled once. */
static void test_overlap(struct fixture *f, gconstpointer data)
{
	bool later;

	await_all(f);
	for (guint i = 0; i < 7; i++) {
		g_assert_cmpint(ask(f, i % 2, &later), ==, 0);
		g_assert_true(later);
		run_once();
		g_assert_cmpint(f->settled, <=, i + 1);
	}
	while (f->settled < 7)
		run_once();
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, 0);
	g_assert_cmpstr(f->problems->str, ==, "");
	g_assert_cmpuint(most_work(f), <, TURN + PIECE);
	/* Little is done at once. */
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL), ==, 0);
	g_assert_true(sham_patched(f->busy, FIRST));
	g_assert_cmpint(f->settled, ==, 7);
}

/* The guest changes its mind before each turn, so that its sites are never as it wishes. */
static void run_toggled(struct fixture *f)
{
	static guint n;

	if (answered(f->busy))
		sham_request(f->busy, 0, n++ % 2 ? RS_HCALL_DISABLE : RS_HCALL_ENABLE, 0, "bulk:*");
	sham_request(f->busy, 1, n++ % 2 ? RS_HCALL_DISABLE : RS_HCALL_ENABLE, 0, "bulk:*");
	run_once();
}

static void await_settled(struct fixture *f, int count)
{
	for (guint turns = 0; f->settled < count; turns++) {
		g_assert_cmpuint(turns, <, 1000);
		run_toggled(f);
	}
}

/* Whoever asks beside a guest that never stops asking is answered, whatever he asks for. */
static void test_toggled(struct fixture *f, gconstpointer data)
{
	struct rs_session_result result = {0};
	bool later;

	await_all(f);
	g_assert_cmpint(ask(f, false, &later), ==, 0);
	while (f->settled < 1)
		run_once();
	for (guint i = 0; i < 10; i++)
		run_toggled(f);
	/* Events of another guest, which has nothing to do: that is settled at once. */
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "k.2/*", &result, NULL), ==,
			0);
	g_assert_cmpuint(result.touched, ==, 1);
	g_assert_cmpuint(result.later, ==, 0);
	g_assert_true(sham_patched(f->other, FIRST));
	rs_session_result_clear(&result);
	/* Another provider of that guest. */
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", &result, NULL), ==,
			0);
	if (result.later)
		await_settled(f, 2);
	g_assert_true(sham_patched(f->busy, FIRST));
	rs_session_result_clear(&result);
	/* The events about which the guest asks. */
	f->settled = 0;
	g_assert_cmpint(ask(f, true, &later), ==, 0);
	if (later)
		await_settled(f, 1);
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, SITES);
}

/* A site that is refused in a later turn is told to who asked for it, and to nobody else. */
static void test_whose(struct fixture *f, gconstpointer data)
{
	const struct rs_session_ask other = {
		.from = f, .owner = "x", .kind = RS_ASK_ENABLE, .glob = "k.2/*"};
	struct rs_session_result result = {0};
	bool later;

	await_all(f);
	g_assert_cmpint(ask(f, false, &later), ==, 0);
	f->busy->stone = SHAM_ALL;
	g_assert_cmpint(rs_session_ask(f->session, &other, &result, NULL), ==, 0);
	g_assert_cmpuint(result.later, ==, 0);
	g_assert_null(result.problems);
	rs_session_result_clear(&result);
	while (f->settled < 1)
		run_once();
	g_assert_nonnull(strstr(f->problems->str, "of bulk:many not put back"));
	g_assert_nonnull(strstr(f->problems->str, "sites more likewise"));
	f->busy->stone = 0;
	g_assert_cmpint(ask(f, false, &later), ==, 0);
	while (f->settled < 2)
		run_once();
	g_assert_cmpstr(f->problems->str, ==, "");
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, 0);
}

/* The guest asks for its own events by mailbox, and is answered when the last site is patched. */
static void test_guest_asks(struct fixture *f, gconstpointer data)
{
	bool later;

	await_all(f);
	g_assert_cmpint(ask(f, false, &later), ==, 0);
	while (f->settled < 1)
		run_once();
	sham_request(f->busy, 0, RS_HCALL_ENABLE, 0, "bulk:*");
	while (!is_on(f->busy, 1))
		run_once();
	g_assert_false(answered(f->busy));
	sham_wait_answer(f->busy, 0);
	g_assert_cmpint(sham_response(f->busy, 0)->result, ==, 0);
	g_assert_cmpuint(sham_response(f->busy, 0)->values[0], ==, 1);
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, SITES);
}

/* In the midst of it the guest cannot be stopped: that is told, and tried again when asked. */
static void test_fails(struct fixture *f, gconstpointer data)
{
	bool later;

	await_all(f);
	g_assert_cmpint(ask(f, false, &later), ==, 0);
	f->busy->unstoppable = true;
	while (f->settled < 1)
		run_once();
	g_assert_true(g_str_has_prefix(f->problems->str, "k: not all text is as was asked for: "));
	g_assert_cmpuint(sham_bulk_patched(f->busy), >, 0);
	f->busy->unstoppable = false;
	g_assert_cmpint(ask(f, false, &later), ==, 0);
	while (f->settled < 2)
		run_once();
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, 0);
}

/* It goes while it is being patched, without a word, and comes back. */
static void test_goes_patched(struct fixture *f, gconstpointer data)
{
	while (!sham_bulk_patched(f->busy))
		run_once();
	sham_provider_dies(f->busy, 1);
	rs_session_refresh(f->session);
	sham_provider_returns(f->busy, 1);
	for (guint turns = 0; turns < 3; turns++) {
		run_once();
		g_assert_false(is_on(f->busy, 1));
	}
	while (!is_on(f->busy, 1) || sham_bulk_patched(f->busy) < SITES)
		run_once();
	g_assert_cmpuint(most_work(f), <, TURN + PIECE);
}

/* The guest ends meanwhile: nobody waits any longer. */
static void test_ends_patching(struct fixture *f, gconstpointer data)
{
	bool later;

	await_all(f);
	g_assert_cmpint(ask(f, false, &later), ==, 0);
	rs_session_stop(f->session, "enough");
	g_assert_cmpint(f->settled, ==, 1);
	f->busy->bulk_sites = 0; /* its text is gone */
}

static void say_called(struct fixture *f, uint64_t number, uint64_t on)
{
	const uint64_t args[] = {FIRST + 1, number, on};

	sham_request_args(f->busy, 1, RS_HCALL_CALLBACKS, args, NULL);
}

/* The guest gets a callback meanwhile: it is called once its sites are read. */
static void test_called(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==, 0);
	check_begun(f);
	say_called(f, 1, 1);
	sham_wait_answer(f->busy, 1);
	g_assert_cmpint(sham_response(f->busy, 1)->result, ==, 0);
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, SITES);
	g_assert_false(is_on(f->busy, 1));
	say_called(f, 2, 0);
	sham_wait_answer(f->busy, 1);
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, 0);
}

/* It has one, and none any more before they are read. */
static void test_called_no_more(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==, 0);
	check_begun(f);
	say_called(f, 1, 1);
	run_once();
	sham_request_args(f->busy, 2, RS_HCALL_CALLBACKS, (const uint64_t[]){FIRST + 1, 2, 0},
			  NULL);
	sham_wait_answer(f->busy, 2);
	sham_wait_answer(f->busy, 1);
	g_assert_cmpint(sham_response(f->busy, 2)->result, ==, 0);
	g_assert_cmpuint(sham_bulk_patched(f->busy), ==, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{"turns", test_turns},
		{"beside", test_beside},
		{"detached", test_detached},
		{"asked", test_asked},
		{"goes", test_goes},
		{"other-goes", test_other_goes},
		{"others-return", test_others_return},
		{"boots", test_boots},
		{"ends", test_ends},
		{"overlap", test_overlap},
		{"toggled", test_toggled},
		{"whose", test_whose},
		{"guest-asks", test_guest_asks},
		{"fails", test_fails},
		{"goes-patched", test_goes_patched},
		{"ends-patching", test_ends_patching},
		{"called", test_called},
		{"called-no-more", test_called_no_more},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/reading/%s", tests[i].name);

		g_test_add(path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	}
	return g_test_run();
}
