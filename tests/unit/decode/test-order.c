/* SPDX-License-Identifier: MIT */
/*
 * Lanes come and go and get other times. First is the earliest, of equal ones that of the lowest
 * rank.
 */
#include "rs-trace-order-private.h"

#define LANES 300u

static RsTraceLane lanes[LANES];

static const RsTraceLane *earliest(void)
{
	const RsTraceLane *first = NULL;

	for (guint i = 0; i < LANES; i++)
		if (lanes[i].has_head &&
		    (!first || lanes[i].order < first->order ||
		     (lanes[i].order == first->order && lanes[i].rank < first->rank)))
			first = &lanes[i];
	return first;
}

static guint64 any_time(void)
{
	/* Many are equal, and some are the latest that there can be. */
	return g_random_int_range(0, 20) ? (guint64)g_random_int_range(0, 50) : G_MAXUINT64;
}

static void change(RsTraceOrder *order, RsTraceLane *lane)
{
	const gboolean stays = g_random_int_range(0, 3) > 0;

	lane->order = any_time();
	if (!lane->has_head)
		rs_trace_order_add(order, lane);
	else if (stays)
		rs_trace_order_update(order, lane);
	else
		rs_trace_order_drop(order, lane);
	lane->has_head = !lane->has_head || stays;
}

static void check(const RsTraceOrder *order)
{
	guint n = 0;

	g_assert_true(rs_trace_order_first(order) == earliest());
	for (guint i = 0; i < LANES; i++)
		n += (guint)lanes[i].has_head;
	g_assert_cmpuint(order->n, ==, n);
	for (guint i = 0; i < n; i++)
		g_assert_true(rs_trace_order_nth(order, i)->has_head);
}

/* As many as are there go up and down, so that room is made and given back. */
static void test_random(void)
{
	RsTraceOrder order = {0};

	/* Not in the order in which they lie in memory. */
	for (guint i = 0; i < LANES; i++)
		lanes[i].rank = rs_trace_lane_rank(i % 7, LANES - i);
	for (guint i = 0; i < 20000; i++) {
		const guint some = i / 1000 % 2 ? 3 : LANES;

		change(&order, &lanes[g_random_int_range(0, (gint32)some)]);
		check(&order);
		while (i % 2000 == 1000 && order.n > 2) {
			RsTraceLane *first = rs_trace_order_first(&order);

			rs_trace_order_drop(&order, first);
			first->has_head = FALSE;
			check(&order);
		}
	}
	rs_trace_order_clear(&order);
	g_assert_null(rs_trace_order_first(&order));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/order/random", test_random);
	return g_test_run();
}
