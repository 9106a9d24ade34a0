/* SPDX-License-Identifier: MIT */
/* x86-64 page tables, see memory.h. */
#include "target/memory.h"

#include <errno.h>
#include <inttypes.h>

#define PRESENT (1ull << 0)
#define LARGE (1ull << 7)
#define ADDRESS 0x000ffffffffff000ull /* bits 12..51 */

/* A canonical address is sign-extended from `bits` bits. */
static bool canonical(uint64_t at, unsigned int bits)
{
	int64_t high = (int64_t)at >> (bits - 1);

	return high == 0 || high == -1;
}

static int check_address(uint64_t root, uint64_t at, struct rs_error *err)
{
	if (!(root & ADDRESS))
		return rs_error_set(err, EINVAL, "no page-table root is known");
	if (canonical(at, root & RS_ROOT_5_LEVELS ? 57 : 48))
		return 0;
	if (canonical(at, 57))
		return rs_error_set(
			err, ENOTSUP,
			"address 0x%" PRIx64 " needs 5-level page tables, and the guest has 4", at);
	return rs_error_set(err, EINVAL, "address 0x%" PRIx64 " is not canonical", at);
}

int rs_walk_x86_64(struct rs_target *target, uint64_t root, rs_gva_t at, rs_gpa_t *gpa,
		   uint64_t *page_left, struct rs_error *err)
{
	uint64_t table = root & ADDRESS;
	int ret = check_address(root, at.v, err);

	if (ret)
		return ret;
	for (unsigned int level = root & RS_ROOT_5_LEVELS ? 5 : 4;; level--) {
		unsigned int shift = 12 + 9 * (level - 1);
		uint64_t span = 1ull << shift, entry;
		rs_gpa_t slot = {table + ((at.v >> shift) & 511) * 8};

		ret = target->ops->read_phys(target, slot, &entry, sizeof(entry), err);
		if (ret) {
			rs_error_prefix(err, "page table of 0x%" PRIx64, at.v);
			return ret;
		}
		if (!(entry & PRESENT))
			return rs_error_set(err, EFAULT, "address 0x%" PRIx64 " is not mapped",
					    at.v);
		if (level >= 4 && (entry & LARGE))
			return rs_error_set(err, EFAULT,
					    "page table of 0x%" PRIx64 " has a reserved bit set",
					    at.v);
		if (level == 1 || (entry & LARGE)) {
			uint64_t inside = at.v & (span - 1);

			gpa->v = ((entry & ADDRESS) & ~(span - 1)) + inside;
			*page_left = span - inside;
			return 0;
		}
		table = entry & ADDRESS;
	}
}
