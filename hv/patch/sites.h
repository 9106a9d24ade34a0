/* SPDX-License-Identifier: MIT */
/*
 * The sites that a provider lists, read out of guest memory and checked: the patcher's own private
 * table. The list is hostile: a site that makes no sense is refused by name and left alone, and the others
 * count. Session thread.
 */
#ifndef RS_HV_PATCH_SITES_H
#define RS_HV_PATCH_SITES_H

#include "patch/insn.h"
#include "target/target.h"
#include <glib.h>
#include <ringside/descriptor.h>

/* Where a provider's struct rs_site array lies, as it says itself. */
struct rs_site_list {
	uint32_t provider; /* whose; not 0 */
	uint32_t count;
	uint32_t stride; /* bytes from one to the next */
	rs_gva_t at;
	uint64_t root; /* page tables under which all addresses hold */
};

struct rs_patch_site {
	rs_gva_t at;      /* the five bytes */
	rs_gpa_t at_phys; /* where they lay when last checked; {0} without physical addresses */
	rs_gva_t target;  /* where the JMP leads */
	uint64_t root;    /* page tables under which both hold */
	uint32_t provider;
	uint16_t event;
	bool on;         /* holds our JMP, or may hold it */
	bool journalled; /* as it lay at journalled_phys */
	rs_gpa_t journalled_phys;
	bool refused; /* its bytes were wrong at the last try: not tried until asked again */
	struct rs_jump_target seen; /* what lay at `target` when it was decoded */
};

struct rs_site_refusal {
	rs_gva_t at;
	uint32_t provider;
	uint32_t event; /* 0: not known */
	char why[160];  /* no guest text in it but numbers */
};

/*
 * Reads a list and appends to `sites` (of struct rs_patch_site) what can
 * be patched and to `refused` (of struct rs_site_refusal, at most RS_MAX_REFUSALS) what cannot; *refused_count
 * grows by all of the latter. Sites whose event is not registered (id 0) are not counted at all.
 * `budget`: how many sites may still be taken from this guest.
 * Errors: -EINVAL impossible list; -E2BIG more than `budget`; -EFAULT the list cannot be read.
 */
#define RS_MAX_REFUSALS 1024u
int rs_sites_load(struct rs_target *target, const struct rs_site_list *list, uint32_t budget,
		  GArray *sites, GArray *refused, uint64_t *refused_count, struct rs_error *err);

#endif
