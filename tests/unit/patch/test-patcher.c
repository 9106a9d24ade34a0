/* SPDX-License-Identifier: MIT */
#include "guest.h"
#include "patch/patcher.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

static char *journal_path;

static struct rs_patcher *patcher_of(struct guest *guest, const char *journal)
{
	struct rs_patcher *patcher = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(
		rs_patcher_create(&guest->fake.base, RS_PATCH_HOST, journal, NULL, &patcher, &err),
		==, 0);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &guest->list, NULL, &err), ==, 0);
	return patcher;
}

static void commit(struct rs_patcher *patcher, uint32_t expected_refused)
{
	struct rs_error err = {0};
	uint32_t refused;

	g_assert_cmpint(rs_patcher_commit(patcher, &refused, &err), ==, 0);
	g_assert_cmpuint(refused, ==, expected_refused);
}

static void test_refcount(void)
{
	struct rs_patcher_stats stats;
	struct rs_patcher *patcher;
	struct guest guest;
	uint32_t known, on;

	guest_init(&guest, 10, 3); /* event FIRST: sites 0 3 6 9 */
	patcher = patcher_of(&guest, journal_path);
	rs_patcher_want(patcher, FIRST, 1);
	rs_patcher_want(patcher, FIRST, 1);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0); /* not before the commit */
	commit(patcher, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 4);
	g_assert_true(guest_is_jmp(&guest, 3));
	g_assert_true(guest_is_nop(&guest, 1));
	rs_patcher_event_sites(patcher, FIRST, &known, &on);
	g_assert_cmpuint(known, ==, 4);
	g_assert_cmpuint(on, ==, 4);
	rs_patcher_want(patcher, FIRST, -1);
	commit(patcher, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 4); /* somebody still wants it */
	rs_patcher_want(patcher, FIRST, -1);
	rs_patcher_want(patcher, FIRST + 1, 1);
	commit(patcher, 0); /* off and on in one pause */
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
	g_assert_false(g_file_test(journal_path, G_FILE_TEST_EXISTS));
	guest_deinit(&guest);
}

static void check_counts(const struct rs_patcher *patcher, uint32_t known, uint32_t on,
			 uint32_t on_first, uint32_t on_second)
{
	uint32_t k, o;

	rs_patcher_event_sites(patcher, FIRST + 1, &k, &o);
	g_assert_cmpuint(k, ==, known);
	g_assert_cmpuint(o, ==, on);
	g_assert_cmpuint(rs_patcher_provider_sites_on(patcher, 1), ==, on_first);
	g_assert_cmpuint(rs_patcher_provider_sites_on(patcher, 2), ==, on_second);
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
	check_counts(patcher, 3, 0, 0, 0);
	rs_patcher_want(patcher, FIRST + 1, 1);
	commit(patcher, 0);
	check_counts(patcher, 3, 3, 3, 0);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &second, NULL, NULL), ==, 0);
	check_counts(patcher, 5, 3, 3, 0);
	commit(patcher, 0);
	check_counts(patcher, 5, 5, 3, 2);
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, 0);
	check_counts(patcher, 5, 5, 6, 4);
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 1, NULL), ==, 0);
	check_counts(patcher, 2, 2, 0, 4);
	rs_patcher_forget(patcher);
	check_counts(patcher, 0, 0, 0, 0);
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
	commit(patcher, 0);
	check_counts(patcher, 0, 0, 4, 0);
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
	commit(patcher, 1);
	g_assert_cmpuint(guest_count_on(&guest), ==, 5);
	g_assert_cmpint(guest_text(&guest, 2)[0], ==, 0xcc);
	refusals = rs_patcher_refusals(patcher, &count);
	g_assert_cmpuint(count, ==, 1);
	g_assert_cmphex(refusals[0].at.v, ==, guest_site(2));
	g_assert_cmpuint(refusals[0].event, ==, FIRST);
	g_assert_nonnull(strstr(refusals[0].why, "cc 1f 44 00 00"));
	commit(patcher, 0); /* nobody asked, so it is not tried again */
	guest_text(&guest, 2)[0] = 0x0f;
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, 0);
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
	commit(patcher, 1);
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
	patcher = patcher_of(&guest, journal_path);
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
	commit(patcher, 0);
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
	patcher = patcher_of(&guest, journal_path);
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
	g_assert_true(g_file_test(journal_path, G_FILE_TEST_EXISTS));
	/* The next batch reads the text, and finds out. */
	guest.fake.fail_write = 0;
	for (uint32_t i = 0; i < 4; i++)
		rs_insn_nop(guest_text(&guest, i));
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	g_assert_false(g_file_test(journal_path, G_FILE_TEST_EXISTS));
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
	patcher = patcher_of(&guest, journal_path);
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, 0);
	rs_patcher_want(patcher, FIRST, -1);
	guest.fake.size = TEXT_GPA;
	commit(patcher, 4);
	rs_patcher_stats(patcher, &stats);
	g_assert_cmpuint(stats.sites_on, ==, 4);
	rs_patcher_destroy(patcher);
	guest.fake.size = RAM;
	g_assert_cmpuint(guest_count_on(&guest), ==, 4);
	g_assert_cmpint(rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, journal_path, &report,
					  &patcher, NULL),
			==, 0);
	g_assert_cmpuint(report.restored, ==, 4);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

