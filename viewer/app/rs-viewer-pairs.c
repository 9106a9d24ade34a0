/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-pairs.h"
#include "rs-trace-glob.h"

#include <string.h>

#define SAME_TIME 64u
#define COLOURS 8u /* two for each row: rows four apart have the same */

/* A slice that is open. */
typedef struct {
	guint row;
} Open;

struct _RsViewerPairs {
	gatomicrefcount refs;
	RsTraceTimeline *timeline;
	RsTraceGlob *begin, *end;
	GByteArray *phases; /* by class; 0: not looked at yet */
	guint64 next;       /* row of the timeline */
	GHashTable *open;   /* task -> GArray of Open, the outermost first */
	guint n_open;
	guint in_row[RS_VIEWER_PAIR_ROWS]; /* slices that are open there */
	guint begun[RS_VIEWER_PAIR_ROWS];  /* that ever were */
	RsTracePalette palette;
	RsTraceSeries *rows[RS_VIEWER_PAIR_ROWS];
	guint n_rows;
	guint64 count, unmatched, shared;
};

enum { PHASE_NEW, PHASE_NONE, PHASE_BEGIN, PHASE_END };

gboolean rs_viewer_pairs_split(const char *text, char **begin, char **end)
{
	const char *dots = strstr(text, "..");

	if (!dots || dots == text || !dots[2])
		return FALSE;
	*begin = g_strstrip(g_strndup(text, (gsize)(dots - text)));
	*end = g_strstrip(g_strdup(dots + 2));
	if (**begin && **end)
		return TRUE;
	g_clear_pointer(begin, g_free);
	g_clear_pointer(end, g_free);
	return FALSE;
}

static void fill_palette(RsTracePalette *palette)
{
	static const guint32 colours[COLOURS] = {0x3584e4, 0x1a5fb4, 0x33b2a4, 0x218787,
						 0x9b6ad6, 0x7239b3, 0xe5a50a, 0xc88800};
	const guint32 none = RS_TRACE_PALETTE_NONE;

	palette->colours = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_array_append_val(palette->colours, none);
	g_array_append_vals(palette->colours, colours, COLOURS);
}

RsViewerPairs *rs_viewer_pairs_new(RsTraceTimeline *timeline, const char *text)
{
	g_autofree char *begin = NULL, *end = NULL;
	RsViewerPairs *pairs;

	if (!rs_viewer_pairs_split(text, &begin, &end))
		return NULL;
	pairs = g_new0(RsViewerPairs, 1);
	g_atomic_ref_count_init(&pairs->refs);
	pairs->timeline = rs_trace_timeline_ref(timeline);
	pairs->begin = rs_trace_glob_new(begin);
	pairs->end = rs_trace_glob_new(end);
	pairs->phases = g_byte_array_new();
	pairs->open = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
					    (GDestroyNotify)g_array_unref);
	fill_palette(&pairs->palette);
	for (guint i = 0; i < RS_VIEWER_PAIR_ROWS; i++)
		pairs->rows[i] = rs_trace_series_new(RS_TRACE_SERIES_SPANS, &pairs->palette);
	if (!pairs->begin || !pairs->end)
		g_clear_pointer(&pairs, rs_viewer_pairs_unref);
	return pairs;
}

RsViewerPairs *rs_viewer_pairs_ref(RsViewerPairs *pairs)
{
	g_atomic_ref_count_inc(&pairs->refs);
	return pairs;
}

void rs_viewer_pairs_unref(RsViewerPairs *pairs)
{
	if (!pairs || !g_atomic_ref_count_dec(&pairs->refs))
		return;
	for (guint i = 0; i < RS_VIEWER_PAIR_ROWS; i++)
		rs_trace_series_free(pairs->rows[i]);
	g_array_unref(pairs->palette.colours);
	g_hash_table_unref(pairs->open);
	g_byte_array_unref(pairs->phases);
	rs_trace_glob_free(pairs->begin);
	rs_trace_glob_free(pairs->end);
	rs_trace_timeline_unref(pairs->timeline);
	g_free(pairs);
}

static gboolean matches(const RsTraceGlob *glob, const RsTraceTimelineClass *class)
{
	return rs_trace_glob_matches(glob, class->label) ||
	       rs_trace_glob_matches(glob, class->name);
}

static guint8 phase_of(RsViewerPairs *pairs, guint32 number)
{
	const RsTraceTimelineClass *class;
	guint8 *phase;

	if (number >= RS_TRACE_TIMELINE_CLASSES || number < RS_TRACE_CLASS_EVENTS)
		return PHASE_NONE;
	while (number >= pairs->phases->len)
		g_byte_array_append(pairs->phases, (const guint8[64]){}, 64);
	phase = &pairs->phases->data[number];
	if (*phase != PHASE_NEW)
		return *phase;
	class = rs_trace_timeline_class(pairs->timeline, number);
	*phase = !class                         ? PHASE_NONE
		 : matches(pairs->begin, class) ? PHASE_BEGIN
		 : matches(pairs->end, class)   ? PHASE_END
						: PHASE_NONE;
	return *phase;
}

/* Whose record it is: a task's tag, or a vCPU's idle task, or what nobody knows of it. */
static gint64 task_of(const RsViewerPairs *pairs, const RsTraceTimelineRow *row)
{
	const RsTraceTimelineRing *ring = rs_trace_timeline_ring(pairs->timeline, row->ring);
	guint32 tag;

	if (!ring)
		return -1;
	tag = rs_trace_timeline_owner(ring, row->index);
	return tag >= RS_TRACE_TASK_TAG_FIRST ? (gint64)tag : -2 - (gint64)row->ring;
}

