/* SPDX-License-Identifier: MIT */
#include "rs-trace-order-private.h"

#include <string.h>

#define NOBODY (~(RsTraceOrderKey)0)

static void set_room(RsTraceOrder *order, guint room)
{
	RsTraceOrderKey *keys = g_new(RsTraceOrderKey, 2 * room);

	for (guint i = 0; i < room; i++)
		keys[room + i] = i < order->n ? order->keys[order->room + i] : NOBODY;
	for (guint i = room; --i > 0;)
		keys[i] = MIN(keys[2 * i], keys[2 * i + 1]);
	g_free(order->keys);
	order->keys = keys;
	order->lanes = g_renew(RsTraceLane *, order->lanes, room);
	order->room = room;
}

void rs_trace_order_add(RsTraceOrder *order, RsTraceLane *lane)
{
	g_return_if_fail(order->n < RS_TRACE_LANE_PLACES);
	if (order->n == order->room)
		set_room(order, MAX(1, 2 * order->room));
	lane->place = order->n++;
	order->lanes[lane->place] = lane;
	rs_trace_order_update(order, lane);
}

/* The last one takes its place. */
void rs_trace_order_drop(RsTraceOrder *order, const RsTraceLane *lane)
{
	RsTraceLane *last = rs_trace_order_nth(order, --order->n);

	rs_trace_order_set(order, order->n, NOBODY);
	if (last != lane) {
		last->place = lane->place;
		order->lanes[last->place] = last;
		rs_trace_order_update(order, last);
	}
	/* Who has a few lanes for long should not pay for many that it had. */
	if (order->n && order->n < order->room / 4)
		set_room(order, order->room / 2);
}

void rs_trace_order_clear(RsTraceOrder *order)
{
	g_free(order->keys);
	g_free(order->lanes);
	*order = (RsTraceOrder){0};
}
