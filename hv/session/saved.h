/* SPDX-License-Identifier: MIT */
/*
 * What an owner wished at one moment, so that it can be had again: his rules, and his wish for each
 * event. Whoever asks for several things, of which all or none is to be done, saves them first.
 *
 * An event that comes later has no saved wish: the saved rules say what is wished for it. So it is
 * of one whose provider has gone and come back.
 *
 * Thread: the session's.
 */
#ifndef RS_HV_SESSION_SAVED_H
#define RS_HV_SESSION_SAVED_H

#include "session/session.h"

struct rs_saved;

/* `owner`: by name, also one that is not there. To be unreffed before the session is destroyed. */
struct rs_saved *rs_session_save(struct rs_session *session, const char *owner);
struct rs_saved *rs_saved_ref(struct rs_saved *saved);
/* NULL is accepted. */
void rs_saved_unref(struct rs_saved *saved);

/*
 * The owner wishes what he did then, and nothing else. `from`, `result` and errors: as of
 * rs_session_ask(). It is refused neither for want of room nor because of the filters of others:
 * where they do not fit, the event is recorded without a filter.
 */
int rs_session_restore(struct rs_session *session, const void *from, struct rs_saved *saved,
		       struct rs_session_result *result, struct rs_error *err);

#endif
