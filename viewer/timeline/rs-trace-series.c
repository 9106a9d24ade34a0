/* SPDX-License-Identifier: MIT */
/*
 * Items are gathered in a tail. When a tail is full and another item comes, it is sealed: its times
 * become a base and differences, its tags numbers, both with as many bits as the largest one needs.
 * A block also holds the sums of all that is before it. So what is before a moment is one block's
 * sums and a walk through a part of that block.
 */
#include "timeline/rs-trace-series.h"
#include "timeline/rs-trace-bits-private.h"

#include <string.h>

/*
 * Items of a block. To walk through spans takes longer than through points, and they are fewer, so
 * that smaller blocks cost less.
 */
#define BLOCK_POINTS 128u
#define BLOCK_SPANS 64u
#define BLOCK_MAX 128u
#define TAIL_FIRST 8u /* room for so many at first: most tasks of a trace have few */

typedef struct {
	guint8 *bits; /* differences of times, one less than items, then tags; a chunk's */
	guint8 time_width, tag_width;
} Block;

/*
 * The colours of all points before a block: red, green and blue, each in 40 bits, which 4 billion
 * points do not fill. How many points there are follows from the block's number.
 */
typedef struct {
	guint32 low[3];
	guint8 high[3];
} Colours;

struct _RsTraceSeries {
	RsTraceSeriesKind kind;
	guint block; /* items of each */
	const RsTracePalette *palette;
	GArray *blocks; /* Block */
	GArray *sums;   /* of what is before each: Colours, or of spans RsTraceShade; may be NULL */
	GArray *bases;  /* guint64: times of their first items, which are searched */
	RsTraceBits bits; /* memory of theirs */
	RsTraceShade before_tail;
	guint64 first;
	guint n_tail, tail_room; /* the tail has an item as soon as the series has */
	guint64 *tail_ns;
	guint32 *tail_tags;
};

RsTraceSeries *rs_trace_series_new(RsTraceSeriesKind kind, const RsTracePalette *palette)
{
	RsTraceSeries *series = g_new0(RsTraceSeries, 1);

	series->kind = kind;
	series->block = kind == RS_TRACE_SERIES_POINTS ? BLOCK_POINTS : BLOCK_SPANS;
	series->palette = palette;
	series->blocks = g_array_new(FALSE, FALSE, sizeof(Block));
	if (palette)
		series->sums = g_array_new(FALSE, FALSE,
					   kind == RS_TRACE_SERIES_POINTS ? sizeof(Colours)
									  : sizeof(RsTraceShade));
	series->bases = g_array_new(FALSE, FALSE, sizeof(guint64));
	return series;
}

void rs_trace_series_free(RsTraceSeries *series)
{
	if (!series)
		return;
	rs_trace_bits_clear(&series->bits);
	g_array_unref(series->blocks);
	g_clear_pointer(&series->sums, g_array_unref);
	g_array_unref(series->bases);
	g_free(series->tail_ns);
	g_free(series->tail_tags);
	g_free(series);
}

/* ---- sums ---- */

static inline guint32 colour_of(const RsTraceSeries *series, guint32 tag)
{
	const GArray *colours = series->palette->colours;

	return tag < colours->len ? g_array_index(colours, guint32, tag) : RS_TRACE_PALETTE_NONE;
}

/* Of a point `times` is 1; of a span, how many ns it lasts. No branch depends on the colour. */
static inline void add(const RsTraceSeries *series, RsTraceShade *sum, guint32 tag, guint64 times)
{
	guint32 colour = colour_of(series, tag);
	guint64 seen = times & -(guint64)(colour != RS_TRACE_PALETTE_NONE);

	sum->weight += series->kind == RS_TRACE_SERIES_POINTS ? times : seen;
	sum->red += (colour >> 16 & 0xff) * seen;
	sum->green += (colour >> 8 & 0xff) * seen;
	sum->blue += (colour & 0xff) * seen;
}

