/* SPDX-License-Identifier: MIT */
/* Enable, disable, list: by glob, in one batch for each source, in the order that control.h asks for. */
#include "session/private.h"

#include <errno.h>
#include <rs-trace-escape.h>
#include <string.h>

/* ---- which events ---- */

bool rs_event_matches(const struct rs_source *source, const RsTraceEvent *event, const char *glob)
{
	const char *slash = strchr(glob, '/');
	g_autofree char *of = NULL;

	if (!slash)
		return rs_trace_event_matches(event, glob);
	of = g_strndup(glob, (gsize)(slash - glob));
	return rs_trace_glob_matches(of, source->name) && rs_trace_event_matches(event, slash + 1);
}

static bool event_live(const struct rs_source *source, const RsTraceEvent *event)
{
	return event->provider->is_live && event->slot < source->provider_slots &&
	       source->providers[event->slot].state == RS_PROVIDER_LIVE;
}

bool rs_event_usable(const struct rs_source *source, const RsTraceEvent *event)
{
	return event->id < source->region->header.event_capacity && event_live(source, event);
}

static void add_matching(struct rs_source *source, const char *glob, GArray *refs)
{
	for (guint i = 0; i < rs_trace_schema_n_events(source->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);
		struct event_ref ref = {source, event->id};

		if (rs_event_usable(source, event) && rs_event_matches(source, event, glob))
			g_array_append_val(refs, ref);
	}
}

static int check_glob(const char *glob, struct rs_error *err)
{
	if (!glob || !*glob)
		return rs_error_set(err, EINVAL, "an event glob is needed, such as 'sched:*'");
	if (strlen(glob) > RS_SESSION_MAX_GLOB)
		return rs_error_set(err, EINVAL, "the event glob is longer than %u bytes",
				    RS_SESSION_MAX_GLOB);
	return 0;
}

static int no_match(const char *glob, struct rs_error *err)
{
	g_autofree char *escaped = rs_trace_escape(glob, -1, NULL);

	return rs_error_set(err, ENOENT, "no event matches '%s'", escaped);
}

static bool asked(const struct asker *asker, const struct rs_source *source)
{
	return !asker->source || asker->source == source;
}

/* Nothing matches, and that may yet change: the host's wish is kept as a rule. */
static bool may_wait(const struct rs_session *session, const struct asker *asker)
{
	if (asker->owner != RS_OWNER_HOST)
		return false;
	for (guint i = 0; i < session->sources->len; i++) {
		const struct rs_source *source = nth_source(session, i);

		if (!source->hello && !source->ended)
			return true;
	}
	return !session->sources->len;
}

int rs_events_match(struct rs_session *session, const struct asker *asker, const char *glob,
		    GArray **refs, struct rs_error *err)
{
	GArray *found;
	int ret = check_glob(glob, err);

	if (ret)
		return ret;
	if (session->detached || rs_session_over(session))
		return rs_error_set(err, ESHUTDOWN, "the guest has ended");
	found = g_array_new(FALSE, FALSE, sizeof(struct event_ref));
	for (guint i = 0; i < session->sources->len; i++) {
		struct rs_source *source = nth_source(session, i);

		if (!asked(asker, source) || source->ended)
			continue;
		if (source->started)
			rs_source_refresh(source);
		add_matching(source, glob, found);
	}
	if (!found->len && !may_wait(session, asker)) {
		g_array_unref(found);
		return no_match(glob, err);
	}
	*refs = found;
	return 0;
}

struct rs_source *rs_events_run(const GArray *refs, guint *at, GArray *ids)
{
	struct rs_source *source = NULL;

	g_array_set_size(ids, 0);
	for (; *at < refs->len; (*at)++) {
		const struct event_ref *ref = &g_array_index(refs, struct event_ref, *at);

		if (source && ref->source != source)
			break;
		source = ref->source;
		g_array_append_val(ids, ref->id);
	}
	return source;
}

/* ---- on and off, in one source ---- */

