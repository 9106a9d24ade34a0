/* SPDX-License-Identifier: MIT */
/*
 * A journal's file at its limits, and what must not depend on the pieces in which it is played
 * back.
 */
#include "guest.h"
#include "patch/journal-private.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char *path;

/* Patches of any size over one another: played back, all is as it was before the first one. */
static void check_over_one_another(GRand *rand, struct guest *guest, uint32_t from, uint32_t room)
{
	const bool physical = guest->fake.base.ops->read_phys;
	g_autofree uint8_t *before = g_memdup2(guest->ram, RAM);
	struct rs_journal_report report;
	struct rs_journal *journal;

	g_assert_cmpint(rs_journal_open(path, &journal, NULL), ==, 0);
	for (int i = 0; i < 40; i++) {
		uint32_t size = (uint32_t)g_rand_int_range(rand, 1, RS_TEXT_MAX + 1);
		uint32_t at = from + (uint32_t)g_rand_int_range(rand, 0, (gint32)room);
		struct rs_text_patch patch = {.at = {TEXT + at}, .size = (uint8_t)size};
		struct rs_journal_record record;

		if (physical)
			patch.at_phys.v = TEXT_GPA + at;
		if (physical && at / RS_PAGE_SIZE != (at + size - 1) / RS_PAGE_SIZE)
			patch.next_phys.v = TEXT_GPA + RS_ALIGN_UP(at, RS_PAGE_SIZE);
		memcpy(patch.old_bytes, guest->ram + TEXT_GPA + at, size);
		for (uint32_t k = 0; k < size; k++)
			patch.new_bytes[k] = (uint8_t)g_rand_int(rand);
		record = rs_journal_record_of(RS_JOURNAL_TEXT, ROOT, &patch);
		g_assert_cmpint(rs_journal_append(journal, &record, 1, NULL), ==, 0);
		memcpy(guest->ram + TEXT_GPA + at, patch.new_bytes, size);
	}
	g_assert_cmpint(rs_journal_recover(journal, &guest->fake.base, &report, NULL), ==, 0);
	g_assert_cmpuint(report.records, ==, 40);
	g_assert_cmpuint(report.restored + report.untouched, ==, 40);
	g_assert_cmpmem(guest->ram, RAM, before, RAM);
	rs_journal_close(journal);
}

static void test_over_one_another(gconstpointer virtual_memory)
{
	static const uint32_t rooms[] = {1, 3, 8, 9, 16, 40, 200, 3000};
	g_autoptr(GRand) rand = g_rand_new_with_seed(5);
	struct guest guest;

	guest_init(&guest, 1, 1);
	memset(guest.writable + TEXT_GPA, 1, 2 * RS_PAGE_SIZE);
	if (virtual_memory)
		fake_target_virtual(&guest.fake, TEXT - TEXT_GPA);
	for (size_t i = 0; i < G_N_ELEMENTS(rooms); i++) {
		check_over_one_another(rand, &guest, 0, rooms[i]);
		/* Some of them begin in one page, and end in the next one. */
		check_over_one_another(rand, &guest, RS_PAGE_SIZE - rooms[i] / 2, rooms[i]);
	}
	guest_deinit(&guest);
}

#define PATCHES 5u

/* What becomes of the text between the look at it and the pause in which it is written. */
static void vanish(struct fake_target *fake)
{
	fake->on_pause = NULL;
	fake->size = TEXT_GPA;
}

static void change(struct fake_target *fake)
{
	fake->on_pause = NULL;
	for (uint32_t i = 0; i < PATCHES; i++)
		fake->ram[TEXT_GPA + 32 * i] = 3;
}

/* Plays back PATCHES of them. Checks how many were restored, left alone, and kept for later. */
static void check_recovery(struct rs_journal *journal, struct guest *guest, uint32_t restored,
			   uint32_t kept)
{
	struct rs_journal_report report;

	g_assert_cmpint(rs_journal_recover(journal, &guest->fake.base, &report, NULL), ==, 0);
	g_assert_cmpuint(report.records, ==, PATCHES);
	g_assert_cmpuint(report.restored, ==, restored);
	g_assert_cmpuint(report.left_alone, ==, PATCHES - restored);
	g_assert_cmpint(report.first_left[0] != 0, ==, restored < PATCHES);
	g_assert_cmpuint(report.kept, ==, kept);
	g_assert_cmpuint(rs_journal_count(journal), ==, kept);
}

