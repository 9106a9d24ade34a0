/* SPDX-License-Identifier: MIT */
/*
 * Shared by the session's own files. No other file may include it.
 *
 *     session.c  life of the session, its timer, what is asked of all sources
 *     say.c      listeners
 *     source.c   life of a source, what its target tells
 *     members.c  processes that join by taking a region
 *     host.c     the host's own source
 *     stat.c     counters, of a source and of the session
 *     guest.c    what the guest says (refresh)
 *     rules.c    what was asked for by glob, applied to events that appear later
 *     asks.c     what is asked for by glob: enable, disable, filter
 *     events.c   which events can be used, and their list
 *     providers.c  the list of providers
 *     filters.c  from an expression to the filters of events
 *     natives.c  filters in force as machine code in the guest
 *     program.c  the room that filter programs take; it knows no session
 *     plan.c     from what owners wish to what is in force
 *     sites.c    the patcher
 *     later.c    requests whose sites are still being patched
 *     owners.c   owners, their rules and wishes; it knows no session
 *     saved.c    what an owner wished at one moment, to be had again
 *     freeze.c   a session that records nothing for a while
 *     rings.c    the rings' mode
 *     triggers.c what is done when an event comes; trigger_text.c reads the text of that
 *     slots.c    the numbers of requests that wait for their answer
 *     hcall.c    what each request of a guest does
 *     commands.c what the host asks of a guest's agent
 *     engines.c, engine_calls.c, engine_news.c
 *                engines on the host, attached to threads of guests
 *     faults.c, fault_memory.c
 *                faults that are injected; fault.c reads their text
 *     answers.c  takes requests of a guest, and answers them at once or later
 *
 * struct rs_source holds what is known about a source and its events. struct rs_session holds what
 * was asked for, and who listens.
 */
#ifndef RS_HV_SESSION_PRIVATE_H
#define RS_HV_SESSION_PRIVATE_H

#include "clock/clock.h"
#include "host/host.h"
#include "session/owners.h"
#include "patch/patcher.h"
#include "region/publish.h"
#include "session/saved.h"
#include "session/session.h"
#include "session/turn.h"

#include <rs-trace-table.h>

struct rs_asking;
struct rs_commands;
struct rs_engines;
struct rs_faults;
struct rs_filter_error;
struct rs_filters;
struct rs_journal_report;
struct rs_natives;
struct rs_plan;
struct rs_requests;
struct rs_source_command;
struct rs_triggers;

struct event_state {
	struct rs_wishes wishes;
	bool ruled;    /* the rules have been applied to it */
	uint64_t life; /* other than that of any event before, of any source; 0: not ruled yet */
	bool on;     /* its control word says so, and its sites are patched as far as they can be */
	bool called; /* the guest has callbacks there, for which the sites are on */
	bool called_told;  /* a request has said so, or not: that with this number */
	bool called_early; /* it has said so while the sites of the provider were read */
	uint16_t called_at;
	uint32_t stack; /* frames of call stacks in its control word */
	bool overfull;  /* the owners' filters are too large together: recorded without one */
	struct rs_program *program; /* in force while it is on; NULL: everything is recorded */
	bool native_due;            /* it is to be compiled to machine code */
	char *no_native;  /* why that cannot be, or could not be written; NULL: nothing is wrong */
	char *filter;     /* as rs_event_filter() told it last; NULL: not since it changed */
	uint32_t version; /* grows when the wishes change */
	char *note;       /* why sites could not be patched at the last try; NULL: they were */
	char *left_out;   /* why sites that its provider lists are not used; NULL: all are */
};

/* Who asks, and for events of which source. A guest asks only for its own events. */
struct asker {
	struct rs_owner *owner;   /* NULL: each source's own guest */
	struct rs_source *source; /* NULL: all sources */
};

/* How many messages may be told. Each machine has its own, so that none silences another. */
struct say_credit {
	gint64 at;       /* when it was last earned; 0: nothing was said yet */
	uint32_t left;   /* messages that may be told now */
	uint64_t unsaid; /* messages left out since the last one told */
};

