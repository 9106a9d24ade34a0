/* SPDX-License-Identifier: MIT */
/*
 * A place in a list of up to 2^63 rows, to the pixel, and the value of an adjustment that stands
 * for it. The adjustment counts pixels as long as a double can tell each from the next. In a longer
 * list its whole length is squeezed into what a double can tell: then a step moves by pixels still, and
 * only a far jump is as coarse as that.
 *
 * No GTK, no allocation. Any thread.
 */
#ifndef RS_VIEWER_SCROLL_H
#define RS_VIEWER_SCROLL_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
	guint64 rows;  /* of the list */
	guint height;  /* pixels of a row, at least 1 */
	guint page;    /* pixels in view */
	guint64 top;   /* the first row of which something is in view */
	double offset; /* pixels of it that are out of view, less than `height` */
} RsViewerScroll;

/* Of the adjustment. */
double rs_viewer_scroll_upper(const RsViewerScroll *scroll);
double rs_viewer_scroll_value(const RsViewerScroll *scroll);
/* The adjustment has another value. */
void rs_viewer_scroll_set_value(RsViewerScroll *scroll, double value);
/* By so many pixels. */
void rs_viewer_scroll_by(RsViewerScroll *scroll, double pixels);
/* To where that row is first; no further than the end. */
void rs_viewer_scroll_to(RsViewerScroll *scroll, guint64 row);
/* By as little as is needed for all of that row to be in view; to the middle if it is far away. */
void rs_viewer_scroll_show(RsViewerScroll *scroll, guint64 row);
void rs_viewer_scroll_to_end(RsViewerScroll *scroll);
gboolean rs_viewer_scroll_is_at_end(const RsViewerScroll *scroll);
/* After rows, height or page have changed: back to where there is something. */
void rs_viewer_scroll_fix(RsViewerScroll *scroll);
/* Rows of which something is in view. */
guint rs_viewer_scroll_in_view(const RsViewerScroll *scroll);

G_END_DECLS

#endif
