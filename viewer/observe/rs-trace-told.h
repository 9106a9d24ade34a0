/* SPDX-License-Identifier: MIT */
/*
 * What one source has told a recorder, so that the recorder can tell it again to the next file
 * (docs/adr/0022-recordings.md). It holds what is valid now, and for two windows what was before:
 * pages that come later than that do not need it.
 *
 * One thread at a time. Trust: the bytes are hostile, and nobody looks into them here. What is kept
 * of providers that have gone, and of symbols, is bounded.
 */
#ifndef RS_TRACE_TOLD_H
#define RS_TRACE_TOLD_H

#include <rs-trace-writer.h>
#include <ringside/region.h>
#include <ringside/control.h>
#include <ringside/descriptor.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

typedef struct _RsTraceTold RsTraceTold;

RsTraceTold *rs_trace_told_new(const struct rs_file_source *source);
/* NULL is accepted. */
void rs_trace_told_free(RsTraceTold *told);

/* As the sink's calls of the same names. Each accepts NULL, and then does nothing. */
void rs_trace_told_boots(RsTraceTold *told, const struct rs_file_boot boots[RS_BOOTS], guint64 hz);
void rs_trace_told_provider(RsTraceTold *told, guint slot, const struct rs_provider *entry,
			    const guint8 *descs, gsize size);
void rs_trace_told_clock(RsTraceTold *told, const struct rs_clock_epoch *table, guint n,
			 guint32 epoch_count);
void rs_trace_told_symbols(RsTraceTold *told, const struct rs_file_symbols *head, GBytes *data);
/* A window has ended: what was replaced two windows ago is needed no more. */
void rs_trace_told_end_window(RsTraceTold *told);

/* Writes all of it, as a source with that number, which joins the file. */
gboolean rs_trace_told_write(const RsTraceTold *told, RsTraceWriter *writer, guint number,
			     GError **error);

#pragma GCC visibility pop
G_END_DECLS

#endif
