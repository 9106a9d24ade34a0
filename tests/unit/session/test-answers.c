/* SPDX-License-Identifier: MIT */
/* Requests that a session answers late: RS_HCALL_WAIT, and the nudge that follows each answer. */
#include "session/session.h"
#include "session/slots.h"

#include "sham.h"
#include <errno.h>
#include <ringside/atomic.h>
#include <ringside/control.h>
#include <ringside/record.h>

static const char *const sched[] = {"switch", "wakeup", NULL};

struct fixture {
	struct sham *sham;
	struct rs_session *session;
	struct rs_source *source;
	bool ended;
};

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	((struct fixture *)data)->ended = true;
}

static struct rs_session_listener listener = {.ended = on_ended};

/* The guest starts, or starts again. The clocks' comparison nudges it too, so tests count nudges
 * only around steps that take no time. */
static void say_hello(struct fixture *f, uint32_t flags)
{
	sham_hello(f->sham, flags);
	sham_provider(f->sham, "sched", sched);
	rs_session_refresh(f->session);
}

/* The guest announces an interrupt, and says hello. */
static void set_up(struct fixture *f, gconstpointer data)
{
	struct rs_source_config config = {.kernel = "k"};
	struct rs_error err = {0};

	f->sham = sham_new(2, RS_CHANNEL_MAILBOX);
	f->sham->announced = 40;
	g_assert_cmpint(rs_session_create("t", &f->session, &err), ==, 0);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, &f->source, &err),
			==, 0);
	listener.data = f;
	rs_session_add_listener(f->session, &listener);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	say_hello(f, RS_GUEST_SELF_PATCH | RS_GUEST_NUDGE_VECTOR);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	if (f->session)
		rs_session_destroy(f->session);
	sham_free(f->sham);
}

static const struct rs_control *control_of(struct fixture *f)
{
	return rs_trace_region_section(f->sham->region, RS_SEC_CONTROL, NULL);
}

/* The request in `slot` was taken, and its answer will come. */
static void wait_accepted(struct fixture *f, uint32_t slot)
{
	const struct rs_hcall_request *request =
		rs_trace_region_element(f->sham->region, RS_SEC_REQUEST, slot);
	const struct rs_hcall_response *response = sham_response(f->sham, slot);

	while (rs_load_acquire(&response->accepted) != request->sequence)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpuint(response->sequence, !=, request->sequence);
}

static uint64_t late_answers(struct fixture *f)
{
	struct rs_source_stat stat;

	rs_source_stat(f->source, &stat);
	return stat.late_answers;
}

static void test_wait(struct fixture *f, gconstpointer data)
{
	uint32_t now = sham_generation(f->sham), before;
	struct rs_source_stat stat;

	/* Changed already: answered at once. */
	sham_request(f->sham, 0, RS_HCALL_WAIT, now - 1, NULL);
	sham_wait_answer(f->sham, 0);
	g_assert_cmpint(sham_response(f->sham, 0)->result, ==, 0);
	g_assert_cmpuint(sham_response(f->sham, 0)->values[0], ==, now);
	/* Two wait, while another slot is served. */
	sham_request(f->sham, 5, RS_HCALL_WAIT, now, NULL);
	sham_request(f->sham, 1, RS_HCALL_WAIT, now, NULL);
	wait_accepted(f, 5);
	wait_accepted(f, 1);
	sham_request(f->sham, 0, RS_HCALL_LOG, 0, "meanwhile");
	sham_wait_answer(f->sham, 0);
	wait_accepted(f, 5);
	wait_accepted(f, 1);
	before = control_of(f)->nudge;
	f->sham->nudges = 0;
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL), ==, 0);
	g_assert_cmpint(sham_response(f->sham, 5)->result, ==, 0);
	g_assert_cmpuint(sham_response(f->sham, 5)->values[0], ==, now + 1);
	g_assert_cmpuint(sham_response(f->sham, 1)->values[0], ==, now + 1);
	/* The word first: a guest that sees no interrupt sees that it was nudged. */
	g_assert_cmpint(f->sham->nudges, ==, 2);
	g_assert_cmpuint(f->sham->nudge_vector, ==, 40);
	g_assert_cmpuint(control_of(f)->nudge, ==, before + 2);
	/* The request was answered, so another change answers nothing. */
	f->sham->nudges = 0;
	rs_session_disable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL);
	g_assert_cmpint(f->sham->nudges, ==, 0);
	rs_source_stat(f->source, &stat);
	g_assert_cmpuint(stat.hypercalls, ==, 4);
	g_assert_cmpuint(stat.bad_hypercalls, ==, 0);
	g_assert_cmpuint(stat.late_answers, ==, 0);
}

