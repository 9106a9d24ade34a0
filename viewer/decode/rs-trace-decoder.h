/* SPDX-License-Identifier: MIT */
/*
 * Turns ring pages into records. A reader of rings (viewer/observe) or of a trace file pushes
 * copies of pages, or pieces of them as they grow. The decoder passes each record and each loss to
 * a callback, in the ring's order. Who would rather take them one by one can do so.
 *
 * The bytes are hostile. The caller passes a private copy, and the decoder bounds every id, size
 * and time. An invalid record ends its page and is counted. Payloads are not copied: they point
 * into the caller's page. One thread at a time.
 */
#ifndef RS_TRACE_DECODER_H
#define RS_TRACE_DECODER_H

#include "rs-trace-clock.h"
#include "rs-trace-moment.h"
#include "rs-trace-origin.h"
#include "rs-trace-page.h"
#include "rs-trace-schema.h"
#include "rs-trace-symbols.h"

G_BEGIN_DECLS

/* What comes out, in the ring's order. */
typedef enum {
	RS_TRACE_RECORD_EVENT,
	RS_TRACE_RECORD_LOSS, /* stands before the ring's next record */
	RS_TRACE_RECORD_BOOT, /* the guest's agent started again: boot `when.boot` begins */
} RsTraceRecordKind;

typedef struct {
	RsTraceRecordKind kind;
	guint64 ns; /* by the clock */
	/* Of a file: ns, or when it was written, if it claims to be later. It is sorted by it. */
	guint64 sorted_ns;
	RsTraceMoment when;        /* of a loss: no later than the next record */
	guint64 lost;              /* of a loss: how many; below only ring and origin are set */
	const RsTraceEvent *event; /* NULL: nothing is known of `id` */
	const guint8 *payload;
	guint size; /* of the payload in bytes; may be less than event->entry_size */
	guint32 pid;
	guint32 tgid;    /* thread group of `pid` as the record's page says; 0: it does not */
	guint16 context; /* RS_CTX_* */
	guint16 id;
	guint16 ring; /* the vCPU; set for a loss and a boot too */
	gboolean cut; /* the payload did not fit and its end is missing */
	/* As rs_trace_decoder_set_origin() said; likewise. NULL: it was not said. */
	const RsTraceOrigin *origin;
	/* Who called the tracepoint: addresses of 8 bytes, innermost first. In the caller's page */
	const guint8 *stack;
	guint n_stack; /* frames, at most RS_STACK_MAX; 0: the event came without a stack */
	/* Names of the source's addresses. NULL: none are known, or none are to be shown. */
	const RsTraceSymbols *symbols;
} RsTraceRecord;

typedef void (*RsTraceRecordFunc)(const RsTraceRecord *record, gpointer data);
/* An event of a source. */
typedef void (*RsTraceEventFunc)(const RsTraceEvent *event, const RsTraceOrigin *origin,
				 gpointer data);
typedef struct {
	guint64 records;
	guint64 lost;
	guint64 bad_pages; /* ended early by an invalid record or header */
	guint64 unknown;   /* records whose event is not in the schema */
} RsTraceDecoderStats;

typedef struct _RsTraceDecoder RsTraceDecoder;

/*
 * For rings 0 to n_rings - 1. `schema` and `clock` must outlive the decoder. `clock` may be NULL:
 * then ns is ts. `record` may be NULL if nothing is pushed.
 */
RsTraceDecoder *rs_trace_decoder_new(guint n_rings, const RsTraceSchema *schema,
				     RsTraceClock *clock, RsTraceRecordFunc record, gpointer data);
/* Where the records are from; NULL until then. Must outlive them. */
void rs_trace_decoder_set_origin(RsTraceDecoder *decoder, const RsTraceOrigin *origin);
/* What the records' `symbols` are from now on; NULL until then. Must outlive the records. */
void rs_trace_decoder_set_symbols(RsTraceDecoder *decoder, const RsTraceSymbols *symbols);
void rs_trace_decoder_free(RsTraceDecoder *decoder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceDecoder, rs_trace_decoder_free)

/*
 * Begins with bytes [from, to) of a page copy that begins with its struct rs_ring_page. Bytes
 * before `from` belong to what came earlier, and are still in the copy. `lost` records are missing
 * between what came last of this ring and this. rs_trace_decoder_next() hands out what lies there,
 * for as long as the copy stays. What it has not handed out of an earlier page is forgotten. FALSE:
 * these bytes stand behind an invalid part of the page, so nothing comes.
 */
gboolean rs_trace_decoder_begin(RsTraceDecoder *decoder, guint ring, const guint8 *page, guint from,
				guint to, guint64 lost);
/*
 * The next record of the ring. FALSE: there is none, or the rest of the page is invalid. That is
 * counted. The records in that rest are lost, which the ring's next page says.
 */
gboolean rs_trace_decoder_next(RsTraceDecoder *decoder, guint ring, RsTraceRecord *out);
/*
 * Both of them at once: passes all records to the callback. FALSE: the page is invalid from some
 * place on.
 */
gboolean rs_trace_decoder_push(RsTraceDecoder *decoder, guint ring, const guint8 *page, guint from,
			       guint to, guint64 lost);

/* The decoder's own: they grow with what is handed out. */
const RsTraceDecoderStats *rs_trace_decoder_stats(const RsTraceDecoder *decoder);

G_END_DECLS

#endif