/* The guest copies the first page of its text, and goes on in the copy. */
/* The session is killed, and another one finds its journal. */
static void kill_and_recover(struct guest *guest, struct rs_patcher *patcher,
			     struct rs_journal_report *report)
{
	gsize size;
	char *journal;

	g_assert_true(g_file_get_contents(journal_path, &journal, &size, NULL));
	rs_patcher_forget(patcher);
	rs_patcher_destroy(patcher);
	g_assert_true(g_file_set_contents(journal_path, journal, (gssize)size, NULL));
	g_free(journal);
	g_assert_cmpint(rs_patcher_create(&guest->fake.base, RS_PATCH_HOST, journal_path, report,
					  &patcher, NULL),
			==, 0);
	rs_patcher_destroy(patcher);
}

/* The guest has moved a page of its text: the journal must name the place where it lies now. */
static void test_moved(void)
{
	struct rs_journal_report report = {0};
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 4, 2);
	patcher = patcher_of(&guest, journal_path);
	rs_patcher_want(patcher, FIRST + 1, 1); /* keeps the journal in use */
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, 0);
	rs_patcher_want(patcher, FIRST, -1);
	commit(patcher, 0);
	guest_move_text(&guest, TEXT_GPA, ELSEWHERE);
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, 0);
	g_assert_cmpint(guest.ram[ELSEWHERE + 8], ==, 0xe9);
	kill_and_recover(&guest, patcher, &report);
	g_assert_cmpint(guest.ram[ELSEWHERE + 8], ==, 0x0f);
	guest_deinit(&guest);
}

/* Two providers of two sites each, all of them on. Site i has event FIRST + i. */
static struct rs_patcher *two_providers(struct guest *guest)
{
	struct rs_patcher *patcher;
	struct rs_site_list half;

	guest_init(guest, 4, 4);
	half = guest->list;
	half.provider = 2;
	half.count = guest->list.count = 2;
	guest->list.at.v += 2 * sizeof(struct rs_site);
	patcher = patcher_of(guest, journal_path);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &half, NULL, NULL), ==, 0);
	for (uint16_t i = 0; i < 4; i++)
		rs_patcher_want(patcher, FIRST + i, 1);
	commit(patcher, 0);
	g_assert_cmpuint(guest_count_on(guest), ==, 4);
	return patcher;
}

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

	patcher = two_providers(&guest);
	leave_patched(&guest, patcher, GPOINTER_TO_INT(error));
	guest.fake.fail_write = 0;
	while (guest_is_jmp(&guest, 0) && g_get_monotonic_time() < until)
		rs_patcher_tend(patcher);
	g_assert_true(guest_is_nop(&guest, 0) && guest_is_nop(&guest, 1));
	g_assert_true(guest_is_jmp(&guest, 2) && guest_is_jmp(&guest, 3));
	kill_and_recover(&guest, patcher, &report);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	guest_deinit(&guest);
}

