/* SPDX-License-Identifier: MIT */
#include "timeline/rs-trace-raster.h"

#include <math.h>
#include <string.h>

/* How well one event in a pixel is seen, and one nanosecond of a span. */
#define FLOOR_POINT 0.65
#define FLOOR_SPAN 0.30

/* a * b / c, which is less than 2^64 if b <= c. */
static guint64 scale(guint64 a, guint64 b, guint64 c)
{
	return (guint64)((unsigned __int128)a * b / c);
}

guint rs_trace_raster_edges(guint64 from, guint64 until, guint width, guint64 *edges)
{
	const guint64 range = until > from ? until - from : 1;
	const guint n = (guint)MIN(range, MAX(width, 1));

	for (guint i = 0; i <= n; i++) {
		const guint64 after = scale(range, i, n);

		edges[i] = after > G_MAXUINT64 - from ? G_MAXUINT64 : from + after;
	}
	return n;
}

guint64 rs_trace_raster_time(guint64 from, guint64 until, guint width, double x)
{
	const guint64 range = until > from ? until - from : 1;
	/* In 1/1024 of a pixel, so that whole pixels are exact. */
	const guint64 parts = (guint64)MAX(width, 1) * 1024;
	guint64 after;

	if (!(x > 0))
		return from;
	if (x >= width)
		return until;
	after = scale(range, (guint64)(x * 1024), parts);
	return after > G_MAXUINT64 - from ? G_MAXUINT64 : from + after;
}

double rs_trace_raster_place(guint64 from, guint64 until, guint width, guint64 ns)
{
	const double range = until > from ? (double)(until - from) : 1;
	const double after = ns >= from ? (double)(ns - from) : -(double)(from - ns);

	return after / range * width;
}

void rs_trace_raster_add(RsTraceShade *sum, const RsTraceShade *more, guint n)
{
	for (guint i = 0; i < n; i++) {
		sum[i].weight += more[i].weight;
		sum[i].red += more[i].red;
		sum[i].green += more[i].green;
		sum[i].blue += more[i].blue;
	}
}

guint32 rs_trace_raster_pixel(guint32 colour, double alpha)
{
	const guint a = (guint)(CLAMP(alpha, 0, 1) * 255 + 0.5);
	guint32 pixel = (guint32)a << 24;

	for (guint shift = 0; shift < 24; shift += 8)
		pixel |= ((((colour >> shift) & 0xff) * a + 127) / 255) << shift;
	return pixel;
}

static guint32 part(guint64 sum, guint64 weight)
{
	const guint64 mean = sum / weight + (sum % weight > weight / 2);

	return (guint32)MIN(mean, 255);
}

static guint32 mean_colour(const RsTraceShade *shade)
{
	return part(shade->red, shade->weight) << 16 | part(shade->green, shade->weight) << 8 |
	       part(shade->blue, shade->weight);
}

/* The first pixel of a column. */
static guint first_pixel(guint column, guint n, guint width)
{
	return (guint)((guint64)column * width / n);
}

static void fill(guint32 *pixels, guint column, guint n, guint width, guint32 pixel)
{
	const guint end = first_pixel(column + 1, n, width);

	for (guint x = first_pixel(column, n, width); x < end; x++)
		pixels[x] = pixel;
}

void rs_trace_raster_points(const RsTraceShade *shades, guint n, double full, guint32 *pixels,
			    guint width)
{
	const double most = log2(1 + MAX(full, 2)) - 1;

	for (guint i = 0; i < n; i++) {
		const guint64 weight = shades[i].weight;
		double dense;

		if (weight == 0) {
			fill(pixels, i, n, width, 0);
			continue;
		}
		dense = weight == 1 ? 0 : MIN(1, (log2(1 + (double)weight) - 1) / most);
		fill(pixels, i, n, width,
		     rs_trace_raster_pixel(mean_colour(&shades[i]),
					   FLOOR_POINT + (1 - FLOOR_POINT) * dense));
	}
}

void rs_trace_raster_spans(const RsTraceShade *shades, const guint64 *edges, guint n,
			   guint32 *pixels, guint width)
{
	for (guint i = 0; i < n; i++) {
		const guint64 time = MAX(edges[i + 1] - edges[i], 1);
		const double covered = MIN(1, (double)shades[i].weight / (double)time);

		fill(pixels, i, n, width,
		     shades[i].weight == 0
			     ? 0
			     : rs_trace_raster_pixel(mean_colour(&shades[i]),
						     FLOOR_SPAN + (1 - FLOOR_SPAN) * covered));
	}
}

/* The first loss from `at` on that does not end before `ns`. Near ones are found at once. */
static guint next_loss(const RsTraceTimelineLoss *losses, guint n, guint at, guint64 ns)
{
	guint step = 1, low = at, high;

	while (low < n && losses[low].ns < ns && step < n - low && losses[low + step].ns < ns) {
		low += step;
		step *= 2;
	}
	high = step < n - low ? low + step : n;
	while (low < high) {
		const guint middle = low + (high - low) / 2;

		if (losses[middle].ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

gboolean rs_trace_raster_losses(const RsTraceTimelineLoss *losses, guint n_losses,
				const guint64 *edges, guint n, guint8 *marks)
{
	gboolean any = FALSE;
	guint at = 0;

	for (guint i = 0; i < n && at < n_losses; i++) {
		at = next_loss(losses, n_losses, at, edges[i]);
		if (at < n_losses && losses[at].since < edges[i + 1])
			marks[i] = any = TRUE;
		else if (at < n_losses && losses[at].ns < edges[i + 1])
			marks[i] = any = TRUE; /* its `since` is behind it, which is no stretch */
	}
	return any;
}

void rs_trace_raster_marks(const guint8 *marks, guint n, guint32 pixel, guint32 *pixels,
			   guint width)
{
	memset(pixels, 0, sizeof(*pixels) * width);
	for (guint i = 0; i < n; i++) {
		const guint x = first_pixel(i, n, width);

		if (!marks[i])
			continue;
		fill(pixels, i, n, width, pixel);
		if (x + 1 < width)
			pixels[x + 1] = pixel;
		else if (x > 0)
			pixels[x - 1] = pixel;
	}
}

void rs_trace_raster_bars(const guint64 *values, guint n, guint64 most, guint32 pixel,
			  guint32 *pixels, guint width, guint height)
{
	memset(pixels, 0, sizeof(*pixels) * width * height);
	for (guint i = 0; i < n; i++) {
		const guint64 value = MIN(values[i], MAX(most, 1));
		guint high = (guint)scale(value, height, MAX(most, 1));

		if (value > 0)
			high = MAX(high, 1);
		for (guint y = height - MIN(high, height); y < height; y++)
			fill(pixels + (gsize)y * width, i, n, width, pixel);
	}
}
