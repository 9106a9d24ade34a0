/* SPDX-License-Identifier: MIT */
/*
 * Several readers of one region of our own: a page is consumed once all of them have read it. One
 * that leaves holds up nobody any more. That counts in mode drop. In mode overwrite nobody asks,
 * but the mode may become drop at any time.
 *
 * Any thread. The readers may be on different ones.
 */
#ifndef RS_TRACE_CONSUMERS_H
#define RS_TRACE_CONSUMERS_H

#include "rs-trace-region.h"

G_BEGIN_DECLS

typedef struct _RsTraceConsumers RsTraceConsumers;

/* `region` must outlive it, and be writable. */
RsTraceConsumers *rs_trace_consumers_new(const RsTraceRegion *region);
RsTraceConsumers *rs_trace_consumers_ref(RsTraceConsumers *consumers);
/* NULL is accepted. */
void rs_trace_consumers_unref(RsTraceConsumers *consumers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceConsumers, rs_trace_consumers_unref)

/* A reader of all rings, which begins where they are consumed by now. Returns its number. */
guint rs_trace_consumers_join(RsTraceConsumers *consumers);
/* It reads no more. Its number may be another reader's then. */
void rs_trace_consumers_leave(RsTraceConsumers *consumers, guint reader);
/* It has read all pages of `ring` before page `seq`. */
void rs_trace_consumers_publish(RsTraceConsumers *consumers, guint reader, guint ring, guint64 seq);

G_END_DECLS

#endif
