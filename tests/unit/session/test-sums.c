/* SPDX-License-Identifier: MIT */
/* The figures of a session are those of its sources together, each of which has others here. */
#include "session/session.h"

#include "sham.h"
#include <ringside/atomic.h>
#include <ringside/record.h>

#define N 3u
#define FIRST RS_FIRST_EVENT_ID

struct fixture {
	struct rs_session *session;
	struct sham *sham[N];
	struct rs_source *source[N];
};

static void set_up(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	for (uint32_t i = 0; i < N; i++) {
		struct rs_source_config config = {.kernel = "k"};

		f->sham[i] = sham_new_with_text(1 + i, RS_CHANNEL_MAILBOX, 0);
		g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham[i]->region,
						      &f->sham[i]->target, &f->source[i], NULL),
				==, 0);
	}
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	for (uint32_t i = 0; i < N; i++)
		sham_free(f->sham[i]);
}

static struct rs_source_stat stat_of(struct fixture *f, uint32_t i)
{
	struct rs_source_stat stat;

	rs_source_stat(f->source[i], &stat);
	return stat;
}

/* The host patches one event more in each guest than in the one before, and refuses as many. */
static void test_sites(struct fixture *f, gconstpointer data)
{
	static const char *const names[][2] = {{"a", NULL}, {"b", NULL}, {"c", NULL}};
	struct rs_source_stat one[N], sum;

	for (uint32_t i = 0; i < N; i++) {
		sham_hello(f->sham[i], 0);
		for (uint32_t k = 0; k <= i; k++)
			sham_provider(f->sham[i], "good", names[k]);
		f->sham[i]->torn = true;
		for (uint32_t k = 0; k <= i; k++)
			sham_provider(f->sham[i], "bad", names[k]);
	}
	rs_session_refresh(f->session);
	for (uint32_t k = 0; k < N; k++)
		g_assert_cmpint(
			rs_session_enable(f->session, RS_OWNER_HOST, names[k][0], NULL, NULL), ==,
			0);
	for (uint32_t i = 0; i < N; i++) {
		one[i] = stat_of(f, i);
		g_assert_cmpuint(one[i].sites_on, ==, 1 + i);
		g_assert_cmpuint(one[i].patches, ==, 1 + i);
		g_assert_cmpuint(one[i].batches, ==, 1 + i);
		g_assert_cmpuint(one[i].sites_refused, ==, 1 + i);
		g_assert_cmpuint(one[i].pause_max_ns, >=, one[i].pause_last_ns);
	}
	rs_session_stat(f->session, &sum);
	g_assert_cmpuint(sum.sites, ==, one[0].sites + one[1].sites + one[2].sites);
	g_assert_cmpuint(sum.sites_on, ==, 1 + 2 + 3);
	g_assert_cmpuint(sum.patches, ==, 1 + 2 + 3);
	g_assert_cmpuint(sum.batches, ==, 1 + 2 + 3);
	g_assert_cmpuint(sum.sites_refused, ==, 1 + 2 + 3);
	g_assert_cmpuint(sum.events, ==, 2 * (1 + 2 + 3));
	g_assert_cmpuint(sum.events_on, ==, 2 * (1 + 2 + 3));
	/* Times of pauses: the longest of them, and how long all were. */
	g_assert_cmpuint(
		sum.pause_last_ns, ==,
		MAX(MAX(one[0].pause_last_ns, one[1].pause_last_ns), one[2].pause_last_ns));
	g_assert_cmpuint(sum.pause_max_ns, ==,
			 MAX(MAX(one[0].pause_max_ns, one[1].pause_max_ns), one[2].pause_max_ns));
	g_assert_cmpuint(sum.pause_total_ns, ==,
			 one[0].pause_total_ns + one[1].pause_total_ns + one[2].pause_total_ns);
	g_assert_false(sum.self_patch);
}

/* One page of each ring, as if so many records had been written, lost and refused. */
static void fill(struct sham *sham, uint32_t cpu, uint32_t records)
{
	RsTraceRegion *region = sham->region;
	struct rs_ring_state *state = rs_trace_region_element(region, RS_SEC_RING_STATE, cpu);
	struct rs_ring_page *page =
		(void *)((uint8_t *)rs_trace_region_section(region, RS_SEC_RINGS, NULL) +
			 (size_t)cpu * region->header.ring_pages * region->header.ring_page_size);
	uint32_t end = RS_RING_PAGE_HEADER + 16;

	*page = (struct rs_ring_page){
		.header_size = RS_RING_PAGE_HEADER, .committed = end, .records = records - 1};
	state->dropped = 2 * records;
	state->pages = 1;
	rs_store_release(&state->word,
			 (uint64_t)records << RS_WORD_RECORDS_SHIFT | end / RS_RING_UNIT);
}

