/* SPDX-License-Identifier: MIT */
/*
 * A session has a name, listeners, owners with their requests, and 1..N sources. A source is one
 * region, its agent, and the target through which its text is patched: a guest's kernel, a process
 * in that guest, or a process on this host. The session owns its sources and decides what is on.
 * The CLI, the D-Bus server and the guests' own requests only ask it. An event is identified by its
 * source and its id there. All sources of a session have the same origin_ns, so that their times
 * can be compared.
 *
 * Thread: that of the session's GMainContext (the thread-default one at creation). It calls all
 * functions here, and the listeners are called on it.
 *
 * Trust: the guests are hostile, and a guest can write all of a region that lies in a PCI BAR. So
 * all decisions use private copies. Guest bytes are copied once, bounded, and then parsed.
 *
 * A glob is "system:name", or "source/system:name" for events of the sources whose names match. A
 * selection by level and keyword may follow (filter/rs-trace-event-glob.h). A request by glob goes
 * to every source.
 *
 * A request by glob (enable, disable, filter) is also kept as a rule. Rules are applied, in order,
 * to every event that appears later, and the last rule that matches counts. So `-e 'sched:*'` may
 * be given before a guest runs. It applies to providers that register late and to later sources,
 * and survives a reboot of a guest.
 *
 * Requests of different owners are kept apart: each owner (owners.h) has rules, and a wish and a
 * filter for each event. An event is on while any owner wants it, and recorded if it passes the
 * filter of any owner who wants it.
 *
 * Errors (negative errno, with a message): -ENOENT no event matches; -EBADMSG a bad filter (the
 * message holds the expression and a caret line); -EINVAL a bad argument; -EAGAIN the agent has not
 * said hello; -ESHUTDOWN every guest has ended; others as the target and patcher give them. If one
 * source cannot be resumed, the others still are, and the first error is returned.
 * rs_session_start() and rs_session_pause() stop at the first failure.
 */
#ifndef RS_HV_SESSION_SESSION_H
#define RS_HV_SESSION_SESSION_H

#include "base/error.h"
#include "region/regions.h"
#include "session/owners.h"
#include "target/target.h"
#include <glib.h>
#include <ringside/hypercall.h>
#include <rs-trace-region.h>
#include <rs-trace-schema.h>

struct rs_session;
struct rs_source;
struct rs_ticket;
struct rs_journal_report;
struct rs_saved;
struct rs_session_result;

#define RS_SESSION_NAME_MAX 64
#define RS_SESSION_MAX_GLOB RS_TRACE_GLOB_MAX
/* After its agent's hello a guest may take this long to register all its events. */
#define RS_SESSION_START_MS 500

enum rs_session_state {
	RS_SESSION_WAITING, /* no agent has reported */
	RS_SESSION_RUNNING,
	RS_SESSION_PAUSED,
	RS_SESSION_ENDED,
};

struct rs_source_config {
	/*
	 * As a session's name, and not yet used in the session. NULL: made from `kernel`; if that
	 * was used, with the source's number behind a dot.
	 */
	const char *name;
	const char *kernel; /* what runs, for people */
	/* Path of the file that runs, for its symbols; NULL: not known. It need not be there. */
	const char *program;
	const char *journal; /* path of the patch journal; NULL: none */
	/* How a later session reaches what this one did not start; NULL: it did. For its file. */
	const char *via;
	bool self_patch; /* the agent patches its own text, and its region already says so */
	/*
	 * Not NULL: the guest's text may hold patches of a session that died. They are undone
	 * first, and this report is filled in.
	 */
	struct rs_journal_report *report;
};

