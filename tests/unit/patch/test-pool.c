/* SPDX-License-Identifier: MIT */
#include "fake_target.h"
#include "native/native.h"
#include "patch/pool.h"

#include <errno.h>
#include <glib.h>
#include <ringside/native.h>
#include <string.h>

#define RAM (16u * RS_PAGE_SIZE)
#define ROOT 0x1000u
#define TABLES 0x2000u
#define AT 0xffffffff81000000ull
#define FIRST 0x9000u  /* where the first page of the pool lies … */
#define SECOND 0x7000u /* … and the second */
#define SIZE (2 * RS_PAGE_SIZE)
#define ENTRIES RS_NATIVE_ENTRY_BYTES(SIZE)
#define CODE (SIZE - ENTRIES)

static uint8_t ram[RAM], writable[RAM];
static struct fake_target fake;

static void set_up(void)
{
	memset(ram, 0, RAM);
	memset(writable, 0, RAM);
	memset(ram + FIRST, RS_NATIVE_UNUSED, RS_PAGE_SIZE);
	memset(ram + SECOND, RS_NATIVE_UNUSED, RS_PAGE_SIZE);
	memset(writable + FIRST, 1, RS_PAGE_SIZE);
	memset(writable + SECOND, 1, RS_PAGE_SIZE);
	fake_target_init(&fake, ram, RAM);
	fake.next_table = TABLES;
	fake_target_map(&fake, ROOT, AT, FIRST, 1);
	fake_target_map(&fake, ROOT, AT + RS_PAGE_SIZE, SECOND, 1);
	fake.writable = writable;
}

static uint32_t code_left(const struct rs_text_pool *pool)
{
	return rs_text_pool_left(pool, RS_TEXT_POOL_CODE);
}

static uint32_t entries_left(const struct rs_text_pool *pool)
{
	return rs_text_pool_left(pool, RS_TEXT_POOL_ENTRIES);
}

static int add_entry(struct rs_text_pool *pool, const void *entry, uint32_t *at)
{
	return rs_text_pool_add(pool, RS_TEXT_POOL_ENTRIES, entry, sizeof(struct rs_native_entry),
				at, NULL);
}

static int add_code(struct rs_text_pool *pool, const void *code, uint32_t size, uint32_t *at)
{
	return rs_text_pool_add(pool, RS_TEXT_POOL_CODE, code, size, at, NULL);
}

static int open_at(uint64_t at, uint64_t size, struct rs_text_pool **pool)
{
	struct rs_error err = {0};

	return rs_text_pool_open(&fake.base, ROOT, (rs_gva_t){at}, size, pool, &err);
}

static struct rs_text_pool *open_pool(void)
{
	struct rs_text_pool *pool = NULL;

	g_assert_cmpint(open_at(AT, SIZE, &pool), ==, 0);
	return pool;
}

/* A hostile guest says where it is. */
static void test_places(void)
{
	struct rs_text_pool *pool = NULL;

	set_up();
	g_assert_cmpint(open_at(AT, 0, &pool), ==, -EINVAL);
	g_assert_cmpint(open_at(AT, 15, &pool), ==, -EINVAL);
	g_assert_cmpint(open_at(AT + 8, 64, &pool), ==, -EINVAL);
	g_assert_cmpint(open_at(UINT64_MAX - 15, 64, &pool), ==, -EINVAL);
	g_assert_cmpint(open_at(AT + RS_PAGE_SIZE, SIZE, &pool), ==, -EFAULT);
	g_assert_cmpint(open_at(AT, UINT64_MAX - AT, &pool), ==, -EFAULT);
	g_assert_cmpint(open_at(0x8000000000000000ull, 64, &pool), ==, -EINVAL);
	g_assert_null(pool);
}

