/* SPDX-License-Identifier: MIT */
/*
 * Follows one source of pages: keeps the schema, clock and names that its pages need, decodes them, and gives
 * the records to a merger, which other followers may share. A pump (rs-trace-pump.h) has one for each source; one
 * can also be driven by hand, round by round:
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
 * Takes `source` over. `index` becomes its records' `source`. `merger` outlives the follower, and gets a lane for each
 * ring; NULL: what comes is consumed and not looked at.
 */
RsTraceFollower *rs_trace_follower_new(RsTraceSource *source, guint16 index, RsTraceMerger *merger);
void rs_trace_follower_free(RsTraceFollower *follower);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceFollower, rs_trace_follower_free)

/*
 * Reads every ring once, up to a bound that lets the others get their turn. DATA: something came; IN_FLIGHT:
 * nothing yet, but it will; IDLE; END: nothing will come any more from any ring.
 */
RsTraceRingStatus rs_trace_follower_read(RsTraceFollower *follower, guint64 now_ns);
/* Before the merger lets records out: whom their pids mean. */
void rs_trace_follower_update_names(RsTraceFollower *follower);
/* At the end: gives the merger what is known to be lost after the last chunk of each ring. */
void rs_trace_follower_finish(RsTraceFollower *follower);

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
/* As rs_trace_schema_knows() and rs_trace_schema_take(). */
gboolean rs_trace_follower_knows(const RsTraceFollower *follower, guint slot,
				 const struct rs_provider *entry);
void rs_trace_follower_take_provider(RsTraceFollower *follower, guint slot,
				     const struct rs_provider *entry, const guint8 *data,
				     gsize size);
/* As rs_trace_clock_take(). */
void rs_trace_follower_set_clock(RsTraceFollower *follower, const struct rs_clock_epoch *table,
				 guint n, guint32 epoch_count);
/* As rs_trace_cmdline_merge(). */
void rs_trace_follower_add_names(RsTraceFollower *follower, const guint8 *snapshot,
				 const guint8 *again, gsize size);

G_END_DECLS

#endif
