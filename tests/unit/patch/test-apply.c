/* SPDX-License-Identifier: MIT */
/* Patches of every size, on memory that fails when a byte beside them is written. */
#include "fake_target.h"
#include "patch/apply.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define RAM (16u * RS_PAGE_SIZE)
#define HIGH 0xffffffff81000000ull
#define FIRST 0x5000u  /* where the first page of HIGH lies … */
#define SECOND 0x3000u /* … and the second */

static const uint8_t sizes[] = {1, 5, 8, 13, 16};
#define COUNT G_N_ELEMENTS(sizes)

static uint8_t ram[RAM], before[RAM], writable[RAM];
static struct fake_target fake;
static struct rs_text_patch patches[COUNT];
static enum rs_apply_outcome outcomes[COUNT];
static uint64_t paused_ns;

static uint8_t *byte_of(const struct rs_text_patch *patch, uint8_t i)
{
	uint64_t at = patch->at.v + i - HIGH;

	return ram + (at < RS_PAGE_SIZE ? FIRST + at : SECOND + at - RS_PAGE_SIZE);
}

/* Patch i begins at `at[i]` in the two pages of HIGH; its bytes are all that may be written. */
static void setup_at(const uint32_t *at)
{
	for (size_t i = 0; i < RAM; i++)
		ram[i] = (uint8_t)(i * 7 + (i >> 12));
	memcpy(before, ram, RAM);
	memset(writable, 0, RAM);
	fake_target_init(&fake, ram, RAM);
	fake.writable = writable;
	for (size_t i = 0; i < COUNT; i++) {
		patches[i] = (struct rs_text_patch){
			.at = {HIGH + at[i]},
			.at_phys = {FIRST + at[i]},
			.next_phys = {SECOND},
			.size = sizes[i],
		};
		for (uint8_t k = 0; k < sizes[i]; k++) {
			patches[i].old_bytes[k] = *byte_of(&patches[i], k);
			patches[i].new_bytes[k] = (uint8_t)~patches[i].old_bytes[k];
			writable[byte_of(&patches[i], k) - ram] = 1;
		}
	}
}

static void setup(void)
{
	/* Across words, touching each other, and the last one across the page. */
	setup_at((const uint32_t[COUNT]){7, 8, 13, 100, RS_PAGE_SIZE - 6});
}

static int apply(struct rs_error *err)
{
	int ret = rs_patch_apply(&fake.base, patches, COUNT, outcomes, &paused_ns, err);

	g_assert_false(fake.paused);
	g_assert_cmpuint(fake.pauses, ==, fake.resumes);
	return ret;
}

static bool holds(size_t i, bool new_bytes)
{
	for (uint8_t k = 0; k < patches[i].size; k++)
		if (*byte_of(&patches[i], k) !=
		    (new_bytes ? patches[i].new_bytes : patches[i].old_bytes)[k])
			return false;
	return true;
}

/* No byte outside the patches has changed. */
static void check_rest(void)
{
	g_assert_cmpuint(fake.bad_writes, ==, 0);
	for (size_t i = 0; i < RAM; i++)
		if (!writable[i])
			g_assert_cmphex(ram[i], ==, before[i]);
}

static void test_sizes(void)
{
	setup();
	g_assert_cmpint(apply(NULL), ==, 0);
	for (size_t i = 0; i < COUNT; i++) {
		g_assert_cmpint(outcomes[i], ==, RS_APPLY_DONE);
		g_assert_true(holds(i, true));
		patches[i] = rs_text_reversed(&patches[i]);
	}
	g_assert_cmpuint(fake.pauses, ==, 1);
	g_assert_cmpuint(paused_ns, >, 0);
	check_rest();
	g_assert_cmpint(apply(NULL), ==, 0);
	g_assert_cmpmem(ram, RAM, before, RAM);
	check_rest();
}

