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
	 * A record and its task (without a name if the record is no event), valid during the call.
	 * record->origin is never NULL, and lives until its source has ended.
	 */
	void (*record)(const RsTraceRecord *record, const RsTraceTask *task, gpointer data);
	/* After the records of each round. FALSE: no more are wanted. May be NULL. */
	gboolean (*round)(gpointer data);
	/*
	 * Says what cannot be seen from a feed, as the recorder's: name and number of the source
	 * whose feed has `source` as its data. Called when it joins. NULL: origins have no names.
	 */
	void (*describe)(gpointer source, struct rs_file_source *out, gpointer data);
	gpointer data;
	/*
	 * Guests choose the times of their records. One that claims to be later than this after the
	 * round in which it comes out has that time as its sorted_ns, so that nobody waits for a
	 * time that does not come. A reader likewise bounds it by the end of its window.
	 * 0: whatever they claim.
	 */
	guint64 ahead_ns;
	guint64 origin_ns; /* monotonic: time 0 of records; used with `ahead_ns` */
} RsTraceFollowerConfig;

/* For the caller or a pump to free, by its ops. */
RsTraceSink *rs_trace_follower_new(const RsTraceFollowerConfig *config);

/*
 * The task that a record of the feed means. A loss or a boot has none. `out` is valid until the
 * next round.
 */
void rs_trace_follower_task(const RsTraceFeed *feed, const RsTraceRecord *record, RsTraceTask *out);
/*
 * Number of pages that were cut short and of records whose event is unknown, of all sources so far.
 */
guint64 rs_trace_follower_bad(const RsTraceSink *follower);

G_END_DECLS

#endif