static void test_write(void)
{
	static const uint8_t code[21] = "twenty-one-bytes-here";
	struct rs_native_entry entry = {.code = 7, .event = 64};
	struct rs_text_pool *pool;
	uint32_t at, front;
	uint64_t paused;
	uint8_t back[32];

	set_up();
	pool = open_pool();
	g_assert_cmpuint(code_left(pool), ==, CODE);
	g_assert_cmpuint(entries_left(pool), ==, ENTRIES);
	g_assert_cmpint(add_code(pool, code, sizeof(code), &at), ==, 0);
	g_assert_cmpuint(at, ==, SIZE - 32);
	g_assert_cmpint(add_entry(pool, &entry, &front), ==, 0);
	g_assert_cmpuint(front, ==, 0);
	g_assert_cmpuint(fake.writes, ==, 0);
	g_assert_cmpint(rs_text_pool_write(pool, &paused, NULL), ==, 0);
	g_assert_cmpuint(fake.pauses, ==, 1);
	g_assert_cmpuint(fake.bad_writes, ==, 0);
	g_assert_cmpmem(ram + FIRST, sizeof(entry), &entry, sizeof(entry));
	g_assert_cmpmem(ram + SECOND + RS_PAGE_SIZE - 32, sizeof(code), code, sizeof(code));
	g_assert_cmpint(rs_text_pool_read(pool, at, back, sizeof(back), NULL), ==, 0);
	g_assert_cmpmem(back, sizeof(code), code, sizeof(code));
	for (unsigned int i = sizeof(code); i < sizeof(back); i++)
		g_assert_cmphex(back[i], ==, RS_NATIVE_UNUSED);
	rs_text_pool_close(pool);

	/* Another session goes on behind that. */
	pool = open_pool();
	g_assert_cmpuint(code_left(pool), ==, CODE - 32);
	g_assert_cmpuint(entries_left(pool), ==, ENTRIES - sizeof(entry));
	g_assert_cmpint(add_entry(pool, &entry, &front), ==, 0);
	g_assert_cmpuint(front, ==, sizeof(entry));
	rs_text_pool_close(pool);
}

/* What another session wrote is found, as long as it is there. */
static void test_find(void)
{
	static const uint8_t code[21] = "twenty-one-bytes-here", other[21] = "others";
	struct rs_native_entry entry = {.code = SIZE - 32, .event = 64};
	struct rs_text_pool *pool;
	uint32_t at, front;
	uint64_t paused;

	set_up();
	pool = open_pool();
	g_assert_false(rs_text_pool_find(pool, RS_TEXT_POOL_CODE, code, sizeof(code), &at));
	g_assert_cmpint(add_code(pool, code, sizeof(code), &at), ==, 0);
	g_assert_cmpint(add_entry(pool, &entry, &front), ==, 0);
	at = front = 1;
	/* Also before it is written. */
	g_assert_true(rs_text_pool_find(pool, RS_TEXT_POOL_CODE, code, sizeof(code), &at));
	g_assert_true(rs_text_pool_find(pool, RS_TEXT_POOL_ENTRIES, &entry, sizeof(entry), &front));
	g_assert_cmpuint(at, ==, SIZE - 32);
	g_assert_cmpuint(front, ==, 0);
	g_assert_cmpint(rs_text_pool_write(pool, &paused, NULL), ==, 0);
	g_assert_true(rs_text_pool_find(pool, RS_TEXT_POOL_CODE, code, sizeof(code), &at));
	rs_text_pool_close(pool);

	pool = open_pool();
	at = front = 1;
	g_assert_true(rs_text_pool_find(pool, RS_TEXT_POOL_CODE, code, sizeof(code), &at));
	g_assert_true(rs_text_pool_find(pool, RS_TEXT_POOL_ENTRIES, &entry, sizeof(entry), &front));
	g_assert_cmpuint(at, ==, SIZE - 32);
	g_assert_cmpuint(front, ==, 0);
	g_assert_false(rs_text_pool_find(pool, RS_TEXT_POOL_CODE, other, sizeof(other), &at));
	/* It has become something else meanwhile. */
	ram[SECOND + RS_PAGE_SIZE - 20] ^= 1;
	ram[FIRST + 1] ^= 1;
	g_assert_false(rs_text_pool_find(pool, RS_TEXT_POOL_CODE, code, sizeof(code), &at));
	g_assert_false(
		rs_text_pool_find(pool, RS_TEXT_POOL_ENTRIES, &entry, sizeof(entry), &front));
	g_assert_cmpuint(at, ==, SIZE - 32);
	rs_text_pool_close(pool);
}

/* What could not be written in the middle leaves gaps: they do not make the pool full. */
static void test_gaps(void)
{
	struct rs_native_entry entry = {.code = 7};
	struct rs_text_pool *pool;
	uint32_t at;

	set_up();
	memset(ram + FIRST, 1, 16);
	memset(ram + FIRST + 32, 1, 16);
	memset(ram + SECOND + RS_PAGE_SIZE - 16, 1, 16);
	memset(ram + SECOND + RS_PAGE_SIZE - 64, 1, 16);
	pool = open_pool();
	g_assert_cmpuint(entries_left(pool), ==, ENTRIES - 48);
	g_assert_cmpuint(code_left(pool), ==, CODE - 64);
	g_assert_cmpint(add_entry(pool, &entry, &at), ==, 0);
	g_assert_cmpuint(at, ==, 48);
	g_assert_cmpint(add_code(pool, &entry, sizeof(entry), &at), ==, 0);
	g_assert_cmpuint(at, ==, SIZE - 80);
	rs_text_pool_close(pool);
}

