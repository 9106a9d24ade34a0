/* SPDX-License-Identifier: MIT */
/*
 * Where pages go: a follower decodes them (rs-trace-follower.h), a recorder keeps them. A sink
 * takes the pages of any number of sources. Each source joins it with a feed (rs-trace-feed.h), and
 * can leave it. A pump (rs-trace-pump.h) makes the rounds. Rounds can also be made by hand:
 *
 * 	sink->ops->begin_round(sink)
 * 	rs_trace_feed_read()                    for each feed
 * 	sink->ops->end_round(sink, now)
 *
 * Before a page comes, its source has told all that the records in it refer to: boots, providers
 * and epochs. So the calls of one feed, written down one after the other, are a recording. A source
 * that tells them again in this order gives the same trace.
 *
 * Pages come with their headers, and nobody has looked at their records. Chunks of a ring come in
 * the ring's order. `lost` of a chunk is exact, but for the records that an invalid one hides: the
 * decoder finds those. If a chunk has the same page as the ring's last chunk (`seq` in the header),
 * the page has grown. A source of whole pages lets them grow if it is
 * asked to (set_whole).
 *
 * Ownership: what a call passes is valid during that call, so a sink copies what it keeps. Threads:
 * one at a time, that of the pump. Trust: the bytes are hostile, and only the bounds are checked.
 */
#ifndef RS_TRACE_SINK_H
#define RS_TRACE_SINK_H

#include "rs-trace-source.h"

#include <ringside/control.h>
#include <ringside/descriptor.h>
#include <ringside/trace_file.h>

G_BEGIN_DECLS

typedef struct _RsTraceSink RsTraceSink;

/* Functions that may be NULL say so: then the sink does not need the call. */
typedef struct {
	/* A source joins or leaves, between rounds. feed->state belongs to the sink meanwhile. */
	void (*join)(RsTraceSink *sink, RsTraceFeed *feed);
	void (*leave)(RsTraceSink *sink, RsTraceFeed *feed);

	void (*begin_round)(RsTraceSink *sink);
	/* `now_ns` is a monotonic clock (g_get_monotonic_time). FALSE: the sink wants no more. */
	gboolean (*end_round)(RsTraceSink *sink, guint64 now_ns);
	/* No more rounds come. Not called if the sink wants no more. */
	void (*end)(RsTraceSink *sink);

	/*
	 * The latest boots, with what their agents say of themselves, and the rate of the event
	 * clock as the guest knows it, 0 if it does not. May be NULL.
	 */
	void (*boots)(RsTraceSink *sink, RsTraceFeed *feed,
		      const struct rs_file_boot boots[RS_BOOTS], guint64 hz);
	/* As rs_trace_schema_take(), which feed->schema has done before. May be NULL. */
	void (*provider)(RsTraceSink *sink, RsTraceFeed *feed, guint slot,
			 const struct rs_provider *entry, const guint8 *descs, gsize size);
	/* As rs_trace_clock_take(). May be NULL. */
	void (*clock)(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_clock_epoch *table,
		      guint n, guint32 epoch_count);
	/* As rs_trace_cmdline_merge(). May be NULL. */
	void (*names)(RsTraceSink *sink, RsTraceFeed *feed, const guint8 *snapshot,
		      const guint8 *again, gsize size, gsize stride);

	/* As rs_trace_symbols_take(): names of the source's addresses. May be NULL. */
	void (*symbols)(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_file_symbols *head,
			GBytes *data);

	void (*chunk)(RsTraceSink *sink, RsTraceFeed *feed, const RsTraceChunk *chunk);
	/* The ring was not read to its end in this round. May be NULL. */
	void (*in_flight)(RsTraceSink *sink, RsTraceFeed *feed, guint ring);
	/* At the end of the source: that many records are lost after the ring's last chunk. */
	void (*lost)(RsTraceSink *sink, RsTraceFeed *feed, guint ring, guint64 lost);
	/*
	 * Whether the sink still holds something that refers to feed->schema. Until that is gone,
	 * the source cannot leave. May be NULL: it never does.
	 */
	gboolean (*held)(RsTraceSink *sink, RsTraceFeed *feed);

	void (*free)(RsTraceSink *sink);
} RsTraceSinkOps;

struct _RsTraceSink {
	const RsTraceSinkOps *ops;
};

G_END_DECLS

#endif
