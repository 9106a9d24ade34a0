/* SPDX-License-Identifier: MIT */
/*
 * Follows one source of pages. It keeps the schema, clock and names that the pages need, decodes
 * them, and gives the records to a merger. Several followers may share the merger. A pump
 * (rs-trace-pump.h) has a follower for each source. A follower can also be driven by hand:
 *
 *	rs_trace_merger_begin_round()
 *	rs_trace_follower_read()                for each follower
 *	rs_trace_follower_update_names()        likewise
 *	rs_trace_merger_end_round()
 *
 * One thread at a time.
 */
#ifndef RS_TRACE_FOLLOWER_H
#define RS_TRACE_FOLLOWER_H

#include "rs-trace-cmdline.h"
#include "rs-trace-merger.h"
#include "rs-trace-source.h"

#include <ringside/control.h>

G_BEGIN_DECLS

/* Chunks of one ring in one round, so that the others get their turn. */
#define RS_TRACE_FOLLOWER_CHUNKS 64u

/*
 * Takes `source` over. `index` becomes the `source` of its records. `merger` gets a lane for each
 * ring, and outlives the follower. NULL: pages are consumed and not decoded.
 */
RsTraceFollower *rs_trace_follower_new(RsTraceSource *source, guint16 index, RsTraceMerger *merger);
void rs_trace_follower_free(RsTraceFollower *follower);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceFollower, rs_trace_follower_free)

/*
 * Reads every ring once, up to RS_TRACE_FOLLOWER_CHUNKS of each. DATA: something came. IN_FLIGHT:
 * nothing came, but a producer is writing. IDLE: nothing came. END: all rings have ended.
 *
 * A guest that changes its table of providers without end is read in small pieces, each of at most
 * some MiB of descriptors, and what is remembered of earlier ones is bounded likewise. IN_FLIGHT
 * then means that such a piece ended, and there may be more.
 */
RsTraceRingStatus rs_trace_follower_read(RsTraceFollower *follower, guint64 now_ns);
/* Learns the names of tasks. To be called before the merger lets records out. */
void rs_trace_follower_update_names(RsTraceFollower *follower);
/* At the end: gives the merger what is known to be lost after the last chunk of each ring. */
void rs_trace_follower_finish(RsTraceFollower *follower);

/* Whether the merger still holds records of it; they name its events. */
gboolean rs_trace_follower_held(const RsTraceFollower *follower);

RsTraceSource *rs_trace_follower_source(const RsTraceFollower *follower);
/* Whom a record's pid means; no name for a loss or a boot. Valid until names are updated. */
void rs_trace_follower_task(const RsTraceFollower *follower, const RsTraceRecord *record,
			    RsTraceTask *out);
/* Pages cut short and records of unknown events. */
guint64 rs_trace_follower_bad(const RsTraceFollower *follower);

/* ---- what a source tells ---- */

/* When boots began, and the rate of the event clock as the guest knows it, 0 if it does not. */
void rs_trace_follower_set_boots(RsTraceFollower *follower, const struct rs_boot boots[RS_BOOTS],
				 guint64 hz);
/* What it knows of providers so far. */
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
