/* SPDX-License-Identifier: MIT */
/* Shared by the patcher's two files: patcher.c (wishes) and batch.c (carrying them out). */
#ifndef RS_HV_PATCH_PATCHER_PRIVATE_H
#define RS_HV_PATCH_PATCHER_PRIVATE_H

#include "patch/patcher.h"

struct rs_site_count {
	uint32_t known, on;
};

struct rs_patcher {
	struct rs_target *target;
	enum rs_patch_method method;
	struct rs_journal *journal; /* NULL: none */
	GArray *sites;              /* struct rs_patch_site */
	GArray *refusals;           /* struct rs_site_refusal */
	GHashTable *providers;      /* id to struct rs_site_count */
	GArray *wishes;             /* uint32_t, by event; none for those behind its end */
	GArray *counts;             /* struct rs_site_count, likewise */
	uint64_t sites_on;
	struct rs_site_load *load; /* a provider whose sites are being read; NULL: none */
	uint32_t loading;          /* which */
	bool asked;                /* somebody made a wish since the last batch … */
	bool asked_on;             /* … and one for sites to go on */
	bool moved; /* text was found elsewhere: its earlier place may hold our JMP */
	/* So much text of nobody's may hold our JMPs, as the journal knows: of providers that were
	 * removed, of places that text has left, of an earlier session. It is tried again. */
	uint32_t owed;
	uint64_t retry_ns; /* not before (CLOCK_MONOTONIC) */
	struct rs_patcher_stats stats;
};

/* One batch. `leaving` not 0: it only switches off the sites of that provider. */
int rs_patcher_batch(struct rs_patcher *patcher, uint32_t leaving, uint32_t *refused,
		     struct rs_error *err);

/* Counts the sites anew, of each event and provider. */
void rs_patcher_count(struct rs_patcher *patcher);
/* Whether anybody wishes it. */
static inline bool rs_patcher_wished(const struct rs_patcher *patcher, uint16_t event)
{
	return event < patcher->wishes->len && g_array_index(patcher->wishes, uint32_t, event);
}
/* Counts them, tries again to restore what is owed, if it is time or `now`, and empties the journal
 * when no text holds our JMPs. */
void rs_patcher_settle(struct rs_patcher *patcher, bool now);

void rs_patcher_refuse(struct rs_patcher *patcher, const struct rs_patch_site *site,
		       const char *why);

#endif
