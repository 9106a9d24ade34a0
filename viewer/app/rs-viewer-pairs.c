/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-pairs.h"
#include "rs-trace-glob.h"

#include <string.h>

#define SAME_TIME 64u
#define COLOURS 8u /* two for each row: rows four apart have the same */
/* In a tag of a row: what was there before was given up. */
#define GIVEN_UP 16u

/* A slice that is open. */
typedef struct {
	guint row;
	guint source; /* of its begin */
} Open;

typedef struct {
	GArray *open;   /* Open, the outermost first, RS_VIEWER_PAIR_ROWS at most; NULL: none */
	guint64 deeper; /* that are open inside of these */
	guint turns;    /* so often one has begun in there after an end */
	gboolean ended; /* its last record was an end */
} Task;

struct _RsViewerPairs {
	gatomicrefcount refs;
	RsTraceTimeline *timeline;
	RsTraceGlob *begin, *end;
	GByteArray *phases; /* by class; 0: not looked at yet */
	guint64 next;       /* row of the timeline */
	GHashTable *tasks;  /* gint64 * -> Task */
	/* source -> set of Task: all that may have open slices which that source began */
	GHashTable *by_source;
	guint in_row[RS_VIEWER_PAIR_ROWS]; /* slices that are open there */
	guint begun[RS_VIEWER_PAIR_ROWS];  /* that ever were */
	RsTracePalette palette;
	RsTraceSeries *rows[RS_VIEWER_PAIR_ROWS];
	guint n_rows;
	guint64 count, unmatched, shared, given_up;
};

enum { PHASE_NEW, PHASE_NONE, PHASE_BEGIN, PHASE_END, PHASE_GAP };

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
	for (guint tag = 0; tag <= GIVEN_UP + COLOURS; tag++) {
		const guint colour = tag % GIVEN_UP;

		g_array_append_val(
			palette->colours,
			*(colour > 0 && colour <= COLOURS ? &colours[colour - 1] : &none));
	}
}

static void task_free(gpointer data)
{
	g_clear_pointer(&((Task *)data)->open, g_array_unref);
	g_free(data);
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
	pairs->tasks = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, task_free);
	pairs->by_source =
		g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_hash_table_unref);
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
	g_hash_table_unref(pairs->by_source);
	g_hash_table_unref(pairs->tasks);
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

	if (number == RS_TRACE_CLASS_LOSS || number == RS_TRACE_CLASS_BOOT)
		return PHASE_GAP;
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
static Task *task_of(RsViewerPairs *pairs, const RsTraceTimelineRing *ring,
		     const RsTraceTimelineRow *row)
{
	const guint32 tag = rs_trace_timeline_owner(ring, row->index);
	const gint64 key = tag >= RS_TRACE_TASK_TAG_FIRST ? (gint64)tag : -1 - (gint64)row->ring;
	Task *task = g_hash_table_lookup(pairs->tasks, &key);

	if (!task) {
		task = g_new0(Task, 1);
		g_hash_table_insert(pairs->tasks, g_memdup2(&key, sizeof(key)), task);
	}
	return task;
}

static void add_to_source(RsViewerPairs *pairs, guint source, Task *task)
{
	GHashTable *tasks = g_hash_table_lookup(pairs->by_source, GUINT_TO_POINTER(source));

	if (!tasks) {
		tasks = g_hash_table_new(NULL, NULL);
		g_hash_table_insert(pairs->by_source, GUINT_TO_POINTER(source), tasks);
	}
	g_hash_table_add(tasks, task);
}

/* `tag`: what comes then, if no other slice is open in the row. */
static void close_row(RsViewerPairs *pairs, guint row, guint64 ns, guint32 tag)
{
	guint64 last;

	if (--pairs->in_row[row] > 0)
		return;
	/* A slice is seen, however short it is. */
	last = rs_trace_series_last(pairs->rows[row]);
	rs_trace_series_append(pairs->rows[row], MAX(ns, last < G_MAXUINT64 ? last + 1 : last),
			       tag);
}

static void give_up(RsViewerPairs *pairs, Task *task, guint64 ns)
{
	for (guint i = 0; i < task->open->len; i++)
		close_row(pairs, g_array_index(task->open, Open, i).row, ns, GIVEN_UP);
	pairs->given_up += task->open->len + task->deeper;
	g_clear_pointer(&task->open, g_array_unref);
	task->deeper = task->turns = 0;
}

