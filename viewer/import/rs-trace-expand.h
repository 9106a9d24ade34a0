/* SPDX-License-Identifier: MIT */
/*
 * Expands pages of ftrace for a reader of a bridge's region, until it closes the pipe:
 * rs-trace-expand-wire.h. libtraceevent decodes the records, so this runs in ringside-import. One
 * thread. Trust: requests are hostile. Records are found in pages by ringside/ftrace_page.h.
 */
#ifndef RS_TRACE_EXPAND_H
#define RS_TRACE_EXPAND_H

#include <rs-trace-expand-wire.h>

G_BEGIN_DECLS

typedef struct _RsTraceExpand RsTraceExpand;

RsTraceExpand *rs_trace_expand_new(void);
void rs_trace_expand_free(RsTraceExpand *expand);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceExpand, rs_trace_expand_free)

/*
 * Appends the answer to a request to `out`, as the wire has it without its head. *records: the
 * answer's.
 */
void rs_trace_expand_provider(RsTraceExpand *expand, guint slot, const guint8 *bytes, gsize size,
			      GByteArray *out);
void rs_trace_expand_page(RsTraceExpand *expand, const RsTraceExpandRequest *request,
			  const guint8 *bytes, gsize size, GByteArray *out, guint32 *records);

/* Serves requests of `in` until its end. FALSE: a request or the pipe is broken. */
gboolean rs_trace_expand_serve(int in, int out);

G_END_DECLS

#endif
