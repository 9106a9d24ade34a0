/* SPDX-License-Identifier: MIT */
/* What the guest says of itself: copied once, bounded, then believed as far as it goes. */
#include "session/private.h"

#include <errno.h>
#include <rs-trace-escape.h>
#include <string.h>

static void forget_boot(struct rs_session *session)
{
	rs_session_forget_events(session);
	rs_session_sites_reset(session);
	rs_trace_schema_free(session->schema);
	session->schema = rs_trace_schema_new();
	memset(session->providers, 0,
	       session->region->header.provider_capacity * sizeof(*session->providers));
	session->provider_count = 0;
	session->descriptor_bytes = 0;
	session->stuck = false;
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
	if (session->hello && info.boot_generation != session->info.boot_generation) {
		forget_boot(session);
		*fresh = true;
		rs_session_say(session, "the guest's agent started anew");
	}
	session->info = info;
	session->hello = true;
	return 0;
}

/* Returns whether the schema grew. */
static bool read_descriptors(struct rs_session *session)
{
	size_t bytes = session->info.event_bytes, more, used;
	g_autofree uint8_t *copy = NULL;
	g_autoptr(GError) error = NULL;
	guint bad = 0;

	if (session->stuck || bytes <= session->descriptor_bytes)
		return false;
	more = bytes - session->descriptor_bytes;
	copy = g_malloc(more);
	more = rs_trace_region_copy(session->region, RS_SEC_EVENTS, session->descriptor_bytes, copy,
				    more);
	used = rs_trace_schema_add(session->schema, copy, more, &bad, &error);
	session->descriptor_bytes += used;
	session->bad_descriptors += bad;
	if (error)
		rs_session_say(session, "the guest describes an event badly: %s", error->message);
	/* The agent publishes whole descriptors only, so a rest is no rest that will grow. */
	if (used < more)
		session->stuck = true;
	return true;
}

static bool read_provider(struct rs_session *session, uint32_t index)
{
	struct rs_provider *known = &session->providers[index], now;
	struct rs_error err = {0};

	if (rs_trace_region_copy(session->region, RS_SEC_PROVIDERS, index * sizeof(now), &now,
				 sizeof(now)) != sizeof(now))
		return false;
	now.name[sizeof(now.name) - 1] = 0;
	now.id = index + 1; /* what else it could be */
	if (now.state != RS_PROVIDER_LIVE)
		now.state = RS_PROVIDER_DEAD;
	if (now.state == known->state)
		return false;
	if (now.state == RS_PROVIDER_LIVE) {
		*known = now;
		if (!(session->info.flags & RS_GUEST_SELF_PATCH) &&
		    rs_session_sites_add(session, known, &err)) {
			g_autofree char *name = rs_trace_escape(now.name, -1, NULL);

			rs_session_say(session, "provider '%s' cannot be patched: %s", name,
				       err.message);
		}
		return true;
	}
	if (known->state == RS_PROVIDER_LIVE) {
		rs_session_provider_gone(session, index + 1);
		rs_session_sites_remove(session, index + 1);
	}
	known->state = RS_PROVIDER_DEAD;
	return true;
}

static bool read_providers(struct rs_session *session)
{
	bool changed = false;

	session->provider_count = MAX(session->provider_count, session->info.provider_count);
	for (uint32_t i = 0; i < session->provider_count; i++)
		changed |= read_provider(session, i);
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
		rs_publisher_set_clock(session->publisher, session->info.tsc_hz, 0);
}

void rs_session_refresh(struct rs_session *session)
{
	bool fresh, changed;

	if (read_info(session, &fresh))
		return;
	if (fresh)
		greet(session);
	/* Providers after their events: an event never stands without its descriptor. */
	changed = read_descriptors(session);
	changed |= read_providers(session);
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
