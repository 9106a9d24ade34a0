/* SPDX-License-Identifier: MIT */
#include "rs-trace-merger.h"

#include <string.h>

typedef struct _Item Item;
struct _Item {
	Item *next;
	guint64 key; /* ns, but never less than the ring's item before it */
	gsize bytes;
	RsTraceRecord record;
	guint8 payload[];
};

typedef struct {
	Item *first;
	Item *last;
	guint64 last_key;
	guint64 clean; /* the last round in which it was read to its end */
} Ring;

/* What a round brought: when all of it may be shown, so may everything up to `newest`. */
typedef struct {
	guint64 number;
	guint64 newest;
	gint64 ended_us;
} Round;

struct _RsTraceMerger {
	guint n_rings;
	gint64 hold_us;
	gsize max_bytes;
	gsize held;
	RsTraceRecordFunc record;
	gpointer data;
	guint64 round;
	guint64 newest; /* key pushed in this round; 0: none */
	gboolean any;
	GArray *rounds; /* Round, oldest first; only those that brought something */
	Ring rings[RS_MAX_CPUS];
};

RsTraceMerger *rs_trace_merger_new(guint n_rings, gint64 hold_us, gsize max_bytes,
				   RsTraceRecordFunc record, gpointer data)
{
	RsTraceMerger *merger;

	g_return_val_if_fail(n_rings > 0 && n_rings <= RS_MAX_CPUS, NULL);
	merger = g_new0(RsTraceMerger, 1);
	merger->n_rings = n_rings;
	merger->hold_us = hold_us > 0 ? hold_us : G_USEC_PER_SEC;
	merger->max_bytes = max_bytes ? max_bytes : (gsize)64 << 20;
	merger->record = record;
	merger->data = data;
	merger->rounds = g_array_new(FALSE, FALSE, sizeof(Round));
	return merger;
}

void rs_trace_merger_free(RsTraceMerger *merger)
{
	if (!merger)
		return;
	for (guint i = 0; i < merger->n_rings; i++) {
		for (Item *item = merger->rings[i].first, *next; item; item = next) {
			next = item->next;
			g_free(item);
		}
	}
	g_array_unref(merger->rounds);
	g_free(merger);
}

gsize rs_trace_merger_held(const RsTraceMerger *merger)
{
	return merger->held;
}

static Ring *oldest_ring(RsTraceMerger *merger)
{
	Ring *best = NULL;

	for (guint i = 0; i < merger->n_rings; i++) {
		Ring *ring = &merger->rings[i];

		if (ring->first && (!best || ring->first->key < best->first->key))
			best = ring;
	}
	return best;
}

static void release(RsTraceMerger *merger, Ring *ring)
{
	Item *item = ring->first;

	ring->first = item->next;
	if (!ring->first)
		ring->last = NULL;
	merger->held -= item->bytes;
	merger->record(&item->record, merger->data);
	g_free(item);
}

static void release_until(RsTraceMerger *merger, guint64 key)
{
	for (Ring *ring; (ring = oldest_ring(merger)) && ring->first->key <= key;)
		release(merger, ring);
}

void rs_trace_merger_begin_round(RsTraceMerger *merger)
{
	merger->round++;
	merger->newest = 0;
	merger->any = FALSE;
}

void rs_trace_merger_push(RsTraceMerger *merger, const RsTraceRecord *record)
{
	gsize bytes = sizeof(Item) + record->size;
	Ring *ring;
	Item *item;

	g_return_if_fail(record->ring < merger->n_rings);
	while (merger->held && merger->held + bytes > merger->max_bytes)
		release(merger, oldest_ring(merger));
	ring = &merger->rings[record->ring];
	item = g_malloc(bytes);
	item->next = NULL;
	item->bytes = bytes;
	item->record = *record;
	item->record.payload = item->payload;
	if (record->size)
		memcpy(item->payload, record->payload, record->size);
	item->key = ring->last_key = MAX(record->ns, ring->last_key);
	if (ring->last)
		ring->last->next = item;
	else
		ring->first = item;
	ring->last = item;
	merger->held += bytes;
	merger->newest = MAX(merger->newest, item->key);
	merger->any = TRUE;
}

void rs_trace_merger_end_round(RsTraceMerger *merger, guint64 in_flight, gint64 now_us)
{
	guint64 clean = G_MAXUINT64, until = 0;
	guint done = 0;

	if (merger->any) {
		Round round = {merger->round, merger->newest, now_us};

		g_array_append_val(merger->rounds, round);
	}
	for (guint i = 0; i < merger->n_rings; i++) {
		if (!(in_flight >> i & 1))
			merger->rings[i].clean = merger->round;
		clean = MIN(clean, merger->rings[i].clean);
	}
	/* A round may go when every ring was read to its end in a later one, or after hold_us. */
	for (; done < merger->rounds->len; done++) {
		const Round *round = &g_array_index(merger->rounds, Round, done);

		if (round->number >= clean && now_us - round->ended_us < merger->hold_us)
			break;
		until = MAX(until, round->newest);
	}
	if (!done)
		return;
	g_array_remove_range(merger->rounds, 0, done);
	release_until(merger, until);
}

void rs_trace_merger_flush(RsTraceMerger *merger)
{
	release_until(merger, G_MAXUINT64);
	g_array_set_size(merger->rounds, 0);
}
