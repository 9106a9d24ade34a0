/* SPDX-License-Identifier: MIT */
/*
 * A target that is not ready for a pause is not waited for. What is asked of it is done, and
 * answered, once it is ready or has been given up. Others are served meanwhile.
 */
#include "session/session.h"

#include "sham.h"
#include <ringside/atomic.h>
#include <ringside/hypercall.h>
#include <ringside/record.h>
#include <string.h>

#define FIRST RS_FIRST_EVENT_ID

static const char *const sched[] = {"switch", "wakeup", NULL};

struct fixture {
	struct rs_session *session;
	struct rs_session_listener listener;
	struct rs_session_result result;
	struct sham *busy, *other;
	int settled;
	uint32_t request;  /* the last that was settled … */
	uint32_t touched;  /* … its events … */
	GString *problems; /* … and problems */
};

static void on_settled(void *data, uint32_t request, int ret,
		       const struct rs_session_result *result, const struct rs_error *err)
{
	const GPtrArray *problems = result->problems;
	struct fixture *f = data;

	g_assert_cmpint(ret, ==, 0);
	f->touched = result->touched;
	f->settled++;
	f->request = request;
	g_string_truncate(f->problems, 0);
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

static void describe(struct sham *sham)
{
	sham_hello(sham, 0);
	sham_provider(sham, "sched", sched);
}

/* Both guests have reported. One is not ready. */
static void set_up(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->busy = add_guest(f);
	f->other = add_guest(f);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	describe(f->busy);
	describe(f->other);
	rs_session_refresh(f->session);
	f->busy->not_ready = true;
	f->problems = g_string_new(NULL);
	f->listener = (struct rs_session_listener){.data = f, .settled = on_settled};
	rs_session_add_listener(f->session, &f->listener);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_result_clear(&f->result);
	rs_session_destroy(f->session);
	g_assert_false(sham_patched(f->busy, FIRST) || sham_patched(f->other, FIRST));
	sham_free(f->busy);
	sham_free(f->other);
	g_string_free(f->problems, TRUE);
}

static uint32_t enable(struct fixture *f, const char *glob)
{
	rs_session_result_clear(&f->result);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, glob, &f->result, NULL), ==,
			0);
	return f->result.later;
}

static void wait_settled(struct fixture *f, int count)
{
	while (f->settled < count)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(f->settled, ==, count);
}

static bool answered(struct sham *sham)
{
	const struct rs_hcall_request *r =
		rs_trace_region_section(sham->region, RS_SEC_REQUEST, NULL);

	return rs_load_acquire(&sham_response(sham, 0)->sequence) == rs_load(&r->sequence);
}

/* The session goes on with all else: the other guest is answered twice. */
static void serve_other(struct fixture *f)
{
	for (int i = 0; i < 2; i++) {
		g_autoptr(GArray) list = NULL;

		sham_request(f->other, 0, RS_HCALL_QUERY, FIRST, NULL);
		sham_wait_answer(f->other, 0);
		list = rs_session_list(f->session, NULL);
		g_assert_cmpuint(list->len, >=, 4);
	}
	g_assert_cmpint(f->busy->pauses, ==, 0);
}

/* Whoever asked is answered when the sites are patched. The other guest is patched at once. */
static void test_later(struct fixture *f, gconstpointer data)
{
	uint32_t request = enable(f, "*");

	g_assert_cmpuint(request, !=, 0);
	g_assert_true(sham_patched(f->other, FIRST) && sham_patched(f->other, FIRST + 1));
	serve_other(f);
	g_assert_false(sham_patched(f->busy, FIRST));
	g_assert_cmpint(f->settled, ==, 0);
	sham_get_ready(f->busy);
	wait_settled(f, 1);
	g_assert_cmpuint(f->request, ==, request);
	g_assert_cmpuint(f->touched, ==, 4);
	g_assert_cmpstr(f->problems->str, ==, "");
	g_assert_true(sham_patched(f->busy, FIRST) && sham_patched(f->busy, FIRST + 1));
	g_assert_cmpint(f->busy->pauses, ==, 1);
}

/* What is asked for meanwhile is done in the same pause, or not at all if nobody wants it. */
static void test_several(struct fixture *f, gconstpointer data)
{
	g_assert_cmpuint(enable(f, "switch"), !=, 0);
	g_assert_cmpuint(enable(f, "wakeup"), !=, 0);
	rs_session_result_clear(&f->result);
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "switch", &f->result, NULL),
			==, 0);
	g_assert_cmpuint(f->result.later, !=, 0);
	serve_other(f);
	sham_get_ready(f->busy);
	wait_settled(f, 3);
	g_assert_true(!sham_patched(f->busy, FIRST) && sham_patched(f->busy, FIRST + 1));
	g_assert_cmpint(f->busy->pauses, ==, 1);
}

