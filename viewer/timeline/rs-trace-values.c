/* SPDX-License-Identifier: MIT */
/*
 * Values are in runs, in each of which times do not go back. A value goes to the first run that it
 * is not too early for, and if there is none, begins one. So one run is enough for values that come
 * in order, and there are never more than rings, nor than RUNS_MAX. The last times of runs fall
 * from run to run. Of values with one time the one that came later is behind the other, or in a
 * later run.
 */
#include "timeline/rs-trace-values.h"
#include "timeline/rs-trace-run-private.h"

#include <math.h>

#define BATCH 4096u
#define RUNS_MAX 256u
#define RING_SIZE 64u /* bytes, with its place in the table */

typedef struct {
	gint64 key;
	guint64 ns;
	double value;
} Pending;

typedef struct {
	gint64 key; /* of its source and ring */
	guint64 last_ns;
} Ring;

struct _RsTraceValues {
	gatomicrefcount refs;
	GMutex lock;
	GArray *pending; /* of the appending thread */
	gsize most;
	GPtrArray *runs;   /* RsTraceRun */
	GHashTable *rings; /* Ring, by its key */
	Ring *ring;        /* of the last value; NULL: none came so far */
	guint64 count, missing;
	gsize counted; /* bytes of it that are in `all_bytes` */
};

static gsize all_bytes; /* of all values of the process; atomic */

/* ---- the object ---- */

RsTraceValues *rs_trace_values_new_within(gsize most)
{
	RsTraceValues *values = g_new0(RsTraceValues, 1);

	g_atomic_ref_count_init(&values->refs);
	g_mutex_init(&values->lock);
	values->most = most;
	values->pending = g_array_new(FALSE, FALSE, sizeof(Pending));
	values->runs = g_ptr_array_new_with_free_func((GDestroyNotify)rs_trace_run_free);
	values->rings = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	return values;
}

RsTraceValues *rs_trace_values_new(void)
{
	return rs_trace_values_new_within(RS_TRACE_VALUES_MAX);
}

RsTraceValues *rs_trace_values_ref(RsTraceValues *values)
{
	g_atomic_ref_count_inc(&values->refs);
	return values;
}

void rs_trace_values_unref(RsTraceValues *values)
{
	if (!values || !g_atomic_ref_count_dec(&values->refs))
		return;
	g_atomic_pointer_add(&all_bytes, -(gssize)values->counted);
	g_array_unref(values->pending);
	g_hash_table_unref(values->rings);
	g_ptr_array_unref(values->runs);
	g_mutex_clear(&values->lock);
	g_free(values);
}

void rs_trace_values_lock(const RsTraceValues *values)
{
	g_mutex_lock((GMutex *)&values->lock);
}

void rs_trace_values_unlock(const RsTraceValues *values)
{
	g_mutex_unlock((GMutex *)&values->lock);
}

/* ---- growing ---- */

