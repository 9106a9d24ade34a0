/* SPDX-License-Identifier: MIT */
/*
 * Limits of what is read about sites, and what must not depend on how the work is divided: into
 * steps when sites are read and patched, and into pieces when a journal is played back.
 */
#include "guest.h"
#include "patch/journal.h"
#include "patch/patcher.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

static char *path;

struct lists {
	GArray *sites, *refused;
	uint64_t refused_count;
};

static void lists_init(struct lists *lists)
{
	*lists = (struct lists){
		.sites = g_array_new(FALSE, FALSE, sizeof(struct rs_patch_site)),
		.refused = g_array_new(FALSE, FALSE, sizeof(struct rs_site_refusal)),
	};
}

static void lists_deinit(struct lists *lists)
{
	g_array_free(lists->sites, TRUE);
	g_array_free(lists->refused, TRUE);
}

/* Loads the guest's list. Counts the sites that were taken and those that were refused. */
static int load(struct guest *guest, uint32_t budget, guint *taken, guint *refused)
{
	struct lists lists;
	int ret;

	lists_init(&lists);
	ret = rs_sites_load(&guest->fake.base, &guest->list, budget, lists.sites, lists.refused,
			    &lists.refused_count, NULL);
	*taken = lists.sites->len;
	*refused = (guint)lists.refused_count;
	g_assert_cmpuint(lists.refused->len, ==, MIN(lists.refused_count, RS_MAX_REFUSALS));
	lists_deinit(&lists);
	return ret;
}

static void check_list(struct guest *guest, uint32_t budget, int want)
{
	guint taken, refused;

	g_assert_cmpint(load(guest, budget, &taken, &refused), ==, want);
	g_assert_cmpuint(taken, ==, want ? 0 : guest->list.count);
	g_assert_cmpuint(refused, ==, 0);
}

static void test_lists(void)
{
	struct guest guest;

	guest_init(&guest, 3, 1);
	check_list(&guest, 3, 0);
	check_list(&guest, 2, -E2BIG);
	check_list(&guest, 0, -E2BIG);
	guest.list.count = 0;
	check_list(&guest, 0, 0);
	guest.list.count = RS_MAX_SITES + 1;
	check_list(&guest, UINT32_MAX, -E2BIG);
	guest.list.count = RS_MAX_SITES; /* more than is mapped */
	check_list(&guest, UINT32_MAX, -EFAULT);
	guest.list.count = 1;
	/* Entries of a later version may be larger. */
	for (uint32_t stride = 0; stride < 300; stride++) {
		guest.list.stride = stride;
		check_list(&guest, 1,
			   stride >= sizeof(struct rs_site) && stride <= 256 && stride % 4 == 0
				   ? 0
				   : -EINVAL);
	}
	guest.list.stride = sizeof(struct rs_site);
	guest.list.count = 2;
	guest.list.at.v = UINT64_MAX - 2 * sizeof(struct rs_site);
	check_list(&guest, 2, -EFAULT);
	guest.list.at.v++;
	check_list(&guest, 2, -EINVAL);
	guest_deinit(&guest);
}

/* Whether the only entry is taken: 1, is refused: 0, or does not count: -1. */
static int entry(struct guest *guest)
{
	guint taken, refused;

	g_assert_cmpint(load(guest, 1, &taken, &refused), ==, 0);
	g_assert_cmpuint(taken + refused, <=, 1);
	return taken ? 1 : refused ? 0 : -1;
}

