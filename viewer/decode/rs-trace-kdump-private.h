/* SPDX-License-Identifier: MIT */
/* How kdump shows data and texts of a guest. Internal to viewer/decode. */
#ifndef RS_TRACE_KDUMP_PRIVATE_H
#define RS_TRACE_KDUMP_PRIVATE_H

#include "rs-trace-kdump.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

/* "text" in quotes, on one line. */
void rs_trace_kdump_quote(GString *out, const guint8 *bytes, gsize size);
/* The block below a line: as text in quotes, or hexadecimal. Appends nothing for no bytes. */
void rs_trace_kdump_data(GString *out, const RsTraceKdumpOptions *options, const guint8 *bytes,
			 gsize size);
/* The strings of an exec, one a line. `length`: of all of them, which may be more than `size`. */
void rs_trace_kdump_strings(GString *out, const guint8 *bytes, gsize size, guint64 length);
/* " errno 2 No such file or directory" */
void rs_trace_kdump_errno(GString *out, const RsTraceKdumpOptions *options, gint64 error);
/* "SIGINT", or "signal 99" */
void rs_trace_kdump_signal(GString *out, gint64 number);

#pragma GCC visibility pop
G_END_DECLS

#endif