/* The first one that has nothing later than `ns`. NULL: there is no room for another one. */
static RsTraceRun *run_for(RsTraceValues *values, guint64 ns)
{
	guint low = 0, high = values->runs->len;

	while (low < high) {
		const guint middle = low + (high - low) / 2;
		const RsTraceRun *run = values->runs->pdata[middle];

		if (rs_trace_run_last_ns(run) > ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == RUNS_MAX)
		return NULL;
	if (low == values->runs->len)
		g_ptr_array_add(values->runs, rs_trace_run_new());
	return values->runs->pdata[low];
}

/* No ring's time goes back. */
static guint64 time_of(RsTraceValues *values, const Pending *item)
{
	Ring *ring = values->ring;

	if (!ring || ring->key != item->key)
		ring = g_hash_table_lookup(values->rings, &item->key);
	if (!ring) {
		ring = g_new0(Ring, 1);
		ring->key = item->key;
		g_hash_table_insert(values->rings, &ring->key, ring);
	}
	values->ring = ring;
	ring->last_ns = MAX(ring->last_ns, item->ns);
	return ring->last_ns;
}

static gboolean take(RsTraceValues *values, const Pending *item)
{
	const guint64 ns = time_of(values, item);
	RsTraceRun *run = run_for(values, ns);

	if (!run)
		return FALSE;
	rs_trace_run_append(run, ns, item->value);
	values->count++;
	return TRUE;
}

/* Bytes of all values of the process, with what these have now. */
static gsize all_size(RsTraceValues *values)
{
	const gsize size = rs_trace_values_size(values);
	const gssize more = (gssize)(size - values->counted);

	values->counted = size;
	return (gsize)(g_atomic_pointer_add(&all_bytes, more) + more);
}

void rs_trace_values_flush(RsTraceValues *values)
{
	guint taken = 0;

	rs_trace_values_lock(values);
	/* Nothing is kept behind a gap: what is there is all up to one moment. */
	if (!values->missing && all_size(values) < values->most)
		while (taken < values->pending->len &&
		       take(values, &g_array_index(values->pending, Pending, taken)))
			taken++;
	values->missing += values->pending->len - taken;
	all_size(values);
	rs_trace_values_unlock(values);
	g_array_set_size(values->pending, 0);
}

void rs_trace_values_append(RsTraceValues *values, guint source, guint ring, guint64 ns,
			    double value)
{
	const Pending item = {(gint64)((guint64)source << 32 | ring), ns, isnan(value) ? 0 : value};

	g_array_append_val(values->pending, item);
	if (values->pending->len >= BATCH)
		rs_trace_values_flush(values);
}

/* ---- looking ---- */

guint64 rs_trace_values_count(const RsTraceValues *values)
{
	return values->count;
}

guint64 rs_trace_values_missing(const RsTraceValues *values)
{
	return values->missing;
}

gsize rs_trace_values_size(const RsTraceValues *values)
{
	gsize size = sizeof(*values) + g_hash_table_size(values->rings) * RING_SIZE;

	for (guint i = 0; i < values->runs->len; i++)
		size += rs_trace_run_size(values->runs->pdata[i]);
	return size;
}

/* The latest value of all that were looked at. */
typedef struct {
	double value;
	guint64 ns;
	gboolean is_there;
} Latest;

/* Of values with one time, the one that comes later here. */
static void be_latest(Latest *latest, double value, guint64 ns)
{
	if (!latest->is_there || ns >= latest->ns)
		*latest = (Latest){value, ns, TRUE};
}

static void be_latest_in(Latest *latest, RsTraceRunLook *look, guint64 index)
{
	guint64 ns;
	const double value = rs_trace_run_value(look, index, &ns);

	be_latest(latest, value, ns);
}

gboolean rs_trace_values_held(const RsTraceValues *values, guint64 ns, double *value, guint64 *when)
{
	Latest latest = {0};

	for (guint i = 0; i < values->runs->len; i++) {
		guint64 rank;
		RsTraceRunLook look;

		rs_trace_run_look(&look, values->runs->pdata[i]);
		rank = rs_trace_run_rank(&look, ns);
		if (rank)
			be_latest_in(&latest, &look, rank - 1);
	}
	if (latest.is_there)
		*value = latest.value;
	if (when)
		*when = latest.ns;
	return latest.is_there;
}

/* ---- columns ---- */

/* What the runs that were looked at so far have in a column. */
typedef struct {
	RsTraceBounds inside; /* least > most: none */
	Latest latest;        /* of these */
	gboolean at_begin;    /* one comes at the very begin */
} Cell;

/* Which column `ns` is in, from `column` on. It is in one. */
static guint find_column(const guint64 *edges, guint n, guint column, guint64 ns)
{
	if (ns < edges[column + 1])
		return column;
	column++;
	return column + rs_trace_rank_of(edges + column + 1, n - column, ns + 1);
}

/* Values [from, until), one by one. */
static void add_each(RsTraceRunLook *look, guint64 from, guint64 until, const guint64 *edges,
		     guint n, Cell *cells)
{
	guint column = 0;

	for (guint64 i = from; i < until; i++) {
		guint64 ns;
		const double value = rs_trace_run_value(look, i, &ns);
		Cell *cell;

		column = find_column(edges, n, column, ns);
		cell = &cells[column];
		rs_trace_bounds_widen(&cell->inside, value);
		be_latest(&cell->latest, value, ns);
		cell->at_begin |= ns == edges[column];
	}
}

/* The same, column by column. */
static void add_many(RsTraceRunLook *look, guint64 from, guint64 until, const guint64 *edges,
		     guint n, Cell *cells)
{
	for (guint i = 0; i < n && from < until; i++) {
		const guint64 next = MAX(rs_trace_run_rank(look, edges[i + 1]), from);
		Cell *cell = &cells[i];
		guint64 ns;

		if (next == from)
			continue;
		rs_trace_run_widen(look->run, from, next, &cell->inside);
		rs_trace_run_value(look, from, &ns);
		cell->at_begin |= ns == edges[i];
		be_latest_in(&cell->latest, look, next - 1);
		from = next;
	}
}

/* `before`: the latest value before all columns. */
static void add_run(const RsTraceRun *run, const guint64 *edges, guint n, Cell *cells,
		    Latest *before)
{
	guint64 from, until;
	RsTraceRunLook look;

	rs_trace_run_look(&look, run);
	from = rs_trace_run_rank(&look, edges[0]);
	if (from > 0)
		be_latest_in(before, &look, from - 1);
	if (from == rs_trace_run_count(run))
		return;
	until = MAX(rs_trace_run_rank(&look, edges[n]), from);
	if (until - from <= n)
		add_each(&look, from, until, edges, n, cells);
	else
		add_many(&look, from, until, edges, n, cells);
}

void rs_trace_values_columns(const RsTraceValues *values, const guint64 *edges, guint n,
			     RsTraceValueColumn *out)
{
	g_autofree Cell *cells = g_new0(Cell, n);
	Latest held = {0};

	for (guint i = 0; i < n; i++)
		cells[i].inside = (RsTraceBounds){INFINITY, -INFINITY};
	for (guint i = 0; i < values->runs->len; i++)
		add_run(values->runs->pdata[i], edges, n, cells, &held);
	for (guint i = 0; i < n; i++) {
		RsTraceBounds bounds = cells[i].inside;

		/* The one before holds on, unless one comes at the very begin. */
		if (held.is_there && !cells[i].at_begin)
			rs_trace_bounds_widen(&bounds, held.value);
		if (cells[i].latest.is_there)
			held = cells[i].latest;
		out[i] = (RsTraceValueColumn){.has = held.is_there};
		if (held.is_there) {
			out[i].least = bounds.least;
			out[i].most = bounds.most;
			out[i].last = held.value;
		}
	}
}
