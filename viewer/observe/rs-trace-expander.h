/* SPDX-License-Identifier: MIT */
/*
 * The process that decodes pages of ftrace for one reader: rs-trace-expand-wire.h. One thread at a
 * time. It is started when it is first needed. If it dies, it is started again, some times. What it
 * answers is bounded here, and as hostile as what it was made of.
 */
#ifndef RS_TRACE_EXPANDER_H
#define RS_TRACE_EXPANDER_H

#include <glib.h>
#include <ringside/descriptor.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

typedef struct _RsTraceExpander RsTraceExpander;

RsTraceExpander *rs_trace_expander_new(void);
void rs_trace_expander_free(RsTraceExpander *expander);

/*
 * The descriptors of a provider as records of expanded pages have them; for the caller to free.
 * NULL: there is no such process. It is told of the provider again if it has to be started again.
 */
GByteArray *rs_trace_expander_provider(RsTraceExpander *expander, guint slot,
				       const struct rs_provider *entry, const guint8 *descs,
				       gsize size);
/*
 * Expands a page. `page` gets each page of ours, as the wire has it, with at least a header, and
 * not aligned. The return value is the number of records in all of them; 0 if the process has
 * failed.
 */
typedef void (*RsTraceExpandedFunc)(const guint8 *page, guint size, gpointer data);
typedef struct {
	guint cpu;
	guint32 chain;   /* clock chain */
	guint page_size; /* bytes of our pages at most */
	const guint8 *bytes;
	gsize size;
} RsTraceExpanderPage;
guint rs_trace_expander_page(RsTraceExpander *expander, const RsTraceExpanderPage *in,
			     RsTraceExpandedFunc page, gpointer data);

/*
 * For it and for tests: goes through the pages of an answer. FALSE: the answer makes no sense from
 * some place on.
 */
gboolean rs_trace_expander_each(const guint8 *bytes, gsize size, RsTraceExpandedFunc page,
				gpointer data);

#pragma GCC visibility pop
G_END_DECLS

#endif
