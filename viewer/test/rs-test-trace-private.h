/* SPDX-License-Identifier: MIT */
/*
 * A trace file that is read while its recorder writes it. Trust: what is in it comes from the guest
 * and is hostile. One thread at a time.
 */
#ifndef RS_TEST_TRACE_PRIVATE_H
#define RS_TEST_TRACE_PRIVATE_H

#include "expect/rs-trace-match.h"

#include <rs-trace-item.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

typedef struct _RsTestTrace RsTestTrace;

/* `path` need not be there yet. */
RsTestTrace *rs_test_trace_new(const char *path);
/* Accepts NULL. */
void rs_test_trace_free(RsTestTrace *trace);

/*
 * The next record, the trace's until the next call. `had_ended`: before the call, nobody wrote it
 * any more. NULL without an error: there is none, or not yet.
 */
const RsTraceSample *rs_test_trace_next(RsTestTrace *trace, gboolean had_ended, GError **error);
/* The last record, as a value. To be unreffed. */
RsTraceItem *rs_test_trace_item(RsTestTrace *trace);
/*
 * Whether the last record was written after that moment, by the clock of g_get_monotonic_time(). A
 * guest cannot claim to be later than its recorder.
 */
gboolean rs_test_trace_is_after(const RsTestTrace *trace, gint64 us);
/* The last record comes once more. */
void rs_test_trace_unread(RsTestTrace *trace);
/* Begins again with the first record. */
void rs_test_trace_rewind(RsTestTrace *trace);

/* As rs_trace_reader_n_windows(). */
guint64 rs_test_trace_n_windows(const RsTestTrace *trace);
/*
 * Events that are known to be lost. `stopped`: what the guest was just writing when it was stopped
 * is nobody's loss.
 */
guint64 rs_test_trace_lost(const RsTestTrace *trace, gboolean stopped);
/*
 * Tells `match` all events of which the trace has told so far. Returns how many it is looking for.
 */
guint rs_test_trace_tell(const RsTestTrace *trace, RsTraceMatch *match);
/* Of a file that nobody writes any more: whether an agent has told of its events. */
gboolean rs_test_trace_has_agent(const char *path);
/* The name among the trace's events that is like that of "system:name"; NULL: none. Freed. */
char *rs_test_trace_like(const RsTestTrace *trace, const char *name);
/* For each event that `match` looks for, until it returns TRUE: then that. */
gboolean rs_test_trace_any(const RsTestTrace *trace, RsTraceMatch *match,
			   gboolean (*is_so)(const char *source, const RsTraceEvent *event,
					     gpointer data),
			   gpointer data);

#pragma GCC visibility pop
G_END_DECLS

#endif