/* What is not unused any more is never written. */
static void test_changed(void)
{
	struct rs_native_entry entry = {.code = 7};
	struct rs_text_pool *pool;
	uint64_t paused;
	uint32_t at, left;

	set_up();
	pool = open_pool();
	ram[FIRST + 3] = 0x90;
	g_assert_cmpint(add_entry(pool, &entry, &at), ==, 0);
	g_assert_cmpint(rs_text_pool_write(pool, &paused, NULL), ==, -EIO);
	g_assert_cmphex(ram[FIRST + 3], ==, 0x90);
	g_assert_cmphex(ram[FIRST], ==, RS_NATIVE_UNUSED);
	/* That place is given up, and nothing of it is found. */
	g_assert_false(rs_text_pool_find(pool, RS_TEXT_POOL_ENTRIES, &entry, sizeof(entry), &at));
	g_assert_cmpint(add_entry(pool, &entry, &at), ==, 0);
	g_assert_cmpuint(at, ==, sizeof(entry));
	g_assert_cmpint(rs_text_pool_write(pool, &paused, NULL), ==, 0);
	fake.fail_pause = -EBUSY;
	entry.code = 8;
	left = entries_left(pool);
	g_assert_cmpint(add_entry(pool, &entry, &at), ==, 0);
	g_assert_cmpint(rs_text_pool_write(pool, &paused, NULL), ==, -EBUSY);
	g_assert_false(rs_text_pool_find(pool, RS_TEXT_POOL_ENTRIES, &entry, sizeof(entry), &at));
	/* Opened anew it is as large as before. */
	rs_text_pool_close(pool);
	pool = open_pool();
	g_assert_cmpuint(entries_left(pool), ==, left);
	g_assert_cmpuint(fake.bad_writes, ==, 0);
	rs_text_pool_close(pool);
}

/* What one part has no room for does not come into the other one. */
static void test_full(void)
{
	static const uint8_t code[CODE];
	struct rs_native_entry entry = {.code = 7};
	struct rs_text_pool *pool;
	uint64_t paused;
	uint32_t at;

	set_up();
	pool = open_pool();
	g_assert_cmpint(add_code(pool, code, CODE - 16, &at), ==, 0);
	g_assert_cmpint(add_code(pool, code, 17, &at), ==, -ENOSPC);
	g_assert_cmpint(add_code(pool, &entry, 16, &at), ==, 0);
	g_assert_cmpuint(at, ==, ENTRIES);
	g_assert_cmpint(add_code(pool, code, 1, &at), ==, -ENOSPC);
	/* Such bytes are no entry. */
	g_assert_false(rs_text_pool_find(pool, RS_TEXT_POOL_ENTRIES, &entry, sizeof(entry), &at));
	for (uint32_t i = 0; i < ENTRIES; i += sizeof(entry)) {
		g_assert_cmpint(add_entry(pool, &entry, &at), ==, 0);
		g_assert_cmpuint(at, ==, i);
	}
	g_assert_cmpint(add_entry(pool, &entry, &at), ==, -ENOSPC);
	g_assert_cmpint(rs_text_pool_write(pool, &paused, NULL), ==, 0);
	g_assert_cmpuint(fake.bad_writes, ==, 0);
	rs_text_pool_close(pool);
	pool = open_pool();
	g_assert_cmpuint(code_left(pool), ==, 0);
	g_assert_cmpuint(entries_left(pool), ==, 0);
	rs_text_pool_close(pool);
}

/*
 * No more than so much in one pause: half of this pool, as its pages are mapped twice. The largest
 * code has room together with what names it. Otherwise it would be tried for ever.
 */
static void test_batch(void)
{
	static const uint8_t code[RS_NATIVE_MAX];
	struct rs_text_pool *pool = NULL;
	uint32_t at;

	set_up();
	fake_target_map(&fake, ROOT, AT + SIZE, FIRST, 1);
	fake_target_map(&fake, ROOT, AT + SIZE + RS_PAGE_SIZE, SECOND, 1);
	g_assert_cmpint(open_at(AT, 2 * SIZE, &pool), ==, 0);
	g_assert_cmpint(add_code(pool, code, sizeof(code), &at), ==, 0);
	g_assert_cmpint(add_entry(pool, code, &at), ==, 0);
	g_assert_cmpint(add_entry(pool, code, &at), ==, 1);
	g_assert_cmpint(add_code(pool, code, 16, &at), ==, 1);
	rs_text_pool_close(pool);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/patch/pool/places", test_places);
	g_test_add_func("/patch/pool/write", test_write);
	g_test_add_func("/patch/pool/find", test_find);
	g_test_add_func("/patch/pool/gaps", test_gaps);
	g_test_add_func("/patch/pool/changed", test_changed);
	g_test_add_func("/patch/pool/full", test_full);
	g_test_add_func("/patch/pool/batch", test_batch);
	return g_test_run();
}
