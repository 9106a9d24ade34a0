/* SPDX-License-Identifier: MIT */
/* Wishes, refusals, and text that changes under our eyes. */
#include "patchers.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

static void test_refcount(void)
{
	struct rs_patcher_stats stats;
	struct rs_patcher *patcher;
	struct guest guest;
	uint32_t known, on;

	guest_init(&guest, 10, 3); /* event FIRST: sites 0 3 6 9 */
	patcher = patcher_of(&guest, patcher_journal);
	rs_patcher_want(patcher, FIRST, 1);
	rs_patcher_want(patcher, FIRST, 1);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0); /* not before the commit */
	patcher_commit(patcher, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 4);
	g_assert_true(guest_is_jmp(&guest, 3));
	g_assert_true(guest_is_nop(&guest, 1));
	rs_patcher_event_sites(patcher, FIRST, &known, &on);
	g_assert_cmpuint(known, ==, 4);
	g_assert_cmpuint(on, ==, 4);
	rs_patcher_want(patcher, FIRST, -1);
	patcher_commit(patcher, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 4); /* somebody still wants it */
	rs_patcher_want(patcher, FIRST, -1);
	rs_patcher_want(patcher, FIRST + 1, 1);
	patcher_commit(patcher, 0); /* off and on in one pause */
	g_assert_cmpuint(guest_count_on(&guest), ==, 3);
	rs_patcher_stats(patcher, &stats);
	g_assert_cmpuint(stats.sites, ==, 10);
	g_assert_cmpuint(stats.sites_on, ==, 3);
	g_assert_cmpuint(stats.sites_patched, ==, 11);
	g_assert_cmpuint(stats.batches, ==, 2); /* the one without work did not stop the guest */
	g_assert_cmpuint(guest.fake.pauses, ==, 2);
	g_assert_cmpuint(stats.pause_last_ns, >, 0);
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	for (uint32_t i = 0; i < 10; i++)
		g_assert_true(guest_is_nop(&guest, i));
	g_assert_false(g_file_test(patcher_journal, G_FILE_TEST_EXISTS));
	guest_deinit(&guest);
}

/* Sites are counted once after each change, by event and by provider. */
static void test_counts(void)
{
	struct rs_site_list second;
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 10, 2); /* event FIRST + 1: sites 1 3 5, and 7 9 of another provider */
	second = guest.list;
	second.provider = 2;
	second.count = 4;
	second.at.v += 6 * sizeof(struct rs_site);
	guest.list.count = 6;
	patcher = patcher_of(&guest, NULL);
	patcher_check_counts(patcher, 3, 0, 0, 0);
	rs_patcher_want(patcher, FIRST + 1, 1);
	patcher_commit(patcher, 0);
	patcher_check_counts(patcher, 3, 3, 3, 0);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &second, NULL, NULL), ==, 0);
	patcher_check_counts(patcher, 5, 3, 3, 0);
	patcher_commit(patcher, 0);
	patcher_check_counts(patcher, 5, 5, 3, 2);
	rs_patcher_want(patcher, FIRST, 1);
	patcher_commit(patcher, 0);
	patcher_check_counts(patcher, 5, 5, 6, 4);
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 1, NULL), ==, 0);
	patcher_check_counts(patcher, 2, 2, 0, 4);
	rs_patcher_forget(patcher);
	patcher_check_counts(patcher, 0, 0, 0, 0);
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

static void check_gates(struct guest *guest, bool first, bool second)
{
	g_assert_true(first ? guest_is_jmp(guest, 0) : guest_is_nop(guest, 0));
	g_assert_true(first ? guest_is_jmp(guest, 5) : guest_is_nop(guest, 5));
	g_assert_true(second ? guest_is_jmp(guest, 6) : guest_is_nop(guest, 6));
}

