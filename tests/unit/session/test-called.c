/* SPDX-License-Identifier: MIT */
/* A guest's own callbacks (RS_HCALL_CALLBACKS): its sites are on for them, whatever is recorded. */
#include "session/session.h"

#include "sham.h"
#include <ringside/control.h>
#include <ringside/record.h>

#define FIRST RS_FIRST_EVENT_ID

static const char *const sched[] = {"switch", "wakeup", NULL};

struct fixture {
	struct rs_session *session;
	struct sham *sham;
	uint32_t slot;
};

static void set_up(struct fixture *f, gconstpointer data)
{
	struct rs_source_config config = {.kernel = "kern"};

	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->sham = sham_new_with_text(1, RS_CHANNEL_MAILBOX, 1024);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, NULL, NULL),
			==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham, 0);
	f->slot = sham_provider(f->sham, "sched", sched);
	rs_session_refresh(f->session);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	/* All text is as it was. */
	g_assert_false(sham_patched(f->sham, FIRST));
	g_assert_false(sham_patched(f->sham, FIRST + 1));
	sham_free(f->sham);
}

static int32_t ask(struct fixture *f, uint64_t id, uint64_t number, uint64_t on)
{
	sham_request_args(f->sham, 0, RS_HCALL_CALLBACKS, (const uint64_t[]){id, number, on}, NULL);
	sham_wait_answer(f->sham, 0);
	return sham_response(f->sham, 0)->result;
}

static void check(struct fixture *f, bool patched, bool enabled)
{
	g_assert_cmpint(sham_patched(f->sham, FIRST), ==, patched);
	g_assert_cmpint(sham_word(f->sham, FIRST) & RS_EVENT_ENABLED, ==, enabled);
}

static void test_sites_are_on_for_callbacks(struct fixture *f, gconstpointer data)
{
	g_autoptr(GArray) list = NULL;
	const struct rs_session_event *row;

	check(f, false, false);
	g_assert_cmpint(ask(f, FIRST, 1, 1), ==, 0);
	check(f, true, false);
	g_assert_false(sham_patched(f->sham, FIRST + 1));
	list = rs_session_list(f->session, NULL);
	row = &g_array_index(list, struct rs_session_event, 0);
	g_assert_false(row->enabled);
	g_assert_cmpstr(row->note, ==, "its sites are on for callbacks in the guest");
	/* The same once more counts once. */
	g_assert_cmpint(ask(f, FIRST, 2, 1), ==, 0);
	g_assert_cmpint(ask(f, FIRST, 3, 0), ==, 0);
	check(f, false, false);
	g_assert_cmpint(ask(f, FIRST, 4, 0), ==, 0);
	check(f, false, false);
}

static void test_sites_stay_on_for_callbacks_or_records(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "switch", NULL, NULL), ==, 0);
	g_assert_cmpint(ask(f, FIRST, 1, 1), ==, 0);
	check(f, true, true);
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "switch", NULL, NULL), ==, 0);
	check(f, true, false);
	/* Nothing is left to be done for an event that is off. */
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==, 0);
	check(f, true, false);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "switch", NULL, NULL), ==, 0);
	g_assert_cmpint(ask(f, FIRST, 2, 0), ==, 0);
	check(f, true, true);
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "switch", NULL, NULL), ==, 0);
	check(f, false, false);
}

static void test_overtaken_request(struct fixture *f, gconstpointer data)
{
	/* The first number may be any. */
	g_assert_cmpint(ask(f, FIRST, 0xffff, 0), ==, 0);
	g_assert_cmpint(ask(f, FIRST, 0xfffe, 1), ==, 0);
	check(f, false, false);
	g_assert_cmpint(ask(f, FIRST, 0xffff, 1), ==, 0);
	check(f, false, false);
	g_assert_cmpint(ask(f, FIRST, 0, 1), ==, 0);
	check(f, true, false);
	g_assert_cmpint(ask(f, FIRST, 0x8000, 0), ==, 0);
	check(f, true, false);
	g_assert_cmpint(ask(f, FIRST, 0x7fff, 0), ==, 0);
	check(f, false, false);
}

static void test_bad_requests(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(ask(f, FIRST + 2, 1, 1), ==, -RS_ENOENT);
	g_assert_cmpint(ask(f, 0, 1, 1), ==, -RS_ENOENT);
	g_assert_cmpint(ask(f, f->sham->region->header.event_capacity, 1, 1), ==, -RS_ENOENT);
	g_assert_cmpint(ask(f, UINT64_MAX, 1, 1), ==, -RS_ENOENT);
	g_assert_cmpint(ask(f, FIRST, 0x10000, 1), ==, -RS_EINVAL);
	g_assert_cmpint(ask(f, FIRST, 1, 2), ==, -RS_EINVAL);
	check(f, false, false);
	sham_provider_dies(f->sham, f->slot);
	rs_session_refresh(f->session);
	g_assert_cmpint(ask(f, FIRST, 1, 1), ==, -RS_ENOENT);
}

