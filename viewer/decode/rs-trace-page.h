/* SPDX-License-Identifier: MIT */
/*
 * The walk over the records and marks of a page (<ringside/record.h>). The decoder reads records
 * with it. The ring reader counts them with it, but only where a loss needs it: a page's header
 * says how many records came before the page. The bytes are hostile. The caller passes a
 * private copy. Every size is bounded by the rest of the page, and every step advances by at least
 * 8 bytes. One thread at a time.
 */
#ifndef RS_TRACE_PAGE_H
#define RS_TRACE_PAGE_H

#include <glib.h>
#include <ringside/record.h>
#include <ringside/ring.h>

G_BEGIN_DECLS

typedef enum {
	RS_TRACE_PAGE_END,    /* the walk is at `to` */
	RS_TRACE_PAGE_PAD,    /* the rest is padding; `at` stays before it */
	RS_TRACE_PAGE_BAD,    /* the item at `at` is invalid, so nothing after it can be found */
	RS_TRACE_PAGE_MARK,   /* a mark, which the walk has followed */
	RS_TRACE_PAGE_RECORD, /* a record: its fields below are set */
} RsTracePageItem;

typedef struct {
	guint64 seq;     /* of the page */
	guint64 records; /* of the ring before the page */
	guint64 dropped; /* likewise */
	guint n;         /* records of the page that the walk has passed */
	guint64 ts;      /* event clock, of the last record or mark */
	guint at;        /* where the next item lies, in bytes from the page's start */
	guint32 pid;
	guint32 tgid;    /* thread group of `pid`; 0: not known */
	guint32 boot;    /* of the page */
	guint32 chain;   /* clock chain, of the page or the last time mark */
	guint16 context; /* RS_CTX_* */
	enum {
		RS_TRACE_PAGE_WHOLE,
		RS_TRACE_PAGE_FIRST_PIECE,
		RS_TRACE_PAGE_LATER_PIECE,
	} piece;          /* what the next record is */
	guint next_stack; /* frames in the mark before the next record; 0: no mark */

	guint16 id;
	gboolean cut;  /* also a piece; a later one has size 0, since its fields lie elsewhere */
	guint payload; /* where it lies, in bytes from the page's start */
	guint size;    /* of the payload in bytes */
	guint stack;   /* where its stack's frames lie, likewise */
	guint n_stack; /* frames of 8 bytes, at most RS_STACK_MAX; 0: it has no stack */
} RsTracePageWalk;

/* Where the first record of a page lies, in bytes from its start: RS_RING_PAGE_HEADER or more. */
guint rs_trace_page_first(const guint8 *page);

/* Begins a walk at the start of a page, which begins with its struct rs_ring_page. */
void rs_trace_page_begin(RsTracePageWalk *walk, const guint8 *page);

/* Takes the item at walk->at, below `to`. After BAD and PAD it stays where it is. */
RsTracePageItem rs_trace_page_next(RsTracePageWalk *walk, const guint8 *page, guint to);

/* Number of records in [from, to) of a page. *bad (may be NULL): up to an item that is invalid. */
guint rs_trace_page_count(const guint8 *page, guint from, guint to, gboolean *bad);

G_END_DECLS

#endif
