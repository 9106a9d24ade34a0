/* SPDX-License-Identifier: MIT */
/*
 * Globs of the events of a session: "system:name" or "source/system:name", each part as in
 * rs-trace-glob.h. A selection may follow, of which all must hold:
 *
 *     GLOB@level=3,keyword=0x6,keyword-all=0x10
 *
 * level: 1 (critical) to 5 (verbose), for events of that level or a more severe one. keyword: for
 * those that have any of these bits. keyword-all: for those that have all of them. Masks are
 * decimal, or hexadecimal after 0x, and not 0. An event without a level, or without keywords, is
 * not selected by them. No name has an '@'.
 *
 * Only the session's thread.
 */
#ifndef RS_HV_SESSION_EVENT_GLOB_H
#define RS_HV_SESSION_EVENT_GLOB_H

#include "base/error.h"
#include <stdbool.h>

#include <rs-trace-glob.h>

#define RS_EVENT_GLOB_SELECT '@'

struct rs_event_glob {
	RsTraceGlob *source; /* owned; NULL: events of any source */
	RsTraceGlob *event;  /* owned; NULL: the text is wrong or too long, and nothing matches */
	uint32_t level;      /* 0: any */
	uint64_t keyword_any, keyword_all; /* 0: any */
};

/* Whether the selection of a glob, if it has one, is right: 0, or -EINVAL. */
int rs_event_glob_check(const char *text, struct rs_error *err);
/* Whether any name that an event can have (<ringside/name.h>) may match: 0, or -EINVAL. */
int rs_event_glob_check_names(const char *text, struct rs_error *err);
/* For rs_event_glob_free(). */
struct rs_event_glob *rs_event_glob_new(const char *text);
/* Accepts NULL. */
void rs_event_glob_free(struct rs_event_glob *glob);
/* `source` is the name of the source that the event is from. */
bool rs_event_glob_matches(const struct rs_event_glob *glob, const char *source,
			   const RsTraceEvent *event);

#endif
