/* SPDX-License-Identifier: MIT */
/*
 * Bytes that are packed in small parts, so that one can have some of them without the others. One
 * thread at a time.
 */
#ifndef RS_TRACE_PARTS_PRIVATE_H
#define RS_TRACE_PARTS_PRIVATE_H

#include <glib.h>
#include <zstd.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

typedef struct _RsTraceParts RsTraceParts;

/* NULL: they would take more than `room` bytes. */
RsTraceParts *rs_trace_parts_new(const guint8 *bytes, gsize size, gsize room);
void rs_trace_parts_free(RsTraceParts *parts);
/* Bytes of memory. */
gsize rs_trace_parts_size(const RsTraceParts *parts);
/* Copies bytes that lie within `size`. `zstd` is any context that is not in use. */
void rs_trace_parts_copy(const RsTraceParts *parts, ZSTD_DCtx *zstd, gsize at, guint8 *to,
			 gsize size);

#pragma GCC visibility pop
G_END_DECLS

#endif
