/* SPDX-License-Identifier: MIT */
/*
 * A trace that is open in a window: one or more files on one clock, or a running session. It reads
 * on threads of its own, so no call here waits for a disk or a session.
 *
 * What a running session writes is recorded to a temporary file without a name, from which rows are
 * read like those of any other file.
 *
 * All functions here are called on the main thread, and so are callbacks and signals. Trust: files
 * and sessions are hostile, as rs-trace-reader.h and rs-trace-client.h say.
 */
#ifndef RS_TRACE_DOCUMENT_H
#define RS_TRACE_DOCUMENT_H

#include "document/rs-trace-row.h"
#include "timeline/rs-trace-timeline.h"
#include "timeline/rs-trace-values.h"

#include <gio/gio.h>
#include <rs-trace-client.h>

G_BEGIN_DECLS

#define RS_TRACE_TYPE_DOCUMENT (rs_trace_document_get_type())
/*
 * Signals:
 *   "grown" ()     the timeline has more, or progress was made; 20 times a second at most
 *   "changed" ()   title, state, remarks, or what is shown is another one
 *   "ended" ()     all of it was read: the file's end, or the session has ended
 */
G_DECLARE_FINAL_TYPE(RsTraceDocument, rs_trace_document, RS_TRACE, DOCUMENT, GObject)

/* Begins to read at once. `paths` is NULL-terminated, and not empty. */
RsTraceDocument *rs_trace_document_new(const char *const *paths);
/* The running session of that name. */
RsTraceDocument *rs_trace_document_new_live(const char *session);
/* Ends all that is under way. The object may live on for others. */
void rs_trace_document_close(RsTraceDocument *document);

typedef enum {
	RS_TRACE_DOCUMENT_LOADING,
	RS_TRACE_DOCUMENT_LIVE,  /* more comes as it happens */
	RS_TRACE_DOCUMENT_READY, /* all that there is was read */
	RS_TRACE_DOCUMENT_FAILED,
} RsTraceDocumentState;

RsTraceDocumentState rs_trace_document_state(RsTraceDocument *document);
gboolean rs_trace_document_is_live(RsTraceDocument *document); /* of a session, also once ended */
/* Of its files; NULL: it is of a session. */
const char *const *rs_trace_document_paths(RsTraceDocument *document);
/* For people: names of the files, or of the session. */
const char *rs_trace_document_title(RsTraceDocument *document);
/* 0 to 1, or negative: not known. */
double rs_trace_document_progress(RsTraceDocument *document);
/* Why it failed; NULL: it did not. */
const GError *rs_trace_document_error(RsTraceDocument *document);
/* What is to be said of the trace, a sentence each: damage, the end of a session. Never NULL. */
const char *const *rs_trace_document_remarks(RsTraceDocument *document);
/* Of time 0; 0: not known. */
guint64 rs_trace_document_wall_time(RsTraceDocument *document);
/* Of a live one, while it is connected; else NULL. Its calls may block: use the async ones. */
RsDBusSession1 *rs_trace_document_session(RsTraceDocument *document);

/* The whole trace. Never NULL. */
RsTraceTimeline *rs_trace_document_all(RsTraceDocument *document);
/* What the filter leaves of it: the same as all, if there is none. */
RsTraceTimeline *rs_trace_document_shown(RsTraceDocument *document);

/*
 * Shows only records that match, which come in as they are found. `filters` are as
 * RsTraceSelectionConfig.filters, but that records of events that none of them concerns do not
 * match, and that a glob alone stands for all records of its events. NULL or empty: shows all. A
 * trace that grows goes on being filtered. FALSE: RS_TRACE_ERROR_SELECTION, a filter cannot be
 * read, and nothing has changed.
 */
gboolean rs_trace_document_set_filter(RsTraceDocument *document, const char *const *filters,
				      GError **error);
const char *const *rs_trace_document_filter(RsTraceDocument *document);
/* 0 to 1: how far it has come; 1 if there is none. */
double rs_trace_document_filter_progress(RsTraceDocument *document);
/*
 * Why the filter finds nothing, which can be known only when the files are looked at: it has a
 * field that no event has, or compares it with what it cannot be (RS_TRACE_ERROR_SELECTION). Or
 * they cannot be read. NULL: there is nothing wrong.
 */
const GError *rs_trace_document_filter_error(RsTraceDocument *document);
/*
 * Whether one filter can be read. FALSE: the mistake is `length` bytes (or none) from byte `at` of
 * the text on, and *message, the caller's, is a sentence that says what it is. Each may be NULL.
 */
gboolean rs_trace_document_check_filter(const char *text, guint *at, guint *length, char **message);

/*
 * Another timeline of this trace, of records that match: for lanes that a user has chosen. Events
 * that none of the filters concerns do not match; losses and boots do. It comes in by and by, and
 * "grown" is emitted. To be unreffed, which ends the search. NULL: as
 * rs_trace_document_set_filter(), or G_IO_ERROR_CLOSED.
 */
RsTraceTimeline *rs_trace_document_pick(RsTraceDocument *document, const char *const *filters,
					GError **error);
/*
 * Likewise, and what a field, by its name, has in these records comes in with them. *values is the
 * caller's; NULL if there is an error. Whole numbers beyond 2^53 are rounded.
 */
RsTraceTimeline *rs_trace_document_pick_values(RsTraceDocument *document,
					       const char *const *filters, const char *field,
					       RsTraceValues **values, GError **error);
/*
 * Likewise as a pick, of the shown records that match a filter and in whose line, as RsTraceRow has
 * it, a text is: case does not matter in ASCII. Each may be NULL. Its rows are not read: they are
 * rows of the shown timeline, which rs_trace_document_search_nth() tells. Losses and boots match
 * any filter.
 */
RsTraceTimeline *rs_trace_document_search(RsTraceDocument *document, const char *filter,
					  const char *text, GError **error);
/*
 * Which row of the shown timeline a match is: of those of its source and ring with its time, so
 * many are before it. `index`: of the match in its ring. Exact for all but a million such matches.
 */
guint64 rs_trace_document_search_nth(RsTraceDocument *document, const RsTraceTimeline *timeline,
				     guint source, guint ring, guint64 index);
/*
 * How far a pick or a search has come, 0 to 1; 1 too if there is no such one. `error`: why it finds
 * nothing, as rs_trace_document_filter_error() has it.
 */
double rs_trace_document_pick_progress(RsTraceDocument *document, const RsTraceTimeline *timeline,
				       GError **error);

/*
 * Reads rows of a timeline of this document. Requests are served the newest first, and those that
 * are cancelled are passed over. Finish: of RsTraceRow, NULL for a row that could not be read; in
 * order of `rows`.
 */
void rs_trace_document_read_async(RsTraceDocument *document, RsTraceTimeline *timeline,
				  const RsTraceTimelineRow *rows, guint n, gboolean with_details,
				  GCancellable *cancellable, GAsyncReadyCallback done,
				  gpointer data);
GPtrArray *rs_trace_document_read_finish(RsTraceDocument *document, GAsyncResult *result,
					 GError **error);

G_END_DECLS

#endif