static void begin(RsViewerPairs *pairs, const RsTraceTimelineRow *row, gint64 task)
{
	GArray *stack = g_hash_table_lookup(pairs->open, &task);
	Open open = {0};

	if (pairs->n_open >= RS_VIEWER_PAIR_OPEN)
		return;
	if (!stack) {
		stack = g_array_new(FALSE, FALSE, sizeof(Open));
		g_hash_table_insert(pairs->open, g_memdup2(&task, sizeof(task)), stack);
	}
	/* Below the slice that it lies in. */
	if (stack->len > 0)
		open.row = g_array_index(stack, Open, stack->len - 1).row + 1;
	while (open.row < RS_VIEWER_PAIR_ROWS - 1 && pairs->in_row[open.row] > 0)
		open.row++;
	open.row = MIN(open.row, RS_VIEWER_PAIR_ROWS - 1);
	pairs->shared += pairs->in_row[open.row] > 0;
	g_array_append_val(stack, open);
	pairs->n_open++;
	pairs->count++;
	pairs->in_row[open.row]++;
	pairs->n_rows = MAX(pairs->n_rows, open.row + 1);
	/* It has another colour than the one before it in its row, so that both are seen. */
	pairs->begun[open.row]++;
	rs_trace_series_append(pairs->rows[open.row], row->ns,
			       1 + (2 * open.row + pairs->begun[open.row] % 2) % COLOURS);
}

static void end(RsViewerPairs *pairs, const RsTraceTimelineRow *row, gint64 task)
{
	GArray *stack = g_hash_table_lookup(pairs->open, &task);
	guint64 last;
	guint at;

	if (!stack) {
		pairs->unmatched++;
		return;
	}
	at = g_array_index(stack, Open, stack->len - 1).row;
	if (stack->len == 1)
		g_hash_table_remove(pairs->open, &task);
	else
		g_array_set_size(stack, stack->len - 1);
	pairs->n_open--;
	if (--pairs->in_row[at] > 0)
		return;
	/* A slice is seen, however short it is. */
	last = rs_trace_series_last(pairs->rows[at]);
	rs_trace_series_append(pairs->rows[at], MAX(row->ns, last < G_MAXUINT64 ? last + 1 : last),
			       0);
}

guint rs_viewer_pairs_step(RsViewerPairs *pairs, guint n, gboolean complete)
{
	RsTraceTimelineRow rows[256];
	guint64 first, until, limit = G_MAXUINT64;

	rs_trace_timeline_span(pairs->timeline, &first, &until);
	/* Another vCPU may yet have a record of the latest times. */
	if (!complete)
		limit = rs_trace_timeline_rank(pairs->timeline, until > 0 ? until - 1 : 0);
	if (pairs->next >= limit)
		return 0;
	n = (guint)MIN(MIN(n, G_N_ELEMENTS(rows)), limit - pairs->next);
	n = rs_trace_timeline_rows(pairs->timeline, pairs->next, n, rows);
	for (guint i = 0; i < n; i++) {
		const guint8 phase = phase_of(pairs, rows[i].class);

		if (phase == PHASE_BEGIN)
			begin(pairs, &rows[i], task_of(pairs, &rows[i]));
		else if (phase == PHASE_END)
			end(pairs, &rows[i], task_of(pairs, &rows[i]));
	}
	pairs->next += n;
	return n;
}

guint rs_viewer_pairs_n_rows(const RsViewerPairs *pairs)
{
	return pairs->n_rows;
}

const RsTraceSeries *rs_viewer_pairs_row(const RsViewerPairs *pairs, guint row)
{
	return pairs->rows[row];
}

guint64 rs_viewer_pairs_count(const RsViewerPairs *pairs)
{
	return pairs->count;
}

guint64 rs_viewer_pairs_unmatched(const RsViewerPairs *pairs)
{
	return pairs->unmatched;
}

guint64 rs_viewer_pairs_shared(const RsViewerPairs *pairs)
{
	return pairs->shared;
}

/* The event that begins a slice at that moment. NULL: it is none of the first at that time. */
static const RsTraceTimelineClass *find_begin(RsViewerPairs *pairs, guint64 ns)
{
	RsTraceTimelineRow rows[SAME_TIME];
	const guint n = rs_trace_timeline_rows(
		pairs->timeline, rs_trace_timeline_rank(pairs->timeline, ns), SAME_TIME, rows);

	for (guint i = 0; i < n && rows[i].ns == ns; i++)
		if (phase_of(pairs, rows[i].class) == PHASE_BEGIN)
			return rs_trace_timeline_class(pairs->timeline, rows[i].class);
	return NULL;
}

gboolean rs_viewer_pairs_at(RsViewerPairs *pairs, guint row, guint64 ns, RsViewerSlice *slice)
{
	guint64 after, times[2];
	guint32 tags[2];
	guint n;

	if (row >= pairs->n_rows)
		return FALSE;
	after = rs_trace_series_rank(pairs->rows[row], ns + (ns < G_MAXUINT64));
	n = after > 0 ? rs_trace_series_read(pairs->rows[row], after - 1, 2, times, tags) : 0;
	if (n == 0 || tags[0] == 0)
		return FALSE;
	*slice = (RsViewerSlice){.from = times[0],
				 .until = n == 2 ? times[1] : G_MAXUINT64,
				 .begin = find_begin(pairs, times[0])};
	return TRUE;
}
