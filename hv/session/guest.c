/* SPDX-License-Identifier: MIT */
/* What the guest says of itself: copied once, bounded, then believed as far as it goes. */
#include "session/private.h"

#include <errno.h>
#include <rs-trace-escape.h>
#include <string.h>

/* Providers whose slot is another's now; nobody here looks at their records. */
#define RETIRED_MAX 0u

/* The text of the boot before is gone, and all that was patched in it. */
static void forget_boot(struct rs_session *session)
{
	rs_session_forget_events(session);
	rs_session_sites_reset(session);
	memset(session->providers, 0,
	       session->region->header.section[RS_SEC_PROVIDERS].count *
		       sizeof(*session->providers));
	session->provider_slots = 0;
}

/* 0: `info` is this boot's; fresh: it is the first look at it. */
static int read_info(struct rs_session *session, bool *fresh)
{
	struct rs_guest_info info;
	struct rs_error err = {0};
	GError *error = NULL;

	if (!rs_trace_region_guest_info(session->region, &info, &error)) {
		bool incompatible =
			g_error_matches(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION);
		int ret = rs_error_take(&err, incompatible ? EPROTO : EAGAIN, error);

		if (!incompatible || session->incompatible)
			return ret;
		session->incompatible = true;
		/* What was an agent once and then speaks nonsense is a broken guest, still to be read. */
		if (session->hello)
			rs_session_say(session, "%s", err.message);
		else
			rs_session_say_failed(session, &err);
		return ret;
	}
	*fresh = !session->hello;
	if (session->hello && info.boot != session->info.boot) {
		forget_boot(session);
		*fresh = true;
		rs_session_say(session, "the guest's agent started anew");
	}
	session->info = info;
	session->hello = true;
	return 0;
}

static void read_descriptors(struct rs_session *session, uint32_t slot,
			     const struct rs_provider *entry)
{
	size_t size = 0;
	g_autofree uint8_t *copy = NULL;
	g_autoptr(GError) error = NULL;
	guint bad = 0;

	if (!rs_trace_schema_knows(session->schema, slot, entry)) {
		size = MIN(entry->desc_size, session->region->header.section[RS_SEC_EVENTS].size);
		copy = g_malloc(size);
		size = rs_trace_region_copy(session->region, RS_SEC_EVENTS, entry->desc_offset,
					    copy, size);
	}
	rs_trace_schema_take(session->schema, slot, entry, copy, size, &bad, &error);
	rs_trace_schema_trim(session->schema, RETIRED_MAX);
	session->bad_descriptors += bad;
	if (error)
		rs_session_say(session, "the guest describes an event badly: %s", error->message);
}

void rs_session_provider_left(struct rs_session *session, uint32_t slot)
{
	rs_session_provider_gone(session, slot);
	rs_session_sites_remove(session, slot);
	session->providers[slot].state = RS_PROVIDER_DEAD;
}

static void provider_came(struct rs_session *session, uint32_t slot)
{
	const struct rs_provider *entry = &session->providers[slot];
	struct rs_error err = {0};

	if (!(session->info.flags & RS_GUEST_SELF_PATCH) &&
	    rs_session_sites_add(session, slot, entry, &err)) {
		g_autofree char *name = rs_trace_escape(entry->name, -1, NULL);

		rs_session_say(session, "provider '%s' cannot be patched: %s", name, err.message);
	}
}

static bool read_provider(struct rs_session *session, uint32_t slot)
{
	struct rs_provider *known = &session->providers[slot], now;

	if (!rs_trace_region_provider(session->region, slot, &now) ||
	    now.sequence == known->sequence)
		return false;
	/* It may have gone and come back since we looked last. */
	if (known->state == RS_PROVIDER_LIVE)
		rs_session_provider_left(session, slot);
	read_descriptors(session, slot, &now);
	if (now.state == RS_PROVIDER_LIVE && now.last_boot != session->info.boot)
		now.state = RS_PROVIDER_DEAD;
	*known = now;
	if (now.state == RS_PROVIDER_LIVE)
		provider_came(session, slot);
	return true;
}

static bool read_providers(struct rs_session *session)
{
	bool changed = false;

	session->provider_slots = MAX(session->provider_slots, session->info.provider_slots);
	for (uint32_t slot = 0; slot < session->provider_slots; slot++)
		changed |= read_provider(session, slot);
	return changed;
}

/* First look at a boot of the guest: who patches, and how its clock runs. */
static void greet(struct rs_session *session)
{
	bool self = session->info.flags & RS_GUEST_SELF_PATCH;
	struct rs_error err = {0};

	if (rs_session_sites_set_self(session, self, &err))
		rs_session_say_failed(session, &err);
	if (self)
		rs_publisher_set_flags(session->publisher, RS_CONTROL_SELF_PATCH, 0);
	if (!rs_publisher_clock_hz(session->publisher))
		rs_session_begin_clock(session, session->info.tsc_hz, 0);
}

void rs_session_refresh(struct rs_session *session)
{
	bool fresh, changed;

	if (read_info(session, &fresh))
		return;
	if (fresh)
		greet(session);
	changed = read_providers(session);
	if (changed)
		rs_session_apply_rules(session);
	if (fresh) {
		for (guint i = 0; i < session->listeners->len; i++) {
			const struct rs_session_listener *l = session->listeners->pdata[i];

			if (l->hello)
				l->hello(l->data, &session->info);
		}
	}
	if (changed || fresh)
		rs_session_say_changed(session);
}
