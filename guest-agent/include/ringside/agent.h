/* SPDX-License-Identifier: MIT */
/*
 * The agent, as an OS, a boot stub or a process links and drives it. Freestanding: no libc, no
 * allocation, no lock on the path of an event.
 *
 * Order of use: rs_agent_init(), rs_agent_register() for each provider, rs_agent_hello(). Events
 * defined with event.h may fire at any time, also before; they are dropped until a host enables them.
 *
 * Threads: every function may be called on any CPU. init, fini, register and unregister exclude each
 * other and apply_control by a spin lock and must not be called from an event's callback or an interrupt that may have
 * interrupted one of them. Everything else may run anywhere.
 *
 * Trust: the guest trusts its host, but takes a private copy of the region header and checks it, so a wrong
 * region or an other version ends in an error code, not in a wild write.
 */
#ifndef RINGSIDE_AGENT_H
#define RINGSIDE_AGENT_H

#include <ringside/descriptor.h>
#include <ringside/event.h>
#include <ringside/hypercall.h>
#include <ringside/region.h>
#include <ringside/types.h>

/* What functions here return: 0, or one of these. Text for people: rs_agent_strerror(). */
#define RS_AGENT_NO_REGION (-16)  /* no region, or its magic is not (yet) there */
#define RS_AGENT_BAD_ABI (-17)    /* the host speaks another major version */
#define RS_AGENT_BAD_LAYOUT (-18) /* the header contradicts itself or the size given */
#define RS_AGENT_NO_ROOM (-19)    /* descriptors, providers or ids do not fit the region */
#define RS_AGENT_BAD_EVENT (-20)  /* an event's description breaks a limit of descriptor.h */
#define RS_AGENT_NOT_READY (-21)  /* no rs_agent_init() yet, or not registered */
#define RS_AGENT_BUSY (-22)       /* already initialised, or already registered */

/*
 * What an OS can do for the agent. Every member may be NULL and then has the default that stands
 * behind it; the defaults are inlined, so setting one costs an indirect call per record. All are called with whatever context
 * the event fired in: none may sleep, allocate, or fire events (time_now, cpu_id and current_*
 * may be interrupted by another event).
 */
struct rs_trace_ops {
	/* Event clock, in ticks: rs_port_time(), on x86 the TSC. Never goes back on one CPU. */
	uint64_t (*time_now)(void);
	/* Index of this vCPU: rs_port_cpu(). */
	uint32_t (*cpu_id)(void);
	uint32_t (*current_pid)(void);   /* rs_port_pid() */
	uint32_t (*context_flags)(void); /* RS_CTX_*: rs_port_context() */
	/* Name of the running task, RS_COMM_LEN bytes, NUL-padded: rs_port_comm(). */
	const char *(*current_comm)(void);

	/* Takes a whole record (struct rs_rec_header, payload) instead of the ring: an OS with a trace pipe of
	 * its own. Records above RS_RAW_MAX bytes are cut. NULL: the region's ring. */
	void (*trace_pipe_push_raw_record)(const void *record, uint32_t size);
	/* The task `pid` fired an event and may be unknown. NULL: rs_agent_cmdline(pid, comm). */
	void (*trace_cmdline_push)(uint32_t pid);

	/* Stores `size` bytes (8, aligned to 8) into code that other CPUs may be running, as one store.
	 * NULL: plain store (text is writable). text_open/close stand around a batch within [from, to). */
	void (*write_kernel_text)(void *at, const void *bytes, uint32_t size);
	void (*text_open)(void *from, void *to);
	void (*text_close)(void *from, void *to);

	/* Runs f on the state of event `id`, held against change (read) or alone (write), as the OS
	 * wants it: lock, RCU … NULL: f runs at once. Does nothing if there is no such event. */
	void (*read_tracepoint_state)(uint32_t id, void (*f)(const struct rs_event_state *, void *),
				      void *data);
	void (*write_tracepoint_state)(uint32_t id, void (*f)(struct rs_event_state *, void *),
				       void *data);

	/* Rings the host: request of slot `slot` is ready. NULL: as the region header says
	 * (port; MMIO through rs_agent_config.hcall_mmio; mailbox: nothing). */
	void (*hypercall_ring)(uint32_t slot);
	/* Wakes a sleeping reader. NULL: as the region header says. */
	void (*doorbell)(void);
	/* Passes the time while a mailbox is polled. NULL: rs_port_relax(). */
	void (*relax)(void);
};
#define RS_RAW_MAX 1024u

struct rs_agent_config {
	void *region;         /* mapped, read-write in its guest part */
	uint64_t region_size; /* bytes mapped */
	const struct rs_trace_ops
		*ops;      /* may be NULL; stays the caller's, must outlive the agent */
	const char *agent; /* name and version of the port; cut at 63 bytes */
	const char *name;  /* of the guest, for people */
	uint32_t cpu_count;
	uint32_t flags;  /* RS_GUEST_SELF_PATCH; RS_GUEST_PREEMPTIBLE is added by the port */
	uint64_t tsc_hz; /* 0: unknown */
	uint64_t page_table_root;         /* 0: none */
	volatile uint32_t *hcall_mmio;    /* where hcall_addr is mapped, for RS_CHANNEL_MMIO */
	volatile uint32_t *doorbell_mmio; /* likewise */
};

