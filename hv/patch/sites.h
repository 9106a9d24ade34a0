/* SPDX-License-Identifier: MIT */
/*
 * Reads a provider's sites from guest memory and checks them, for the patcher's private table. The
 * list is hostile: an invalid site is refused, named and left alone, and the others are used.
 * Session thread.
 */
#ifndef RS_HV_PATCH_SITES_H
#define RS_HV_PATCH_SITES_H

#include "patch/insn.h"
#include "target/target.h"
#include <glib.h>
#include <ringside/descriptor.h>

/* Where a provider says that its struct rs_site array lies. */
struct rs_site_list {
	uint32_t provider; /* whose; not 0 */
	uint32_t count;
	uint32_t stride; /* bytes from one to the next */
	rs_gva_t at;
	uint64_t root; /* page tables by which all addresses are valid */
};

struct rs_patch_site {
	rs_gva_t at;      /* the five bytes */
	rs_gpa_t at_phys; /* where they lay when last checked; {0} without physical addresses */
	rs_gva_t target;  /* where the JMP leads */
	uint64_t root;    /* page tables by which both are valid */
	uint32_t provider;
	uint16_t event; /* 0: a gate, which is to be on while any other site of its provider is */
	bool on;        /* holds our JMP, or may hold it */
	uint32_t journalled; /* in which the journal has it at journalled_phys; 0: none */
	rs_gpa_t journalled_phys;
	bool repeated; /* its text is that of another one, which was there first: not to be used */
	bool refused;  /* its bytes were wrong at the last try; tried again when somebody asks */
	struct rs_jump_target seen; /* the bytes at `target` when they were decoded */
};

/* An event for whose callbacks the guest needs its sites, as the guest says. */
struct rs_site_called {
	uint32_t event;
	uint16_t number; /* as that of RS_HCALL_CALLBACKS */
};

struct rs_site_refusal {
	rs_gva_t at;
	uint32_t provider;
	uint32_t event; /* 0: not known */
	char why[160];  /* holds no text of the guest, only numbers */
};

/*
 * The reading of a list, in steps, since it may be long. Valid sites are appended to `sites`
 * (struct rs_patch_site), which holds those that are known already, and the others to `refused`
 * (struct rs_site_refusal), as long as it has fewer than RS_MAX_REFUSALS. Text that several sites
 * have, known ones included, is refused once, and the first site keeps it. Sites of events that are
 * not registered (id 0) do not count at all. Between two steps `sites` may lose sites of other
 * providers, but gets none.
 */
#define RS_MAX_REFUSALS 1024u
struct rs_site_load;

/*
 * `budget`: how many sites may still be taken from this guest. The target outlives it. Errors:
 * -EINVAL impossible list; -E2BIG more than `budget`.
 */
int rs_site_load_begin(struct rs_target *target, const struct rs_site_list *list, uint32_t budget,
		       struct rs_site_load **out, struct rs_error *err);
/*
 * Does about as much as it takes to check `count` sites, or less where rs_target.slow_reads grow.
 * 1: there is more to do; 0: it is done.
 * -EFAULT the list cannot be read: then sites has got none.
 */
int rs_site_load_step(struct rs_site_load *load, uint32_t count, GArray *sites, GArray *refused,
		      struct rs_error *err);
/* Between two steps `sites` has lost `count` of them from the `first` on. */
void rs_site_load_lost(struct rs_site_load *load, uint32_t first, uint32_t count);
/*
 * struct rs_site_called of the sites that have been read so far, for as long as the load lives. An
 * event with several sites may be there several times, and may be another provider's.
 */
const GArray *rs_site_load_called(const struct rs_site_load *load);
/* Of all sites that were refused so far. */
uint64_t rs_site_load_refused(const struct rs_site_load *load);
/* Sites that it has appended stay. Accepts NULL. */
void rs_site_load_free(struct rs_site_load *load);

/* All of it at once. *refused_count grows. After an error nothing has changed. */
int rs_sites_load(struct rs_target *target, const struct rs_site_list *list, uint32_t budget,
		  GArray *sites, GArray *refused, uint64_t *refused_count, struct rs_error *err);

#endif