struct rs_source {
	struct rs_session *session;
	uint32_t number;   /* in the session; never another source's */
	uint64_t *overrun; /* of each ring, when the mode became drop; NULL: it was not changed */
	uint64_t ring_changes; /* of the size of its rings, when we looked last */
	gint64 rings_calm_at;  /* from when on another change may drop what the last one has left */
	struct rs_source *machine; /* in whose memory it joined; NULL: it did not join */
	unsigned int holds;        /* rs_source_hold() */
	char *name, *kernel, *journal, *via;
	char *program;  /* of `program_fd` */
	int program_fd; /* what runs; -1: not known */
	struct rs_source_symbols *symbols;
	struct say_credit credit; /* of the machine, for the processes in it, too */
	RsTraceRegion *region;
	guint cuts;                 /* rs_trace_region_cuts() when it was looked at last */
	struct rs_ring_sums before; /* when the source was made */
	bool held;                  /* as the target's when that was told last */
	struct rs_target *target;
	struct rs_patcher *patcher;
	struct rs_patcher_watch patch_watch;
	/* CLOCK_MONOTONIC, of the pause that it is in: told as events of the host; 0: none. */
	uint64_t asked_ns, stopped_ns;
	struct rs_publisher *publisher;
	struct rs_clock *clock;
	RsTraceSchema *schema;
	RsTraceTable *table;    /* its providers, for the schema */
	struct rs_owner *guest; /* what this guest asks for itself; its rules end with its boot */

	struct event_state *events;    /* by id, header.event_capacity of them */
	struct rs_guest_info info;     /* last copy; valid while `hello` */
	struct rs_provider *providers; /* private copies, by slot */
	uint32_t provider_slots;       /* entries of `providers` that were looked at so far */
	uint64_t bad_descriptors;
	struct rs_requests *requests;
	struct rs_commands *commands;
	struct rs_natives *natives;
	GQueue engines;      /* of struct rs_engine, in the order of their numbers */
	bool detaching;      /* one of them by ourselves: see rs_engine_detach() */
	GHashTable *handles; /* the guest's, of those that it holds: uint64_t → struct rs_engine */
	gint64 mailbox_busy_until; /* monotonic, us */
	gint64 refresh_at;         /* likewise: when to look at its tables again */

	uint32_t described; /* grows when events may be others, or may be used or not */
	uint32_t reading;   /* 1 + slot of the provider whose sites are being read; 0: none */
	size_t left_out;    /* of its sites so far */
	bool patching;      /* sites are still to be patched as was asked for */
	size_t patch_told;  /* of these, so many were refused */
	bool stepping;      /* the patcher is at work, or natives.c: do not call it */
	bool waiting;       /* for the target: patching goes on when it says that it is ready */
	bool failed;        /* the last try to patch: the next one comes at the next refresh */
	bool held_up;       /* a provider has come, but its slot's former text is still patched */

	bool started, hello;
	bool self_asked;   /* the agent is asked to patch itself, whatever it has said */
	bool panicked;     /* this boot has */
	bool was_reset;    /* boot info.boot is over, and the next one has not reported */
	gint64 boot_after; /* g_get_monotonic_time(): boot info.boot is taken to be younger */
	gint64 info_read;  /* likewise: the last look at it */
	bool unruled;      /* there are events to which the rules have not been applied */
	bool unfinished;   /* its turn ended within the last look at its table */
	bool incompatible; /* said once */
	bool paused;       /* by hand */
	uint32_t stalled;  /* by so many faults */
	bool ending;       /* its end is being noted: another one, meanwhile, does not count */
	bool end_waits;    /* the target ended out of a batch: `end` is noted when that is done */
	bool ended;
	struct rs_target_end end;
	uint32_t panics; /* so far, of all boots */
	char panic[256]; /* what the guest has said of the last one; empty: nothing */
};

