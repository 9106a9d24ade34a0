/* SPDX-License-Identifier: MIT */
/*
 * The agent's own state: one for each image that links it. rs_agent_init() and the management calls
 * write it. The emit path only reads it.
 */
#ifndef RS_AGENT_CORE_H
#define RS_AGENT_CORE_H

#include "crowd.h"
#include "ring.h"

#include <ringside/agent.h>
#include <ringside/cmdline.h>
#include <ringside/control.h>
#include <ringside/filter.h>

#pragma GCC visibility push(hidden) /* not for who links the agent */

/* Where the table of tasks lies. */
struct rs_names {
	uint8_t *buckets;
	uint32_t count;  /* 0: there is none */
	uint32_t stride; /* of buckets, bytes */
};

struct rs_core {
	/* What each event reads. */
	struct rs_rings rings; /* count 0: no region */
	bool hooked;           /* some op of the fast path is not the default, or `raw` */
	bool plain;          /* neither that, nor locked instructions: the fast path may be taken */
	bool raw;            /* records go to ops.trace_pipe_push_raw_record */
	bool tasks;          /* tasks are the OS's: ops.current_pid or current_comm */
	uint32_t name_epoch; /* grows with each init; names are then noted anew */
	uint32_t filters_size;
	const uint8_t *filters;
	struct rs_guest_info *info;
	struct rs_trace_ops ops; /* a copy; NULL where the default is used */

	/* The rest is for the management calls. */
	uint32_t lock;                       /* init, fini, register, unregister, apply_control */
	bool greeted;                        /* rs_agent_hello() was called */
	uint32_t host_gone;                  /* rs_agent_host_gone() was called */
	struct rs_crowd lookers;             /* who looks at `providers` without the lock */
	struct rs_crowd callers;             /* who goes through an event's callbacks */
	uint32_t callback_lock;              /* whoever takes a callback out of its list */
	uint32_t sites_due;                  /* self-patching: for callbacks, not patched yet */
	struct rs_agent_provider *providers; /* registered ones */
	struct rs_agent_config config;
	struct rs_region_header header; /* the checked copy */
	uint8_t *region;
	const struct rs_control *control;
	struct rs_names names;
};

extern struct rs_core rs_core;
extern const uint32_t rs_nothing_enabled[1];

/* Sections of the checked header. */
void *rs_core_section(uint32_t section);
/* Element `index` of one. */
void *rs_core_element(uint32_t section, uint32_t index);
/* Bytes of an element that both sides know, of the `here` that we do: no more is ours to write. */
size_t rs_core_known(uint32_t section, size_t here);

void rs_core_lock(void);
void rs_core_unlock(void);
/* Lets others go on, while this CPU waits for them. */
void rs_core_relax(void);

/* ops.panic or its default. */
void rs_core_panic(const char *why);

/* Copies at most size - 1 bytes of `text` (may be NULL); pads with NULs. */
void rs_core_copy_text(char *out, const char *text, uint32_t size);

/* region.c: takes a private copy of a region's header and checks it against the `mapped` bytes of
 * the region. 0 or -RS_E*. */
int rs_region_take(struct rs_region_header *out, const void *region, uint64_t mapped);

/*
 * describe.c: bytes of the event's descriptor (multiple of 8), or what of it cannot be registered:
 * an error of rs_agent_register(). rs_describe() writes exactly those to `out`,
 * 8-byte aligned. rs_described() says whether they stand at `at` already.
 */
/* 0: it may be a name, and has less than `room` bytes; -RS_ENAMETOOLONG; -RS_EILSEQ. */
int rs_core_check_name(const char *name, uint32_t room);
int rs_describe_size(const struct rs_event_info *info);
void rs_describe(const struct rs_event_info *info, uint32_t id, uint32_t slot, void *out);
bool rs_described(const struct rs_event_info *info, uint32_t id, uint32_t slot, const void *at);

/* Goes through the events of a provider that are registered or to be registered. */
#define rs_core_each_event(event, provider)                                                        \
	for (struct rs_event *event = rs_load(&(provider)->first); event;                          \
	     event = rs_load(&event->next))