/* The next step has something to do once somebody has asked, and as long as sites are left. */
static void test_has_due(void)
{
	struct rs_patcher *patcher;
	struct guest guest;

	patcher = two_providers(&guest);
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

/* It cannot be restored at the end either: that is told, and the next session does it. */
static void test_left_patched(gconstpointer error)
{
	struct rs_journal_report report = {0};
	struct rs_error err = {0};
	struct rs_patcher *patcher;
	struct guest guest;

	patcher = two_providers(&guest);
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
	g_assert_cmpint(rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, journal_path, &report,
					  &patcher, NULL),
			==, -EIO);
	guest.fake.fail_pause = 0;
	g_assert_cmpint(rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, journal_path, &report,
					  &patcher, NULL),
			==, 0);
	g_assert_cmpuint(report.restored, ==, 2);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	rs_patcher_destroy(patcher);
	g_assert_false(g_file_test(journal_path, G_FILE_TEST_EXISTS));
	guest_deinit(&guest);
}

/* Its text cannot even be read when it goes. Where it lay tells later what became of it. */
static void test_left_unreadable(void)
{
	struct rs_journal_report report = {0};
	struct rs_patcher *patcher;
	struct guest guest;

	patcher = two_providers(&guest);
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 1, NULL), ==, 0);
	guest.fake.size = TEXT_GPA;
	rs_patcher_remove_provider(patcher, 2, NULL);
	g_assert_cmpint(rs_patcher_restore(patcher, NULL), ==, -EIO);
	rs_patcher_destroy(patcher);
	/* A session that finds it so does not forget it either. */
	g_assert_cmpint(rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, journal_path, &report,
					  &patcher, NULL),
			==, 0);
	g_assert_cmpuint(report.kept, >=, 2); /* the file may still have what was restored */
	rs_patcher_destroy(patcher);
	g_assert_true(g_file_test(journal_path, G_FILE_TEST_EXISTS));
	g_assert_cmpint(rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, journal_path, &report,
					  &patcher, NULL),
			==, 0);
	guest.fake.size = RAM;
	g_assert_cmpint(rs_patcher_restore(patcher, NULL), ==, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	rs_patcher_destroy(patcher);
	g_assert_false(g_file_test(journal_path, G_FILE_TEST_EXISTS));
	guest_deinit(&guest);
}

/* Its pages are unmapped when it goes. Where they lay, the JMPs are taken out all the same. */
static void test_left_unmapped(void)
{
	struct rs_patcher *patcher;
	struct guest guest;

	patcher = two_providers(&guest);
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

	patcher = two_providers(&guest);
	half = guest.list;
	half.provider = 3;
	half.at.v = DATA;
	leave_patched(&guest, patcher, -EFAULT);
	guest.fake.fail_write = -EFAULT;
	g_assert_cmpint(rs_patcher_add_provider(patcher, &half, NULL, NULL), ==, 0);
	guest.fake.fail_write = 0;
	commit(patcher, 0);
	for (uint32_t i = 0; i < 1000; i++)
		rs_patcher_tend(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 4);
	g_assert_cmpuint(rs_patcher_provider_sites_on(patcher, 3), ==, 2);
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	g_assert_false(g_file_test(journal_path, G_FILE_TEST_EXISTS));
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
	patcher = patcher_of(&guest, journal_path);
	half.provider = 2;
	g_assert_cmpint(rs_patcher_add_provider(patcher, &half, NULL, NULL), ==, 0);
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, 0);
	g_assert_true(guest_is_jmp(&guest, 0));
	rs_patcher_want(patcher, FIRST + 2, 1);
	fill_disk(&old);
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 2, NULL), ==, 0);
	g_assert_true(guest_is_nop(&guest, 0));
	g_assert_cmpint(rs_patcher_commit(patcher, NULL, NULL), ==, -EFBIG);
	g_assert_true(guest_is_nop(&guest, 2));
	setrlimit(RLIMIT_FSIZE, &old);
	commit(patcher, 0);
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
	patcher = patcher_of(&guest, journal_path);
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, 0);
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
	commit(patcher, 0);
	g_assert_true(guest_is_jmp(&guest, 0));
	guest_text(&guest, 1)[0] = 0xcc;
	rs_patcher_want(patcher, FIRST + 1, 1);
	commit(patcher, 1);
	guest_text(&guest, 1)[0] = 0x0f;
	fill_disk(&old);
	rs_patcher_want(patcher, FIRST, -1);
	commit(patcher, 1);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	refusals = rs_patcher_refusals(patcher, &count);
	g_assert_nonnull(strstr(refusals[count - 1].why, "cannot be journalled"));
	setrlimit(RLIMIT_FSIZE, &old);
	rs_patcher_want(patcher, FIRST + 1, 1);
	commit(patcher, 0);
	g_assert_true(guest_is_jmp(&guest, 1));
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

