/* SPDX-License-Identifier: MIT */
/*
 * The agent, for an OS, a boot stub or a process to link and drive. Freestanding: no libc and no
 * allocation, and no lock on the path of an event.
 *
 * Order of use: rs_agent_init(), rs_agent_register() for each provider, rs_agent_hello(). Events
 * defined with event.h may fire at any time, even before. They are dropped until a host enables
 * them.
 *
 * Threads: every function may be called on any CPU. A spin lock serialises init, fini, register,
 * unregister and apply_control. So do not call these from an event's callback, nor from an
 * interrupt that may have interrupted one of them. Fini and unregister also wait for those who are
 * inside rs_event_by_id(), read_state and write_state. Everything else may run anywhere.
 *
 * Trust: the guest trusts its host. It still checks a private copy of the region header, so a wrong
 * region or version ends in an error code and not in a wild write.
 */
#ifndef RINGSIDE_AGENT_H
#define RINGSIDE_AGENT_H

#include <ringside/control.h>
#include <ringside/descriptor.h>
#include <ringside/error.h>
#include <ringside/event.h>
#include <ringside/hypercall.h>
#include <ringside/region.h>
#include <ringside/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Functions here return 0 or more, or a negative number of error.h. rs_agent_strerror() has text
 * for people.
 */

/*
 * What an OS can do for the agent. A member that is NULL has the default named in its comment. The
 * defaults are inlined, so setting one of the first five costs an indirect call for each record.
 *
 * All are called in the context in which the event fired. None may sleep, allocate or fire events.
 * Another event may interrupt time_now, cpu_id and current_*.
 */
struct rs_trace_ops {
	/* Event clock, in ticks. Never goes back on one CPU. NULL: rs_port_time() (x86: TSC). */
	uint64_t (*time_now)(void);
	/* Index of this vCPU. NULL: rs_port_cpu(). */
	uint32_t (*cpu_id)(void);
	uint32_t (*current_pid)(void);   /* rs_port_pid() */
	uint32_t (*current_tgid)(void);  /* its thread group, 0 unknown: rs_port_tgid() */
	uint32_t (*context_flags)(void); /* RS_CTX_*: rs_port_context() */
	/* Name of the running task, RS_COMM_LEN bytes, NUL-padded: rs_port_comm(). */
	const char *(*current_comm)(void);

	/* For an OS with a trace pipe of its own: takes a whole record (struct rs_rec_header, then
	 * payload), cut at RS_RAW_MAX bytes. NULL: the record goes to the region's ring. */
	void (*trace_pipe_push_raw_record)(const void *record, uint32_t size);
	/* The task `pid` fired an event and may be unknown. NULL: rs_agent_cmdline(). */
	void (*trace_cmdline_push)(uint32_t pid);

	/*
	 * Pokes `size` bytes (at most RS_TEXT_POKE_MAX) at `at` into code that other CPUs may be
	 * running: exactly these, and none beside them. They are the bytes of one site, or of a
	 * part of one. A CPU that comes by must see what was there or what is to be there, never
	 * a mix; after text_close every CPU sees what is to be there. Linux's text_poke_bp() does
	 * that, and so does any write while the other CPUs are held.
	 *
	 * Pokes come one after the other, under the agent's lock, site by site. On x86-64 a site
	 * is one poke, so between two of them each site is wholly on or wholly off. An
	 * architecture whose sites are longer pokes each in parts, upwards, with no other site in
	 * between: there text_open must keep other CPUs out of the text until text_close.
	 *
	 * NULL: the text is writable memory (or text_open makes it so) and the agent stores into
	 * it itself. text_open and text_close stand around a batch that pokes within [from, to).
	 */
	void (*write_kernel_text)(void *at, const void *bytes, uint32_t size);
	void (*text_open)(void *from, void *to);
	void (*text_close)(void *from, void *to);
	/* For an OS where one poke costs much and many at once cost the same: pokes may be put off
	 * until this is called, which is before the sites are looked at, and at least after each
	 * RS_TEXT_POKES. What it pokes holds for the pokes that were put off. NULL: none is. */
	void (*text_flush)(void);

	/* Runs f on the state of event `id`, or does nothing if there is no such event. While f
	 * runs nobody changes the state (read) or nobody else uses it (write), by a lock or RCU of
	 * the OS, which also keeps the event's provider registered. NULL: f runs at once, and
	 * several may run beside each other. */
	void (*read_tracepoint_state)(uint32_t id, void (*f)(const struct rs_event_state *, void *),
				      void *data);
	void (*write_tracepoint_state)(uint32_t id, void (*f)(struct rs_event_state *, void *),
				       void *data);

