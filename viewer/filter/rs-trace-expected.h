/* SPDX-License-Identifier: MIT */
/*
 * Events that a user has named, and which of those a trace does not have. One thread at a time.
 * Trust: the names are a user's, events are hostile.
 */
#ifndef RS_TRACE_EXPECTED_H
#define RS_TRACE_EXPECTED_H

#include "filter/rs-trace-event-glob.h"

G_BEGIN_DECLS

typedef struct _RsTraceExpected RsTraceExpected;

RsTraceExpected *rs_trace_expected_new(void);
/* NULL is accepted. */
void rs_trace_expected_free(RsTraceExpected *expected);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceExpected, rs_trace_expected_free)

/*
 * Globs with commas between them; "GLOB..GLOB"; "EVENT.FIELD". NULL adds nothing, nor does what is
 * wrong: that is told where it is used.
 */
void rs_trace_expected_add(RsTraceExpected *expected, const char *globs);
void rs_trace_expected_add_pair(RsTraceExpected *expected, const char *pair);
void rs_trace_expected_add_field(RsTraceExpected *expected, const char *field);

/* The trace has this event. `source`: as rs_trace_event_glob_matches() has it. */
void rs_trace_expected_see(RsTraceExpected *expected, const char *source,
			   const RsTraceEvent *event);
/* Globs that none of those events matches, as they were given. Never NULL; to be freed. */
GStrv rs_trace_expected_missing(const RsTraceExpected *expected);

G_END_DECLS

#endif