static void test_meanwhile(void)
{
	struct rs_journal *journal;
	struct guest guest;

	guest_init(&guest, 1, 1);
	memset(guest.writable + TEXT_GPA, 1, RS_PAGE_SIZE);
	for (int round = 0; round < 3; round++) {
		g_assert_cmpint(rs_journal_open(path, &journal, NULL), ==, 0);
		for (uint32_t i = 0; i < PATCHES; i++) {
			struct rs_text_patch patch = {.at = {TEXT + 32 * i},
						      .at_phys = {TEXT_GPA + 32 * i},
						      .size = 1,
						      .old_bytes = {1},
						      .new_bytes = {2}};
			struct rs_journal_record record =
				rs_journal_record_of(RS_JOURNAL_TEXT, ROOT, &patch);

			g_assert_cmpint(rs_journal_append(journal, &record, 1, NULL), ==, 0);
			guest.ram[TEXT_GPA + 32 * i] = 2;
		}
		if (round == 0) {
			guest.fake.on_pause = vanish;
			check_recovery(journal, &guest, 0, PATCHES);
			guest.fake.size = RAM;
		} else if (round == 1) {
			guest.fake.fail_write = -EFAULT;
			check_recovery(journal, &guest, 0, PATCHES);
			guest.fake.fail_write = 0;
		} else {
			guest.fake.on_pause = change;
			check_recovery(journal, &guest, 0, 0);
		}
		if (round < 2)
			check_recovery(journal, &guest, PATCHES, 0);
		for (uint32_t i = 0; i < PATCHES; i++)
			g_assert_cmpuint(guest.ram[TEXT_GPA + 32 * i], ==, round < 2 ? 1 : 3);
		rs_journal_close(journal);
	}
	guest_deinit(&guest);
}

static struct rs_journal_record record_of(uint64_t at, uint64_t phys, uint8_t from, uint8_t to)
{
	const struct rs_text_patch patch = {
		.at = {at}, .at_phys = {phys}, .size = 1, .old_bytes = {from}, .new_bytes = {to}};

	return rs_journal_record_of(RS_JOURNAL_TEXT, ROOT, &patch);
}

static struct rs_journal *journal_with(struct rs_journal_record *records, size_t count)
{
	struct rs_journal *journal;

	g_assert_cmpint(rs_journal_open(path, &journal, NULL), ==, 0);
	g_assert_cmpint(rs_journal_append(journal, records, count, NULL), ==, 0);
	g_assert_cmpuint(rs_journal_count(journal), ==, count);
	return journal;
}

/* One place at two addresses, patched through both: it goes back through both. */
static void test_two_addresses(void)
{
	struct rs_journal_record records[] = {record_of(TEXT, TEXT_GPA, 1, 2),
					      record_of(TEXT + RS_PAGE_SIZE, TEXT_GPA, 2, 3)};
	struct rs_journal_report report;
	struct rs_journal *journal;
	struct guest guest;

	guest_init(&guest, 1, 1);
	guest.writable[TEXT_GPA] = 1;
	guest.ram[TEXT_GPA] = 3;
	journal = journal_with(records, 2);
	g_assert_cmpint(rs_journal_recover(journal, &guest.fake.base, &report, NULL), ==, 0);
	g_assert_cmpuint(report.restored, ==, 2);
	g_assert_cmpuint(guest.ram[TEXT_GPA], ==, 1);
	rs_journal_close(journal);
	guest_deinit(&guest);
}

/* What lies apart goes back in one pause, also where no place in memory is known. */
static void test_apart(gconstpointer virtual_memory)
{
	struct rs_journal_record records[] = {
		record_of(TEXT, virtual_memory ? 0 : TEXT_GPA, 1, 2),
		record_of(TEXT + 1, virtual_memory ? 0 : TEXT_GPA + 1, 1, 2),
		record_of(TEXT + 9, virtual_memory ? 0 : TEXT_GPA + 9, 1, 2)};
	struct rs_journal_report report;
	struct rs_journal *journal;
	struct guest guest;

	guest_init(&guest, 1, 1);
	memset(guest.writable + TEXT_GPA, 1, 10);
	memset(guest.ram + TEXT_GPA, 2, 10);
	if (virtual_memory)
		fake_target_virtual(&guest.fake, TEXT - TEXT_GPA);
	journal = journal_with(records, G_N_ELEMENTS(records));
	g_assert_cmpint(rs_journal_recover(journal, &guest.fake.base, &report, NULL), ==, 0);
	g_assert_cmpuint(report.restored, ==, G_N_ELEMENTS(records));
	g_assert_cmpuint(guest.fake.pauses, ==, 1);
	rs_journal_close(journal);
	guest_deinit(&guest);
}

