/* SPDX-License-Identifier: MIT */
/* A stream whose bytes are copied into a file as they are read. One thread at a time. */
#ifndef RS_TRACE_KEEP_PRIVATE_H
#define RS_TRACE_KEEP_PRIVATE_H

#include <gio/gio.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

#define RS_TYPE_TRACE_KEEP (rs_trace_keep_get_type())
G_DECLARE_FINAL_TYPE(RsTraceKeep, rs_trace_keep, RS, TRACE_KEEP, GInputStream)

/* Keeps a reference to `base`. Writes to `fd`, which stays the caller's, through one of its own. */
GInputStream *rs_trace_keep_new(GInputStream *base, int fd);

#pragma GCC visibility pop
G_END_DECLS

#endif
