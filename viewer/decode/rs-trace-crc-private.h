/* SPDX-License-Identifier: MIT */
/* CRC-32C, the check of a trace file's heads, pages and data. Any thread. */
#ifndef RS_TRACE_CRC_PRIVATE_H
#define RS_TRACE_CRC_PRIVATE_H

#include <glib.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

guint32 rs_trace_crc(gconstpointer bytes, gsize size);
/* Whether pages or data are as they were written. For a fuzzer they always are. */
gboolean rs_trace_crc_fits(guint32 said, gconstpointer bytes, gsize size);

/* The parts of it: by tables, and by instructions of the CPU. */
guint32 rs_trace_crc_table(const guint8 *bytes, gsize size);
/* FALSE: this CPU has no such instruction. */
gboolean rs_trace_crc_cpu(const guint8 *bytes, gsize size, guint32 *out);

#pragma GCC visibility pop
G_END_DECLS

#endif
