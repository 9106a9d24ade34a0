/* SPDX-License-Identifier: MIT */
#include "session/private.h"

static void list_source(struct rs_source *source, GArray *list)
{
	for (uint32_t slot = 0; slot < source->provider_slots; slot++) {
		struct rs_session_provider entry = {.source = source};
		const struct rs_provider *known = &source->providers[slot];

		entry.provider = rs_trace_schema_provider(source->schema, slot);
		if (!entry.provider)
			continue;
		entry.live = !source->ended && entry.provider->is_live &&
			     known->state == RS_PROVIDER_LIVE;
		entry.self_patch = source->info.flags & RS_GUEST_SELF_PATCH;
		if (entry.live)
			entry.sites = known->site_count;
		entry.sites_on = rs_source_sites_on_of_provider(source, slot);
		g_array_append_val(list, entry);
	}
}

GArray *rs_session_list_providers(struct rs_session *session)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct rs_session_provider));

	rs_session_refresh(session);
	for (guint i = 0; i < session->sources->len; i++)
		list_source(nth_source(session, i), list);
	return list;
}
