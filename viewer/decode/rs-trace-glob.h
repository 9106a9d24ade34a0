/* SPDX-License-Identifier: MIT */
/*
 * Globs of names: `*`, `?`, `[a-c]`, `[!a]` or `[^a]`, and `\x` for x itself. A `[` without its `]`
 * stands for itself. Names are compared byte by byte.
 *
 * A glob is compiled once and then compared with any number of names. A comparison takes time in
 * proportion to the length of the name, and of the glob by steps of 64 elements; no glob is dearer
 * than that. A glob takes up to 20 KiB of memory, a usual one less than 1 KiB. It does not change,
 * so any thread may use it.
 */
#ifndef RS_TRACE_GLOB_H
#define RS_TRACE_GLOB_H

#include "rs-trace-schema.h"

G_BEGIN_DECLS

#define RS_TRACE_GLOB_MAX (2u * RS_NAME_MAX) /* bytes: a system and a name of an event */

typedef struct _RsTraceGlob RsTraceGlob;

/* NULL: it is longer than RS_TRACE_GLOB_MAX. */
RsTraceGlob *rs_trace_glob_new(const char *pattern);
/* The same, of what the pattern does not match: for rs_trace_glob_matches() alone. */
RsTraceGlob *rs_trace_glob_new_inverse(const char *pattern);
/* Accepts NULL. */
void rs_trace_glob_free(RsTraceGlob *glob);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceGlob, rs_trace_glob_free)

gboolean rs_trace_glob_matches(const RsTraceGlob *glob, const char *text);

/*
 * Compares with "system:name". A glob without a colon may match the system or the name. The glob
 * "system:" matches all events of the system.
 */
gboolean rs_trace_glob_matches_event(const RsTraceGlob *glob, const RsTraceEvent *event);

G_END_DECLS

#endif
