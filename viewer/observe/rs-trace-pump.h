/* SPDX-License-Identifier: MIT */
/*
 * Reads sources on a thread of its own, round by round, and leads what they hand out to one sink.
 * So a terminal, a pipe or a disk that is slow delays neither the guest nor its session.
 *
 * All functions here are called on the owner's thread.
 */
#ifndef RS_TRACE_PUMP_H
#define RS_TRACE_PUMP_H

#include "rs-trace-sink.h"

G_BEGIN_DECLS

typedef struct _RsTracePump RsTracePump;

typedef struct {
	/*
	 * The pump takes it over, and frees it when the pump is freed. The owner may use it again
	 * once the pump has finished. When the sink wants no more, the pump ends. NULL: pages are
	 * consumed.
	 */
	RsTraceSink *sink;
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
 * Begins to read, once. A follower hands out the records of all sources that were added before in
 * the order of time. A source that is added later may have records that are older than those
 * already handed out. The pump ends by itself when it has had a source and all its sources have
 * ended.
 */
void rs_trace_pump_start(RsTracePump *pump);

/*
 * Takes `source` over, from the next round on. `data` becomes that of its feed. Returns the feed's
 * number: the lowest that no other source has.
 */
guint rs_trace_pump_add(RsTracePump *pump, RsTraceSource *source, gpointer data);
/*
 * The source with that number writes no more. The pump reads what is there, and then frees the
 * source.
 */
void rs_trace_pump_end(RsTracePump *pump, guint number);

/*
 * A source's rings refuse records while they are full, and this pump empties them. From the next
 * round on its thread has a larger share of the cores, as far as the system allows it. `real_time`:
 * it even runs before others of the machine, for nine tenths of the time at most. That is not for
 * sinks whose work may take more than a core has. Where it is refused, all goes on as before.
 */
void rs_trace_pump_set_urgent(RsTracePump *pump, gboolean real_time);

/* The doorbell rang. */
void rs_trace_pump_wake(RsTracePump *pump);

/* Reads what is still there, then ends the thread. It may be called again. */
void rs_trace_pump_finish(RsTracePump *pump);
/* Likewise, but hands out only what was read by now: a source may write as fast as we read. */
void rs_trace_pump_stop(RsTracePump *pump);

/* Finishes if need be, and frees the sources and the sink. NULL is accepted. */
void rs_trace_pump_free(RsTracePump *pump);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTracePump, rs_trace_pump_free)

G_END_DECLS

#endif