/* Sites 0 and 5 are gates of the first provider, 6 of the second. */
static void test_a_gate_is_on_while_any_event_of_its_provider_is(void)
{
	struct rs_site_list second;
	struct rs_patcher *patcher;
	struct guest guest;
	uint32_t known, on;

	guest_init(&guest, 10, 10);
	guest_entry(&guest, 0)->event = guest_entry(&guest, 5)->event = 0;
	guest_entry(&guest, 6)->event = 0;
	second = guest.list;
	second.provider = 2;
	second.count = 4;
	second.at.v += 6 * sizeof(struct rs_site);
	guest.list.count = 6;
	patcher = patcher_of(&guest, NULL);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &second, NULL, NULL), ==, 0);
	check_gates(&guest, false, false);
	rs_patcher_want(patcher, FIRST + 3, 1);
	patcher_commit(patcher, 0);
	check_gates(&guest, true, false);
	g_assert_cmpuint(guest_count_on(&guest), ==, 3);
	rs_patcher_event_sites(patcher, FIRST + 3, &known, &on);
	g_assert_cmpuint(known, ==, 1);
	rs_patcher_want(patcher, FIRST + 4, 1);
	rs_patcher_want(patcher, FIRST + 3, -1);
	patcher_commit(patcher, 0);
	check_gates(&guest, true, false);
	g_assert_cmpuint(guest_count_on(&guest), ==, 3);
	rs_patcher_want(patcher, FIRST + 8, 1);
	rs_patcher_want(patcher, FIRST + 4, -1);
	patcher_commit(patcher, 0);
	check_gates(&guest, false, true);
	g_assert_cmpuint(guest_count_on(&guest), ==, 2);
	/* It leaves while it is wished. */
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 2, NULL), ==, 0);
	check_gates(&guest, false, false);
	rs_patcher_want(patcher, FIRST + 1, 1);
	patcher_commit(patcher, 0);
	check_gates(&guest, true, false);
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	guest_deinit(&guest);
}

/* A provider of gates alone has nothing to wish for. */
static void test_gates_alone_stay_off(void)
{
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 2, 2);
	guest_entry(&guest, 0)->event = guest_entry(&guest, 1)->event = 0;
	patcher = patcher_of(&guest, NULL);
	for (uint32_t i = 0; i < 3; i++)
		rs_patcher_want(patcher, (uint16_t)(FIRST + i), 1);
	patcher_commit(patcher, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

/* A site that two providers list is switched by the first. */
static void test_listed_twice(void)
{
	struct rs_patcher *patcher;
	struct rs_site_list again;
	struct guest guest;
	uint32_t refused;

	guest_init(&guest, 4, 1);
	again = guest.list;
	again.provider = 2;
	patcher = patcher_of(&guest, NULL);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &again, &refused, NULL), ==, 0);
	g_assert_cmpuint(refused, ==, 4);
	rs_patcher_want(patcher, FIRST, 1);
	patcher_commit(patcher, 0);
	patcher_check_counts(patcher, 0, 0, 4, 0);
	g_assert_cmpuint(guest.fake.writes, ==, 4);
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	guest_deinit(&guest);
}

static void test_refused(void)
{
	const struct rs_site_refusal *refusals;
	struct rs_patcher *patcher;
	struct guest guest;
	size_t count;

	guest_init(&guest, 6, 1);
	patcher = patcher_of(&guest, NULL);
	guest_text(&guest, 2)[0] = 0xcc; /* a debugger's breakpoint */
	rs_patcher_want(patcher, FIRST, 1);
	patcher_commit(patcher, 1);
	g_assert_cmpuint(guest_count_on(&guest), ==, 5);
	g_assert_cmpint(guest_text(&guest, 2)[0], ==, 0xcc);
	refusals = rs_patcher_refusals(patcher, &count);
	g_assert_cmpuint(count, ==, 1);
	g_assert_cmphex(refusals[0].at.v, ==, guest_site(2));
	g_assert_cmpuint(refusals[0].event, ==, FIRST);
	g_assert_nonnull(strstr(refusals[0].why, "cc 1f 44 00 00"));
	patcher_commit(patcher, 0); /* nobody asked, so it is not tried again */
	guest_text(&guest, 2)[0] = 0x0f;
	rs_patcher_want(patcher, FIRST, 1);
	patcher_commit(patcher, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 6);
	guest_text(&guest, 4)[0] = 0xcc;
	rs_patcher_destroy(patcher); /* restores our sites */
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	g_assert_cmpint(guest_text(&guest, 4)[0], ==, 0xcc);
	guest_deinit(&guest);
}

