/* SPDX-License-Identifier: MIT */
/*
 * Each ring has a lane of its own, in whose tail values are gathered. A full tail is sealed when
 * another value comes: its times become differences, and its values what they are above the least
 * one. Bounds of blocks, and of many blocks together, are kept aside.
 */
#include "timeline/rs-trace-values.h"
#include "timeline/rs-trace-bits-private.h"

#include <math.h>

#define BLOCK 128u
#define FANOUT 64u /* bounds of a level for each of the level above */
#define LEVELS 4u
#define BATCH 4096u
#define WHOLE 0x1p53 /* whole numbers up to that are kept as such */

typedef struct {
	double least, most;
} Bounds;

typedef struct {
	guint8 *bits; /* BLOCK - 1 differences of times, then values */
	guint8 time_width, value_width;
	gboolean is_whole; /* values are whole numbers, less the least one; else as they are */
} Block;

typedef struct {
	gint64 key;             /* of its source and ring */
	GArray *bases;          /* guint64: time of each block's first value */
	GArray *blocks;         /* Block */
	GArray *bounds[LEVELS]; /* Bounds: of blocks, then of FANOUT of the level below */
	RsTraceBits bits;
	guint n_tail;
	guint64 tail_ns[BLOCK];
	double tail[BLOCK];
} Lane;

typedef struct {
	gint64 key;
	guint64 ns;
	double value;
} Pending;

struct _RsTraceValues {
	gatomicrefcount refs;
	GMutex lock;
	GArray *pending; /* of the appending thread */
	gsize most;
	GPtrArray *lanes;   /* Lane */
	GHashTable *by_key; /* the same, by key_of() */
	Lane *lane;         /* of the last value; NULL: none came so far */
	guint64 count, missing;
};

/* Times of a block. */
typedef struct {
	guint block; /* G_MAXUINT: none */
	guint64 ns[BLOCK];
} Slot;

/* Where a lane is looked at: the block at the begin of a column, and that at its end. */
typedef struct {
	const Lane *lane;
	Slot slots[2];
	guint last; /* slot that was used last */
} Look;

/* ---- the object ---- */

static void lane_free(gpointer data)
{
	Lane *lane = data;

	g_array_unref(lane->bases);
	g_array_unref(lane->blocks);
	for (guint i = 0; i < LEVELS; i++)
		g_array_unref(lane->bounds[i]);
	rs_trace_bits_clear(&lane->bits);
	g_free(lane);
}

