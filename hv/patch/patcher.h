/* SPDX-License-Identifier: MIT */
/*
 * The patcher keeps which sites are to be on, and switches them in batches.
 *
 *     rs_patcher_want(event, +1) … (event, -1) …   wishes, counted by event; nothing happens yet
 *     rs_patcher_commit()                          one batch: check all, journal, pause, compare
 *                                                  again and write all, resume
 *
 * With very many sites that takes long. rs_patcher_step() does a part of it. What it costs depends
 * on the sites of the providers whose events are concerned, and not on how many there are in all.
 *
 * A site is written only if it holds the expected bytes, which is checked with the guest stopped. A
 * site with other bytes is refused, named and left alone. The batch goes on without it.
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
	/* The guest writes it, when the caller raises rs_control.generation after a commit. Here
	 * wishes are only counted: no text is read, nothing is journalled. */
	RS_PATCH_SELF,
};

struct rs_patcher_stats {
	uint64_t sites;         /* known */
	uint64_t sites_on;      /* that hold our JMP */
	uint64_t sites_refused; /* so far */
	uint64_t sites_patched; /* text writes, on and off */
	uint64_t sites_looked;  /* looks at a site: is it as it should be? */
	uint64_t sites_tried;   /* sites that were found to be not, and checked */
	uint64_t batches;       /* that stopped the guest, or wrote */
	uint64_t pause_last_ns; /* from the request to pause until the guest runs again */
	uint64_t pause_max_ns;
	uint64_t pause_total_ns;
	uint64_t commit_last_ns; /* whole batch, checks and journal included */
};

/* Who is told what becomes of sites. Either may be NULL. The guest is not stopped then. */
struct rs_patcher_watch {
	void *data;
	/* A site was switched on or off, or refused. */
	void (*site)(void *data, const struct rs_patch_site *site, bool refused);
	/*
	 * A batch was carried out, with `written` sites. What `site` tells of it comes first.
	 * paused_ns: as counted in struct rs_patcher_stats; 0: the guest was not stopped.
	 */
	void (*batch)(void *data, uint32_t written, uint32_t refused, uint64_t paused_ns);
};

struct rs_patcher;

/*
 * `target` must outlive it. `journal` is a path, NULL for RS_PATCH_SELF and for no journal. If the
 * target is the same guest, attached again, give a `report`: records that an earlier session left
 * are recovered first. If `report` is NULL, they are thrown away. Errors: as rs_journal_open and
 * rs_journal_recover.
 */
int rs_patcher_create(struct rs_target *target, enum rs_patch_method method, const char *journal,
		      struct rs_journal_report *report, struct rs_patcher **out,
		      struct rs_error *err);
/* Restores all text (if the guest still runs), then frees. If some text could not be restored, its
 * records stay in the journal. */
void rs_patcher_destroy(struct rs_patcher *patcher);

/* Allowed only while no site is on: -EBUSY otherwise. */
int rs_patcher_set_method(struct rs_patcher *patcher, enum rs_patch_method method,
			  struct rs_error *err);

/* NULL: nobody is told. Not copied. */
void rs_patcher_set_watch(struct rs_patcher *patcher, const struct rs_patcher_watch *watch);

/* Says whose text it is, for the journal. Not needed if the target is a process itself. */
void rs_patcher_set_process(struct rs_patcher *patcher, uint32_t pid, uint64_t start);

/*
 * A provider has come: reads its sites. Wishes for its events apply to them from the next commit
 * on. *refused (may be NULL): number of refused sites, see rs_patcher_refusals(). Errors: as
 * rs_sites_load; -EEXIST it is known.
 */
int rs_patcher_add_provider(struct rs_patcher *patcher, const struct rs_site_list *list,
			    uint32_t *refused, struct rs_error *err);

/*
 * The same in steps, each of which takes about as long as to check `count` sites. Some of its sites
 * may already be patched meanwhile. A step returns 1 as long as there is more to do. After an error
 * the provider is not known. Others may go meanwhile, and this one too; none may come: -EBUSY.
 */
int rs_patcher_begin_provider(struct rs_patcher *patcher, const struct rs_site_list *list,
			      struct rs_error *err);
int rs_patcher_step_provider(struct rs_patcher *patcher, uint32_t count, uint32_t *refused,
			     struct rs_error *err);

/*
 * After the last step, until the next provider: the events for whose callbacks the guest needs
 * sites of that provider, struct rs_site_called as rs_site_load_called() has them. NULL: of none.
 */
const GArray *rs_patcher_called(const struct rs_patcher *patcher);

/*
 * A provider goes: restores its sites at once, and then forgets them, also on failure. If our JMPs
 * may be left in its text, the journal keeps their records, and each batch tries again to restore
 * them, where they lay when they were written.
 */
int rs_patcher_remove_provider(struct rs_patcher *patcher, uint32_t provider, struct rs_error *err);
/*
 * The same in steps: the next ones switch its sites off when it is its turn, and then forget it.
 * Until then it is known, and `provider` cannot come again. -ENOENT.
 */
