/* SPDX-License-Identifier: MIT */
/* The host as a source: what it tells of the others, to whom, and how long it lives. */
#include "session/session.h"

#include "sham.h"
#include "told.h"
#include <errno.h>
#include <ringside/control.h>
#include <string.h>

#define VCPUS 2u
#define WISH                                                                                       \
	{                                                                                          \
		.ring_bytes = 256 << 10, .ring_mode = RS_MODE_OVERWRITE                            \
	}

struct fixture {
	struct rs_session *session;
	struct sham *sham;
	struct rs_source *guest, *host;
	struct rs_target_ops ops;
};

static void set_up(struct fixture *f, gconstpointer wanted)
{
	static const char *const sched[] = {"switch", "wakeup", NULL};
	const struct rs_source_config config = {.kernel = "kern"};
	const struct rs_session_host wish = WISH;

	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->sham = sham_new_with_text(VCPUS, RS_CHANNEL_MAILBOX, 4096);
	f->ops = *f->sham->target.ops;
	f->ops.tells_exits = true;
	f->ops.borrowed = true;
	f->sham->target.ops = &f->ops;
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, &f->guest, NULL),
			==, 0);
	g_assert_cmpint(rs_session_add_host(f->session, &wish, NULL), ==, 0);
	f->host = rs_session_source(f->session, 1);
	if (wanted)
		g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, wanted, NULL, NULL),
				==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham, 0);
	sham_provider(f->sham, "sched", sched);
	rs_session_refresh(f->session);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	sham_free(f->sham);
}

/* What it has told must match this pattern: `*` for what differs from run to run. */
static void expect(const struct fixture *f, const char *pattern)
{
	g_autofree char *all = told_by(f->host);

	if (!g_pattern_match_simple(pattern, all))
		g_error("got\n%sbut not\n%s", all, pattern);
}

#define BEGINNING "2 attach source=1 name=kern kind=sham\n2 boot source=1 boot=1\n"

static void test_patches_and_pauses(struct fixture *f, gconstpointer data)
{
	g_autofree char *sums = NULL;
	struct rs_source_stat stat;

	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL), ==, 0);
	rs_source_stat(f->guest, &stat);
	sums = g_strdup_printf(
		BEGINNING "2 pause source=1 vcpus=2 stop_ns=*\n2 resume source=1 vcpus=2 "
			  "still_ns=*\n2 patch source=1 event=64 at=0x100000 now=on\n"
			  "2 patch source=1 event=65 at=0x100040 now=on\n"
			  "2 batch source=1 sites=2 refused=0 pause_ns=%" G_GUINT64_FORMAT "\n*",
		stat.pause_total_ns);
	g_assert_cmpuint(stat.batches, ==, 1);
	expect(f, sums);
	/* By hand: nothing is patched. */
	g_assert_cmpint(rs_session_pause(f->session, NULL), ==, 0);
	g_assert_cmpint(rs_source_state(f->host), ==, RS_SESSION_RUNNING);
	expect(f, "*2 batch *\n2 pause *\n");
	g_assert_cmpint(rs_session_resume(f->session, NULL), ==, 0);
	expect(f, "*2 batch *\n2 pause *\n2 resume *\n");
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "sched:switch", NULL, NULL),
			==, 0);
	expect(f, "*2 patch source=1 event=64 at=0x100000 now=off\n2 batch source=1 sites=1 *");
}

static void test_a_refused_site(struct fixture *f, gconstpointer data)
{
	f->sham->stone = 65;
	rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL);
	expect(f, "*2 patch source=1 event=65 at=0x100040 now=refused\n2 batch source=1 sites=1 "
		  "refused=1 *");
	f->sham->stone = 0;
}

static void test_a_guests_life(struct fixture *f, gconstpointer data)
{
	const struct rs_target_events *events = &f->sham->target.events;
	const struct rs_target_end end = {.reason = RS_END_EXIT};

	events->panicked(events->data, g_get_monotonic_time());
	events->reset(events->data, g_get_monotonic_time());
	sham_hello(f->sham, 0);
	rs_session_refresh(f->session);
	g_assert_null(rs_source_end(f->host));
	events->ended(events->data, &end);
	expect(f, BEGINNING "2 panic source=1 why=\n2 reset source=1\n2 boot source=1 boot=2\n"
			    "2 detach source=1 reason=exit\n");
	/* It ends with the others, and is not how the session ended. */
	g_assert_nonnull(rs_source_end(f->host));
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_ENDED);
	g_assert_true(rs_session_end_source(f->session) == f->guest);
}

