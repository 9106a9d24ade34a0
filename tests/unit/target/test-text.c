/* SPDX-License-Identifier: MIT */
#include "exact.h"
#include "fake_target.h"
#include "target/text.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define RAM (16u * RS_PAGE_SIZE)
#define HIGH 0xffffffff81000000ull

static uint8_t ram[RAM];
static struct fake_target fake;

static void setup(void)
{
	for (size_t i = 0; i < RAM; i++)
		ram[i] = (uint8_t)(i * 7 + (i >> 12));
	fake_target_init(&fake, ram, RAM);
}

static struct rs_text_patch patch(uint64_t at, uint64_t phys, uint64_t next, uint8_t size)
{
	return (struct rs_text_patch){
		.at = {at}, .at_phys = {phys}, .next_phys = {next}, .size = size};
}

static void test_pieces(void)
{
	struct rs_text_piece pieces[2];
	struct rs_text_patch p = patch(HIGH + 4090, 0x5ffa, 0x3000, 6);

	g_assert_cmpuint(rs_text_pieces(&p, pieces), ==, 1);
	g_assert_cmphex(pieces[0].at.v, ==, 0x5ffa);
	g_assert_cmpuint(pieces[0].size, ==, 6);
	p.size = 16;
	g_assert_cmpuint(rs_text_pieces(&p, pieces), ==, 2);
	g_assert_cmpuint(pieces[0].offset, ==, 0);
	g_assert_cmpuint(pieces[0].size, ==, 6);
	g_assert_cmphex(pieces[1].at.v, ==, 0x3000);
	g_assert_cmpuint(pieces[1].offset, ==, 6);
	g_assert_cmpuint(pieces[1].size, ==, 10);
}

static void test_check(void)
{
	struct rs_error err = {0};
	const struct {
		struct rs_text_patch patch;
		int ret, virtual_ret;
	} cases[] = {
		{patch(HIGH, 0x5000, 0, 1), 0, 0},
		{patch(HIGH + 4080, 0x5ff0, 0, 16), 0, 0},
		{patch(HIGH, 0x5000, 0, 0), -EINVAL, -EINVAL},
		{patch(HIGH, 0x5000, 0, 17), -EINVAL, -EINVAL},
		{patch(HIGH, 0x5001, 0, 5), -EINVAL, 0},
		{patch(HIGH + 4081, 0x5ff1, 0, 16), -EINVAL, 0},
		{patch(HIGH + 4081, 0x5ff1, 0x3008, 16), -EINVAL, 0},
		{patch(HIGH + 4081, 0x5ff1, 0x3000, 16), 0, 0},
		{patch(UINT64_MAX, 0x5fff, 0x3000, 1), 0, 0}, /* the last byte of all */
		{patch(UINT64_MAX, 0x5fff, 0x3000, 2), -EINVAL, -EINVAL},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		setup();
		g_assert_cmpint(rs_text_check(&fake.base, &cases[i].patch, &err), ==, cases[i].ret);
		fake_target_virtual(&fake, HIGH);
		g_assert_cmpint(rs_text_check(&fake.base, &cases[i].patch, &err), ==,
				cases[i].virtual_ret);
	}
}

static void test_exact(void)
{
	uint8_t *writable = g_malloc0(RAM);

	/* Neighbours in the address space, apart in memory and in the wrong order. */
	setup();
	fake.writable = writable;
	memset(writable + 0x5000, 1, RS_PAGE_SIZE);
	memset(writable + 0x3000, 1, RS_PAGE_SIZE);
	fake.paused = true;
	exact_check(&fake.base, (rs_gva_t){HIGH}, (rs_gpa_t){0x5000}, (rs_gpa_t){0x3000});
	g_assert_cmpuint(fake.bad_writes, ==, 0);
	g_free(writable);

	setup();
	fake_target_virtual(&fake, HIGH);
	fake.paused = true;
	exact_check(&fake.base, (rs_gva_t){HIGH + 0x2000}, (rs_gpa_t){0}, (rs_gpa_t){0});
	g_assert_cmpuint(fake.bad_writes, ==, 0);
}

/* If any patch of the list is bad, the target gets none. */
static void test_all_or_none(void)
{
	struct rs_text_patch list[] = {patch(HIGH, 0x5000, 0, 5), patch(HIGH + 8, 0x5008, 0, 17)};

	setup();
	fake.paused = true;
	memcpy(list[0].old_bytes, ram + 0x5000, 5);
	g_assert_cmpint(rs_text_write(&fake.base, list, 2, NULL), ==, -EINVAL);
	g_assert_cmpuint(fake.writes, ==, 0);
	g_assert_cmpint(rs_text_write(&fake.base, list, 1, NULL), ==, 0);
	g_assert_cmpuint(fake.writes, ==, 1);
	g_assert_cmpuint(fake.bad_writes, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/target/text/pieces", test_pieces);
	g_test_add_func("/target/text/check", test_check);
	g_test_add_func("/target/text/exact", test_exact);
	g_test_add_func("/target/text/all-or-none", test_all_or_none);
	return g_test_run();
}
