/* SPDX-License-Identifier: MIT */
#include "guest.h"
#include "patch/patcher.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *path;
static struct guest guest;

/* A session that patches everything and is killed: its journal stays. */
static void die_patched_with(uint32_t sites)
{
	struct rs_patcher *patcher = NULL;
	gsize size;
	char *copy;

	guest_init(&guest, sites, 1);
	g_assert_cmpint(
		rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, path, NULL, &patcher, NULL), ==,
		0);
	rs_patcher_set_process(patcher, 4711, 99);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &guest.list, NULL, NULL), ==, 0);
	rs_patcher_want(patcher, FIRST, 1);
	g_assert_cmpint(rs_patcher_commit(patcher, NULL, NULL), ==, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, sites);
	g_assert_true(g_file_get_contents(path, &copy, &size, NULL));
	g_assert_cmpuint(size, ==,
			 sizeof(struct rs_journal_header) +
				 sites * sizeof(struct rs_journal_record));
	rs_patcher_forget(patcher); /* so that destroy leaves the text alone */
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, sites);
	g_assert_true(g_file_set_contents(path, copy, (gssize)size, NULL));
	g_free(copy);
}

static void die_patched(void)
{
	die_patched_with(5);
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
	g_assert_nonnull(strstr(report.first_left, "0xffffffff81000088"));
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

/* Each byte of the file is wrong in turn: only the NOP is ever written, over our JMP. */
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

/* A journal of `count` records, written and closed. */
static void write_records(struct rs_journal_record *records, size_t count)
{
	struct rs_journal *journal;

	g_assert_cmpint(rs_journal_open(path, &journal, NULL), ==, 0);
	g_assert_cmpint(rs_journal_append(journal, records, count, NULL), ==, 0);
	rs_journal_close(journal);
}

/* A well-formed record of a site that asks for another change than the NOP over a JMP is not
 * obeyed. */
static void test_forged_site(void)
{
	struct rs_text_patch patch = {.at = {guest_site(0)}, .at_phys = {TEXT_GPA + 8}, .size = 5};
	struct rs_journal_report report;
	struct rs_journal_record record;

	guest_init(&guest, 1, 1);
	memset(patch.old_bytes, 0xcc, 5);
	memcpy(patch.new_bytes, guest_text(&guest, 0), 5);
	record = rs_journal_record_of(RS_JOURNAL_SITE, ROOT, &patch);
	write_records(&record, 1);
	recover(&report);
	g_assert_cmpuint(report.left_alone, ==, 1);
	g_assert_cmpuint(guest.fake.writes, ==, 0);
	g_assert_true(guest_is_nop(&guest, 0));
	guest_deinit(&guest);
}

/* Impossible records: a bad size, kind or place. */
static void test_impossible(void)
{
	struct rs_text_patch patch = {
		.at = {TEXT + 0x2000}, .at_phys = {TEXT_GPA + 0x2000}, .size = 2};
	struct rs_journal_report report;
	struct rs_journal_record records[7];

	guest_init(&guest, 1, 1);
	guest.fake.writable = NULL;
	memset(patch.old_bytes, 0xcc, sizeof(patch.old_bytes)); /* over the 0 that is there */
	for (size_t i = 0; i < G_N_ELEMENTS(records); i++)
		records[i] = rs_journal_record_of(RS_JOURNAL_TEXT, ROOT, &patch);
	records[0].size = 0;
	records[1].size = RS_TEXT_MAX + 1;
	records[2].size = 256 + 2;
	records[3].kind = 0;
	records[4].kind = 3;
	records[5].at = records[5].at_phys = 0xfff; /* goes on in a page that is not named */
	records[6].at_phys = 0;
	write_records(records, G_N_ELEMENTS(records));
	recover(&report);
	g_assert_cmpuint(report.left_alone, ==, G_N_ELEMENTS(records));
	g_assert_cmpuint(guest.fake.writes, ==, 0);
	guest_deinit(&guest);
}

static const uint8_t sizes[] = {1, 5, 8, 13, 16};
#define SIZES G_N_ELEMENTS(sizes)

/* A patch of each size in text of the guest that holds its new bytes; the last one across two
 * pages. */
static void make_patches(struct rs_text_patch patches[SIZES], bool virtual_memory)
{
	guest_init(&guest, 0, 1);
	if (virtual_memory)
		fake_target_virtual(&guest.fake, TEXT - TEXT_GPA);
	for (size_t i = 0; i < SIZES; i++) {
		uint64_t offset = i + 1 < SIZES ? 0x100 + i * 19 : 2 * RS_PAGE_SIZE - 5;

		patches[i] = (struct rs_text_patch){.at = {TEXT + offset}, .size = sizes[i]};
		if (!virtual_memory) {
			patches[i].at_phys.v = TEXT_GPA + offset;
			patches[i].next_phys.v = TEXT_GPA + 2 * RS_PAGE_SIZE;
		}
		for (uint8_t k = 0; k < sizes[i]; k++) {
			patches[i].old_bytes[k] = (uint8_t)(0x40 + 16 * i + k);
			patches[i].new_bytes[k] = (uint8_t)(0xf0 - 16 * i - k);
		}
		memcpy(guest.ram + TEXT_GPA + offset, patches[i].new_bytes, sizes[i]);
		memset(guest.writable + TEXT_GPA + offset, 1, sizes[i]);
	}
}

static uint8_t *text_of(const struct rs_text_patch *patch)
{
	return guest.ram + TEXT_GPA + (patch->at.v - TEXT);
}

static void write_patches(const struct rs_text_patch *patches, size_t count)
{
	g_autofree struct rs_journal_record *records = g_new(struct rs_journal_record, count);

	for (size_t i = 0; i < count; i++)
		records[i] = rs_journal_record_of(RS_JOURNAL_TEXT, ROOT, &patches[i]);
	write_records(records, count);
}

/* Any patch can be recorded and read back, and its text is restored. */
static void test_any_patch(gconstpointer virtual_memory)
{
	struct rs_text_patch patches[SIZES];
	struct rs_journal_report report;

	make_patches(patches, virtual_memory != NULL);
	write_patches(patches, SIZES);
	recover(&report);
	g_assert_cmpuint(report.restored, ==, SIZES);
	for (size_t i = 0; i < SIZES; i++)
		g_assert_cmpmem(text_of(&patches[i]), sizes[i], patches[i].old_bytes, sizes[i]);
	guest_deinit(&guest); /* no byte beside them was written */
}

/* The first or last byte of each differs: these are left alone. */
static void test_any_patch_exactly(void)
{
	for (int last = 0; last < 2; last++) {
		struct rs_text_patch patches[SIZES];
		struct rs_journal_report report;

		make_patches(patches, false);
		for (size_t i = 1; i < SIZES; i++)
			text_of(&patches[i])[last ? sizes[i] - 1 : 0] ^= 1;
		memcpy(text_of(&patches[0]), patches[0].old_bytes, sizes[0]);
		write_patches(patches, SIZES);
		recover(&report);
		g_assert_cmpuint(report.left_alone, ==, SIZES - 1);
		g_assert_cmpuint(report.untouched, ==, 1);
		g_assert_cmpuint(guest.fake.writes, ==, 0);
		guest_deinit(&guest);
	}
}

/* Recovery of a place that was patched twice undoes both patches. */
static void test_twice(void)
{
	struct rs_text_patch patches[SIZES], twice[2];
	struct rs_journal_report report;

	make_patches(patches, false);
	twice[0] = twice[1] = patches[3];
	memset(twice[0].new_bytes, 0xaa, sizes[3]);
	memset(twice[1].old_bytes, 0xaa, sizes[3]);
	write_patches(twice, 2);
	recover(&report);
	g_assert_cmpuint(report.restored, ==, 2);
	g_assert_cmpmem(text_of(&twice[0]), sizes[3], twice[0].old_bytes, sizes[3]);
	guest_deinit(&guest);
}

/* A target that fails: the journal stays, and a later try goes on. */
static void test_again(void)
{
	struct rs_text_patch patches[SIZES];
	struct rs_journal_report report = {.records = 4711};
	struct rs_journal *journal;

	make_patches(patches, false);
	write_patches(patches, SIZES);
	guest.fake.fail_write = -EIO;
	guest.fake.fail_write_after = 3; /* of these, two are the pieces of one */
	g_assert_cmpint(rs_journal_open(path, &journal, NULL), ==, 0);
	g_assert_cmpint(rs_journal_recover(journal, &guest.fake.base, &report, NULL), ==, -EIO);
	g_assert_cmpuint(report.records, ==, 4711);
	rs_journal_close(journal);
	guest.fake.fail_write = 0;
	recover(&report);
	g_assert_cmpuint(report.untouched, ==, 2);
	g_assert_cmpuint(report.restored, ==, SIZES - 2);
	guest_deinit(&guest);
}

/* A place that cannot be written any more is left alone, and told again; the others go back. */
static void test_unwritable(void)
{
	struct rs_text_patch patches[SIZES];
	struct rs_journal_report report = {0};
	struct rs_journal_record more;
	struct rs_journal *journal;

	make_patches(patches, false);
	write_patches(patches, SIZES);
	guest.fake.fail_write = -EFAULT;
	guest.fake.fail_write_count = 1;
	g_assert_cmpint(rs_journal_open(path, &journal, NULL), ==, 0);
	g_assert_cmpint(rs_journal_recover(journal, &guest.fake.base, &report, NULL), ==, 0);
	g_assert_cmpuint(report.restored, ==, SIZES - 1);
	g_assert_cmpuint(report.left_alone, ==, 1);
	g_assert_cmpuint(report.kept, ==, 1);
	g_assert_cmpuint(rs_journal_count(journal), ==, 1);
	g_assert_nonnull(strstr(report.first_left, "cannot be written"));
	/* What is journalled from now on does not overwrite it. */
	more = rs_journal_record_of(RS_JOURNAL_TEXT, ROOT, &patches[1]);
	g_assert_cmpint(rs_journal_append(journal, &more, 1, NULL), ==, 0);
	rs_journal_close(journal);
	guest.fake.fail_write = 0;
	recover(&report);
	g_assert_cmpuint(report.records, ==, SIZES + 1);
	g_assert_cmpuint(report.restored, ==, 1);
	g_assert_cmpuint(report.untouched, ==, SIZES);
	guest_deinit(&guest);
}

/* Much text goes back in several pauses, and text that needs nothing in none. */
static void test_pieces(void)
{
	struct rs_journal_report report;

	die_patched_with(5000);
	g_assert_cmpuint(guest.fake.pauses, ==, 1);
	recover(&report);
	g_assert_cmpuint(report.restored, ==, 5000);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	g_assert_cmpuint(guest.fake.pauses, ==, 1 + 5);
	g_assert_cmpuint(guest.fake.resumes, ==, guest.fake.pauses);
	guest_deinit(&guest);
	die_patched();
	for (uint32_t i = 0; i < 5; i++)
		rs_insn_nop(guest_text(&guest, i));
	recover(&report);
	g_assert_cmpuint(report.untouched, ==, 5);
	g_assert_cmpuint(guest.fake.pauses, ==, 1);
	guest_deinit(&guest);
}

/* Whoever may write the file can change text, so only we may write it. */
static void test_others_may_write(void)
{
	struct rs_journal *journal;
	struct rs_error err = {0};

	die_patched();
	g_assert_cmpint(chmod(path, 0620), ==, 0);
	g_assert_cmpint(rs_journal_open(path, &journal, &err), ==, -EPERM);
	g_assert_cmpint(chmod(path, 0602), ==, 0);
	g_assert_cmpint(rs_journal_open(path, &journal, &err), ==, -EPERM);
	if (geteuid() == 0) {
		g_assert_cmpint(chmod(path, 0600), ==, 0);
		g_assert_cmpint(chown(path, 65534, (gid_t)-1), ==, 0);
		g_assert_cmpint(rs_journal_open(path, &journal, &err), ==, -EPERM);
	}
	g_assert_cmpuint(guest_count_on(&guest), ==, 5);
	g_unlink(path);
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
	rs_patcher_want(patcher, FIRST, 1);
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
	g_test_add_func("/patch/journal/forged-site", test_forged_site);
	g_test_add_func("/patch/journal/impossible", test_impossible);
	g_test_add_data_func("/patch/journal/any-patch", NULL, test_any_patch);
	g_test_add_data_func("/patch/journal/any-patch-virtual", "", test_any_patch);
	g_test_add_func("/patch/journal/exactly", test_any_patch_exactly);
	g_test_add_func("/patch/journal/twice", test_twice);
	g_test_add_func("/patch/journal/again", test_again);
	g_test_add_func("/patch/journal/unwritable", test_unwritable);
	g_test_add_func("/patch/journal/pieces", test_pieces);
	g_test_add_func("/patch/journal/others", test_others_may_write);
	g_test_add_func("/patch/journal/no-symlink", test_no_symlink);
	g_test_add_func("/patch/journal/before-the-text", test_before_the_text);
	ret = g_test_run();
	g_rmdir(dir);
	g_free(dir);
	return ret;
}