static gboolean has_of_source(const Task *task, guint source)
{
	for (guint i = 0; task->open && i < task->open->len; i++)
		if (g_array_index(task->open, Open, i).source == source)
			return TRUE;
	return FALSE;
}

/* Ends may be among what is missing. */
static void take_gap(RsViewerPairs *pairs, guint source, guint64 ns)
{
	GHashTable *tasks = g_hash_table_lookup(pairs->by_source, GUINT_TO_POINTER(source));
	GHashTableIter iter;
	gpointer task;

	if (!tasks)
		return;
	g_hash_table_iter_init(&iter, tasks);
	while (g_hash_table_iter_next(&iter, &task, NULL))
		if (has_of_source(task, source))
			give_up(pairs, task, ns);
	g_hash_table_remove_all(tasks);
}

/* Draws what begins. What was given up at this very time is not forgotten. */
static void open_row(RsViewerPairs *pairs, guint row, guint64 ns)
{
	RsTraceSeries *series = pairs->rows[row];
	const guint64 count = rs_trace_series_count(series);
	guint64 last;
	guint32 tag;

	if (count == 0 || rs_trace_series_read(series, count - 1, 1, &last, &tag) != 1 || last < ns)
		tag = 0;
	pairs->in_row[row]++;
	pairs->n_rows = MAX(pairs->n_rows, row + 1);
	/* It has another colour than the one before it in its row, so that both are seen. */
	pairs->begun[row]++;
	rs_trace_series_append(series, ns,
			       (tag & GIVEN_UP) + 1 + (2 * row + pairs->begun[row] % 2) % COLOURS);
}

static void begin(RsViewerPairs *pairs, Task *task, guint source, guint64 ns)
{
	Open open = {.source = source};

	pairs->count++;
	if (task->open && task->open->len == RS_VIEWER_PAIR_ROWS && task->ended &&
	    ++task->turns > RS_VIEWER_PAIR_TURNS)
		give_up(pairs, task, ns);
	task->ended = FALSE;
	if (!task->open)
		task->open = g_array_new(FALSE, FALSE, sizeof(Open));
	if (task->open->len == RS_VIEWER_PAIR_ROWS) {
		task->deeper++;
		pairs->shared++;
		return;
	}
	/* Below the slice that it lies in. */
	if (task->open->len > 0)
		open.row = g_array_index(task->open, Open, task->open->len - 1).row + 1;
	while (open.row < RS_VIEWER_PAIR_ROWS - 1 && pairs->in_row[open.row] > 0)
		open.row++;
	open.row = MIN(open.row, RS_VIEWER_PAIR_ROWS - 1);
	pairs->shared += pairs->in_row[open.row] > 0;
	g_array_append_val(task->open, open);
	add_to_source(pairs, source, task);
	open_row(pairs, open.row, ns);
}

static void end(RsViewerPairs *pairs, Task *task, guint64 ns)
{
	guint row;

	task->ended = TRUE;
	if (!task->open) {
		pairs->unmatched++;
		return;
	}
	if (task->deeper > 0) {
		task->deeper--;
		return;
	}
	row = g_array_index(task->open, Open, task->open->len - 1).row;
	task->turns = 0;
	if (task->open->len == 1)
		g_clear_pointer(&task->open, g_array_unref);
	else
		g_array_set_size(task->open, task->open->len - 1);
	close_row(pairs, row, ns, 0);
}

static void take(RsViewerPairs *pairs, const RsTraceTimelineRow *row)
{
	const guint8 phase = phase_of(pairs, row->class);
	const RsTraceTimelineRing *ring = rs_trace_timeline_ring(pairs->timeline, row->ring);

	if (!ring || phase == PHASE_NONE)
		return;
	if (phase == PHASE_GAP)
		take_gap(pairs, ring->source, row->ns);
	else if (phase == PHASE_BEGIN)
		begin(pairs, task_of(pairs, ring, row), ring->source, row->ns);
	else
		end(pairs, task_of(pairs, ring, row), row->ns);
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
	for (guint i = 0; i < n; i++)
		take(pairs, &rows[i]);
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

guint64 rs_viewer_pairs_given_up(const RsViewerPairs *pairs)
{
	return pairs->given_up;
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
	if (n == 0 || tags[0] % GIVEN_UP == 0)
		return FALSE;
	*slice = (RsViewerSlice){.from = times[0],
				 .until = n == 2 ? times[1] : G_MAXUINT64,
				 .is_given_up = n == 2 && tags[1] >= GIVEN_UP,
				 .begin = find_begin(pairs, times[0])};
	return TRUE;
}
