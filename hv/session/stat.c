/* SPDX-License-Identifier: MIT */
#include "session/private.h"

#include <rs-trace-ring-info.h>
#include <string.h>

/* What was overwritten before the mode became drop is not forgotten. */
static void ring_info(const struct rs_source *source, uint32_t ring, RsTraceRingInfo *out)
{
	rs_trace_ring_info(source->region, ring, out);
	if (source->overrun && rs_trace_region_ring_mode(source->region) == RS_MODE_DROP)
		out->overrun = MIN(source->overrun[ring], out->records);
}

void rs_source_note_overrun(struct rs_source *source)
{
	const uint32_t rings = source->region->header.ring_count;

	if (rs_trace_region_ring_mode(source->region) == RS_MODE_DROP)
		return;
	if (!source->overrun)
		source->overrun = g_new0(uint64_t, rings);
	for (uint32_t i = 0; i < rings; i++) {
		RsTraceRingInfo info;

		rs_trace_ring_info(source->region, i, &info);
		source->overrun[i] = info.overrun;
	}
}

void rs_source_stat_cpu(const struct rs_source *source, const struct rs_source_stat *stat,
			uint32_t cpu, struct rs_cpu_stat *out)
{
	RsTraceRingInfo info = {0};

	ring_info(source, cpu, &info);
	*out = (struct rs_cpu_stat){
		.entries = info.entries,
		.overrun = info.overrun,
		.dropped = info.dropped,
		.too_large = info.too_large,
		.ring_bytes = (uint64_t)info.pages * source->region->header.ring_page_size,
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

void rs_source_sum_rings(const struct rs_source *source, struct rs_ring_sums *out)
{
	*out = (struct rs_ring_sums){0};
	for (uint32_t i = 0; i < source->region->header.ring_count; i++) {
		RsTraceRingInfo info;

		ring_info(source, i, &info);
		out->written += info.records;
		out->dropped += info.dropped;
		out->overrun += info.overrun;
	}
}

/* A guest can set its counters back: then nothing was before. */
static void rings_stat(const struct rs_source *source, struct rs_source_stat *out)
{
	struct rs_ring_sums now;

	rs_source_sum_rings(source, &now);
	out->written = now.written;
	out->dropped = now.dropped;
	out->overrun = now.overrun;
	if (now.written >= source->before.written)
		out->before = source->before;
	out->before.dropped = MIN(out->before.dropped, now.dropped);
	out->before.overrun = MIN(out->before.overrun, now.overrun);
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
	out->callbacks_skipped = info->callbacks_skipped;
	out->self_patch = info->flags & RS_GUEST_SELF_PATCH;
	out->bridge = info->flags & RS_GUEST_BRIDGE;
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
	out->frozen = source->session->frozen;
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
	rs_source_native_stat(source, &out->native);
	if (target->ops->stats)
		target->ops->stats(target, &out->target);
	rs_requests_stat(source->requests, out);
	out->turned_away = rs_session_turned_away(source);
	out->cpus = source->region->header.ring_count;
	rings_stat(source, out);
}

static void add_stat(struct rs_source_stat *sum, const struct rs_source_stat *one)
{
	sum->events += one->events;
	sum->events_on += one->events_on;
	sum->sites += one->sites;
	sum->sites_on += one->sites_on;
	sum->sites_refused += one->sites_refused;
	sum->patches += one->patches;
	sum->batches += one->batches;
	sum->pause_last_ns = MAX(sum->pause_last_ns, one->pause_last_ns);
	sum->pause_max_ns = MAX(sum->pause_max_ns, one->pause_max_ns);
	sum->pause_total_ns += one->pause_total_ns;
	sum->native.in_force += one->native.in_force;
	sum->native.made += one->native.made;
	sum->native.full += one->native.full;
	sum->native.left += one->native.left;
	sum->native.paused_ns += one->native.paused_ns;
	sum->bad_descriptors += one->bad_descriptors;
	sum->lost_nested += one->lost_nested;
	sum->lost_no_ring += one->lost_no_ring;
	sum->callbacks_skipped += one->callbacks_skipped;
	sum->hypercalls += one->hypercalls;
	sum->bad_hypercalls += one->bad_hypercalls;
	sum->late_answers += one->late_answers;
	sum->turned_away += one->turned_away;
	sum->target.exits += one->target.exits;
	sum->target.kvm_exits += one->target.kvm_exits;
	sum->target.doorbells += one->target.doorbells;
	sum->target.console_waiting += one->target.console_waiting;
	sum->target.console_lost += one->target.console_lost;
	sum->written += one->written;
	sum->dropped += one->dropped;
	sum->overrun += one->overrun;
	sum->before.written += one->before.written;
	sum->before.dropped += one->before.dropped;
	sum->before.overrun += one->before.overrun;
}

void rs_stat_forget(struct rs_source *source)
{
	struct rs_source_stat one;

	rs_source_stat(source, &one);
	/* Its events and sites exist no more. What it did still counts. */
	one.events = one.events_on = one.sites = one.sites_on = 0;
	one.native.in_force = one.native.left = 0;
	add_stat(&source->session->past, &one);
}

void rs_session_stat(struct rs_session *session, struct rs_source_stat *out)
{
	bool any = false, self = true, bridge = false;

	*out = session->past;
	for (guint i = 0; i < session->sources->len; i++) {
		struct rs_source *source = nth_source(session, i);
		struct rs_source_stat one;

		rs_source_stat(source, &one);
		add_stat(out, &one);
		if (rs_source_is_host(source))
			continue;
		any |= source->hello;
		self &= !source->hello || one.self_patch;
		bridge |= one.bridge;
	}
	out->bridge = bridge;
	out->state = rs_session_state(session);
	out->most_work = session->turn.most;
	out->self_patch = any && self;
	out->frozen = session->frozen;
}
