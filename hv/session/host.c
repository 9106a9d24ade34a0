/* SPDX-License-Identifier: MIT */
/*
 * The session's own source, if it has one: what happens to the others becomes events of it. It
 * reports before any other source is started, so its events are on by then. It ends with the last
 * of those that the session has started.
 */
#include "session/private.h"

#include "base/ticks.h"
#include "host/host.h"
#include "patch/patcher.h"
#include "region/regions.h"
#include <errno.h>

/* Few events, with small descriptors. */
#define HOST_EVENTS 128u /* ids, of which the first are nobody's */
#define HOST_FILTER_BYTES (64u << 10)
#define HOST_DESC_BYTES (64u << 10)

static struct rs_target *host_of(const struct rs_source *source)
{
	const struct rs_source *host = source->session->host;

	/* Its own life is no event. */
	return host && host != source ? host->target : NULL;
}

/* ---- what happens ---- */

void rs_host_note_pause(struct rs_source *source, enum rs_pause_step step)
{
	struct rs_target *host = host_of(source), *target = source->target;
	uint64_t now;

	if (!host)
		return;
	switch (step) {
	case RS_PAUSE_ASKED:
		source->asked_ns = rs_monotonic_ns();
		break;
	case RS_PAUSE_STOPPED:
		now = rs_monotonic_ns();
		rs_host_tell_pause(host, source->number, target->vcpus,
				   source->asked_ns ? now - source->asked_ns : 0);
		/* After the record's time: from here on it surely stands still. */
		source->stopped_ns = rs_monotonic_ns();
		break;
	case RS_PAUSE_RESUMING:
	case RS_PAUSE_RESUMED:
		/* One that somebody else ends is told by the second alone. */
		if (source->stopped_ns)
			rs_host_tell_resume(host, source->number, target->vcpus,
					    rs_monotonic_ns() - source->stopped_ns);
		source->asked_ns = source->stopped_ns = 0;
		break;
	}
}

static void on_site(void *data, const struct rs_patch_site *site, bool refused)
{
	const struct rs_source *source = data;
	enum rs_host_site now = site->on ? RS_HOST_SITE_ON : RS_HOST_SITE_OFF;

	rs_host_tell_patch(host_of(source), source->number, site->event, site->at,
			   refused ? RS_HOST_SITE_REFUSED : now);
}

static void on_batch(void *data, uint32_t written, uint32_t refused, uint64_t paused_ns)
{
	const struct rs_source *source = data;

	rs_host_tell_batch(host_of(source), source->number, written, refused, paused_ns);
}

void rs_host_watch_patches(struct rs_source *source)
{
	source->patch_watch =
		(struct rs_patcher_watch){.data = source, .site = on_site, .batch = on_batch};
	rs_patcher_set_watch(source->patcher, &source->patch_watch);
}

void rs_host_note_attach(const struct rs_source *source)
{
	rs_host_tell_attach(host_of(source), source->number, source->name, rs_source_kind(source));
}

void rs_host_note_boot(const struct rs_source *source)
{
	rs_host_tell_boot(host_of(source), source->number, source->info.boot);
}

void rs_host_note_reset(const struct rs_source *source)
{
	rs_host_tell_reset(host_of(source), source->number);
}

void rs_host_note_panic(const struct rs_source *source, const char *why)
{
	rs_host_tell_panic(host_of(source), source->number, why);
}

void rs_host_note_detach(const struct rs_source *source, const char *reason)
{
	rs_host_tell_detach(host_of(source), source->number, reason);
}

void rs_host_note_fault(const struct rs_source *source, uint32_t number, const char *text,
			enum rs_host_fault state)
{
	rs_host_tell_fault(host_of(source), source->number, number, text, state);
}

void rs_host_note_trigger(const struct rs_source *source, uint32_t number, const char *event,
			  const char *action, uint64_t late_ns)
{
	/* Its own events may have triggers, too. */
	const struct rs_source *host = source->session->host;

	rs_host_tell_trigger(host ? host->target : NULL, source->number, number, event, action,
			     late_ns);
}

/* ---- life ---- */

/* One for each vCPU whose exits are told. */
static uint32_t exit_rings(const struct rs_session *session)
{
	uint32_t rings = 0;

	for (guint i = 0; i < session->sources->len; i++) {
		const struct rs_target *target = nth_source(session, i)->target;

		if (target->ops->tells_exits)
			rings += target->vcpus;
	}
	return rings;
}

/* Its ring is the last: the first are those of the vCPUs, in the order of their sources. */
static void watch_exits(struct rs_session *session, struct rs_target *host)
{
	uint32_t ring = 0;

	for (guint i = 0; i < session->sources->len; i++) {
		const struct rs_source *source = nth_source(session, i);

		if (!source->target->ops->tells_exits)
			continue;
		source->target->watch = rs_host_watch(host, source->number, ring);
		ring += source->target->vcpus;
	}
}

static int make_region(struct rs_session *session, const struct rs_session_host *wish,
		       RsTraceRegion **region, struct rs_error *err)
{
	const struct rs_region_config config = {
		.vcpus = MIN(exit_rings(session) + 1, RS_MAX_CPUS),
		.ring_bytes = wish->ring_bytes,
		.ring_max = 8 * wish->ring_bytes,
		.ring_mode = wish->ring_mode,
		.event_capacity = HOST_EVENTS,
		.filter_bytes = HOST_FILTER_BYTES,
		.desc_bytes = HOST_DESC_BYTES,
		.hcall_channel = RS_CHANNEL_NONE,
		.doorbell_channel = RS_CHANNEL_NONE,
		.origin_ns = nth_source(session, 0)->region->header.origin_ns,
	};

	return rs_region_create(&config, region, err);
}

static int add(struct rs_session *session, RsTraceRegion *region, struct rs_error *err)
{
	const struct rs_source_config source = {.kernel = "host", .program = "/proc/self/exe"};
	const struct rs_host_config config = {
		.region = region->map,
		.region_size = region->size,
		.rings = region->header.ring_count,
	};
	struct rs_target *target;
	int ret = rs_host_create(&config, &target, err);

	if (ret)
		return ret;
	ret = rs_source_create(session, &source, NULL, region, target, &session->host, err);
	if (ret) {
		target->ops->destroy(target);
		return ret;
	}
	watch_exits(session, target);
	g_ptr_array_add(session->sources, session->host);
	return 0;
}

int rs_session_add_host(struct rs_session *session, const struct rs_session_host *wish,
			struct rs_error *err)
{
	RsTraceRegion *region;
	int ret;

	if (session->started || session->host || !session->sources->len)
		return rs_error_set(err, EBUSY, "the host becomes a source before the start, once");
	ret = make_region(session, wish, &region, err);
	if (ret)
		return ret;
	ret = add(session, region, err);
	if (ret)
		rs_trace_region_free(region);
	return ret;
}

int rs_session_start_host(struct rs_session *session, struct rs_error *err)
{
	int ret;

	if (!session->host)
		return 0;
	ret = rs_source_start(session->host, err);
	if (ret)
		return ret;
	rs_turn_begin(&session->turn);
	rs_source_refresh(session->host);
	return 0;
}

void rs_session_end_host(struct rs_session *session)
{
	const struct rs_target_end end = {.reason = RS_END_EXIT};

	if (session->host)
		rs_source_set_ended(session->host, &end);
}

bool rs_source_is_host(const struct rs_source *source)
{
	return source == source->session->host;
}
