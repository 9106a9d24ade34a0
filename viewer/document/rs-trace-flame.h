/* SPDX-License-Identifier: MIT */
/*
 * A tree of what was inside what, for a flame graph: slices of begin and end events of each task
 * (export/rs-trace-spans.h says which they are), or call stacks. Its first level are tasks, by
 * name.
 *
 * Memory is bounded: RS_TRACE_FLAME_NODES nodes. What comes after them counts for its parent.
 * Trust: records and names are hostile. One thread at a time.
 */
#ifndef RS_TRACE_FLAME_H
#define RS_TRACE_FLAME_H

#include "analysis/rs-trace-sample.h"

G_BEGIN_DECLS

#define RS_TRACE_FLAME_NODES 65536u

typedef struct _RsTraceFlame RsTraceFlame;

/*
 * `slices`: "BEGIN..END", names of two events, NULL-terminated, beside those that follow from the
 * events' names; may be NULL. NULL: G_IO_ERROR_INVALID_ARGUMENT.
 */
RsTraceFlame *rs_trace_flame_new(const char *const *slices, GError **error);
/* NULL is accepted. */
void rs_trace_flame_free(RsTraceFlame *flame);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceFlame, rs_trace_flame_free)

/*
 * A record, in the order of time. At a loss and a boot the slices of its source that are open are
 * dropped: they may have ended there.
 */
void rs_trace_flame_add(RsTraceFlame *flame, const RsTraceSample *item);
/* No more come: slices that are open end there. */
void rs_trace_flame_end(RsTraceFlame *flame, guint64 ns);
/* How many slices were dropped. */
guint64 rs_trace_flame_broken(const RsTraceFlame *flame);
/* `count` call stacks, "comm;outermost;…;innermost", as rs_trace_stacks_result() has them. */
void rs_trace_flame_add_folded(RsTraceFlame *flame, const char *folded, guint64 count);

/* A node with its place: parents come before their children, and those of one by size. */
typedef struct {
	const char *name; /* escaped; the flame's */
	guint depth;
	guint64 at;    /* sum of what stands beside it, from its parent's */
	guint64 total; /* ns of slices, or number of stacks */
	guint64 self;  /* of it, what its children have not */
	guint64 count; /* slices, or stacks */
} RsTraceFlameBox;

/* All of them, to be unreffed. Valid as long as nothing is added. */
GArray *rs_trace_flame_boxes(RsTraceFlame *flame);

G_END_DECLS

#endif
