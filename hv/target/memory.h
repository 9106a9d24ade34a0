/* SPDX-License-Identifier: MIT */
/*
 * Guest-virtual memory of any target, by its own read_virt or by a walk of the guest's page tables
 * over read_phys. The tables and the memory behind them are hostile: a walk takes at most five
 * reads and uses only bits that the architecture defines.
 *
 * Session thread. Errors: -EFAULT not mapped, or not memory; -EINVAL the address is not canonical,
 * the range wraps, or there is no page-table root; -ENOTSUP a paging mode that is not handled.
 */
#ifndef RS_HV_TARGET_MEMORY_H
#define RS_HV_TARGET_MEMORY_H

#include "target/target.h"

/* Copies `size` bytes at `at`, by the page tables at `root`. All or nothing. */
int rs_target_read_virt(struct rs_target *target, uint64_t root, rs_gva_t at, void *out,
			size_t size, struct rs_error *err);

/* Where `at` lies. {0} for a target without physical addresses. */
int rs_target_translate(struct rs_target *target, uint64_t root, rs_gva_t at, rs_gpa_t *gpa,
			struct rs_error *err);

/*
 * A reader that keeps copies of the last few pages, for parsing tables and text that lie close
 * together: it takes one walk and one read for each page. It shows each page as it was when first
 * read, so use it for one job only. It has about 70 KiB, on the heap.
 */
struct rs_page_reader;
struct rs_page_reader *rs_page_reader_create(struct rs_target *target, uint64_t root);
void rs_page_reader_destroy(struct rs_page_reader *reader);
/* The root may change between reads; pages of the old one are forgotten. */
void rs_page_reader_set_root(struct rs_page_reader *reader, uint64_t root);
/* As rs_target_read_virt; `gpa` (may be NULL) receives where the first byte lies. */
int rs_page_reader_read(struct rs_page_reader *reader, rs_gva_t at, void *out, size_t size,
			rs_gpa_t *gpa, struct rs_error *err);

/*
 * What this header takes as a root, from what a guest says: its RS_ARCH_*, RS_PAGING_*, and a root.
 * That is CR3, with RS_ROOT_5_LEVELS if the tables have five. -ENOTSUP: we cannot walk such tables,
 * or not patch such an architecture; the message says which. Of a target with read_virt the
 * architecture alone counts.
 */
#define RS_ROOT_5_LEVELS (1ull << 60) /* a bit that CR3 does not have */
int rs_target_root(const struct rs_target *target, uint32_t arch, uint32_t paging,
		   uint64_t named_root, uint64_t *root, struct rs_error *err);

/* x86-64's tables, with pages of 4 KiB, 2 MiB, 1 GiB. `page_left`: bytes from `at` on. */
int rs_walk_x86_64(struct rs_target *target, uint64_t root, rs_gva_t at, rs_gpa_t *gpa,
		   uint64_t *page_left, struct rs_error *err);

#endif
