/* SPDX-License-Identifier: MIT */
/*
 * Leads from one source to a sink. It reads the source's rings round by round and passes on pages
 * and what the source tells. It bounds what one round takes, whatever the guest does.
 *
 * One thread at a time. Trust: all that a source tells is hostile. Descriptors are parsed here, by
 * viewer/decode, since the table of a live region can only be read with them in mind.
 */
#ifndef RS_TRACE_FEED_H
#define RS_TRACE_FEED_H

#include "rs-trace-sink.h"

#include <rs-trace-schema.h>

G_BEGIN_DECLS

/* A round reads at most this many chunks of one ring, so that other rings get their turn. */
#define RS_TRACE_FEED_CHUNKS 64u

/* To be read only. */
struct _RsTraceFeed {
	RsTraceSource *source;
	RsTraceSink *sink;     /* NULL: pages are consumed, and the source is not asked for more */
	guint16 number;        /* of the source at the sink */
	gpointer data;         /* of whoever made the feed */
	gpointer state;        /* of the sink, which may write it */
	RsTraceSchema *schema; /* the providers that the source has told */
	gboolean stopped;      /* the last round has not read all rings to their end */
	gboolean more;         /* ... and in one of them there is certainly more to read */
	gsize descs;           /* bytes of descriptors and symbols that were told in this round */
	gint64 credit;         /* us that the source may still wait for its guest */
	gint64 credit_at;      /* monotonic us: when that was counted */
	gint64 own_patience;
	gint64 *patience; /* us that all sources together may still wait in this round */
};

/*
 * Takes `source` over, and makes it join `sink`, which must outlive the feed. No other feed of the
 * sink has that `number`.
 */
RsTraceFeed *rs_trace_feed_new(RsTraceSource *source, RsTraceSink *sink, guint16 number,
			       gpointer data);
/* Leaves the sink, and frees the source. */
void rs_trace_feed_free(RsTraceFeed *feed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceFeed, rs_trace_feed_free)

/*
 * Reads every ring once, up to RS_TRACE_FEED_CHUNKS of each. DATA: something came. IN_FLIGHT:
 * nothing came, but a producer is writing. IDLE: nothing came. END: all rings have ended.
 *
 * A guest may change its table of providers without end. So a round ends after some MiB of new
 * descriptors, and also while too much is kept of providers that have gone. Then the result is
 * IN_FLIGHT: there may be more to read.
 */
RsTraceRingStatus rs_trace_feed_read(RsTraceFeed *feed, guint64 now_ns);
/*
 * For sources that wait for what their guest is writing: rests for a moment. FALSE: there is no
 * time for that. Waiting is bounded for all sources of a round together, and for each source to a
 * hundredth of the time in the long run, so that no guest holds up others.
 */
gboolean rs_trace_feed_rest(RsTraceFeed *feed);
/*
 * What a round may wait, in us. Whoever reads several feeds in a round sets *patience to it when
 * the round begins, and the feeds take from that. Without it each feed has its own.
 */
#define RS_TRACE_FEED_PATIENCE_US 20000
void rs_trace_feed_share_patience(RsTraceFeed *feed, gint64 *patience);
/* Whether pages of this ring wait until they are full: set_whole() of the source. */
void rs_trace_feed_set_whole(RsTraceFeed *feed, guint ring, gboolean whole);
/* Passes on the names of tasks. A name is complete one round after the record that needs it. */
void rs_trace_feed_update_names(RsTraceFeed *feed);
/* At the end: passes on what the source has read and held back. */
void rs_trace_feed_let_go(RsTraceFeed *feed);
/* Likewise, and tells the sink what is known to be lost after the last chunk of each ring. */
void rs_trace_feed_finish(RsTraceFeed *feed);
/* Whether the sink still needs the feed. */
gboolean rs_trace_feed_held(RsTraceFeed *feed);

/* ---- what a source tells; see the functions of the same name in rs-trace-sink.h ---- */

void rs_trace_feed_tell_boots(RsTraceFeed *feed, const struct rs_file_boot boots[RS_BOOTS],
			      guint64 hz);
void rs_trace_feed_tell_provider(RsTraceFeed *feed, guint slot, const struct rs_provider *entry,
				 const guint8 *descs, gsize size);
void rs_trace_feed_tell_clock(RsTraceFeed *feed, const struct rs_clock_epoch *table, guint n,
			      guint32 epoch_count);
void rs_trace_feed_tell_names(RsTraceFeed *feed, const guint8 *snapshot, const guint8 *again,
			      gsize size, gsize stride);
void rs_trace_feed_tell_symbols(RsTraceFeed *feed, const struct rs_file_symbols *head,
				GBytes *data);

G_END_DECLS

#endif