static void fail_once(struct fake_target *fake)
{
	fake->fail_resume = fake->pauses == 1 ? -EPIPE : 0;
}

/* After a failure nothing more is tried, and all records stay. */
static void test_fails_at_first(void)
{
	struct rs_journal_record records[] = {record_of(TEXT, TEXT_GPA, 1, 2),
					      record_of(TEXT, TEXT_GPA, 2, 3)};
	struct rs_journal_report report;
	struct rs_journal *journal;
	struct guest guest;

	guest_init(&guest, 1, 1);
	guest.writable[TEXT_GPA] = 1;
	guest.ram[TEXT_GPA] = 3;
	guest.fake.on_pause = fail_once;
	journal = journal_with(records, 2);
	g_assert_cmpint(rs_journal_recover(journal, &guest.fake.base, &report, NULL), ==, -EPIPE);
	g_assert_cmpuint(guest.fake.pauses, ==, 1);
	g_assert_cmpuint(rs_journal_count(journal), ==, 2);
	g_assert_cmpint(rs_journal_recover(journal, &guest.fake.base, &report, NULL), ==, 0);
	g_assert_cmpuint(guest.ram[TEXT_GPA], ==, 1);
	rs_journal_close(journal);
	guest_deinit(&guest);
}

/* Any of the records can be kept. What is kept is played back, the others are not. */
static void test_keep(void)
{
	for (unsigned int keep = 0; keep < 8; keep++) {
		struct rs_journal_record records[3];
		struct rs_journal_report report;
		struct rs_journal *journal;
		struct guest guest;
		bool kept[3];

		guest_init(&guest, 1, 1);
		for (unsigned int i = 0; i < 3; i++) {
			records[i] = record_of(TEXT + i, TEXT_GPA + i, 1, 2);
			guest.writable[TEXT_GPA + i] = 1;
			guest.ram[TEXT_GPA + i] = 2;
			kept[i] = keep >> i & 1;
		}
		journal = journal_with(records, 3);
		g_assert_cmpint(rs_journal_append(journal, records, 0, NULL), ==, 0);
		g_assert_cmpint(rs_journal_keep(journal, kept, NULL), ==, 0);
		g_assert_cmpuint(rs_journal_count(journal), ==, kept[0] + kept[1] + kept[2]);
		g_assert_cmpint(rs_journal_recover(journal, &guest.fake.base, &report, NULL), ==,
				0);
		for (unsigned int i = 0; i < 3; i++)
			g_assert_cmpuint(guest.ram[TEXT_GPA + i], ==, kept[i] ? 1 : 2);
		rs_journal_close(journal);
		g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
		guest_deinit(&guest);
	}
}

/* The disk is full within the records that are added: those of before are as they were. */
static void test_full_within(void)
{
	struct rs_journal_record records[] = {record_of(TEXT, TEXT_GPA, 1, 2),
					      record_of(TEXT + 1, TEXT_GPA + 1, 1, 2)};
	const size_t full = sizeof(struct rs_journal_header) + sizeof(records);
	struct rlimit old, limit;
	struct rs_journal *journal;
	struct guest guest;
	struct stat st;

	guest_init(&guest, 1, 1);
	journal = journal_with(records, 2);
	signal(SIGXFSZ, SIG_IGN);
	g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &old), ==, 0);
	limit = (struct rlimit){.rlim_cur = full + sizeof(records[0]), .rlim_max = old.rlim_max};
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
	g_assert_cmpint(rs_journal_append(journal, records, 2, NULL), ==, -EFBIG);
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &old), ==, 0);
	g_assert_cmpuint(rs_journal_count(journal), ==, 2);
	g_assert_cmpint(stat(path, &st), ==, 0);
	g_assert_cmpint(st.st_size, ==, (off_t)full);
	rs_journal_close(journal);
	g_assert_cmpint(rs_journal_open(path, &journal, NULL), ==, 0);
	g_assert_cmpuint(rs_journal_count(journal), ==, 2);
	g_assert_cmpint(rs_journal_clear(journal, NULL), ==, 0);
	rs_journal_close(journal);
	guest_deinit(&guest);
}

