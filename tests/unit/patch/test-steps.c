/* SPDX-License-Identifier: MIT */
/* Many sites: in steps, and without looks at those that have not changed. */
#include "patchers.h"

#include <errno.h>

static uint64_t looked(const struct rs_patcher *patcher)
{
	struct rs_patcher_stats stats;

	rs_patcher_stats(patcher, &stats);
	return stats.sites_looked;
}

/* A provider with few sites comes and goes: nobody looks at the many of another one. */
static void test_apart(void)
{
	struct rs_site_list rest;
	struct rs_patcher *patcher;
	struct guest guest;
	uint64_t before;

	guest_init(&guest, 1000, 1000);
	rest = guest_split(&guest, 4);
	patcher = patcher_of(&guest, patcher_journal);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &rest, NULL, NULL), ==, 0);
	rs_patcher_want(patcher, FIRST + 500, 1);
	patcher_commit(patcher, 0);
	before = looked(patcher);
	for (guint i = 0; i < 10; i++) {
		g_assert_cmpint(rs_patcher_remove_provider(patcher, 1, NULL), ==, 0);
		g_assert_cmpint(rs_patcher_add_provider(patcher, &guest.list, NULL, NULL), ==, 0);
		rs_patcher_want(patcher, FIRST + 1, 1);
		patcher_commit(patcher, 0);
		g_assert_cmpuint(guest_count_on(&guest), ==, 2);
		rs_patcher_want(patcher, FIRST + 1, -1);
		patcher_commit(patcher, 0);
	}
	g_assert_cmpuint(looked(patcher) - before, <=, 10 * 4 * guest.list.count);
	patcher_check_counts(patcher, 1, 0, 0, 1);
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	guest_deinit(&guest);
}

static int step(struct rs_patcher *patcher, uint32_t count)
{
	return rs_patcher_step(patcher, count, NULL, NULL);
}

/* Many sites in several batches. Meanwhile wishes change, and a provider goes. */
static void test_steps(void)
{
	struct rs_site_list rest;
	struct rs_patcher *patcher;
	struct guest guest;
	guint n = 1;

	guest_init(&guest, 1000, 2);
	rest = guest_split(&guest, 900);
	patcher = patcher_of(&guest, patcher_journal);
	rs_patcher_want(patcher, FIRST, 1);
	while (step(patcher, 100) == 1)
		g_assert_cmpuint(guest_count_on(&guest), ==, 100 * n++);
	g_assert_cmpuint(n, ==, 5);
	g_assert_cmpuint(guest.fake.pauses, ==, 5);
	g_assert_cmpuint(guest_count_on(&guest), ==, 450);
	/* Others ask all the while, and yet all is done in the end. */
	rs_patcher_want(patcher, FIRST + 1, 1);
	for (n = 0; n < 10; n++) {
		step(patcher, 50);
		rs_patcher_want(patcher, FIRST, n % 2 ? 1 : -1);
	}
	while (step(patcher, 50) == 1)
		;
	g_assert_cmpuint(guest_count_on(&guest), ==, 900);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &rest, NULL, NULL), ==, 0);
	/* What leaves has its turn after what was due before, and is known until it has gone. */
	g_assert_cmpint(rs_patcher_leave(patcher, 1, NULL), ==, 0);
	for (n = 10; n > 1; n--) {
		g_assert_cmpint(step(patcher, 100), ==, 1);
		g_assert_cmpuint(guest_count_on(&guest), ==, 100 * n);
		g_assert_true(rs_patcher_knows(patcher, 1));
		g_assert_cmpint(rs_patcher_add_provider(patcher, &guest.list, NULL, NULL), ==,
				-EEXIST);
	}
	g_assert_cmpint(step(patcher, 100), ==, 0);
	g_assert_false(rs_patcher_knows(patcher, 1));
	g_assert_cmpuint(guest_count_on(&guest), ==, 100);
	patcher_check_counts(patcher, 50, 50, 0, 100);
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	g_assert_false(g_file_test(patcher_journal, G_FILE_TEST_EXISTS));
	guest_deinit(&guest);
}

/*
 * Somebody changes his mind about a large provider before each step. Neither a small one, nor those
 * who asked about the large one before, nor one that leaves, wait for him.
 */
static void test_round(void)
{
	struct rs_site_list rest;
	struct rs_patcher *patcher;
	struct guest guest;
	uint64_t small, large;
	uint32_t known, on;
	guint n;

	guest_init(&guest, 1000, 2);
	rest = guest_split(&guest, 900);
	rest.provider = 7;
	patcher = patcher_of(&guest, patcher_journal);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &rest, NULL, NULL), ==, 0);
	rs_patcher_want(patcher, FIRST, 1);
	patcher_commit(patcher, 0);
	g_assert_true(rs_patcher_is_settled(patcher, rs_patcher_ticket(patcher, 0, UINT16_MAX)));
	for (n = 0; n < 4; n++) {
		rs_patcher_want(patcher, FIRST, n % 2 ? 1 : -1);
		g_assert_cmpint(step(patcher, 20), ==, 1);
	}
	rs_patcher_want(patcher, FIRST + 1, 1);
	small = rs_patcher_ticket(patcher, FIRST + 1, FIRST + 1);
	g_assert_false(rs_patcher_is_settled(patcher, small));
	for (n = 0; !rs_patcher_is_settled(patcher, small); n++) {
		g_assert_cmpuint(n, <, 200);
		rs_patcher_want(patcher, FIRST, n % 2 ? 1 : -1);
		g_assert_cmpint(step(patcher, 20), ==, 1);
	}
	rs_patcher_event_sites(patcher, FIRST + 1, &known, &on);
	g_assert_cmpuint(on, ==, 500);
	large = rs_patcher_ticket(patcher, FIRST, FIRST);
	g_assert_cmpint(rs_patcher_leave(patcher, 7, NULL), ==, 0);
	for (n = 0; rs_patcher_knows(patcher, 7); n++) {
		g_assert_cmpuint(n, <, 50);
		rs_patcher_want(patcher, FIRST, n % 2 ? 1 : -1);
		g_assert_cmpint(step(patcher, 20), ==, 1);
	}
	for (n = 0; !rs_patcher_is_settled(patcher, large); n++) {
		g_assert_cmpuint(n, <, 200);
		rs_patcher_want(patcher, FIRST, n % 2 ? 1 : -1);
		g_assert_cmpint(step(patcher, 20), ==, 1);
	}
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	guest_deinit(&guest);
}