static void test_entries(void)
{
	static const struct {
		uint32_t id;
		int want;
	} ids[] = {{0, -1},
		   {1, FIRST == 1},
		   {FIRST - 1, FIRST == 1 ? -1 : 0},
		   {FIRST, 1},
		   {RS_MAX_EVENTS - 1, 1},
		   {RS_MAX_EVENTS, 0},
		   {65536 + FIRST, 0},
		   {UINT32_MAX, 0}};
	struct rs_site *site;
	struct guest guest;

	guest_init(&guest, 1, 1);
	site = guest_entry(&guest, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
		memcpy(guest.ram + DATA_GPA + (EVENTS - DATA), &ids[i].id, sizeof(ids[i].id));
		g_assert_cmpint(entry(&guest), ==, ids[i].want);
	}
	memcpy(guest.ram + DATA_GPA + (EVENTS - DATA), &(uint32_t){FIRST}, 4);
	for (uint32_t size = 0; size < 16; size++) {
		site->size = (uint8_t)size;
		g_assert_cmpint(entry(&guest), ==, size == RS_SITE_BYTES);
	}
	site->size = RS_SITE_BYTES;
	/* Its bytes lie in one word, which is written at once. */
	for (uint32_t by = 0; by < 16; by++) {
		uint8_t *text = guest_text(&guest, 0);

		memset(guest.ram + TEXT_GPA, 0x90, 64);
		memcpy(text + by, "\x0f\x1f\x44\x00\x00", RS_SITE_BYTES);
		site->code += (int32_t)by;
		g_assert_cmpint(entry(&guest), ==, by % 8 + RS_SITE_BYTES <= 8);
		site->code -= (int32_t)by;
	}
	guest_deinit(&guest);
}

#define KNOWN 300u
#define MORE 20u

/* While a list is compared with the sites that are known, some of these go. */
static void test_lost(void)
{
	const int32_t by = 60 * (int32_t)sizeof(struct rs_site);
	struct rs_site *from, *to;
	struct rs_site_list more;
	struct guest guest;
	bool all = false;

	guest_init(&guest, KNOWN + MORE, 3);
	/* One of the new ones is known already. */
	from = guest_entry(&guest, KNOWN - 50);
	to = guest_entry(&guest, KNOWN + 10);
	*to = (struct rs_site){.code = from->code - by,
			       .target = from->target - by,
			       .event = from->event - by,
			       .size = from->size};
	more = guest.list;
	more.provider = 2;
	more.count = MORE;
	more.at.v += KNOWN * sizeof(struct rs_site);
	guest.list.count = KNOWN;
	for (guint when = 0; !all; when++) {
		struct rs_site_load *load;
		struct lists lists;
		int ret = 1;

		lists_init(&lists);
		g_assert_cmpint(rs_sites_load(&guest.fake.base, &guest.list, KNOWN, lists.sites,
					      lists.refused, &lists.refused_count, NULL),
				==, 0);
		g_assert_cmpint(rs_site_load_begin(&guest.fake.base, &more, MORE, &load, NULL), ==,
				0);
		for (guint i = 0; ret == 1; i++) {
			if (i == when) {
				const guint gone = when % 2 ? 200 : 10, first = when % 3 ? 0 : 40;

				g_array_remove_range(lists.sites, first, gone);
				rs_site_load_lost(load, first, gone);
			}
			ret = rs_site_load_step(load, 1, lists.sites, lists.refused, NULL);
			all = !ret && i < when;
		}
		g_assert_cmpint(ret, ==, 0);
		g_assert_cmpuint(rs_site_load_refused(load), ==, 1);
		g_assert_cmpuint(lists.refused->len, ==, 1);
		g_assert_cmpuint(lists.sites->len, ==,
				 KNOWN + MORE - 1 -
					 (all        ? 0
					  : when % 2 ? 200
						     : 10));
		for (guint i = 1; i < MORE; i++) {
			guint at = lists.sites->len - i;
			guint of = KNOWN + MORE - i - (i > MORE - 11);

			g_assert_cmphex(g_array_index(lists.sites, struct rs_patch_site, at).at.v,
					==, guest_site(of));
		}
		rs_site_load_free(load);
		lists_deinit(&lists);
	}
	guest_deinit(&guest);
}

static uint32_t read_all(struct rs_patcher *patcher, const struct rs_site_list *list, uint32_t step)
{
	uint32_t all = 0, some;
	int ret;

	g_assert_cmpint(rs_patcher_begin_provider(patcher, list, NULL), ==, 0);
	do {
		ret = rs_patcher_step_provider(patcher, step, &some, NULL);
		all += some;
	} while (ret == 1);
	g_assert_cmpint(ret, ==, 0);
	return all;
}

static uint32_t patch_all(struct rs_patcher *patcher, uint32_t step)
{
	uint32_t all = 0, some;
	int ret;

	do {
		ret = rs_patcher_step(patcher, step, &some, NULL);
		all += some;
	} while (ret == 1);
	g_assert_cmpint(ret, ==, 0);
	return all;
}

#define SITES 60u
#define LATER 20u /* from this one on: of another provider */

