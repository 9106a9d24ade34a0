/* SPDX-License-Identifier: MIT */
#include "fake_target.h"
#include "target/memory.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define RAM (64u * 4096u)
#define ROOT 0x1000u
#define HIGH 0xffffffff81000000ull

static uint8_t ram[RAM];
static struct fake_target fake;

static void setup(void)
{
	for (size_t i = 0; i < RAM; i++)
		ram[i] = (uint8_t)(i * 7 + (i >> 12));
	memset(ram + ROOT, 0, 4096);
	fake_target_init(&fake, ram, RAM);
	fake.next_table = 0x2000;
}

static void test_small_pages(void)
{
	uint8_t out[16];
	rs_gpa_t gpa;

	setup();
	/* Two neighbours in the address space, far apart in memory and in the wrong order. */
	fake_target_map(&fake, ROOT, HIGH, 0x20000, 1);
	fake_target_map(&fake, ROOT, HIGH + 4096, 0x18000, 1);
	g_assert_cmpint(
		rs_target_read_virt(&fake.base, ROOT, (rs_gva_t){HIGH + 4088}, out, 16, NULL), ==,
		0);
	g_assert_cmpmem(out, 8, ram + 0x20000 + 4088, 8);
	g_assert_cmpmem(out + 8, 8, ram + 0x18000, 8);
	g_assert_cmpint(
		rs_target_translate(&fake.base, ROOT, (rs_gva_t){HIGH + 4096 + 5}, &gpa, NULL), ==,
		0);
	g_assert_cmphex(gpa.v, ==, 0x18005);
}

static void test_large_pages(void)
{
	rs_gpa_t gpa;
	uint64_t left;

	setup();
	fake_target_map(&fake, ROOT, 0x40000000, 0x80000000, 3);
	fake_target_map(&fake, ROOT, 0x80200000, 0x600000, 2);
	g_assert_cmpint(rs_walk_x86_64(&fake.base, ROOT, (rs_gva_t){0x40000000 + 0x1234567}, &gpa,
				       &left, NULL),
			==, 0);
	g_assert_cmphex(gpa.v, ==, 0x80000000 + 0x1234567);
	g_assert_cmphex(left, ==, 0x40000000 - 0x1234567);
	/* CR3's low bits (PCID) are no part of the address. */
	g_assert_cmpint(
		rs_walk_x86_64(&fake.base, ROOT | 0x123, (rs_gva_t){0x80200042}, &gpa, &left, NULL),
		==, 0);
	g_assert_cmphex(gpa.v, ==, 0x600042);
	g_assert_cmphex(left, ==, 0x200000 - 0x42);
}

static void test_five_levels(void)
{
	const uint64_t far = 0x0012345678000000, top = 0x30000;
	uint64_t entry = ROOT | 1, large = ROOT | 1 | 1 << 7, left, root;
	rs_gpa_t gpa;

	setup();
	memset(ram + top, 0, 4096);
	/* Below the fifth level the tables are those of four. */
	fake_target_map(&fake, ROOT, far & ((1ull << 48) - 1), 0x20000, 1);
	memcpy(ram + top + (far >> 48 & 511) * 8, &entry, 8);
	g_assert_cmpint(
		rs_target_root(&fake.base, RS_ARCH_X86_64, RS_PAGING_X86_64_5, top, &root, NULL),
		==, 0);
	fake.reads = 0;
	g_assert_cmpint(rs_walk_x86_64(&fake.base, root, (rs_gva_t){far + 0x42}, &gpa, &left, NULL),
			==, 0);
	g_assert_cmphex(gpa.v, ==, 0x20042);
	g_assert_cmphex(left, ==, 4096 - 0x42);
	g_assert_cmpuint(fake.reads, ==, 5);
	/* The same root with four levels has no such address; with five, some are no address. */
	g_assert_cmpint(rs_walk_x86_64(&fake.base, top, (rs_gva_t){far}, &gpa, &left, NULL), ==,
			-ENOTSUP);
	g_assert_cmpint(rs_walk_x86_64(&fake.base, root, (rs_gva_t){1ull << 57}, &gpa, &left, NULL),
			==, -EINVAL);
	g_assert_cmpint(rs_walk_x86_64(&fake.base, root, (rs_gva_t){0}, &gpa, &left, NULL), ==,
			-EFAULT);
	memcpy(ram + top + (far >> 48 & 511) * 8, &large, 8);
	g_assert_cmpint(rs_walk_x86_64(&fake.base, root, (rs_gva_t){far}, &gpa, &left, NULL), ==,
			-EFAULT);
}