static void scribble(struct fake_target *fake)
{
	struct guest *guest = fake->data;

	guest_text(guest, 1)[4] = 0x77;
}

/* The guest changes a site between the check and the pause. */
static void test_changed_under_our_eyes(void)
{
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 3, 1);
	guest.fake.on_pause = scribble;
	guest.fake.data = &guest;
	patcher = patcher_of(&guest, NULL);
	rs_patcher_want(patcher, FIRST, 1);
	patcher_commit(patcher, 1);
	g_assert_cmpuint(guest_count_on(&guest), ==, 2);
	g_assert_cmpint(guest_text(&guest, 1)[0], ==, 0x0f);
	g_assert_cmpint(guest_text(&guest, 1)[4], ==, 0x77);
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

static void test_failures(void)
{
	struct rs_patcher *patcher;
	struct rs_error err = {0};
	struct guest guest;

	guest_init(&guest, 8, 1);
	patcher = patcher_of(&guest, patcher_journal);
	rs_patcher_want(patcher, FIRST, 1);
	guest.fake.fail_pause = -EIO;
	g_assert_cmpint(rs_patcher_commit(patcher, NULL, &err), ==, -EIO);
	g_assert_cmpuint(guest.fake.writes, ==, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	guest.fake.fail_pause = 0;
	/* The fifth write fails, and so do those that would take the four back. */
	guest.fake.fail_write = -ENOSPC;
	guest.fake.fail_write_after = 4;
	g_assert_cmpint(rs_patcher_commit(patcher, NULL, &err), ==, -ENOSPC);
	g_assert_cmpuint(guest_count_on(&guest), ==, 4);
	g_assert_cmpuint(guest.fake.pauses, ==, guest.fake.resumes);
	/* … which the patcher knows, so that it restores them later. */
	guest.fake.fail_write = 0;
	rs_patcher_want(patcher, FIRST, -1);
	patcher_commit(patcher, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	/* A failure after which writes work again leaves nothing behind at all. */
	rs_patcher_want(patcher, FIRST, 1);
	guest.fake.fail_resume = -EPIPE;
	g_assert_cmpint(rs_patcher_commit(patcher, NULL, &err), ==, -EPIPE);
	guest.fake.fail_resume = 0;
	g_assert_cmpuint(guest_count_on(&guest), ==, 8);
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	guest_deinit(&guest);
}

/* A write stops inside a site's bytes: the whole batch is undone, and no site counts as on. */
static void test_torn_write(void)
{
	struct rs_patcher_stats stats;
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 8, 1);
	patcher = patcher_of(&guest, patcher_journal);
	rs_patcher_want(patcher, FIRST, 1);
	guest.fake.fail_write = -EIO;
	guest.fake.fail_write_after = 4;
	guest.fake.fail_write_bytes = 2;
	guest.fake.fail_write_count = 1;
	g_assert_cmpint(rs_patcher_commit(patcher, NULL, NULL), ==, -EIO);
	for (uint32_t i = 0; i < 8; i++)
		g_assert_true(guest_is_nop(&guest, i));
	rs_patcher_stats(patcher, &stats);
	g_assert_cmpuint(stats.sites_on, ==, 0);
	g_assert_cmpuint(stats.sites_patched, ==, 0);
	g_assert_cmpuint(stats.batches, ==, 1);
	/* A site that could not be undone either counts as on, and stays in the journal. */
	guest.fake.fail_write_after = 4;
	guest.fake.fail_write_count = 0;
	g_assert_cmpint(rs_patcher_commit(patcher, NULL, NULL), ==, -EIO);
	g_assert_false(guest_is_nop(&guest, 0) || guest_is_jmp(&guest, 0));
	rs_patcher_stats(patcher, &stats);
	g_assert_cmpuint(stats.sites_on, ==, 4);
	g_assert_cmpuint(stats.sites_patched, ==, 0);
	g_assert_true(g_file_test(patcher_journal, G_FILE_TEST_EXISTS));
	/* The next batch reads the text, and finds out. */
	guest.fake.fail_write = 0;
	for (uint32_t i = 0; i < 4; i++)
		rs_insn_nop(guest_text(&guest, i));
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	g_assert_false(g_file_test(patcher_journal, G_FILE_TEST_EXISTS));
	guest_deinit(&guest);
}

/* Text that cannot be read to be restored may still hold our JMP, so the journal keeps it. */
static void test_unreadable(void)
{
	struct rs_journal_report report = {0};
	struct rs_patcher_stats stats;
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 4, 1);
	patcher = patcher_of(&guest, patcher_journal);
	rs_patcher_want(patcher, FIRST, 1);
	patcher_commit(patcher, 0);
	rs_patcher_want(patcher, FIRST, -1);
	guest.fake.size = TEXT_GPA;
	patcher_commit(patcher, 4);
	rs_patcher_stats(patcher, &stats);
	g_assert_cmpuint(stats.sites_on, ==, 4);
	rs_patcher_destroy(patcher);
	guest.fake.size = RAM;
	g_assert_cmpuint(guest_count_on(&guest), ==, 4);
	g_assert_cmpint(rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, patcher_journal, &report,
					  &patcher, NULL),
			==, 0);
	g_assert_cmpuint(report.restored, ==, 4);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

