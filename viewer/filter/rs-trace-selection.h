/* SPDX-License-Identifier: MIT */
/*
 * Which records of a trace are wanted. A user says it, so the texts are checked, and bound in time
 * and memory as filters are (filter/filter.h). Records and names are hostile.
 *
 * A record of an event is wanted if all that was said is true of it. Losses and boots are wanted
 * unless their time or CPU is not. So a loss is seen, whatever its records may have been.
 *
 * Filters are compiled when the first record of an event comes, by docs/filters.md's rules for
 * several events, but for one: an event that has none of the expression's fields is not wanted. The
 * agent's own evaluator runs them (docs/adr/0019). An event that nothing is known of can only pass
 * a filter of CPU, PID, TGID or COMM.
 *
 * One thread at a time.
 */
#ifndef RS_TRACE_SELECTION_H
#define RS_TRACE_SELECTION_H

#include "rs-trace-cmdline.h"
#include "rs-trace-decoder.h"

G_BEGIN_DECLS

typedef struct _RsTraceSelection RsTraceSelection;

/* Each as a user writes it; NULL: whatever it is. */
typedef struct {
	/*
	 * NULL-terminated. "EXPR" must be true of each record, "GLOB: EXPR" of those whose event
	 * matches the glob (filter/rs-trace-event-glob.h).
	 */
	const char *const *filters;
	const char *expression; /* must be true of each record; it is not taken apart */
	gboolean only_filtered; /* an event that none of the filters concerns is not wanted */
	/* What docs/filters.md calls an error with one event is one, where a filter has but one. */
	gboolean strict;
	const char *cpus;   /* "0-2,5" */
	const char *pids;   /* likewise, of tasks */
	const char *comm;   /* a glob; with a '!' in front, of all others */
	const char *events; /* filter/rs-trace-event-glob.h, with commas between them */
	const char *from;   /* filter/rs-trace-time.h: no earlier than this, */
	const char *until;  /* and earlier than this */
} RsTraceSelectionConfig;

/* NULL: RS_TRACE_ERROR_SELECTION, with a caret below the mistake of an expression. */
RsTraceSelection *rs_trace_selection_new(const RsTraceSelectionConfig *config, GError **error);
/* Accepts NULL. */
void rs_trace_selection_free(RsTraceSelection *selection);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceSelection, rs_trace_selection_free)

/* A time counts from the trace's first record: rs_trace_selection_set_first() may tell it. */
gboolean rs_trace_selection_needs_first(const RsTraceSelection *selection);
/* A time counts from the trace's last record: rs_trace_selection_set_last() must tell it. */
gboolean rs_trace_selection_needs_last(const RsTraceSelection *selection);
void rs_trace_selection_set_last(RsTraceSelection *selection, guint64 ns);
/*
 * The trace's first record, if it is not the first that is asked about. Without it, that one is.
 */
void rs_trace_selection_set_first(RsTraceSelection *selection, guint64 ns);
/* From when on records are wanted, if that is known. 0: from the start. */
guint64 rs_trace_selection_from(const RsTraceSelection *selection);
/* Likewise, until when. G_MAXUINT64: to the end. */
guint64 rs_trace_selection_until(const RsTraceSelection *selection);

/* `task`: of the record, as rs_trace_reader_task() has it. After an error nothing matches. */
gboolean rs_trace_selection_matches(RsTraceSelection *selection, const RsTraceRecord *record,
				    const RsTraceTask *task);
/*
 * The trace has this event, whether it has records or not. So a field that no event has can be told
 * by rs_trace_selection_finish() before any record is asked about.
 */
void rs_trace_selection_know(RsTraceSelection *selection, const RsTraceOrigin *origin,
			     const RsTraceEvent *event);
/* The globs of events, if no event has matched them so far. NULL: one has, or none were given. */
const char *rs_trace_selection_unmet(const RsTraceSelection *selection);
/* Whether there is an expression. */
gboolean rs_trace_selection_is_filtered(const RsTraceSelection *selection);
/*
 * No further record of a file will match: there was an error, or the last record was sorted 10 s
 * behind the end. Guests choose the times of their records, but a file's windows bound that time.
 */
gboolean rs_trace_selection_is_over(const RsTraceSelection *selection);
/*
 * At the end. FALSE: RS_TRACE_ERROR_SELECTION. An expression does not fit an event, or a field of
 * it is in none of the events that there were.
 */
gboolean rs_trace_selection_finish(const RsTraceSelection *selection, GError **error);

G_END_DECLS

#endif