static void test_errors(void)
{
	uint8_t out[8192] = {0x5a};
	struct rs_error err = {0};
	uint64_t root;

	setup();
	fake_target_map(&fake, ROOT, HIGH, 0x20000, 1);
	fake_target_map(&fake, ROOT, 0x1000, RAM + 0x1000, 1);
	g_assert_cmpint(rs_target_read_virt(&fake.base, ROOT, (rs_gva_t){HIGH}, out, 4097, NULL),
			==, -EFAULT);
	g_assert_cmpint(out[0], ==, 0x5a); /* untouched */
	g_assert_cmpint(rs_target_read_virt(&fake.base, ROOT, (rs_gva_t){0x1000}, out, 1, NULL), ==,
			-EFAULT);
	g_assert_cmpint(rs_target_read_virt(&fake.base, ROOT, (rs_gva_t){1ull << 60}, out, 1, NULL),
			==, -EINVAL);
	g_assert_cmpint(rs_target_read_virt(&fake.base, ROOT, (rs_gva_t){1ull << 50}, out, 1, &err),
			==, -ENOTSUP);
	g_assert_nonnull(strstr(err.message, "5-level"));
	g_assert_cmpint(rs_target_read_virt(&fake.base, ROOT, (rs_gva_t){~0ull}, out, 2, NULL), ==,
			-EINVAL);
	g_assert_cmpint(rs_target_read_virt(&fake.base, 0, (rs_gva_t){HIGH}, out, 1, NULL), ==,
			-EINVAL);
	/* Page tables that a host cannot walk. */
	g_assert_cmpint(
		rs_target_root(&fake.base, RS_ARCH_X86_64, RS_PAGING_X86_64_4, ROOT, &root, NULL),
		==, 0);
	g_assert_cmphex(root, ==, ROOT);
	g_assert_cmpint(
		rs_target_root(&fake.base, RS_ARCH_AARCH64, RS_PAGING_X86_64_4, ROOT, &root, &err),
		==, -ENOTSUP);
	g_assert_nonnull(strstr(err.message, "architecture 2"));
	g_assert_cmpint(
		rs_target_root(&fake.base, RS_ARCH_X86_64, RS_PAGING_NONE, ROOT, &root, &err), ==,
		-ENOTSUP);
	g_assert_cmpint(rs_target_root(&fake.base, RS_ARCH_X86_64, 77, ROOT, &root, &err), ==,
			-ENOTSUP);
	g_assert_nonnull(strstr(err.message, "kind 77"));
	/* A table that leads to itself still ends, at the fourth level. */
	memcpy(ram + ROOT, &(uint64_t){ROOT | 1}, 8);
	fake.reads = 0;
	g_assert_cmpint(rs_target_read_virt(&fake.base, ROOT, (rs_gva_t){0}, out, 8, NULL), ==, 0);
	g_assert_cmpuint(fake.reads, ==, 5);
}

static void test_virtual_target(void)
{
	uint8_t out[4];
	rs_gpa_t gpa = {1};

	setup();
	fake_target_virtual(&fake, 0x7000000);
	g_assert_cmpint(rs_target_read_virt(&fake.base, 0, (rs_gva_t){0x7000100}, out, 4, NULL), ==,
			0);
	g_assert_cmpmem(out, 4, ram + 0x100, 4);
	g_assert_cmpint(rs_target_translate(&fake.base, 0, (rs_gva_t){0x7000100}, &gpa, NULL), ==,
			0);
	g_assert_cmphex(gpa.v, ==, 0);
}

static void test_page_reader(void)
{
	struct rs_page_reader *reader;
	uint8_t out[32];
	rs_gpa_t gpa;

	setup();
	fake_target_map(&fake, ROOT, HIGH, 0x20000, 1);
	fake_target_map(&fake, ROOT, HIGH + 4096, 0x18000, 1);
	reader = rs_page_reader_create(&fake.base, ROOT);
	for (int i = 0; i < 3; i++) {
		memset(out, 0, sizeof(out));
		g_assert_cmpint(
			rs_page_reader_read(reader, (rs_gva_t){HIGH + 4080}, out, 32, &gpa, NULL),
			==, 0);
		g_assert_cmpmem(out, 16, ram + 0x20000 + 4080, 16);
		g_assert_cmpmem(out + 16, 16, ram + 0x18000, 16);
		g_assert_cmphex(gpa.v, ==, 0x20000 + 4080);
		g_assert_cmpuint(fake.reads, ==, 10); /* each page once: 4 tables and itself */
	}
	g_assert_cmpint(rs_page_reader_read(reader, (rs_gva_t){HIGH + 8190}, out, 4, NULL, NULL),
			==, -EFAULT);
	rs_page_reader_set_root(reader, 0x3000);
	g_assert_cmpint(rs_page_reader_read(reader, (rs_gva_t){HIGH}, out, 4, NULL, NULL), <, 0);
	rs_page_reader_destroy(reader);
	rs_page_reader_destroy(NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/target/memory/small-pages", test_small_pages);
	g_test_add_func("/target/memory/large-pages", test_large_pages);
	g_test_add_func("/target/memory/five-levels", test_five_levels);
	g_test_add_func("/target/memory/errors", test_errors);
	g_test_add_func("/target/memory/virtual-target", test_virtual_target);
	g_test_add_func("/target/memory/page-reader", test_page_reader);
	return g_test_run();
}
