/* SPDX-License-Identifier: MIT */
/*
 * The agent's own state: one for each image that links it. rs_agent_init() and the management calls
 * write it. The emit path only reads it.
 */
#ifndef RS_AGENT_CORE_H
#define RS_AGENT_CORE_H

#include "ring.h"

#include <ringside/agent.h>
#include <ringside/cmdline.h>
#include <ringside/control.h>
#include <ringside/filter.h>

struct rs_ring_line {
	struct rs_ring ring;
} __attribute__((aligned(64)));

struct rs_core {
	/* What each event reads. */
	uint32_t ring_count; /* 0: no region */
	bool hooked;         /* an op of the fast path is not the default, or `raw` */
	bool plain;          /* not hooked, no locked instructions: take the fast path */
	bool raw;            /* records go to ops.trace_pipe_push_raw_record */
	bool tasks;          /* tasks are the OS's: ops.current_pid or current_comm */
	uint32_t name_epoch; /* grows with each init; names are then noted anew */
	uint32_t filters_size;
	const uint8_t *filters;
	struct rs_guest_info *info;
	struct rs_trace_ops ops; /* a copy; NULL where the default is used */

	/* The rest is for the management calls. */
	uint32_t lock; /* init, fini, register, unregister, apply_control */
	bool greeted;  /* rs_agent_hello() was called */
	uint32_t next_event_id;
	struct rs_agent_provider *providers; /* registered ones */
	struct rs_agent_config config;
	struct rs_region_header header; /* the checked copy */
	uint8_t *region;
	const struct rs_control *control;
	struct rs_cmdline_bucket *cmdline;
	uint32_t cmdline_buckets;

	struct rs_ring_line rings[RS_MAX_CPUS];
};

extern struct rs_core rs_core;
extern const uint32_t rs_nothing_enabled[1];

/* Sections of the checked header. */
void *rs_core_section(uint32_t section);

void rs_core_lock(void);
void rs_core_unlock(void);

/* Copies at most size - 1 bytes of `text` (may be NULL); pads with NULs. */
void rs_core_copy_text(char *out, const char *text, uint32_t size);

/* region.c: checks a private copy of a header against `mapped` bytes. 0 or RS_AGENT_*. */
int rs_region_check(const struct rs_region_header *header, uint64_t mapped);

/*
 * describe.c: bytes of the event's descriptor (a multiple of 8), or RS_AGENT_BAD_EVENT if it breaks
 * a limit. rs_describe() writes exactly these bytes to `out`, which is 8-byte aligned.
 */
int rs_describe_size(const struct rs_event_info *info);
void rs_describe(const struct rs_event_info *info, uint32_t id, uint32_t provider, void *out);

/* control.c: sets a provider's sites as their control words say, or all off. Under the lock.
 * Adds the sites that are on to *on. Returns the number of bad ones. */
uint32_t rs_patch_provider(const struct rs_agent_provider *provider, bool all_off, uint32_t *on);

/* cmdline.c: notes the name of `pid` from time `since` on. Any context. */
void rs_cmdline_note(struct rs_cmdline_bucket *buckets, uint32_t count, uint32_t pid,
		     const char *comm, uint64_t since);

/* The event clock and the vCPU, through the ops. */
uint64_t rs_core_time(void);
uint32_t rs_core_cpu(void);

#endif