static void check_clean(struct guest *guest, const uint8_t *text)
{
	g_assert_cmpmem(guest->ram + TEXT_GPA, RS_PAGE_SIZE, text, RS_PAGE_SIZE);
	g_assert_cmpmem(guest->ram + ELSEWHERE, RS_PAGE_SIZE, text, RS_PAGE_SIZE);
	g_assert_false(g_file_test(journal_path, G_FILE_TEST_EXISTS));
}

/*
 * The guest moves a page that holds our JMPs. Both the copy and the page that it left are restored,
 * since the guest may map that page again.
 */
static void test_moved_while_on(void)
{
	uint8_t text[RS_PAGE_SIZE];
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 4, 2);
	memcpy(text, guest.ram + TEXT_GPA, sizeof(text));
	patcher = patcher_of(&guest, journal_path);
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, 0);
	guest_move_text(&guest, TEXT_GPA, ELSEWHERE);
	g_assert_cmpint(memcmp(guest.ram + ELSEWHERE, text, RS_PAGE_SIZE), !=, 0);
	rs_patcher_want(patcher, FIRST, -1);
	commit(patcher, 0);
	rs_patcher_destroy(patcher);
	check_clean(&guest, text);
	guest_deinit(&guest);
}

static void move_now(struct fake_target *fake)
{
	fake->on_pause = NULL;
	guest_move_text((struct guest *)(void *)((char *)fake - offsetof(struct guest, fake)),
			TEXT_GPA, ELSEWHERE);
}

/* It moves the page after we have walked to it, and before we write there. */
static void test_moved_meanwhile(void)
{
	uint8_t text[RS_PAGE_SIZE];
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 4, 2);
	memcpy(text, guest.ram + TEXT_GPA, sizeof(text));
	patcher = patcher_of(&guest, journal_path);
	rs_patcher_want(patcher, FIRST, 1);
	guest.fake.on_pause = move_now;
	commit(patcher, 0);
	g_assert_cmpint(memcmp(guest.ram + TEXT_GPA, text, RS_PAGE_SIZE), !=, 0);
	rs_patcher_want(patcher, FIRST, -1);
	commit(patcher, 0);
	rs_patcher_destroy(patcher);
	check_clean(&guest, text);
	guest_deinit(&guest);
}

#define SHARED 4u /* sites in the first page, and their likes in the second one */
#define IN_PAGE (RS_PAGE_SIZE / 64u)

static void want_shared(struct rs_patcher *patcher, int delta, bool one_by_one, guint sites)
{
	for (uint16_t i = 0; i < sites; i++)
		rs_patcher_want(patcher, FIRST + i, delta);
	if (one_by_one)
		rs_patcher_commit(patcher, NULL, NULL);
	for (uint16_t i = 0; i < sites; i++)
		rs_patcher_want(patcher, FIRST + IN_PAGE + i, delta);
	rs_patcher_commit(patcher, NULL, NULL);
}

/*
 * One page at two addresses: sites of two events are the same bytes, and each wants a JMP of its
 * own there. The text is as it was once both are off, or the session was killed.
 */
static void test_shared(bool killed, bool one_by_one, guint sites)
{
	struct rs_journal_report report = {0};
	uint8_t text[RS_PAGE_SIZE];
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, IN_PAGE + SHARED, IN_PAGE + SHARED);
	memcpy(text, guest.ram + TEXT_GPA, sizeof(text));
	/* The likes lead elsewhere: a JMP of theirs has other bytes. */
	fake_target_map(&guest.fake, ROOT, TEXT + RS_PAGE_SIZE, TEXT_GPA, 1);
	patcher = patcher_of(&guest, journal_path);
	for (guint round = 0; round < 3; round++) {
		want_shared(patcher, 1, one_by_one, sites);
		g_assert_cmpint(memcmp(guest.ram + TEXT_GPA, text, RS_PAGE_SIZE), !=, 0);
		if (killed)
			break;
		want_shared(patcher, -1, one_by_one, sites);
		g_assert_cmpmem(guest.ram + TEXT_GPA, RS_PAGE_SIZE, text, RS_PAGE_SIZE);
	}
	if (killed)
		kill_and_recover(&guest, patcher, &report);
	else
		rs_patcher_destroy(patcher);
	g_assert_cmpmem(guest.ram + TEXT_GPA, RS_PAGE_SIZE, text, RS_PAGE_SIZE);
	guest_deinit(&guest);
}

