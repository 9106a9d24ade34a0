/* SPDX-License-Identifier: MIT */
/* Text that cannot be restored, or not at once; journals on a full disk. */
#include "patchers.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

/* The text of provider 2 cannot be restored when it goes. */
static void leave_patched(struct guest *guest, struct rs_patcher *patcher, int error)
{
	guest->fake.fail_write = error;
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 2, NULL), ==,
			error == -EFAULT ? 0 : error);
	g_assert_cmpuint(guest_count_on(guest), ==, 4);
}

/* It is tried again while the other provider's sites stay on. */
static void test_owed(gconstpointer error)
{
	gint64 until = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
	struct rs_journal_report report = {0};
	struct rs_patcher *patcher;
	struct guest guest;

	patcher = patcher_of_two(&guest);
	leave_patched(&guest, patcher, GPOINTER_TO_INT(error));
	guest.fake.fail_write = 0;
	while (guest_is_jmp(&guest, 0) && g_get_monotonic_time() < until)
		rs_patcher_tend(patcher);
	g_assert_true(guest_is_nop(&guest, 0) && guest_is_nop(&guest, 1));
	g_assert_true(guest_is_jmp(&guest, 2) && guest_is_jmp(&guest, 3));
	patcher_kill(&guest, patcher, &report);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	guest_deinit(&guest);
}

/* It cannot be restored at the end either: that is told, and the next session does it. */
static void test_left_patched(gconstpointer error)
{
	struct rs_journal_report report = {0};
	struct rs_error err = {0};
	struct rs_patcher *patcher;
	struct guest guest;

	patcher = patcher_of_two(&guest);
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 1, NULL), ==, 0);
	guest.fake.fail_write = GPOINTER_TO_INT(error);
	rs_patcher_remove_provider(patcher, 2, NULL);
	g_assert_cmpuint(guest_count_on(&guest), ==, 2);
	g_assert_cmpint(rs_patcher_restore(patcher, &err), ==, -EIO);
	g_assert_nonnull(strstr(err.message, "2 sites are still patched"));
	rs_patcher_destroy(patcher);
	guest.fake.fail_write = 0;
	/* A session that fails to begin leaves the journal to the next one. */
	guest.fake.fail_pause = -EIO;
	g_assert_cmpint(rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, patcher_journal, &report,
					  &patcher, NULL),
			==, -EIO);
	guest.fake.fail_pause = 0;
	g_assert_cmpint(rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, patcher_journal, &report,
					  &patcher, NULL),
			==, 0);
	g_assert_cmpuint(report.restored, ==, 2);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	rs_patcher_destroy(patcher);
	g_assert_false(g_file_test(patcher_journal, G_FILE_TEST_EXISTS));
	guest_deinit(&guest);
}

/* Its text cannot even be read when it goes. Where it lay tells later what became of it. */
static void test_left_unreadable(void)
{
	struct rs_journal_report report = {0};
	struct rs_patcher *patcher;
	struct guest guest;

	patcher = patcher_of_two(&guest);
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 1, NULL), ==, 0);
	guest.fake.size = TEXT_GPA;
	rs_patcher_remove_provider(patcher, 2, NULL);
	g_assert_cmpint(rs_patcher_restore(patcher, NULL), ==, -EIO);
	rs_patcher_destroy(patcher);
	/* A session that finds it so does not forget it either. */
	g_assert_cmpint(rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, patcher_journal, &report,
					  &patcher, NULL),
			==, 0);
	g_assert_cmpuint(report.kept, >=, 2); /* the file may still have what was restored */
	rs_patcher_destroy(patcher);
	g_assert_true(g_file_test(patcher_journal, G_FILE_TEST_EXISTS));
	g_assert_cmpint(rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, patcher_journal, &report,
					  &patcher, NULL),
			==, 0);
	guest.fake.size = RAM;
	g_assert_cmpint(rs_patcher_restore(patcher, NULL), ==, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	rs_patcher_destroy(patcher);
	g_assert_false(g_file_test(patcher_journal, G_FILE_TEST_EXISTS));
	guest_deinit(&guest);
}

/* Its pages are unmapped when it goes. Where they lay, the JMPs are taken out all the same. */
static void test_left_unmapped(void)
{
	struct rs_patcher *patcher;
	struct guest guest;

	patcher = patcher_of_two(&guest);
	fake_target_map(&guest.fake, ROOT, TEXT, RAM, 1); /* no memory */
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 2, NULL), ==, 0);
	g_assert_true(guest_is_nop(&guest, 0) && guest_is_nop(&guest, 1));
	g_assert_true(guest_is_jmp(&guest, 2) && guest_is_jmp(&guest, 3));
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 1, NULL), ==, 0);
	g_assert_cmpint(rs_patcher_restore(patcher, NULL), ==, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

/* It comes back and finds its sites on: they are its own again. */
static void test_owed_returns(void)
{
	struct rs_patcher *patcher;
	struct rs_site_list half;
	struct guest guest;

	patcher = patcher_of_two(&guest);
	half = guest.list;
	half.provider = 3;
	half.at.v = DATA;
	leave_patched(&guest, patcher, -EFAULT);
	guest.fake.fail_write = -EFAULT;
	g_assert_cmpint(rs_patcher_add_provider(patcher, &half, NULL, NULL), ==, 0);
	guest.fake.fail_write = 0;
	patcher_commit(patcher, 0);
	for (uint32_t i = 0; i < 1000; i++)
		rs_patcher_tend(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 4);
	g_assert_cmpuint(rs_patcher_provider_sites_on(patcher, 3), ==, 2);
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	g_assert_false(g_file_test(patcher_journal, G_FILE_TEST_EXISTS));
	guest_deinit(&guest);
}

/* From now on the journal cannot grow, as on a full disk. */
static void fill_disk(struct rlimit *before)
{
	struct rlimit full;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, before);
	full = *before;
	full.rlim_cur = sizeof(struct rs_journal_header);
	setrlimit(RLIMIT_FSIZE, &full);
}

