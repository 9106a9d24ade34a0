/* SPDX-License-Identifier: MIT */
/*
 * A growing series of times that never go back, each with a tag: the events of a vCPU with their
 * classes, or the tasks that had it one after the other. It takes some three bytes for each item,
 * and says for any stretch of time exactly what lies in it, at a cost that hardly depends on how
 * much that is (docs/adr/0026-timeline.md).
 *
 * Of points, each item is a moment. Of spans, each item is the state that begins there and lasts to
 * the next item.
 *
 * One thread at a time. Trust: times and tags may be anything.
 */
#ifndef RS_TRACE_SERIES_H
#define RS_TRACE_SERIES_H

#include <glib.h>

G_BEGIN_DECLS

/* Colours by tag, 0xRRGGBB. A tag's colour does not change once an item has the tag. */
typedef struct {
	GArray *colours; /* guint32 */
} RsTracePalette;

/* What tags without a place in the palette have, and those that are not to be seen. */
#define RS_TRACE_PALETTE_NONE 0xff000000u

typedef enum {
	RS_TRACE_SERIES_POINTS,
	RS_TRACE_SERIES_SPANS,
} RsTraceSeriesKind;

typedef struct _RsTraceSeries RsTraceSeries;

/* `palette` must outlive it. NULL: nobody asks for columns of it. */
RsTraceSeries *rs_trace_series_new(RsTraceSeriesKind kind, const RsTracePalette *palette);
/* NULL is accepted. */
void rs_trace_series_free(RsTraceSeries *series);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceSeries, rs_trace_series_free)

/*
 * A time before the last one counts as the last one. Of spans, an item with the tag of the one
 * before it is not kept, and one at the time of the one before replaces it. Returns the time that
 * the item has.
 */
guint64 rs_trace_series_append(RsTraceSeries *series, guint64 ns, guint32 tag);

guint64 rs_trace_series_count(const RsTraceSeries *series);
/* Bytes of memory. */
gsize rs_trace_series_size(const RsTraceSeries *series);
/* Of the first and the last item; 0 if there is none. */
guint64 rs_trace_series_first(const RsTraceSeries *series);
guint64 rs_trace_series_last(const RsTraceSeries *series);

/* Copies up to `n` items from the one with that index on, and returns how many. Arrays may be NULL.
 */
guint rs_trace_series_read(const RsTraceSeries *series, guint64 index, guint n, guint64 *ns,
			   guint32 *tags);
/* How many items are earlier than `ns`: the index of the first that is not. */
guint64 rs_trace_series_rank(const RsTraceSeries *series, guint64 ns);
/*
 * The next item from `index` on, forwards or backwards, whose tag is set in `wanted` (a bit for
 * each tag, `n_wanted` of them). G_MAXUINT64: there is none.
 */
guint64 rs_trace_series_find(const RsTraceSeries *series, guint64 index, gboolean forward,
			     const guint32 *wanted, guint n_wanted);

/*
 * What a stretch of time holds. Of points: how many, and the sums of their colours' parts. Of
 * spans: nanoseconds in which there was a tag with a colour, and the parts times nanoseconds. Sums
 * divided by the weight are the exact mean colour.
 */
typedef struct {
	guint64 weight;
	guint64 red, green, blue;
} RsTraceShade;

/*
 * Fills out[0..n-1]: of each stretch [edges[i], edges[i+1]). Edges do not go back. The last span
 * lasts to `end`. Each item counts in one stretch, and where 128 points or 64 spans last longer
 * than half a stretch, all is exact. Where they are denser:
 *   - points within 1/8 of a stretch from an edge may count on its other side,
 *   - of sums, what lies within half a stretch from an edge may be divided between its sides.
 * The first and the last edge are always exact. Colours of a stretch of more than 2^54 ns may be
 * wrong; weights are not.
 */
void rs_trace_series_columns(const RsTraceSeries *series, const guint64 *edges, guint n,
			     guint64 end, RsTraceShade *out);

G_END_DECLS

#endif