/* It says that it is ready, and is not any more when it is asked. */
static void test_not_for_long(struct fixture *f, gconstpointer data)
{
	enable(f, "*");
	for (int i = 0; i < 3; i++) {
		sham_get_ready(f->busy);
		f->busy->not_ready = true;
		serve_other(f);
	}
	g_assert_cmpint(f->settled, ==, 0);
	sham_get_ready(f->busy);
	wait_settled(f, 1);
	g_assert_true(sham_patched(f->busy, FIRST));
}

/* It is given up: whoever asked is told, and it is done when the target is ready after all. */
static void test_given_up(struct fixture *f, gconstpointer data)
{
	enable(f, "*");
	f->busy->unstoppable = true;
	sham_get_ready(f->busy);
	wait_settled(f, 1);
	g_assert_nonnull(strstr(f->problems->str, "it runs away"));
	serve_other(f);
	g_assert_false(sham_patched(f->busy, FIRST));
	f->busy->unstoppable = false;
	sham_get_ready(f->busy);
	while (!sham_patched(f->busy, FIRST))
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(f->settled, ==, 1);
}

/* The guest's own requests wait, too: for its events, and for what a provider brings. */
static void test_guest(struct fixture *f, gconstpointer data)
{
	static const char *const net[] = {"rx", NULL};
	uint32_t slot;

	sham_request(f->busy, 0, RS_HCALL_ENABLE, 0, "*");
	serve_other(f);
	g_assert_false(answered(f->busy));
	sham_get_ready(f->busy);
	sham_wait_answer(f->busy, 0);
	g_assert_true(sham_patched(f->busy, FIRST));

	f->busy->not_ready = true;
	f->busy->pauses = 0;
	slot = sham_provider(f->busy, "net", net);
	sham_request(f->busy, 0, RS_HCALL_REGISTER, slot, NULL);
	serve_other(f);
	g_assert_false(answered(f->busy) || sham_patched(f->busy, FIRST + 2));
	sham_get_ready(f->busy);
	sham_wait_answer(f->busy, 0);
	g_assert_true(sham_patched(f->busy, FIRST + 2));

	f->busy->not_ready = true;
	f->busy->pauses = 0;
	sham_request(f->busy, 0, RS_HCALL_UNREGISTER, slot, NULL);
	serve_other(f);
	g_assert_false(answered(f->busy));
	sham_get_ready(f->busy);
	sham_wait_answer(f->busy, 0);
	g_assert_false(sham_patched(f->busy, FIRST + 2));
}

/* A guest that patches itself needs no pause. */
static void test_self(struct fixture *f, gconstpointer data)
{
	sham_hello(f->busy, RS_GUEST_SELF_PATCH);
	sham_provider(f->busy, "sched", sched);
	rs_session_refresh(f->session);
	g_assert_cmpuint(enable(f, "*"), ==, 0);
	g_assert_true(sham_word(f->busy, FIRST) & RS_EVENT_ENABLED);
	g_assert_cmpint(f->busy->pauses, ==, 0);
}

/* At the end the text is restored, whether the target is ready or not. */
static void test_detach(struct fixture *f, gconstpointer data)
{
	f->busy->not_ready = false;
	g_assert_cmpuint(enable(f, "switch"), ==, 0);
	g_assert_true(sham_patched(f->busy, FIRST));
	f->busy->not_ready = true;
	g_assert_cmpuint(enable(f, "wakeup"), !=, 0);
	g_assert_cmpint(rs_session_detach(f->session, NULL), ==, 0);
	g_assert_false(sham_patched(f->busy, FIRST) || sham_patched(f->busy, FIRST + 1));
	g_assert_cmpint(f->settled, ==, 1);
}

/* It ends instead. */
static void test_ends(struct fixture *f, gconstpointer data)
{
	const struct rs_target_end end = {.reason = RS_END_GONE};

	enable(f, "*");
	f->busy->target.events.ended(f->busy->target.events.data, &end);
	wait_settled(f, 1);
	g_assert_cmpint(f->busy->pauses, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, test)                                                                            \
	g_test_add("/session/ready/" name, struct fixture, NULL, set_up, test, tear_down)
	ADD("later", test_later);
	ADD("several", test_several);
	ADD("not-for-long", test_not_for_long);
	ADD("given-up", test_given_up);
	ADD("guest", test_guest);
	ADD("self", test_self);
	ADD("detach", test_detach);
	ADD("ends", test_ends);
	return g_test_run();
}