static void test_shared_page(void)
{
	for (guint way = 0; way < 8; way++)
		test_shared(way & 1, way & 2, way & 4 ? SHARED : 1);
}

static void test_journal_refuses(void)
{
	struct rs_patcher *patcher = NULL;
	struct rs_error err = {0};
	struct guest guest;

	guest_init(&guest, 1, 1);
	g_assert_true(g_file_set_contents(journal_path, "this is a diary, not a journal of text",
					  -1, NULL));
	g_assert_cmpint(rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, journal_path, NULL,
					  &patcher, &err),
			==, -EIO);
	g_assert_true(g_file_test(journal_path, G_FILE_TEST_EXISTS));
	g_unlink(journal_path);
	guest_deinit(&guest);
}

static void test_providers(void)
{
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 4, 1);
	patcher = patcher_of(&guest, journal_path);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &guest.list, NULL, NULL), ==, -EEXIST);
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, 0);
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 1, NULL), ==, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 1, NULL), ==, -ENOENT);
	/* It comes back, and the wish still applies. */
	g_assert_cmpint(rs_patcher_add_provider(patcher, &guest.list, NULL, NULL), ==, 0);
	commit(patcher, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 4);
	/* A reboot: new text, nothing to restore. */
	memset(guest.ram + TEXT_GPA, 0x90, 256);
	rs_patcher_forget(patcher);
	commit(patcher, 0);
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
	commit(patcher, 0);
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest.fake.reads + guest.fake.writes + guest.fake.pauses, ==, 0);
	guest_deinit(&guest);
}

/* The sites of guest->list from the n-th on, as those of another provider. */
static struct rs_site_list split(struct guest *guest, uint32_t n)
{
	struct rs_site_list rest = guest->list;

	rest.provider = 2;
	rest.count -= n;
	rest.at.v += n * sizeof(struct rs_site);
	guest->list.count = n;
	return rest;
}

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
	rest = split(&guest, 4);
	patcher = patcher_of(&guest, journal_path);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &rest, NULL, NULL), ==, 0);
	rs_patcher_want(patcher, FIRST + 500, 1);
	commit(patcher, 0);
	before = looked(patcher);
	for (guint i = 0; i < 10; i++) {
		g_assert_cmpint(rs_patcher_remove_provider(patcher, 1, NULL), ==, 0);
		g_assert_cmpint(rs_patcher_add_provider(patcher, &guest.list, NULL, NULL), ==, 0);
		rs_patcher_want(patcher, FIRST + 1, 1);
		commit(patcher, 0);
		g_assert_cmpuint(guest_count_on(&guest), ==, 2);
		rs_patcher_want(patcher, FIRST + 1, -1);
		commit(patcher, 0);
	}
	g_assert_cmpuint(looked(patcher) - before, <=, 10 * 4 * guest.list.count);
	check_counts(patcher, 1, 0, 0, 1);
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
	rest = split(&guest, 900);
	patcher = patcher_of(&guest, journal_path);
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
	check_counts(patcher, 50, 50, 0, 100);
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	g_assert_false(g_file_test(journal_path, G_FILE_TEST_EXISTS));
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
	rest = split(&guest, 900);
	rest.provider = 7;
	patcher = patcher_of(&guest, journal_path);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &rest, NULL, NULL), ==, 0);
	rs_patcher_want(patcher, FIRST, 1);
	commit(patcher, 0);
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

