/* SPDX-License-Identifier: MIT */
/* When the session looks again at what its guests have written. The time is this test's. */
#include "session/session.h"

#include "sham.h"
#include <ringside/record.h>

#define FIRST RS_FIRST_EVENT_ID
#define MS G_GINT64_CONSTANT(1000)

static gint64 now; /* long ago, so the timer is always due */

gint64 __wrap_g_get_monotonic_time(void);

gint64 __wrap_g_get_monotonic_time(void)
{
	return now;
}

struct fixture {
	struct rs_session *session;
	struct rs_regions *regions; /* of the only sham, if asked for; the session owns them */
	struct sham *sham[2];
	guint n;
};

static void add(struct fixture *f, struct sham *sham)
{
	struct rs_source_config config = {.kernel = "kern"};
	struct rs_source *source;

	g_assert_cmpint(rs_session_add_source(f->session, &config, sham->region, &sham->target,
					      &source, NULL),
			==, 0);
	if (f->regions)
		rs_session_add_memory(f->session, source, f->regions, false);
	f->sham[f->n++] = sham;
}

static void set_up(struct fixture *f, gconstpointer data)
{
	now = 1000 * MS;
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	for (guint i = 0; i < f->n; i++)
		sham_free(f->sham[i]);
}

static void start(struct fixture *f)
{
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
}

/* A round of the timer; returns in how many us it asks for the next one. */
static gint64 look(struct fixture *f)
{
	GSource *timer = g_main_context_find_source_by_user_data(NULL, f->session);

	g_assert_nonnull(timer);
	g_assert_true(g_main_context_iteration(NULL, TRUE));
	return g_source_get_ready_time(timer) - now;
}

/* A guest that waits at a mailbox is looked at very often, and less so once it is quiet. */
static void test_mailbox(struct fixture *f, gconstpointer data)
{
	add(f, sham_new(1, RS_CHANNEL_MAILBOX));
	start(f);
	for (int i = 0; i < 3; i++, now += 1000 * MS)
		g_assert_cmpint(look(f), ==, 1 * MS);
	sham_hello(f->sham[0], RS_GUEST_SELF_PATCH);
	g_assert_cmpint(look(f), ==, 1 * MS); /* before it is known that it is there */
	now += 200 * MS - 1;
	g_assert_cmpint(look(f), ==, 1 * MS);
	now++;
	g_assert_cmpint(look(f), ==, 10 * MS);
	now += 10 * MS;
	sham_request(f->sham[0], 0, RS_HCALL_QUERY, FIRST, NULL);
	g_assert_cmpint(look(f), ==, 1 * MS);
	g_assert_cmpuint(sham_response(f->sham[0], 0)->sequence, ==, 1);
	now += 200 * MS - 1;
	g_assert_cmpint(look(f), ==, 1 * MS);
	now++;
	g_assert_cmpint(look(f), ==, 10 * MS);
}

/* What nobody reports is looked for now and then. */
static void test_tables(struct fixture *f, gconstpointer data)
{
	static const char *const events[] = {"e", NULL};

	add(f, sham_new(1, RS_CHANNEL_PORT));
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==, 0);
	start(f);
	g_assert_cmpint(look(f), ==, 100 * MS);
	sham_hello(f->sham[0], RS_GUEST_SELF_PATCH);
	sham_provider(f->sham[0], "s", events);
	now += 100 * MS - 1;
	g_assert_cmpint(look(f), ==, 100 * MS);
	g_assert_cmphex(sham_word(f->sham[0], FIRST), ==, 0);
	now++;
	g_assert_cmpint(look(f), ==, 100 * MS);
	g_assert_cmphex(sham_word(f->sham[0], FIRST), ==, RS_EVENT_ENABLED);
}

/* The one that wants it soonest counts, and one that has ended wants nothing. */
static void test_several(struct fixture *f, gconstpointer data)
{
	const struct rs_target_end end = {.reason = RS_END_EXIT};

	add(f, sham_new(1, RS_CHANNEL_MAILBOX));
	add(f, sham_new(1, RS_CHANNEL_PORT));
	start(f);
	g_assert_cmpint(look(f), ==, 1 * MS);
	f->sham[0]->target.events.ended(f->sham[0]->target.events.data, &end);
	g_assert_cmpint(look(f), ==, 100 * MS);
	/* With the last one the timer goes. */
	f->sham[1]->target.events.ended(f->sham[1]->target.events.data, &end);
	g_assert_true(g_main_context_iteration(NULL, TRUE));
	g_assert_null(g_main_context_find_source_by_user_data(NULL, f->session));
}

/* Sites that cannot be patched now are no reason to look at once, until the target is ready. */
static void test_not_ready(struct fixture *f, gconstpointer data)
{
	static const char *const events[] = {"e", NULL};

	add(f, sham_new_with_text(1, RS_CHANNEL_PORT, 1024));
	start(f);
	sham_hello(f->sham[0], 0);
	sham_provider(f->sham[0], "s", events);
	g_assert_cmpint(look(f), ==, 100 * MS);
	f->sham[0]->not_ready = true;
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==, 0);
	for (int i = 0; i < 3; i++, now += 100 * MS)
		g_assert_cmpint(look(f), ==, 100 * MS);
	g_assert_false(sham_patched(f->sham[0], FIRST));
	sham_get_ready(f->sham[0]);
	look(f);
	g_assert_true(sham_patched(f->sham[0], FIRST));
}

/* Who takes a region does not call either. */
static void test_members(struct fixture *f, gconstpointer data)
{
	const struct rs_region_config layout = {.vcpus = 1,
						.ring_bytes = 65536,
						.event_capacity = 256,
						.hcall_channel = RS_CHANNEL_PORT};
	const struct rs_regions_run runs[] = {{&layout, RS_SOURCE_KERNEL, 1},
					      {&layout, RS_SOURCE_USER, 2}};
	RsTraceRegion *region;

	g_assert_cmpint(rs_regions_create(runs, 2, false, -1, &f->regions, NULL), ==, 0);
	g_assert_cmpint(rs_regions_map(f->regions, 0, &region, NULL), ==, 0);
	add(f, sham_on(region, false));
	start(f);
	for (int i = 0; i < 3; i++, now += 1000 * MS)
		g_assert_cmpint(look(f), ==, 10 * MS);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, test)                                                                            \
	g_test_add("/session/timer/" name, struct fixture, NULL, set_up, test, tear_down)
	ADD("mailbox", test_mailbox);
	ADD("tables", test_tables);
	ADD("several", test_several);
	ADD("not-ready", test_not_ready);
	ADD("members", test_members);
	return g_test_run();
}