/* Another provider's wish, which fails on a full disk, keeps no text from being restored. */
static void test_leaves_alone(void)
{
	struct rs_site_list half;
	struct rs_patcher *patcher;
	struct rlimit old;
	struct guest guest;

	guest_init(&guest, 4, 4);
	half = guest.list;
	half.count = 2;
	guest.list.at.v += 2 * sizeof(struct rs_site);
	guest.list.count = 2;
	patcher = patcher_of(&guest, patcher_journal);
	half.provider = 2;
	g_assert_cmpint(rs_patcher_add_provider(patcher, &half, NULL, NULL), ==, 0);
	rs_patcher_want(patcher, FIRST, 1);
	patcher_commit(patcher, 0);
	g_assert_true(guest_is_jmp(&guest, 0));
	rs_patcher_want(patcher, FIRST + 2, 1);
	fill_disk(&old);
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 2, NULL), ==, 0);
	g_assert_true(guest_is_nop(&guest, 0));
	g_assert_cmpint(rs_patcher_commit(patcher, NULL, NULL), ==, -EFBIG);
	g_assert_true(guest_is_nop(&guest, 2));
	setrlimit(RLIMIT_FSIZE, &old);
	patcher_commit(patcher, 0);
	g_assert_true(guest_is_jmp(&guest, 2));
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

/* Sites go off although others, which are to go on in the same batch, cannot be journalled. */
static void test_full_disk(void)
{
	const struct rs_site_refusal *refusals;
	struct rs_patcher *patcher;
	struct rs_error err = {0};
	struct rlimit old;
	struct guest guest;
	size_t count;

	guest_init(&guest, 3, 3);
	patcher = patcher_of(&guest, patcher_journal);
	rs_patcher_want(patcher, FIRST, 1);
	patcher_commit(patcher, 0);
	fill_disk(&old);
	/* Who asks for sites to go on is told of the failure. */
	rs_patcher_want(patcher, FIRST, -1);
	rs_patcher_want(patcher, FIRST + 1, 1);
	g_assert_cmpint(rs_patcher_commit(patcher, NULL, &err), ==, -EFBIG);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	/* Who asks for sites to go off does not fail because of a wish that is left. */
	setrlimit(RLIMIT_FSIZE, &old);
	rs_patcher_want(patcher, FIRST, 1);
	rs_patcher_want(patcher, FIRST + 1, -1);
	patcher_commit(patcher, 0);
	g_assert_true(guest_is_jmp(&guest, 0));
	guest_text(&guest, 1)[0] = 0xcc;
	rs_patcher_want(patcher, FIRST + 1, 1);
	patcher_commit(patcher, 1);
	guest_text(&guest, 1)[0] = 0x0f;
	fill_disk(&old);
	rs_patcher_want(patcher, FIRST, -1);
	patcher_commit(patcher, 1);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	refusals = rs_patcher_refusals(patcher, &count);
	g_assert_nonnull(strstr(refusals[count - 1].why, "cannot be journalled"));
	setrlimit(RLIMIT_FSIZE, &old);
	rs_patcher_want(patcher, FIRST + 1, 1);
	patcher_commit(patcher, 0);
	g_assert_true(guest_is_jmp(&guest, 1));
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

int main(int argc, char **argv)
{
	patchers_init(&argc, &argv);
	g_test_add_data_func("/patch/patcher/owed/target", GINT_TO_POINTER(-EIO), test_owed);
	g_test_add_data_func("/patch/patcher/owed/place", GINT_TO_POINTER(-EFAULT), test_owed);
	g_test_add_func("/patch/patcher/owed/returns", test_owed_returns);
	g_test_add_data_func("/patch/patcher/left/target", GINT_TO_POINTER(-EIO),
			     test_left_patched);
	g_test_add_data_func("/patch/patcher/left/place", GINT_TO_POINTER(-EFAULT),
			     test_left_patched);
	g_test_add_func("/patch/patcher/left/unreadable", test_left_unreadable);
	g_test_add_func("/patch/patcher/left/unmapped", test_left_unmapped);
	g_test_add_func("/patch/patcher/leaves-alone", test_leaves_alone);
	g_test_add_func("/patch/patcher/full-disk", test_full_disk);
	return patchers_run();
}
