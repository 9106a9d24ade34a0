/* SPDX-License-Identifier: MIT */
/* The mode of all rings, docs/adr/0028-ring-mode.md, and what of them is no longer shown. */
#include "session/private.h"

#include "region/regions.h"
#include <errno.h>
#include <rs-trace-escape.h>
#include <rs-trace-ring-info.h>

/* Whether the agent took the mode at its start, and does not look at it again. */
static bool is_deaf(const struct rs_source *source, struct rs_guest_info *info)
{
	return source_alive(source) && rs_trace_region_guest_info(source->region, info, NULL) &&
	       !(info->flags & RS_GUEST_RING_MODE);
}

static int check_source(const struct rs_source *source, struct rs_error *err)
{
	g_autofree char *agent = NULL;
	struct rs_guest_info info;

	if (!is_deaf(source, &info))
		return 0;
	agent = rs_trace_escape(info.agent, -1, NULL);
	return rs_source_result(source,
				rs_error_set(err, ENOTSUP,
					     "the guest's agent, '%s', takes the mode of its "
					     "rings only when it starts",
					     agent),
				err);
}

int rs_session_set_ring_mode(struct rs_session *session, uint32_t mode, struct rs_error *err)
{
	int ret = 0;

	if (mode != RS_MODE_OVERWRITE && mode != RS_MODE_DROP)
		return rs_error_set(err, EINVAL, "ring mode %u is unknown", mode);
	if (rs_session_over(session))
		return rs_session_refuse_over(session, err);
	for (guint i = 0; i < session->sources->len && !ret; i++)
		ret = check_source(nth_source(session, i), err);
	if (ret)
		return ret;
	/* Whoever reads begins before a full ring refuses. */
	rs_session_say_ring_mode(session, mode);
	/* Also regions that nobody has taken so far, and those that will be laid out anew. */
	ret = rs_members_set_ring_mode(session, mode, err);
	for (guint i = 0; i < session->sources->len && !ret; i++)
		rs_region_set_ring_mode(nth_source(session, i)->region, mode);
	rs_session_say_changed(session);
	return ret;
}

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