static void test_journal_refuses(void)
{
	struct rs_patcher *patcher = NULL;
	struct rs_error err = {0};
	struct guest guest;

	guest_init(&guest, 1, 1);
	g_assert_true(g_file_set_contents(patcher_journal, "this is a diary, not a journal of text",
					  -1, NULL));
	g_assert_cmpint(rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, patcher_journal, NULL,
					  &patcher, &err),
			==, -EIO);
	g_assert_true(g_file_test(patcher_journal, G_FILE_TEST_EXISTS));
	g_unlink(patcher_journal);
	guest_deinit(&guest);
}

static void test_providers(void)
{
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 4, 1);
	patcher = patcher_of(&guest, patcher_journal);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &guest.list, NULL, NULL), ==, -EEXIST);
	rs_patcher_want(patcher, FIRST, 1);
	patcher_commit(patcher, 0);
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 1, NULL), ==, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 1, NULL), ==, -ENOENT);
	/* It comes back, and the wish still applies. */
	g_assert_cmpint(rs_patcher_add_provider(patcher, &guest.list, NULL, NULL), ==, 0);
	patcher_commit(patcher, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 4);
	/* A reboot: new text, nothing to restore. */
	memset(guest.ram + TEXT_GPA, 0x90, 256);
	rs_patcher_forget(patcher);
	patcher_commit(patcher, 0);
	rs_patcher_destroy(patcher);
	g_assert_cmpint(guest_text(&guest, 0)[0], ==, 0x90);
	guest_deinit(&guest);
}

static void test_self(void)
{
	struct rs_patcher *patcher = NULL;
	struct guest guest;

	guest_init(&guest, 4, 1);
	g_assert_cmpint(
		rs_patcher_create(&guest.fake.base, RS_PATCH_SELF, NULL, NULL, &patcher, NULL), ==,
		0);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &guest.list, NULL, NULL), ==, 0);
	rs_patcher_want(patcher, FIRST, 1);
	patcher_commit(patcher, 0);
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest.fake.reads + guest.fake.writes + guest.fake.pauses, ==, 0);
	guest_deinit(&guest);
}

int main(int argc, char **argv)
{
	patchers_init(&argc, &argv);
	g_test_add_func("/patch/patcher/refcount", test_refcount);
	g_test_add_func("/patch/patcher/counts", test_counts);
	g_test_add_func("/patch/patcher/gate",
			test_a_gate_is_on_while_any_event_of_its_provider_is);
	g_test_add_func("/patch/patcher/gates-alone", test_gates_alone_stay_off);
	g_test_add_func("/patch/patcher/listed-twice", test_listed_twice);
	g_test_add_func("/patch/patcher/refused", test_refused);
	g_test_add_func("/patch/patcher/changed", test_changed_under_our_eyes);
	g_test_add_func("/patch/patcher/failures", test_failures);
	g_test_add_func("/patch/patcher/torn-write", test_torn_write);
	g_test_add_func("/patch/patcher/unreadable", test_unreadable);
	g_test_add_func("/patch/patcher/journal-refuses", test_journal_refuses);
	g_test_add_func("/patch/patcher/providers", test_providers);
	g_test_add_func("/patch/patcher/self", test_self);
	return patchers_run();
}
