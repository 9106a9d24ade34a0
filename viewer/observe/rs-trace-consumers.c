/* SPDX-License-Identifier: MIT */
#include "rs-trace-consumers.h"
#include "rs-trace-ring-private.h"

struct _RsTraceConsumers {
	gatomicrefcount refs;
	const RsTraceRegion *region;
	guint n_rings;
	GMutex lock;
	GPtrArray *readers; /* guint64 *, by number: where each is in each ring; NULL: none */
};

static struct rs_ring_ctl *ctl_of(const RsTraceConsumers *consumers, guint ring)
{
	return rs_trace_region_element(consumers->region, RS_SEC_RING_CTL, ring);
}

/* Under the lock. Nobody is left: then it stays as it is. */
static void publish(const RsTraceConsumers *consumers, guint ring)
{
	guint64 least = G_MAXUINT64;

	for (guint i = 0; i < consumers->readers->len; i++) {
		const guint64 *at = consumers->readers->pdata[i];

		least = at ? MIN(least, at[ring]) : least;
	}
	/* Pairs with the producer's acquire in its switch: all have made their copies before. */
	if (least != G_MAXUINT64)
		rs_store_release(&ctl_of(consumers, ring)->consumed, least);
}

RsTraceConsumers *rs_trace_consumers_new(const RsTraceRegion *region)
{
	RsTraceConsumers *consumers = g_new0(RsTraceConsumers, 1);

	g_atomic_ref_count_init(&consumers->refs);
	consumers->region = region;
	consumers->n_rings = region->header.ring_count;
	consumers->readers = g_ptr_array_new_with_free_func(g_free);
	g_mutex_init(&consumers->lock);
	return consumers;
}

RsTraceConsumers *rs_trace_consumers_ref(RsTraceConsumers *consumers)
{
	g_atomic_ref_count_inc(&consumers->refs);
	return consumers;
}

void rs_trace_consumers_unref(RsTraceConsumers *consumers)
{
	if (!consumers || !g_atomic_ref_count_dec(&consumers->refs))
		return;
	g_ptr_array_unref(consumers->readers);
	g_mutex_clear(&consumers->lock);
	g_free(consumers);
}

guint rs_trace_consumers_join(RsTraceConsumers *consumers)
{
	guint64 *at = g_new(guint64, consumers->n_rings);
	guint reader = 0;

	g_mutex_lock(&consumers->lock);
	for (guint i = 0; i < consumers->n_rings; i++)
		at[i] = rs_load(&ctl_of(consumers, i)->consumed);
	while (reader < consumers->readers->len && consumers->readers->pdata[reader])
		reader++;
	if (reader == consumers->readers->len)
		g_ptr_array_add(consumers->readers, at);
	else
		consumers->readers->pdata[reader] = at;
	g_mutex_unlock(&consumers->lock);
	return reader;
}

void rs_trace_consumers_leave(RsTraceConsumers *consumers, guint reader)
{
	g_mutex_lock(&consumers->lock);
	g_clear_pointer(&consumers->readers->pdata[reader], g_free);
	for (guint ring = 0; ring < consumers->n_rings; ring++)
		publish(consumers, ring);
	g_mutex_unlock(&consumers->lock);
}

void rs_trace_consumers_publish(RsTraceConsumers *consumers, guint reader, guint ring, guint64 seq)
{
	g_mutex_lock(&consumers->lock);
	((guint64 *)consumers->readers->pdata[reader])[ring] = seq;
	publish(consumers, ring);
	g_mutex_unlock(&consumers->lock);
}