/* All functions may be NULL. Text that comes from the guest is already escaped. */
struct rs_session_listener {
	void *data;
	/* Events came, went, or changed state. */
	void (*changed)(void *data, uint32_t generation);
	/* Only an engine of this owner has (session/engines.h). */
	void (*engine)(void *data, const void *owner);
	/*
	 * The rings' mode becomes RS_MODE_* right after this call. Who reads rings that refuse
	 * records while they are full has to begin now.
	 */
	void (*ring_mode)(void *data, uint32_t mode);
	/* A process has joined: there is one source more. */
	void (*added)(void *data, struct rs_source *source);
	/* A source that had joined and ended will be freed after this call. */
	void (*gone)(void *data, struct rs_source *source);
	/* A source's agent reported, for the first time or after a reboot. */
	void (*hello)(void *data, struct rs_source *source, const struct rs_guest_info *info);
	/*
	 * A line for a person: the guest's log, a refused site, a descriptor that makes no sense …
	 */
	void (*message)(void *data, const char *text);
	/*
	 * What was asked for cannot be done: a filter that was given before the start does not fit
	 * an event that is there at the start, or events that were wanted before the start cannot
	 * be switched on then, or the agent's ABI is not ours.
	 */
	void (*failed)(void *data, const struct rs_error *err);
	void (*doorbell)(void *data);
	/*
	 * The request is done whose result had this number in `later`. `ret`, `result` and `err`
	 * are what it would have returned if it had been done at once.
	 */
	void (*settled)(void *data, uint32_t request, int ret,
			const struct rs_session_result *result, const struct rs_error *err);
	/* A source's target has ended; the session too if rs_session_end() says so. */
	void (*ended)(void *data, struct rs_source *source, const struct rs_target_end *end);
};

/*
 * What became of a request. It is carried out in one source after the other. Where that fails
 * nothing changes, and the others go on: then it is done in part.
 */
struct rs_session_result {
	uint32_t touched; /* events that matched, in sources where it was carried out */
	/*
	 * What takes long is done in several turns of the loop, in which others are served. Not 0:
	 * the request is not done yet, and nothing else is set here. The listener's `settled`
	 * follows with this number.
	 */
	uint32_t later;
	bool pending; /* no event matched, which is no error here: kept as a rule */
	/*
	 * Of char *, NULL: none; owned by the caller. A line for each source in which it failed,
	 * and for each site that was refused or, after it went off, may still be patched. Where
	 * there are several sources a line begins with the name of one.
	 */
	GPtrArray *problems;
	GArray *failed; /* of uint32_t, numbers of the sources in which it failed; NULL: none */
	/*
	 * Events that other owners keep as they are. After disable: events that stay on. After
	 * set_filter: events that are recorded without a filter. Of a frozen session: that will be
	 * so once it thaws.
	 */
	uint32_t kept;
	GPtrArray *kept_for; /* of char *, names of those owners; NULL: none; owned by the caller */
	/* After set_filter: of `touched`, those without any field of it. They have none now. */
	uint32_t unfiltered;
	bool frozen; /* the session is: nothing of this is in force until it thaws */
};

struct rs_session_event { /* strings owned by the session, valid until it is called again */
	struct rs_source *source;
	const RsTraceEvent *event;
	bool enabled;
	bool live;                    /* its provider is registered */
	uint32_t stack;               /* frames of call stacks with its records; 0: none */
	const char *filter;           /* the filters of all owners together; NULL: none */
	const struct rs_wish *wishes; /* each owner's; NULL: none */
	uint32_t sites;               /* patchable sites known to the host */
	bool native;                  /* the filter runs as machine code */
	const char *no_native;        /* why it does not; NULL: no filter, or it is on its way */
	const char *note;             /* why some or all sites cannot be patched; NULL: they can */
};

struct rs_session_provider { /* owned by the session, valid until it is called again */
	struct rs_source *source;
	const RsTraceProvider *provider;
	bool live;         /* registered in this boot */
	bool self_patch;   /* the guest patches itself: sites_on is not known */
	uint32_t sites;    /* sites that it lists; 0 if it is not live */
	uint32_t sites_on; /* sites that hold our jump */
};

enum rs_session_site_state {
	RS_SESSION_SITE_OFF,
	RS_SESSION_SITE_ON,      /* it holds our jump */
	RS_SESSION_SITE_REFUSED, /* its text was not as it must be when it was to be switched */
};

#define RS_SESSION_SITE_BEFORE 16u /* bytes of text before a site */
#define RS_SESSION_SITE_AFTER 32u  /* from its first byte on */

