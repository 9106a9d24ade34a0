/* SPDX-License-Identifier: MIT */
/*
 * What is counted as work of a turn, so that whoever causes much of it makes others wait no longer:
 * as session/private.h says it, for one thing at a time.
 */
#include "session/session.h"

#include "sham.h"
#include <ringside/record.h>
#include <string.h>

#define FIRST RS_FIRST_EVENT_ID
#define REQUEST 2048u /* a request, or a slot of the table */
#define EVENT 256u    /* a plan for an event */
#define LIST 64u      /* an event in a list that is made anew */
#define RULE 8u       /* a rule is compared with an event of a short name */
#define LOG 64u       /* a byte of what a guest logs */
#define SOME 100u     /* events */

struct fixture {
	struct rs_session *session;
	struct sham *sham;
};

/* The guest has not reported. */
static void set_up_silent(struct fixture *f, gconstpointer data)
{
	struct rs_source_config config = {.kernel = "kern"};

	f->sham = sham_new(1, RS_CHANNEL_MAILBOX);
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, NULL, NULL),
			==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
}

static void set_up(struct fixture *f, gconstpointer data)
{
	set_up_silent(f, data);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	sham_free(f->sham);
}

/* The most work in any turn so far is `least`, or a little more. */
static void check(struct fixture *f, uint64_t least)
{
	struct rs_source_stat stat;

	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.most_work, >=, least);
	g_assert_cmpuint(stat.most_work, <=, least + least / 8);
}

/* A provider with so many events. Returns the bytes of their descriptors. */
static uint64_t come(struct fixture *f, guint events)
{
	uint64_t before = f->sham->event_bytes;
	g_auto(GStrv) names = g_new0(char *, events + 1);

	for (guint i = 0; i < events; i++)
		names[i] = g_strdup_printf("e%u", i);
	sham_provider(f->sham, "s", (const char *const *)names);
	rs_session_refresh(f->session);
	return f->sham->event_bytes - before;
}

/* One after the other, so that each costs little. */
static void come_slowly(struct fixture *f)
{
	for (guint i = 0; i < SOME; i++)
		come(f, 1);
}

static void test_request(struct fixture *f, gconstpointer data)
{
	struct rs_target_events *events = &f->sham->target.events;
	struct rs_target_end end;

	sham_request(f->sham, 0, RS_HCALL_QUERY, FIRST, NULL);
	g_assert_false(events->hypercall(events->data, 0, &end));
	check(f, REQUEST);
	/* The next one is another turn. */
	sham_request(f->sham, 0, RS_HCALL_QUERY, FIRST, NULL);
	g_assert_false(events->hypercall(events->data, 0, &end));
	check(f, REQUEST);
}

/* What a guest logs is work for all who listen. What was cut is not. */
static void test_log(struct fixture *f, gconstpointer data)
{
	struct rs_target_events *events = &f->sham->target.events;
	static const char line[] = "a line that is told as it is";
	g_autofree char *longer = g_strnfill(2000, 'a');
	struct rs_target_end end;

	sham_request(f->sham, 0, RS_HCALL_LOG, 0, line);
	g_assert_false(events->hypercall(events->data, 0, &end));
	check(f, REQUEST + strlen(line) * LOG);
	sham_request(f->sham, 0, RS_HCALL_LOG, 0, longer);
	g_assert_false(events->hypercall(events->data, 0, &end));
	check(f, REQUEST + 300 * LOG);
}

static void test_descriptors(struct fixture *f, gconstpointer data)
{
	uint64_t size = come(f, 20);

	check(f, REQUEST + size + 20 * (LIST + EVENT));
}

/* Each change makes the list of all events anew. */
static void test_list(struct fixture *f, gconstpointer data)
{
	uint64_t size = come(f, 1);

	come_slowly(f);
	check(f, REQUEST + size + (1 + SOME) * LIST + EVENT);
}

static void test_plans(struct fixture *f, gconstpointer data)
{
	come_slowly(f);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==, 0);
	check(f, SOME * EVENT);
}

/* Those of all owners are compared with each event that comes. */
static void test_rules(struct fixture *f, gconstpointer data)
{
	const guint rules = 100;
	uint64_t size;

	for (guint i = 0; i < rules; i++) {
		g_autofree char *glob = g_strdup_printf("x:e%u*", i);

		g_assert_cmpint(rs_session_enable(f->session, i % 2 ? "peer" : RS_OWNER_HOST, glob,
						  NULL, NULL),
				==, 0);
	}
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
	size = come(f, 20);
	check(f, REQUEST + size + 20 * (LIST + EVENT) + 20 * rules * RULE);
}

/* A boot forgets what the one before described. */
static void test_boot(struct fixture *f, gconstpointer data)
{
	come_slowly(f);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
	check(f, SOME * EVENT);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, test)                                                                            \
	g_test_add("/session/work/" name, struct fixture, NULL, set_up, test, tear_down)
	ADD("request", test_request);
	ADD("log", test_log);
	ADD("descriptors", test_descriptors);
	ADD("list", test_list);
	ADD("plans", test_plans);
	g_test_add("/session/work/rules", struct fixture, NULL, set_up_silent, test_rules,
		   tear_down);
	ADD("boot", test_boot);
	return g_test_run();
}