#define rs_core_each_copy(event, provider)                                                         \
	for (struct rs_event *event = (provider)->copies; event; event = event->next)

/* The event of a site; NULL: it is a gate. */
static inline struct rs_event *rs_core_site_event(const struct rs_site *site)
{
	return site->event ? (struct rs_event *)((uintptr_t)&site->event +
						 (uintptr_t)(intptr_t)site->event)
			   : NULL;
}

/* rs_agent_provider.listened; its numbers do not come so far. */
#define RS_LISTENED_UNKNOWN ~0ull

/* As rs_agent_register(), for who has made the list of the provider's events already. */
int rs_core_register(struct rs_agent_provider *provider);
/* provider.c, under the lock: all that a boot does to the table of providers. */
void rs_providers_begin_boot(void);
void rs_providers_forget_all(void);

/* state.c, under the lock: stores `rest` in *at, a link of the list of providers. Returns once
 * nobody looks any more at those that the list has lost. */
void rs_core_unlink_providers(struct rs_agent_provider **at, struct rs_agent_provider *rest);

/* callback.c: takes out the callbacks of a provider that goes, and waits until nobody is in one. */
void rs_callbacks_drop(const struct rs_agent_provider *provider);
/* callback.c: tells the host which events of a provider that has just come have callbacks. */
void rs_callbacks_tell(const struct rs_agent_provider *provider);
/* Calls an event's callbacks: with the arguments of trace_*(), or with the entry of its record. */
void rs_callbacks_raw(struct rs_event *event, const uint64_t *args, uint32_t count);
void rs_callbacks_record(struct rs_event *event, const uint64_t *entry, uint32_t size,
			 const struct rs_dyn *dyn, uint32_t dyn_count);
/* Whether a callback runs on this CPU or thread, so that the agent's lock must not be taken. */
bool rs_callback_runs(void);
/* Whether the event's sites are to be on for its callbacks. */
bool rs_callbacks_wanted(const struct rs_event *event);

/* emit.c: the record in one piece, as struct rs_rec_header and payload, cut at RS_RAW_MAX bytes.
 * Returns its bytes. */
uint32_t rs_raw_record(uint64_t raw[RS_RAW_MAX / 8], const struct rs_ring_record *record);

struct rs_filter_input;
/* judge.c: whether the filter of this control word lets the event through. In doubt yes. */
bool rs_core_wanted(const struct rs_event *event, uint32_t control,
		    const struct rs_filter_input *input);

/* control.c: sets a provider's sites as their control words say, or all off. Under the lock.
 * Adds the sites that are on to *on. Returns the number of bad ones. */
uint32_t rs_patch_provider(const struct rs_agent_provider *provider, bool all_off, uint32_t *on);

/* cmdline.c: notes what `pid` is called, and of which process, since `since`. Any context. */
void rs_cmdline_note(const struct rs_names *names, uint32_t pid, uint32_t tgid, const char *comm,
		     uint64_t since, uint32_t since_chain);

/*
 * hypercall.c. hopeless: why nobody will answer a new request, -RS_E*; 0: somebody may. lost:
 * nobody will answer this request any more; its slot is free again. taken: the host has read the
 * request. drop: its slot is free again, since it was of a life of the agent that is over. rest:
 * until the host nudges, or so; `nudge` is rs_control.nudge as it was before the last look for an
 * answer.
 */
int32_t rs_hypercall_hopeless(void);
bool rs_hypercall_lost(const struct rs_hcall_ticket *ticket);
bool rs_hypercall_taken(const struct rs_hcall_ticket *ticket);
void rs_hypercall_drop(const struct rs_hcall_ticket *ticket);
void rs_hypercall_rest(uint32_t nudge);

/* The event clock and the vCPU, through the ops. */
uint64_t rs_core_time(void);
/*
 * The time at which something begins or ends. If the clock chain changes meanwhile, a beginning is
 * early and an end is late.
 */
uint64_t rs_core_time_from(uint32_t *chain);
uint64_t rs_core_time_until(uint32_t *chain);
uint32_t rs_core_cpu(void);
uint32_t rs_core_pid(void);

#pragma GCC visibility pop

#endif
