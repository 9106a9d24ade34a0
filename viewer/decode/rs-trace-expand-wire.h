/* SPDX-License-Identifier: MIT */
/*
 * How a reader of a bridge's region (ringside/bridge.h) has pages of ftrace decoded by another
 * process: `ringside-import --pages`. It writes requests to its standard input, and reads an answer
 * to each from its standard output. Both ends are of one version. Each takes the other for hostile,
 * and bounds what it reads.
 */
#ifndef RS_TRACE_EXPAND_WIRE_H
#define RS_TRACE_EXPAND_WIRE_H

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
	/*
	 * struct rs_provider and its descriptors, as the bridge has written them. The answer:
	 * descriptors of those events that can be decoded, with the same ids. Records of the others
	 * are left out.
	 */
	RS_TRACE_EXPAND_PROVIDER = 1,
	/*
	 * One page of ftrace. The answer: pages of ours, of page_size bytes at most, each behind a
	 * guint32 of its length, which is a multiple of 8. Of a page's header, ts, chain, context,
	 * pid and header_size are set.
	 */
	RS_TRACE_EXPAND_PAGE = 2,
} RsTraceExpandKind;

typedef struct {
	guint32 kind;
	guint32 size;      /* bytes behind this */
	guint32 arg;       /* slot of the provider; number of the vCPU */
	guint32 chain;     /* clock chain of the page */
	guint32 page_size; /* RS_RING_PAGE_MIN .. RS_RING_PAGE_MAX */
	guint32 reserved;
} RsTraceExpandRequest;

typedef struct {
	guint32 size;    /* bytes behind this */
	guint32 records; /* in the pages */
} RsTraceExpandAnswer;

/* Bytes of a request or an answer at most: descriptors of a whole region. */
#define RS_TRACE_EXPAND_MAX (64u << 20)

G_END_DECLS

#endif
