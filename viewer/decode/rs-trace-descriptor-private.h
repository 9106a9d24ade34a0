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
 * Descriptors of many sources. Those with the same bytes share what they are made of. It also
 * counts the memory of all of them, and bounds it.
 */
typedef struct {
	GTree *made; /* RsTraceDescribed → itself, by its bytes: no hash, they are hostile */
	gsize *used; /* bytes of memory, perhaps of other things too */
	gsize most;
	gboolean is_full; /* something was refused; for the user to reset */
} RsTraceDescriptorPool;

void rs_trace_descriptor_pool_init(RsTraceDescriptorPool *pool, gsize *used, gsize most);
/* When all schemas that use it are freed. */
void rs_trace_descriptor_pool_deinit(RsTraceDescriptorPool *pool);

/*
 * What a descriptor's bytes say. Strings point into `bytes`, a copy of the descriptor. So a hostile
 * descriptor that names one long string a thousand times costs no more than its own size.
 */
typedef struct {
	RsTraceEvent event; /* of no provider */
	char *bytes;
	gsize size; /* of those */
	guint refs;
	RsTraceDescriptorPool *pool; /* NULL: it is nobody else's */
} RsTraceDescribed;

/* An event of a provider. */
typedef struct {
	RsTraceEvent event;
	RsTraceDescribed *described;
} RsTraceDescriptor;

/*
 * `size` bytes are one whole descriptor. `pool` may be NULL. NULL: it is invalid, or there is no
 * room for it, and `error` says why.
 */
RsTraceDescriptor *rs_trace_descriptor_parse(RsTraceDescriptorPool *pool, const guint8 *bytes,
					     gsize size, GError **error);
/* Bytes of memory that it takes, with what the allocator adds to each piece, shared ones too. */
gsize rs_trace_descriptor_memory(const RsTraceDescriptor *descriptor);
/* NULL is accepted. */
void rs_trace_descriptor_free(RsTraceDescriptor *descriptor);

/* A schema whose descriptors count in `pool`, which outlives it. */
RsTraceSchema *rs_trace_schema_new_in(RsTraceDescriptorPool *pool);

#pragma GCC visibility pop
G_END_DECLS

#endif