/* A boot takes its waits with it, and the next one uses the same slots. */
static void test_reboot(struct fixture *f, gconstpointer data)
{
	const struct rs_hcall_response *response = sham_response(f->sham, 3);
	uint32_t first = sham_generation(f->sham);
	uint32_t answered;

	sham_request(f->sham, 3, RS_HCALL_WAIT, first, NULL);
	wait_accepted(f, 3);
	answered = response->sequence;
	say_hello(f, RS_GUEST_SELF_PATCH | RS_GUEST_NUDGE_NMI);
	g_assert_cmpuint(sham_generation(f->sham), !=, first);
	g_assert_cmpuint(response->sequence, ==, answered);
	g_assert_cmpuint(late_answers(f), ==, 1);
	sham_request(f->sham, 3, RS_HCALL_WAIT, sham_generation(f->sham), NULL);
	wait_accepted(f, 3);
	rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL);
	sham_wait_answer(f->sham, 3);
	g_assert_cmpuint(response->values[0], ==, sham_generation(f->sham));
	g_assert_cmpuint(f->sham->nudge_vector, ==, 0);
	g_assert_cmpuint(late_answers(f), ==, 1);
}

/* A slot that is used anew while its first request waits: only the second one is answered. */
static void test_reused_slot(struct fixture *f, gconstpointer data)
{
	uint32_t now = sham_generation(f->sham);

	sham_request(f->sham, 2, RS_HCALL_WAIT, now, NULL);
	wait_accepted(f, 2);
	sham_request(f->sham, 2, RS_HCALL_QUERY, RS_FIRST_EVENT_ID, NULL);
	sham_wait_answer(f->sham, 2);
	g_assert_cmpuint(sham_response(f->sham, 2)->values[0], ==, 0);
	f->sham->nudges = 0;
	rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL);
	g_assert_cmpuint(sham_response(f->sham, 2)->values[0], ==, 0);
	g_assert_cmpuint(late_answers(f), ==, 1);
	g_assert_cmpint(f->sham->nudges, ==, 0); /* for nobody */
}

/* Whoever waits, in whichever slot, is answered by the same change. */
static void test_all_slots(struct fixture *f, gconstpointer data)
{
	const uint32_t now = sham_generation(f->sham);
	const uint32_t slots = f->sham->region->header.section[RS_SEC_REQUEST].count;

	for (uint32_t i = 0; i < slots; i++) {
		sham_request(f->sham, i, RS_HCALL_WAIT, now, NULL);
		wait_accepted(f, i);
	}
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL), ==, 0);
	for (uint32_t i = 0; i < slots; i++) {
		sham_wait_answer(f->sham, i);
		g_assert_cmpuint(sham_response(f->sham, i)->values[0], ==, now + 1);
	}
}

/* Requests that still wait are refused, since nobody will answer them. */
static void test_detach(struct fixture *f, gconstpointer data)
{
	const struct rs_hcall_response *response = sham_response(f->sham, 1);
	uint32_t generation = sham_generation(f->sham), flags = control_of(f)->flags;

	g_assert_cmphex(flags, ==, RS_CONTROL_SELF_PATCH | RS_CONTROL_NUDGES);
	sham_request(f->sham, 1, RS_HCALL_WAIT, generation, NULL);
	wait_accepted(f, 1);
	g_assert_cmpint(rs_session_detach(f->session, NULL), ==, 0);
	g_assert_cmpint(response->result, ==, 0);
	g_assert_cmpuint(response->values[0], !=, generation);
	generation = sham_generation(f->sham);
	g_assert_cmphex(control_of(f)->flags, ==, flags | RS_CONTROL_STOP);
	sham_request(f->sham, 1, RS_HCALL_WAIT, generation, NULL);
	sham_wait_answer(f->sham, 1);
	g_assert_cmpint(response->result, ==, -RS_EACCES);
}