	/* Tells the host that the request in slot `slot` is ready. NULL: as the region header says:
	 * a port, or MMIO through rs_agent_config.hcall_mmio, or nothing for a mailbox. */
	void (*hypercall_ring)(uint32_t slot);
	/* Wakes a sleeping reader. NULL: as the region header says. */
	void (*doorbell)(void);
	/* Called while the agent waits for a mailbox or a lock. NULL: rs_port_relax(). */
	void (*relax)(void);
	/* Called while the agent waits for an answer that comes late. It may sleep for as long as
	 * *nudge is `seen`, and may come back sooner. `nudged`: the host interrupts the guest once
	 * it has raised *nudge. Else nothing wakes the guest up: sleep for a short time only.
	 * NULL: as relax. */
	void (*wait_nudge)(const uint32_t *nudge, uint32_t seen, bool nudged);
	/* Returns once every event is over that was on its way when it was called. May sleep, under
	 * the agent's lock. rs_agent_fini() calls it once new events are dropped. NULL: fini's
	 * caller has seen to it that no event is on its way. */
	void (*wait_events)(void);
	/* The OS has used the agent wrongly, in a way that damages memory sooner or later. `why` is
	 * a line of text. It does not return, but where it does, the call fails and has changed
	 * nothing. NULL: rs_port_panic(). */
	void (*panic)(const char *why);

	/* For call stacks. `frame` is an address on the stack that runs here. True: all of [frame,
	 * *end) is that stack, and can be read. It never faults, and costs little. False: the event
	 * gets no stack. NULL: rs_port_stack_end(). */
	bool (*stack_end)(uintptr_t frame, uintptr_t *end);
	/* An OS whose code has no frame pointers unwinds by itself: up to `max` return addresses,
	 * innermost first, from the function on in which the event fires. Returns how many. It runs
	 * wherever events fire. NULL: as stack_end says. */
	uint32_t (*call_stack)(uint64_t *frames, uint32_t max);
};
#define RS_RAW_MAX 1024u
#define RS_TEXT_POKES 64u
#define RS_TEXT_POKE_MAX 5u /* bytes; what text_poke_bp() takes on x86-64 */

#define RS_NO_PATIENCE UINT32_MAX /* as rs_agent_config.patience_ms */

struct rs_agent_config {
	void *region;                   /* mapped, read-write in its guest part */
	uint64_t region_size;           /* bytes mapped */
	const struct rs_trace_ops *ops; /* may be NULL; the caller's, must outlive the agent */
	const char *agent;              /* name and version of the port; cut at 63 bytes */
	const char *name;               /* of the guest, for people */
	uint32_t cpu_count;
	uint32_t flags;  /* RS_GUEST_SELF_PATCH; RS_GUEST_PREEMPTIBLE is added by the port */
	uint64_t tsc_hz; /* 0: unknown */
	uint64_t page_table_root;         /* 0: none */
	uint32_t paging;                  /* RS_PAGING_*; 0 with a root: x86-64's of 4 levels */
	uint32_t owner_pid;               /* process that the agent runs in; 0: a kernel */
	uint32_t nudge_vector;            /* with RS_GUEST_NUDGE_VECTOR: calls rs_agent_look() */
	volatile uint32_t *hcall_mmio;    /* where hcall_addr is mapped, for RS_CHANNEL_MMIO */
	volatile uint32_t *doorbell_mmio; /* likewise */
	/*
	 * How long to wait for a host that does not say that it will answer, in ms; 0: 5 s. If it
	 * is set, requests after one that nobody has answered do not wait, until an answer comes.
	 * RS_NO_PATIENCE: no request waits.
	 */
	uint32_t patience_ms;
	/*
	 * Text for the host to fill (ringside/native.h), whose filters then run faster: part of the
	 * image that has the agent, executable where page_table_root leads, all
	 * RS_NATIVE_UNUSED, and changed by nobody else as long as the image lives. Its start and
	 * size are multiples of 16. NULL: none.
	 */
	const void *text_pool;
	uint32_t text_pool_size;
};