/* Of rings that are overwritten what came before their oldest page is overrun. */
static void test_rings(struct fixture *f, gconstpointer data)
{
	struct rs_source_stat sum;

	for (uint32_t i = 0; i < N; i++) {
		struct rs_source_stat one;

		sham_hello(f->sham[i], RS_GUEST_SELF_PATCH);
		for (uint32_t cpu = 0; cpu <= i; cpu++)
			fill(f->sham[i], cpu, 10 + i);
		one = stat_of(f, i);
		g_assert_cmpuint(one.cpus, ==, 1 + i);
		g_assert_cmpuint(one.written, ==, (1 + i) * (10 + i));
		g_assert_cmpuint(one.overrun, ==, (1 + i) * (9 + i));
		g_assert_cmpuint(one.dropped, ==, 2 * (1 + i) * (10 + i));
	}
	rs_session_stat(f->session, &sum);
	g_assert_cmpuint(sum.written, ==, 10 + 22 + 36);
	g_assert_cmpuint(sum.overrun, ==, 9 + 20 + 33);
	g_assert_cmpuint(sum.dropped, ==, 2 * (10 + 22 + 36));
	g_assert_cmpuint(sum.cpus, ==, 0);
	g_assert_true(sum.self_patch);
}

/* Memory that another session had: what that recorded is told apart. */
static void test_rings_of_before(struct fixture *f, gconstpointer data)
{
	const struct rs_source_config config = {.kernel = "k"};
	struct sham *sham = sham_new_with_text(1, RS_CHANNEL_MAILBOX, 0);
	struct rs_session *session;
	struct rs_source_stat sum;

	sham_hello(sham, RS_GUEST_SELF_PATCH);
	fill(sham, 0, 20);
	g_assert_cmpint(rs_session_create("again", &session, NULL), ==, 0);
	g_assert_cmpint(
		rs_session_add_source(session, &config, sham->region, &sham->target, NULL, NULL),
		==, 0);
	fill(sham, 0, 25);
	rs_session_stat(session, &sum);
	g_assert_cmpuint(sum.written, ==, 25);
	g_assert_cmpuint(sum.before.written, ==, 20);
	g_assert_cmpuint(sum.before.overrun, ==, 19);
	g_assert_cmpuint(sum.before.dropped, ==, 40);
	fill(sham, 0, 3); /* the guest has set them back */
	rs_session_stat(session, &sum);
	g_assert_cmpuint(sum.written, ==, 3);
	g_assert_cmpuint(sum.before.written, ==, 0);
	g_assert_cmpuint(sum.before.dropped, ==, 0);
	rs_session_destroy(session);
	sham_free(sham);
	rs_session_stat(f->session, &sum);
	g_assert_cmpuint(sum.before.written, ==, 0);
}

/* Requests, those that make no sense, and answers for which a guest waits no more. */
static void test_requests(struct fixture *f, gconstpointer data)
{
	struct rs_source_stat sum;
	struct rs_target_end unused;

	for (uint32_t i = 0; i < N; i++) {
		struct rs_target_events *events = &f->sham[i]->target.events;
		struct rs_source_stat one;

		sham_hello(f->sham[i], RS_GUEST_SELF_PATCH);
		rs_session_refresh(f->session);
		for (uint32_t k = 0; k <= i; k++) {
			sham_request(f->sham[i], k, UINT32_MAX, 0, NULL);
			events->hypercall(events->data, k, &unused);
			sham_request(f->sham[i], k, RS_HCALL_WAIT, sham_generation(f->sham[i]),
				     NULL);
			events->hypercall(events->data, k, &unused);
		}
		sham_hello(f->sham[i], RS_GUEST_SELF_PATCH);
		rs_session_refresh(f->session);
		one = stat_of(f, i);
		g_assert_cmpuint(one.hypercalls, ==, 2 * (1 + i));
		g_assert_cmpuint(one.bad_hypercalls, ==, 1 + i);
		g_assert_cmpuint(one.late_answers, ==, 1 + i);
	}
	rs_session_stat(f->session, &sum);
	g_assert_cmpuint(sum.hypercalls, ==, 2 * (1 + 2 + 3));
	g_assert_cmpuint(sum.bad_hypercalls, ==, 1 + 2 + 3);
	g_assert_cmpuint(sum.late_answers, ==, 1 + 2 + 3);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define TEST(name, function)                                                                       \
	g_test_add("/sums/" name, struct fixture, NULL, set_up, function, tear_down)
	TEST("sites", test_sites);
	TEST("rings", test_rings);
	TEST("rings/before", test_rings_of_before);
	TEST("requests", test_requests);
	return g_test_run();
}
