/* SPDX-License-Identifier: MIT */
/*
 * One event descriptor's bytes to an event: what a schema is made of. Internal to viewer/decode. The
 * bytes are hostile; rs-trace-schema.h says what holds of an event that was let through.
 */
#ifndef RS_TRACE_DESCRIPTOR_PRIVATE_H
#define RS_TRACE_DESCRIPTOR_PRIVATE_H

#include "rs-trace-schema.h"

G_BEGIN_DECLS

/*
 * An event with what it owns. Strings point into `bytes`, a copy of the descriptor, so a hostile
 * descriptor that names one long string a thousand times costs its own size only.
 */
typedef struct _RsTraceDescriptor RsTraceDescriptor;
struct _RsTraceDescriptor {
	RsTraceEvent event;
	char *bytes;
	RsTraceDescriptor *older; /* the schema's: an earlier event of the same id */
};

/* `size` bytes are one whole descriptor. NULL: it makes no sense, and `error` says why. */
RsTraceDescriptor *rs_trace_descriptor_parse(const guint8 *bytes, gsize size, GError **error);
/* NULL is accepted. */
void rs_trace_descriptor_free(RsTraceDescriptor *descriptor);

G_END_DECLS

#endif
