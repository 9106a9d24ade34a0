/* SPDX-License-Identifier: MIT */
#include "timeline/rs-trace-run-private.h"
#include "timeline/rs-trace-bits-private.h"

#include <math.h>

#define BLOCK RS_TRACE_RUN_BLOCK
#define FANOUT 64u /* bounds of a level for each of the level above */
#define LEVELS 4u
#define WHOLE 0x1p53 /* whole numbers up to that are kept as such */

typedef struct {
	guint8 *bits; /* BLOCK - 1 differences of times, then values */
	guint8 time_width, value_width;
	gboolean is_whole; /* values are whole numbers, less the least one; else as they are */
} Block;

struct _RsTraceRun {
	GArray *bases;          /* guint64: time of each block's first value */
	GArray *blocks;         /* Block */
	GArray *bounds[LEVELS]; /* RsTraceBounds: of blocks, then of FANOUT of the level below */
	RsTraceBits bits;
	guint n_tail;
	guint64 tail_ns[BLOCK];
	double tail[BLOCK];
};

/* ---- growing ---- */

RsTraceRun *rs_trace_run_new(void)
{
	RsTraceRun *run = g_new0(RsTraceRun, 1);

	run->bases = g_array_new(FALSE, FALSE, sizeof(guint64));
	run->blocks = g_array_new(FALSE, FALSE, sizeof(Block));
	for (guint i = 0; i < LEVELS; i++)
		run->bounds[i] = g_array_new(FALSE, FALSE, sizeof(RsTraceBounds));
	return run;
}

void rs_trace_run_free(RsTraceRun *run)
{
	g_array_unref(run->bases);
	g_array_unref(run->blocks);
	for (guint i = 0; i < LEVELS; i++)
		g_array_unref(run->bounds[i]);
	rs_trace_bits_clear(&run->bits);
	g_free(run);
}

static void widen(RsTraceBounds *bounds, RsTraceBounds more)
{
	bounds->least = MIN(bounds->least, more.least);
	bounds->most = MAX(bounds->most, more.most);
}

