/* SPDX-License-Identifier: MIT */
/*
 * The patcher: which sites are to be on, and the batches that make them so.
 *
 *     rs_patcher_want(event, +1) … (event, -1) …   wishes, counted by event; nothing happens yet
 *     rs_patcher_commit()                          one batch: check all, journal, pause, compare again
 *                                                  and write all, resume
 *
 * Nothing is written that was not compared, with the guest stopped, with the bytes that must be there. A site
 * with other bytes is refused, named, and left alone; the batch goes on without it.
 *
 * Session thread. Guest memory and site lists are hostile.
 */
#ifndef RS_HV_PATCH_PATCHER_H
#define RS_HV_PATCH_PATCHER_H

#include "patch/journal.h"
#include "patch/sites.h"
#include "target/target.h"
#include <glib.h>

enum rs_patch_method {
	RS_PATCH_HOST, /* we write the text */
	RS_PATCH_SELF, /* the guest does, told by rs_control.generation, which the caller raises after
	                  a commit: wishes are counted, no text is read, nothing is journalled */
};

struct rs_patcher_stats {
	uint64_t sites;         /* known */
	uint64_t sites_on;      /* that hold our JMP */
	uint64_t sites_refused; /* ever */
	uint64_t sites_patched; /* text writes, on and off */
	uint64_t batches;       /* that stopped the guest */
	uint64_t pause_last_ns; /* from asking for the pause until the guest has been let go */
	uint64_t pause_max_ns;
	uint64_t pause_total_ns;
	uint64_t commit_last_ns; /* whole batch, checks and journal included */
};

struct rs_patcher;

/*
 * `target` must outlive it. `journal` is a path, NULL for RS_PATCH_SELF and for none. Records left in it by an
 * earlier session are put right first if `report` is not NULL (that is: the target is the same guest,
 * attached again) and else thrown away. Errors: as rs_journal_open and _recover.
 */
int rs_patcher_create(struct rs_target *target, enum rs_patch_method method, const char *journal,
		      struct rs_journal_report *report, struct rs_patcher **out,
		      struct rs_error *err);
/* Puts all text back (as far as the guest still runs), then frees. What could not be restored stays
 * in the journal. */
void rs_patcher_destroy(struct rs_patcher *patcher);

enum rs_patch_method rs_patcher_method(const struct rs_patcher *patcher);
/* Allowed while no site is on. -EBUSY otherwise. */
int rs_patcher_set_method(struct rs_patcher *patcher, enum rs_patch_method method,
			  struct rs_error *err);

/* Whose text it is, for the journal; found out by itself for a target that is a process. */
void rs_patcher_set_process(struct rs_patcher *patcher, uint32_t pid, uint64_t start);

/*
 * A provider has come: reads its sites. Wishes for its events hold for them, from the next commit on.
 * *refused (may be NULL): sites that were refused, see rs_patcher_refusals().
 * Errors: as rs_sites_load; -EEXIST it is known.
 */
int rs_patcher_add_provider(struct rs_patcher *patcher, const struct rs_site_list *list,
			    uint32_t *refused, struct rs_error *err);

/* A provider goes: its sites are put back at once, then forgotten (also on failure). */
int rs_patcher_remove_provider(struct rs_patcher *patcher, uint32_t provider, struct rs_error *err);

/* The text is gone (reboot, execve): all providers, sites, wishes and the journal are forgotten. */
void rs_patcher_forget(struct rs_patcher *patcher);

/* delta is +1 or -1; below 0 it stays 0. Any id is accepted: its sites may come later. */
void rs_patcher_want(struct rs_patcher *patcher, uint16_t event, int delta);

/*
 * Makes the text what the wishes say. 0 also when sites were refused: *refused (may be NULL) says
 * how many in this batch. A guest that has ended is 0.
 * Errors: the pause's, or the journal's: then no text was touched. A write that fails: what was written
 * is put back as far as it can be.
 */
int rs_patcher_commit(struct rs_patcher *patcher, uint32_t *refused, struct rs_error *err);

/* Sites of one event that are known, and that are on; SELF: both 0. */
void rs_patcher_event_sites(const struct rs_patcher *patcher, uint16_t event, uint32_t *known,
			    uint32_t *on);

void rs_patcher_stats(const struct rs_patcher *patcher, struct rs_patcher_stats *out);
/* The newest refusals, oldest first, at most RS_MAX_REFUSALS; owned by the patcher, until its next call. */
const struct rs_site_refusal *rs_patcher_refusals(const struct rs_patcher *patcher, size_t *count);

#endif
