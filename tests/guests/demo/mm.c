/* SPDX-License-Identifier: MIT */
/* Demand paging: each task slot has a window of addresses; a page comes when it is touched. */
#include "demo.h"
#include "events.h"

#define WINDOWS 0x7000000000ull
#define WINDOW_STRIDE 0x200000ull
#define FRAMES (MAX_TASKS * MM_WINDOW_PAGES)
#define PAGE 4096u

static uint8_t memory[FRAMES][PAGE] __attribute__((aligned(4096)));
static uint16_t free_frames[FRAMES];
static uint32_t free_count;
static uint16_t mapped[MAX_TASKS][MM_WINDOW_PAGES]; /* frame + 1; 0: none */
static struct lock mm_lock;
static uint64_t generation; /* grows when pages are given back */
static uint64_t seen[MAX_CPUS];
static bool ready;

uint32_t demo_faults;

volatile uint8_t *mm_window(uint32_t slot)
{
	return (volatile uint8_t *)(uintptr_t)(WINDOWS + slot * WINDOW_STRIDE);
}

static void fill_free_list(void)
{
	for (uint32_t i = 0; i < FRAMES; i++)
		free_frames[i] = (uint16_t)(FRAMES - 1 - i);
	free_count = FRAMES;
	ready = true;
}

bool mm_fault(struct rs_frame *frame)
{
	uint64_t address = frame->fault_address, offset = address - WINDOWS;
	uint64_t slot = offset / WINDOW_STRIDE, page = offset % WINDOW_STRIDE / PAGE;
	if (frame->vector != RS_VECTOR_PAGE_FAULT || address < WINDOWS || slot >= MAX_TASKS ||
	    page >= MM_WINDOW_PAGES || slot != task_current()->slot)
		return false;
	trace_mm_page_fault(address, frame->rip, (uint32_t)frame->error);

	bool on = lock_irq(&mm_lock);
	bool good = true;
	if (!ready)
		fill_free_list();
	if (!mapped[slot][page]) { /* otherwise this vCPU's TLB held an old "not present" */
		uint16_t number = free_frames[--free_count]; /* there are enough for all */
		mapped[slot][page] = number + 1;
		memset(memory[number], 0, PAGE);
		good = rs_map_page(address & ~(uint64_t)(PAGE - 1),
				   (uint64_t)(uintptr_t)memory[number], true);
		demo_faults++;
		trace_mm_page_map(address & ~(uint64_t)(PAGE - 1),
				  (uint64_t)(uintptr_t)memory[number], free_count);
	}
	unlock_irq(&mm_lock, on);
	return good;
}

uint32_t mm_release(uint32_t slot, uint32_t pid)
{
	uint16_t frames[MM_WINDOW_PAGES];
	uint32_t count = 0;
	bool on = lock_irq(&mm_lock);
	for (uint32_t page = 0; page < MM_WINDOW_PAGES; page++) {
		if (!mapped[slot][page])
			continue;
		frames[count] = mapped[slot][page] - 1;
		rs_unmap_page((uint64_t)(uintptr_t)mm_window(slot) + page * PAGE);
		free_frames[free_count++] = frames[count++];
		mapped[slot][page] = 0;
	}
	if (count)
		seen[rs_cpu_id()] = ++generation;
	unlock_irq(&mm_lock, on);
	if (count)
		trace_mm_release(pid, frames, count);
	return count;
}

/* Interrupts off. Another vCPU may have given back pages that our TLB still has. */
void mm_switch_in(void)
{
	uint64_t now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
	uint64_t *mine = &seen[rs_cpu_id()];
	if (*mine == now)
		return;
	*mine = now;
	rs_flush_tlb();
}

/* ---- what user mode could read ---- */

extern const uint8_t rs_image_start[], rs_image_end[];

/* How many bytes from `address` on lie in the image; 0: none. */
static uint64_t in_image(uint64_t address)
{
	uint64_t start = (uintptr_t)rs_image_start, end = (uintptr_t)rs_image_end;
	return address >= start && address < end ? end - address : 0;
}

/* The same for the window of a slot. */
static uint64_t in_window(uint32_t slot, uint64_t address)
{
	uint64_t start = (uintptr_t)mm_window(slot), size = MM_WINDOW_PAGES * PAGE;
	return address - start < size ? start + size - address : 0;
}

/*
 * Up to the end of a page that is there; past the page table, as another task may ask. One of `to`
 * and `from` is NULL.
 */
static uint32_t copy_page(uint32_t slot, uint64_t address, void *to, const void *from,
			  uint32_t size)
{
	uint64_t offset = address - (uintptr_t)mm_window(slot);
	uint32_t n = PAGE - (uint32_t)(offset % PAGE);
	bool on = lock_irq(&mm_lock);
	uint16_t frame = mapped[slot][offset / PAGE];
	n = !frame ? 0 : n < size ? n : size;
	if (n && to)
		memcpy(to, memory[frame - 1] + offset % PAGE, n);
	else if (n)
		memcpy(memory[frame - 1] + offset % PAGE, from, n);
	unlock_irq(&mm_lock, on);
	return n;
}

uint32_t mm_read(uint32_t slot, uint64_t address, void *to, uint32_t size)
{
	uint64_t there = in_image(address);
	uint32_t got = 0, n;
	if (there) {
		got = there < size ? (uint32_t)there : size;
		memcpy(to, (const void *)(uintptr_t)address, got);
		return got;
	}
	while (got < size && in_window(slot, address + got)) {
		n = copy_page(slot, address + got, (uint8_t *)to + got, NULL, size - got);
		if (!n)
			break;
		got += n;
	}
	return got;
}

/* Its window only: the image is everybody's. */
uint32_t mm_write(uint32_t slot, uint64_t address, const void *from, uint32_t size)
{
	uint32_t put = 0, n;
	while (put < size && in_window(slot, address + put)) {
		n = copy_page(slot, address + put, NULL, (const uint8_t *)from + put, size - put);
		if (!n)
			break;
		put += n;
	}
	return put;
}

bool mm_user(uint64_t address, uint64_t size)
{
	return in_image(address) >= size || in_window(task_current()->slot, address) >= size;
}

bool mm_user_text(uint64_t address, char *to, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++) {
		if (!mm_user(address + i, 1))
			return false;
		to[i] = *(const volatile char *)(uintptr_t)(address + i);
		if (!to[i])
			return true;
	}
	return false;
}