struct rs_session_site { /* owned by the session, valid until it is called again */
	struct rs_source *source;
	const RsTraceEvent *event; /* NULL: the site leads to those of all events of a provider */
	enum rs_session_site_state state;
	rs_gva_t at, target;
	/* What the guest's memory holds there now, hostile; text_size 0: it cannot be read. */
	rs_gva_t text_at;
	uint32_t text_size;
	uint8_t text[RS_SESSION_SITE_BEFORE + RS_SESSION_SITE_AFTER];
};

struct rs_cpu_stat {
	uint64_t entries;              /* records that can still be read */
	uint64_t overrun;              /* records overwritten */
	uint64_t dropped;              /* records refused */
	uint64_t too_large;            /* records cut */
	uint64_t ring_bytes;           /* that its ring has now */
	uint64_t skipped;              /* pages skipped */
	uint64_t bytes;                /* that can still be read */
	uint64_t written;              /* records ever reserved */
	uint64_t oldest_ts, newest_ts; /* event clock; 0: none */
	uint64_t oldest_ns, now_ns;    /* likewise, as trace lines show them; 0: none */
};

/* Over all rings, since they were laid out. */
struct rs_ring_sums {
	uint64_t written, dropped, overrun;
};

/* Filters as machine code. */
struct rs_native_stat {
	uint64_t in_force;  /* now */
	uint64_t made;      /* so far */
	uint64_t full;      /* so many did not fit any more: they run as programs */
	uint64_t left;      /* bytes of the guest's pool of text */
	uint64_t paused_ns; /* that the guest stood still for it */
};

struct rs_source_stat {
	enum rs_session_state state;
	uint64_t clock_hz;       /* 0: unknown */
	uint64_t clock_error_ns; /* times may be wrong by this much; UINT64_MAX: unknown */
	uint32_t clock_epochs;   /* begun so far */
	uint64_t events, events_on;
	uint64_t sites, sites_on, sites_refused;
	uint64_t patches; /* text writes */
	uint64_t batches;
	uint64_t pause_last_ns, pause_max_ns, pause_total_ns;
	uint64_t bad_descriptors;
	uint64_t lost_nested, lost_no_ring; /* as the guest counts them */
	uint64_t callbacks_skipped;         /* likewise */
	uint32_t generation, applied_generation;
	bool self_patch;
	bool frozen;         /* the session is */
	bool bridge;         /* the guest's own tracer records, and its pages are moved: slower */
	uint64_t hypercalls; /* of the guest */
	uint64_t bad_hypercalls; /* refused since they were invalid */
	uint64_t late_answers;   /* answers that nobody waited for any more: dropped */
	uint64_t turned_away;    /* processes that found no free region, as they say */
	struct rs_target_stats target;
	uint64_t now_ts;    /* the event clock now; 0: unknown */
	uint64_t most_work; /* of a session: that its sources caused before others were served */
	struct rs_native_stat native;
	uint32_t cpus;
	uint64_t written, dropped, overrun; /* as in struct rs_ring_sums */
	struct rs_ring_sums before; /* those of the sessions that had the memory before this one */
};

/* 0 or -EINVAL. */
int rs_session_check_name(const char *name, struct rs_error *err);
/* A valid name that is made from the path of a kernel or program; to be freed. */
char *rs_session_name_for(const char *kernel);

/* ---- life ---- */

/* A session without sources. -EINVAL: a bad name. */
int rs_session_create(const char *name, struct rs_session **out, struct rs_error *err);

/*
 * After so much work (session/turn.h) others are served. For tests: what a few events cause takes
 * several turns then, too.
 */
void rs_session_set_turn(struct rs_session *session, uint64_t work);
/* So many ms an agent has to follow what it is asked for: see later.c. For tests. */
void rs_session_set_patience(struct rs_session *session, uint32_t ms);
/* So many bytes of filter programs are kept (session/program.h). For tests. */
void rs_session_set_program_room(struct rs_session *session, uint64_t bytes);