static void test_refused_text(struct fixture *f, gconstpointer data)
{
	struct rs_source_stat stat;

	f->sham->unstoppable = true;
	g_assert_cmpint(ask(f, FIRST, 1, 1), ==, -RS_EACCES);
	f->sham->unstoppable = false;
	check(f, false, false);
	rs_session_refresh(f->session);
	check(f, false, false);
	g_assert_cmpint(ask(f, FIRST, 2, 1), ==, 0);
	check(f, true, false);
	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.sites_on, ==, 1);
}

static void test_provider_takes_callbacks_along(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(ask(f, FIRST, 1, 1), ==, 0);
	sham_provider_dies(f->sham, f->slot);
	rs_session_refresh(f->session);
	g_assert_false(sham_patched(f->sham, FIRST));
	sham_provider_returns(f->sham, f->slot);
	rs_session_refresh(f->session);
	check(f, false, false);
	/* The guest says it again, with whatever number. */
	g_assert_cmpint(ask(f, FIRST, 1, 1), ==, 0);
	check(f, true, false);
	/* Another boot knows nothing of it. */
	sham_hello(f->sham, 0);
	sham_provider(f->sham, "sched", sched);
	rs_session_refresh(f->session);
	check(f, false, false);
	g_assert_cmpint(ask(f, FIRST, 1, 1), ==, 0);
	check(f, true, false);
}

/* A session that attaches was told nothing, but the guest's memory says it. */
static void test_callbacks_are_found_in_memory(struct fixture *f, gconstpointer data)
{
	static const char *const two[] = {"fork", "exec", NULL};
	const uint32_t third = FIRST + 2, fourth = FIRST + 3;

	sham_set_called(f->sham, third, 7u << 16 | 2);
	sham_set_called(f->sham, fourth, 9u << 16);
	sham_provider(f->sham, "task", two);
	rs_session_refresh(f->session);
	g_assert_true(sham_patched(f->sham, third));
	g_assert_false(sham_patched(f->sham, fourth));
	g_assert_cmpint(sham_word(f->sham, third) & RS_EVENT_ENABLED, ==, 0);
	/* What the guest says later is newer, or has been overtaken. */
	g_assert_cmpint(ask(f, third, 6, 0), ==, 0);
	g_assert_true(sham_patched(f->sham, third));
	g_assert_cmpint(ask(f, fourth, 1, 1), ==, 0);
	g_assert_true(sham_patched(f->sham, fourth));
	g_assert_cmpint(ask(f, third, 8, 0), ==, 0);
	g_assert_false(sham_patched(f->sham, third));
}

/* All sites of the event, in one batch; text that cannot be written ends it, but nothing else. */
static void test_callbacks_that_cannot_be_patched(struct fixture *f, gconstpointer data)
{
	static const char *const two[] = {"fork", "exec", NULL};
	struct rs_source_stat stat;

	sham_set_called(f->sham, FIRST + 2, 1u << 16 | 1);
	sham_set_called(f->sham, FIRST + 3, UINT32_MAX);
	sham_provider(f->sham, "task", two);
	f->sham->unstoppable = true;
	rs_session_refresh(f->session);
	g_assert_false(sham_patched(f->sham, FIRST + 2));
	g_assert_false(sham_patched(f->sham, FIRST + 3));
	f->sham->unstoppable = false;
	g_assert_cmpint(ask(f, FIRST + 2, 2, 1), ==, 0);
	g_assert_true(sham_patched(f->sham, FIRST + 2));
	/* The highest number: 0 follows it. */
	g_assert_cmpint(ask(f, FIRST + 3, 0, 1), ==, 0);
	g_assert_true(sham_patched(f->sham, FIRST + 3));
	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.sites_on, ==, 2);
	g_assert_cmpint(ask(f, FIRST + 3, 1, 0), ==, 0);
	g_assert_cmpint(ask(f, FIRST + 2, 3, 0), ==, 0);
}

static void test_leaving_puts_text_back(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};

	g_assert_cmpint(ask(f, FIRST, 1, 1), ==, 0);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "wakeup", NULL, NULL), ==, 0);
	g_assert_cmpint(rs_session_detach(f->session, &err), ==, 0);
	check(f, false, false);
}

#define ADD(path, test)                                                                            \
	g_test_add("/session/called/" path, struct fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("on", test_sites_are_on_for_callbacks);
	ADD("apart", test_sites_stay_on_for_callbacks_or_records);
	ADD("overtaken", test_overtaken_request);
	ADD("bad", test_bad_requests);
	ADD("refused", test_refused_text);
	ADD("provider", test_provider_takes_callbacks_along);
	ADD("found", test_callbacks_are_found_in_memory);
	ADD("not-patched", test_callbacks_that_cannot_be_patched);
	ADD("leaving", test_leaving_puts_text_back);
	return g_test_run();
}
