/* SPDX-License-Identifier: MIT */
/*
 * Limits of what is read about sites, and what must not depend on the steps into which the work is
 * divided when sites are read and patched.
 */
#include "guest.h"
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
	ret = g_test_run();
	g_rmdir(dir);
	g_free(path);
	g_free(dir);
	return ret;
}
