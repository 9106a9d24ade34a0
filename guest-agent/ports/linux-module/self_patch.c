/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own functions that write text are not exported. So all CPUs are stopped, which takes
 * as long for many sites as for one, and text is written through a second mapping of its pages,
 * since the first one is read-only.
 */
#define pr_fmt(fmt) "ringside: " fmt
#include "self_patch.h"

#include "arch.h"

#include <asm/sync_core.h>
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/stop_machine.h>
#include <linux/vmalloc.h>
#include <ringside/agent.h>

struct poke {
	uintptr_t at;
	u8 before[RS_SITE_BYTES], after[RS_SITE_BYTES];
};

static struct {
	uintptr_t from; /* start of the first page of text */
	u8 *alias;      /* where it is writable; NULL: nowhere */
	u32 count;
	struct poke pokes[RS_TEXT_POKES];
	atomic_t writer; /* of the CPUs that are stopped */
	bool done;
} text;

static u8 *map_text(uintptr_t from, unsigned int count)
{
	struct page **pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL);
	u8 *alias = NULL;
	unsigned int i;

	if (!pages)
		return NULL;
	for (i = 0; i < count; i++) {
		pages[i] = vmalloc_to_page((void *)(from + i * PAGE_SIZE));
		if (!pages[i])
			break;
	}
	if (i == count)
		alias = vmap(pages, count, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	return alias;
}

void rs_text_open(void *from, void *to)
{
	uintptr_t end = PAGE_ALIGN((uintptr_t)to);

	text.from = (uintptr_t)from & PAGE_MASK;
	text.count = 0;
	text.alias = map_text(text.from, (end - text.from) >> PAGE_SHIFT);
	if (!text.alias)
		pr_warn_once("text cannot be mapped to be patched\n");
}

/* The core has just read the site, and stores nothing itself. */
void rs_text_write(void *at, const void *bytes, uint32_t size)
{
	struct poke *poke = &text.pokes[text.count];

	if (!text.alias || size != RS_SITE_BYTES || text.count == RS_TEXT_POKES)
		return; /* the core looks, and counts it */
	poke->at = (uintptr_t)at;
	memcpy(poke->before, at, RS_SITE_BYTES);
	memcpy(poke->after, bytes, RS_SITE_BYTES);
	text.count++;
}

/* Somebody else may have changed a site since it was read: that one is left alone. */
static void write_all(void)
{
	for (u32 i = 0; i < text.count; i++) {
		const struct poke *poke = &text.pokes[i];

		/* One aligned word, so that an NMI meets the site as it was or as it will be. */
		if (!memcmp((void *)poke->at, poke->before, RS_SITE_BYTES))
			rs_arch_site_store((uintptr_t)text.alias + (poke->at - text.from),
					   poke->after);
	}
}

/* On every CPU at once, with interrupts off. */
static int stopped(void *data)
{
	if (atomic_inc_return(&text.writer) == 1) {
		write_all();
		smp_store_release(&text.done, true); /* pairs with the acquire below */
	} else {
		while (!smp_load_acquire(&text.done))
			cpu_relax();
	}
	sync_core(); /* what this CPU has fetched of the old text is dropped */
	return 0;
}

void rs_text_flush(void)
{
	if (!text.count)
		return;
	atomic_set(&text.writer, 0);
	text.done = false;
	stop_machine(stopped, NULL, cpu_online_mask);
	text.count = 0;
}

void rs_text_close(void *from, void *to)
{
	if (text.alias)
		vunmap(text.alias);
	text.alias = NULL;
}
