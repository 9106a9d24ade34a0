/* SPDX-License-Identifier: MIT */
/*
 * The sink that decodes: it keeps the clock and the names of each source, and passes on the records
 * of all sources in the order of time. Functions here are called on the thread of the rounds.
 */
#ifndef RS_TRACE_FOLLOWER_H
#define RS_TRACE_FOLLOWER_H

#include "rs-trace-cmdline.h"
#include "rs-trace-decoder.h"
#include "rs-trace-sink.h"

G_BEGIN_DECLS

typedef struct {
	/*
	 * A record, its task (without a name if the record is no event), and the `data` of its
	 * source's feed as `source`. Record and task are valid during the call. The record's
	 * `source` is the feed's number.
	 */
	void (*record)(const RsTraceRecord *record, const RsTraceTask *task, gpointer source,
		       gpointer data);
	/* After the records of each round. FALSE: no more are wanted. May be NULL. */
	gboolean (*round)(gpointer data);
	gpointer data;
} RsTraceFollowerConfig;

/* For the caller or a pump to free, by its ops. */
RsTraceSink *rs_trace_follower_new(const RsTraceFollowerConfig *config);

/* The task that a record means. A loss or a boot has none. `out` is valid until the next round. */
void rs_trace_follower_task(const RsTraceSink *follower, const RsTraceRecord *record,
			    RsTraceTask *out);
/*
 * Number of pages that were cut short and of records whose event is unknown, of all sources so far.
 */
guint64 rs_trace_follower_bad(const RsTraceSink *follower);

G_END_DECLS

#endif
