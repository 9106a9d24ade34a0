/* SPDX-License-Identifier: MIT */
#include "exact.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define ALIGNMENTS 16u
#define STRIDE 64u /* from one patch of a batch to the next: no patch has the bytes between */

struct place {
	struct rs_target *target;
	rs_gva_t at;
	rs_gpa_t phys, next;
	uint8_t want[2 * RS_PAGE_SIZE];
};

static void read_pages(const struct place *place, uint8_t out[2 * RS_PAGE_SIZE])
{
	struct rs_target *target = place->target;
	struct rs_error err = {0};
	int ret;

	if (target->ops->read_phys) {
		ret = target->ops->read_phys(target, place->phys, out, RS_PAGE_SIZE, &err);
		if (!ret)
			ret = target->ops->read_phys(target, place->next, out + RS_PAGE_SIZE,
						     RS_PAGE_SIZE, &err);
	} else {
		ret = target->ops->read_virt(target, place->at, out, sizeof(place->want), &err);
	}
	if (ret)
		g_error("read: %s", err.message);
}

/* A patch that changes each of its bytes. */
static struct rs_text_patch patch_at(const struct place *place, uint32_t offset, uint8_t size)
{
	struct rs_text_patch patch = {.at = {place->at.v + offset}, .size = size};

	if (place->target->ops->read_phys) {
		patch.at_phys.v = offset < RS_PAGE_SIZE ? place->phys.v + offset
							: place->next.v + offset - RS_PAGE_SIZE;
		patch.next_phys = place->next;
	}
	for (uint8_t i = 0; i < size; i++) {
		patch.old_bytes[i] = place->want[offset + i];
		patch.new_bytes[i] = (uint8_t)(patch.old_bytes[i] ^ (0x80u + offset + i));
		if (patch.new_bytes[i] == patch.old_bytes[i])
			patch.new_bytes[i] ^= 0xff;
	}
	return patch;
}

static void check_held(const struct place *place, const struct rs_text_patch *patches, size_t count)
{
	uint8_t(*now)[RS_TEXT_MAX] = g_malloc0(count * sizeof(*now));
	uint8_t all[2 * RS_PAGE_SIZE];
	struct rs_error err = {0};

	read_pages(place, all);
	g_assert_cmpmem(all, sizeof(all), place->want, sizeof(place->want));
	if (rs_text_read(place->target, patches, count, now, &err))
		g_error("read: %s", err.message);
	for (size_t i = 0; i < count; i++)
		g_assert_cmpmem(now[i], patches[i].size, patches[i].new_bytes, patches[i].size);
	g_free(now);
}

static void write_and_check(struct place *place, const struct rs_text_patch *patches, size_t count)
{
	struct rs_error err = {0};

	for (size_t i = 0; i < count; i++)
		memcpy(place->want + (patches[i].at.v - place->at.v), patches[i].new_bytes,
		       patches[i].size);
	if (rs_text_write(place->target, patches, count, &err))
		g_error("write: %s", err.message);
	check_held(place, patches, count);
}

/* One batch for each size: every alignment, and one patch across the pages. */
static void check_size(struct place *place, uint8_t size)
{
	struct rs_text_patch patches[ALIGNMENTS + 1];
	size_t count = 0;

	for (uint32_t i = 0; i < ALIGNMENTS; i++)
		patches[count++] = patch_at(place, i * STRIDE + i, size);
	patches[count++] = patch_at(place, RS_PAGE_SIZE - size / 2, size);
	write_and_check(place, patches, count);
	for (size_t i = 0; i < count; i++)
		patches[i] = rs_text_reversed(&patches[i]);
	write_and_check(place, patches, count);
}

/* Batches in any order, with patches that touch each other, and one alone in the second page. */
static void check_orders(struct place *place)
{
	struct rs_text_patch patches[] = {
		patch_at(place, RS_PAGE_SIZE + 100, 16),
		patch_at(place, 205, 5),
		patch_at(place, 200, 5),
		patch_at(place, RS_PAGE_SIZE - 1, 1),
		patch_at(place, RS_PAGE_SIZE, 1),
		patch_at(place, 2 * RS_PAGE_SIZE - 3, 3),
		patch_at(place, 0, 13),
	};

	write_and_check(place, patches, G_N_ELEMENTS(patches));
	for (size_t i = 0; i < G_N_ELEMENTS(patches); i++)
		patches[i] = rs_text_reversed(&patches[i]);
	write_and_check(place, patches, G_N_ELEMENTS(patches));
}

/* More than one system call's or message's worth. */
static void check_many(struct place *place)
{
	g_autofree struct rs_text_patch *patches = g_new(struct rs_text_patch, 2048);

	for (uint32_t i = 0; i < 2048; i++) /* two of four bytes, page by page in turn */
		patches[i] = patch_at(place, (i * 4 + (i & 1 ? 4096 : 0)) % 8192, 2);
	write_and_check(place, patches, 2048);
	for (uint32_t i = 0; i < 2048; i++)
		patches[i] = rs_text_reversed(&patches[i]);
	write_and_check(place, patches, 2048);
}

static void check_refused(struct place *place)
{
	struct rs_text_patch good = patch_at(place, 24, 5), bad = good;
	struct rs_target *target = place->target;
	struct rs_text_patch list[2];

	bad.size = 0;
	g_assert_cmpint(rs_text_write(target, &bad, 1, NULL), ==, -EINVAL);
	bad.size = RS_TEXT_MAX + 1;
	g_assert_cmpint(rs_text_write(target, &bad, 1, NULL), ==, -EINVAL);
	bad = good;
	bad.at.v = UINT64_MAX - 1;
	list[0] = good;
	list[1] = bad;
	g_assert_cmpint(rs_text_write(target, list, 2, NULL), ==, -EINVAL); /* nor the good one */
	if (target->ops->read_phys) {
		bad = patch_at(place, RS_PAGE_SIZE - 2, 5);
		bad.next_phys.v = 0;
		g_assert_cmpint(rs_text_write(target, &bad, 1, NULL), ==, -EINVAL);
		bad.next_phys.v = place->next.v + 8;
		g_assert_cmpint(rs_text_write(target, &bad, 1, NULL), ==, -EINVAL);
		bad = good;
		bad.at_phys.v++;
		g_assert_cmpint(rs_text_write(target, &bad, 1, NULL), ==, -EINVAL);
		bad = good;
		bad.at_phys.v += 1ull << 50;
		g_assert_cmpint(rs_text_write(target, &bad, 1, NULL), ==, -EFAULT);
		g_assert_cmpint(rs_text_read(target, &bad, 1, (uint8_t[1][RS_TEXT_MAX]){{0}}, NULL),
				==, -EFAULT);
	}
	bad = rs_text_reversed(&good); /* what stands there is the old */
	check_held(place, &bad, 1);
}

void exact_check(struct rs_target *target, rs_gva_t at, rs_gpa_t phys, rs_gpa_t next)
{
	struct place *place = g_new0(struct place, 1);

	*place = (struct place){.target = target, .at = at, .phys = phys, .next = next};
	read_pages(place, place->want);
	for (uint8_t size = 1; size <= RS_TEXT_MAX; size++)
		check_size(place, size);
	check_orders(place);
	check_many(place);
	check_refused(place);
	g_free(place);
}
