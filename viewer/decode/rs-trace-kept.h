/* SPDX-License-Identifier: MIT */
/*
 * Opens a trace so that it can be read more than once, by several readers, whatever becomes of its
 * name. What can be read only once, or is made as it is read (a pipe, a trace.dat), is kept as it
 * is read, in a temporary file without a name.
 *
 * Readers that share their numbers of sources give a source the same index, wherever they begin.
 *
 * Trust: as rs-trace-file.h. A file: one thread at a time. Numbers: any thread.
 */
#ifndef RS_TRACE_KEPT_H
#define RS_TRACE_KEPT_H

#include "rs-trace-reader.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

/*
 * As rs_trace_reader_open() has it. *kept becomes a descriptor, the caller's, of a file that holds
 * all that was read from this one so far, or all of it: rs_trace_file_open_again() opens it. If it
 * cannot be written, that is an error of reading.
 */
RsTraceFile *rs_trace_file_open_kept(const char *path, int *kept, GCancellable *cancellable,
				     GError **error);
/* Opens what `kept` stands for, at its start. The descriptor stays the caller's. */
RsTraceFile *rs_trace_file_open_again(int kept, GCancellable *cancellable, GError **error);
/*
 * A temporary file without a name, on the disk that the user's cache is on; if there is none that
 * can be written to, in the temporary directory. A descriptor for reading and writing, the
 * caller's; -1: error.
 */
int rs_trace_kept_new(GError **error);

/* Sources that are known, as many as a reader knows. */
#define RS_TRACE_NUMBERS_MAX 65536u

typedef struct _RsTraceNumbers RsTraceNumbers;

RsTraceNumbers *rs_trace_numbers_new(void);
RsTraceNumbers *rs_trace_numbers_ref(RsTraceNumbers *numbers);
/* NULL is accepted. */
void rs_trace_numbers_unref(RsTraceNumbers *numbers);
/* The index of the source that joins in the reader's file `file` at this place. */
guint rs_trace_numbers_get(RsTraceNumbers *numbers, guint file, guint64 at);

/*
 * To be called before the reader's first record and before files are added. Readers that share
 * numbers have the same files in the same order.
 */
void rs_trace_reader_share_numbers(RsTraceReader *reader, RsTraceNumbers *numbers);

#pragma GCC visibility pop
G_END_DECLS

#endif
