/* SPDX-License-Identifier: MIT */
/*
 * Call stacks, folded as flame graphs want them: "comm;outermost;…;innermost" and how many records
 * came with it. Frames are functions, or addresses where nothing is known.
 *
 * Memory is bounded: RS_TRACE_STACKS_MAX stacks and RS_TRACE_STACKS_BYTES of text; what comes after
 * them is counted as others. Trust: records and names are hostile. One thread at a time.
 */
#ifndef RS_TRACE_STACKS_H
#define RS_TRACE_STACKS_H

#include "analysis/rs-trace-sample.h"

G_BEGIN_DECLS

#define RS_TRACE_STACKS_MAX 65536u
#define RS_TRACE_STACKS_BYTES ((gsize)24 << 20)

typedef struct _RsTraceStacks RsTraceStacks;

RsTraceStacks *rs_trace_stacks_new(void);
/* Accepts NULL. */
void rs_trace_stacks_free(RsTraceStacks *stacks);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceStacks, rs_trace_stacks_free)

void rs_trace_stacks_add(RsTraceStacks *stacks, const RsTraceSample *item);

typedef struct {
	const char *folded; /* printable, without a newline; of a frame, ';' became ':' */
	guint64 count;
} RsTraceStacksRow;

/* RsTraceStacksRow, in order of their text; valid as long as the stacks; to be unrefed. */
GArray *rs_trace_stacks_result(const RsTraceStacks *stacks);
/* Records whose stack had no room, and events that came without one. */
guint64 rs_trace_stacks_others(const RsTraceStacks *stacks);
guint64 rs_trace_stacks_without(const RsTraceStacks *stacks);

G_END_DECLS

#endif
