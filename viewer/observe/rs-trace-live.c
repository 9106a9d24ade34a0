/* SPDX-License-Identifier: MIT */
#include "rs-trace-live.h"
#include "rs-trace-follower.h"

#include <ringside/atomic.h>

/* The doorbell is asked for when this part of a ring has filled. */
#define WAKE_FRACTION 4

typedef struct {
	RsTraceSource source;
	const RsTraceRegion *region;
	gboolean owner;
	gsize descriptor_bytes; /* of this boot, told so far */
	guint64 boot;
	gboolean boot_known;
	guint8 *snapshot; /* two copies of the names' section */
	RsTraceRing *rings[];
} Live;

static void tell_descriptors(Live *live, RsTraceFollower *follower,
			     const struct rs_guest_info *info)
{
	gsize bytes = info->event_bytes, more;
	g_autofree guint8 *copy = NULL;

	if (bytes <= live->descriptor_bytes)
		return;
	more = bytes - live->descriptor_bytes;
	copy = g_malloc(more);
	more = rs_trace_region_copy(live->region, RS_SEC_EVENTS, live->descriptor_bytes, copy,
				    more);
	/* A rest that cannot be parsed stays so: it is not looked at again. */
	live->descriptor_bytes += more;
	rs_trace_follower_add_descriptors(follower, copy, more);
}

static void begin_round(RsTraceSource *source, RsTraceFollower *follower)
{
	Live *live = (Live *)source;
	struct rs_guest_info info;
	struct rs_control control;

	if (rs_trace_region_guest_info(live->region, &info, NULL) &&
	    (!live->boot_known || info.boot_generation != live->boot)) {
		live->boot = info.boot_generation;
		live->boot_known = TRUE;
		live->descriptor_bytes = 0;
		rs_trace_follower_set_boot(follower, info.boot_generation, info.tsc_hz);
		tell_descriptors(live, follower, &info);
	}
	if (rs_trace_region_copy(live->region, RS_SEC_CONTROL, 0, &control, sizeof(control)) ==
	    sizeof(control))
		rs_trace_follower_set_clock(follower, &control);
}

static void descriptors(RsTraceSource *source, RsTraceFollower *follower)
{
	Live *live = (Live *)source;
	struct rs_guest_info info;

	if (rs_trace_region_guest_info(live->region, &info, NULL) && live->boot_known &&
	    info.boot_generation == live->boot)
		tell_descriptors(live, follower, &info);
}

static void names(RsTraceSource *source, RsTraceFollower *follower)
{
	Live *live = (Live *)source;
	gsize size = 0;

	rs_trace_region_section(live->region, RS_SEC_CMDLINE, &size);
	if (!size)
		return;
	if (!live->snapshot)
		live->snapshot = g_malloc(2 * size);
	rs_trace_region_copy(live->region, RS_SEC_CMDLINE, 0, live->snapshot, size);
	/* The second look after the first: pairs with the agent's barriers around an entry. */
	rs_rmb();
	rs_trace_region_copy(live->region, RS_SEC_CMDLINE, 0, live->snapshot + size, size);
	rs_trace_follower_add_names(follower, live->snapshot, live->snapshot + size, size);
}

static RsTraceRingStatus next(RsTraceSource *source, guint ring, guint64 now_ns, RsTraceChunk *out)
{
	return rs_trace_ring_next(((Live *)source)->rings[ring], now_ns, out);
}

static guint64 pending_loss(RsTraceSource *source, guint ring)
{
	return rs_trace_ring_pending_loss(((Live *)source)->rings[ring]);
}

static gboolean arm(RsTraceSource *source)
{
	Live *live = (Live *)source;
	const struct rs_region_header *h = &live->region->header;
	guint64 bytes = (guint64)h->ring_pages * h->ring_page_size / WAKE_FRACTION;

	if (!live->owner)
		return FALSE;
	for (guint i = 0; i < source->n_rings; i++)
		rs_trace_ring_arm(live->rings[i], (guint)MIN(bytes, G_MAXUINT));
	return TRUE;
}

static void free_live(RsTraceSource *source)
{
	Live *live = (Live *)source;

	for (guint i = 0; i < source->n_rings; i++)
		rs_trace_ring_free(live->rings[i]);
	g_free(live->snapshot);
	g_free(live);
}

RsTraceSource *rs_trace_live_new(const RsTraceRegion *region, RsTraceFrom from, gboolean owner,
				 GError **error)
{
	static const RsTraceSourceOps ops = {
		.begin_round = begin_round,
		.descriptors = descriptors,
		.names = names,
		.next = next,
		.pending_loss = pending_loss,
		.arm = arm,
		.free = free_live,
	};
	guint n_rings = region->header.ring_count;
	RsTraceRingConfig config = {
		.from = from,
		.consumer = owner && region->header.ring_mode == RS_MODE_DROP,
	};
	Live *live = g_malloc0(sizeof(*live) + n_rings * sizeof(*live->rings));

	live->source.ops = &ops;
	live->source.n_rings = n_rings;
	live->source.ring_pages = region->header.ring_pages;
	live->region = region;
	live->owner = owner;
	for (; config.ring < n_rings; config.ring++) {
		live->rings[config.ring] = rs_trace_ring_new(region, &config, error);
		if (!live->rings[config.ring]) {
			free_live(&live->source);
			return NULL;
		}
	}
	return &live->source;
}
