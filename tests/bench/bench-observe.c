/* SPDX-License-Identifier: MIT */
/*
 * Reading a full ring on one core: whole pages that are only taken, and pages that are decoded to
 * records, 2×u32 events.
 */
#include "ring.h"
#include "region/regions.h"

#include <rs-trace-decoder.h>
#include <rs-trace-ring.h>

#define RING (1u << 20)
#define SECONDS 1.0

static uint64_t ticks;

static uint64_t tick(void)
{
	return ticks += 300;
}

/* Fills the only ring of a region. */
static void fill(RsTraceRegion *region)
{
	static const uint32_t chain;
	static uint64_t lost;
	struct rs_rings rings = {
		.states = rs_trace_region_section(region, RS_SEC_RING_STATE, NULL),
		.state_stride = sizeof(struct rs_ring_state),
		.ctls = rs_trace_region_section(region, RS_SEC_RING_CTL, NULL),
		.ctl_stride = sizeof(struct rs_ring_ctl),
		.pages = rs_trace_region_section(region, RS_SEC_RINGS, NULL),
		.chain = &chain,
		.lost_nested = &lost,
		.mode = &region->header.ring_mode,
		.boot = 1,
	};
	struct rs_ring ring;
	const uint64_t entry = 77;
	struct rs_ring_record record = {
		.id = RS_FIRST_EVENT_ID,
		.size = sizeof(entry),
		.entry_size = sizeof(entry),
		.entry = &entry,
		.context = rs_context_mark(1234, 0),
	};

	rs_rings_init(&rings, &region->header);
	ring = rs_ring_at(&rings, 0);
	rs_ring_resume(&ring);
	for (guint i = 0; i < RING / 16; i++)
		rs_ring_emit(&ring, RS_NESTED, &record, tick, tick);
}

static void take(const RsTraceRecord *record, gpointer data)
{
	*(guint64 *)data += record->ns;
}

/* `decoder` NULL: pages are only taken. */
static void measure(const RsTraceRegion *region, RsTraceDecoder *decoder)
{
	const RsTraceRingConfig config = {.from = RS_TRACE_FROM_OLDEST, .whole = !decoder};
	g_autoptr(GTimer) timer = g_timer_new();
	const RsTraceDecoderStats *stats;
	guint64 bytes = 0;
	gdouble seconds;

	while ((seconds = g_timer_elapsed(timer, NULL)) < SECONDS) {
		g_autoptr(RsTraceRing) ring = rs_trace_ring_new(region, &config, NULL);
		RsTraceChunk chunk;

		while (rs_trace_ring_next(ring, 0, &chunk) == RS_TRACE_RING_DATA) {
			bytes += chunk.to - chunk.from;
			if (decoder)
				rs_trace_decoder_push(decoder, 0, chunk.page, chunk.from, chunk.to,
						      chunk.lost);
		}
	}
	if (!decoder) {
		g_print("take   pages    %6.2f GB/s\n", (gdouble)bytes / seconds / 1e9);
		return;
	}
	stats = rs_trace_decoder_stats(decoder);
	g_print("follow records  %6.2f M events/s %7.1f ns an event\n",
		(gdouble)stats->records / seconds / 1e6, seconds * 1e9 / (gdouble)stats->records);
}

int main(void)
{
	struct rs_region_config config = {.vcpus = 1, .ring_bytes = RING};
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(RsTraceDecoder) decoder = NULL;
	RsTraceRegion *region;
	guint64 sum = 0;

	if (rs_region_create(&config, &region, NULL))
		return 1;
	fill(region);
	decoder = rs_trace_decoder_new(1, schema, NULL, take, &sum);
	measure(region, NULL);
	measure(region, decoder);
	rs_trace_region_free(region);
	return sum ? 0 : 1;
}