/* One byte of one patch differs: this patch is not written, the others are. */
static void test_changed(void)
{
	for (size_t i = 0; i < COUNT; i++) {
		uint8_t *last;

		setup();
		last = byte_of(&patches[i], (uint8_t)(sizes[i] - 1));
		*last ^= 0x10;
		g_assert_cmpint(apply(NULL), ==, 0);
		for (size_t k = 0; k < COUNT; k++) {
			g_assert_cmpint(outcomes[k], ==, k == i ? RS_APPLY_CHANGED : RS_APPLY_DONE);
			if (k != i)
				g_assert_true(holds(k, true));
		}
		*last ^= 0x10;
		g_assert_true(holds(i, false));
		check_rest();
	}
}

static void test_unreadable(void)
{
	setup();
	patches[3].at_phys.v += RAM;
	g_assert_cmpint(apply(NULL), ==, 0);
	for (size_t i = 0; i < COUNT; i++)
		g_assert_cmpint(outcomes[i], ==, i == 3 ? RS_APPLY_UNREADABLE : RS_APPLY_DONE);
	check_rest();
}

/* A patch that cannot be one is found before the guest is stopped. */
static void test_no_patch(void)
{
	setup();
	patches[3].size = 0;
	g_assert_cmpint(apply(NULL), ==, -EINVAL);
	g_assert_cmpuint(fake.pauses, ==, 0);
	g_assert_cmpuint(paused_ns, ==, 0);
	for (size_t i = 0; i < COUNT; i++)
		g_assert_cmpint(outcomes[i], ==, RS_APPLY_NOT_TRIED);
	g_assert_cmpmem(ram, RAM, before, RAM);
}

static void test_not_stopped(void)
{
	struct rs_error err = {0};

	setup();
	fake.fail_pause = -EIO;
	g_assert_cmpint(apply(&err), ==, -EIO);
	g_assert_nonnull(strstr(err.message, "cannot be paused"));
	g_assert_cmpuint(paused_ns, ==, 0);
	for (size_t i = 0; i < COUNT; i++)
		g_assert_cmpint(outcomes[i], ==, RS_APPLY_NOT_TRIED);
	g_assert_cmpmem(ram, RAM, before, RAM);
}

/* A write fails after any number of others, with any part of its bytes written: all are undone. */
static void test_taken_back(void)
{
	for (uint32_t after = 0; after < COUNT; after++)
		for (uint8_t part = 0; part <= RS_TEXT_MAX; part++) {
			struct rs_error err = {0};

			setup();
			fake.fail_write = -ENOSPC;
			fake.fail_write_after = after;
			fake.fail_write_bytes = part;
			fake.fail_write_count = 1;
			g_assert_cmpint(apply(&err), ==, -ENOSPC);
			for (size_t i = 0; i < COUNT; i++)
				g_assert_cmpint(outcomes[i], ==, RS_APPLY_TAKEN_BACK);
			g_assert_cmpmem(ram, RAM, before, RAM);
			g_assert_cmpuint(fake.bad_writes, ==, 0);
		}
}

/* The place of one cannot be written, with a part of it written or none: the others are done. */
static void test_unwritable(void)
{
	for (uint32_t from = 0; from < COUNT; from++)
		for (uint8_t part = 0; part <= RS_TEXT_MAX; part++) {
			setup();
			fake.fail_write = -EFAULT;
			fake.fail_write_after = from;
			fake.fail_write_bytes = part;
			fake.fail_write_count = 1;
			g_assert_cmpint(apply(NULL), ==, 0);
			for (size_t i = 0; i < COUNT; i++) {
				g_assert_cmpint(outcomes[i], ==,
						i == from ? RS_APPLY_UNWRITABLE : RS_APPLY_DONE);
				g_assert_true(holds(i, i != from));
			}
			check_rest();
		}
}

/* With another that changed, each outcome is still that of its own patch. */
static void test_unwritable_beside_changed(void)
{
	setup();
	*byte_of(&patches[0], 0) ^= 0x10;
	fake.fail_write = -EFAULT;
	fake.fail_write_after = 2;
	fake.fail_write_count = 1;
	g_assert_cmpint(apply(NULL), ==, 0);
	for (size_t i = 0; i < COUNT; i++)
		g_assert_cmpint(outcomes[i], ==,
				i == 0   ? RS_APPLY_CHANGED
				: i == 3 ? RS_APPLY_UNWRITABLE
					 : RS_APPLY_DONE);
}