static inline RsTraceShade difference(RsTraceShade a, RsTraceShade b)
{
	return (RsTraceShade){a.weight - b.weight, a.red - b.red, a.green - b.green,
			      a.blue - b.blue};
}

static void put_sum(RsTraceSeries *series, const RsTraceShade *sum)
{
	const guint64 parts[] = {sum->red, sum->green, sum->blue};
	Colours colours;

	if (series->kind == RS_TRACE_SERIES_SPANS) {
		g_array_append_vals(series->sums, sum, 1);
		return;
	}
	for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
		colours.low[i] = (guint32)parts[i];
		colours.high[i] = (guint8)(parts[i] >> 32);
	}
	g_array_append_val(series->sums, colours);
}

static inline guint64 colour_part(const Colours *colours, guint i)
{
	return (guint64)colours->high[i] << 32 | colours->low[i];
}

/* Of all that is before the first item of a sealed block. */
static inline RsTraceShade sum_before(const RsTraceSeries *series, guint block)
{
	const Colours *colours;

	if (series->kind == RS_TRACE_SERIES_SPANS)
		return g_array_index(series->sums, RsTraceShade, block);
	colours = &g_array_index(series->sums, Colours, block);
	return (RsTraceShade){(guint64)block * series->block, colour_part(colours, 0),
			      colour_part(colours, 1), colour_part(colours, 2)};
}

/* ---- bits ---- */

static inline const guint8 *tags_of(const RsTraceSeries *series, const Block *block)
{
	return block->bits + rs_trace_bits_bytes(series->block - 1, block->time_width);
}

static void unpack_times(const RsTraceSeries *series, guint block, guint64 *ns)
{
	const Block *from = &g_array_index(series->blocks, Block, block);
	guint64 at = g_array_index(series->bases, guint64, block);

	ns[0] = at;
	for (guint i = 1; i < series->block; i++)
		ns[i] = at += rs_trace_bits_get(from->bits, i - 1, from->time_width);
}

static void unpack_tags(const RsTraceSeries *series, guint block, guint32 *tags)
{
	const Block *from = &g_array_index(series->blocks, Block, block);
	const guint8 *bits = tags_of(series, from);

	for (guint i = 0; i < series->block; i++)
		tags[i] = (guint32)rs_trace_bits_get(bits, i, from->tag_width);
}

/* ---- growing ---- */

/* The tail is full: it becomes a block. What comes next begins at `next`. */
static void seal(RsTraceSeries *series, guint64 next)
{
	Block block = {0};
	guint64 largest = 0, largest_tag = 0;
	gsize times;

	if (series->sums)
		put_sum(series, &series->before_tail);
	for (guint i = 0; i < series->block; i++) {
		guint64 until = i + 1 < series->block ? series->tail_ns[i + 1] : next;
		guint64 lasts = until - series->tail_ns[i];

		if (i + 1 < series->block)
			largest |= lasts;
		largest_tag |= series->tail_tags[i];
		if (series->sums)
			add(series, &series->before_tail, series->tail_tags[i],
			    series->kind == RS_TRACE_SERIES_POINTS ? 1 : lasts);
	}
	block.time_width = (guint8)rs_trace_bits_width(largest);
	block.tag_width = (guint8)rs_trace_bits_width(largest_tag);
	times = rs_trace_bits_bytes(series->block - 1, block.time_width);
	block.bits = rs_trace_bits_take(
		&series->bits, times + rs_trace_bits_bytes(series->block, block.tag_width));
	for (guint i = 0; i + 1 < series->block; i++)
		rs_trace_bits_put(block.bits, i, block.time_width,
				  series->tail_ns[i + 1] - series->tail_ns[i]);
	for (guint i = 0; i < series->block; i++)
		rs_trace_bits_put(block.bits + times, i, block.tag_width, series->tail_tags[i]);
	g_array_append_val(series->bases, series->tail_ns[0]);
	g_array_append_val(series->blocks, block);
	series->n_tail = 0;
}

