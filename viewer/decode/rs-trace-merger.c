/* SPDX-License-Identifier: MIT */
#include "rs-trace-merger.h"

#include <string.h>

#define CHUNK_MIN 1024u
#define CHUNK_MAX 65536u

/* A record in a chunk; its call stack and its payload follow. */
typedef struct {
	guint64 key;   /* ns, but never less than the lane's item before it */
	guint64 round; /* in which it was read */
	gsize bytes;   /* this, both of them, and padding */
	RsTraceRecord record;
} Item;

/* Items of one lane, one after the other. */
typedef struct _Chunk Chunk;
struct _Chunk {
	Chunk *next;
	gsize room, used; /* bytes in data */
	guint64 data[];
};

typedef struct {
	Chunk *first, *last; /* NULL: empty, else there is an item at `read` */
	gsize read;          /* where the oldest item lies, in bytes in `first` */
	guint64 last_key;
	guint64 clean;     /* the last round in which the ring was read to its end */
	guint64 in_flight; /* the last round in which the ring was not */
	gboolean unused;
} Lane;

#define NOT_ENDED G_MAXINT64

/* A round that read records, of which some are held. */
typedef struct {
	guint64 number;
	guint64 known;   /* the round by which all that is older was read; 0: not done */
	gint64 ended_us; /* NOT_ENDED */
} Round;

struct _RsTraceMerger {
	gint64 hold_us;
	gsize max_bytes, chunk_bytes;
	gsize held;   /* bytes of items */
	gsize memory; /* bytes of chunks, in lanes and spare */
	Chunk *spare; /* of chunk_bytes each */
	gsize spare_bytes;
	RsTraceRecordFunc record;
	gpointer data;
	guint64 round;
	GArray *rounds; /* Round, oldest first */
	Lane *lanes;
	guint n_lanes;
	guint *heap; /* lanes with items; the lane with the oldest item is on top */
	guint n_heap;
	guint *waiting; /* room for as many lanes */
};

RsTraceMerger *rs_trace_merger_new(gint64 hold_us, gsize max_bytes, RsTraceRecordFunc record,
				   gpointer data)
{
	RsTraceMerger *merger = g_new0(RsTraceMerger, 1);

	merger->hold_us = hold_us > 0 ? hold_us : G_USEC_PER_SEC;
	merger->max_bytes = max_bytes ? max_bytes : (gsize)64 << 20;
	/* A thousand lanes with one chunk each must take far less than the limit. */
	merger->chunk_bytes = CLAMP(merger->max_bytes / 4096, CHUNK_MIN, CHUNK_MAX);
	merger->record = record;
	merger->data = data;
	merger->rounds = g_array_new(FALSE, FALSE, sizeof(Round));
	return merger;
}

static void free_chunks(Chunk *chunk)
{
	while (chunk) {
		Chunk *next = chunk->next;

		g_free(chunk);
		chunk = next;
	}
}

void rs_trace_merger_free(RsTraceMerger *merger)
{
	if (!merger)
		return;
	for (guint i = 0; i < merger->n_lanes; i++)
		free_chunks(merger->lanes[i].first);
	free_chunks(merger->spare);
	g_array_unref(merger->rounds);
	g_free(merger->lanes);
	g_free(merger->heap);
	g_free(merger->waiting);
	g_free(merger);
}

/* The first of `n` adjacent lanes that were given back and are empty. n_lanes: there are none. */
static guint find_unused(const RsTraceMerger *merger, guint n)
{
	guint run = 0;

	for (guint i = 0; i < merger->n_lanes; i++) {
		run = merger->lanes[i].unused && !merger->lanes[i].first ? run + 1 : 0;
		if (run == n)
			return i + 1 - n;
	}
	return merger->n_lanes;
}

void rs_trace_merger_remove_lanes(RsTraceMerger *merger, guint first, guint n)
{
	for (guint i = first; i < first + n; i++)
		merger->lanes[i].unused = TRUE;
}

gboolean rs_trace_merger_lanes_held(const RsTraceMerger *merger, guint first, guint n)
{
	for (guint i = first; i < first + n; i++) {
		if (merger->lanes[i].first)
			return TRUE;
	}
	return FALSE;
}

guint rs_trace_merger_add_lanes(RsTraceMerger *merger, guint n)
{
	guint first = find_unused(merger, n);

	if (first < merger->n_lanes) {
		memset(&merger->lanes[first], 0, n * sizeof(Lane));
		return first;
	}
	merger->n_lanes += n;
	merger->lanes = g_renew(Lane, merger->lanes, merger->n_lanes);
	merger->heap = g_renew(guint, merger->heap, merger->n_lanes);
	merger->waiting = g_renew(guint, merger->waiting, merger->n_lanes);
	memset(&merger->lanes[first], 0, n * sizeof(Lane));
	return first;
}

gsize rs_trace_merger_held(const RsTraceMerger *merger)
{
	return merger->held;
}

