/* SPDX-License-Identifier: MIT */
/*
 * The page tables beyond the first 4 GiB. Code at CPL 3 may write page-table pages, as all memory.
 * Only taking a page away needs ring 0 (invlpg).
 */
#include "internal.h"

#define POOL_PAGES 64
#define P_PRESENT 1ull
#define P_ALL 7ull /* present, writable, user */
#define P_LARGE 0x80ull
#define ADDR 0x000ffffffffff000ull

extern uint64_t rs_pml4[512];
static uint64_t pool[POOL_PAGES][512] __attribute__((aligned(4096)));
static uint32_t pool_used;

/* The table that entry `index` of `table` points to. Made if absent. NULL: the pool is empty, or
 * the entry is a large page. */
static uint64_t *descend(uint64_t *table, uint32_t index, bool make)
{
	if (table[index] & P_PRESENT)
		return table[index] & P_LARGE ? NULL : (uint64_t *)(uintptr_t)(table[index] & ADDR);
	if (!make || pool_used == POOL_PAGES)
		return NULL;
	uint64_t *next = pool[pool_used++];
	table[index] = (uint64_t)(uintptr_t)next | P_ALL;
	return next;
}

static uint64_t *directory_of(uint64_t virt, bool make)
{
	uint64_t *pdpt = descend(rs_pml4, virt >> 39 & 511, make);
	return pdpt ? descend(pdpt, virt >> 30 & 511, make) : NULL;
}

bool rs_map_identity(uint64_t phys, uint64_t size)
{
	uint64_t end = phys + size;
	if (end < phys || end > 1ull << 47)
		return false;
	for (uint64_t at = phys & ~0x1fffffull; at < end; at += 0x200000) {
		uint64_t *pd = directory_of(at, true);
		if (!pd)
			return false;
		if (!(pd[at >> 21 & 511] & P_PRESENT))
			pd[at >> 21 & 511] = at | P_ALL | P_LARGE;
	}
	return true;
}

static uint64_t *entry_of(uint64_t virt, bool make)
{
	uint64_t *pd = directory_of(virt, make);
	uint64_t *pt = pd ? descend(pd, virt >> 21 & 511, make) : NULL;
	return pt ? &pt[virt >> 12 & 511] : NULL;
}

bool rs_map_page(uint64_t virt, uint64_t phys, bool writable)
{
	uint64_t *entry = entry_of(virt, true);
	if (!entry)
		return false;
	*(volatile uint64_t *)entry = (phys & ADDR) | (writable ? P_ALL : P_ALL & ~2ull);
	return true;
}

static void invlpg(uint64_t virt, uint64_t unused)
{
	__asm__ volatile("invlpg (%0)" ::"r"(virt) : "memory");
}

void rs_unmap_page(uint64_t virt)
{
	uint64_t *entry = entry_of(virt, false);
	if (!entry)
		return;
	*(volatile uint64_t *)entry = 0;
	rs_ring0_call(invlpg, virt, 0);
}