/* The write fails, and so does undoing it: the outcome is what the text holds. */
static void test_not_taken_back(void)
{
	setup();
	fake.fail_write = -ENOSPC;
	fake.fail_write_after = 2;
	g_assert_cmpint(apply(NULL), ==, -ENOSPC);
	for (size_t i = 0; i < COUNT; i++) {
		g_assert_cmpint(outcomes[i], ==, i < 2 ? RS_APPLY_DONE : RS_APPLY_TAKEN_BACK);
		g_assert_true(holds(i, i < 2));
	}
	check_rest();

	setup();
	fake.fail_write = -ENOSPC;
	fake.fail_write_after = 2;
	fake.fail_write_bytes = 3;
	g_assert_cmpint(apply(NULL), ==, -ENOSPC);
	/* Three old bytes are back: all of the first, not all of the second, all that changed in
	 * the third. */
	for (size_t i = 0; i < COUNT; i++)
		g_assert_cmpint(outcomes[i], ==, i == 1 ? RS_APPLY_UNCERTAIN : RS_APPLY_TAKEN_BACK);
	g_assert_false(holds(1, true) || holds(1, false));
	check_rest();
}

static void make_it_another(struct fake_target *target)
{
	ram[FIRST + 100] = 0xcc;
}

/* The text is compared after the guest has been stopped, not before. */
static void test_at_the_last_moment(void)
{
	setup();
	fake.on_pause = make_it_another;
	g_assert_cmpint(apply(NULL), ==, 0);
	g_assert_cmpint(outcomes[3], ==, RS_APPLY_CHANGED);
	g_assert_cmphex(ram[FIRST + 100], ==, 0xcc);
}

/* If nothing is left to write, nothing is asked for. */
static void test_nothing_left(void)
{
	setup();
	for (size_t i = 0; i < COUNT; i++)
		*byte_of(&patches[i], 0) ^= 0x10;
	fake.ops.write_text = NULL;
	g_assert_cmpint(apply(NULL), ==, 0);
	for (size_t i = 0; i < COUNT; i++)
		g_assert_cmpint(outcomes[i], ==, RS_APPLY_CHANGED);
}

static unsigned int spoilt;

/* Fails, and somebody else's byte stands in one of the texts. */
static int spoil(struct rs_target *target, const struct rs_text_patch *list, size_t count,
		 bool *bad, struct rs_error *err)
{
	ram[FIRST + 100 + spoilt++] = 0x5a;
	return -EIO;
}

/* What is not ours is not written over, not even to undo a failure. */
static void test_spoilt(void)
{
	setup();
	spoilt = 0;
	fake.ops.write_text = spoil;
	g_assert_cmpint(apply(NULL), ==, -EIO);
	for (size_t i = 0; i < COUNT; i++)
		g_assert_cmpint(outcomes[i], ==, i == 3 ? RS_APPLY_UNCERTAIN : RS_APPLY_TAKEN_BACK);
	g_assert_cmpuint(spoilt, ==, 1);
	g_assert_cmphex(ram[FIRST + 100], ==, 0x5a);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/patch/apply/sizes", test_sizes);
	g_test_add_func("/patch/apply/changed", test_changed);
	g_test_add_func("/patch/apply/unreadable", test_unreadable);
	g_test_add_func("/patch/apply/no-patch", test_no_patch);
	g_test_add_func("/patch/apply/not-stopped", test_not_stopped);
	g_test_add_func("/patch/apply/taken-back", test_taken_back);
	g_test_add_func("/patch/apply/unwritable", test_unwritable);
	g_test_add_func("/patch/apply/unwritable-beside-changed", test_unwritable_beside_changed);
	g_test_add_func("/patch/apply/not-taken-back", test_not_taken_back);
	g_test_add_func("/patch/apply/last-moment", test_at_the_last_moment);
	g_test_add_func("/patch/apply/nothing-left", test_nothing_left);
	g_test_add_func("/patch/apply/spoilt", test_spoilt);
	return g_test_run();
}