static void make_room(RsTraceSeries *series)
{
	if (series->n_tail < series->tail_room)
		return;
	series->tail_room = series->tail_room ? 2 * series->tail_room : TAIL_FIRST;
	series->tail_ns = g_renew(guint64, series->tail_ns, series->tail_room);
	series->tail_tags = g_renew(guint32, series->tail_tags, series->tail_room);
}

guint64 rs_trace_series_append(RsTraceSeries *series, guint64 ns, guint32 tag)
{
	if (series->n_tail) {
		guint last = series->n_tail - 1;

		ns = MAX(ns, series->tail_ns[last]);
		if (series->kind == RS_TRACE_SERIES_SPANS) {
			if (series->tail_tags[last] == tag)
				return ns;
			if (series->tail_ns[last] == ns) {
				series->tail_tags[last] = tag;
				return ns;
			}
		}
		if (series->n_tail == series->block)
			seal(series, ns);
	} else {
		series->first = ns;
	}
	make_room(series);
	series->tail_ns[series->n_tail] = ns;
	series->tail_tags[series->n_tail++] = tag;
	return ns;
}

/* ---- looking ---- */

guint64 rs_trace_series_count(const RsTraceSeries *series)
{
	return (guint64)series->blocks->len * series->block + series->n_tail;
}

gsize rs_trace_series_size(const RsTraceSeries *series)
{
	return sizeof(*series) + series->bits.packed +
	       series->blocks->len * (sizeof(Block) + sizeof(guint64)) +
	       (series->sums ? series->sums->len * g_array_get_element_size(series->sums) : 0) +
	       series->tail_room * (sizeof(guint64) + sizeof(guint32));
}

guint64 rs_trace_series_first(const RsTraceSeries *series)
{
	return series->first;
}

guint64 rs_trace_series_last(const RsTraceSeries *series)
{
	return series->n_tail ? series->tail_ns[series->n_tail - 1] : 0;
}

static guint64 base_at(const RsTraceSeries *series, guint i)
{
	return g_array_index(series->bases, guint64, i);
}

static const Block *block_at(const RsTraceSeries *series, guint i)
{
	return &g_array_index(series->blocks, Block, i);
}

guint rs_trace_series_read(const RsTraceSeries *series, guint64 index, guint n, guint64 *ns,
			   guint32 *tags)
{
	guint64 count = rs_trace_series_count(series);
	guint64 times[BLOCK_MAX];
	guint32 marks[BLOCK_MAX];
	guint done = 0;

	while (done < n && index + done < count) {
		guint64 at = index + done;
		guint block = (guint)(at / series->block), from = at % series->block;
		gboolean sealed = block < series->blocks->len;
		guint take = MIN((sealed ? series->block : series->n_tail) - from, n - done);

		if (sealed && ns)
			unpack_times(series, block, times);
		if (sealed && tags)
			unpack_tags(series, block, marks);
		if (ns)
			memcpy(ns + done, (sealed ? times : series->tail_ns) + from,
			       take * sizeof(*ns));
		if (tags)
			memcpy(tags + done, (sealed ? marks : series->tail_tags) + from,
			       take * sizeof(*tags));
		done += take;
	}
	return done;
}

/*
 * How many blocks begin before `ns`, the tail included: at least `low` of those that are sealed
 * do. `guess` more of them may do so.
 */