/*
 * Attaches to a region: checks its header, writes rs_guest_info (magic last). A region that has been
 * used by an earlier boot keeps its rings, and boot_generation goes up.
 * Errors: NO_REGION, BAD_ABI, BAD_LAYOUT, NO_ROOM (a section that is needed is missing), BUSY.
 */
int rs_agent_init(const struct rs_agent_config *config);

/* Detaches: events are dropped from now on. The caller sees to it that no event is being emitted. */
void rs_agent_fini(void);

/* Whether a region is attached. */
bool rs_agent_active(void);

/*
 * A provider: the events and sites of one image, coming and going as one. RS_PROVIDER(variable, "name") makes
 * the one of the image that it stands in.
 */
struct rs_agent_provider {
	const char *name;
	struct rs_event *events, *events_end;
	const struct rs_site *sites, *sites_end;
	uint64_t page_table_root; /* under which the sites lie; 0: the guest's */
	/* the agent's: */
	uint32_t id; /* 0: not registered */
	struct rs_agent_provider *next;
};

extern struct rs_event __start_rs_events[] __attribute__((weak, visibility("hidden")));
extern struct rs_event __stop_rs_events[] __attribute__((weak, visibility("hidden")));
extern const struct rs_site __start_rs_sites[] __attribute__((weak, visibility("hidden")));
extern const struct rs_site __stop_rs_sites[] __attribute__((weak, visibility("hidden")));

#define RS_PROVIDER(variable, provider_name)                                                       \
	struct rs_agent_provider variable = {                                                      \
		.name = (provider_name),                                                           \
		.events = __start_rs_events,                                                       \
		.events_end = __stop_rs_events,                                                    \
		.sites = __start_rs_sites,                                                         \
		.sites_end = __stop_rs_sites,                                                      \
	}

/*
 * Gives the provider's events ids (never used before in this boot), describes them in the
 * region and, once rs_agent_hello() has been called, tells the host. All or nothing. `provider` must stay
 * where it is until unregistered.
 * Errors: NOT_READY, BUSY, NO_ROOM, BAD_EVENT.
 */
int rs_agent_register(struct rs_agent_provider *provider);

/*
 * Takes the provider's sites out of force (self-patching), tells the host, and forgets the
 * events. After it the image may go away once no CPU is inside one of its events. NOT_READY if it
 * is not registered.
 */
int rs_agent_unregister(struct rs_agent_provider *provider);

/* Tells the host that the agent is up. 0, or a result of the hypercall. */
int rs_agent_hello(void);

/* The event with this id, NULL if none is registered. */
struct rs_event *rs_event_by_id(uint32_t id);

/* Through ops.read/write_tracepoint_state, or at once. */
void rs_event_read_state(uint32_t id, void (*f)(const struct rs_event_state *, void *), void *data);
void rs_event_write_state(uint32_t id, void (*f)(struct rs_event_state *, void *), void *data);

struct rs_hcall_reply {
	uint64_t values[6];
	uint32_t text_size;
	char text[256]; /* the host's words, NUL-terminated, cut */
};

/*
 * One hypercall. `args` (6) and `data` may be NULL, `reply` too. Returns the host's result (>= 0 or
 * RS_ERR_*), RS_ERR_UNREACHABLE without a channel or without an answer in about 5 s, and
 * RS_ERR_TOO_LARGE when data does not fit.
 */
int32_t rs_hypercall(uint32_t number, const uint64_t *args, const void *data, uint32_t size,
		     struct rs_hcall_reply *reply);

/* What a guest may ask of its own tracing; `reply` may be NULL. Results as rs_hypercall(). */
int32_t rs_agent_enable(const char *glob, struct rs_hcall_reply *reply);
int32_t rs_agent_disable(const char *glob, struct rs_hcall_reply *reply);
int32_t rs_agent_set_filter(const char *glob_and_expression, struct rs_hcall_reply *reply);
int32_t rs_agent_query(uint32_t event_id, struct rs_hcall_reply *reply);
int32_t rs_agent_log(const char *line);

/*
 * The guest's end, as the host shows it. Both mark rs_guest_info and make the hypercall; they come back
 * where no host answers, and the caller then halts by its own means.
 */
void rs_agent_panic(const char *why);
void rs_agent_exit(uint32_t code);

/*
 * Says that task `pid` is called `comm` (up to RS_COMM_LEN bytes, or NUL-terminated) from now on: at
 * fork, exec and rename. Tasks that fire an event are noted without it. Does not block; any context.
 */
void rs_agent_cmdline(uint32_t pid, const char *comm);

/*
 * Self-patching (rs_agent_config.flags RS_GUEST_SELF_PATCH): puts every site into the state that
 * its control word asks for and says so in rs_guest_info. Call it when rs_agent_control_due().
 * Returns the number of sites whose bytes were not what they must be (they are left alone).
 */
int rs_agent_apply_control(void);
bool rs_agent_control_due(void);

/* English, static; for 0 and unknown numbers too. Knows RS_AGENT_* and RS_ERR_*. */
const char *rs_agent_strerror(int error);

#endif