struct rs_session {
	char *name;
	GMainContext *context;
	GSource *timer;
	GPtrArray *sources;         /* owns struct rs_source, in the order in which they came */
	struct rs_source *host;     /* one of them: our own; NULL: none */
	GPtrArray *memories;        /* of struct memory: see members.c */
	GPtrArray *listeners;       /* of const struct rs_session_listener */
	struct rs_owners *owners;   /* all but the guests */
	struct rs_engines *engines; /* of all sources */
	char *core;                 /* the file for a guest's memory; NULL: not wanted, or tried */
	bool has_core;              /* it was written */
	struct rs_faults *faults;   /* likewise: those that last */
	struct rs_triggers *triggers;
	struct rs_source_stat past; /* of sources that are gone */
	uint32_t sources_made;      /* sources made so far: the number of the newest */
	GHashTable *names;          /* of sources, also of those that are gone, but numbered ones */
	uint32_t source_changes;    /* grows with each change of a source */
	uint32_t generation;        /* grows each time that listeners are told of a change */
	struct rs_turn turn;
	struct rs_program_room programs;
	uint64_t lives;           /* of events so far */
	guint next_source;        /* whose turn it is */
	guint next_ask;           /* likewise, of `laters` */
	gint64 hello_at;          /* when the first agent reported; 0: none has */
	struct say_credit credit; /* for messages about no source */
	GPtrArray *laters;        /* requests that are not settled: see later.c */
	uint32_t laters_made;     /* so far: the number of the newest */
	uint32_t follow_ms;       /* for which an agent that has to follow is waited for */
	bool started;
	uint64_t ring_bytes; /* that each ring is to have; 0: as they were laid out */
	bool frozen;         /* nothing is recorded */
	bool paused;         /* by hand */
	bool stirred;        /* somebody else has paused a guest, or let it run on: to be told */
	bool detached;
};

static inline struct rs_source *nth_source(const struct rs_session *session, guint i)
{
	return session->sources->pdata[i];
}

/* Whether its events may still be switched. */
static inline bool source_alive(const struct rs_source *source)
{
	return !source->ended && !source->session->detached;
}

/* session.c */
bool rs_session_over(const struct rs_session *session); /* all sources that we started have ended */
/* The next turn begins at once. */
void rs_session_hurry(struct rs_session *session);
/* -ESHUTDOWN */
int rs_session_refuse_over(const struct rs_session *session, struct rs_error *err);
/* The clock of a source takes over the best line that is known in its machine. */
void rs_session_share_clocks(struct rs_source *source);
/* Forgets and frees a source, which must have ended and not be held. */
void rs_session_drop_source(struct rs_session *session, struct rs_source *source);

/* host.c: all of these do nothing if there is no host, or the source is the host. */
void rs_host_note_pause(struct rs_source *source, enum rs_pause_step step);
void rs_host_note_attach(const struct rs_source *source);
void rs_host_note_boot(const struct rs_source *source);
void rs_host_note_reset(const struct rs_source *source);
void rs_host_note_panic(const struct rs_source *source, const char *why);
void rs_host_note_detach(const struct rs_source *source, const char *reason);
void rs_host_note_fault(const struct rs_source *source, uint32_t number, const char *text,
			enum rs_host_fault state);
void rs_host_note_trigger(const struct rs_source *source, uint32_t number, const char *event,
			  const char *action, uint64_t late_ns);
/* The patcher tells of what it does. Once it is made. */
void rs_host_watch_patches(struct rs_source *source);
/* Before all other sources. */
int rs_session_start_host(struct rs_session *session, struct rs_error *err);
/* After all that the session started. */
void rs_session_end_host(struct rs_session *session);

/* stat.c */
/* Before the mode becomes drop. */
void rs_source_note_overrun(struct rs_source *source);
/* Adds the counters of a source that will be freed to those that the session keeps. */
void rs_stat_forget(struct rs_source *source);

/* members.c */
/*
 * Looks at the claims: who has come, and who has gone. Returns whether there are claims to look at.
 */