/* Every third site has other text from the beginning, and every fifth after it was read. */
static void check_steps(uint32_t step)
{
	struct rs_patcher *patcher;
	struct rs_patcher_stats stats;
	struct rs_site_list second;
	struct guest guest;
	uint32_t on = 0, known, bad_read = 0, bad_text = 0;

	guest_init(&guest, SITES, 4);
	second = guest.list;
	second.provider = 2;
	second.count -= LATER;
	second.at.v += LATER * sizeof(struct rs_site);
	guest.list.count = LATER;
	g_assert_cmpint(
		rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, path, NULL, &patcher, NULL), ==,
		0);
	for (uint32_t i = 0; i < SITES; i += 3, bad_read++)
		guest_text(&guest, i)[2] = 0xcc;
	g_assert_cmpuint(read_all(patcher, &guest.list, step) + read_all(patcher, &second, step),
			 ==, bad_read);
	rs_patcher_stats(patcher, &stats);
	g_assert_cmpuint(stats.sites, ==, SITES - bad_read);
	g_assert_cmpuint(stats.sites_refused, ==, bad_read);
	for (uint32_t i = 0; i < SITES; i += 5) {
		bad_text += i % 3 != 0;
		guest_text(&guest, i)[2] = 0xcc;
	}
	for (uint16_t i = 0; i < 4; i++)
		rs_patcher_want(patcher, FIRST + i, 1);
	g_assert_cmpuint(patch_all(patcher, step), ==, bad_text);
	g_assert_cmpuint(guest_count_on(&guest), ==, SITES - bad_read - bad_text);
	for (uint16_t i = 0; i < 4; i++) {
		uint32_t one;

		rs_patcher_event_sites(patcher, FIRST + i, &known, &one);
		g_assert_cmpuint(known, ==, SITES / 4 - bad_read / 4);
		on += one;
	}
	g_assert_cmpuint(on, ==, SITES - bad_read - bad_text);
	g_assert_cmpuint(rs_patcher_provider_sites_on(patcher, 1) +
				 rs_patcher_provider_sites_on(patcher, 2),
			 ==, on);
	/* They are right again, and whoever asks gets them. */
	for (uint32_t i = 0; i < SITES; i += 5)
		guest_text(&guest, i)[2] = 0x44;
	rs_patcher_want(patcher, FIRST, 1);
	rs_patcher_want(patcher, FIRST + 3, 1);
	g_assert_cmpuint(patch_all(patcher, step), ==, 0);
	g_assert_cmpuint(guest_count_on(&guest), ==, SITES - bad_read);
	g_assert_cmpint(rs_patcher_leave(patcher, 1, NULL), ==, 0);
	g_assert_cmpuint(patch_all(patcher, step), ==, 0);
	rs_patcher_stats(patcher, &stats);
	g_assert_cmpuint(stats.sites, ==, SITES - LATER - (bad_read - (LATER + 2) / 3));
	g_assert_cmpuint(stats.sites_on, ==, stats.sites);
	g_assert_cmpuint(guest_count_on(&guest), ==, stats.sites);
	rs_patcher_destroy(patcher);
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
	guest_deinit(&guest);
}

static void test_steps(void)
{
	for (uint32_t step = 1; step <= SITES + 1; step++)
		check_steps(step);
	check_steps(UINT32_MAX);
}

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
	char *dir = g_dir_make_tmp("rs-limits-XXXXXX", NULL);
	int ret;

	g_test_init(&argc, &argv, NULL);
	path = g_build_filename(dir, "x.journal", NULL);
	g_test_add_func("/patch/limits/lists", test_lists);
	g_test_add_func("/patch/limits/entries", test_entries);
	g_test_add_func("/patch/limits/lost", test_lost);
	g_test_add_func("/patch/limits/steps", test_steps);
	g_test_add_data_func("/patch/limits/over-one-another", NULL, test_over_one_another);
	g_test_add_data_func("/patch/limits/over-one-another-virtual", "", test_over_one_another);
	g_test_add_func("/patch/limits/meanwhile", test_meanwhile);
	g_test_add_func("/patch/limits/file", test_file);
	ret = g_test_run();
	g_rmdir(dir);
	g_free(path);
	g_free(dir);
	return ret;
}