/* The next step has something to do once somebody has asked, and as long as sites are left. */
static void test_has_due(void)
{
	struct rs_patcher *patcher;
	struct guest guest;

	patcher = patcher_of_two(&guest);
	while (rs_patcher_step(patcher, 1, NULL, NULL) == 1)
		;
	g_assert_false(rs_patcher_has_due(patcher));
	rs_patcher_want(patcher, FIRST, -1);
	g_assert_true(rs_patcher_has_due(patcher));
	while (rs_patcher_step(patcher, 1, NULL, NULL) == 1)
		g_assert_true(rs_patcher_has_due(patcher));
	g_assert_false(rs_patcher_has_due(patcher));
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

/* A batch fails between others: what was written before stays, and all is tried again. */
static void test_step_fails(void)
{
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 100, 1);
	patcher = patcher_of(&guest, patcher_journal);
	rs_patcher_want(patcher, FIRST, 1);
	g_assert_cmpint(step(patcher, 40), ==, 1);
	guest.fake.fail_pause = -EIO;
	g_assert_cmpint(step(patcher, 40), ==, -EIO);
	g_assert_cmpuint(guest_count_on(&guest), ==, 40);
	guest.fake.fail_pause = 0;
	patcher_commit(patcher, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 100);
	/* A provider that leaves is forgotten, and the journal keeps the rest of its text. */
	g_assert_cmpint(rs_patcher_leave(patcher, 1, NULL), ==, 0);
	g_assert_cmpint(step(patcher, 40), ==, 1);
	guest.fake.fail_pause = -EIO;
	g_assert_cmpint(step(patcher, 40), ==, -EIO);
	g_assert_false(rs_patcher_knows(patcher, 1));
	g_assert_cmpuint(guest_count_on(&guest), ==, 60);
	guest.fake.fail_pause = 0;
	patcher_kill(&guest, patcher, &(struct rs_journal_report){0});
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	guest_deinit(&guest);
}

/* Nearly as many as are listed, and then some of another provider: those are listed. */
static void test_many_refused(void)
{
	const struct rs_site_refusal *refusals;
	struct rs_patcher_stats stats;
	struct rs_patcher *patcher;
	struct rs_site_list rest;
	struct guest guest;
	uint32_t refused;
	size_t count;

	guest_init(&guest, RS_MAX_REFUSALS + 76, 1);
	rest = guest_split(&guest, RS_MAX_REFUSALS - 24);
	for (uint32_t i = 0; i < guest.sites; i++)
		guest_text(&guest, i)[0] = 0xcc;
	patcher = patcher_of(&guest, NULL);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &rest, &refused, NULL), ==, 0);
	g_assert_cmpuint(refused, ==, 100);
	refusals = rs_patcher_refusals(patcher, &count);
	g_assert_cmpuint(count, ==, 100);
	for (size_t i = 0; i < count; i++)
		g_assert_cmpuint(refusals[i].provider, ==, 2);
	rs_patcher_stats(patcher, &stats);
	g_assert_cmpuint(stats.sites_refused, ==, RS_MAX_REFUSALS + 76);
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

/* The budget of the issue: 1,000 sites in one batch, journal included, within 1 ms. */
static void test_thousand(void)
{
	struct rs_patcher_stats stats;
	struct rs_patcher *patcher;
	struct guest guest;
	uint64_t best = UINT64_MAX, pause = 0;

	guest_init(&guest, 1000, 1);
	patcher = patcher_of(&guest, patcher_journal);
	for (int i = 0; i < 20; i++) {
		rs_patcher_want(patcher, FIRST, 1);
		patcher_commit(patcher, 0);
		g_assert_cmpuint(guest_count_on(&guest), ==, 1000);
		rs_patcher_stats(patcher, &stats);
		if (stats.commit_last_ns < best) {
			best = stats.commit_last_ns;
			pause = stats.pause_last_ns;
		}
		rs_patcher_want(patcher, FIRST, -1);
		patcher_commit(patcher, 0);
		g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	}
	g_test_message("1000 sites: %.0f us, of which paused %.0f us", (double)best / 1e3,
		       (double)pause / 1e3);
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

int main(int argc, char **argv)
{
	patchers_init(&argc, &argv);
	g_test_add_func("/patch/patcher/has-due", test_has_due);
	g_test_add_func("/patch/patcher/round", test_round);
	g_test_add_func("/patch/patcher/apart", test_apart);
	g_test_add_func("/patch/patcher/steps", test_steps);
	g_test_add_func("/patch/patcher/step-fails", test_step_fails);
	g_test_add_func("/patch/patcher/many-refused", test_many_refused);
	g_test_add_func("/patch/patcher/thousand", test_thousand);
	return patchers_run();
}
