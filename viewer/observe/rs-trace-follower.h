/* SPDX-License-Identifier: MIT */
/*
 * Follows one source of pages. It keeps the schema, clock and names that the pages need, decodes
 * them, and gives the records to a merger. Several followers may share the merger. A pump
 * (rs-trace-pump.h) has a follower for each source. A follower can also be driven by hand:
 *
 * 	rs_trace_merger_begin_round()
 * 	rs_trace_follower_read()                for each follower
 * 	rs_trace_follower_update_names()        likewise
 * 	rs_trace_merger_end_round()
 *
 * One thread at a time. Trust: all that a source tells is hostile, and is parsed here by
 * viewer/decode.
 */
#ifndef RS_TRACE_FOLLOWER_H
#define RS_TRACE_FOLLOWER_H

#include "rs-trace-cmdline.h"
#include "rs-trace-merger.h"
#include "rs-trace-source.h"

#include <ringside/control.h>

G_BEGIN_DECLS

/* A round reads at most this many chunks of one ring, so that other rings get their turn. */
#define RS_TRACE_FOLLOWER_CHUNKS 64u

/*
 * Takes `source` over. `index` becomes the `source` of its records. `merger` gets a lane for each
 * ring, and must outlive the follower. `merger` NULL: pages are consumed and not decoded.
 */
RsTraceFollower *rs_trace_follower_new(RsTraceSource *source, guint16 index, RsTraceMerger *merger);
void rs_trace_follower_free(RsTraceFollower *follower);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceFollower, rs_trace_follower_free)

/*
 * Reads every ring once, up to RS_TRACE_FOLLOWER_CHUNKS of each. DATA: something came. IN_FLIGHT:
 * nothing came, but a producer is writing. IDLE: nothing came. END: all rings have ended.
 *
 * A guest may change its table of providers without end. So a round ends after some MiB of new
 * descriptors, and also while too much is kept of providers that have gone. Then the result is
 * IN_FLIGHT: there may be more to read.
 */
RsTraceRingStatus rs_trace_follower_read(RsTraceFollower *follower, guint64 now_ns);
/* Learns the names of tasks. To be called before the merger lets records out. */
void rs_trace_follower_update_names(RsTraceFollower *follower);
/* At the end: gives the merger what is known to be lost after the last chunk of each ring. */
void rs_trace_follower_finish(RsTraceFollower *follower);

/* Whether the merger still holds records of this follower. They point to its events. */
gboolean rs_trace_follower_held(const RsTraceFollower *follower);

RsTraceSource *rs_trace_follower_source(const RsTraceFollower *follower);
/*
 * The task that a record's pid means. A loss or a boot has no name. `out` is valid until names are
 * updated.
 */
void rs_trace_follower_task(const RsTraceFollower *follower, const RsTraceRecord *record,
			    RsTraceTask *out);
/* Number of pages that were cut short and of records whose event is unknown. */
guint64 rs_trace_follower_bad(const RsTraceFollower *follower);

/* ---- what a source tells ---- */

/* When boots began, and the rate of the event clock as the guest knows it, 0 if it does not. */
void rs_trace_follower_set_boots(RsTraceFollower *follower, const struct rs_boot boots[RS_BOOTS],
				 guint64 hz);
/* The providers that it knows so far. */
const RsTraceSchema *rs_trace_follower_schema(const RsTraceFollower *follower);
/* As rs_trace_schema_take(). */
void rs_trace_follower_take_provider(RsTraceFollower *follower, guint slot,
				     const struct rs_provider *entry, const guint8 *data,
				     gsize size);
/* As rs_trace_clock_take(). */
void rs_trace_follower_set_clock(RsTraceFollower *follower, const struct rs_clock_epoch *table,
				 guint n, guint32 epoch_count);
/* As rs_trace_cmdline_merge(). */
void rs_trace_follower_add_names(RsTraceFollower *follower, const guint8 *snapshot,
				 const guint8 *again, gsize size, gsize stride);

G_END_DECLS

#endif
