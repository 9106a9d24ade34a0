/* SPDX-License-Identifier: MIT */
/*
 * The mode of all rings, docs/adr/0028-ring-mode.md, their size, docs/adr/0035-ring-size.md, and
 * what of them is no longer shown.
 */
#include "session/private.h"

#include "region/regions.h"
#include <errno.h>
#include <inttypes.h>
#include <rs-trace-escape.h>
#include <rs-trace-ring-change.h>
#include <rs-trace-ring-info.h>

/* `flag`: says that an agent looks at `what` again after its start. */
static int check_agent(const struct rs_source *source, uint32_t flag, const char *what,
		       struct rs_error *err)
{
	g_autofree char *agent = NULL;
	struct rs_guest_info info;

	if (!source_alive(source) || !rs_trace_region_guest_info(source->region, &info, NULL) ||
	    info.flags & flag)
		return 0;
	agent = rs_trace_escape(info.agent, -1, NULL);
	return rs_source_result(source,
				rs_error_set(err, ENOTSUP,
					     "the guest's agent, '%s', takes the %s of its rings "
					     "only when it starts",
					     agent, what),
				err);
}

int rs_session_check_ring_mode(const struct rs_session *session, uint32_t mode,
			       struct rs_error *err)
{
	int ret = 0;

	if (mode != RS_MODE_OVERWRITE && mode != RS_MODE_DROP)
		return rs_error_set(err, EINVAL, "ring mode %u is unknown", mode);
	if (rs_session_over(session))
		return rs_session_refuse_over(session, err);
	for (guint i = 0; i < session->sources->len && !ret; i++)
		ret = check_agent(nth_source(session, i), RS_GUEST_RING_MODE, "mode", err);
	return ret;
}

int rs_session_set_ring_mode(struct rs_session *session, uint32_t mode, struct rs_error *err)
{
	int ret = rs_session_check_ring_mode(session, mode, err);

	if (ret)
		return ret;
	for (guint i = 0; i < session->sources->len; i++)
		rs_source_note_overrun(nth_source(session, i));
	/* Whoever reads begins before a full ring refuses. */
	rs_session_say_ring_mode(session, mode);
	/* Also regions that nobody has taken so far, and those that will be laid out anew. */
	ret = rs_members_set_ring_mode(session, mode, err);
	for (guint i = 0; i < session->sources->len && !ret; i++)
		rs_region_set_ring_mode(nth_source(session, i)->region, mode);
	rs_session_say_changed(session);
	return ret;
}

/* ---- their size ---- */

#define CALM_US 1000000

static uint32_t pages_of(const RsTraceRegion *region, uint64_t bytes)
{
	uint64_t most = MIN(bytes, rs_trace_ring_max_bytes(region));

	return (uint32_t)MAX(rs_region_round_up(most) / region->header.ring_page_size,
			     RS_RING_PAGES_MIN);
}

/* A source that joined is not asked: it gets what it can have. */
static int check_size(const struct rs_source *source, uint64_t bytes, struct rs_error *err)
{
	const uint32_t page_size = source->region->header.ring_page_size;
	const uint64_t max = rs_trace_ring_max_bytes(source->region);
	int ret = 0;

	if (rs_source_joined(source))
		return max ? check_agent(source, RS_GUEST_RING_SHAPE, "size", err) : 0;
	if (!max)
		ret = rs_error_set(err, ENOTSUP,
				   "its memory has no room for rings of another size: that is "
				   "what --ring-max is for when it is started");
	else if (bytes < rs_region_min_ring_bytes(page_size) || bytes > max)
		ret = rs_error_set(err, EINVAL,
				   "its rings can have %" PRIu64 " KiB to %" PRIu64 " KiB each",
				   rs_region_min_ring_bytes(page_size) >> 10, max >> 10);
	if (ret)
		return rs_source_result(source, ret, err);
	return check_agent(source, RS_GUEST_RING_SHAPE, "size", err);
}

void rs_source_tend_rings(struct rs_source *source, struct rs_rings_change *sum)
{
	const uint64_t bytes = source->session->ring_bytes;
	const gint64 now = g_get_monotonic_time();
	RsTraceRingChange change;

	if (!rs_trace_ring_max_bytes(source->region))
		return;
	rs_trace_ring_change(source->region, bytes ? pages_of(source->region, bytes) : 0,
			     now >= source->rings_calm_at, &change);
	/* Observers have this long to read what a ring has left. */
	if (change.changes != source->ring_changes)
		source->rings_calm_at = now + CALM_US;
	source->ring_changes = change.changes;
	if (!sum)
		return;
	sum->changed += change.changed;
	sum->offered += change.offered;
	sum->held += change.held;
}

int rs_session_set_ring_bytes(struct rs_session *session, uint64_t wanted,
			      struct rs_rings_change *out, struct rs_error *err)
{
	/* Beyond that it is refused in any case. */
	const uint64_t bytes = wanted > 1ull << 62 ? wanted : rs_region_round_up(wanted);
	int ret = 0;

	*out = (struct rs_rings_change){.bytes = bytes};
	if (rs_session_over(session))
		return rs_session_refuse_over(session, err);
	for (guint i = 0; i < session->sources->len && !ret; i++) {
		const struct rs_source *source = nth_source(session, i);

		if (!source->ended)
			ret = check_size(source, bytes, err);
	}
	if (ret)
		return ret;
	session->ring_bytes = bytes;
	for (guint i = 0; i < session->sources->len; i++) {
		if (!nth_source(session, i)->ended)
			rs_source_tend_rings(nth_source(session, i), out);
	}
	rs_session_say_changed(session);
	return 0;
}

uint64_t rs_source_ring_bytes(const struct rs_source *source)
{
	const struct rs_region_header *header = &source->region->header;
	uint64_t most = 0;

	for (uint32_t ring = 0; ring < header->ring_count; ring++) {
		RsTraceRingInfo info;

		rs_trace_ring_info(source->region, ring, &info);
		most = MAX(most, (uint64_t)info.pages * header->ring_page_size);
	}
	return most;
}

uint64_t rs_source_ring_max(const struct rs_source *source)
{
	return rs_trace_ring_max_bytes(source->region);
}

uint64_t rs_source_ring_wanted(const struct rs_source *source)
{
	const RsTraceRegion *region = source->region;
	const uint32_t pages = source->session->ring_bytes && region->header.ring_room
				       ? pages_of(region, source->session->ring_bytes)
				       : 0;

	for (uint32_t ring = 0; pages && ring < region->header.ring_count; ring++) {
		RsTraceRingInfo info;

		rs_trace_ring_info(region, ring, &info);
		if (info.pages != pages)
			return (uint64_t)pages * region->header.ring_page_size;
	}
	return 0;
}

/* ---- what they hold ---- */

int rs_session_clear_rings(struct rs_session *session, uint64_t *records, struct rs_error *err)
{
	uint64_t all = 0;

	if (rs_session_over(session))
		return rs_session_refuse_over(session, err);
	for (guint i = 0; i < session->sources->len; i++) {
		const RsTraceRegion *region = nth_source(session, i)->region;

		for (guint ring = 0; ring < region->header.ring_count; ring++)
			all += rs_trace_ring_clear(region, ring);
	}
	*records = all;
	rs_session_say_changed(session);
	return 0;
}
