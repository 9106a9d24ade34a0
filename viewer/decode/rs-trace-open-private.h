/* SPDX-License-Identifier: MIT */
/*
 * Opens a trace of any kind that we read: a Ringside trace file as it is, and a trace.dat through
 * rs-trace-dat-stream-private.h. What it is, its first bytes say.
 */
#ifndef RS_TRACE_OPEN_PRIVATE_H
#define RS_TRACE_OPEN_PRIVATE_H

#include "rs-trace-file.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

/*
 * `path`: a file, a FIFO, or a URI; "-" is standard input, which is a pipe unless it is a file that
 * stands at its start. A trace.dat that comes through a pipe is copied into a file without a name
 * first, since its reader has to go to and fro in it. Waits for a FIFO's writer. NULL: as
 * rs_trace_file_new(), and G_IO_ERROR of opening, without the path.
 */
RsTraceFile *rs_trace_file_open(const char *path, GCancellable *cancellable, GError **error);

#pragma GCC visibility pop
G_END_DECLS

#endif