void rs_trace_bounds_widen(RsTraceBounds *bounds, double value)
{
	widen(bounds, (RsTraceBounds){value, value});
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

static void add_bounds(RsTraceRun *run, RsTraceBounds bounds)
{
	for (guint level = 0; level < LEVELS; level++) {
		const GArray *below = run->bounds[level];

		g_array_append_val(run->bounds[level], bounds);
		if (below->len % FANOUT)
			return;
		bounds = g_array_index(below, RsTraceBounds, below->len - FANOUT);
		for (guint i = below->len - FANOUT + 1; i < below->len; i++)
			widen(&bounds, g_array_index(below, RsTraceBounds, i));
	}
}

static void seal(RsTraceRun *run)
{
	RsTraceBounds bounds = {run->tail[0], run->tail[0]};
	Block block = {.is_whole = TRUE};
	guint64 largest = 0;
	gsize times;

	for (guint i = 0; i < BLOCK; i++) {
		rs_trace_bounds_widen(&bounds, run->tail[i]);
		block.is_whole &= is_whole(run->tail[i]);
		if (i > 0)
			largest |= run->tail_ns[i] - run->tail_ns[i - 1];
	}
	block.time_width = (guint8)rs_trace_bits_width(largest);
	block.value_width =
		block.is_whole
			? (guint8)rs_trace_bits_width(encode(&block, bounds.least, bounds.most))
			: 64;
	times = rs_trace_bits_bytes(BLOCK - 1, block.time_width);
	block.bits = rs_trace_bits_take(&run->bits,
					times + rs_trace_bits_bytes(BLOCK, block.value_width));
	for (guint i = 0; i < BLOCK; i++) {
		if (i > 0)
			rs_trace_bits_put(block.bits, i - 1, block.time_width,
					  run->tail_ns[i] - run->tail_ns[i - 1]);
		rs_trace_bits_put(block.bits + times, i, block.value_width,
				  encode(&block, bounds.least, run->tail[i]));
	}
	g_array_append_val(run->bases, run->tail_ns[0]);
	g_array_append_val(run->blocks, block);
	add_bounds(run, bounds);
	run->n_tail = 0;
}

void rs_trace_run_append(RsTraceRun *run, guint64 ns, double value)
{
	if (run->n_tail == BLOCK)
		seal(run);
	run->tail_ns[run->n_tail] = ns;
	run->tail[run->n_tail++] = value;
}

/* ---- looking ---- */

guint64 rs_trace_run_last_ns(const RsTraceRun *run)
{
	return run->n_tail ? run->tail_ns[run->n_tail - 1] : 0;
}

gsize rs_trace_run_size(const RsTraceRun *run)
{
	gsize size = sizeof(*run) + run->bits.packed +
		     run->blocks->len * (sizeof(Block) + sizeof(guint64));

	for (guint level = 0; level < LEVELS; level++)
		size += run->bounds[level]->len * sizeof(RsTraceBounds);
	return size;
}

void rs_trace_run_look(RsTraceRunLook *look, const RsTraceRun *run)
{
	look->run = run;
	look->last = 0;
	look->slots[0].block = look->slots[1].block = G_MAXUINT;
}

/* The block behind the last one is the tail. */
static RsTraceRunSlot *look_at(RsTraceRunLook *look, guint block)
{
	const RsTraceRun *run = look->run;
	const Block *from;
	RsTraceRunSlot *slot = &look->slots[look->last];

	if (slot->block == block)
		return slot;
	slot = &look->slots[look->last ^= 1];
	if (slot->block == block)
		return slot;
	slot->block = block;
	if (block == run->blocks->len) {
		slot->ns = run->tail_ns;
		return slot;
	}
	from = &g_array_index(run->blocks, Block, block);
	slot->sealed[0] = g_array_index(run->bases, guint64, block);
	for (guint i = 1; i < BLOCK; i++)
		slot->sealed[i] = slot->sealed[i - 1] +
				  rs_trace_bits_get(from->bits, i - 1, from->time_width);
	slot->ns = slot->sealed;
	return slot;
}

/* One of a sealed block. */
static double block_value(const RsTraceRun *run, guint block, guint at)
{
	const Block *from = &g_array_index(run->blocks, Block, block);
	const guint8 *bits = from->bits + rs_trace_bits_bytes(BLOCK - 1, from->time_width);

	return decode(from, g_array_index(run->bounds[0], RsTraceBounds, block).least,
		      rs_trace_bits_get(bits, at, from->value_width));
}

guint64 rs_trace_run_count(const RsTraceRun *run)
{
	return (guint64)run->blocks->len * BLOCK + run->n_tail;
}

/* How many of the `n` times are earlier than `ns`. */
guint rs_trace_rank_of(const guint64 *times, guint n, guint64 ns)
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

/* How many of the run are earlier than `ns`. */
guint64 rs_trace_run_rank(RsTraceRunLook *look, guint64 ns)
{
	const RsTraceRun *run = look->run;
	guint blocks =
		rs_trace_rank_of((const guint64 *)(void *)run->bases->data, run->bases->len, ns);

	/* The tail is behind the last block. */
	if (run->n_tail && run->tail_ns[0] < ns)
		blocks = run->blocks->len + 1;
	if (!blocks)
		return 0;
	blocks--;
	return (guint64)blocks * BLOCK +
	       rs_trace_rank_of(look_at(look, blocks)->ns,
				blocks == run->blocks->len ? run->n_tail : BLOCK, ns);
}

double rs_trace_run_value(RsTraceRunLook *look, guint64 index, guint64 *ns)
{
	const guint block = (guint)(index / BLOCK), at = index % BLOCK;

	*ns = look_at(look, block)->ns[at];
	return block < look->run->blocks->len ? block_value(look->run, block, at)
					      : look->run->tail[at];
}

/* Of whole blocks [from, until): as high as bounds are whole, and then down again. */
static void widen_by_blocks(const RsTraceRun *run, guint from, guint until, RsTraceBounds *bounds)
{
	guint level = 0;

	while (from < until) {
		while (level + 1 < LEVELS && from % FANOUT == 0 && until - from >= FANOUT) {
			for (; until % FANOUT; until--)
				widen(bounds,
				      g_array_index(run->bounds[level], RsTraceBounds, until - 1));
			from /= FANOUT;
			until /= FANOUT;
			level++;
		}
		widen(bounds, g_array_index(run->bounds[level], RsTraceBounds, from));
		from++;
	}
}

/* Of values [from, until) of a block, which are looked at only if they may make a difference. */
static void widen_by_part(const RsTraceRun *run, guint block, guint from, guint until,
			  RsTraceBounds *bounds)
{
	const RsTraceBounds *all;

	if (block == run->blocks->len) {
		for (guint i = from; i < until; i++)
			rs_trace_bounds_widen(bounds, run->tail[i]);
		return;
	}
	all = &g_array_index(run->bounds[0], RsTraceBounds, block);
	if (all->least >= bounds->least && all->most <= bounds->most)
		return;
	for (guint i = from; i < until; i++)
		rs_trace_bounds_widen(bounds, block_value(run, block, i));
}

/* Of values [from, until). What lies in whole blocks comes first: it leaves less to look at. */
void rs_trace_run_widen(const RsTraceRun *run, guint64 from, guint64 until, RsTraceBounds *bounds)
{
	/* The tail may be full, and is no whole block. */
	const guint first = (guint)(from / BLOCK);
	const guint last = MIN((guint)(until / BLOCK), run->blocks->len);
	const guint head = from % BLOCK, tail = (guint)(until - (guint64)last * BLOCK);

	if (first == last) {
		widen_by_part(run, first, head, tail, bounds);
		return;
	}
	widen_by_blocks(run, first + (head > 0), last, bounds);
	if (head)
		widen_by_part(run, first, head, BLOCK, bounds);
	widen_by_part(run, last, 0, tail, bounds);
}
