/* SPDX-License-Identifier: MIT */
/* Reads what the guest says about itself: copies it once, bounds it, then uses it. */
#include "session/faults_private.h"

#include <errno.h>
#include <rs-trace-escape.h>
#include <string.h>

/* The text of the earlier boot is gone, with all patches in it. */
static void forget_boot(struct rs_source *source)
{
	source->target->switching = NULL;
	rs_source_forget_askings(source);
	rs_source_forget_commands(source);
	rs_source_end_engines(source);
	source->described++;
	rs_source_forget_events(source);
	rs_source_sites_reset(source);
	rs_source_forget_text_faults(source);
	rs_trace_table_forget(source->table);
	memset(source->providers, 0,
	       source->region->header.section[RS_SEC_PROVIDERS].count * sizeof(*source->providers));
	source->provider_slots = 0;
	source->panicked = false;
	*source->panic = 0;
}

/*
 * From a machine's reset to the report of an agent it takes longer, as we think. Where it does not,
 * a boot may be taken for one that was reset, until its agent answers.
 */
#define BOOT_MIN (20 * G_TIME_SPAN_MILLISECOND)

/* Whoever carries the news of a machine may be so slow that the next boot has reported. */
bool rs_source_is_past(const struct rs_source *source, gint64 at)
{
	return at < source->boot_after;
}

void rs_source_machine_reset(struct rs_source *source, gint64 at)
{
	if (rs_source_is_past(source, at))
		return;
	/* Machines reset their parts, and tell of each. */
	if (!source->was_reset) {
		rs_source_say(source, "the machine was reset");
		rs_host_note_reset(source);
	}
	source->panicked = false;
	*source->panic = 0;
	source->was_reset = true;
	rs_clock_note_reset(source->clock);
	if (!source->hello)
		return;
	forget_boot(source);
	source->hello = false;
	rs_session_machine_rebooted(source);
	rs_session_settle(source->session);
	rs_session_say_changed(source->session);
}

/* 0: `info` is of this boot. *fresh: this is the first look at this boot. */
static int read_info(struct rs_source *source, bool *fresh)
{
	struct rs_guest_info info;
	struct rs_error err = {0};
	GError *error = NULL;
	gint64 last = source->info_read, now = g_get_monotonic_time();

	source->info_read = now;
	if (!rs_trace_region_guest_info(source->region, &info, &error)) {
		bool incompatible =
			g_error_matches(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION);
		int ret = rs_error_take(&err, incompatible ? EPROTO : EAGAIN, error);

		if (!incompatible || source->incompatible)
			return ret;
		source->incompatible = true;
		/*
		 * If an agent was valid once and is invalid now, its guest is broken, but its trace
		 * can still be read.
		 */
		if (source->hello)
			rs_source_say(source, "%s", err.message);
		else
			rs_session_say_failed(source->session, &err);
		return ret;
	}
	/* It lives if it answers, whatever the time of the reset. */
	if (source->was_reset && info.boot == source->info.boot &&
	    !rs_clock_agent_answers(source->clock))
		return rs_error_set(&err, EAGAIN, "the guest boots");
	source->was_reset = false;
	*fresh = !source->hello;
	if (source->hello && info.boot != source->info.boot) {
		rs_turn_add(&source->session->turn,
			    rs_trace_schema_n_events(source->schema) * RS_WORK_EVENT);
		forget_boot(source);
		rs_session_machine_rebooted(source);
		*fresh = true;
		rs_source_say(source, "the guest's agent started anew");
	}
	/* It reported after `last`, and BOOT_MIN at least after the reset before it. */
	if (info.boot != source->info.boot)
		source->boot_after = MAX(last, now - BOOT_MIN);
	source->info = info;
	source->hello = true;
	return 0;
}

/* `data` may be NULL if the schema knows the entry. */
static void take_descriptors(struct rs_source *source, uint32_t slot,
			     const struct rs_provider *entry, const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	guint bad;

	/* They could not be switched on, and a region may hold very many small ones. */
	if ((uint64_t)entry->first_id + entry->event_count >
	    source->region->header.event_capacity) {
		if (size)
			rs_source_say(source,
				      "the guest describes events beyond the %u of its "
				      "region: they are left out",
				      source->region->header.event_capacity);
		size = 0;
	}
	rs_trace_schema_take(source->schema, slot, entry, data, size, &bad, &error);
	rs_trace_schema_trim(source->schema, 0, 0); /* we read no records of before */
	source->bad_descriptors += bad;
	if (error)
		rs_source_say(source, "%u event%s described badly and left out: %s", bad,
			      bad == 1 ? " is" : "s are", error->message);
}

void rs_source_provider_left(struct rs_source *source, uint32_t slot, bool listed)
{
	/* What its agent does not list any more is put back first, while the guest stands still. */
	if (!listed)
		rs_source_sites_remove(source, slot);
	rs_source_provider_gone(source, slot);
	if (listed)
		rs_source_sites_remove(source, slot);
	source->providers[slot].state = RS_PROVIDER_DEAD;
	source->described++;
}

