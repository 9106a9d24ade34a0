/* SPDX-License-Identifier: MIT */
/*
 * Shared by the patcher's files: patcher.c (wishes), batch.c (carrying them out), poke.c (patches
 * of other text) and owed.c (text that could not be restored).
 */
#ifndef RS_HV_PATCH_PATCHER_PRIVATE_H
#define RS_HV_PATCH_PATCHER_PRIVATE_H

#include "patch/patcher.h"

struct rs_site_count {
	uint32_t known, on;
};

/* All sites of a provider are to be looked at once, for requests of these numbers. */
struct rs_patch_due {
	uint64_t oldest, newest; /* numbers; 0: nothing is due */
	uint64_t until;          /* done once so many sites have been looked at */
};

/* A provider's sites lie side by side. */
struct rs_patch_provider {
	struct rs_site_count count;
	uint32_t first;  /* of its sites, in rs_patcher.sites */
	uint32_t next;   /* among them: which to look at next */
	uint64_t looked; /* looks at its sites so far */
	/*
	 * The first one is never put off, whoever asks meanwhile. All that is asked for until it is
	 * done is due together after that.
	 */
	struct rs_patch_due due[2];
	uint16_t min_event, max_event; /* of the events of its sites */
	bool retry;                    /* also look at those that were refused */
	bool leaving;                  /* to be switched off, and then forgotten */
	bool touched;                  /* some of its sites are in the batch */
};

/* A patch that is no site's. */
struct rs_poke {
	uint32_t number;
	struct rs_text_patch patch;
	struct rs_patch_site place; /* of its at and at_phys alone: as records are looked up */
};

struct rs_patcher {
	struct rs_target *target;
	enum rs_patch_method method;
	const struct rs_patcher_watch *watch; /* NULL: nobody */
	struct rs_journal *journal;           /* NULL: none */
	GArray *sites;                        /* struct rs_patch_site */
	GArray *refusals;                     /* struct rs_site_refusal */
	uint32_t journal_run;  /* the journal's, see rs_patch_site.journalled; not 0 */
	GHashTable *providers; /* id to struct rs_patch_provider */
	/* Of struct rs_patch_provider: those of which something is due. A batch begins with the
	 * first, and those of which something is left are the last after it. */
	GQueue due;
	GArray *wishes; /* uint32_t, by event; none for those behind its end */
	GArray *counts; /* struct rs_site_count, likewise */
	uint64_t sites_on;
	GPtrArray *pokes;          /* of struct rs_poke, owned */
	uint32_t pokes_made;       /* the number of the newest */
	struct rs_site_load *load; /* a provider whose sites are being read; NULL: none */
	uint32_t loading;          /* which */
	GArray *called;            /* struct rs_site_called of the last one that was read */
	/* Events about which somebody has made a wish; the sites of their providers are due. */
	uint32_t asked_min, asked_end;
	uint64_t requests; /* the number of the last one whose sites have been made due */
	bool asked_on;     /* and one of these wishes was for sites to go on */
	bool moved;        /* text was found elsewhere: its earlier place may hold our JMP */
	/* So much text of nobody's may hold our JMPs, as the journal knows: of providers that were
	 * removed, of places that text has left, of an earlier session. It is tried again. */
	uint32_t owed;
	uint64_t retry_ns; /* not before (CLOCK_MONOTONIC) */
	bool busy;         /* a batch is at work, and holds pointers to sites and records */
	struct rs_patcher_stats stats;
};

/* One batch with `count` sites at most, of what is due. */
int rs_patcher_batch(struct rs_patcher *patcher, uint32_t count, uint32_t *refused,
		     struct rs_error *err);

/* Recovery finds a process by its id and start time, and a machine's text by physical address. */
void rs_patcher_name_process(struct rs_patcher *patcher);
/* As rs_patcher_unpoke(), of all. */
int rs_patcher_unpoke_all(struct rs_patcher *patcher, struct rs_error *err);

/* How many of its sites are still to be looked at. */
static inline uint64_t rs_patch_left(const struct rs_patch_provider *provider)
{
	const struct rs_patch_due *last = &provider->due[provider->due[1].oldest ? 1 : 0];

	return last->oldest && last->until > provider->looked ? last->until - provider->looked : 0;
}

/* The provider whose turn it is; NULL: nothing is due. One that leaves is alone in its batch. */
static inline struct rs_patch_provider *rs_patcher_first_due(const struct rs_patcher *patcher)
{
	return patcher->due.head ? patcher->due.head->data : NULL;
}

struct rs_patch_provider *rs_patcher_provider(const struct rs_patcher *patcher, uint32_t id);
/* All sites, also the refused ones, are to be looked at. */
void rs_patcher_ask_all(struct rs_patcher *patcher);
/* The only way to change site->on, since sites are counted. */
void rs_patcher_set_on(struct rs_patcher *patcher, struct rs_patch_site *site, bool on);

/* Whether anybody wishes it. */
static inline bool rs_patcher_wished(const struct rs_patcher *patcher, uint16_t event)
{
	return event < patcher->wishes->len && g_array_index(patcher->wishes, uint32_t, event);
}
/* Tries again to restore what is owed, if it is time or `now`, and empties the journal
 * when no text holds our JMPs. */
void rs_patcher_settle(struct rs_patcher *patcher, bool now);

/* One record is enough for any number of switches, unless the text moves in physical memory. */
static inline bool rs_patcher_journalled(const struct rs_patcher *patcher,
					 const struct rs_patch_site *site)
{
	return site->journalled == patcher->journal_run &&
	       site->journalled_phys.v == site->at_phys.v;
}

void rs_patcher_refuse(struct rs_patcher *patcher, const struct rs_patch_site *site,
		       const char *why);

#endif