/*
 * Takes `region` and `target` over, on success only, and sets target->events. The target must not
 * have been started: the next rs_session_start() starts it. `out` may be NULL. The source lives as
 * long as the session. -EEXIST: the name is taken.
 */
int rs_session_add_source(struct rs_session *session, const struct rs_source_config *config,
			  RsTraceRegion *region, struct rs_target *target, struct rs_source **out,
			  struct rs_error *err);

/*
 * Takes `regions` over, the memory in which the region of `machine` lies. A process that takes a
 * region of kind USER joins the session: it becomes a source, on the machine's clock. The source
 * stays until the process has gone and its region is needed for another. Such processes patch
 * themselves, and cannot be paused. The session ends without them once all other sources have
 * ended. `same_host`: see rs_regions_held().
 */
void rs_session_add_memory(struct rs_session *session, struct rs_source *machine,
			   struct rs_regions *regions, bool same_host);

/*
 * The memory of the first guest that ends by a panic, a fault, a triple fault or a reset is written
 * to the file, as an ELF core (target/core.h), before it goes. Messages tell that, or why not. The
 * session waits meanwhile. NULL: not.
 */
void rs_session_keep_core(struct rs_session *session, const char *path);
/* The same, now, of the first guest that has not ended, whose end is a bad one, too. */
void rs_session_keep_core_now(struct rs_session *session);
/* Whether it was written. */
bool rs_session_has_core(const struct rs_session *session);

/* Of the host's own source: as in struct rs_region_config. */
struct rs_session_host {
	uint64_t ring_bytes;
	uint32_t ring_mode;
};

/*
 * Makes the host a source too, of kind "host": what the session does to the others, and what it
 * sees of them, are its events (docs/adr/0027-host-events.md). To be called after all that the
 * session starts were added, and before rs_session_start(). It counts as a source that joined, and
 * ends with the others. -EBUSY: it is too late, or another session of this process has a host.
 */
int rs_session_add_host(struct rs_session *session, const struct rs_session_host *wish,
			struct rs_error *err);

/*
 * Switches everything off, restores the guests' text, and frees targets and regions. NULL is
 * accepted.
 */
void rs_session_destroy(struct rs_session *session);

/* Starts every source that was not started yet, in order, up to the first that fails. */
int rs_session_start(struct rs_session *session, struct rs_error *err);

/* The listener outlives the session or is removed; a listener may be added more than once. */
void rs_session_add_listener(struct rs_session *session,
			     const struct rs_session_listener *listener);
void rs_session_remove_listener(struct rs_session *session,
				const struct rs_session_listener *listener);

/*
 * REVIEW is the session's own: it puts into force what follows from the wishes as they are. RESTORE
 * is rs_session_restore() (session/saved.h).
 */
enum rs_session_ask_kind {
	RS_ASK_ENABLE,
	RS_ASK_DISABLE,
	RS_ASK_FILTER,
	RS_ASK_FORGET,
	RS_ASK_REVIEW,
	RS_ASK_RESTORE,
};

/* What somebody asks for. */
struct rs_session_ask {
	/*
	 * Who asks: requests of one are carried out one after the other. Those of different ones
	 * may overtake each other.
	 */
	const void *from;
	const char *owner;
	enum rs_session_ask_kind kind;
	const char *glob;       /* ENABLE, DISABLE and FILTER */
	const char *expression; /* FILTER; empty or NULL clears */
	const char *place;      /* of the expression: "FILE:LINE", for messages; NULL: none */
	/* ENABLE: how many frames of the call stack each record is to have, 0 for none. -EINVAL:
	 * more than RS_STACK_MAX. An event gets the most that any owner wants. */
	uint32_t stack;
	/*
	 * That no event matches is no error: it is kept for events that come. So it is without
	 * this, while no agent has reported, and if it only ends a rule of the same glob.
	 */
	bool ahead;
	struct rs_saved *saved; /* RESTORE */
};

