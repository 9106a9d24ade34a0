/* SPDX-License-Identifier: MIT */
/* Patches of text that is no site: beside sites, in the journal, and when the session is killed. */
#include "patchers.h"

#include "patch/insn.h"

#include <errno.h>
#include <string.h>

#define PLACE 32u /* behind a site, where a test's text has room */

/* A function there that returns 1. The guest's text around its sites is no code of ours. */
static struct rs_text_patch patch_at(struct guest *guest, uint32_t site, uint32_t behind)
{
	struct rs_text_patch patch = {
		.at = {guest_site(site) + behind},
		.at_phys = {TEXT_GPA + (guest_site(site) + behind - TEXT)},
	};

	patch.size = rs_insn_return(1, patch.new_bytes);
	memcpy(patch.old_bytes, guest->ram + patch.at_phys.v, patch.size);
	memset(guest->writable + patch.at_phys.v, 1, patch.size);
	return patch;
}

static bool holds(const struct guest *guest, const struct rs_text_patch *patch, bool ours)
{
	return !memcmp(guest->ram + patch->at_phys.v, ours ? patch->new_bytes : patch->old_bytes,
		       patch->size);
}

static void test_beside_sites(void)
{
	struct rs_journal_report report = {0};
	struct rs_patcher *patcher;
	struct rs_text_patch patch, over;
	struct rs_error err = {0};
	struct guest guest;
	uint32_t number = 0;

	patcher = patcher_of_two(&guest);
	patch = patch_at(&guest, 1, PLACE);
	over = patch_at(&guest, 1, PLACE + 4);
	g_assert_cmpint(rs_patcher_poke(patcher, &patch, ROOT, &number, NULL), ==, 0);
	g_assert_true(holds(&guest, &patch, true));
	g_assert_cmpuint(guest_count_on(&guest), ==, 4);
	g_assert_cmpint(rs_patcher_poke(patcher, &over, ROOT, &number, NULL), ==, -EEXIST);
	over = patch_at(&guest, 2, 4);
	g_assert_cmpint(rs_patcher_poke(patcher, &over, ROOT, &number, &err), ==, -EEXIST);
	g_assert_nonnull(strstr(err.message, "a tracepoint lies there"));
	/* Sites that go leave it, and its record stays in the journal. */
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 1, NULL), ==, 0);
	g_assert_cmpint(rs_patcher_remove_provider(patcher, 2, NULL), ==, 0);
	rs_patcher_tend(patcher);
	g_assert_true(holds(&guest, &patch, true));
	g_assert_cmpint(rs_patcher_set_method(patcher, RS_PATCH_SELF, NULL), ==, -EBUSY);
	patcher_kill(&guest, patcher, &report);
	g_assert_true(holds(&guest, &patch, false));
	g_assert_cmpuint(report.restored, ==, 1);
	guest_deinit(&guest);
}

static void test_undone(void)
{
	struct rs_patcher *patcher;
	struct rs_text_patch patch;
	struct guest guest;
	uint32_t number = 0, second = 0;

	patcher = patcher_of_two(&guest);
	patch = patch_at(&guest, 1, PLACE);
	g_assert_cmpint(rs_patcher_poke(patcher, &patch, ROOT, &number, NULL), ==, 0);
	g_assert_cmpint(rs_patcher_unpoke(patcher, number, NULL), ==, 0);
	g_assert_true(holds(&guest, &patch, false));
	g_assert_cmpint(rs_patcher_unpoke(patcher, number, NULL), ==, -ENOENT);
	/* It is not what the caller has read. */
	guest.ram[patch.at_phys.v] ^= 1;
	g_assert_cmpint(rs_patcher_poke(patcher, &patch, ROOT, &second, NULL), ==, -EILSEQ);
	guest.ram[patch.at_phys.v] ^= 1;
	g_assert_cmpuint(second, ==, 0);
	/* The end undoes it, too. */
	g_assert_cmpint(rs_patcher_poke(patcher, &patch, ROOT, &second, NULL), ==, 0);
	g_assert_cmpuint(second, !=, number);
	rs_patcher_destroy(patcher);
	g_assert_true(holds(&guest, &patch, false));
	g_assert_cmpuint(guest_count_on(&guest), ==, 0);
	g_assert_cmpuint(guest.fake.bad_writes, ==, 0);
	guest_deinit(&guest);
}

/* It cannot be undone now: it is tried again. */
static void test_owed(void)
{
	gint64 until = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
	struct rs_patcher *patcher;
	struct rs_text_patch patch;
	struct guest guest;
	uint32_t number = 0;

	patcher = patcher_of_two(&guest);
	patch = patch_at(&guest, 1, PLACE);
	g_assert_cmpint(rs_patcher_poke(patcher, &patch, ROOT, &number, NULL), ==, 0);
	guest.fake.fail_pause = -EIO;
	g_assert_cmpint(rs_patcher_unpoke(patcher, number, NULL), ==, -EIO);
	g_assert_true(holds(&guest, &patch, true));
	guest.fake.fail_pause = 0;
	while (holds(&guest, &patch, true) && g_get_monotonic_time() < until)
		rs_patcher_tend(patcher);
	g_assert_true(holds(&guest, &patch, false));
	g_assert_cmpuint(guest_count_on(&guest), ==, 4);
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

static void test_self(void)
{
	struct rs_patcher *patcher;
	struct rs_text_patch patch;
	struct guest guest;
	uint32_t number = 0;

	guest_init(&guest, 1, 1);
	patch = patch_at(&guest, 0, PLACE);
	g_assert_cmpint(
		rs_patcher_create(&guest.fake.base, RS_PATCH_SELF, NULL, NULL, &patcher, NULL), ==,
		0);
	g_assert_cmpint(rs_patcher_poke(patcher, &patch, ROOT, &number, NULL), ==, -ENOTSUP);
	rs_patcher_destroy(patcher);
	guest_deinit(&guest);
}

static void test_code(void)
{
	static const uint8_t small[] = {0x48, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff, 0xc3};
	static const uint8_t large[] = {0x48, 0xb8, 0, 0, 0, 0x80, 0, 0, 0, 0, 0xc3};
	static const uint8_t entry[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0, 0, 0x55};
	uint8_t code[RS_INSN_RETURN_MAX];

	g_assert_cmpuint(rs_insn_return(-1, code), ==, sizeof(small));
	g_assert_cmpmem(code, sizeof(small), small, sizeof(small));
	g_assert_cmpuint(rs_insn_return(0x80000000, code), ==, sizeof(large));
	g_assert_cmpmem(code, sizeof(large), large, sizeof(large));
	g_assert_cmpuint(rs_insn_return(INT32_MIN, code), ==, sizeof(small));
	g_assert_cmpuint(rs_insn_entry(entry, sizeof(entry)), ==, 9);
	g_assert_cmpuint(rs_insn_entry(entry, 8), ==, 4);
	g_assert_cmpuint(rs_insn_entry(entry + 4, 6), ==, 5);
	g_assert_cmpuint(rs_insn_entry(entry + 9, 1), ==, 0);
}

int main(int argc, char **argv)
{
	patchers_init(&argc, &argv);
	g_test_add_func("/poke/beside-sites", test_beside_sites);
	g_test_add_func("/poke/undone", test_undone);
	g_test_add_func("/poke/owed", test_owed);
	g_test_add_func("/poke/self", test_self);
	g_test_add_func("/poke/code", test_code);
	return patchers_run();
}