/* `ids` are those whose state really changes. */
static int switch_on(struct rs_source *source, const GArray *ids, GPtrArray *problems,
		     struct rs_error *err)
{
	const uint32_t *id = (const uint32_t *)ids->data;
	int ret;

	if (!ids->len)
		return 0;
	/* The word before the text: an event that fires in between is judged by the word. */
	for (guint i = 0; i < ids->len; i++)
		rs_publisher_set_enabled(source->publisher, id[i], true, NULL);
	ret = rs_source_sites_switch(source, id, ids->len, true, problems, err);
	for (guint i = 0; i < ids->len; i++) {
		if (ret)
			rs_publisher_set_enabled(source->publisher, id[i], false, NULL);
		else
			source->events[id[i]].on = true;
	}
	rs_publisher_commit(source->publisher);
	return ret;
}

static int switch_off(struct rs_source *source, const GArray *ids, struct rs_error *err)
{
	const uint32_t *id = (const uint32_t *)ids->data;
	int ret;

	if (!ids->len)
		return 0;
	ret = rs_source_sites_switch(source, id, ids->len, false, NULL, err);
	/* Off for the guest whatever became of its text: the word alone decides. */
	for (guint i = 0; i < ids->len; i++) {
		rs_publisher_set_enabled(source->publisher, id[i], false, NULL);
		source->events[id[i]].on = false;
	}
	rs_publisher_commit(source->publisher);
	return ret;
}

int rs_source_enable_ids(struct rs_source *source, enum rs_session_owner owner, const GArray *ids,
			 GPtrArray *problems, struct rs_error *err)
{
	g_autoptr(GArray) off = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	int ret;

	for (guint i = 0; i < ids->len; i++) {
		uint32_t id = g_array_index(ids, uint32_t, i);

		if (!source->events[id].on)
			g_array_append_val(off, id);
	}
	ret = switch_on(source, off, problems, err);
	if (ret)
		return ret;
	for (guint i = 0; i < ids->len; i++)
		source->events[g_array_index(ids, uint32_t, i)].owners |= (uint8_t)owner;
	return 0;
}

static int disable_ids(struct rs_source *source, enum rs_session_owner owner, const GArray *ids,
		       struct rs_error *err)
{
	g_autoptr(GArray) on = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (guint i = 0; i < ids->len; i++) {
		uint32_t id = g_array_index(ids, uint32_t, i);
		struct event_state *state = &source->events[id];

		state->owners &= (uint8_t)~owner;
		if (state->on && !state->owners)
			g_array_append_val(on, id);
	}
	return switch_off(source, on, err);
}

void rs_source_note_problems(struct rs_source *source, const GPtrArray *problems)
{
	for (guint i = 0; i < problems->len; i++)
		rs_source_say(source, "%s", (const char *)problems->pdata[i]);
}

/* ---- as asked ---- */

static int enable_refs(const struct asker *asker, const GArray *refs, GPtrArray *all,
		       struct rs_error *err)
{
	g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	struct rs_source *source;
	guint at = 0;
	int ret = 0;

	while ((source = rs_events_run(refs, &at, ids))) {
		g_autoptr(GPtrArray) problems = g_ptr_array_new();
		int failed =
			rs_source_enable_ids(source, asker->owner, ids, problems, ret ? NULL : err);

		if (!failed)
			rs_source_note_problems(source, problems);
		g_ptr_array_extend_and_steal(all, g_steal_pointer(&problems));
		ret = ret ? ret : failed;
	}
	return ret;
}

int rs_events_enable(struct rs_session *session, const struct asker *asker, const char *glob,
		     struct rs_session_result *result, struct rs_error *err)
{
	g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GArray) refs = NULL;
	int ret = rs_events_match(session, asker, glob, &refs, err);

	if (!ret && asker->owner == RS_OWNER_HOST)
		ret = rs_rules_add(session, asker, RULE_ENABLE, glob, NULL, err);
	if (!ret)
		ret = enable_refs(asker, refs, problems, err);
	if (ret)
		return ret;
	if (result) {
		result->touched = refs->len;
		result->pending = !refs->len;
		result->problems = problems->len ? g_ptr_array_ref(problems) : NULL;
	}
	rs_session_say_changed(session);
	return 0;
}