/*
 * Changes what an owner wants, and keeps that as a rule. RS_OWNER_GUEST stands for every guest.
 * FORGET ends all wishes and rules of the owner, if there is one of that name. `result` may be
 * NULL, else it is empty and to be cleared in the end. 0: done, or done in part, or to be done
 * later, as `result` says. After any error nothing has changed, and there is no new rule. -ENOENT:
 * no event matches, and the wish is not pending either. -E2BIG: the filters of all owners together
 * are too large for an event. -ENOSPC: no source has space left for filters, the session has no
 * room for their programs (session/program.h), or the owner has RS_OWNER_MAX_RULES globs. -EUSERS:
 * there are RS_OWNERS_MAX owners. Others: it failed in every source, in the first of them like
 * this. To let go of an event never fails because of the filters of others: if they do not fit, the
 * event is recorded without a filter.
 */
int rs_session_ask(struct rs_session *session, const struct rs_session_ask *ask,
		   struct rs_session_result *result, struct rs_error *err);
/* Nobody waits for what `from` has asked for. What is not worked out yet will not be done. */
void rs_session_drop_asks(struct rs_session *session, const void *from);
/* The same from nobody in particular. */
int rs_session_enable(struct rs_session *session, const char *owner, const char *glob,
		      struct rs_session_result *result, struct rs_error *err);
int rs_session_disable(struct rs_session *session, const char *owner, const char *glob,
		       struct rs_session_result *result, struct rs_error *err);
/* An empty or NULL expression clears. */
int rs_session_set_filter(struct rs_session *session, const char *owner, const char *glob,
			  const char *expression, struct rs_session_result *result,
			  struct rs_error *err);
void rs_session_forget_owner(struct rs_session *session, const char *owner);
/* Whether it wants anything, or has asked for anything. */
bool rs_session_knows_owner(const struct rs_session *session, const char *owner);
void rs_session_result_clear(struct rs_session_result *result);

/*
 * As rs_filter_split(), but a glob is due. Both to be freed; NULL if it fails.
 */
int rs_session_split_filter(const char *text, char **glob, char **expression, struct rs_error *err);

/*
 * Events that match (NULL: all), by source, in order of id: GArray of struct rs_session_event, to
 * be unreffed. None matches a glob that rs_event_glob_check() refuses.
 */
GArray *rs_session_list(struct rs_session *session, const char *glob);
/*
 * What a message about a glob that matches nothing may end with: "; did you mean 'sched:switch'?".
 * Empty if the glob has wildcards, or nothing is like it. Escaped; to be freed.
 */
char *rs_session_suggest(struct rs_session *session, const char *glob);

/* A rule, for events that come. Strings owned by the session, valid until it is called again. */
struct rs_session_rule {
	const struct rs_source *source; /* of a guest's own rule; else NULL: it is for all */
	const char *owner;
	const struct rs_rule *rule;
};

/*
 * All rules, by owner, guests last, in the order in which they were given. A GArray of struct
 * rs_session_rule, to be unreffed.
 */
GArray *rs_session_list_rules(struct rs_session *session);

/* All providers that have a slot, by source, in order of slot. A GArray of struct
 * rs_session_provider, to be unreffed. */
GArray *rs_session_list_providers(struct rs_session *session);

/*
 * A part of the sites of events that match (NULL: all, and sites of no event): those after place
 * `after`, 0 at first, by source. Bounded in number and in work. A GArray of struct
 * rs_session_site, to be unreffed. *next: the place for the next part; 0: this was the last. A site
 * may be in two parts, or in none, if a provider goes meanwhile. Of guests that patch themselves no
 * site is known.
 */
GArray *rs_session_list_sites(struct rs_session *session, const char *glob, uint64_t after,
			      uint64_t *next);

/*
 * Looks at the regions now, without waiting for the next poll. If guests have described very much
 * since the last look, a part is left for the next ones.
 */
void rs_session_refresh(struct rs_session *session);

/*
 * Every source, by hand, not nested: -EBUSY when it is so already. Patching while paused does not
 * resume.
 */
int rs_session_pause(struct rs_session *session, struct rs_error *err);
int rs_session_resume(struct rs_session *session, struct rs_error *err);
/*
 * RS_MODE_*, for all rings of all sources, and of those that come: docs/adr/0028-ring-mode.md. What
 * is lost meanwhile is counted. -ENOTSUP: an agent does not follow, and nothing has changed.
 * -ESHUTDOWN. Others: a region cannot be mapped, and some rings have the new mode.
 */
