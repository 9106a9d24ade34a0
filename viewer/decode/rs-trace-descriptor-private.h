/* SPDX-License-Identifier: MIT */
/*
 * Turns the bytes of one event descriptor into an event of a schema. Internal to viewer/decode. The
 * bytes are hostile. rs-trace-schema.h says what an accepted event guarantees.
 */
#ifndef RS_TRACE_DESCRIPTOR_PRIVATE_H
#define RS_TRACE_DESCRIPTOR_PRIVATE_H

#include "rs-trace-schema.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

/*
 * An event with what it owns. Strings point into `bytes`, a copy of the descriptor. So a hostile
 * descriptor that names one long string a thousand times costs no more than its own size.
 */
typedef struct {
	RsTraceEvent event;
	char *bytes;
	gsize size; /* of those */
} RsTraceDescriptor;

/* `size` bytes are one whole descriptor. NULL: it is invalid, and `error` says why. */
RsTraceDescriptor *rs_trace_descriptor_parse(const guint8 *bytes, gsize size, GError **error);
/* Bytes of memory that it takes, with what the allocator adds to each piece. */
gsize rs_trace_descriptor_memory(const RsTraceDescriptor *descriptor);
/* NULL is accepted. */
void rs_trace_descriptor_free(RsTraceDescriptor *descriptor);

#pragma GCC visibility pop
G_END_DECLS

#endif