bool rs_session_poll_members(struct rs_session *session, gint64 now);
/* Processes that found no free region in the memory of that machine. */
uint64_t rs_session_turned_away(const struct rs_source *machine);
/* The machine has booted again, so all processes in it are gone. */
void rs_session_machine_rebooted(struct rs_source *machine);
void rs_session_free_memory(gpointer memory);
/* Goes on with the change of the size of a source's rings. Adds to *sum, unless that is NULL. */
void rs_source_tend_rings(struct rs_source *source, struct rs_rings_change *sum);
/* As rs_regions_set_ring_mode(), of all memories. */
int rs_members_set_ring_mode(struct rs_session *session, uint32_t mode, struct rs_error *err);

/* say.c */
void rs_session_say(struct rs_session *session, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Begins the message with the source's name if there is more than one source. */
void rs_source_say(struct rs_source *source, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* If `ret` is an error, does the same to its message. Returns `ret`. */
int rs_source_result(const struct rs_source *source, int ret, struct rs_error *err);
void rs_session_say_unsaid(struct rs_session *session);
void rs_session_say_failed(struct rs_session *session, const struct rs_error *err);
void rs_session_say_changed(struct rs_session *session);
void rs_session_say_ring_mode(struct rs_session *session, uint32_t mode);
void rs_session_say_engine(struct rs_session *session, const void *owner);
void rs_session_say_settled(struct rs_session *session, uint32_t request, int ret,
			    const struct rs_session_result *result, const struct rs_error *err);
void rs_session_say_doorbell(struct rs_session *session);
void rs_source_say_added(struct rs_source *source);
void rs_source_say_gone(struct rs_source *source);
void rs_source_say_hello(struct rs_source *source);
void rs_source_say_panicked(struct rs_source *source);
void rs_source_say_ended(struct rs_source *source);

/* source.c */
/* `machine`: in whose memory it joined; NULL: the session started it. */
int rs_source_create(struct rs_session *session, const struct rs_source_config *config,
		     struct rs_source *machine, RsTraceRegion *region, struct rs_target *target,
		     struct rs_source **out, struct rs_error *err);
/* The text must have been restored before: see rs_session_detach. NULL is accepted. */
void rs_source_destroy(struct rs_source *source);
int rs_source_start(struct rs_source *source, struct rs_error *err);
/* Switches everything off for good. */
int rs_source_detach(struct rs_source *source, struct rs_error *err);
int rs_source_pause(struct rs_source *source, struct rs_error *err);
int rs_source_resume(struct rs_source *source, struct rs_error *err);
/* core.c: for a bad end, once. While the target is there. */
void rs_source_keep_core(struct rs_source *source, enum rs_end_reason reason);
void rs_source_set_ended(struct rs_source *source, const struct rs_target_end *end);
/* If the target has ended out of a batch: notes its end now. */
void rs_source_take_waiting_end(struct rs_source *source);

/* guest.c */
/* Whether what happened at this moment of g_get_monotonic_time() was of an earlier boot. */
bool rs_source_is_past(const struct rs_source *source, gint64 at);
/* The machine was reset then: forgets all of this boot, but not what was asked for. */
void rs_source_machine_reset(struct rs_source *source, gint64 at);
/* Looks now at what the guest has published in the region. */
void rs_source_refresh(struct rs_source *source);
/* A live provider is gone, or says that it goes while its agent still lists it (`listed`): switches
 * its events off and restores its text. */
void rs_source_provider_left(struct rs_source *source, uint32_t slot, bool listed);

/* panic.c */
/* `why` is what the guest has said; empty: nothing. */
void rs_source_note_panic(struct rs_source *source, const char *why);

/* rules.c */
/*
 * Applies all rules to live events of the source to which they have not been applied: to one event
 * at least, and to no more than takes one turn; then source->unruled.
 */
void rs_rules_apply(struct rs_source *source);

/* asking.c */
/* The owner whose wishes for events of this source the asker changes. */
struct rs_owner *rs_asker_owner(const struct asker *asker, const struct rs_source *source);
/* A request. Copies what `ask` holds; its owner is `asker`'s. */
struct rs_asking *rs_asking_new(struct rs_session *session, const struct asker *asker,
				const struct rs_session_ask *ask);
void rs_asking_free(struct rs_asking *asking); /* accepts NULL */
/*
 * Does what is asked, and keeps it as a rule. 1: the turn is over before that is done; call it
 * again in a later turn. Once it is not: as rs_session_ask(), and `result`, which is empty, is
 * filled in, but for `later`.
 */
int rs_asking_go_on(struct rs_asking *asking, struct rs_session_result *result,
		    struct rs_error *err);
/* Whose wishes it changes; NULL: those of guests. */
const struct rs_owner *rs_asking_owner(const struct rs_asking *asking);
/* Whether a part of it may be in force. */
bool rs_asking_is_in_force(const struct rs_asking *asking);
bool rs_asking_forgets(const struct rs_asking *asking);
/* This source will be freed. */
void rs_asking_drop_source(struct rs_asking *asking, const struct rs_source *source);
/* The plans of the n-th source in which it was done; NULL at the end. */
const GArray *rs_asking_done(const struct rs_asking *asking, guint n);

/* saved.c */
/* The rules of then, and no others. */
void rs_saved_give_rules(const struct rs_saved *saved, struct rs_owner *owner);
/* Whether the event was there. */
bool rs_saved_knows(const struct rs_saved *saved, uint64_t life);
/* Whether there was a wish for it. */
bool rs_saved_has(const struct rs_saved *saved, uint64_t life);
/* The owner's wish of then, if there was one, and no other. */
void rs_saved_give(const struct rs_saved *saved, uint64_t life, struct rs_wishes *wishes,
		   struct rs_owner *owner);

/* events.c */
/* Whether the event is live and its id is in range. */
bool rs_event_usable(const struct rs_source *source, const RsTraceEvent *event);
/* Whether it will be usable once the sites of its provider are read. */
bool rs_event_coming(const struct rs_source *source, const RsTraceEvent *event);
/* The filters of all owners together, for people; NULL: none. Until the event's wishes change. */
const char *rs_event_filter(struct rs_source *source, uint32_t id);
/* Forgets what is known of an event, and says nothing to the guest. */
void rs_source_forget_event(struct rs_source *source, uint32_t id);
/* Forgets everything about the events (another boot). The rules stay but for the guest's own. */
void rs_source_forget_events(struct rs_source *source);
/* Everything off, as at the end; keeps who wanted what. */
int rs_source_all_off(struct rs_source *source, struct rs_error *err);
void rs_source_provider_gone(struct rs_source *source, uint32_t slot);
/*
 * The guest has callbacks of a usable event, or has none any more. A number that is not newer than
 * the last one changes nothing. Errors: as rs_source_sites_switch().
 */
int rs_source_set_called(struct rs_source *source, uint32_t id, uint16_t number, bool called,
			 struct rs_error *err);
/*
 * The sites of a provider were read. The same of events of which the guest has not said it to us,
 * but its memory does (struct rs_site_called; NULL: none), as those of an attached guest were told
 * to an earlier session; and of those that were noted meanwhile.
 */
void rs_source_find_called(struct rs_source *source, uint32_t slot, const GArray *called);
/* As rs_source_set_called(), of an event that is coming: it takes effect then. */
void rs_source_note_called(struct rs_source *source, uint32_t id, uint16_t number, bool called);

/* symbols.c */
struct rs_source_symbols *rs_source_symbols_new(void);
void rs_source_symbols_free(struct rs_source_symbols *symbols);
/*
 * Where a symbol of what runs there lies now, and its bytes (0: not known). -ENOTSUP: its file is
 * not known, or has none; -EINVAL: it has not just one of this name; -EAGAIN: where the file lies
 * is not known yet.
 */
int rs_source_find_symbol(const struct rs_source *source, const char *name, uint64_t *at,
			  uint64_t *size, struct rs_error *err);

/* filters.c */
/* An expression that is compiled for one event after the other. */
int rs_filters_new(const char *expression, struct rs_filters **out, struct rs_filter_error *why);
void rs_filters_free(struct rs_filters *filters); /* accepts NULL */
/*
 * Before all else: looks for the names of the fields in `events` (of const RsTraceEvent *). 1: the
 * turn is over, call it again with the same events. -ENOENT: none of several has such a field.
 */
int rs_filters_look(struct rs_filters *filters, struct rs_turn *turn, const GPtrArray *events,
		    struct rs_filter_error *why);
/*
 * Compiles it for the event of the plan, as `owner` asks. `alone`: there is no other event.
 * *program: NULL if nothing of it is left. -EBADMSG, -E2BIG: it does not fit; -ENOSPC: there is no
 * room for it in the session. Then *program is NULL.
 */
int rs_filters_compile(struct rs_filters *filters, const struct rs_plan *plan,
		       const struct rs_owner *owner, bool alone, struct rs_program **program,
		       struct rs_filter_error *why);
/* Turns the mistake in an expression into `err`; returns -EBADMSG. */
int rs_filter_failed(const char *place, const char *expression, const struct rs_filter_error *why,
		     struct rs_error *err);

/* plan.c */
/*
 * Switches off the events `ids`. They are off in the end, even if their text could not be restored.
 * Does not commit. `problems`: as for rs_source_sites_switch().
 */
int rs_source_switch_off(struct rs_source *source, const GArray *ids, GPtrArray *problems,
			 struct rs_error *err);

/* sites.c */
/* `report`: not NULL when this guest may still hold patches of a session that died. */
int rs_source_sites_init(struct rs_source *source, struct rs_journal_report *report,
			 struct rs_error *err);
void rs_source_sites_fini(struct rs_source *source);
/*
 * A provider has come: begins to read its sites, while no others are being read. `provider` is a
 * private copy of its entry. Until all are read, source->reading names it.
 */
int rs_source_sites_add(struct rs_source *source, uint32_t slot, const struct rs_provider *provider,
			struct rs_error *err);
/* Reads on until the turn is over. True: all sites are read. */
bool rs_source_sites_read_on(struct rs_source *source);
/*
 * A provider goes. If it has many sites, their text is restored in the next turns; until then
 * rs_source_sites_leaving() says so, and source->patching.
 */
void rs_source_sites_remove(struct rs_source *source, uint32_t slot);
bool rs_source_sites_leaving(struct rs_source *source, uint32_t slot);
/* For all wishes so far for these events. Settled: their sites are patched as far as can be. */
uint64_t rs_source_sites_ticket(struct rs_source *source, uint32_t min_event, uint32_t max_event);
bool rs_source_sites_settled(const struct rs_source *source, uint64_t ticket);
/* While source->patching: goes on by one step, or until the turn is over. */
void rs_source_sites_patch_on(struct rs_source *source, bool once);
/* Whether a batch is at work, out of which the target has called. */
bool rs_source_sites_busy(const struct rs_source *source);
/* The target is ready, or has been given up. */
void rs_source_sites_ready(struct rs_source *source);
/* To be called now and then: text that a provider left patched is tried again. */
void rs_source_sites_tend(struct rs_source *source);
/* Once all events are off. -EIO: some text is still patched. */
int rs_source_sites_restore(struct rs_source *source, struct rs_error *err);
void rs_source_sites_reset(struct rs_source *source);
/*
 * Patches the sites of `count` events, until the turn is over; then source->patching says that the
 * next turns go on with it. `problems` (may be NULL) gets one line for each
 * refused site, which is no failure. When events go on, that includes sites that were left out when
 * their provider came.
 */
int rs_source_sites_switch(struct rs_source *source, const uint32_t *ids, size_t count, bool on,
			   GPtrArray *problems, struct rs_error *err);
/* One wish less for the event's sites, which are switched when somebody asks next. */
void rs_source_sites_unwant(struct rs_source *source, uint32_t id);
uint32_t rs_source_sites_of(struct rs_source *source, uint32_t id);
uint32_t rs_source_sites_on_of(struct rs_source *source, uint32_t id);
/* How many sites of the provider in that slot are on. */
uint32_t rs_source_sites_on_of_provider(struct rs_source *source, uint32_t slot);
void rs_source_sites_stat(struct rs_source *source, struct rs_source_stat *out);
/* What the rings say; hostile. */
void rs_source_sum_rings(const struct rs_source *source, struct rs_ring_sums *out);
/* Sets whether the guest patches itself. To be called only while nothing is on. */
int rs_source_sites_set_self(struct rs_source *source, bool self, struct rs_error *err);

/* natives.c */
struct rs_natives *rs_natives_new(void);
void rs_natives_free(struct rs_natives *natives); /* accepts NULL */
/* For another boot of the guest, whose events are forgotten, too. */
void rs_source_reset_natives(struct rs_source *source);
/* The event may have another filter: it is compiled in a later turn. */
void rs_source_native_due(struct rs_source *source, uint32_t id);
/* Goes on with what is due, until the turn is over. Waits for no target. */
void rs_source_tend_natives(struct rs_source *source);
/* Whether that would get on: not after the target was busy, until … */
bool rs_source_natives_wait(const struct rs_source *source);
/* … it is time for another try, or the target says that it is ready. */
void rs_source_retry_natives(struct rs_source *source);
void rs_source_native_stat(const struct rs_source *source, struct rs_native_stat *out);
/* Whether the event's filter runs as machine code. *why: why not, if that is known; else NULL. */
bool rs_event_is_native(const struct rs_source *source, uint32_t id, const char **why);

/* later.c */
GPtrArray *rs_laters_new(void);
/* For what is settled later, and has no number yet. Never 0. */
uint32_t rs_later_number(struct rs_session *session);
/* Keeps a request of `from` until it is settled, and takes it over. Returns its number. */
uint32_t rs_later_ask(struct rs_session *session, const void *from, struct rs_asking *asking);
/*
 * Whether a request of `from` for this owner has to wait for another: for one of `from`, or one for
 * the owner that is in force in part, or forgets it.
 */
bool rs_later_blocks(const struct rs_session *session, const void *from,
		     const struct rs_owner *owner);
/*
 * What was asked for is worked out, and `result` says what became of it. If sites are still to be
 * patched for it, takes `result` over and returns the number of the request; else 0.
 */
uint32_t rs_later_wait(struct rs_session *session, const struct rs_asking *asking,
		       struct rs_session_result *result);
/*
 * Goes on with requests that are to be worked out, until the turn is over. Returns whether some are
 * left.
 */
bool rs_later_go_on(struct rs_session *session);
/* When to look again whether agents have followed; G_MAXINT: nobody waits for that. */
int rs_later_poll_ms(const struct rs_session *session);
/* This source will be freed. */
void rs_later_drop_source(struct rs_session *session, const struct rs_source *source);
/* A problem of those who wait for sites of this event; 0: for any in the source. */
void rs_source_note_late(const struct rs_source *source, uint32_t event, const char *line);
/*
 * Some sites have been patched, or never will be, or the session is over: tells of the requests
 * that are settled.
 */
void rs_session_settle(struct rs_session *session);

/* hcall.c */
/* What a guest is told that asked for a look, which has taken place. */
void rs_source_answer_look(struct rs_source *source, uint32_t number, uint64_t slot,
			   struct rs_hcall_response *response);
/*
 * Goes on with what a guest asks for, in this turn. True: `response` is the answer. False: it waits
 * for a later turn.
 */
bool rs_source_ask(struct rs_source *source, struct rs_asking *asking,
		   struct rs_hcall_response *response);
/*
 * Carries out a request. True: `response` is the answer. False: the request is kept, and will be
 * answered by `ticket`.
 */
bool rs_source_serve(struct rs_source *source, const struct rs_hcall_request *request,
		     const struct rs_ticket *ticket, struct rs_hcall_response *response);

/* triggers.c: see triggers.h */
void rs_triggers_free(struct rs_triggers *triggers); /* accepts NULL */
/* A request is done that was kept: perhaps that of a trigger. */
void rs_triggers_settled(struct rs_session *session, uint32_t request, int ret,
			 const struct rs_session_result *result, const struct rs_error *err);
/* Takes those away whose requests have failed. Out of no request. */
void rs_triggers_go_on(struct rs_session *session);

/* commands.c: see commands.h */
struct rs_commands *rs_commands_new(struct rs_source *source);
/* Nobody is told of those that wait. NULL is accepted. */
void rs_commands_free(struct rs_commands *commands);
/* RS_HCALL_COMMAND; as rs_source_serve(). */
bool rs_source_serve_commands(struct rs_source *source, const struct rs_hcall_request *request,
			      const struct rs_ticket *ticket, struct rs_hcall_response *response);
/* To be called now and then: what takes too long fails, and the guest hears that we are there. */
void rs_source_tend_commands(struct rs_source *source, gint64 now);
/* The guest has booted again: all commands fail. */
void rs_source_forget_commands(struct rs_source *source);
/* The guest or the session has ended: all commands fail, and no other is taken. */
void rs_source_end_commands(struct rs_source *source, const char *why);

/* engines.c and its like: see engines.h */
struct rs_engines *rs_engines_new(void);
void rs_engines_free(struct rs_engines *engines); /* accepts NULL */
/*
 * A command that has failed, since it took too long, was carried out after all; `value` is the
 * first that it yields. An engine that nobody knows of is detached.
 */
void rs_source_take_late_result(struct rs_source *source, const struct rs_source_command *command,
				int64_t result, uint64_t value);
/* RS_HCALL_NEWS. What makes no sense is nothing. */
void rs_source_take_news(struct rs_source *source, const struct rs_hcall_request *request);
/* To be called now and then: detaches engines that nobody has any more. */
void rs_source_tend_engines(struct rs_source *source);
/* The guest may have let go of them: they are detached, and gone for their owners. */
void rs_source_give_engines_up(struct rs_source *source);
/* The guest has ended, or booted again, after its commands have failed. */
void rs_source_end_engines(struct rs_source *source);
/* The source will be freed: nobody is told. */
void rs_source_drop_engines(struct rs_source *source);

/* answers.c */
/* Whether the guest still waits for the answer to the ticket's request. */
bool rs_source_owes(struct rs_source *source, const struct rs_ticket *ticket);
struct rs_requests *rs_requests_create(const RsTraceRegion *region);
void rs_requests_destroy(struct rs_requests *requests);
void rs_requests_stat(const struct rs_requests *requests, struct rs_source_stat *out);
/* rs_target_events.hypercall; `data` is the source. */
bool rs_source_hypercall(void *data, uint32_t slot, struct rs_target_end *end);
/* Serves the requests in the mailboxes. True: there was one. */
bool rs_source_poll_mailboxes(struct rs_source *source);
/* RS_HCALL_WAIT; as rs_source_serve(). */
bool rs_source_wait_control(struct rs_source *source, const struct rs_hcall_request *request,
			    const struct rs_ticket *ticket, struct rs_hcall_response *response);
/* Answers once all that the guest has described by now is looked at; as rs_source_serve(). */
bool rs_source_wait_look(struct rs_source *source, const struct rs_hcall_request *request,
			 const struct rs_ticket *ticket, struct rs_hcall_response *response);
/* Answers once what is asked for is done in later turns; takes `asking` over. */
void rs_source_wait_asking(struct rs_source *source, const struct rs_ticket *ticket,
			   struct rs_asking *asking);
/* Goes on with what the guest asked for, until the turn is over. */
void rs_source_ask_on(struct rs_source *source);
bool rs_source_asks(const struct rs_source *source);
/* The guest has booted anew, and waits for nothing that it asked for before. */
void rs_source_forget_askings(struct rs_source *source);
/* Answers once the sites are patched that the guest asked for just now; as rs_source_serve(). */
bool rs_source_wait_patched(struct rs_source *source, const struct rs_ticket *ticket,
			    const struct rs_hcall_response *response);
/* A look has ended: answers those who wait for it, if it saw everything. */
void rs_source_looked(struct rs_source *source);
/* Refuses all requests that are not answered yet, since nobody will answer them. */
void rs_source_refuse_requests(struct rs_source *source);
/* Tells a guest that has reported whether a nudge will interrupt it. */
void rs_source_promise_nudges(struct rs_source *source);
/* Ends a batch of changes: raises the generation, and answers the requests that wait for it. */
void rs_source_commit(struct rs_source *source);

#endif
