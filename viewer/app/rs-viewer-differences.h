/* SPDX-License-Identifier: MIT */
/*
 * What differs between two traces as rows of a table: analysis/rs-trace-diff.h. No GTK.
 *
 * Thread: main. Trust: names of events are hostile; texts are escaped and valid UTF-8.
 */
#ifndef RS_VIEWER_DIFFERENCES_H
#define RS_VIEWER_DIFFERENCES_H

#include "analysis/rs-trace-diff.h"

#include <gio/gio.h>

G_BEGIN_DECLS

typedef enum {
	RS_VIEWER_DIFFERENCE_NAME,
	RS_VIEWER_DIFFERENCE_COUNT_A,
	RS_VIEWER_DIFFERENCE_COUNT_B,
	RS_VIEWER_DIFFERENCE_RATE_A, /* events in a second; of losses, their share */
	RS_VIEWER_DIFFERENCE_RATE_B,
	RS_VIEWER_DIFFERENCE_DELTA,  /* between the rates */
	RS_VIEWER_DIFFERENCE_CHANGE, /* of the rate */
	RS_VIEWER_DIFFERENCE_COLUMNS,
} RsViewerDifferenceColumn;

#define RS_VIEWER_TYPE_DIFFERENCE (rs_viewer_difference_get_type())
G_DECLARE_FINAL_TYPE(RsViewerDifference, rs_viewer_difference, RS_VIEWER, DIFFERENCE, GObject)

/* One for each of RsTraceDiffRow, in their order; it keeps what it needs of them. Own it. */
GListModel *rs_viewer_differences_new(const GPtrArray *rows);

/* A cell, to be freed. */
char *rs_viewer_difference_text(const RsViewerDifference *difference,
				RsViewerDifferenceColumn column);
/*
 * Less than 0: `a` comes first when the table is sorted by that column, up. Changes are sorted by
 * how large they are, in whatever direction.
 */
int rs_viewer_difference_compare(const RsViewerDifference *a, const RsViewerDifference *b,
				 RsViewerDifferenceColumn column);
/*
 * A filter that leaves the row's records, to be freed. NULL: there is none, as of losses, which are
 * always shown, and of an event that nobody has described.
 */
char *rs_viewer_difference_filter(const RsViewerDifference *difference);

G_END_DECLS

#endif
