/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-scroll.h"

#include <math.h>

/* A double tells quarters of a pixel from each other up to here. */
#define EXACT ((double)(G_GUINT64_CONSTANT(1) << 51))
/* A change of the value by less than so many pages is a step. */
#define STEP_PAGES 4

static double length_of(const RsViewerScroll *scroll)
{
	return (double)scroll->rows * scroll->height;
}

static gboolean is_squeezed(const RsViewerScroll *scroll)
{
	return length_of(scroll) > EXACT;
}

double rs_viewer_scroll_upper(const RsViewerScroll *scroll)
{
	return MAX(MIN(length_of(scroll), EXACT), (double)scroll->page);
}

/* The last place: the end of the list at the end of the view. */
static void last_place(const RsViewerScroll *scroll, guint64 *top, double *offset)
{
	guint64 fit = scroll->page / scroll->height;
	guint rest = scroll->page % scroll->height;

	if (scroll->rows <= fit) {
		*top = 0;
		*offset = 0;
		return;
	}
	*top = scroll->rows - fit - (rest ? 1 : 0);
	*offset = rest ? scroll->height - rest : 0;
}

static gboolean is_behind(guint64 top, double offset, guint64 other, double other_offset)
{
	return top > other || (top == other && offset > other_offset);
}

void rs_viewer_scroll_fix(RsViewerScroll *scroll)
{
	guint64 top;
	double offset;

	last_place(scroll, &top, &offset);
	scroll->offset = CLAMP(scroll->offset, 0, scroll->height - 1);
	if (is_behind(scroll->top, scroll->offset, top, offset)) {
		scroll->top = top;
		scroll->offset = offset;
	}
}

double rs_viewer_scroll_value(const RsViewerScroll *scroll)
{
	double last = rs_viewer_scroll_upper(scroll) - scroll->page;

	if (!is_squeezed(scroll))
		return (double)scroll->top * scroll->height + scroll->offset;
	if (rs_viewer_scroll_is_at_end(scroll))
		return last;
	return MIN((double)scroll->top / (double)scroll->rows * EXACT, last);
}

void rs_viewer_scroll_by(RsViewerScroll *scroll, double pixels)
{
	double place = scroll->offset + pixels, rows = floor(place / scroll->height);

	if (!isfinite(pixels))
		return;
	if (rows < 0 && -rows > (double)scroll->top) {
		scroll->top = 0;
		scroll->offset = 0;
		return;
	}
	if (rows >= (double)(scroll->rows - MIN(scroll->top, scroll->rows))) {
		rs_viewer_scroll_to_end(scroll);
		return;
	}
	scroll->top += (guint64)(gint64)rows;
	scroll->offset = place - rows * scroll->height;
	rs_viewer_scroll_fix(scroll);
}

void rs_viewer_scroll_set_value(RsViewerScroll *scroll, double value)
{
	double before = rs_viewer_scroll_value(scroll);
	double last = rs_viewer_scroll_upper(scroll) - scroll->page;

	if (!isfinite(value))
		return;
	value = CLAMP(value, 0, last);
	if (!is_squeezed(scroll)) {
		scroll->top = (guint64)(value / scroll->height);
		scroll->offset = value - (double)scroll->top * scroll->height;
	} else if (value >= last) {
		rs_viewer_scroll_to_end(scroll);
	} else if (fabs(value - before) < (double)STEP_PAGES * scroll->page) {
		rs_viewer_scroll_by(scroll, value - before);
	} else {
		double row = value / EXACT * (double)scroll->rows;

		scroll->top = row < (double)scroll->rows ? (guint64)row : scroll->rows;
		scroll->offset = 0;
	}
	rs_viewer_scroll_fix(scroll);
}

void rs_viewer_scroll_to(RsViewerScroll *scroll, guint64 row)
{
	scroll->top = row;
	scroll->offset = 0;
	rs_viewer_scroll_fix(scroll);
}

void rs_viewer_scroll_to_end(RsViewerScroll *scroll)
{
	last_place(scroll, &scroll->top, &scroll->offset);
}

gboolean rs_viewer_scroll_is_at_end(const RsViewerScroll *scroll)
{
	guint64 top;
	double offset;

	last_place(scroll, &top, &offset);
	return !is_behind(top, offset, scroll->top, scroll->offset);
}

void rs_viewer_scroll_show(RsViewerScroll *scroll, guint64 row)
{
	guint64 fit = MAX(scroll->page / scroll->height, 1);
	guint rest = scroll->page > fit * scroll->height
			     ? (guint)(scroll->page - fit * scroll->height)
			     : 0;

	if (row < scroll->top || (row == scroll->top && scroll->offset > 0)) {
		rs_viewer_scroll_to(scroll,
				    scroll->top - row <= fit ? row : row - MIN(row, fit / 2));
	} else if (row - scroll->top >= 2 * fit) {
		rs_viewer_scroll_to(scroll, row - fit / 2);
	} else if ((double)(row - scroll->top + 1) * scroll->height - scroll->offset >
		   scroll->page) {
		/* its lower edge at the view's */
		scroll->top = row + 1 - fit - (rest ? 1 : 0);
		scroll->offset = rest ? scroll->height - rest : 0;
		rs_viewer_scroll_fix(scroll);
	}
}

guint rs_viewer_scroll_in_view(const RsViewerScroll *scroll)
{
	guint64 left = scroll->rows - MIN(scroll->top, scroll->rows);
	guint64 n = ((guint64)scroll->offset + scroll->page + scroll->height - 1) / scroll->height;

	return (guint)MIN(left, n + 1);
}
