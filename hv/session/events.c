/* SPDX-License-Identifier: MIT */
/*
 * Events: which of them can be used, changes that nobody asked for, and their list.
 */
#include "session/plan.h"
#include "session/private.h"

#include "filter/nearest.h"
#include "patch/sites.h"
#include <ringside/record.h>
#include <rs-trace-escape.h>
#include <string.h>

/* ---- which events ---- */

static bool is_live(const struct rs_source *source, const RsTraceEvent *event)
{
	return event->provider->is_live && event->slot < source->provider_slots &&
	       source->providers[event->slot].state == RS_PROVIDER_LIVE;
}

static bool is_read(const struct rs_source *source, const RsTraceEvent *event)
{
	return source->reading != event->slot + 1;
}

/* A hostile guest may give an id twice: the newest has it, as in a lookup. */
static bool has_its_id(const struct rs_source *source, const RsTraceEvent *event)
{
	return event->id < source->region->header.event_capacity &&
	       rs_trace_schema_by_id(source->schema, event->id) == event;
}

bool rs_event_usable(const struct rs_source *source, const RsTraceEvent *event)
{
	return is_live(source, event) && is_read(source, event) && has_its_id(source, event);
}

bool rs_event_coming(const struct rs_source *source, const RsTraceEvent *event)
{
	return is_live(source, event) && !is_read(source, event) && has_its_id(source, event);
}

/* ---- changes that nobody asked for ---- */

/* A number that is not newer comes from a request that another one has overtaken. */
static bool is_newer(const struct event_state *state, uint16_t number)
{
	return !state->called_told || (int16_t)(uint16_t)(number - state->called_at) > 0;
}

int rs_source_set_called(struct rs_source *source, uint32_t id, uint16_t number, bool called,
			 struct rs_error *err)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	struct event_state *state = &source->events[id];
	int ret = 0;

	if (!is_newer(state, number))
		return 0;
	state->called_told = true;
	state->called_at = number;
	if (state->called == called)
		return 0;
	ret = rs_source_sites_switch(source, &id, 1, called, lines, err);
	state->called = called && !ret;
	for (guint i = 0; i < lines->len; i++)
		rs_source_say(source, "%s", (const char *)lines->pdata[i]);
	return ret;
}

void rs_source_note_called(struct rs_source *source, uint32_t id, uint16_t number, bool called)
{
	struct event_state *state = &source->events[id];

	if (!is_newer(state, number))
		return;
	state->called_told = true;
	state->called_at = number;
	state->called_early = called;
}

static void switch_on(struct rs_source *source, uint32_t id, GArray *ids)
{
	struct event_state *state = &source->events[id];

	state->called_early = false;
	state->called_told = state->called = true;
	g_array_append_val(ids, id);
}

/* Those that memory names, and of which no request has said anything else. */
static void take_found(struct rs_source *source, const GArray *called, GArray *ids)
{
	for (guint i = 0; called && i < called->len; i++) {
		const struct rs_site_called *found =
			&g_array_index(called, struct rs_site_called, i);
		const RsTraceEvent *event = rs_trace_schema_by_id(source->schema, found->event);

		if (!event || !rs_event_usable(source, event) ||
		    source->events[found->event].called_told)
			continue;
		source->events[found->event].called_at = found->number;
		switch_on(source, found->event, ids);
	}
}

/* Those that were said to have callbacks while their provider's sites were read. */
static void take_early(struct rs_source *source, uint32_t slot, GArray *ids)
{
	const RsTraceEvent *event;

	for (guint i = 0; (event = rs_trace_schema_nth_of(source->schema, slot, i)); i++)
		if (rs_event_usable(source, event) && source->events[event->id].called_early)
			switch_on(source, event->id, ids);
}

void rs_source_find_called(struct rs_source *source, uint32_t slot, const GArray *called)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	struct rs_error err = {0};

	take_found(source, called, ids);
	take_early(source, slot, ids);
	if (!ids->len)
		return;
	if (rs_source_sites_switch(source, (const uint32_t *)(void *)ids->data, ids->len, true,
				   lines, &err)) {
		rs_source_say(source, "callbacks in the guest are not called: %s", err.message);
		for (guint i = 0; i < ids->len; i++)
			source->events[g_array_index(ids, uint32_t, i)].called = false;
	}
	for (guint i = 0; i < lines->len; i++)
		rs_source_say(source, "%s", (const char *)lines->pdata[i]);
}

static void forget_called(struct rs_source *source, uint32_t id)
{
	struct event_state *state = &source->events[id];

	if (state->called)
		rs_source_sites_unwant(source, id);
	state->called = false;
	state->called_told = false;
	state->called_early = false;
}

void rs_source_provider_gone(struct rs_source *source, uint32_t slot)
{
	g_autoptr(GArray) plans = rs_plans_new();
	const RsTraceEvent *event;
	struct rs_error err = {0};

	/* Not all events: a guest may change every slot between two looks at its table. */
	for (guint i = 0; (event = rs_trace_schema_nth_of(source->schema, slot, i)); i++) {
		struct rs_plan *plan;

		if (event->id >= source->region->header.event_capacity)
			continue;
		source->events[event->id].ruled = false;
		source->events[event->id].life = 0;
		forget_called(source, event->id);
		plan = rs_plans_add(plans, source, event);
		rs_plan_take_wishes(plan);
		rs_wishes_clear(&plan->wishes);
		rs_plan_decide(plan, true, NULL);
	}
	if (rs_plans_carry_out(plans, NULL, &err))
		rs_source_say(source, "a provider left: %s", err.message);
}

