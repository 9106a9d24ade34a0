/* SPDX-License-Identifier: MIT */
/*
 * Triggers of a session: what is done when an event comes (docs/triggers.md). A trigger lives in
 * the session until it is removed, whoever has set it.
 *
 * The session itself reads no records. A watcher does, for all triggers, and tells each hit. So the
 * guest has run on by then: for as long as the reader takes to come round. The event is on, and
 * filtered in the guest, for an owner that the trigger has of its own, "trigger.N". What a trigger
 * switches on or off is for the owner "host", as if somebody had typed it.
 *
 * A guest decides how often an event comes. So a trigger fires at most once in RS_TRIGGER_GAP_MS;
 * further hits are counted, and nothing is done for them. A snapshot that is being written has no
 * other beside it.
 *
 * Thread: the session's.
 */
#ifndef RS_HV_SESSION_TRIGGERS_H
#define RS_HV_SESSION_TRIGGERS_H

#include "session/session.h"
#include "session/trigger_text.h"

#define RS_TRIGGERS_MAX 16u
#define RS_TRIGGER_GAP_MS 100u
#define RS_TRIGGER_OWNER "trigger." /* owners of this prefix are triggers' */

/* A record that a trigger is for, as its watcher has seen it. Texts are escaped. */
struct rs_trigger_hit {
	uint32_t source;   /* number */
	const char *event; /* "system:name" */
	uint64_t ns;       /* its time, on the clock of records; a guest's word */
	const char *text;  /* lines that show it, for a trigger that wants them; else NULL */
};

/* Who reads the records. Calls come from triggers.c, one at a time. */
struct rs_trigger_watcher {
	void *data;
	/*
	 * Begins to look for records of the event; `expression` NULL: for all of them. `shows`:
	 * hits have a text. -EINVAL: the expression is wrong.
	 */
	int (*watch)(void *data, uint32_t number, const char *glob, const char *expression,
		     bool shows, struct rs_error *err);
	/* Also out of rs_session_trigger_hit(). */
	void (*unwatch)(void *data, uint32_t number);
	/* Records of the event so far, told or not. */
	uint64_t (*hits)(void *data, uint32_t number);
	/* Records of any event that were lost before it could look at them. */
	uint64_t (*lost)(void *data);
	/* Begins to write what the rings hold. `path` NULL: any. -EBUSY: one is being written. */
	int (*snapshot)(void *data, uint32_t number, const char *path, struct rs_error *err);
};

/* Before the first trigger, and once. It outlives the session or is taken back with NULL. */
void rs_session_set_trigger_watcher(struct rs_session *session,
				    const struct rs_trigger_watcher *watcher);

/*
 * Takes `text` over, on success only. `ahead`: it is no error that no event matches. *number: 1, 2
 * … Errors: as of rs_session_ask(); -ENOSPC: RS_TRIGGERS_MAX of them still may fire. `result` as
 * there, of filter and event together; if that comes later and is an error, there is no such
 * trigger any more. -ECANCELED, later only: it was removed meanwhile. What fails, as a whole or in
 * part, is told by a message, too.
 */
int rs_session_add_trigger(struct rs_session *session, struct rs_trigger_text *text, bool ahead,
			   uint32_t *number, struct rs_session_result *result,
			   struct rs_error *err);
/* -ENOENT */
int rs_session_remove_trigger(struct rs_session *session, uint32_t number, struct rs_error *err);

/*
 * A record has come that the trigger is for. Returns for how many ms others are of no use to it.
 */
uint32_t rs_session_trigger_hit(struct rs_session *session, uint32_t number,
				const struct rs_trigger_hit *hit);
/* What it has begun could not be finished, if there is still such a trigger. */
void rs_session_trigger_failed(struct rs_session *session, uint32_t number, const char *why);

struct rs_trigger_info { /* owned by the session, valid until it is called again */
	uint32_t number;
	const struct rs_trigger_text *text;
	uint64_t fired, hits;
	bool spent;          /* it has fired `count` times, and looks no more */
	const char *problem; /* the last one; NULL: there was none */
};

/* In the order in which they were added: GArray of struct rs_trigger_info, to be unreffed. */
GArray *rs_session_list_triggers(struct rs_session *session);
/* Records of any event that no trigger has seen, since they were lost before. */
uint64_t rs_session_triggers_lost(struct rs_session *session);

#endif
