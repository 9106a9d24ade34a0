/* SPDX-License-Identifier: MIT */
/* Pages of a ring in drop mode that two of our readers wait for. */
#include "guest.h"

#include <rs-trace-consumers.h>
#include <rs-trace-live.h>

typedef struct {
	Guest guest;
	RsTraceConsumers *consumers;
} Bed;

static void set_up(Bed *bed, gconstpointer unused)
{
	ticks = 0;
	open_guest(&bed->guest, "a");
	bed->guest.region->header.ring_mode = RS_MODE_DROP;
	bed->consumers = rs_trace_consumers_new(bed->guest.region);
}

static void tear_down(Bed *bed, gconstpointer unused)
{
	rs_trace_consumers_unref(bed->consumers);
	rs_trace_region_free(bed->guest.region);
}

static guint64 consumed(Bed *bed, guint ring)
{
	struct rs_ring_ctl *ctl = element(&bed->guest, RS_SEC_RING_CTL, ring);

	return rs_load(&ctl->consumed);
}

static void test_the_slowest_counts(Bed *bed, gconstpointer unused)
{
	guint one = rs_trace_consumers_join(bed->consumers);
	guint two = rs_trace_consumers_join(bed->consumers), three;

	g_assert_cmpuint(one, !=, two);
	rs_trace_consumers_publish(bed->consumers, one, 0, 5);
	g_assert_cmpuint(consumed(bed, 0), ==, 0);
	rs_trace_consumers_publish(bed->consumers, two, 0, 3);
	g_assert_cmpuint(consumed(bed, 0), ==, 3);
	rs_trace_consumers_publish(bed->consumers, two, 0, 7);
	g_assert_cmpuint(consumed(bed, 0), ==, 5);
	g_assert_cmpuint(consumed(bed, 1), ==, 0);
	/* Who leaves holds up nobody, and nobody leaves what was consumed behind. */
	rs_trace_consumers_leave(bed->consumers, one);
	g_assert_cmpuint(consumed(bed, 0), ==, 7);
	rs_trace_consumers_leave(bed->consumers, two);
	g_assert_cmpuint(consumed(bed, 0), ==, 7);
	/* Who comes later begins there. */
	three = rs_trace_consumers_join(bed->consumers);
	rs_trace_consumers_publish(bed->consumers, three, 1, 1);
	g_assert_cmpuint(consumed(bed, 0), ==, 7);
	g_assert_cmpuint(consumed(bed, 1), ==, 1);
	rs_trace_consumers_leave(bed->consumers, three);
}

static guint read_all(RsTraceSource *source)
{
	RsTraceChunk chunk;
	guint n = 0;

	while (source->ops->next(source, 0, 0, &chunk) == RS_TRACE_RING_DATA)
		n++;
	return n;
}

/* The rings of live sources agree by themselves, also when one is freed. */
static void test_sources_wait_for_each_other(Bed *bed, gconstpointer unused)
{
	RsTraceSource *printer = rs_trace_live_new_beside(
		bed->guest.region, bed->consumers, RS_TRACE_FROM_START, RS_TRACE_LIVE_OWNER, NULL);
	RsTraceSource *recorder = rs_trace_live_new_beside(
		bed->guest.region, bed->consumers, RS_TRACE_FROM_START,
		RS_TRACE_LIVE_OWNER | RS_TRACE_LIVE_WHOLE | RS_TRACE_LIVE_UNARMED, NULL);

	emit(&bed->guest, 0, 2 * FIT + 1);
	g_assert_cmpuint(read_all(printer), ==, 3);
	g_assert_cmpuint(consumed(bed, 0), ==, 0);
	g_assert_cmpuint(read_all(recorder), ==, 2);
	g_assert_cmpuint(consumed(bed, 0), ==, 2);
	emit(&bed->guest, 0, FIT);
	g_assert_cmpuint(read_all(printer), ==, 2);
	g_assert_cmpuint(consumed(bed, 0), ==, 2);
	/* One rings the doorbell. */
	g_assert_true(printer->ops->arm(printer));
	g_assert_false(recorder->ops->arm(recorder));
	recorder->ops->free(recorder);
	g_assert_cmpuint(consumed(bed, 0), ==, 3);
	printer->ops->free(printer);
}

static gpointer publish_many(gpointer data)
{
	Bed *bed = data;
	guint reader = rs_trace_consumers_join(bed->consumers);

	for (guint64 i = 1; i <= 10000; i++)
		rs_trace_consumers_publish(bed->consumers, reader, 0, i);
	return GUINT_TO_POINTER(reader);
}

/* The last one to publish does not leave an earlier place behind. */
static void test_threads(Bed *bed, gconstpointer unused)
{
	GThread *threads[4];

	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		threads[i] = g_thread_new("reader", publish_many, bed);
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		g_thread_join(threads[i]);
	g_assert_cmpuint(consumed(bed, 0), ==, 10000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/observe/consumers/slowest", Bed, NULL, set_up, test_the_slowest_counts,
		   tear_down);
	g_test_add("/observe/consumers/sources", Bed, NULL, set_up,
		   test_sources_wait_for_each_other, tear_down);
	g_test_add("/observe/consumers/threads", Bed, NULL, set_up, test_threads, tear_down);
	return g_test_run();
}