void rs_source_forget_event(struct rs_source *source, uint32_t id)
{
	struct event_state *state = &source->events[id];

	rs_wishes_clear(&state->wishes);
	g_clear_pointer(&state->program, rs_program_unref);
	g_free(state->filter);
	g_free(state->no_native);
	g_free(state->note);
	g_free(state->left_out);
	*state = (struct event_state){0};
}

void rs_source_forget_events(struct rs_source *source)
{
	rs_publisher_reset(source->publisher);
	rs_source_reset_natives(source);
	rs_source_commit(source);
	for (uint32_t id = RS_FIRST_EVENT_ID; id < source->region->header.event_capacity; id++)
		rs_source_forget_event(source, id);
	/* The requests of the guest were those of an earlier boot. */
	rs_owner_clear_rules(source->guest);
}

int rs_source_all_off(struct rs_source *source, struct rs_error *err)
{
	g_autoptr(GArray) on = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (uint32_t id = RS_FIRST_EVENT_ID; id < source->region->header.event_capacity; id++) {
		if (source->events[id].on)
			g_array_append_val(on, id);
		forget_called(source, id);
	}
	return rs_source_switch_off(source, on, NULL, err);
}

/* ---- list ---- */

const char *rs_event_filter(struct rs_source *source, uint32_t id)
{
	struct event_state *state = &source->events[id];

	if (!state->filter && !state->overfull)
		state->filter = rs_wishes_expression(&state->wishes);
	return state->filter;
}

/* `glob` may be NULL. */
static void list_source(struct rs_source *source, const RsTraceEventGlob *glob, GArray *list)
{
	for (guint i = 0; i < rs_trace_schema_n_events(source->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);
		struct rs_session_event entry = {.source = source, .event = event};
		const struct event_state *state;

		if (event->id >= source->region->header.event_capacity ||
		    (glob && !rs_trace_event_glob_matches(glob, source->name, event)))
			continue;
		state = &source->events[event->id];
		entry.enabled = state->on;
		entry.stack = state->stack;
		entry.live = is_live(source, event) && is_read(source, event);
		entry.filter = rs_event_filter(source, event->id);
		entry.wishes = state->wishes.first;
		entry.sites = rs_source_sites_of(source, event->id);
		entry.native = rs_event_is_native(source, event->id, &entry.no_native);
		entry.note = state->note ? state->note : state->left_out;
		if (!is_read(source, event))
			entry.note = "its sites are being read";
		else if (!entry.live)
			entry.note = "its provider has gone";
		else if (state->called && !state->on && !entry.note)
			entry.note = "its sites are on for callbacks in the guest";
		else if (source->session->frozen && rs_wishes_wanted(&state->wishes))
			entry.note = "the session is frozen";
		else if (state->overfull)
			entry.note = "the owners' filters are too large together: all is recorded";
		g_array_append_val(list, entry);
	}
}

GArray *rs_session_list(struct rs_session *session, const char *glob)
{
	RsTraceEventGlob *match = glob ? rs_trace_event_glob_new(glob, NULL) : NULL;
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct rs_session_event));

	rs_session_refresh(session);
	for (guint i = 0; i < session->sources->len && (match || !glob); i++)
		list_source(nth_source(session, i), match, list);
	rs_trace_event_glob_free(match);
	return list;
}

/* ---- suggestions ---- */

/* Comparing costs time, and a guest may describe very many events. */
#define MAX_COMPARED 1000u

static void offer_events(struct rs_source *source, struct rs_nearest *nearest, guint *left,
			 const RsTraceEvent **best)
{
	bool whole = strchr(nearest->wanted, ':');
	guint n = MIN(rs_trace_schema_n_events(source->schema), *left);

	for (guint i = 0; i < n; i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);
		g_autofree char *full = g_strdup_printf("%s:%s", event->system, event->name);

		if (rs_nearest_offer(nearest, whole ? full : event->name))
			*best = event;
	}
	*left -= n;
}

char *rs_session_suggest(struct rs_session *session, const char *glob)
{
	const char *slash = strchr(glob, '/');
	struct rs_nearest nearest = rs_nearest_to(slash ? slash + 1 : glob);
	g_autofree char *full = NULL, *shown = NULL;
	const RsTraceEvent *best = NULL;
	guint left = MAX_COMPARED;

	for (guint i = 0; i < session->sources->len && !strpbrk(glob, "*?[@"); i++)
		offer_events(nth_source(session, i), &nearest, &left, &best);
	if (!best)
		return g_strdup("");
	full = g_strdup_printf("%s:%s", best->system, best->name);
	if (!slash && (g_str_equal(full, glob) || g_str_equal(best->name, glob)))
		return g_strdup(", since its provider has gone");
	shown = rs_trace_escape(full, -1, NULL);
	return g_strdup_printf("; did you mean '%s'?", shown);
}