/* ---- the heap ---- */

static Item *oldest_item(const Lane *lane)
{
	return (Item *)((guint8 *)lane->first->data + lane->read);
}

/* If two items have the same time, the one of the lower lane goes first. */
static gboolean before(const RsTraceMerger *merger, guint a, guint b)
{
	guint64 x = oldest_item(&merger->lanes[a])->key, y = oldest_item(&merger->lanes[b])->key;

	return x < y || (x == y && a < b);
}

static void heap_insert(RsTraceMerger *merger, guint lane)
{
	guint at = merger->n_heap++;

	for (; at && before(merger, lane, merger->heap[(at - 1) / 2]); at = (at - 1) / 2)
		merger->heap[at] = merger->heap[(at - 1) / 2];
	merger->heap[at] = lane;
}

/* Puts `lane` on top and moves it down to its place. */
static void heap_settle(RsTraceMerger *merger, guint lane)
{
	guint at = 0, child;

	while ((child = 2 * at + 1) < merger->n_heap) {
		if (child + 1 < merger->n_heap &&
		    before(merger, merger->heap[child + 1], merger->heap[child]))
			child++;
		if (!before(merger, merger->heap[child], lane))
			break;
		merger->heap[at] = merger->heap[child];
		at = child;
	}
	merger->heap[at] = lane;
}

static guint heap_take(RsTraceMerger *merger)
{
	guint top = merger->heap[0];

	if (--merger->n_heap)
		heap_settle(merger, merger->heap[merger->n_heap]);
	return top;
}

/* ---- chunks ---- */

static void drop_chunk(RsTraceMerger *merger, Chunk *chunk)
{
	merger->memory -= sizeof(*chunk) + chunk->room;
	g_free(chunk);
}

/* Keeps an empty chunk for later, or frees it if enough are kept: a burst needs more than that. */
static void recycle(RsTraceMerger *merger, Chunk *chunk)
{
	if (chunk->room != merger->chunk_bytes ||
	    merger->spare_bytes + chunk->room > merger->max_bytes / 8) {
		drop_chunk(merger, chunk);
		return;
	}
	chunk->next = merger->spare;
	merger->spare = chunk;
	merger->spare_bytes += chunk->room;
}

static Chunk *take_spare(RsTraceMerger *merger)
{
	Chunk *chunk = merger->spare;

	merger->spare = chunk->next;
	merger->spare_bytes -= chunk->room;
	return chunk;
}

/* Lets the oldest record out. */
static void release(RsTraceMerger *merger)
{
	guint top = merger->heap[0];
	Lane *lane = &merger->lanes[top];
	Item *item = oldest_item(lane);
	Chunk *chunk = lane->first;

	merger->record(&item->record, merger->data);
	merger->held -= item->bytes;
	lane->read += item->bytes;
	if (lane->read == chunk->used) {
		lane->first = chunk->next;
		lane->read = 0;
		recycle(merger, chunk);
	}
	if (!lane->first) {
		lane->last = NULL;
		heap_take(merger);
		return;
	}
	heap_settle(merger, top);
}

/* An empty chunk with room for `bytes`. At the memory limit it lets the oldest records out. */
static Chunk *get_chunk(RsTraceMerger *merger, gsize bytes)
{
	gsize room = MAX(bytes, merger->chunk_bytes);
	Chunk *chunk = NULL;

	while (!chunk) {
		gboolean fits = merger->memory + sizeof(*chunk) + room <= merger->max_bytes;

		if (merger->spare && room == merger->chunk_bytes) {
			chunk = take_spare(merger);
		} else if (fits || (!merger->spare && !merger->n_heap)) {
			chunk = g_malloc(sizeof(*chunk) + room);
			chunk->room = room;
			merger->memory += sizeof(*chunk) + room;
		} else if (merger->spare) {
			drop_chunk(merger, take_spare(merger));
		} else {
			release(merger);
		}
	}
	chunk->next = NULL;
	chunk->used = 0;
	return chunk;
}

/* ---- rounds ---- */

void rs_trace_merger_begin_round(RsTraceMerger *merger)
{
	merger->round++;
}

/* There is a record of this round. */
static void note_round(RsTraceMerger *merger)
{
	const Round round = {.number = merger->round, .ended_us = NOT_ENDED};
	guint n = merger->rounds->len;

	if (!n || g_array_index(merger->rounds, Round, n - 1).number != round.number)
		g_array_append_val(merger->rounds, round);
}