static gpointer leave_guest(gpointer data)
{
	const struct rs_target_watch *watch = ((struct sham *)data)->target.watch;
	const struct rs_vcpu_exit exit = {
		.vcpu = 1, .reason = RS_EXIT_PORT, .at = 0x510, .guest_ns = 1000, .host_ns = 20};

	watch->exit(watch->data, &exit);
	return NULL;
}

static bool exits_wanted(const struct fixture *f)
{
	return *f->sham->target.watch->exits & RS_EVENT_ENABLED;
}

/* Each vCPU has a ring, and the session's thread the one after them. */
static void test_exits(struct fixture *f, gconstpointer data)
{
	g_assert_true(exits_wanted(f));
	g_thread_join(g_thread_new("vcpu", leave_guest, f->sham));
	expect(f, "1 exit source=1 vcpu=1 reason=port at=0x510 guest_ns=1000 host_ns=20\n");
	g_assert_cmpint(rs_session_set_filter(f->session, RS_OWNER_HOST, "host:exit", "at == 1",
					      NULL, NULL),
			==, 0);
	g_thread_join(g_thread_new("vcpu", leave_guest, f->sham));
	expect(f, "1 exit source=1 vcpu=1 reason=port at=0x510 guest_ns=1000 host_ns=20\n");
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==, 0);
	g_assert_false(exits_wanted(f));
}

static void test_nothing_unasked(struct fixture *f, gconstpointer data)
{
	g_assert_false(exits_wanted(f));
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL), ==, 0);
	g_thread_join(g_thread_new("vcpu", leave_guest, f->sham));
	expect(f, "");
	/* It has reported, but it is no guest. */
	g_assert_cmpstr(rs_source_name(f->host), ==, "host");
	g_assert_cmpstr(rs_source_kind(f->host), ==, "host");
	g_assert_true(rs_source_joined(f->host) && !rs_source_machine(f->host));
}

static void test_it_waits_for_a_guest(void)
{
	const struct rs_session_host wish = WISH;
	const struct rs_source_config config = {.kernel = "kern"};
	struct sham *sham = sham_new(1, RS_CHANNEL_MAILBOX);
	struct rs_session *session;

	g_assert_cmpint(rs_session_create("t", &session, NULL), ==, 0);
	g_assert_cmpint(rs_session_add_host(session, &wish, NULL), ==, -EBUSY);
	g_assert_cmpint(
		rs_session_add_source(session, &config, sham->region, &sham->target, NULL, NULL),
		==, 0);
	g_assert_cmpint(rs_session_add_host(session, &wish, NULL), ==, 0);
	g_assert_cmpint(rs_session_add_host(session, &wish, NULL), ==, -EBUSY);
	g_assert_cmpint(rs_session_start(session, NULL), ==, 0);
	/* The host has reported, and events of a guest may still come. */
	g_assert_cmpint(rs_session_state(session), ==, RS_SESSION_WAITING);
	g_assert_cmpint(rs_session_enable(session, RS_OWNER_HOST, "sched:*", NULL, NULL), ==, 0);
	rs_session_destroy(session);
	sham_free(sham);
}

/* A process has one agent. */
static void test_one_at_a_time(struct fixture *f, gconstpointer data)
{
	const struct rs_session_host wish = WISH;
	const struct rs_source_config config = {.kernel = "kern"};
	struct sham *sham = sham_new(1, RS_CHANNEL_MAILBOX);
	struct rs_error err = {0};
	struct rs_session *other;

	g_assert_cmpint(rs_session_create("o", &other, NULL), ==, 0);
	g_assert_cmpint(
		rs_session_add_source(other, &config, sham->region, &sham->target, NULL, NULL), ==,
		0);
	g_assert_cmpint(rs_session_add_host(other, &wish, &err), ==, -EBUSY);
	g_assert_cmpstr(err.message, ==,
			"the events of this process go to another session already");
	/* What happens there is not told here. */
	g_assert_cmpint(rs_session_start(other, NULL), ==, 0);
	expect(f, BEGINNING);
	rs_session_destroy(other);
	sham_free(sham);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define TEST(name, wanted, function)                                                               \
	g_test_add("/host/" name, struct fixture, wanted, set_up, function, tear_down)
	TEST("patches", "host:*", test_patches_and_pauses);
	TEST("refused", "host:*", test_a_refused_site);
	TEST("life", "host:*", test_a_guests_life);
	TEST("exits", "host:exit", test_exits);
	TEST("unasked", NULL, test_nothing_unasked);
	TEST("one", "host:*", test_one_at_a_time);
	g_test_add_func("/host/waits", test_it_waits_for_a_guest);
	return g_test_run();
}