/*
 * Attaches to a region: checks its header, writes rs_guest_info (magic last). A region that has
 * been used by an earlier boot keeps its rings, and its number of boots goes up.
 *     -RS_ENODEV   there is no region, or its magic is not there (yet)
 *     -RS_EPROTO   the host speaks another major version, or needs a feature
 *     -RS_EBADMSG  the header contradicts itself, or the size given
 *     -RS_ENOSPC   a section that is needed is missing or too small
 *     -RS_EBUSY    the agent is attached already
 */
int rs_agent_init(const struct rs_agent_config *config);

/*
 * Detaches. Events are dropped from now on. Without rs_trace_ops.wait_events no event may be on its
 * way while this runs. With it, nothing of the agent uses the region any more once this returns.
 */
void rs_agent_fini(void);

/*
 * What the host asks of whoever takes this region (RS_CONTROL_*), before rs_agent_init(). Returns 0
 * or an error of rs_agent_init(), and then *flags stays as it is. `size`: bytes mapped.
 */
int rs_agent_region_flags(const void *region, uint64_t size, uint32_t *flags);

/* Whether a region is attached. */
bool rs_agent_active(void);

/*
 * A provider: events and their sites, which come and go together. RS_PROVIDER(variable, "name")
 * makes the one of all RS_TRACE_EVENTs of the image that it is compiled into. RS_PROVIDER_DEFINE()
 * of provider.h makes one whose events are statements. All functions that take a provider take
 * either; rs_agent_register() is for the first kind and rs_provider_register() for the second.
 */
struct rs_agent_provider {
	const char *name; /* see ringside/name.h */
	struct rs_event *events, *events_end;
	const struct rs_site *sites, *sites_end;
	uint64_t page_table_root;      /* under which the sites lie; 0: the guest's */
	const void *image, *image_end; /* where it lies; NULL: not known */
	const uint8_t *build_id;       /* NULL: not known */
	uint32_t build_id_size;        /* bytes, at most 32 */
	/* the agent's: */
	uint32_t id; /* 0: not registered */
	struct rs_agent_provider *next;
	/* Lists by rs_event.next: those that are registered, and those that have another's id. */
	struct rs_event *first, *copies;
	uint32_t state; /* provider.h */
	uint32_t reserved0;
	/* Of rs_provider_enabled(). Bit 0: somebody listens. The rest: when that was so. */
	uint64_t listened;
};
RS_ASSERT_SIZE(struct rs_agent_provider, 120); /* programs hold it: libringside-provider.map */

extern struct rs_event __start_rs_events[] __attribute__((weak, visibility("hidden")));
extern struct rs_event __stop_rs_events[] __attribute__((weak, visibility("hidden")));
extern const struct rs_site __start_rs_sites[] __attribute__((weak, visibility("hidden")));
extern const struct rs_site __stop_rs_sites[] __attribute__((weak, visibility("hidden")));

#define RS_PROVIDER(variable, provider_name)                                                       \
	struct rs_agent_provider variable = {                                                      \
		(provider_name),                                                                   \
		__start_rs_events,                                                                 \
		__stop_rs_events,                                                                  \
		__start_rs_sites,                                                                  \
		__stop_rs_sites,                                                                   \
		0,                                                                                 \
		NULL,                                                                              \
		NULL,                                                                              \
		NULL,                                                                              \
		0,                                                                                 \
		0,                                                                                 \
		NULL,                                                                              \
		NULL,                                                                              \
		NULL,                                                                              \
		0,                                                                                 \
		0,                                                                                 \
		0,                                                                                 \
	}

/*
 * Sets the build id from an image's ELF notes, which stand in [from, to) and stay there; the
 * provider stays as it is where they hold none. NT_GNU_BUILD_ID is what `ld --build-id` writes.
 */
void rs_provider_find_build_id(struct rs_agent_provider *provider, const void *from,
			       const void *to);

/*
 * Gives the provider's events ids and describes them in the region. A provider that comes back
 * unchanged, in this boot or a later one, gets its old ids (docs/adr/0006-lives.md).
 * After rs_agent_hello() it also tells the host. All or nothing. `provider` must not move until it
 * is unregistered.
 *     -RS_ENOTCONN      there is no region (yet): rs_agent_init() comes first
 *     -RS_EBUSY         it is registered already
 *     -RS_ENOSPC        descriptors, providers or ids do not fit the region
 *     -RS_ENAMETOOLONG  a name is too long
 *     -RS_EILSEQ        a name breaks another rule of name.h
 *     -RS_EINVAL        a level is above 5, or the type of a field is not known; it is a provider
 *                       of statements
 *     -RS_EOVERFLOW     another limit of descriptor.h is broken
 *     -RS_EBADMSG       an event has no description, or no print format
 */