int rs_session_set_ring_mode(struct rs_session *session, uint32_t mode, struct rs_error *err);
/* Whether that can be had. -EINVAL: it is no mode. -ENOTSUP and -ESHUTDOWN: as above. */
int rs_session_check_ring_mode(const struct rs_session *session, uint32_t mode,
			       struct rs_error *err);

/* How far a change of the rings' size has come, over all sources. */
struct rs_rings_change {
	uint64_t bytes;   /* of each ring, rounded up */
	uint32_t changed; /* rings that have that size */
	uint32_t offered; /* rings that get it when they next switch the page */
	uint32_t held;    /* rings that wait until what they held before was read or has aged */
};

/*
 * Bytes of each ring from now on, of all sources, and of those that come:
 * docs/adr/0035-ring-size.md. A source that joined gets as much as it can have. What is lost
 * meanwhile is counted. -EINVAL: a source cannot have so much, or so little. -ENOTSUP: the memory
 * of one has no room for a change, or its agent does not follow. Then nothing has changed.
 * -ESHUTDOWN.
 */
int rs_session_set_ring_bytes(struct rs_session *session, uint64_t wanted,
			      struct rs_rings_change *out, struct rs_error *err);
/* Bytes of the largest of a source's rings now, and what they can become; 0: nothing else. */
uint64_t rs_source_ring_bytes(const struct rs_source *source);
uint64_t rs_source_ring_max(const struct rs_source *source);
/* What they are to have, if some have not taken it so far; 0: all have what they are to have. */
uint64_t rs_source_ring_wanted(const struct rs_source *source);
/*
 * A frozen session records nothing, whatever anybody wishes: all events are off, and so the rings
 * keep what they hold. Wishes stay, others may come, and they are in force once it thaws. The
 * guests' control words say so at once, and their text follows in turns. -ESHUTDOWN.
 */
int rs_session_set_frozen(struct rs_session *session, bool frozen, struct rs_error *err);
bool rs_session_is_frozen(const struct rs_session *session);
/*
 * Passes over what all rings hold, for whoever begins to read later: rs_trace_ring_clear().
 * *records is how many that were. -ESHUTDOWN.
 */
int rs_session_clear_rings(struct rs_session *session, uint64_t *records, struct rs_error *err);
/* Asks every guest to end; `ended` follows for each. */
void rs_session_stop(struct rs_session *session, const char *why);
/* Restores all text now and leaves everything off. Destroying does this too. -EIO: some text is
 * still patched, and its journal stays. */
int rs_session_detach(struct rs_session *session, struct rs_error *err);

/* ENDED: every source that did not join has ended. WAITING: no agent has reported. */
enum rs_session_state rs_session_state(const struct rs_session *session);
const char *rs_session_state_name(enum rs_session_state state);
const char *rs_session_name(const struct rs_session *session);
/*
 * How the session ended: the first source's end that was no success, else the last source's end.
 * Sources that joined do not count. NULL: some source has not ended.
 */
const struct rs_target_end *rs_session_end(const struct rs_session *session);
/* The source whose end rs_session_end() is; NULL as there. */
const struct rs_source *rs_session_end_source(const struct rs_session *session);
const char *rs_end_reason_name(enum rs_end_reason reason);

/* ---- sources ---- */

/* Grows when a source comes, reports, ends or goes; `changed` is told, too. */
uint32_t rs_session_source_changes(const struct rs_session *session);
/* In the order in which they came. */
guint rs_session_n_sources(const struct rs_session *session);
struct rs_source *rs_session_source(const struct rs_session *session, guint i);

/*
 * While a source is held, its region is not laid out anew, even if it has ended. For whoever still
 * reads the region.
 */
void rs_source_hold(struct rs_source *source);
void rs_source_release(struct rs_source *source);
/*
 * 1, 2 … in the order in which sources came. No other source of this session ever has the same
 * number.
 */