static void provider_came(struct rs_source *source, uint32_t slot)
{
	const struct rs_provider *entry = &source->providers[slot];
	struct rs_error err = {0};

	/*
	 * A machine that was asked to patch itself and does not so far may begin another boot. A
	 * process that joined says at once that it does.
	 */
	if (!(source->info.flags & RS_GUEST_SELF_PATCH) &&
	    (!source->self_asked || source->machine) &&
	    rs_source_sites_add(source, slot, entry, &err)) {
		g_autofree char *name = rs_trace_escape(entry->name, -1, NULL);

		rs_source_say(source, "provider '%s' cannot be patched: %s", name, err.message);
	}
}

static gboolean take_provider(guint slot, const struct rs_provider *entry, const guint8 *descs,
			      gsize size, gpointer data)
{
	struct rs_source *source = data;
	struct rs_provider *known = &source->providers[slot];

	/* The next look hands it out again. One that goes may go at once. */
	if (rs_turn_over(&source->session->turn) ||
	    (source->reading && source->reading != slot + 1 && entry->state == RS_PROVIDER_LIVE)) {
		source->unfinished = true;
		return FALSE;
	}
	rs_turn_add(&source->session->turn, RS_WORK_REQUEST + size);
	/* The provider may have gone and come back since the last look. */
	if (known->state == RS_PROVIDER_LIVE)
		rs_source_provider_left(source, slot, false);
	if (entry->state == RS_PROVIDER_LIVE && rs_source_sites_leaving(source, slot)) {
		source->unfinished = source->held_up = true;
		return FALSE;
	}
	take_descriptors(source, slot, entry, descs, size);
	*known = *entry;
	if (known->state == RS_PROVIDER_LIVE && known->last_boot != source->info.boot)
		known->state = RS_PROVIDER_DEAD;
	if (known->state == RS_PROVIDER_LIVE)
		provider_came(source, slot);
	return TRUE;
}

static bool read_providers(struct rs_source *source)
{
	source->provider_slots = MAX(source->provider_slots, source->info.provider_slots);
	return rs_trace_table_look(source->table, source->provider_slots, source->schema,
				   take_provider, source);
}

/* First look at a boot of the guest: who patches, and how its clock runs. */
static void greet(struct rs_source *source)
{
	bool self = source->info.flags & RS_GUEST_SELF_PATCH;
	struct rs_error err = {0};

	source->target->switching = source->info.flags & RS_GUEST_BREAKPOINTS
					    ? rs_publisher_switching(source->publisher)
					    : NULL;
	rs_host_note_boot(source);
	if (source->target->ops->booted)
		source->target->ops->booted(source->target);
	/* No guest has done anything yet when the host reports. */
	if (!source->session->hello_at && !rs_source_is_host(source))
		source->session->hello_at = g_get_monotonic_time();
	if (rs_source_sites_set_self(source, self, &err))
		rs_session_say_failed(source->session, &err);
	if (self)
		rs_publisher_set_flags(source->publisher, RS_CONTROL_SELF_PATCH, 0);
	if (source->info.flags & RS_GUEST_BRIDGE)
		rs_source_say(source,
			      "the guest has no module of ours: ftrace records, and a program "
			      "moves its pages. That is slower, and events come up to some 200 ms "
			      "late");
	rs_source_promise_nudges(source);
	rs_clock_greet(source->clock, &source->info);
}

void rs_source_refresh(struct rs_source *source)
{
	bool fresh, changed, read, bad;

	/* The target has ended while its text was written. */
	if (source->stepping)
		return;
	source->unfinished = source->held_up = false;
	bad = read_info(source, &fresh);
	if (!bad && fresh)
		greet(source);
	/* Neither that nor what the guest describes may hold up the other for ever. */
	if (source->patching)
		rs_source_sites_patch_on(source, true);
	if (bad) {
		rs_session_settle(source->session);
		return;
	}
	read = source->reading && rs_source_sites_read_on(source);
	changed = read_providers(source) || read;
	source->unfinished |= source->reading != 0;
	source->described += changed;
	if (changed) /* the schema makes its lists anew */
		rs_turn_add(&source->session->turn,
			    rs_trace_schema_n_events(source->schema) * 64ull);
	/* Before any event is on, so that printers get the source's first record. */
	if (fresh)
		rs_source_say_hello(source);
	changed |= source->unruled;
	if (changed)
		rs_rules_apply(source);
	source->unfinished |= source->unruled;
	if (changed || fresh)
		rs_session_say_changed(source->session);
	if (source->patching && !rs_turn_over(&source->session->turn))
		rs_source_sites_patch_on(source, false);
	rs_session_settle(source->session);
	rs_source_looked(source);
}
