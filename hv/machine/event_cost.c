/* SPDX-License-Identifier: MIT */
#include "machine/event_cost.h"

#include "host/host.h"
#include "region/regions.h"
#include "region/publish.h"
#include <errno.h>
#include <ringside/hypercall.h>
#include <rs-trace-ring-info.h>

#define ROUNDS 20u
#define EVENTS 10000u /* of a round */
#define RING_BYTES (256u << 10)
#define IDS 128u
#define FILTER_BYTES (64u << 10)
#define DESC_BYTES (64u << 10)

static struct rs_publisher *enable_all(RsTraceRegion *region)
{
	struct rs_publisher_map map = {.event_capacity = region->header.event_capacity};
	struct rs_publisher *publisher;

	map.control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	map.event_ctl = rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL);
	map.filters = rs_trace_region_section(region, RS_SEC_FILTERS, &map.filters_size);
	map.epochs = rs_trace_region_section(region, RS_SEC_CLOCK, NULL);
	map.epoch_capacity = region->header.section[RS_SEC_CLOCK].count;
	publisher = rs_publisher_create(&map);
	for (uint32_t id = 0; id < map.event_capacity; id++)
		rs_publisher_set_enabled(publisher, id, true, NULL);
	rs_publisher_commit(publisher);
	return publisher;
}

/* The best round: others are longer since something else ran meanwhile. */
static double measure(struct rs_target *host)
{
	gint64 best = G_MAXINT64;

	for (unsigned round = 0; round < ROUNDS; round++) {
		const gint64 begun = g_get_monotonic_time();
		gint64 took;

		for (uint32_t i = 0; i < EVENTS; i++)
			rs_host_tell_pause(host, 1, i, round);
		took = g_get_monotonic_time() - begun;
		best = MIN(best, took);
	}
	return (double)best * 1e3 / EVENTS;
}

/* All were recorded, so it was no emit that does nothing. */
static bool was_recorded(const RsTraceRegion *region)
{
	RsTraceRingInfo info;

	rs_trace_ring_info(region, 0, &info);
	return info.records == (uint64_t)ROUNDS * EVENTS;
}

int rs_event_cost(double *ns, struct rs_error *err)
{
	const struct rs_region_config config = {
		.vcpus = 1,
		.ring_bytes = RING_BYTES,
		.ring_mode = RS_MODE_OVERWRITE,
		.event_capacity = IDS,
		.filter_bytes = FILTER_BYTES,
		.desc_bytes = DESC_BYTES,
		.hcall_channel = RS_CHANNEL_NONE,
		.doorbell_channel = RS_CHANNEL_NONE,
	};
	struct rs_publisher *publisher;
	struct rs_target *host;
	RsTraceRegion *region;
	double found;
	int ret = rs_region_create(&config, &region, err);

	if (ret)
		return ret;
	ret = rs_host_create(&(struct rs_host_config){region->map, region->size, 1}, &host, err);
	if (!ret) {
		publisher = enable_all(region);
		found = measure(host);
		if (was_recorded(region))
			*ns = found;
		else
			ret = rs_error_set(err, EIO, "the events were not recorded");
		rs_publisher_destroy(publisher);
		host->ops->destroy(host);
	}
	rs_trace_region_free(region);
	return ret;
}
