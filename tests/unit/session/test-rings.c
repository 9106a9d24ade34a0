/* SPDX-License-Identifier: MIT */
/* The rings' mode changes in all sources, or in none. */
#include "session/session.h"

#include "region/layout.h"
#include "sham.h"
#include <errno.h>
#include <string.h>

struct fixture {
	struct rs_session *session;
	struct sham *shams[2];
	struct rs_session_listener listener;
	int told; /* RS_MODE_* of the last ring_mode; -1: none came */
	uint32_t before;
	guint changes;
};

static uint32_t mode_of(const struct sham *sham)
{
	return rs_trace_region_ring_mode(sham->region);
}

static void on_ring_mode(void *data, uint32_t mode)
{
	struct fixture *f = data;

	f->told = (int)mode;
	f->before = mode_of(f->shams[0]);
}

static void on_changed(void *data, uint32_t generation)
{
	((struct fixture *)data)->changes++;
}

static void set_up(struct fixture *f, gconstpointer data)
{
	f->told = -1;
	f->listener = (struct rs_session_listener){
		.data = f, .ring_mode = on_ring_mode, .changed = on_changed};
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	rs_session_add_listener(f->session, &f->listener);
	for (guint i = 0; i < 2; i++) {
		struct rs_source_config config = {.kernel = i ? "second" : "first"};

		f->shams[i] = sham_new(1, RS_CHANNEL_MAILBOX);
		g_assert_cmpint(rs_session_add_source(f->session, &config, f->shams[i]->region,
						      &f->shams[i]->target, NULL, NULL),
				==, 0);
	}
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	for (guint i = 0; i < 2; i++)
		sham_free(f->shams[i]);
}

static void report(struct fixture *f, guint i, uint32_t flags)
{
	sham_hello(f->shams[i], RS_GUEST_SELF_PATCH | flags);
	rs_session_refresh(f->session);
}

/* Who reads the rings is told first. */
static void test_all_change(struct fixture *f, gconstpointer data)
{
	report(f, 0, RS_GUEST_RING_MODE);
	g_assert_cmpint(rs_session_set_ring_mode(f->session, RS_MODE_DROP, NULL), ==, 0);
	g_assert_cmpint(f->told, ==, RS_MODE_DROP);
	g_assert_cmpuint(f->before, ==, RS_MODE_OVERWRITE);
	/* The second one's agent will find it when it starts. */
	g_assert_cmpuint(mode_of(f->shams[0]), ==, RS_MODE_DROP);
	g_assert_cmpuint(mode_of(f->shams[1]), ==, RS_MODE_DROP);
	g_assert_cmpuint(f->changes, >, 0);
	g_assert_cmpint(rs_session_set_ring_mode(f->session, RS_MODE_OVERWRITE, NULL), ==, 0);
	g_assert_cmpint(f->told, ==, RS_MODE_OVERWRITE);
	g_assert_cmpuint(mode_of(f->shams[0]), ==, RS_MODE_OVERWRITE);
	g_assert_cmpuint(mode_of(f->shams[1]), ==, RS_MODE_OVERWRITE);
}

/* A guest that boots again keeps what was chosen. */
static void test_reboot(struct fixture *f, gconstpointer data)
{
	report(f, 0, RS_GUEST_RING_MODE);
	g_assert_cmpint(rs_session_set_ring_mode(f->session, RS_MODE_DROP, NULL), ==, 0);
	report(f, 0, RS_GUEST_RING_MODE);
	g_assert_cmpuint(mode_of(f->shams[0]), ==, RS_MODE_DROP);
}

static void test_an_agent_that_does_not_follow(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};

	report(f, 0, RS_GUEST_RING_MODE);
	report(f, 1, 0);
	g_assert_cmpint(rs_session_set_ring_mode(f->session, RS_MODE_DROP, &err), ==, -ENOTSUP);
	g_assert_nonnull(strstr(err.message, "second: "));
	g_assert_nonnull(strstr(err.message, "only when it starts"));
	g_assert_cmpint(f->told, ==, -1);
	g_assert_cmpuint(mode_of(f->shams[0]), ==, RS_MODE_OVERWRITE);
	g_assert_cmpuint(mode_of(f->shams[1]), ==, RS_MODE_OVERWRITE);
}

/* All rings of all sources; one that nobody has written has nothing to pass over. */
static void test_clear(struct fixture *f, gconstpointer data)
{
	const struct rs_region_header *header = &f->shams[1]->region->header;
	struct rs_ring_state *state =
		rs_trace_region_element(f->shams[1]->region, RS_SEC_RING_STATE, 0);
	const struct rs_ring_ctl *ctl[2];
	uint64_t records = 7;

	for (guint i = 0; i < 2; i++)
		ctl[i] = rs_trace_region_element(f->shams[i]->region, RS_SEC_RING_CTL, 0);
	state->pages = 1;
	state->word = 12ull << RS_WORD_RECORDS_SHIFT | 100;
	g_assert_cmpint(rs_session_clear_rings(f->session, &records, NULL), ==, 0);
	g_assert_cmpuint(records, ==, 12);
	g_assert_cmpuint(ctl[0]->cleared, ==, 0);
	g_assert_cmpuint(ctl[1]->cleared, ==, 100);
	g_assert_cmpuint(ctl[1]->cleared_records, ==, 12);
	g_assert_cmpuint(ctl[1]->consumed, ==, 0);
	g_assert_cmpuint(f->changes, >, 0);
	state->word = 20ull << RS_WORD_RECORDS_SHIFT | header->ring_page_size / RS_RING_UNIT;
	g_assert_cmpint(rs_session_clear_rings(f->session, &records, NULL), ==, 0);
	g_assert_cmpuint(records, ==, 8);
	g_assert_cmpuint(ctl[1]->cleared, ==, header->ring_page_size / RS_RING_UNIT);
}

static void test_refused(struct fixture *f, gconstpointer data)
{
	uint64_t records = 7;
	const struct rs_target_end end = {.reason = RS_END_EXIT};

	g_assert_cmpint(rs_session_set_ring_mode(f->session, RS_MODE_DROP + 1, NULL), ==, -EINVAL);
	for (guint i = 0; i < 2; i++)
		f->shams[i]->target.events.ended(f->shams[i]->target.events.data, &end);
	g_assert_cmpint(rs_session_set_ring_mode(f->session, RS_MODE_DROP, NULL), ==, -ESHUTDOWN);
	g_assert_cmpint(rs_session_clear_rings(f->session, &records, NULL), ==, -ESHUTDOWN);
	g_assert_cmpuint(records, ==, 7);
	g_assert_cmpint(f->told, ==, -1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{"all", test_all_change},
		{"reboot", test_reboot},
		{"deaf", test_an_agent_that_does_not_follow},
		{"clear", test_clear},
		{"refused", test_refused},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/rings/%s", tests[i].name);

		g_test_add(path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	}
	return g_test_run();
}