int rs_agent_register(struct rs_agent_provider *provider);

/*
 * Tells the host, switches the provider's sites off (self-patching), forgets the events, and takes
 * their callbacks out. After it the image may go away once no CPU is inside one of its events.
 * -RS_ENOTCONN if it is not registered.
 */
int rs_agent_unregister(struct rs_agent_provider *provider);

/* Tells the host that the agent is up. 0, or a result of the hypercall. */
int rs_agent_hello(void);

/*
 * The registered event with this id, or NULL. Any context. The pointer is good for as long as the
 * event's provider stays registered, and the caller must know or see to it that it does. Who cannot
 * uses the event within f of the next two.
 */
struct rs_event *rs_event_by_id(uint32_t id);

/*
 * ops.read_tracepoint_state and ops.write_tracepoint_state, or their defaults. Any context. By
 * default the event's provider stays registered until f has returned: unregister and fini wait for
 * it. So f must not wait for a lock that is held around these two, nor make any call that takes the
 * agent's lock.
 */
void rs_event_read_state(uint32_t id, void (*f)(const struct rs_event_state *, void *), void *data);
void rs_event_write_state(uint32_t id, void (*f)(struct rs_event_state *, void *), void *data);

struct rs_hcall_reply {
	uint64_t values[6];
	uint32_t text_size;
	char text[256]; /* from the host, cut, NUL-terminated */
};

/*
 * One hypercall. `args` (6) and `data` may be NULL, `reply` too. Returns the host's result (>= 0 or
 * -RS_E*), -RS_EHOSTUNREACH without a channel, a free slot or a sign of the host in about 5 s,
 * and -RS_E2BIG when data does not fit. A host that says that it answers later is waited
 * for.
 */
int32_t rs_hypercall(uint32_t number, const uint64_t *args, const void *data, uint32_t size,
		     struct rs_hcall_reply *reply);

/*
 * The same without waiting, for a request that the host may answer late. The slot stays taken until
 * the answer was fetched: poll until then. begin: 0 or -RS_E*. poll: true once `result` is there.
 */
struct rs_hcall_ticket {
	int slot;
	uint32_t sequence;
};
int32_t rs_hypercall_begin(struct rs_hcall_ticket *ticket, uint32_t number, const uint64_t *args,
			   const void *data, uint32_t size);
bool rs_hypercall_poll(const struct rs_hcall_ticket *ticket, int32_t *result,
		       struct rs_hcall_reply *reply);
/* The same for an answer with bytes: `data` has room for *size of them, and *size becomes their
 * number. */
bool rs_hypercall_poll_data(const struct rs_hcall_ticket *ticket, int32_t *result,
			    uint64_t values[6], void *data, uint32_t *size);

/*
 * Looks whether the host wants something from the agent. Call it from the interrupt
 * rs_agent_config.nudge_vector, from an NMI, or now and then. It takes some microseconds when the
 * host compares clocks, else hardly any time. Any context.
 */
void rs_agent_look(void);

/*
 * For an OS whose handler of breakpoint exceptions asks here first, and says RS_GUEST_BREAKPOINTS
 * in rs_agent_config.flags. The host then switches sites while the guest runs: it puts a breakpoint
 * over the first byte of a site, and takes it away when the rest is changed. `at`: address of the
 * breakpoint instruction. Returns where the interrupted code is to go on; 0: the breakpoint is not
 * the host's. Any context, and it meets no site itself. Nor may the handler until it has asked.
 * Such an OS unregisters its providers before rs_agent_fini(): the host may be switching their
 * sites. A debugger in the guest sets no breakpoint where a byte is one already.
 */
uintptr_t rs_agent_breakpoint(uintptr_t at);

/* What the host wants, in the region that is attached; NULL: none is. Good until fini. */
const struct rs_control *rs_agent_control(void);

/* Where a region lies in a piece of memory with a directory. rs_agent_init() needs this region. */
struct rs_place {
	uint32_t index; /* of its entry */
	uint32_t kind;  /* RS_SOURCE_* */
	uint32_t owner; /* who has the region; RS_CLAIM_LEFT: nobody; see `free` */
	bool free;
	uint64_t offset, size;
};

