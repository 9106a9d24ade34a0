/* SPDX-License-Identifier: MIT */
#include "session/private.h"

#include <rs-trace-ring-info.h>
#include <string.h>

void rs_source_stat_cpu(const struct rs_source *source, const struct rs_source_stat *stat,
			uint32_t cpu, struct rs_cpu_stat *out)
{
	RsTraceRingInfo info = {0};

	rs_trace_ring_info(source->region, cpu, &info);
	*out = (struct rs_cpu_stat){
		.entries = info.entries,
		.overrun = info.overrun,
		.dropped = info.dropped,
		.too_large = info.too_large,
		.skipped = info.skipped,
		.bytes = info.bytes,
		.written = info.records,
		.oldest_ts = info.oldest_ts,
		.newest_ts = info.newest_ts,
		.oldest_ns = rs_publisher_ns(source->publisher, info.oldest_ts),
		.now_ns = rs_publisher_ns(source->publisher,
					  stat->now_ts ? stat->now_ts : info.newest_ts),
	};
}

static void events_stat(const struct rs_source *source, struct rs_source_stat *out)
{
	for (guint i = 0; i < rs_trace_schema_n_events(source->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);

		if (event->id >= source->region->header.event_capacity)
			continue;
		out->events++;
		out->events_on += source->events[event->id].on;
	}
}

static void guest_stat(const struct rs_source *source, struct rs_source_stat *out)
{
	const struct rs_guest_info *info = &source->info;

	if (!source->hello)
		return;
	out->lost_nested = info->lost_nested;
	out->lost_no_ring = info->lost_no_ring;
	out->self_patch = info->flags & RS_GUEST_SELF_PATCH;
	out->applied_generation = info->applied_generation;
	if (out->self_patch) {
		out->sites_on = info->sites_on;
		out->sites_refused = info->patch_errors;
	}
}

void rs_source_stat(struct rs_source *source, struct rs_source_stat *out)
{
	struct rs_target *target = source->target;

	memset(out, 0, sizeof(*out));
	out->now_ts = rs_clock_now(source->clock);
	if (source->started && !source->ended)
		rs_source_refresh(source);
	out->state = rs_source_state(source);
	out->clock_hz = rs_publisher_clock_hz(source->publisher);
	out->clock_error_ns = rs_clock_error_ns(source->clock);
	out->clock_epochs = rs_publisher_epochs(source->publisher);
	events_stat(source, out);
	rs_source_sites_stat(source, out);
	out->bad_descriptors = source->bad_descriptors;
	guest_stat(source, out);
	out->generation = rs_publisher_generation(source->publisher);
	if (target->ops->stats)
		target->ops->stats(target, &out->target);
	rs_requests_stat(source->requests, out);
	out->cpus = source->region->header.ring_count;
	for (uint32_t i = 0; i < out->cpus; i++) {
		RsTraceRingInfo info;

		rs_trace_ring_info(source->region, i, &info);
		out->written += info.records;
		out->dropped += info.dropped;
		out->overrun += info.overrun;
	}
}
