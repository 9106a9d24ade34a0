/* SPDX-License-Identifier: MIT */
/*
 * Slices between two events of a task: "BEGIN..END", each a glob of events. A timeline holds their
 * records, which are taken step by step. Slices that overlap lie below each other, and those of one
 * task are nested: an end ends the latest slice of its task that is open. The idle tasks of vCPUs
 * are tasks of their own. An end without a begin is passed over, and a slice without an end lasts.
 *
 * What is deeper than RS_VIEWER_PAIR_ROWS shares the last row. Of each task the outermost
 * RS_VIEWER_PAIR_ROWS slices are known. Those in them are only counted, and as many ends are
 * theirs.
 *
 * Ends may be missing. Slices are then given up: they are drawn until then, and nobody knows how
 * long they were. Ends that come for them later have no begin.
 *   - At a loss or a boot of a source, all slices of each task that has one from that source.
 *   - All slices of a task that is at that depth for long: inside of the known ones it has begun
 *     slices anew after an end RS_VIEWER_PAIR_TURNS times, and the next time is one too many. What
 *     truly goes so deep and so often up and down looks the same, and is given up, too.
 *
 * Threads: any, under the lock of the timeline. Trust: records may be anything. What is known of a
 * task is bounded, no matter what others do.
 */
#ifndef RS_VIEWER_PAIRS_H
#define RS_VIEWER_PAIRS_H

#include "timeline/rs-trace-timeline.h"

G_BEGIN_DECLS

#define RS_VIEWER_PAIR_ROWS 64u
#define RS_VIEWER_PAIR_TURNS 64u

typedef struct _RsViewerPairs RsViewerPairs;

/* Splits "BEGIN..END". FALSE: it is not of that form. */
gboolean rs_viewer_pairs_split(const char *text, char **begin, char **end);

/* Keeps a reference to `timeline`. NULL: the text is not of that form. */
RsViewerPairs *rs_viewer_pairs_new(RsTraceTimeline *timeline, const char *text);
RsViewerPairs *rs_viewer_pairs_ref(RsViewerPairs *pairs);
/* NULL is accepted. */
void rs_viewer_pairs_unref(RsViewerPairs *pairs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsViewerPairs, rs_viewer_pairs_unref)

/*
 * Takes up to `n` more rows of the timeline, which is locked, and returns how many. What may still
 * change its place is left, unless the timeline is `complete`.
 */
guint rs_viewer_pairs_step(RsViewerPairs *pairs, guint n, gboolean complete);

guint rs_viewer_pairs_n_rows(const RsViewerPairs *pairs);
/* Spans: slices have tags other than 0. */
const RsTraceSeries *rs_viewer_pairs_row(const RsViewerPairs *pairs, guint row);
/* Slices that have begun, and ends for which there was no begin. */
guint64 rs_viewer_pairs_count(const RsViewerPairs *pairs);
guint64 rs_viewer_pairs_unmatched(const RsViewerPairs *pairs);
/* Slices that share the last row with one that was open there. */
guint64 rs_viewer_pairs_shared(const RsViewerPairs *pairs);
/* Slices that were given up. */
guint64 rs_viewer_pairs_given_up(const RsViewerPairs *pairs);

typedef struct {
	guint64 from, until;               /* until G_MAXUINT64: it has not ended */
	gboolean is_given_up;              /* by then: its end is not known */
	const RsTraceTimelineClass *begin; /* the event it begins with; NULL: not known */
} RsViewerSlice;

/* What lies in that row at that moment. FALSE: nothing. */
gboolean rs_viewer_pairs_at(RsViewerPairs *pairs, guint row, guint64 ns, RsViewerSlice *slice);

G_END_DECLS

#endif