RsTraceValues *rs_trace_values_new_within(gsize most)
{
	RsTraceValues *values = g_new0(RsTraceValues, 1);

	g_atomic_ref_count_init(&values->refs);
	g_mutex_init(&values->lock);
	values->most = most;
	values->pending = g_array_new(FALSE, FALSE, sizeof(Pending));
	values->lanes = g_ptr_array_new_with_free_func(lane_free);
	values->by_key = g_hash_table_new(g_int64_hash, g_int64_equal);
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
	g_array_unref(values->pending);
	g_hash_table_unref(values->by_key);
	g_ptr_array_unref(values->lanes);
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

static void widen(Bounds *bounds, Bounds more)
{
	bounds->least = MIN(bounds->least, more.least);
	bounds->most = MAX(bounds->most, more.most);
}

static void widen_by(Bounds *bounds, double value)
{
	widen(bounds, (Bounds){value, value});
}

static gboolean is_whole(double value)
{
	return value >= -WHOLE && value <= WHOLE && value == trunc(value);
}

static guint64 encode(const Block *block, double base, double value)
{
	guint64 bits;

	if (block->is_whole)
		return (guint64)((gint64)value - (gint64)base);
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static double decode(const Block *block, double base, guint64 bits)
{
	double value;

	if (block->is_whole)
		return (double)((gint64)base + (gint64)bits);
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void add_bounds(Lane *lane, Bounds bounds)
{
	for (guint level = 0; level < LEVELS; level++) {
		const GArray *below = lane->bounds[level];

		g_array_append_val(lane->bounds[level], bounds);
		if (below->len % FANOUT)
			return;
		bounds = g_array_index(below, Bounds, below->len - FANOUT);
		for (guint i = below->len - FANOUT + 1; i < below->len; i++)
			widen(&bounds, g_array_index(below, Bounds, i));
	}
}

static void seal(Lane *lane)
{
	Bounds bounds = {lane->tail[0], lane->tail[0]};
	Block block = {.is_whole = TRUE};
	guint64 largest = 0;
	gsize times;

	for (guint i = 0; i < BLOCK; i++) {
		widen_by(&bounds, lane->tail[i]);
		block.is_whole &= is_whole(lane->tail[i]);
		if (i > 0)
			largest |= lane->tail_ns[i] - lane->tail_ns[i - 1];
	}
	block.time_width = (guint8)rs_trace_bits_width(largest);
	block.value_width =
		block.is_whole
			? (guint8)rs_trace_bits_width(encode(&block, bounds.least, bounds.most))
			: 64;
	times = rs_trace_bits_bytes(BLOCK - 1, block.time_width);
	block.bits = rs_trace_bits_take(&lane->bits,
					times + rs_trace_bits_bytes(BLOCK, block.value_width));
	for (guint i = 0; i < BLOCK; i++) {
		if (i > 0)
			rs_trace_bits_put(block.bits, i - 1, block.time_width,
					  lane->tail_ns[i] - lane->tail_ns[i - 1]);
		rs_trace_bits_put(block.bits + times, i, block.value_width,
				  encode(&block, bounds.least, lane->tail[i]));
	}
	g_array_append_val(lane->bases, lane->tail_ns[0]);
	g_array_append_val(lane->blocks, block);
	add_bounds(lane, bounds);
	lane->n_tail = 0;
}

static Lane *lane_of(RsTraceValues *values, const Pending *item)
{
	Lane *lane = values->lane;

	if (lane && lane->key == item->key)
		return lane;
	lane = g_hash_table_lookup(values->by_key, &item->key);
	if (lane)
		return lane;
	lane = g_new0(Lane, 1);
	lane->key = item->key;
	lane->bases = g_array_new(FALSE, FALSE, sizeof(guint64));
	lane->blocks = g_array_new(FALSE, FALSE, sizeof(Block));
	for (guint i = 0; i < LEVELS; i++)
		lane->bounds[i] = g_array_new(FALSE, FALSE, sizeof(Bounds));
	g_ptr_array_add(values->lanes, lane);
	g_hash_table_insert(values->by_key, &lane->key, lane);
	return lane;
}

static void take(RsTraceValues *values, const Pending *item)
{
	Lane *lane = values->lane = lane_of(values, item);
	guint64 ns = item->ns;

	if (lane->n_tail)
		ns = MAX(ns, lane->tail_ns[lane->n_tail - 1]);
	if (lane->n_tail == BLOCK)
		seal(lane);
	lane->tail_ns[lane->n_tail] = ns;
	lane->tail[lane->n_tail++] = item->value;
	values->count++;
}

void rs_trace_values_flush(RsTraceValues *values)
{
	rs_trace_values_lock(values);
	/* Nothing is kept behind a gap: what is there is all up to one moment. */
	if (values->missing || rs_trace_values_size(values) >= values->most)
		values->missing += values->pending->len;
	else
		for (guint i = 0; i < values->pending->len; i++)
			take(values, &g_array_index(values->pending, Pending, i));
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
	gsize size = sizeof(*values);

	for (guint i = 0; i < values->lanes->len; i++) {
		const Lane *lane = values->lanes->pdata[i];

		size += sizeof(*lane) + lane->bits.packed +
			lane->blocks->len * (sizeof(Block) + sizeof(guint64));
		for (guint level = 0; level < LEVELS; level++)
			size += lane->bounds[level]->len * sizeof(Bounds);
	}
	return size;
}

static void look_begin(Look *look, const Lane *lane)
{
	look->lane = lane;
	look->last = 0;
	look->slots[0].block = look->slots[1].block = G_MAXUINT;
}

/* The block behind the last one is the tail. */
static Slot *look_at(Look *look, guint block)
{
	const Lane *lane = look->lane;
	const Block *from;
	Slot *slot = &look->slots[look->last];

	if (slot->block == block)
		return slot;
	slot = &look->slots[look->last ^= 1];
	if (slot->block == block)
		return slot;
	slot->block = block;
	if (block == lane->blocks->len) {
		memcpy(slot->ns, lane->tail_ns, lane->n_tail * sizeof(*slot->ns));
		return slot;
	}
	from = &g_array_index(lane->blocks, Block, block);
	slot->ns[0] = g_array_index(lane->bases, guint64, block);
	for (guint i = 1; i < BLOCK; i++)
		slot->ns[i] =
			slot->ns[i - 1] + rs_trace_bits_get(from->bits, i - 1, from->time_width);
	return slot;
}

/* One of a sealed block. */
static double block_value(const Lane *lane, guint block, guint at)
{
	const Block *from = &g_array_index(lane->blocks, Block, block);
	const guint8 *bits = from->bits + rs_trace_bits_bytes(BLOCK - 1, from->time_width);

	return decode(from, g_array_index(lane->bounds[0], Bounds, block).least,
		      rs_trace_bits_get(bits, at, from->value_width));
}

static guint64 lane_count(const Lane *lane)
{
	return (guint64)lane->blocks->len * BLOCK + lane->n_tail;
}

/* How many of the `n` times are earlier than `ns`. */
static guint rank_of(const guint64 *times, guint n, guint64 ns)
{
	guint low = 0, high = n;

	while (low < high) {
		const guint middle = low + (high - low) / 2;

		if (times[middle] < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How many of the lane are earlier than `ns`. */
static guint64 lane_rank(Look *look, guint64 ns)
{
	const Lane *lane = look->lane;
	guint blocks = rank_of((const guint64 *)(void *)lane->bases->data, lane->bases->len, ns);

	/* The tail is behind the last block. */
	if (lane->n_tail && lane->tail_ns[0] < ns)
		blocks = lane->blocks->len + 1;
	if (!blocks)
		return 0;
	blocks--;
	return (guint64)blocks * BLOCK + rank_of(look_at(look, blocks)->ns,
						 blocks == lane->blocks->len ? lane->n_tail : BLOCK,
						 ns);
}

static double lane_value(Look *look, guint64 index, guint64 *ns)
{
	const guint block = (guint)(index / BLOCK), at = index % BLOCK;

	*ns = look_at(look, block)->ns[at];
	return block < look->lane->blocks->len ? block_value(look->lane, block, at)
					       : look->lane->tail[at];
}

/* Of whole blocks [from, until): as high as bounds are whole, and then down again. */
static void widen_by_blocks(const Lane *lane, guint from, guint until, Bounds *bounds)
{
	guint level = 0;

	while (from < until) {
		while (level + 1 < LEVELS && from % FANOUT == 0 && until - from >= FANOUT) {
			for (; until % FANOUT; until--)
				widen(bounds,
				      g_array_index(lane->bounds[level], Bounds, until - 1));
			from /= FANOUT;
			until /= FANOUT;
			level++;
		}
		widen(bounds, g_array_index(lane->bounds[level], Bounds, from));
		from++;
	}
}

/* Of values [from, until) of a block, which are looked at only if they may make a difference. */
static void widen_by_part(const Lane *lane, guint block, guint from, guint until, Bounds *bounds)
{
	const Bounds *all;

	if (block == lane->blocks->len) {
		for (guint i = from; i < until; i++)
			widen_by(bounds, lane->tail[i]);
		return;
	}
	all = &g_array_index(lane->bounds[0], Bounds, block);
	if (all->least >= bounds->least && all->most <= bounds->most)
		return;
	for (guint i = from; i < until; i++)
		widen_by(bounds, block_value(lane, block, i));
}

/* Of values [from, until). What lies in whole blocks comes first: it leaves less to look at. */
static void widen_by_lane(const Lane *lane, guint64 from, guint64 until, Bounds *bounds)
{
	/* The tail may be full, and is no whole block. */
	const guint first = (guint)(from / BLOCK);
	const guint last = MIN((guint)(until / BLOCK), lane->blocks->len);
	const guint head = from % BLOCK, tail = (guint)(until - (guint64)last * BLOCK);

	if (first == last) {
		widen_by_part(lane, first, head, tail, bounds);
		return;
	}
	widen_by_blocks(lane, first + (head > 0), last, bounds);
	if (head)
		widen_by_part(lane, first, head, BLOCK, bounds);
	widen_by_part(lane, last, 0, tail, bounds);
}

gboolean rs_trace_values_held(const RsTraceValues *values, guint64 ns, double *value, guint64 *when)
{
	guint64 latest = 0;
	gboolean found = FALSE;

	for (guint i = 0; i < values->lanes->len; i++) {
		guint64 rank, then;
		double there;
		Look look;

		look_begin(&look, values->lanes->pdata[i]);
		rank = lane_rank(&look, ns);
		if (!rank)
			continue;
		there = lane_value(&look, rank - 1, &then);
		/* Two of one time are in the order of rings. */
		if (found && then < latest)
			continue;
		found = TRUE;
		latest = then;
		*value = there;
	}
	if (when)
		*when = latest;
	return found;
}

/* ---- columns ---- */

/* What the lanes that were looked at so far have in a column. */
typedef struct {
	Bounds inside; /* least > most: none */
	double last;   /* of all that came by its end */
	guint64 last_ns;
	gboolean has, at_begin; /* one comes at the very begin */
} Cell;

static void add_lane(const Lane *lane, const guint64 *edges, guint n, Cell *cells)
{
	const guint64 count = lane_count(lane);
	guint64 from, ns;
	Look look;

	look_begin(&look, lane);
	from = lane_rank(&look, edges[0]);
	for (guint i = 0; i < n; i++) {
		/* Behind the last one there is nothing to look for. */
		const guint64 until =
			from < count ? MAX(lane_rank(&look, edges[i + 1]), from) : count;
		Cell *cell = &cells[i];
		double last;

		if (until > from) {
			widen_by_lane(lane, from, until, &cell->inside);
			lane_value(&look, from, &ns);
			cell->at_begin |= ns == edges[i];
		}
		if (until > 0) {
			last = lane_value(&look, until - 1, &ns);
			if (!cell->has || ns >= cell->last_ns) {
				cell->last = last;
				cell->last_ns = ns;
			}
			cell->has = TRUE;
		}
		from = until;
	}
}

void rs_trace_values_columns(const RsTraceValues *values, const guint64 *edges, guint n,
			     RsTraceValueColumn *out)
{
	g_autofree Cell *cells = g_new0(Cell, n);
	double held = 0;
	gboolean holds = rs_trace_values_held(values, edges[0], &held, NULL);

	for (guint i = 0; i < n; i++)
		cells[i].inside = (Bounds){INFINITY, -INFINITY};
	for (guint i = 0; i < values->lanes->len; i++)
		add_lane(values->lanes->pdata[i], edges, n, cells);
	for (guint i = 0; i < n; i++) {
		Bounds bounds = cells[i].inside;

		/* The one before holds on, unless one comes at the very begin. */
		if (holds && !cells[i].at_begin)
			widen_by(&bounds, held);
		out[i] = (RsTraceValueColumn){.has = cells[i].has};
		if (cells[i].has) {
			out[i].least = bounds.least;
			out[i].most = bounds.most;
			out[i].last = held = cells[i].last;
		}
		holds = cells[i].has;
	}
}
