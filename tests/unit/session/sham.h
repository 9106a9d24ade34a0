/* SPDX-License-Identifier: MIT */
/*
 * A guest for tests of the session: a target without CPUs, and an agent that is this test, writing
 * the guest's part of a real region. It has no text: it says that it patches itself, or lists no
 * sites. With `text` each event has a site, or several, which the host patches.
 */
#ifndef RS_TEST_SESSION_SHAM_H
#define RS_TEST_SESSION_SHAM_H

#include "session/session.h"
#include <glib.h>

#define SHAM_ALL UINT32_MAX

/* Events that have text. A fuzzer makes a guest for each input. */
#ifdef RS_FUZZING
#define SHAM_EVENTS 32u
#else
#define SHAM_EVENTS 256u
#endif

/* Text: code, 64 bytes for each event; as much for its sites, for its id, and unused. */
#define SHAM_TEXT 0x100000u
#define SHAM_TEXT_SIZE (4 * 64 * SHAM_EVENTS) /* whole pages, which are read at once */
#define SHAM_POOL (SHAM_TEXT + 3 * 64 * SHAM_EVENTS)
#define SHAM_POOL_SIZE (64 * SHAM_EVENTS)

struct sham {
	struct rs_target target;
	RsTraceRegion *region;
	int pauses, resumes, nudges;
	uint32_t nudge_vector; /* of the last one; 0: an NMI */
	uint32_t announced;    /* the guest's rs_guest_info.nudge_vector, at its next hello */
	bool running, destroyed;
	uint32_t boot;
	uint32_t events;      /* described so far in this boot */
	uint64_t event_bytes; /* of their descriptors */
	bool odd;             /* `a` of events described from now on is u8[4] */
	bool bare;            /* they have no field but `a` */
	bool older;           /* the agent is of ABI 1.0, at its next hello */
	uint32_t sites;       /* listed so far in this boot */
	uint32_t more_sites; /* 3 at most: so many more than one, of events described from now on */
	uint8_t *bulk;       /* of sham_bulk(); NULL: none */
	size_t bulk_size;
	uint32_t bulk_sites;
	uint8_t *text; /* guest memory with code and site lists; NULL: none */
	/* What its providers say of a pool of text from now on; of SHAM_POOL it has one. */
	uint64_t pool, pool_size;
	/* NULL; or before each read, and before each patch is written. */
	void (*watch)(struct sham *sham, const struct rs_text_patch *patch);
	bool not_ready;    /* a pause would have to be waited for: see sham_get_ready() */
	bool unstoppable;  /* a pause fails */
	bool read_only;    /* a write of text fails */
	int refusal;       /* what reads, pauses and writes of text return; 0: they work … */
	uint32_t patience; /* … and so do as many before that; counts down */
	uint32_t refusals;
	uint32_t stone; /* the text of this event cannot be written; 0: all can; SHAM_ALL: none */
	bool torn;      /* events described from now on have no NOP at their sites */
	bool dying;     /* the target ends in the next pause */
};

/* A target for this region; both go to the session. */
struct sham *sham_on(RsTraceRegion *region, bool text);
/* A region and target for `cpus`. */
struct sham *sham_new(uint32_t cpus, uint32_t hcall_channel);
/*
 * With room for filter programs of so many bytes in all, and with text. A filter takes 256 bytes
 * at least.
 */
struct sham *sham_new_with_text(uint32_t cpus, uint32_t hcall_channel, uint32_t filter_bytes);
/* After the session has destroyed the target. */
void sham_free(struct sham *sham);

/* The agent reports; flags: RS_GUEST_*. A second call is another boot. */
void sham_hello(struct sham *sham, uint32_t flags);
/*
 * One more provider, LIVE, with these events ("name"), each of fields u32 a, s64 b, char c[16].
 * Returns its slot.
 */
uint32_t sham_provider(struct sham *sham, const char *system, const char *const *events);
/* One more provider, whose only event has so many sites. Once only. The guest has text. */
uint32_t sham_bulk(struct sham *sham, const char *system, const char *event, uint32_t sites);
/* How many sites of the bulk are not as the guest made them. */
uint32_t sham_bulk_patched(struct sham *sham);
void sham_provider_dies(struct sham *sham, uint32_t slot);
/* The same once more: a module that is loaded again. */
void sham_provider_returns(struct sham *sham, uint32_t slot);
/* The word of an event's object that is about callbacks. The guest has text. */
void sham_set_called(struct sham *sham, uint32_t event, uint32_t word);
/* Whether the first site of an event holds our jump. */
bool sham_patched(struct sham *sham, uint32_t event);
/* The target is ready from now on, and says so. */
void sham_get_ready(struct sham *sham);
/* What the guest sees. */
uint32_t sham_native(struct sham *sham, uint32_t event);
uint8_t *sham_pool(struct sham *sham);
uint32_t sham_word(struct sham *sham, uint32_t event);
uint32_t sham_generation(struct sham *sham);
/* Puts a request into a mailbox. */
void sham_request(struct sham *sham, uint32_t ring, uint32_t number, uint64_t arg,
		  const char *data);
void sham_request_args(struct sham *sham, uint32_t ring, uint32_t number, const uint64_t args[3],
		       const char *data);
const struct rs_hcall_response *sham_response(struct sham *sham, uint32_t ring);
/* Runs the thread-default main context until `*flag`, or fails the test after five seconds. */
void sham_wait(const bool *flag);
/* … until the mailbox has its answer. */
void sham_wait_answer(struct sham *sham, uint32_t ring);

#endif