void rs_trace_merger_push(RsTraceMerger *merger, guint index, const RsTraceRecord *record)
{
	gsize stack = record->n_stack * sizeof(guint64);
	gsize bytes = sizeof(Item) + stack + RS_ALIGN_UP(record->size, sizeof(guint64));
	gboolean was_empty;
	Lane *lane;
	Item *item;

	g_return_if_fail(index < merger->n_lanes);
	lane = &merger->lanes[index];
	if (!lane->last || lane->last->room - lane->last->used < bytes) {
		Chunk *chunk = get_chunk(merger, bytes);

		if (lane->last)
			lane->last->next = chunk;
		else
			lane->first = chunk;
		lane->last = chunk;
	}
	item = (Item *)((guint8 *)lane->last->data + lane->last->used);
	item->bytes = bytes;
	item->record = *record;
	item->record.stack = (guint8 *)(item + 1);
	item->record.payload = item->record.stack + stack;
	if (stack)
		memcpy(item + 1, record->stack, stack);
	if (record->size)
		memcpy((guint8 *)(item + 1) + stack, record->payload, record->size);
	item->key = lane->last_key = MAX(record->ns, lane->last_key);
	was_empty = lane->first == lane->last && lane->read == lane->last->used;
	lane->last->used += bytes;
	if (was_empty)
		heap_insert(merger, index);
	merger->held += bytes;
	item->round = merger->round;
	note_round(merger);
}

void rs_trace_merger_in_flight(RsTraceMerger *merger, guint lane)
{
	g_return_if_fail(lane < merger->n_lanes);
	merger->lanes[lane].in_flight = merger->round;
}

/*
 * A round is done once every ring was read to its end in a later one, or after hold_us. `clean` is
 * the last round by which every ring was read to its end.
 */
static void note_done(RsTraceMerger *merger, guint64 clean, gint64 now_us)
{
	guint64 known = 0;

	for (guint i = merger->rounds->len; i--;) {
		Round *round = &g_array_index(merger->rounds, Round, i);

		if (round->ended_us != NOT_ENDED)
			break;
		round->ended_us = now_us;
	}
	for (guint i = 0; i < merger->rounds->len; i++) {
		Round *round = &g_array_index(merger->rounds, Round, i);

		if (!round->known && round->number < clean)
			round->known = merger->round;
		else if (!round->known && now_us - round->ended_us >= merger->hold_us)
			round->known = MAX(known, round->number + 1);
		if (!round->known)
			break;
		known = round->known;
	}
}

/* `number` is a round with a record that is held. */
static const Round *find_round(const RsTraceMerger *merger, guint64 number)
{
	guint low = 0, high = merger->rounds->len;

	while (high - low > 1) {
		guint middle = low + (high - low) / 2;

		if (g_array_index(merger->rounds, Round, middle).number <= number)
			low = middle;
		else
			high = middle;
	}
	return &g_array_index(merger->rounds, Round, low);
}

static const Item *top_item(const RsTraceMerger *merger)
{
	return oldest_item(&merger->lanes[merger->heap[0]]);
}

/* The first round of which an item is held. There are items. */
static guint64 first_round(const RsTraceMerger *merger)
{
	guint64 first = G_MAXUINT64;

	for (guint i = 0; i < merger->n_heap; i++)
		first = MIN(first, oldest_item(&merger->lanes[merger->heap[i]])->round);
	return first;
}

/*
 * Lets out what is done, in the order of time. An item that must stay holds back a later one, but
 * only if it was read by the round in which all older than the later one was known. Otherwise one
 * of the two has a wrong time. So a lane that lies neither pushes out others' items nor stops them.
 */
static void release_done(RsTraceMerger *merger)
{
	guint64 since = G_MAXUINT64; /* the first round of an item that waits */
	guint n_waiting = 0;

	while (merger->n_heap) {
		const Item *item = top_item(merger);
		guint64 known = find_round(merger, item->round)->known;

		if (known && known < since) {
			release(merger);
			continue;
		}
		since = MIN(since, item->round);
		/* Mostly no lane lies, and then no other item can come out. */
		if (!n_waiting) {
			known = find_round(merger, first_round(merger))->known;
			if (!known || known >= since)
				return;
		}
		merger->waiting[n_waiting++] = heap_take(merger);
	}
	while (n_waiting)
		heap_insert(merger, merger->waiting[--n_waiting]);
}

static void forget_rounds(RsTraceMerger *merger)
{
	guint64 first = merger->n_heap ? first_round(merger) : G_MAXUINT64;
	guint n = 0;

	while (n < merger->rounds->len && g_array_index(merger->rounds, Round, n).number < first)
		n++;
	if (n)
		g_array_remove_range(merger->rounds, 0, n);
}

void rs_trace_merger_end_round(RsTraceMerger *merger, gint64 now_us)
{
	guint64 clean = G_MAXUINT64;

	for (guint i = 0; i < merger->n_lanes; i++) {
		Lane *lane = &merger->lanes[i];

		if (lane->unused)
			continue;
		if (lane->in_flight != merger->round)
			lane->clean = merger->round;
		clean = MIN(clean, lane->clean);
	}
	note_done(merger, clean, now_us);
	release_done(merger);
	forget_rounds(merger);
}

void rs_trace_merger_flush(RsTraceMerger *merger)
{
	while (merger->n_heap)
		release(merger);
	g_array_set_size(merger->rounds, 0);
}
