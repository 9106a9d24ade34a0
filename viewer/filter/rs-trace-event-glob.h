/* SPDX-License-Identifier: MIT */
/*
 * Globs of the events of a session or a trace: "system:name" or "source/system:name", each part as
 * in rs-trace-glob.h. A selection may follow, of which all must hold:
 *
 *     GLOB@level=3,keyword=0x6,keyword-all=0x10
 *
 * level: 1 (critical) to 5 (verbose), for events of that level or a more severe one. keyword: for
 * those that have any of these bits. keyword-all: for those that have all of them. Masks are
 * decimal, or hexadecimal after 0x, and not 0. An event without a level, or without keywords, is
 * not selected by them. No name has an '@'.
 *
 * Several may stand in a list, with commas between them: an event matches that matches one of them,
 * and none that begins with '!'. If all begin so, all other events match:
 *
 *     sched:*,irq:*,!sched:steal
 *
 * A glob does not change, so any thread may use it.
 */
#ifndef RS_TRACE_EVENT_GLOB_H
#define RS_TRACE_EVENT_GLOB_H

#include "rs-trace-glob.h"
#include "rs-trace-schema.h"

G_BEGIN_DECLS

#define RS_TRACE_EVENT_GLOB_SELECT '@'
#define RS_TRACE_EVENT_GLOB_PARTS 64u /* of a list */

typedef struct _RsTraceEventGlob RsTraceEventGlob;

/*
 * NULL: RS_TRACE_ERROR_SELECTION, the selection is wrong, a glob is too long, or a list has too
 * many.
 */
RsTraceEventGlob *rs_trace_event_glob_new(const char *text, GError **error);
/* As it was given. */
const char *rs_trace_event_glob_text(const RsTraceEventGlob *glob);
/* Accepts NULL. */
void rs_trace_event_glob_free(RsTraceEventGlob *glob);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceEventGlob, rs_trace_event_glob_free)

/*
 * `source` is the name of the source that the event is from; NULL: it has none. FALSE if `glob` is
 * NULL.
 */
gboolean rs_trace_event_glob_matches(const RsTraceEventGlob *glob, const char *source,
				     const RsTraceEvent *event);

/*
 * The parts of a list, also those that begin with '!'. What is empty is none, but there is one at
 * least. To be freed.
 */
GStrv rs_trace_event_glob_parts(const char *text);
/*
 * A list as several globs, of which each has one part that is not excluded, and before it all that
 * are: "!a,b,c" is "!a,b" and "!a,c". Together they match what the list matches. So each can be
 * told of for itself, and a selection after its end is one of that part. To be freed.
 */
GStrv rs_trace_event_glob_split(const char *text);

/*
 * The first part that no event can have a name for (<ringside/name.h>), nor a source, without its
 * '!'. NULL: there is none, and no filter is such a glob. To be freed.
 */
char *rs_trace_event_glob_misnamed(const char *text);

/* A glob of plain names, such as those of tasks. NULL: RS_TRACE_ERROR_SELECTION, it is too long. */
RsTraceGlob *rs_trace_name_glob_new(const char *text, GError **error);
/* The same of tasks, as of COMM in a filter: a '!' in front inverts it, "\!a" begins with one. */
RsTraceGlob *rs_trace_task_glob_new(const char *text, GError **error);

G_END_DECLS

#endif
