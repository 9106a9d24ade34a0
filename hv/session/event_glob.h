/* SPDX-License-Identifier: MIT */
/*
 * Globs of the events of a session: "system:name" or "source/system:name", each part as in
 * rs-trace-glob.h. Only the session's thread.
 */
#ifndef RS_HV_SESSION_EVENT_GLOB_H
#define RS_HV_SESSION_EVENT_GLOB_H

#include <stdbool.h>

#include <rs-trace-glob.h>

struct rs_event_glob {
	RsTraceGlob *source; /* owned; NULL: events of any source */
	RsTraceGlob *event;  /* owned; NULL: the text is too long, and nothing matches */
};

/* For rs_event_glob_free(). */
struct rs_event_glob *rs_event_glob_new(const char *text);
/* Accepts NULL. */
void rs_event_glob_free(struct rs_event_glob *glob);
/* `source` is the name of the source that the event is from. */
bool rs_event_glob_matches(const struct rs_event_glob *glob, const char *source,
			   const RsTraceEvent *event);

#endif
