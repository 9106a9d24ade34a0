/* SPDX-License-Identifier: MIT */
#include "filter/rs-trace-ranges.h"

#include "rs-trace-error.h"
#include "rs-trace-escape.h"

#include <string.h>

typedef struct {
	guint32 first, last;
} Range;

struct _RsTraceRanges {
	GArray *list; /* of Range, in order, with numbers between them */
};

static gboolean take_number(const char **at, guint32 max, guint32 *out)
{
	guint64 value;
	char *end;

	if (!g_ascii_isdigit(**at))
		return FALSE;
	value = g_ascii_strtoull(*at, &end, 10);
	if (value > max)
		return FALSE;
	*at = end;
	*out = (guint32)value;
	return TRUE;
}

static gboolean take_range(const char **at, guint32 max, Range *out)
{
	if (!take_number(at, max, &out->first))
		return FALSE;
	out->last = out->first;
	if (**at != '-')
		return TRUE;
	++*at;
	return take_number(at, max, &out->last) && out->last >= out->first;
}

static int compare(gconstpointer a, gconstpointer b)
{
	const Range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Sorts the ranges and joins those that touch. */
static void put_in_order(GArray *list)
{
	guint n = 0;

	g_array_sort(list, compare);
	for (guint i = 1; i < list->len; i++) {
		Range *last = &g_array_index(list, Range, n);
		const Range *next = &g_array_index(list, Range, i);

		if (next->first <= (guint64)last->last + 1)
			last->last = MAX(last->last, next->last);
		else
			g_array_index(list, Range, ++n) = *next;
	}
	g_array_set_size(list, n + 1);
}

RsTraceRanges *rs_trace_ranges_new(const char *text, guint32 max, GError **error)
{
	g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(Range));
	RsTraceRanges *ranges;
	const char *at = text;
	Range range;

	for (;; at++) {
		if (!take_range(&at, max, &range) || (*at && *at != ',')) {
			g_autofree char *clean = rs_trace_escape(text, -1, NULL);

			g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
				    "'%s' is no list of numbers up to %u, such as 0-2,5", clean,
				    max);
			return NULL;
		}
		g_array_append_val(list, range);
		if (!*at)
			break;
	}
	put_in_order(list);
	ranges = g_new(RsTraceRanges, 1);
	ranges->list = g_steal_pointer(&list);
	return ranges;
}

void rs_trace_ranges_free(RsTraceRanges *ranges)
{
	if (!ranges)
		return;
	g_array_unref(ranges->list);
	g_free(ranges);
}

gboolean rs_trace_ranges_contain(const RsTraceRanges *ranges, guint32 number)
{
	guint low = 0, high = ranges->list->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (g_array_index(ranges->list, Range, middle).last < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ranges->list->len && g_array_index(ranges->list, Range, low).first <= number;
}
