/* SPDX-License-Identifier: MIT */
/*
 * Rows of pixels of a timeline: what lies in the time of each pixel, as its exact mean colour. What
 * exists is seen, however little of a pixel's time it has.
 *
 * A stretch of time is cut into columns of whole nanoseconds. There are as many as pixels, or one
 * for each nanosecond if there are fewer of these: then a column has several pixels, all of the
 * same colour. So no pixel shows what is not there.
 *
 * Pixels are 0xAARRGGBB in the byte order of the machine, premultiplied: GDK_MEMORY_DEFAULT.
 *
 * Any thread. Trust: whatever shades, losses and times say, each is a pixel.
 */
#ifndef RS_TRACE_RASTER_H
#define RS_TRACE_RASTER_H

#include "timeline/rs-trace-timeline.h"

G_BEGIN_DECLS

/*
 * Cuts [from, until) into at most `width` columns, at least 1 of each, and fills edges[0..n] of
 * those. Returns n. Column i is [edges[i], edges[i+1]).
 */
guint rs_trace_raster_edges(guint64 from, guint64 until, guint width, guint64 *edges);
/* The moment at which a pixel begins, and the pixel that a moment is in; both bounded. */
guint64 rs_trace_raster_time(guint64 from, guint64 until, guint width, double x);
double rs_trace_raster_place(guint64 from, guint64 until, guint width, guint64 ns);

/* Adds what another series has in the same columns. */
void rs_trace_raster_add(RsTraceShade *sum, const RsTraceShade *more, guint n);

/*
 * `width` pixels of `n` columns of points. One that is alone is seen well, and from `full` points
 * in a column on nothing shines through.
 */
void rs_trace_raster_points(const RsTraceShade *shades, guint n, double full, guint32 *pixels,
			    guint width);
/* Of spans: the less of a column's time they have, the more shines through. */
void rs_trace_raster_spans(const RsTraceShade *shades, const guint64 *edges, guint n,
			   guint32 *pixels, guint width);

/*
 * Sets marks[i] of each column in which something was lost: in which the stretch from `since` to
 * `ns` of a loss lies, both included. Others are left as they are. FALSE: none was set.
 */
gboolean rs_trace_raster_losses(const RsTraceTimelineLoss *losses, guint n_losses,
				const guint64 *edges, guint n, guint8 *marks);
/* Pixels of one colour, at least 2 wide, where marks are; the others are transparent. */
void rs_trace_raster_marks(const guint8 *marks, guint n, guint32 pixel, guint32 *pixels,
			   guint width);

/*
 * A picture of `height` rows: a bar from below for each column, `most` being the whole height. What
 * is not 0 is at least 1 pixel high.
 */
void rs_trace_raster_bars(const guint64 *values, guint n, guint64 most, guint32 pixel,
			  guint32 *pixels, guint width, guint height);

/* 0xRRGGBB, with an alpha of 0 to 1, as a pixel. */
guint32 rs_trace_raster_pixel(guint32 colour, double alpha);

G_END_DECLS

#endif
