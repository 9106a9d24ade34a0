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
 * A glob does not change, so any thread may use it.
 */
#ifndef RS_TRACE_EVENT_GLOB_H
#define RS_TRACE_EVENT_GLOB_H

#include "rs-trace-glob.h"
#include "rs-trace-schema.h"

G_BEGIN_DECLS

#define RS_TRACE_EVENT_GLOB_SELECT '@'

typedef struct _RsTraceEventGlob RsTraceEventGlob;

/* NULL: RS_TRACE_ERROR_SELECTION, the selection is wrong, or a glob is too long. */
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
 * Globs with commas between them, as RsTraceEventGlob; what is empty is none. To be unrefed. NULL:
 * likewise.
 */
GPtrArray *rs_trace_event_globs_new(const char *text, GError **error);

/* A glob of plain names, such as those of tasks. NULL: RS_TRACE_ERROR_SELECTION, it is too long. */
RsTraceGlob *rs_trace_name_glob_new(const char *text, GError **error);

G_END_DECLS

#endif