static guint blocks_before(const RsTraceSeries *series, guint low, guint guess, guint64 ns)
{
	guint n = series->blocks->len, high = n;

	for (guint step = MAX(guess, 1); step <= n - low;
	     step = MAX(guess / 8, 1), guess = 16 * step) {
		if (base_at(series, low + step - 1) >= ns) {
			high = low + step - 1;
			break;
		}
		low += step;
	}
	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (base_at(series, middle) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low + (low == n && series->n_tail && series->tail_ns[0] < ns);
}

/* Of a block that begins before `ns`: how many of its items are earlier. */
static guint rank_in(const RsTraceSeries *series, guint block, guint64 ns)
{
	const Block *sealed;
	guint64 at;
	guint n = 1;

	if (block == series->blocks->len) {
		while (n < series->n_tail && series->tail_ns[n] < ns)
			n++;
		return n;
	}
	sealed = block_at(series, block);
	at = base_at(series, block);
	for (; n < series->block; n++) {
		at += rs_trace_bits_get(sealed->bits, n - 1, sealed->time_width);
		if (at >= ns)
			break;
	}
	return n;
}

guint64 rs_trace_series_rank(const RsTraceSeries *series, guint64 ns)
{
	guint n = blocks_before(series, 0, series->blocks->len / 2, ns);

	return n ? (guint64)(n - 1) * series->block + rank_in(series, n - 1, ns) : 0;
}

static gboolean is_wanted(const guint32 *wanted, guint n_wanted, guint32 tag)
{
	return tag < n_wanted && wanted[tag / 32] >> tag % 32 & 1;
}

guint64 rs_trace_series_find(const RsTraceSeries *series, guint64 index, gboolean forward,
			     const guint32 *wanted, guint n_wanted)
{
	guint64 count = rs_trace_series_count(series);
	guint32 tags[BLOCK_MAX];
	guint64 at;

	if (!count || (forward && index >= count))
		return G_MAXUINT64;
	for (at = MIN(index, count - 1);;) {
		guint64 start = at / series->block * series->block;
		guint n = rs_trace_series_read(series, start, series->block, NULL, tags);

		for (guint i = (guint)(at - start); i < n; i += forward ? 1 : -1u)
			if (is_wanted(wanted, n_wanted, tags[i]))
				return start + i;
		if (forward ? start + series->block >= count : !start)
			return G_MAXUINT64;
		at = forward ? start + series->block : start - 1;
	}
}

/* ---- columns ---- */

/* A place in the series that goes forward: item `n` of `block`, and the sums of all before it. */
typedef struct {
	const RsTraceSeries *series;
	guint64 end;   /* where the last span ends */
	guint blocks;  /* sealed ones that begin before the last edge */
	guint stride;  /* how many more those were than at the edge before */
	guint block;   /* in which item `n` is; G_MAXUINT: none yet */
	guint n, size; /* of `size` items */
	guint64 ns;    /* of item `n` */
	RsTraceShade sum;
} Walk;

static gboolean in_tail(const Walk *walk)
{
	return walk->block == walk->series->blocks->len;
}

static void enter(Walk *walk, guint block)
{
	const RsTraceSeries *series = walk->series;

	walk->block = block;
	walk->n = 0;
	walk->size = in_tail(walk) ? series->n_tail : series->block;
	walk->ns = in_tail(walk) ? series->tail_ns[0] : base_at(series, block);
	walk->sum = in_tail(walk) ? series->before_tail : sum_before(series, block);
}

/* Where a sealed block ends, which is where the next one begins. */
static guint64 end_of_block(const RsTraceSeries *series, guint block)
{
	return block + 1 < series->blocks->len ? base_at(series, block + 1) : series->tail_ns[0];
}

/* Passes all points that are earlier than `ns`, or all spans that end by then. */
static inline void pass_sealed(Walk *walk, guint64 ns, gboolean points)
{
	const Block *block = block_at(walk->series, walk->block);
	const guint8 *times = block->bits, *tags = tags_of(walk->series, block);
	guint n = walk->n, last = walk->size - 1;
	guint64 at = walk->ns;

	for (; n <= last; n++) {
		guint64 next = n < last ? at + rs_trace_bits_get(times, n, block->time_width)
					: end_of_block(walk->series, walk->block);

		if (points ? at >= ns : next > ns)
			break;
		add(walk->series, &walk->sum, (guint32)rs_trace_bits_get(tags, n, block->tag_width),
		    points ? 1 : next - at);
		at = next;
	}
	walk->n = n;
	walk->ns = at;
}

static void pass_tail(Walk *walk, guint64 ns, gboolean points)
{
	const RsTraceSeries *series = walk->series;

	for (; walk->n < walk->size; walk->n++) {
		guint64 next = walk->n + 1 < walk->size ? series->tail_ns[walk->n + 1]
							: MAX(walk->end, walk->ns);

		if (points ? walk->ns >= ns : next > ns)
			break;
		add(series, &walk->sum, series->tail_tags[walk->n], points ? 1 : next - walk->ns);
		walk->ns = next;
	}
}

static guint32 tag_of(const Walk *walk)
{
	const Block *block;

	if (in_tail(walk))
		return walk->series->tail_tags[walk->n];
	block = block_at(walk->series, walk->block);
	return (guint32)rs_trace_bits_get(tags_of(walk->series, block), walk->n, block->tag_width);
}

/* Of the sums of a sealed block, a share is before `ns`: of its items, or of its time. */
static RsTraceShade share_before(const RsTraceSeries *series, guint block, guint64 ns)
{
	RsTraceShade sum = sum_before(series, block), all, part;
	guint64 from = base_at(series, block), until = end_of_block(series, block);
	double share = (double)(ns - from) / (double)(until - from);

	all = block + 1 < series->blocks->len ? sum_before(series, block + 1) : series->before_tail;
	all = difference(all, sum);
	part.weight = (guint64)((double)all.weight * share);
	if (series->kind == RS_TRACE_SERIES_POINTS) {
		part.weight = rank_in(series, block, ns);
		share = (double)part.weight / series->block;
	}
	sum.weight += part.weight;
	sum.red += (guint64)((double)all.red * share);
	sum.green += (guint64)((double)all.green * share);
	sum.blue += (guint64)((double)all.blue * share);
	return sum;
}

/* The sums of all that is before `ns`, which is no earlier than at the last call. */
static RsTraceShade before(Walk *walk, guint64 ns, guint64 grain)
{
	const RsTraceSeries *series = walk->series;
	guint blocks = blocks_before(series, walk->blocks, walk->stride, ns), last = blocks - 1;
	RsTraceShade sum;

	walk->stride = MIN(blocks, series->blocks->len) - walk->blocks;
	walk->blocks += walk->stride;
	if (!blocks)
		return (RsTraceShade){0};
	if (last < series->blocks->len) {
		guint64 length = end_of_block(series, last) - base_at(series, last);

		if (length <= grain / 4)
			return sum_before(series, last);
		if (length <= grain && ns < end_of_block(series, last))
			return share_before(series, last, ns);
	}
	if (walk->block != last)
		enter(walk, last);
	if (in_tail(walk))
		pass_tail(walk, ns, series->kind == RS_TRACE_SERIES_POINTS);
	else if (series->kind == RS_TRACE_SERIES_POINTS)
		pass_sealed(walk, ns, TRUE);
	else
		pass_sealed(walk, ns, FALSE);
	if (series->kind == RS_TRACE_SERIES_POINTS)
		return walk->sum;
	sum = walk->sum;
	if (walk->n < walk->size && walk->ns < ns)
		add(series, &sum, tag_of(walk), ns - walk->ns);
	return sum;
}

void rs_trace_series_columns(const RsTraceSeries *series, const guint64 *edges, guint n,
			     guint64 end, RsTraceShade *out)
{
	Walk walk = {.series = series, .end = end, .block = G_MAXUINT};
	RsTraceShade last;

	g_return_if_fail(series->sums);
	last = before(&walk, edges[0], 0);
	for (guint i = 0; i < n; i++) {
		guint64 grain = 0;
		RsTraceShade next;

		if (i + 1 < n)
			grain = MIN(edges[i + 1] - edges[i], edges[i + 2] - edges[i + 1]) / 2;
		next = before(&walk, edges[i + 1], grain);
		out[i] = difference(next, last);
		last = next;
	}
}
