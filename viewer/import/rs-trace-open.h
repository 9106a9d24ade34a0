/* SPDX-License-Identifier: MIT */
/*
 * Opens a trace of any kind that we read as a stream for rs_trace_file_new(): a Ringside trace file
 * as it is, and a trace.dat through rs-trace-dat-stream.h. What it is, its first bytes say.
 */
#ifndef RS_TRACE_OPEN_H
#define RS_TRACE_OPEN_H

#include <gio/gio.h>

G_BEGIN_DECLS

/*
 * `path`: a file or a pipe; "-" is standard input. A trace.dat that comes through a pipe is copied
 * into a file without a name first, since its reader has to go to and fro in it. `to_seek`: what a
 * trace.dat has become is such a file, too. Otherwise it cannot be sought, as a pipe. NULL:
 * G_IO_ERROR.
 */
GInputStream *rs_trace_open(const char *path, gboolean to_seek, GError **error);

G_END_DECLS

#endif
