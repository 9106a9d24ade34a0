/* SPDX-License-Identifier: MIT */
/*
 * What the session's own files share; nobody else includes this.
 *
 *     session.c  life of the session, its timer, what is asked of all sources
 *     say.c      listeners
 *     source.c   life of a source, what its target tells
 *     stat.c     figures
 *     guest.c    what the guest says (refresh)
 *     rules.c    what was asked for, for events that appear later
 *     events.c   enable, disable, list
 *     filters.c  filters
 *     sites.c    the patcher
 *     hcall.c    requests of the guest
 *
 * What is known of a source and its events is in struct rs_source, what was asked for and who
 * listens in struct rs_session. An event is named by struct event_ref.
 */
#ifndef RS_HV_SESSION_PRIVATE_H
#define RS_HV_SESSION_PRIVATE_H

#include "session/publish.h"
#include "session/session.h"

struct rs_patcher;
struct rs_journal_report;

struct event_state {
	uint8_t owners; /* RS_OWNER_*: who wants it */
	bool ruled;     /* the rules have been applied to it */
	bool on; /* its control word says so, and its sites are patched as far as they can be */
	char *filter;
	char *note;
};

struct event_ref {
	struct rs_source *source;
	uint32_t id;
};

/* Who asks, and of what: a guest asks only for events of its own. */
struct asker {
	enum rs_session_owner owner;
	struct rs_source *source; /* NULL: of all */
};

enum rule_kind { RULE_ENABLE, RULE_DISABLE, RULE_FILTER };

struct rule {
	enum rule_kind kind;
	const struct rs_source *source; /* the guest of this one asked, for itself; NULL: for all */
	char *glob;
	char *expression; /* RULE_FILTER; NULL clears */
};

struct rs_source {
	struct rs_session *session;
	char *name, *kernel, *journal;
	RsTraceRegion *region;
	struct rs_target *target;
	struct rs_patcher *patcher;
	struct rs_publisher *publisher;
	RsTraceSchema *schema;

	struct event_state *events;    /* by id, header.event_capacity of them */
	struct rs_guest_info info;     /* last copy; valid while `hello` */
	struct rs_provider *providers; /* private copies, by slot */
	uint32_t provider_slots;       /* that were looked at so far */
	uint64_t bad_descriptors;
	uint32_t *answered;                  /* mailbox: last request sequence answered, by slot */
	uint64_t hypercalls, bad_hypercalls; /* mailbox ones; the target counts its own */
	gint64 mailbox_busy_until;           /* monotonic, us */

	bool started, hello;
	bool incompatible; /* said once */
	bool paused;       /* by hand */
	bool ended;
	struct rs_target_end end;
};

struct rs_session {
	char *name;
	GMainContext *context;
	GSource *timer;
	GPtrArray *sources;   /* owns struct rs_source, in the order in which they came */
	GPtrArray *listeners; /* of const struct rs_session_listener */
	GPtrArray *rules;     /* owns struct rule, in the order given */
	uint32_t generation;  /* grows with each change that listeners are told of */
	gint64 refresh_at;    /* monotonic, us */
	gint64 said_at;       /* when say_credit was last earned */
	uint32_t say_credit;  /* messages that may be told now */
	uint64_t unsaid;      /* messages left out since the last one told */
	bool started;
	bool paused; /* by hand */
	bool detached;
};

static inline struct rs_source *nth_source(const struct rs_session *session, guint i)
{
	return session->sources->pdata[i];
}

/* Whether events may still be switched in it. */
static inline bool source_alive(const struct rs_source *source)
{
	return !source->ended && !source->session->detached;
}

/* session.c */
bool rs_session_over(const struct rs_session *session); /* every source has ended */

