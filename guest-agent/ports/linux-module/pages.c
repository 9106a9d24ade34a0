/* SPDX-License-Identifier: MIT */
/*
 * The host finds the module's text and tables by their addresses, so it needs page tables. Those of
 * a process go away with it, and the kernel's own are not exported. So the module has a top level
 * of its own. The kernel's half of it is the same in every process, and the entries under which
 * modules lie are never changed.
 */
#include "module.h"

#include <asm/io.h>
#include <asm/pgtable.h>
#include <asm/special_insns.h>
#include <linux/gfp.h>
#include <linux/sched.h>

static pgd_t *root;

int rs_page_table_make(void)
{
	const pgd_t *now;

	root = (pgd_t *)get_zeroed_page(GFP_KERNEL);
	if (!root)
		return -ENOMEM;
	preempt_disable();
	now = __va(read_cr3_pa());
	memcpy(root + PTRS_PER_PGD / 2, now + PTRS_PER_PGD / 2, PTRS_PER_PGD / 2 * sizeof(*root));
	preempt_enable();
	return 0;
}

void rs_page_table_free(void)
{
	free_page((unsigned long)root);
	root = NULL;
}

u64 rs_page_table_root(void)
{
	return virt_to_phys(root);
}

u32 rs_page_table_kind(void)
{
	return native_read_cr4() & X86_CR4_LA57 ? RS_PAGING_X86_64_5 : RS_PAGING_X86_64_4;
}