int rs_patcher_leave(struct rs_patcher *patcher, uint32_t provider, struct rs_error *err);
bool rs_patcher_knows(const struct rs_patcher *patcher, uint32_t provider);
/* Whether some provider leaves. */
bool rs_patcher_leaving(const struct rs_patcher *patcher);

/*
 * Another patch than of a site, for a while: journalled, and written if the text holds its old
 * bytes. It is undone by rs_patcher_unpoke(), and at the latest by rs_patcher_restore(). Only
 * RS_PATCH_HOST. *number: of this patch, not 0. -ENOTSUP: the guest patches itself; -EEXIST: a
 * known site, or another such patch, has some of these bytes; -EBUSY: a batch is at work; -EILSEQ:
 * the text holds other bytes. Others: as rs_patcher_commit(). On failure the text is as it was.
 */
int rs_patcher_poke(struct rs_patcher *patcher, const struct rs_text_patch *patch, uint64_t root,
		    uint32_t *number, struct rs_error *err);
/*
 * Forgets the patch in any case. -ENOENT: it is undone, or its text gone; -EILSEQ: its text holds
 * other bytes, and was left alone; others: the text may be patched still, and is tried again, as
 * that of a provider that has gone.
 */
int rs_patcher_unpoke(struct rs_patcher *patcher, uint32_t number, struct rs_error *err);

/* The text is gone (reboot, execve). Forgets providers, sites, wishes, other
 * patches; clears the journal. */
void rs_patcher_forget(struct rs_patcher *patcher);

/* Adds delta, +1 or -1, to the count, which stays 0 at least. Any id: its sites may come later. */
void rs_patcher_want(struct rs_patcher *patcher, uint16_t event, int delta);

/*
 * Makes the text agree with the wishes. Returns 0 even if sites were refused: *refused (may be
 * NULL) is their number in this batch. Returns 0 if the guest has ended. Errors: those of the
 * journal, if somebody has asked for sites to go on, and then none goes on, but others go off;
 * those of the pause, and then no text was touched; those of a write, after which the written sites
 * were restored as far as possible.
 */
int rs_patcher_commit(struct rs_patcher *patcher, uint32_t *refused, struct rs_error *err);

/*
 * One batch with `count` sites at most, for which RS_PATCH_LOOKS as many are looked at. Returns 1
 * as long as there is more to do, and else as rs_patcher_commit(). After an error the next step
 * tries again. Wishes may change, and providers come and go meanwhile. Providers have their turn in
 * a round, so nobody's wishes hold up those of others for ever.
 */
#define RS_PATCH_LOOKS 16u
int rs_patcher_step(struct rs_patcher *patcher, uint32_t count, uint32_t *refused,
		    struct rs_error *err);
/* Whether the next step has sites to look at, so it may pause the target. */
bool rs_patcher_has_due(struct rs_patcher *patcher);
/*
 * A ticket for all wishes so far for these events. It is settled once all sites that they concern
 * have been looked at, after two rounds through the sites at most, whatever is wished later.
 * (Unless a step fails.)
 */
uint64_t rs_patcher_ticket(struct rs_patcher *patcher, uint32_t min_event, uint32_t max_event);
bool rs_patcher_is_settled(const struct rs_patcher *patcher, uint64_t ticket);
/*
 * To be called now and then: tries again to restore text of providers that have gone, if the target
 * is ready.
 */
void rs_patcher_tend(struct rs_patcher *patcher);
/*
 * Restores all text that nobody wants patched. Errors: as rs_patcher_commit; -EIO some of it cannot
 * be restored, and its records stay in the journal.
 */
int rs_patcher_restore(struct rs_patcher *patcher, struct rs_error *err);

/*
 * Whether a batch is at work, so whoever asks was called by the target out of it. Sites and
 * providers must not change then.
 */
bool rs_patcher_is_busy(const struct rs_patcher *patcher);

/* The number of known sites of one event, and of those that are on. SELF: both 0. */
void rs_patcher_event_sites(const struct rs_patcher *patcher, uint16_t event, uint32_t *known,
			    uint32_t *on);

/*
 * The known site of this number, from 0 on; NULL: there are no more. A provider that goes makes the
 * numbers of later sites smaller. Those of a provider that is being read come at the end. Valid
 * until sites or providers change.
 */
const struct rs_patch_site *rs_patcher_site(const struct rs_patcher *patcher, uint32_t number);

uint32_t rs_patcher_provider_sites_on(const struct rs_patcher *patcher, uint32_t provider);

void rs_patcher_stats(const struct rs_patcher *patcher, struct rs_patcher_stats *out);
/*
 * The first RS_MAX_REFUSALS sites that the last step, batch or reading refused, in order. Valid
 * until the next call.
 */
const struct rs_site_refusal *rs_patcher_refusals(const struct rs_patcher *patcher, size_t *count);

#endif