/*
 * Take a region of a piece of memory with a directory: see ringside/directory.h. `owner`: the
 * process id, or a kernel's random number. `size`: bytes that are mapped. All need the directory.
 * Take also needs the regions up to the one that it takes; who maps less than these looks and
 * claims, and checks whether the region of a place lies in the memory. Any context, any number of
 * callers. Each returns 0, the first three errors of rs_agent_init(), or -RS_EADDRINUSE:
 *     take   no entry of this kind (RS_SOURCE_*) is free
 *     look   there is no entry with this number; numbers begin at 0
 *     claim  another owner has the region, or it cannot be taken now
 *     leave  `owner` does not have the region any more
 */
int rs_directory_take(void *memory, uint64_t size, uint32_t kind, uint32_t owner,
		      struct rs_place *place);
int rs_directory_look(const void *memory, uint64_t size, uint32_t index, struct rs_place *place);
int rs_directory_claim(void *memory, uint64_t size, uint32_t index, uint32_t owner);
int rs_directory_leave(void *memory, uint64_t size, uint32_t index, uint32_t owner);
/* Tells the host that somebody found no region, and runs untraced. */
void rs_directory_turn_away(void *memory, uint64_t size);

/*
 * What a guest may ask of its own tracing; `reply` may be NULL. Results as rs_hypercall(). The
 * host's wishes and filters stay as they are: see ringside/hypercall.h.
 */
int32_t rs_agent_enable(const char *glob, struct rs_hcall_reply *reply);
int32_t rs_agent_disable(const char *glob, struct rs_hcall_reply *reply);
int32_t rs_agent_set_filter(const char *glob_and_expression, struct rs_hcall_reply *reply);
int32_t rs_agent_query(uint32_t event_id, struct rs_hcall_reply *reply);
int32_t rs_agent_log(const char *line);

/*
 * Waits until the host has changed events, filters or who patches. `generation` is the
 * rs_control.generation that the caller has seen, and becomes the new one. The first call may pass
 * any number: if it is not the current generation, the call returns at once. -RS_EACCES: the
 * session has ended; else as rs_hypercall().
 */
int32_t rs_agent_wait_control(uint32_t *generation);

/*
 * The guest's end, as the host shows it. Both mark rs_guest_info and make the hypercall. Both
 * return if no host acts on it, and then the caller halts by its own means.
 */
void rs_agent_panic(const char *why);
void rs_agent_exit(uint32_t code);
/*
 * The same for who cannot wait for the host: mark and request stay in the region, where the host
 * finds them. Any context.
 */
void rs_agent_note_panic(const char *why);
void rs_agent_note_exit(uint32_t code);

/*
 * Says that task `pid` of process `tgid` (0: not known) is called `comm` (up to RS_COMM_LEN bytes,
 * or NUL-terminated) from now on: at fork, exec and rename. Tasks that fire an event are noted
 * without it. But a task whose pid had another owner may then keep that one's name: nobody looks at
 * the name while events of one pid follow each other on a CPU. Does not block; any context.
 */
void rs_agent_cmdline(uint32_t pid, uint32_t tgid, const char *comm);

/*
 * Self-patching (rs_agent_config.flags RS_GUEST_SELF_PATCH): makes every site what its control word
 * asks for, and says so in rs_guest_info. Call it when rs_agent_control_due(). Returns the number
 * of sites with unexpected bytes, which are left alone.
 */
int rs_agent_apply_control(void);
bool rs_agent_control_due(void);

/*
 * Of an agent whose events need more than their control words and sites (rs_agent_config.flags
 * RS_GUEST_FOLLOWS), such as a kernel's probes: all that rs_control.generation `generation` asks
 * for is in force. Read the number before looking what it asks for. Who asked is told only then.
 */
void rs_agent_follow(uint32_t generation);

/*
 * The host has ended and could not say so. A guest that patches itself puts every site off, for
 * good: until the next rs_agent_init() nothing is switched on and no request is sent. Requests that
 * wait for an answer fail. Events may be on their way. From then on nobody reads what they write.
 */
void rs_agent_host_gone(void);

/*
 * The host wants the region back (RS_CONTROL_LEAVE). A port looks now and then, ends with
 * rs_agent_host_gone() and rs_agent_fini(), and then marks its claim as left.
 */
bool rs_agent_asked_to_leave(void);

/* English text for what functions and hypercalls return: -RS_E*, 0, unknown numbers. Static. */
const char *rs_agent_strerror(int error);

#ifdef __cplusplus
}
#endif

#endif
