/* SPDX-License-Identifier: MIT */
/*
 * What the session's own files share; nobody else includes this. session.c: life and listeners;
 * guest.c: what the guest says (refresh); events.c: enable, disable, filter, rules; sites.c: the patcher;
 * hcall.c: requests of the guest.
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

enum rule_kind { RULE_ENABLE, RULE_DISABLE, RULE_FILTER };

struct rule {
	enum rule_kind kind;
	char *glob;
	char *expression; /* RULE_FILTER; NULL clears */
};

struct rs_session {
	char *name, *kernel, *journal;
	RsTraceRegion *region;
	struct rs_target *target;
	struct rs_patcher *patcher;
	struct rs_publisher *publisher;
	RsTraceSchema *schema;
	GMainContext *context;
	GSource *timer;
	GPtrArray *listeners; /* of const struct rs_session_listener */
	GPtrArray *rules;     /* owns struct rule, in the order given */

	struct event_state *events;    /* by id, header.event_capacity of them */
	struct rs_guest_info info;     /* last copy; valid while `hello` */
	struct rs_provider *providers; /* private copies, by slot */
	uint32_t provider_slots;       /* that were looked at so far */
	uint64_t bad_descriptors;
	uint32_t *answered;                  /* mailbox: last request sequence answered, by ring */
	uint64_t hypercalls, bad_hypercalls; /* mailbox ones; the target counts its own */
	gint64 mailbox_busy_until, refresh_at; /* monotonic, us */
	gint64 said_at;                        /* when say_credit was last earned */
	uint32_t say_credit;                   /* messages that may be told now */
	uint64_t unsaid;                       /* messages left out since the last one told */

	bool started, hello;
	bool incompatible; /* said once */
	bool paused;       /* by hand */
	bool ended, detached;
	struct rs_target_end end;
};

/* session.c */
void rs_session_say(struct rs_session *session, const char *format, ...) G_GNUC_PRINTF(2, 3);
void rs_session_say_failed(struct rs_session *session, const struct rs_error *err);
void rs_session_say_changed(struct rs_session *session);
/* The first epoch, from what the target or the guest knows of its clock; `ticks` are now. */
void rs_session_begin_clock(struct rs_session *session, uint64_t hz, uint64_t ticks);
void rs_session_set_ended(struct rs_session *session, const struct rs_target_end *end);

/* events.c */
/* Applies all rules to live events to which they have not been applied. */
void rs_session_apply_rules(struct rs_session *session);
/* Forgets everything about the events (another boot); rules stay. */
void rs_session_forget_events(struct rs_session *session);
/* Everything off, as at the end; keeps who wanted what. */
int rs_session_all_off(struct rs_session *session, struct rs_error *err);
void rs_session_provider_gone(struct rs_session *session, uint32_t slot);

/* sites.c */
/* `report`: not NULL when this guest may still hold patches of a session that died. */
int rs_session_sites_init(struct rs_session *session, struct rs_journal_report *report,
			  struct rs_error *err);
void rs_session_sites_fini(struct rs_session *session);
/* A provider came, with its private copy; its sites are read now. */
int rs_session_sites_add(struct rs_session *session, uint32_t slot,
			 const struct rs_provider *provider, struct rs_error *err);
void rs_session_sites_remove(struct rs_session *session, uint32_t slot);
void rs_session_sites_reset(struct rs_session *session);
/*
 * Patches the sites of `count` events in one batch. `problems` (may be NULL) gets one line for each
 * refused site, which is no failure.
 */
int rs_session_sites_switch(struct rs_session *session, const uint32_t *ids, size_t count, bool on,
			    GPtrArray *problems, struct rs_error *err);
uint32_t rs_session_sites_of(struct rs_session *session, uint32_t id);
void rs_session_sites_stat(struct rs_session *session, struct rs_session_stat *out);
/* Whether the guest patches itself; only while nothing is on. */
int rs_session_sites_set_self(struct rs_session *session, bool self, struct rs_error *err);

/* hcall.c */
void rs_session_hypercall(void *data, uint32_t vcpu, const struct rs_hcall_request *request,
			  struct rs_hcall_response *response);
/* Answers what lies in the mailboxes; true if there was something. */
bool rs_session_poll_mailboxes(struct rs_session *session);

/* guest.c; refresh is public */
/* A live provider is gone: its events are switched off, its text is put right. */
void rs_session_provider_left(struct rs_session *session, uint32_t slot);

#endif