static int nudge(struct fixture *f)
{
	uint32_t before = control_of(f)->nudge;
	int ret;

	f->sham->nudges = 0;
	ret = rs_source_nudge(f->source, NULL);
	g_assert_cmpuint(control_of(f)->nudge, ==, before + (ret != -ESHUTDOWN));
	g_assert_cmpint(f->sham->nudges, ==, ret == 0);
	return ret;
}

static void test_nudge(struct fixture *f, gconstpointer data)
{
	g_assert_cmphex(control_of(f)->flags & RS_CONTROL_NUDGES, ==, RS_CONTROL_NUDGES);
	g_assert_cmpint(nudge(f), ==, 0);
	g_assert_cmpuint(f->sham->nudge_vector, ==, 40);
	/* A vector of an exception is invalid, and without another way there is no interrupt. */
	f->sham->announced = 14;
	say_hello(f, RS_GUEST_SELF_PATCH | RS_GUEST_NUDGE_VECTOR);
	g_assert_cmphex(control_of(f)->flags & RS_CONTROL_NUDGES, ==, 0);
	g_assert_cmpint(nudge(f), ==, -ENOTSUP);
	say_hello(f, RS_GUEST_NUDGE_VECTOR | RS_GUEST_NUDGE_NMI);
	g_assert_cmpint(nudge(f), ==, 0);
	g_assert_cmpuint(f->sham->nudge_vector, ==, 0);
	rs_session_stop(f->session, "enough");
	sham_wait(&f->ended);
	g_assert_cmpint(nudge(f), ==, -ESHUTDOWN);
}

/* The vectors that a guest can take: the first 32 are of exceptions. */
static void test_vectors(struct fixture *f, gconstpointer data)
{
	static const struct {
		uint32_t vector;
		bool can;
	} cases[] = {{0, false},  {31, false},  {32, true},         {33, true},
		     {255, true}, {256, false}, {UINT32_MAX, false}};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		f->sham->announced = cases[i].vector;
		say_hello(f, RS_GUEST_SELF_PATCH | RS_GUEST_NUDGE_VECTOR);
		g_assert_cmphex(control_of(f)->flags, ==,
				RS_CONTROL_SELF_PATCH | (cases[i].can ? RS_CONTROL_NUDGES : 0));
		g_assert_cmpint(nudge(f), ==, cases[i].can ? 0 : -ENOTSUP);
		if (cases[i].can)
			g_assert_cmpuint(f->sham->nudge_vector, ==, cases[i].vector);
		/* It announces a vector, but not that it takes one. */
		say_hello(f, RS_GUEST_SELF_PATCH);
		g_assert_cmpint(nudge(f), ==, -ENOTSUP);
	}
}

/* A guest whose clock is not known well is asked for it, again and again. */
static void test_asked_for_time(struct fixture *f, gconstpointer data)
{
	guint rounds = 0;

	for (int times = 0; times < 2; times++) {
		f->sham->nudges = 0;
		while (!f->sham->nudges) {
			g_assert_cmpuint(rounds++, <, 5000);
			g_main_context_iteration(NULL, TRUE);
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define TEST(name, function)                                                                       \
	g_test_add("/answers/" name, struct fixture, NULL, set_up, function, tear_down)
	TEST("wait", test_wait);
	TEST("reboot", test_reboot);
	TEST("reused-slot", test_reused_slot);
	TEST("all-slots", test_all_slots);
	TEST("detach", test_detach);
	TEST("nudge", test_nudge);
	TEST("vectors", test_vectors);
	TEST("asked-for-time", test_asked_for_time);
	return g_test_run();
}