/* A file that holds more than every site twice is none of ours. */
static void test_large(void)
{
	struct rs_journal_record record = record_of(TEXT, TEXT_GPA, 1, 2);
	const off_t most = sizeof(struct rs_journal_header) + 2ll * RS_MAX_SITES * sizeof(record);
	struct rs_journal *journal = journal_with(&record, 1);

	rs_journal_close(journal);
	g_assert_cmpint(truncate(path, most), ==, 0);
	g_assert_cmpint(rs_journal_open(path, &journal, NULL), ==, 0);
	g_assert_cmpuint(rs_journal_count(journal), ==, 1);
	rs_journal_close(journal);
	g_assert_cmpint(truncate(path, most + 1), ==, 0);
	g_assert_cmpint(rs_journal_open(path, &journal, NULL), ==, -EIO);
	g_unlink(path);
}

static uint64_t sum_of(const uint64_t *words, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++) {
		hash = (hash ^ words[i]) * 0x100000001b3u;
		hash ^= hash >> 32;
	}
	return hash;
}

/* The journal of a session of another build has to be readable: what lies in the file is fixed. */
static void test_file(void)
{
	const struct rs_text_patch patch = {.at = {0x1122334455667788},
					    .at_phys = {0x99aabbccddee},
					    .next_phys = {0x123000},
					    .size = 5,
					    .old_bytes = {1, 2, 3, 4, 5},
					    .new_bytes = {6, 7, 8, 9, 10}};
	struct rs_journal_record record = rs_journal_record_of(RS_JOURNAL_TEXT, 0x5000, &patch);
	struct rs_journal *journal;
	g_autofree char *bytes = NULL;
	uint64_t words[15];
	gsize size;

	g_assert_cmpint(rs_journal_open(path, &journal, NULL), ==, 0);
	rs_journal_set_process(journal, 0x1234, 0x567890);
	g_assert_cmpint(rs_journal_append(journal, &record, 1, NULL), ==, 0);
	g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
	g_assert_cmpuint(size, ==, sizeof(words));
	memcpy(words, bytes, size);
	g_assert_cmphex(words[0], ==, RS_JOURNAL_MAGIC);
	g_assert_cmphex(words[1], ==, 40ull << 32 | RS_JOURNAL_VERSION);
	g_assert_cmphex(words[2], ==, 0x567890);
	g_assert_cmphex(words[3], ==, 0x1234);
	g_assert_cmphex(words[4], ==, sum_of(words, 4));
	g_assert_cmphex(words[5], ==, 0x1122334455667788);
	g_assert_cmphex(words[6], ==, 0x99aabbccddee);
	g_assert_cmphex(words[7], ==, 0x123000);
	g_assert_cmphex(words[8], ==, 0x5000);
	g_assert_cmphex(words[9], ==, 0x0504030201);
	g_assert_cmphex(words[11], ==, 0x0a09080706);
	g_assert_cmphex(words[13], ==, (uint64_t)RS_JOURNAL_TEXT << 32 | 5);
	g_assert_cmphex(words[14], ==, sum_of(words + 5, 9));
	g_assert_cmpint(rs_journal_clear(journal, NULL), ==, 0);
	rs_journal_close(journal);
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

int main(int argc, char **argv)
{
	char *dir = g_dir_make_tmp("rs-recover-XXXXXX", NULL);
	int ret;

	g_test_init(&argc, &argv, NULL);
	path = g_build_filename(dir, "x.journal", NULL);
	g_test_add_data_func("/patch/recover/over-one-another", NULL, test_over_one_another);
	g_test_add_data_func("/patch/recover/over-one-another-virtual", "", test_over_one_another);
	g_test_add_func("/patch/recover/meanwhile", test_meanwhile);
	g_test_add_func("/patch/recover/two-addresses", test_two_addresses);
	g_test_add_data_func("/patch/recover/apart", NULL, test_apart);
	g_test_add_data_func("/patch/recover/apart-virtual", "", test_apart);
	g_test_add_func("/patch/recover/fails-at-first", test_fails_at_first);
	g_test_add_func("/patch/recover/keep", test_keep);
	g_test_add_func("/patch/recover/full-within", test_full_within);
	g_test_add_func("/patch/recover/large", test_large);
	g_test_add_func("/patch/recover/file", test_file);
	ret = g_test_run();
	g_rmdir(dir);
	g_free(path);
	g_free(dir);
	return ret;
}
