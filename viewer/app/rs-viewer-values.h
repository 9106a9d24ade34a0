/* SPDX-License-Identifier: MIT */
/*
 * Values of a counter by time: a growing series that says the least and the most of any stretch
 * without looking at each. A value holds until the next one.
 *
 * One thread at a time. Trust: values may be any number that is not NaN; times that go back count
 * as the last one.
 */
#ifndef RS_VIEWER_VALUES_H
#define RS_VIEWER_VALUES_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct _RsViewerValues RsViewerValues;

typedef struct {
	gboolean has;       /* there is a value by then */
	double least, most; /* that it had in the column, with the one that held at its begin */
	double last;        /* that it has at the end */
} RsViewerValueColumn;

RsViewerValues *rs_viewer_values_new(void);
/* NULL is accepted. */
void rs_viewer_values_free(RsViewerValues *values);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsViewerValues, rs_viewer_values_free)

void rs_viewer_values_append(RsViewerValues *values, guint64 ns, double value);
guint64 rs_viewer_values_count(const RsViewerValues *values);
/* How many are earlier than `ns`. */
guint64 rs_viewer_values_rank(const RsViewerValues *values, guint64 ns);
/* The one with that index, which is less than the count. */
double rs_viewer_values_at(const RsViewerValues *values, guint64 index, guint64 *ns);
/* Fills out[0..n-1]: of each stretch [edges[i], edges[i+1]). Edges do not go back. */
void rs_viewer_values_columns(const RsViewerValues *values, const guint64 *edges, guint n,
			      RsViewerValueColumn *out);

G_END_DECLS

#endif