/* say.c */
void rs_session_say(struct rs_session *session, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Says which source it is about, where there is more than one. */
void rs_source_say(struct rs_source *source, const char *format, ...) G_GNUC_PRINTF(2, 3);
void rs_session_say_unsaid(struct rs_session *session);
void rs_session_say_failed(struct rs_session *session, const struct rs_error *err);
void rs_session_say_changed(struct rs_session *session);
void rs_session_say_doorbell(struct rs_session *session);
void rs_source_say_hello(struct rs_source *source);
void rs_source_say_ended(struct rs_source *source);

/* source.c */
int rs_source_create(struct rs_session *session, const struct rs_source_config *config,
		     RsTraceRegion *region, struct rs_target *target, struct rs_source **out,
		     struct rs_error *err);
/* Its text was put right before: see rs_session_detach. NULL is accepted. */
void rs_source_destroy(struct rs_source *source);
int rs_source_start(struct rs_source *source, struct rs_error *err);
/* Everything off; it stays so. */
int rs_source_detach(struct rs_source *source, struct rs_error *err);
int rs_source_pause(struct rs_source *source, struct rs_error *err);
int rs_source_resume(struct rs_source *source, struct rs_error *err);
/* The first epoch, from what the target or the guest knows of its clock; `ticks` are now. */
void rs_source_begin_clock(struct rs_source *source, uint64_t hz, uint64_t ticks);
void rs_source_set_ended(struct rs_source *source, const struct rs_target_end *end);

/* guest.c */
/* Looks at the region now. */
void rs_source_refresh(struct rs_source *source);
/* A live provider is gone: its events are switched off, its text is put right. */
void rs_source_provider_left(struct rs_source *source, uint32_t slot);

/* rules.c */
int rs_rules_add(struct rs_session *session, const struct asker *asker, enum rule_kind kind,
		 const char *glob, const char *expression, struct rs_error *err);
/* Applies all rules to live events of the source to which they have not been applied. */
void rs_rules_apply(struct rs_source *source);

/* events.c */
int rs_events_enable(struct rs_session *session, const struct asker *asker, const char *glob,
		     struct rs_session_result *result, struct rs_error *err);
int rs_events_disable(struct rs_session *session, const struct asker *asker, const char *glob,
		      struct rs_session_result *result, struct rs_error *err);
/*
 * What each request begins with: checks, refreshes; then the live events that match, by source, to be
 * unreffed. There may be none, if that may yet change and the wish is to be kept as a rule.
 */
int rs_events_match(struct rs_session *session, const struct asker *asker, const char *glob,
		    GArray **refs, struct rs_error *err);
/* The next run of events of one source, whose ids it puts in `ids`; NULL at the end. */
struct rs_source *rs_events_run(const GArray *refs, guint *at, GArray *ids);
bool rs_event_matches(const struct rs_source *source, const RsTraceEvent *event, const char *glob);
/* It is live, and its id is in range. */
bool rs_event_usable(const struct rs_source *source, const RsTraceEvent *event);
/* `problems` (may be NULL) gets a line for each refused site. */
int rs_source_enable_ids(struct rs_source *source, enum rs_session_owner owner, const GArray *ids,
			 GPtrArray *problems, struct rs_error *err);
void rs_source_note_problems(struct rs_source *source, const GPtrArray *problems);
/* Forgets everything about the events (another boot); rules stay. */
void rs_source_forget_events(struct rs_source *source);
/* Everything off, as at the end; keeps who wanted what. */
int rs_source_all_off(struct rs_source *source, struct rs_error *err);
void rs_source_provider_gone(struct rs_source *source, uint32_t slot);

/* filters.c */
int rs_events_set_filter(struct rs_session *session, const struct asker *asker, const char *glob,
			 const char *expression, struct rs_session_result *result,
			 struct rs_error *err);
/* All or nothing, over all sources; an expression of NULL clears. */
int rs_filters_set(const GArray *refs, const char *expression, struct rs_error *err);

/* sites.c */
/* `report`: not NULL when this guest may still hold patches of a session that died. */
int rs_source_sites_init(struct rs_source *source, struct rs_journal_report *report,
			 struct rs_error *err);
void rs_source_sites_fini(struct rs_source *source);
/* A provider came, with its private copy; its sites are read now. */
int rs_source_sites_add(struct rs_source *source, uint32_t slot, const struct rs_provider *provider,
			struct rs_error *err);
void rs_source_sites_remove(struct rs_source *source, uint32_t slot);
void rs_source_sites_reset(struct rs_source *source);
/*
 * Patches the sites of `count` events in one batch. `problems` (may be NULL) gets one line for each
 * refused site, which is no failure.
 */
int rs_source_sites_switch(struct rs_source *source, const uint32_t *ids, size_t count, bool on,
			   GPtrArray *problems, struct rs_error *err);
uint32_t rs_source_sites_of(struct rs_source *source, uint32_t id);
void rs_source_sites_stat(struct rs_source *source, struct rs_source_stat *out);
/* Whether the guest patches itself; only while nothing is on. */
int rs_source_sites_set_self(struct rs_source *source, bool self, struct rs_error *err);

/* hcall.c */
/* `data` is the source. */
void rs_source_hypercall(void *data, uint32_t vcpu, const struct rs_hcall_request *request,
			 struct rs_hcall_response *response);
/* Answers what lies in the mailboxes; true if there was something. */
bool rs_source_poll_mailboxes(struct rs_source *source);

#endif
