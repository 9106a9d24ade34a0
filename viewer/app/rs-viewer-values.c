/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-values.h"

#include <math.h>

#define BLOCK 64u /* values of a level for each of the level above */
#define LEVELS 5u

typedef struct {
	double least, most;
} Bounds;

typedef struct {
	guint64 ns;
	double value;
} Value;

struct _RsViewerValues {
	GArray *values;        /* Value */
	GArray *above[LEVELS]; /* Bounds of whole blocks */
};

RsViewerValues *rs_viewer_values_new(void)
{
	RsViewerValues *values = g_new0(RsViewerValues, 1);

	values->values = g_array_new(FALSE, FALSE, sizeof(Value));
	for (guint i = 0; i < LEVELS; i++)
		values->above[i] = g_array_new(FALSE, FALSE, sizeof(Bounds));
	return values;
}

void rs_viewer_values_free(RsViewerValues *values)
{
	if (!values)
		return;
	g_array_unref(values->values);
	for (guint i = 0; i < LEVELS; i++)
		g_array_unref(values->above[i]);
	g_free(values);
}

static Bounds bounds_at(const RsViewerValues *values, gint level, guint index)
{
	if (level < 0) {
		const double value = g_array_index(values->values, Value, index).value;

		return (Bounds){value, value};
	}
	return g_array_index(values->above[level], Bounds, index);
}

static void widen(Bounds *bounds, Bounds more)
{
	bounds->least = MIN(bounds->least, more.least);
	bounds->most = MAX(bounds->most, more.most);
}

void rs_viewer_values_append(RsViewerValues *values, guint64 ns, double value)
{
	const guint len = values->values->len;
	const Value item = {len ? MAX(ns, g_array_index(values->values, Value, len - 1).ns) : ns,
			    isnan(value) ? 0 : value};
	guint count;

	g_array_append_val(values->values, item);
	count = values->values->len;
	for (gint level = 0; level < (gint)LEVELS && count % BLOCK == 0; level++) {
		Bounds bounds = bounds_at(values, level - 1, count - BLOCK);

		for (guint i = count - BLOCK + 1; i < count; i++)
			widen(&bounds, bounds_at(values, level - 1, i));
		g_array_append_val(values->above[level], bounds);
		count = values->above[level]->len;
	}
}

guint64 rs_viewer_values_count(const RsViewerValues *values)
{
	return values->values->len;
}

guint64 rs_viewer_values_rank(const RsViewerValues *values, guint64 ns)
{
	guint low = 0, high = values->values->len;

	while (low < high) {
		const guint middle = low + (high - low) / 2;

		if (g_array_index(values->values, Value, middle).ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

double rs_viewer_values_at(const RsViewerValues *values, guint64 index, guint64 *ns)
{
	const Value *value = &g_array_index(values->values, Value, (guint)index);

	if (ns)
		*ns = value->ns;
	return value->value;
}

/* Of values [from, until), which are some. */
static Bounds bounds_of(const RsViewerValues *values, guint from, guint until)
{
	Bounds bounds = bounds_at(values, -1, from);
	gint level = -1;

	while (from < until) {
		/* As high as blocks are whole, and then down again. */
		while (level + 1 < (gint)LEVELS && from % BLOCK == 0 && until - from >= BLOCK) {
			Bounds tail = bounds;
			guint rest = until % BLOCK;

			for (guint i = until - rest; i < until; i++)
				widen(&tail, bounds_at(values, level, i));
			bounds = tail;
			from /= BLOCK;
			until /= BLOCK;
			level++;
		}
		widen(&bounds, bounds_at(values, level, from));
		from++;
	}
	return bounds;
}

void rs_viewer_values_columns(const RsViewerValues *values, const guint64 *edges, guint n,
			      RsViewerValueColumn *out)
{
	guint from = (guint)rs_viewer_values_rank(values, edges[0]);

	for (guint i = 0; i < n; i++) {
		const guint until = (guint)rs_viewer_values_rank(values, edges[i + 1]);
		/* The one before holds on, unless one comes at the very begin. */
		const gboolean holds =
			from > 0 &&
			(from == until || g_array_index(values->values, Value, from).ns > edges[i]);
		Bounds bounds = {0, 0};

		out[i].has = until > 0;
		if (holds)
			bounds = bounds_at(values, -1, from - 1);
		if (until > from) {
			const Bounds inside = bounds_of(values, from, until);

			if (holds)
				widen(&bounds, inside);
			else
				bounds = inside;
		}
		out[i].least = bounds.least;
		out[i].most = bounds.most;
		out[i].last = until > 0 ? bounds_at(values, -1, until - 1).least : 0;
		from = MAX(until, from);
	}
}
