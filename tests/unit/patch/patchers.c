/* SPDX-License-Identifier: MIT */
#include "patchers.h"

#include <glib/gstdio.h>

char *patcher_journal;
static char *dir;

void patchers_init(int *argc, char ***argv)
{
	g_test_init(argc, argv, NULL);
	dir = g_dir_make_tmp("rs-patcher-XXXXXX", NULL);
	patcher_journal = g_build_filename(dir, "x.journal", NULL);
}

int patchers_run(void)
{
	int ret = g_test_run();

	g_rmdir(dir);
	g_free(dir);
	g_free(patcher_journal);
	return ret;
}

struct rs_patcher *patcher_of(struct guest *guest, const char *journal)
{
	struct rs_patcher *patcher = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(
		rs_patcher_create(&guest->fake.base, RS_PATCH_HOST, journal, NULL, &patcher, &err),
		==, 0);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &guest->list, NULL, &err), ==, 0);
	return patcher;
}

void patcher_commit(struct rs_patcher *patcher, uint32_t expected_refused)
{
	struct rs_error err = {0};
	uint32_t refused;

	g_assert_cmpint(rs_patcher_commit(patcher, &refused, &err), ==, 0);
	g_assert_cmpuint(refused, ==, expected_refused);
}

void patcher_check_counts(const struct rs_patcher *patcher, uint32_t known, uint32_t on,
			  uint32_t on_first, uint32_t on_second)
{
	uint32_t k, o;

	rs_patcher_event_sites(patcher, FIRST + 1, &k, &o);
	g_assert_cmpuint(k, ==, known);
	g_assert_cmpuint(o, ==, on);
	g_assert_cmpuint(rs_patcher_provider_sites_on(patcher, 1), ==, on_first);
	g_assert_cmpuint(rs_patcher_provider_sites_on(patcher, 2), ==, on_second);
}

struct rs_patcher *patcher_of_two(struct guest *guest)
{
	struct rs_patcher *patcher;
	struct rs_site_list half;

	guest_init(guest, 4, 4);
	half = guest->list;
	half.provider = 2;
	half.count = guest->list.count = 2;
	guest->list.at.v += 2 * sizeof(struct rs_site);
	patcher = patcher_of(guest, patcher_journal);
	g_assert_cmpint(rs_patcher_add_provider(patcher, &half, NULL, NULL), ==, 0);
	for (uint16_t i = 0; i < 4; i++)
		rs_patcher_want(patcher, FIRST + i, 1);
	patcher_commit(patcher, 0);
	g_assert_cmpuint(guest_count_on(guest), ==, 4);
	return patcher;
}

void patcher_kill(struct guest *guest, struct rs_patcher *patcher, struct rs_journal_report *report)
{
	gsize size;
	char *journal;

	g_assert_true(g_file_get_contents(patcher_journal, &journal, &size, NULL));
	rs_patcher_forget(patcher);
	rs_patcher_destroy(patcher);
	g_assert_true(g_file_set_contents(patcher_journal, journal, (gssize)size, NULL));
	g_free(journal);
	g_assert_cmpint(rs_patcher_create(&guest->fake.base, RS_PATCH_HOST, patcher_journal, report,
					  &patcher, NULL),
			==, 0);
	rs_patcher_destroy(patcher);
}

struct rs_site_list guest_split(struct guest *guest, uint32_t n)
{
	struct rs_site_list rest = guest->list;

	rest.provider = 2;
	rest.count -= n;
	rest.at.v += n * sizeof(struct rs_site);
	guest->list.count = n;
	return rest;
}
