/* SPDX-License-Identifier: MIT */
/*
 * Makes a Ringside trace file of a trace.dat, by libtracecmd and libtraceevent. These trust what
 * they read, so this runs in a process of its own: ringside-import, which rs-trace-dat-stream.h
 * starts. One thread.
 */
#ifndef RS_TRACE_DAT_IMPORT_H
#define RS_TRACE_DAT_IMPORT_H

#include <gio/gio.h>

G_BEGIN_DECLS

/* `fd` must be seekable. BAD_FILE: it is no trace.dat, or libtracecmd cannot read it. */
gboolean rs_trace_dat_import(int fd, GOutputStream *out, GError **error);

G_END_DECLS

#endif
