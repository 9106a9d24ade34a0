/* SPDX-License-Identifier: MIT */
/* Guest-virtual memory, see memory.h. */
#include "target/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int check_range(rs_gva_t at, size_t size, struct rs_error *err)
{
	if (size && at.v + (size - 1) < at.v)
		return rs_error_set(err, EINVAL, "range at 0x%" PRIx64 " wraps around", at.v);
	return 0;
}

int rs_target_root(const struct rs_target *target, uint32_t arch, uint32_t paging,
		   uint64_t named_root, uint64_t *root, struct rs_error *err)
{
	*root = named_root & ~RS_ROOT_5_LEVELS;
	if (arch != RS_ARCH_X86_64)
		return rs_error_set(
			err, ENOTSUP,
			"the guest has architecture %u, and only x86-64 (%u) is handled", arch,
			RS_ARCH_X86_64);
	if (!target->ops->read_phys || paging == RS_PAGING_X86_64_4)
		return 0;
	if (paging == RS_PAGING_X86_64_5) {
		*root |= RS_ROOT_5_LEVELS;
		return 0;
	}
	if (paging == RS_PAGING_NONE)
		return rs_error_set(err, ENOTSUP, "the guest does not say what page tables it has");
	return rs_error_set(err, ENOTSUP, "the guest has page tables of kind %u, not handled here",
			    paging);
}

static int walk(struct rs_target *target, uint64_t root, rs_gva_t at, rs_gpa_t *gpa, uint64_t *left,
		struct rs_error *err)
{
	if (!target->ops->read_phys)
		return rs_error_set(err, ENOTSUP, "target '%s' has no memory to read",
				    target->ops->kind);
	return rs_walk_x86_64(target, root, at, gpa, left, err);
}

int rs_target_translate(struct rs_target *target, uint64_t root, rs_gva_t at, rs_gpa_t *gpa,
			struct rs_error *err)
{
	rs_gpa_t found = {0};
	uint64_t left;
	int ret;

	if (target->ops->read_phys) {
		ret = walk(target, root, at, &found, &left, err);
		if (ret)
			return ret;
	}
	*gpa = found;
	return 0;
}

static int read_walked(struct rs_target *target, uint64_t root, rs_gva_t at, uint8_t *out,
		       size_t size, struct rs_error *err)
{
	while (size) {
		uint64_t left;
		rs_gpa_t gpa;
		int ret = walk(target, root, at, &gpa, &left, err);

		if (ret)
			return ret;
		if (left > size)
			left = size;
		ret = target->ops->read_phys(target, gpa, out, left, err);
		if (ret) {
			rs_error_prefix(err, "memory at 0x%" PRIx64, at.v);
			return ret;
		}
		out += left;
		at.v += left;
		size -= left;
	}
	return 0;
}

int rs_target_read_virt(struct rs_target *target, uint64_t root, rs_gva_t at, void *out,
			size_t size, struct rs_error *err)
{
	uint8_t small[512];
	uint8_t *copy = small;
	int ret = check_range(at, size, err);

	if (ret || !size)
		return ret;
	if (target->ops->read_virt)
		return target->ops->read_virt(target, at, out, size, err);
	/* A later page may be missing. Copy first, so that `out` is not touched then. */
	if (size > sizeof(small)) {
		copy = malloc(size);
		if (!copy)
			return rs_error_set(err, ENOMEM, "no memory for %zu bytes", size);
	}
	ret = read_walked(target, root, at, copy, size, err);
	if (!ret)
		memcpy(out, copy, size);
	if (copy != small)
		free(copy);
	return ret;
}

/* ---- the page reader ---- */

#define SLOTS 16u

struct page {
	bool valid;
	uint64_t number; /* GVA / 4096 */
	rs_gpa_t gpa;    /* of its first byte */
	uint8_t bytes[RS_PAGE_SIZE];
};

struct rs_page_reader {
	struct rs_target *target;
	uint64_t root;
	struct page pages[SLOTS];
};

static void forget_pages(struct rs_page_reader *reader)
{
	for (unsigned int i = 0; i < SLOTS; i++)
		reader->pages[i].valid = false;
}

struct rs_page_reader *rs_page_reader_create(struct rs_target *target, uint64_t root)
{
	struct rs_page_reader *reader = malloc(sizeof(*reader));

	if (!reader)
		abort(); /* out of memory, as GLib does */
	reader->target = target;
	reader->root = root;
	/* Each batch has a reader. To clear its 64 KiB would take longer than to read a page. */
	forget_pages(reader);
	return reader;
}

void rs_page_reader_destroy(struct rs_page_reader *reader)
{
	free(reader);
}

void rs_page_reader_set_root(struct rs_page_reader *reader, uint64_t root)
{
	if (reader->root == root)
		return;
	reader->root = root;
	forget_pages(reader);
}

static int load_page(struct rs_page_reader *reader, uint64_t number, struct page **out,
		     struct rs_error *err)
{
	struct page *page = &reader->pages[number % SLOTS];
	rs_gva_t at = {number * RS_PAGE_SIZE};
	int ret;

	*out = page;
	if (page->valid && page->number == number)
		return 0;
	page->valid = false;
	ret = rs_target_translate(reader->target, reader->root, at, &page->gpa, err);
	if (ret)
		return ret;
	if (reader->target->ops->read_phys)
		ret = reader->target->ops->read_phys(reader->target, page->gpa, page->bytes,
						     RS_PAGE_SIZE, err);
	else
		ret = rs_target_read_virt(reader->target, reader->root, at, page->bytes,
					  RS_PAGE_SIZE, err);
	if (ret) {
		rs_error_prefix(err, "page at 0x%" PRIx64, at.v);
		return ret;
	}
	page->number = number;
	page->valid = true;
	return 0;
}

int rs_page_reader_read(struct rs_page_reader *reader, rs_gva_t at, void *out, size_t size,
			rs_gpa_t *gpa, struct rs_error *err)
{
	uint8_t *to = out;
	bool first = true;
	int ret = check_range(at, size, err);

	while (!ret && size) {
		size_t inside = at.v % RS_PAGE_SIZE, part = RS_PAGE_SIZE - inside;
		struct page *page;

		ret = load_page(reader, at.v / RS_PAGE_SIZE, &page, err);
		if (ret)
			break;
		if (part > size)
			part = size;
		memcpy(to, page->bytes + inside, part);
		if (first && gpa)
			gpa->v = page->gpa.v ? page->gpa.v + inside : 0;
		first = false;
		to += part;
		at.v += part;
		size -= part;
	}
	return ret;
}