int rs_session_enable(struct rs_session *session, enum rs_session_owner owner, const char *glob,
		      struct rs_session_result *result, struct rs_error *err)
{
	return rs_events_enable(session, &(struct asker){.owner = owner}, glob, result, err);
}

static int disable_refs(const struct asker *asker, const GArray *refs, struct rs_error *err)
{
	g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	struct rs_source *source;
	guint at = 0;
	int ret = 0;

	while ((source = rs_events_run(refs, &at, ids))) {
		int failed = disable_ids(source, asker->owner, ids, ret ? NULL : err);

		ret = ret ? ret : failed;
	}
	return ret;
}

int rs_events_disable(struct rs_session *session, const struct asker *asker, const char *glob,
		      struct rs_session_result *result, struct rs_error *err)
{
	g_autoptr(GArray) refs = NULL;
	int ret = rs_events_match(session, asker, glob, &refs, err);

	if (!ret && asker->owner == RS_OWNER_HOST)
		ret = rs_rules_add(session, asker, RULE_DISABLE, glob, NULL, err);
	if (!ret)
		ret = disable_refs(asker, refs, err);
	if (ret)
		return ret;
	if (result)
		*result = (struct rs_session_result){.touched = refs->len, .pending = !refs->len};
	rs_session_say_changed(session);
	return 0;
}

int rs_session_disable(struct rs_session *session, enum rs_session_owner owner, const char *glob,
		       struct rs_session_result *result, struct rs_error *err)
{
	return rs_events_disable(session, &(struct asker){.owner = owner}, glob, result, err);
}

/* ---- what happens by itself ---- */

void rs_source_provider_gone(struct rs_source *source, uint32_t slot)
{
	g_autoptr(GArray) on = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	struct rs_error err = {0};

	for (guint i = 0; i < rs_trace_schema_n_events(source->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);
		uint32_t id = event->id;

		if (event->slot != slot || id >= source->region->header.event_capacity)
			continue;
		source->events[id].owners = 0;
		source->events[id].ruled = false;
		if (source->events[id].on)
			g_array_append_val(on, id);
	}
	if (switch_off(source, on, &err))
		rs_source_say(source, "a provider left: %s", err.message);
}

void rs_source_forget_events(struct rs_source *source)
{
	rs_publisher_reset(source->publisher);
	for (uint32_t id = 0; id < source->region->header.event_capacity; id++) {
		g_free(source->events[id].filter);
		g_free(source->events[id].note);
		source->events[id] = (struct event_state){0};
	}
}

int rs_source_all_off(struct rs_source *source, struct rs_error *err)
{
	g_autoptr(GArray) on = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (uint32_t id = 0; id < source->region->header.event_capacity; id++) {
		if (source->events[id].on)
			g_array_append_val(on, id);
	}
	return switch_off(source, on, err);
}

/* ---- list ---- */

static void list_source(struct rs_source *source, const char *glob, GArray *list)
{
	for (guint i = 0; i < rs_trace_schema_n_events(source->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(source->schema, i);
		struct rs_session_event entry = {.source = source, .event = event};
		const struct event_state *state;

		if (event->id >= source->region->header.event_capacity ||
		    (glob && !rs_event_matches(source, event, glob)))
			continue;
		state = &source->events[event->id];
		entry.enabled = state->on;
		entry.live = event_live(source, event);
		entry.filter = state->filter;
		entry.sites = rs_source_sites_of(source, event->id);
		entry.note = entry.live ? state->note : "its provider has gone";
		g_array_append_val(list, entry);
	}
}

GArray *rs_session_list(struct rs_session *session, const char *glob)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct rs_session_event));

	rs_session_refresh(session);
	for (guint i = 0; i < session->sources->len; i++)
		list_source(nth_source(session, i), glob, list);
	return list;
}
