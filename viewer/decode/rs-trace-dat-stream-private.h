/* SPDX-License-Identifier: MIT */
/*
 * A trace.dat of Linux' trace-cmd, read as a Ringside trace file (rs-trace-file.h): an input stream
 * whose bytes are made as they are read.
 *
 * Trust: the file is hostile, and the libraries that read it (libtracecmd, libtraceevent) are not
 * made for that. So they run in a process of their own, ringside-import, which has no more than the
 * file. If it crashes, the stream ends with an error. What it writes is as hostile as any trace
 * file. One thread at a time.
 */
#ifndef RS_TRACE_DAT_STREAM_PRIVATE_H
#define RS_TRACE_DAT_STREAM_PRIVATE_H

#include <gio/gio.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

#define RS_TYPE_TRACE_DAT_STREAM (rs_trace_dat_stream_get_type())
G_DECLARE_FINAL_TYPE(RsTraceDatStream, rs_trace_dat_stream, RS, TRACE_DAT_STREAM, GInputStream)

/*
 * `fd`: the file, which must be seekable, at its start; it is taken over. NULL: ringside-import
 * cannot be started. RINGSIDE_LIBEXEC names the folder in which it lies, if it was not installed.
 */
GInputStream *rs_trace_dat_stream_new(int fd, GError **error);

#pragma GCC visibility pop
G_END_DECLS

#endif
