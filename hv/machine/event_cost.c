/* SPDX-License-Identifier: MIT */
#include "machine/event_cost.h"

#include "base/ticks.h"
#include "host/host.h"
#include "native/native.h"
#include "region/publish.h"
#include "region/regions.h"

#include <errno.h>
#include <ringside/hypercall.h>
#include <rs-trace-ring-info.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROUNDS 20u
#define EVENTS 10000u /* of a round */
#define RING_BYTES (256u << 10)
#define IDS 128u
#define FILTER_BYTES (64u << 10)
#define DESC_BYTES (64u << 10)
#define ENTRY_BYTES 16u /* of host:pause, which is measured */
#define POOL_BYTES (64u << 10)
#define POOL_CODE (POOL_BYTES / 2) /* where the code of the filter lies; its entry is the first */

struct rs_event_meter {
	RsTraceRegion *region;
	struct rs_publisher *publisher;
	struct rs_target *host;
	uint8_t *pool;
};

static struct rs_publisher *enable_all(RsTraceRegion *region)
{
	struct rs_publisher_map map = {.event_capacity = region->header.event_capacity};
	struct rs_publisher *publisher;

	map.control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	map.event_ctl = rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL);
	map.filters = rs_trace_region_section(region, RS_SEC_FILTERS, &map.filters_size);
	map.native = rs_trace_region_section(region, RS_SEC_NATIVE, NULL);
	map.epochs = rs_trace_region_section(region, RS_SEC_CLOCK, NULL);
	map.epoch_capacity = region->header.section[RS_SEC_CLOCK].count;
	publisher = rs_publisher_create(&map);
	for (uint32_t id = 0; id < map.event_capacity; id++)
		rs_publisher_set_enabled(publisher, id, true, NULL);
	rs_publisher_commit(publisher);
	return publisher;
}

int rs_event_meter_create(struct rs_event_meter **out, struct rs_error *err)
{
	const uint32_t cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	const struct rs_region_config config = {
		.vcpus = cpus,
		.ring_bytes = RING_BYTES,
		.ring_mode = RS_MODE_OVERWRITE,
		.event_capacity = IDS,
		.filter_bytes = FILTER_BYTES,
		.desc_bytes = DESC_BYTES,
		.hcall_channel = RS_CHANNEL_NONE,
		.doorbell_channel = RS_CHANNEL_NONE,
	};
	struct rs_event_meter *meter = g_new0(struct rs_event_meter, 1);
	int ret = rs_region_create(&config, &meter->region, err);

	meter->pool =
		mmap(NULL, POOL_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (meter->pool == MAP_FAILED)
		meter->pool = NULL;
	if (!ret)
		ret = rs_host_create(
			&(struct rs_host_config){meter->region->map, meter->region->size, cpus,
						 .of_cpus = true, .text_pool = meter->pool,
						 .text_pool_size = POOL_BYTES},
			&meter->host, err);
	if (ret) {
		rs_event_meter_destroy(meter);
		return ret;
	}
	meter->publisher = enable_all(meter->region);
	*out = meter;
	return 0;
}

void rs_event_meter_destroy(struct rs_event_meter *meter)
{
	if (!meter)
		return;
	if (meter->publisher)
		rs_publisher_destroy(meter->publisher);
	if (meter->host)
		meter->host->ops->destroy(meter->host);
	if (meter->pool)
		munmap(meter->pool, POOL_BYTES);
	rs_trace_region_free(meter->region);
	g_free(meter);
}

const RsTraceRegion *rs_event_meter_region(const struct rs_event_meter *meter)
{
	return meter->region;
}

static uint64_t count_recorded(const struct rs_event_meter *meter)
{
	RsTraceRingInfo info;
	uint64_t all = 0;

	for (uint32_t i = 0; i < meter->region->header.ring_count; i++) {
		rs_trace_ring_info(meter->region, i, &info);
		all += info.records;
	}
	return all;
}

/* The best round: others are longer since something else ran meanwhile. */
static double measure(struct rs_target *host)
{
	uint64_t best = UINT64_MAX;

	for (unsigned round = 0; round < ROUNDS; round++) {
		const uint64_t begun = rs_monotonic_ns();

		for (uint32_t i = 0; i < EVENTS; i++)
			rs_host_tell_pause(host, 1, i, round);
		best = MIN(best, rs_monotonic_ns() - begun);
	}
	return (double)best / EVENTS;
}

/* As a session does it, but that nobody is in the pool: the filter before is replaced. */
static int make_native(struct rs_event_meter *meter, const struct rs_event_setting *setting,
		       struct rs_error *err)
{
	g_autofree struct rs_native *native = g_new(struct rs_native, 1);
	struct rs_native_entry entry = {.code = POOL_CODE, .event = (uint16_t)setting->id};
	struct rs_guest_info info;
	int ret;

	if (!meter->pool || !rs_trace_region_guest_info(meter->region, &info, NULL))
		return rs_error_set(err, ENOTSUP, "there is no pool of text");
	ret = rs_native_compile(info.arch, setting->filter, ENTRY_BYTES, 0, native, err);
	if (!ret)
		ret = rs_native_check(info.arch, native, err);
	if (ret)
		return ret;
	entry.entry_size = (uint16_t)(ENTRY_BYTES | native->kind << RS_NATIVE_KIND_SHIFT);
	if (mprotect(meter->pool, POOL_BYTES, PROT_READ | PROT_WRITE))
		return rs_error_set(err, errno, "the pool of text cannot be written");
	memcpy(meter->pool, &entry, sizeof(entry));
	memcpy(meter->pool + POOL_CODE, native->bytes, native->size);
	if (mprotect(meter->pool, POOL_BYTES, PROT_READ | PROT_EXEC))
		return rs_error_set(err, errno, "the pool of text cannot be run");
	rs_publisher_set_native(meter->publisher, setting->id, 1);
	return 0;
}

static int set(struct rs_event_meter *meter, const struct rs_event_setting *setting,
	       struct rs_error *err)
{
	int ret = rs_publisher_set_filter(meter->publisher, setting->id, setting->filter, err);

	if (!ret && setting->native)
		ret = make_native(meter, setting, err);
	if (!ret)
		ret = rs_publisher_set_enabled(meter->publisher, setting->id, !setting->off, err);
	if (!ret)
		rs_publisher_commit(meter->publisher);
	return ret;
}

int rs_event_meter_take(struct rs_event_meter *meter, const struct rs_event_setting *setting,
			double *ns, struct rs_error *err)
{
	const uint64_t all = (uint64_t)ROUNDS * EVENTS, before = count_recorded(meter);
	const bool none = setting->off || setting->refuses;
	double found;
	int ret = setting->id ? set(meter, setting, err) : 0;

	if (ret)
		return ret;
	found = measure(meter->host);
	/* Else it was an emit that does something else. */
	if (count_recorded(meter) - before != (none ? 0 : all))
		return rs_error_set(err, EIO, "the events were %srecorded", none ? "" : "not ");
	*ns = found;
	return 0;
}

int rs_event_cost(double *ns, struct rs_error *err)
{
	const struct rs_event_setting plain = {0};
	struct rs_event_meter *meter;
	int ret = rs_event_meter_create(&meter, err);

	if (ret)
		return ret;
	ret = rs_event_meter_take(meter, &plain, ns, err);
	rs_event_meter_destroy(meter);
	return ret;
}
