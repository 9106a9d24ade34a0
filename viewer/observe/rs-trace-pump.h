/* SPDX-License-Identifier: MIT */
/*
 * Reads sources on a thread of its own, and calls back with their records in the order of time. So
 * a terminal or a pipe that takes records slowly delays neither the guest nor its session.
 *
 * All functions here are called on the owner's thread.
 */
#ifndef RS_TRACE_PUMP_H
#define RS_TRACE_PUMP_H

#include "rs-trace-decoder.h"
#include "rs-trace-cmdline.h"
#include "rs-trace-source.h"

G_BEGIN_DECLS

typedef struct _RsTracePump RsTracePump;

typedef struct {
	/*
	 * On the pump's thread: a record, its task (without a name if the record is no event), and
	 * the `data` of rs_trace_pump_add() as `source`. Record and task are valid during the call.
	 * NULL: pages are consumed and not decoded.
	 */
	void (*record)(const RsTraceRecord *record, const RsTraceTask *task, gpointer source,
		       gpointer data);
	/* On the pump's thread, after each round. FALSE: the pump is to end. May be NULL. */
	gboolean (*round)(gpointer data);
	gpointer record_data; /* for both */
	/*
	 * On the owner's thread: a source for which rs_trace_pump_end() was called has been read
	 * and freed. May be NULL.
	 */
	void (*ended)(gpointer source, gpointer data);
	/* On the owner's thread: the pump has ended by itself. May be NULL. */
	void (*done)(gpointer data);
	gpointer data;
} RsTracePumpConfig;

/* It does nothing before it is started. */
RsTracePump *rs_trace_pump_new(const RsTracePumpConfig *config);
/*
 * Begins to read, once. Records of all sources that were added before are handed out in the order
 * of time. A source that is added later may have records that are older than those already handed
 * out. The pump ends by itself when it has had a source and all its sources have ended.
 */
void rs_trace_pump_start(RsTracePump *pump);

/*
 * Takes `source` over, from the next round on. `data` is handed back with its records. Returns the
 * `source` of its records: the lowest number that no other source has.
 */
guint rs_trace_pump_add(RsTracePump *pump, RsTraceSource *source, gpointer data);
/*
 * The source with that number writes no more. The pump reads what is there, and then frees the
 * source.
 */
void rs_trace_pump_end(RsTracePump *pump, guint number);

/* The doorbell rang. */
void rs_trace_pump_wake(RsTracePump *pump);

/*
 * Reads what is still there, then ends the thread. Returns the number of pages that were cut short
 * and of records whose event is unknown. It may be called again.
 */
guint64 rs_trace_pump_finish(RsTracePump *pump);
/* Likewise, but hands out only what was read by now: a source may write as fast as we read. */
guint64 rs_trace_pump_stop(RsTracePump *pump);

/* Finishes if need be, and frees the sources. NULL is accepted. */
void rs_trace_pump_free(RsTracePump *pump);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTracePump, rs_trace_pump_free)

G_END_DECLS

#endif
