/* SPDX-License-Identifier: MIT */
/*
 * Items are gathered in a tail. When a tail is full and another item comes, it is sealed: its times
 * become a base and differences, its tags numbers, both with as many bits as the largest one needs.
 * A block also holds the sums of all that is before it. So what is before a moment is one block's
 * sums and a walk through a part of that block.
 */
#include "timeline/rs-trace-series.h"

#include <string.h>

#define BLOCK 128u
#define TAIL_FIRST 8u /* room for so many at first: most tasks of a trace have few */

typedef struct {
	guint64 base;        /* time of its first item */
	RsTraceShade before; /* sums of all that is before `base` */
	guint8 *bits;        /* BLOCK - 1 differences of times, then BLOCK tags */
	guint8 time_width, tag_width;
} Block;

struct _RsTraceSeries {
	RsTraceSeriesKind kind;
	const RsTracePalette *palette;
	GArray *blocks; /* Block */
	gsize packed;   /* bytes of their bits */
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
	series->palette = palette;
	series->blocks = g_array_new(FALSE, FALSE, sizeof(Block));
	return series;
}

void rs_trace_series_free(RsTraceSeries *series)
{
	if (!series)
		return;
	for (guint i = 0; i < series->blocks->len; i++)
		g_free(g_array_index(series->blocks, Block, i).bits);
	g_array_unref(series->blocks);
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

/* Of a point `times` is 1; of a span, how many ns it lasts. */
static inline void add(const RsTraceSeries *series, RsTraceShade *sum, guint32 tag, guint64 times)
{
	guint32 colour = colour_of(series, tag);

	if (colour == RS_TRACE_PALETTE_NONE) {
		sum->weight += series->kind == RS_TRACE_SERIES_POINTS ? times : 0;
		return;
	}
	sum->weight += times;
	sum->red += (colour >> 16 & 0xff) * times;
	sum->green += (colour >> 8 & 0xff) * times;
	sum->blue += (colour & 0xff) * times;
}

static inline RsTraceShade difference(RsTraceShade a, RsTraceShade b)
{
	return (RsTraceShade){a.weight - b.weight, a.red - b.red, a.green - b.green,
			      a.blue - b.blue};
}

/* ---- bits ---- */

static inline guint width_of(guint64 largest)
{
	guint width = largest ? 64u - (guint)__builtin_clzll(largest) : 0;

	return width > 56 ? 64 : width; /* what one load of 8 bytes has, wherever it begins */
}

static inline gsize bytes_of(guint n, guint width)
{
	return ((gsize)n * width + 7) / 8;
}

static void put_bits(guint8 *bits, guint index, guint width, guint64 value)
{
	gsize at = (gsize)index * width;
	guint64 word;

	memcpy(&word, bits + at / 8, sizeof(word));
	word = GUINT64_FROM_LE(word) | value << at % 8;
	word = GUINT64_TO_LE(word);
	memcpy(bits + at / 8, &word, sizeof(word));
}

static inline guint64 get_bits(const guint8 *bits, guint index, guint width)
{
	gsize at = (gsize)index * width;
	guint64 word;

	memcpy(&word, bits + at / 8, sizeof(word));
	word = GUINT64_FROM_LE(word) >> at % 8;
	return width < 64 ? word & ((G_GUINT64_CONSTANT(1) << width) - 1) : word;
}

static inline const guint8 *tags_of(const Block *block)
{
	return block->bits + bytes_of(BLOCK - 1, block->time_width);
}

static void unpack_times(const Block *block, guint64 ns[BLOCK])
{
	guint64 at = block->base;

	ns[0] = at;
	for (guint i = 1; i < BLOCK; i++)
		ns[i] = at += get_bits(block->bits, i - 1, block->time_width);
}

static void unpack_tags(const Block *block, guint32 tags[BLOCK])
{
	const guint8 *bits = tags_of(block);

	for (guint i = 0; i < BLOCK; i++)
		tags[i] = (guint32)get_bits(bits, i, block->tag_width);
}

/* ---- growing ---- */

/* The tail is full: it becomes a block. What comes next begins at `next`. */
static void seal(RsTraceSeries *series, guint64 next)
{
	Block block = {.base = series->tail_ns[0], .before = series->before_tail};
	guint64 largest = 0, largest_tag = 0;
	gsize times, size;

	for (guint i = 0; i < BLOCK; i++) {
		guint64 until = i + 1 < BLOCK ? series->tail_ns[i + 1] : next;
		guint64 lasts = until - series->tail_ns[i];

		if (i + 1 < BLOCK)
			largest |= lasts;
		largest_tag |= series->tail_tags[i];
		add(series, &series->before_tail, series->tail_tags[i],
		    series->kind == RS_TRACE_SERIES_POINTS ? 1 : lasts);
	}
	block.time_width = (guint8)width_of(largest);
	block.tag_width = (guint8)width_of(largest_tag);
	times = bytes_of(BLOCK - 1, block.time_width);
	size = times + bytes_of(BLOCK, block.tag_width) + sizeof(guint64);
	block.bits = g_malloc0(size);
	for (guint i = 0; i + 1 < BLOCK; i++)
		put_bits(block.bits, i, block.time_width,
			 series->tail_ns[i + 1] - series->tail_ns[i]);
	for (guint i = 0; i < BLOCK; i++)
		put_bits(block.bits + times, i, block.tag_width, series->tail_tags[i]);
	g_array_append_val(series->blocks, block);
	series->packed += size;
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
		if (series->n_tail == BLOCK)
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
	return (guint64)series->blocks->len * BLOCK + series->n_tail;
}

gsize rs_trace_series_size(const RsTraceSeries *series)
{
	return sizeof(*series) + series->packed + series->blocks->len * sizeof(Block) +
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

static const Block *block_at(const RsTraceSeries *series, guint i)
{
	return &g_array_index(series->blocks, Block, i);
}

guint rs_trace_series_read(const RsTraceSeries *series, guint64 index, guint n, guint64 *ns,
			   guint32 *tags)
{
	guint64 count = rs_trace_series_count(series);
	guint64 times[BLOCK];
	guint32 marks[BLOCK];
	guint done = 0;

	while (done < n && index + done < count) {
		guint64 at = index + done;
		guint block = (guint)(at / BLOCK), from = at % BLOCK;
		gboolean sealed = block < series->blocks->len;
		guint take = MIN((sealed ? BLOCK : series->n_tail) - from, n - done);

		if (sealed && ns)
			unpack_times(block_at(series, block), times);
		if (sealed && tags)
			unpack_tags(block_at(series, block), marks);
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
 * Of blocks from `low` on, how many begin before `ns` (`low` of them do, or it is 0). The tail
 * counts as one.
 */
static guint blocks_before(const RsTraceSeries *series, guint low, guint64 ns)
{
	guint high = series->blocks->len, step = 1;

	while (low + step < high && block_at(series, low + step)->base < ns) {
		low += step;
		step *= 2;
	}
	high = MIN(high, low + step);
	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (block_at(series, middle)->base < ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == series->blocks->len && series->n_tail && series->tail_ns[0] < ns)
		low++;
	return low;
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
	at = sealed->base;
	for (; n < BLOCK; n++) {
		at += get_bits(sealed->bits, n - 1, sealed->time_width);
		if (at >= ns)
			break;
	}
	return n;
}

guint64 rs_trace_series_rank(const RsTraceSeries *series, guint64 ns)
{
	guint n = blocks_before(series, 0, ns);

	return n ? (guint64)(n - 1) * BLOCK + rank_in(series, n - 1, ns) : 0;
}

static gboolean is_wanted(const guint32 *wanted, guint n_wanted, guint32 tag)
{
	return tag < n_wanted && wanted[tag / 32] >> tag % 32 & 1;
}

guint64 rs_trace_series_find(const RsTraceSeries *series, guint64 index, gboolean forward,
			     const guint32 *wanted, guint n_wanted)
{
	guint64 count = rs_trace_series_count(series);
	guint32 tags[BLOCK];
	guint64 at;

	if (!count || (forward && index >= count))
		return G_MAXUINT64;
	for (at = MIN(index, count - 1);;) {
		guint64 start = at / BLOCK * BLOCK;
		guint n = rs_trace_series_read(series, start, BLOCK, NULL, tags);

		for (guint i = (guint)(at - start); i < n; i += forward ? 1 : -1u)
			if (is_wanted(wanted, n_wanted, tags[i]))
				return start + i;
		if (forward ? start + BLOCK >= count : !start)
			return G_MAXUINT64;
		at = forward ? start + BLOCK : start - 1;
	}
}

/* ---- columns ---- */

/* A place in the series that goes forward: before item `n` of `block`, whose items are unpacked. */
typedef struct {
	const RsTraceSeries *series;
	guint64 end;   /* where the last span ends */
	guint block;   /* G_MAXUINT: none yet */
	guint n, size; /* of the block's items, those that are summed up, and all */
	const guint64 *ns;
	const guint32 *tags;
	guint64 times[BLOCK];
	guint32 marks[BLOCK];
	RsTraceShade sum; /* of all before item n */
} Walk;

static void enter(Walk *walk, guint block)
{
	const RsTraceSeries *series = walk->series;

	walk->block = block;
	walk->n = 0;
	if (block == series->blocks->len) {
		walk->ns = series->tail_ns;
		walk->tags = series->tail_tags;
		walk->size = series->n_tail;
		walk->sum = series->before_tail;
		return;
	}
	unpack_times(block_at(series, block), walk->times);
	unpack_tags(block_at(series, block), walk->marks);
	walk->ns = walk->times;
	walk->tags = walk->marks;
	walk->size = BLOCK;
	walk->sum = block_at(series, block)->before;
}

/* Where the span of item n ends. */
static guint64 end_of(const Walk *walk)
{
	if (walk->n + 1 < walk->size)
		return walk->ns[walk->n + 1];
	if (walk->block < walk->series->blocks->len)
		return walk->block + 1 < walk->series->blocks->len
			       ? block_at(walk->series, walk->block + 1)->base
			       : walk->series->tail_ns[0];
	return MAX(walk->end, walk->ns[walk->n]);
}

/* The sums of all that is before `ns`, which is no earlier than at the last call. */
static RsTraceShade before(Walk *walk, guint64 ns)
{
	guint blocks = blocks_before(walk->series, walk->block == G_MAXUINT ? 0 : walk->block, ns);
	RsTraceShade sum;

	if (!blocks)
		return (RsTraceShade){0};
	if (walk->block != blocks - 1)
		enter(walk, blocks - 1);
	if (walk->series->kind == RS_TRACE_SERIES_POINTS) {
		for (; walk->n < walk->size && walk->ns[walk->n] < ns; walk->n++)
			add(walk->series, &walk->sum, walk->tags[walk->n], 1);
		return walk->sum;
	}
	for (; walk->n < walk->size && end_of(walk) <= ns; walk->n++)
		add(walk->series, &walk->sum, walk->tags[walk->n],
		    end_of(walk) - walk->ns[walk->n]);
	sum = walk->sum;
	if (walk->n < walk->size && walk->ns[walk->n] < ns)
		add(walk->series, &sum, walk->tags[walk->n], ns - walk->ns[walk->n]);
	return sum;
}

void rs_trace_series_columns(const RsTraceSeries *series, const guint64 *edges, guint n,
			     guint64 end, RsTraceShade *out)
{
	Walk walk = {.series = series, .end = end, .block = G_MAXUINT};
	RsTraceShade last = before(&walk, edges[0]);

	for (guint i = 0; i < n; i++) {
		RsTraceShade next = before(&walk, edges[i + 1]);

		out[i] = difference(next, last);
		last = next;
	}
}