uint32_t rs_source_number(const struct rs_source *source);
/* The process that its agent runs in, as the agent says; 0: a kernel, or unknown. */
uint32_t rs_source_pid(const struct rs_source *source);
/* Whether it joined: the session did not start it. True of the host's own source. */
bool rs_source_joined(const struct rs_source *source);
/* Whether it is that of rs_session_add_host(). */
bool rs_source_is_host(const struct rs_source *source);
/* The source in whose memory a joined source has its region. NULL: in none's. */
struct rs_source *rs_source_machine(const struct rs_source *source);
/*
 * The path by which other programs of this host open its memory, to join. It is valid as long as
 * our process lives. To be freed. NULL: programs of this host cannot join there.
 */
char *rs_source_join_path(const struct rs_source *source);

/* No other source of this session ever has the same name. */
const char *rs_source_name(const struct rs_source *source);
const char *rs_source_kind(const struct rs_source *source);
/* Whether it is a process of this host that did not join. */
bool rs_source_is_program(const struct rs_source *source);
/* Whether a CPU of this host runs its code: nobody interprets it, and it is known who runs it. */
bool rs_source_is_native(const struct rs_source *source);
const char *rs_source_kernel(const struct rs_source *source);
const char *rs_source_via(const struct rs_source *source);
/* Who writes its text, for people: "gdb stub", "itself" … */
const char *rs_source_writer(const struct rs_source *source);
/*
 * The file that runs, from the moment when the source was made, opened read-only for the caller.
 * -ENOTSUP: it is not known. Others: as open().
 */
int rs_source_open_program(const struct rs_source *source, int *fd, struct rs_error *err);
/* Its path, for people. NULL: not known. */
const char *rs_source_program(const struct rs_source *source);
/* "x86_64", "aarch64", "riscv64"; NULL: unknown, or its agent has not reported. */
const char *rs_source_architecture(const struct rs_source *source);
/* RS_ARCH_*; 0: its agent has not reported. */
uint32_t rs_source_arch(const struct rs_source *source);
/* Whether its agent patches its own text, as far as it has reported. */
bool rs_source_self_patch(const struct rs_source *source);
enum rs_session_state rs_source_state(const struct rs_source *source);
/* Whether it can make progress now. In a session that is paused a process that joined may. */
bool rs_source_runs(const struct rs_source *source);
const RsTraceRegion *rs_source_region(const struct rs_source *source);
const struct rs_target *rs_source_target(const struct rs_source *source);
/*
 * How often its kernel has panicked while the machine, which is not ours, went on. The session goes
 * on with it.
 */
uint32_t rs_source_panics(const struct rs_source *source);
/* NULL: it has not ended. */
const struct rs_target_end *rs_source_end(const struct rs_source *source);
/* Asks the agent to patch its own text, because our side cannot write it. */
void rs_source_ask_self_patch(struct rs_source *source);

/*
 * Answers a request that was kept (session/slots.h), and nudges the guest. -ESTALE: the guest no
 * longer waits for this answer, and that is counted. -ESHUTDOWN: the guest has ended.
 */
int rs_source_answer(struct rs_source *source, const struct rs_ticket *ticket,
		     const struct rs_hcall_response *response);

/*
 * Makes the guest's agent look: raises rs_control.nudge, then interrupts the guest in the way that
 * the agent announced and the target can. Does not wait. -ENOTSUP: there is no such way. The agent
 * then sees the raised word when it looks by itself. Other errors are the target's.
 */
int rs_source_nudge(struct rs_source *source, struct rs_error *err);

void rs_source_stat(struct rs_source *source, struct rs_source_stat *out);
/*
 * Figures of all sources together, also of those that are gone. What cannot be added up (the clock,
 * generations, `cpus`) is 0.
 */
void rs_session_stat(struct rs_session *session, struct rs_source_stat *out);
/* One of stat->cpus. */
void rs_source_stat_cpu(const struct rs_source *source, const struct rs_source_stat *stat,
			uint32_t cpu, struct rs_cpu_stat *out);

#endif
