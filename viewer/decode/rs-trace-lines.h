/* SPDX-License-Identifier: MIT */
/*
 * Lines of a reader's records, made by several threads, and put out in the order of the records
 * (docs/adr/0038-decoding-in-parallel.md). Each thread takes a batch of records, makes its lines,
 * and takes the next one. What comes out does not depend on how many threads there are.
 *
 * Memory is bounded: each thread has two batches, with 80 KiB of records, 192 KiB of payloads, and
 * as a rule less than 2 MiB of text each.
 *
 * Threads: rs_trace_lines_make() returns when all is done, and the calling thread works too.
 * Trust: as rs-trace-reader.h.
 */
#ifndef RS_TRACE_LINES_H
#define RS_TRACE_LINES_H

#include "rs-trace-reader.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

#define RS_TRACE_LINES_JOBS_MAX 64u

typedef struct {
	guint jobs;  /* threads, 1 to RS_TRACE_LINES_JOBS_MAX */
	guint batch; /* records in a batch, at most; 0: as many as are good */
	/*
	 * The reader's next record that is wanted, and its task. NULL: there is no more, or
	 * rs_trace_lines_is_paused(). Called by one thread at a time.
	 */
	const RsTraceRecord *(*next)(const RsTraceTask **task, gpointer data);
	/*
	 * What lines need to know of those before them: `state_size` bytes, which `next` leaves as
	 * they are for the record that it returns. Each batch has a copy for its first record, and
	 * `line` goes on with it. NULL, 0: nothing.
	 */
	gconstpointer state;
	gsize state_size;
	/* Appends the record's lines. `state` is the batch's. Called by any thread at any time. */
	void (*line)(GString *out, const RsTraceRecord *record, const RsTraceTask *task,
		     gpointer state, gpointer data);
	/* FALSE: no more is wanted. Called by one thread at a time, in the right order. */
	gboolean (*write)(const char *text, gsize size, gpointer data);
	gpointer data;
} RsTraceLinesConfig;

/* Makes lines until there are no more records, or `write` says so. */
void rs_trace_lines_make(RsTraceReader *reader, const RsTraceLinesConfig *config);

/*
 * Of a reader that has just handed out no record: one may come, but lines of earlier ones must be
 * made first.
 */
gboolean rs_trace_lines_is_paused(const RsTraceReader *reader);

#pragma GCC visibility pop
G_END_DECLS

#endif
