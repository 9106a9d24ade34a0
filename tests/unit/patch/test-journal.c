/* SPDX-License-Identifier: MIT */
#include "guest.h"
#include "patch/patcher.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *path;
static struct guest guest;

/* A session that patches everything and is killed: its journal stays. */
static void die_patched(void)
{
	struct rs_patcher *patcher = NULL;
	gsize size;
	char *copy;

	guest_init(&guest, 5, 1);
	g_assert_cmpint(
		rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, path, NULL, &patcher, NULL), ==,
		0);
	rs_patcher_set_process(patcher, 4711, 99);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &guest.list, NULL, NULL), ==, 0);
	rs_patcher_want(patcher, 16, 1);
	g_assert_cmpint(rs_patcher_commit(patcher, NULL, NULL), ==, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, 5);
	g_assert_true(g_file_get_contents(path, &copy, &size, NULL));
	g_assert_cmpuint(size, ==,
			 sizeof(struct rs_journal_header) + 5 * sizeof(struct rs_journal_record));
	rs_patcher_forget(patcher); /* so that destroy leaves the text alone */
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 5);
	g_assert_true(g_file_set_contents(path, copy, (gssize)size, NULL));
	g_free(copy);
}

static void recover(struct rs_journal_report *report)
{
	struct rs_journal *journal = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(rs_journal_open(path, &journal, &err), ==, 0);
	g_assert_cmpint(rs_journal_recover(journal, &guest.fake.base, report, &err), ==, 0);
	g_assert_cmpuint(rs_journal_count(journal), ==, 0);
	rs_journal_close(journal);
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

static void test_recover(void)
{
	struct rs_journal_report report;
	struct rs_journal *journal, *second;
	struct rs_error err = {0};
	uint64_t start;

	die_patched();
	g_assert_cmpint(rs_journal_open(path, &journal, NULL), ==, 0);
	g_assert_cmpuint(rs_journal_count(journal), ==, 5);
	g_assert_cmpuint(rs_journal_process(journal, &start), ==, 4711);
	g_assert_cmpuint(start, ==, 99);
	g_assert_cmpint(rs_journal_open(path, &second, &err), ==, -EBUSY);
	rs_journal_close(journal);
	guest_text(&guest, 1)[0] = 0xcc;
	memcpy(guest_text(&guest, 2), guest_text(&guest, 2) + 20, 5); /* 90 90 90 90 90 */
	rs_insn_nop(guest_text(&guest, 3));
	recover(&report);
	g_assert_cmpuint(report.records, ==, 5);
	g_assert_cmpuint(report.restored, ==, 2);
	g_assert_cmpuint(report.untouched, ==, 1);
	g_assert_cmpuint(report.left_alone, ==, 2);
	g_assert_nonnull(strstr(report.first_left, "0xffffffff81000048"));
	g_assert_true(guest_is_nop(&guest, 0));
	g_assert_cmpint(guest_text(&guest, 1)[0], ==, 0xcc);
	g_assert_cmpint(guest_text(&guest, 2)[0], ==, 0x90);
	guest_deinit(&guest);
}

static void test_torn(void)
{
	struct rs_journal_report report;

	die_patched();
	g_assert_cmpint(truncate(path, sizeof(struct rs_journal_header) +
					       4 * sizeof(struct rs_journal_record) + 13),
			==, 0);
	recover(&report);
	g_assert_cmpuint(report.records, ==, 4);
	g_assert_cmpuint(report.restored, ==, 4);
	guest_deinit(&guest);
	/* Torn in the header, and empty: a new journal. */
	g_assert_true(g_file_set_contents(path, "SIDERNRL", 3, NULL));
	guest_init(&guest, 1, 1);
	recover(&report);
	g_assert_cmpuint(report.records, ==, 0);
	guest_deinit(&guest);
}

/* Every byte of the file wrong in turn: never a write of anything but the NOP, over our JMP. */
static void test_corrupt(void)
{
	struct rs_journal *journal;
	gsize size;
	char *good;

	die_patched();
	g_assert_true(g_file_get_contents(path, &good, &size, NULL));
	for (gsize i = 0; i < size; i++) {
		struct rs_journal_report report = {0};

		good[i] ^= 0x21;
		g_assert_true(g_file_set_contents(path, good, (gssize)size, NULL));
		good[i] ^= 0x21;
		if (rs_journal_open(path, &journal, NULL)) {
			g_assert_cmpuint(i, <, sizeof(struct rs_journal_header));
			continue;
		}
		g_assert_cmpuint(i, >=, sizeof(struct rs_journal_header));
		g_assert_cmpuint(rs_journal_count(journal), ==,
				 (i - sizeof(struct rs_journal_header)) /
					 sizeof(struct rs_journal_record));
		g_assert_cmpint(rs_journal_recover(journal, &guest.fake.base, &report, NULL), ==,
				0);
		rs_journal_close(journal);
	}
	for (uint32_t i = 0; i < 5; i++)
		g_assert_true(guest_is_nop(&guest, i) || guest_is_jmp(&guest, i));
	g_free(good);
	g_unlink(path);
	guest_deinit(&guest);
}

/* A well-formed journal that asks for another change than ours is not obeyed. */
static void test_forged(void)
{
	struct rs_journal_record record = {
		.at = guest_site(0),
		.at_phys = TEXT_GPA + 8,
		.size = 5,
		.old_bytes = {0xcc, 0xcc, 0xcc, 0xcc, 0xcc},
	};
	struct rs_journal_report report;
	struct rs_journal *journal;

	guest_init(&guest, 1, 1);
	memcpy(record.new_bytes, guest_text(&guest, 0), 5);
	g_assert_cmpint(rs_journal_open(path, &journal, NULL), ==, 0);
	g_assert_cmpint(rs_journal_append(journal, &record, 1, NULL), ==, 0);
	rs_journal_close(journal);
	recover(&report);
	g_assert_cmpuint(report.left_alone, ==, 1);
	g_assert_cmpuint(guest.fake.writes, ==, 0);
	g_assert_true(guest_is_nop(&guest, 0));
	guest_deinit(&guest);
}

static void test_no_symlink(void)
{
	struct rs_journal *journal;

	g_assert_cmpint(symlink("/dev/null", path), ==, 0);
	g_assert_cmpint(rs_journal_open(path, &journal, NULL), ==, -ELOOP);
	g_unlink(path);
}

/* The records are in the file before the guest is stopped. */
static void look_at_the_file(struct fake_target *fake)
{
	gsize size = 0;
	char *bytes = NULL;

	g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
	*(gsize *)fake->data = size;
	g_free(bytes);
}

static void test_before_the_text(void)
{
	struct rs_patcher *patcher = NULL;
	gsize size = 0;

	guest_init(&guest, 3, 1);
	guest.fake.on_pause = look_at_the_file;
	guest.fake.data = &size;
	g_assert_cmpint(
		rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, path, NULL, &patcher, NULL), ==,
		0);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &guest.list, NULL, NULL), ==, 0);
	rs_patcher_want(patcher, 16, 1);
	g_assert_cmpint(rs_patcher_commit(patcher, NULL, NULL), ==, 0);
	g_assert_cmpuint(size, ==,
			 sizeof(struct rs_journal_header) + 3 * sizeof(struct rs_journal_record));
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

int main(int argc, char **argv)
{
	char *dir = g_dir_make_tmp("rs-journal-XXXXXX", NULL);
	int ret;

	g_test_init(&argc, &argv, NULL);
	path = g_build_filename(dir, "x.journal", NULL);
	g_test_add_func("/patch/journal/recover", test_recover);
	g_test_add_func("/patch/journal/torn", test_torn);
	g_test_add_func("/patch/journal/corrupt", test_corrupt);
	g_test_add_func("/patch/journal/forged", test_forged);
	g_test_add_func("/patch/journal/no-symlink", test_no_symlink);
	g_test_add_func("/patch/journal/before-the-text", test_before_the_text);
	ret = g_test_run();
	g_rmdir(dir);
	return ret;
}