/* A batch fails between others: what was written before stays, and all is tried again. */
static void test_step_fails(void)
{
	struct rs_patcher *patcher;
	struct guest guest;

	guest_init(&guest, 100, 1);
	patcher = patcher_of(&guest, journal_path);
	rs_patcher_want(patcher, FIRST, 1);
	g_assert_cmpint(step(patcher, 40), ==, 1);
	guest.fake.fail_pause = -EIO;
	g_assert_cmpint(step(patcher, 40), ==, -EIO);
	g_assert_cmpuint(guest_count_on(&guest), ==, 40);
	guest.fake.fail_pause = 0;
	commit(patcher, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 100);
	/* A provider that leaves is forgotten, and the journal keeps the rest of its text. */
	g_assert_cmpint(rs_patcher_leave(patcher, 1, NULL), ==, 0);
	g_assert_cmpint(step(patcher, 40), ==, 1);
	guest.fake.fail_pause = -EIO;
	g_assert_cmpint(step(patcher, 40), ==, -EIO);
	g_assert_false(rs_patcher_knows(patcher, 1));
	g_assert_cmpuint(guest_count_on(&guest), ==, 60);
	guest.fake.fail_pause = 0;
	kill_and_recover(&guest, patcher, &(struct rs_journal_report){0});
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
	rest = split(&guest, RS_MAX_REFUSALS - 24);
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
	patcher = patcher_of(&guest, journal_path);
	for (int i = 0; i < 20; i++) {
		rs_patcher_want(patcher, FIRST, 1);
		commit(patcher, 0);
		g_assert_cmpuint(guest_count_on(&guest), ==, 1000);
		rs_patcher_stats(patcher, &stats);
		if (stats.commit_last_ns < best) {
			best = stats.commit_last_ns;
			pause = stats.pause_last_ns;
		}
		rs_patcher_want(patcher, FIRST, -1);
		commit(patcher, 0);
		g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	}
	g_test_message("1000 sites: %.0f us, of which paused %.0f us", (double)best / 1e3,
		       (double)pause / 1e3);
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

int main(int argc, char **argv)
{
	char *dir = g_dir_make_tmp("rs-patcher-XXXXXX", NULL);
	int ret;

	g_test_init(&argc, &argv, NULL);
	journal_path = g_build_filename(dir, "x.journal", NULL);
	g_test_add_func("/patch/patcher/refcount", test_refcount);
	g_test_add_func("/patch/patcher/counts", test_counts);
	g_test_add_func("/patch/patcher/listed-twice", test_listed_twice);
	g_test_add_func("/patch/patcher/refused", test_refused);
	g_test_add_func("/patch/patcher/changed", test_changed_under_our_eyes);
	g_test_add_func("/patch/patcher/failures", test_failures);
	g_test_add_func("/patch/patcher/torn-write", test_torn_write);
	g_test_add_func("/patch/patcher/unreadable", test_unreadable);
	g_test_add_func("/patch/patcher/moved", test_moved);
	g_test_add_func("/patch/patcher/moved/while-on", test_moved_while_on);
	g_test_add_func("/patch/patcher/moved/meanwhile", test_moved_meanwhile);
	g_test_add_func("/patch/patcher/shared-page", test_shared_page);
	g_test_add_data_func("/patch/patcher/owed/target", GINT_TO_POINTER(-EIO), test_owed);
	g_test_add_data_func("/patch/patcher/owed/place", GINT_TO_POINTER(-EFAULT), test_owed);
	g_test_add_func("/patch/patcher/owed/returns", test_owed_returns);
	g_test_add_func("/patch/patcher/has-due", test_has_due);
	g_test_add_data_func("/patch/patcher/left/target", GINT_TO_POINTER(-EIO),
			     test_left_patched);
	g_test_add_data_func("/patch/patcher/left/place", GINT_TO_POINTER(-EFAULT),
			     test_left_patched);
	g_test_add_func("/patch/patcher/left/unreadable", test_left_unreadable);
	g_test_add_func("/patch/patcher/left/unmapped", test_left_unmapped);
	g_test_add_func("/patch/patcher/leaves-alone", test_leaves_alone);
	g_test_add_func("/patch/patcher/round", test_round);
	g_test_add_func("/patch/patcher/full-disk", test_full_disk);
	g_test_add_func("/patch/patcher/journal-refuses", test_journal_refuses);
	g_test_add_func("/patch/patcher/providers", test_providers);
	g_test_add_func("/patch/patcher/self", test_self);
	g_test_add_func("/patch/patcher/apart", test_apart);
	g_test_add_func("/patch/patcher/steps", test_steps);
	g_test_add_func("/patch/patcher/step-fails", test_step_fails);
	g_test_add_func("/patch/patcher/many-refused", test_many_refused);
	g_test_add_func("/patch/patcher/thousand", test_thousand);
	ret = g_test_run();
	g_rmdir(dir);
	g_free(dir);
	return ret;
}
