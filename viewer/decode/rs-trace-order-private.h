/* SPDX-License-Identifier: MIT */
/*
 * Puts lanes in the order of their records: a tournament, in which a lane with another record
 * meets one other at each level. Where they are does not depend on what they hold, and who is
 * earlier is found without a branch. So with many rings, whose records come in turns, it takes less
 * time than a heap. One thread at a time.
 */
#ifndef RS_TRACE_ORDER_PRIVATE_H
#define RS_TRACE_ORDER_PRIVATE_H

#include "rs-trace-lane-private.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

/*
 * A lane's time, below it its rank, and last its place. So of two with one time it is always the
 * same one that comes first, in whatever process, and wherever the lanes lie in memory.
 */
typedef unsigned __int128 RsTraceOrderKey;

/* All zero is one without lanes. */
typedef struct {
	/*
	 * 2 * room keys: from `room` on those of the lanes, each at its place; at i the earlier
	 * one of 2 * i and 2 * i + 1. Places without a lane are later than all.
	 */
	RsTraceOrderKey *keys;
	RsTraceLane **lanes; /* `room` of them, by place */
	guint n, room;       /* `room` is 0, or a power of two, at most RS_TRACE_LANE_PLACES */
} RsTraceOrder;

static inline RsTraceOrderKey rs_trace_order_key(const RsTraceLane *lane)
{
	return (RsTraceOrderKey)lane->order << 64 | lane->rank | lane->place;
}

static inline void rs_trace_order_set(RsTraceOrder *order, guint place, RsTraceOrderKey key)
{
	RsTraceOrderKey *keys = order->keys;
	guint at = order->room + place;

	for (keys[at] = key; at > 1; at /= 2) {
		const RsTraceOrderKey other = keys[at ^ 1];

		key = other < key ? other : key;
		keys[at / 2] = key;
	}
}

/* The lane with the earliest record. NULL: there is none. */
static inline RsTraceLane *rs_trace_order_first(const RsTraceOrder *order)
{
	return order->n ? order->lanes[(guint16)order->keys[1]] : NULL;
}

/* Those that are there, by number, in no order. */
static inline RsTraceLane *rs_trace_order_nth(const RsTraceOrder *order, guint n)
{
	return order->lanes[n];
}

/* It has another record now. */
static inline void rs_trace_order_update(RsTraceOrder *order, const RsTraceLane *lane)
{
	rs_trace_order_set(order, lane->place, rs_trace_order_key(lane));
}

void rs_trace_order_add(RsTraceOrder *order, RsTraceLane *lane);
void rs_trace_order_drop(RsTraceOrder *order, const RsTraceLane *lane);
/* Without lanes, and without memory. */
void rs_trace_order_clear(RsTraceOrder *order);

#pragma GCC visibility pop
G_END_DECLS

#endif
