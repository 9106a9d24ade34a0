/* SPDX-License-Identifier: MIT */
/* Records of an older, a newer and our own version, through the helpers that both sides use. */
#include <glib.h>
#include <ringside/cmdline.h>
#include <ringside/directory.h>
#include <ringside/region.h>
#include <string.h>

/* A struct that has grown since 1.0, as one side may know it. */
#define THING_MIN_SIZE 16u
struct thing {
	uint32_t size;
	uint32_t first;
	uint64_t second;
	uint64_t later; /* since 1.1 */
};
RS_ASSERT_GROWS(struct thing, THING_MIN_SIZE);

static void test_strides(void)
{
	static const struct {
		size_t stride, least;
		bool good;
	} cases[] = {
		{16, 16, true},  {24, 16, true},  {4096, 16, true}, {8, 16, false}, {0, 16, false},
		{15, 16, false}, {17, 16, false}, {20, 16, false},  {9, 8, false},  {10, 8, false},
		{1, 8, false},   {8, 8, true},    {4, 4, true},     {8, 4, false},  {12, 4, false},
		{1, 1, true},    {2, 1, false},   {8, 1, false},    {0, 1, false},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_true(rs_stride_fits(cases[i].stride, cases[i].least) == cases[i].good);
}

/* An array whose elements lie `there` bytes apart, as a side takes it that knows sizeof(thing). */
static void take_array(guint8 *bytes, size_t there)
{
	g_assert_true(rs_stride_fits(there, THING_MIN_SIZE));
	memset(bytes, 0xff, 4 * there);
	for (guint32 i = 0; i < 4; i++) {
		const struct thing written = {i, i + 10, i + 20, i + 30};

		memcpy(bytes + i * there, &written, MIN(there, sizeof(written)));
	}
	for (guint32 i = 0; i < 4; i++) {
		struct thing thing;

		memset(&thing, 0xee, sizeof(thing));
		rs_take_record(&thing, sizeof(thing), bytes + i * there, there);
		g_assert_cmpuint(thing.first, ==, i + 10);
		g_assert_cmpuint(thing.second, ==, i + 20);
		g_assert_cmpuint(thing.later, ==, there < sizeof(thing) ? 0 : i + 30);
	}
}

static void test_records(void)
{
	/* Of the exact size, so that valgrind and ASan see a read beyond. */
	for (size_t there = THING_MIN_SIZE; there <= 48; there += 8) {
		g_autofree guint8 *bytes = g_malloc(4 * there);

		take_array(bytes, there);
	}
}

static gboolean take_sized(struct thing *out, const void *from, size_t mapped)
{
	memset(out, 0xee, sizeof(*out));
	return rs_take_sized_record(out, sizeof(*out), from, mapped, THING_MIN_SIZE,
				    offsetof(struct thing, size));
}

static void test_sized(void)
{
	struct {
		struct thing thing;
		uint64_t latest; /* since 1.2 */
	} newest = {{sizeof(newest), 1, 2, 3}, 4};
	struct thing out;

	g_assert_true(take_sized(&out, &newest, sizeof(newest)));
	g_assert_cmpmem(&out, sizeof(out), &newest, sizeof(out));
	newest.thing.size = THING_MIN_SIZE;
	g_assert_true(take_sized(&out, &newest, THING_MIN_SIZE));
	g_assert_cmpuint(out.second, ==, 2);
	g_assert_cmpuint(out.later, ==, 0);
	/* Neither more than is mapped, nor less than 1.0 had. Then the least size was taken. */
	newest.thing.size = sizeof(newest);
	g_assert_false(take_sized(&out, &newest, sizeof(newest) - 1));
	g_assert_cmpuint(out.second, ==, 2);
	g_assert_cmpuint(out.later, ==, 0);
	newest.thing.size = THING_MIN_SIZE - 8;
	g_assert_false(take_sized(&out, &newest, sizeof(newest)));
	g_assert_cmpuint(out.second, ==, 2);
	g_assert_false(take_sized(&out, &newest, THING_MIN_SIZE - 1));
	g_assert_cmpuint(out.second, ==, 0);
}

/* A directory of a later version: a longer head, which says where its entries lie. */
static void test_directory(void)
{
	struct {
		struct rs_directory head;
		uint64_t later[4];
	} memory = {.head = {.header_size = sizeof(memory), .entry_count = 3}};
	struct rs_directory head;

	g_assert_true(rs_directory_take_head(&head, &memory, sizeof(memory)));
	g_assert_cmpmem(&head, sizeof(head), &memory.head, sizeof(head));
	memory.head.header_size = RS_DIRECTORY_MIN_SIZE - 8;
	g_assert_false(rs_directory_take_head(&head, &memory, sizeof(memory)));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/shared/grow/strides", test_strides);
	g_test_add_func("/shared/grow/records", test_records);
	g_test_add_func("/shared/grow/sized", test_sized);
	g_test_add_func("/shared/grow/directory", test_directory);
	return g_test_run();
}
