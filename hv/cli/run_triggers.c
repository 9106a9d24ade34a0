/* SPDX-License-Identifier: MIT */
#include "cli/run_triggers.h"

#include "cli/event_watch.h"
#include "cli/input.h"
#include "cli/trigger_snapshot.h"
#include "cli/verb.h"
#include "session/triggers.h"
#include <errno.h>
#include <rs-trace-escape.h>
#include <rs-trace-live.h>
#include <rs-trace-text.h>

#define SHOWN_MAX 4096u /* bytes of the text of a hit */

/* What one trigger waits for. */
struct watched {
	struct rs_run_triggers *all;
	uint32_t number;
	bool shows;
	struct rs_event_wanted *wanted;
	/* With the lock: */
	uint64_t hits;
	gint64 quiet_until; /* monotonic us: hits before are only counted */
	bool pending;       /* the one below is to be told */
	struct rs_trigger_hit hit;
	char *event, *text; /* of it */
};

struct rs_run_triggers {
	struct rs_session *session;
	const struct rs_cli_symbols *symbols;
	struct rs_session_listener listener;
	struct rs_trigger_watcher watcher;
	struct rs_event_watch *watch;         /* NULL: there is no trigger */
	GHashTable *watched;                  /* number → struct watched */
	GHashTable *joined;                   /* struct rs_source → its number in the watch */
	struct rs_trigger_snapshot *snapshot; /* NULL: none is being written */
	uint32_t snapshot_of;                 /* number of its trigger */
	GMutex lock;
	uint64_t lost; /* in watches before this one */
	guint telling; /* id of a GLib source, with the lock; 0: none */
	bool over;
};

/* ---- hits ---- */

static void clear_hit(struct watched *watched)
{
	watched->pending = false;
	g_clear_pointer(&watched->event, g_free);
	g_clear_pointer(&watched->text, g_free);
}

static void free_watched(gpointer data)
{
	clear_hit(data);
	g_free(data);
}

/* On the watch's thread. */
static void note_hit(struct watched *watched, const RsTraceRecord *record, const RsTraceTask *task)
{
	g_autofree char *system = NULL, *name = NULL;

	watched->pending = true;
	if (record->event) {
		system = rs_trace_escape(record->event->system, -1, NULL);
		name = rs_trace_escape(record->event->name, -1, NULL);
	}
	watched->event = g_strdup_printf("%s:%s", system ? system : "?", name ? name : "?");
	watched->hit = (struct rs_trigger_hit){
		.source = record->origin ? record->origin->number : 0, .ns = record->ns};
	if (watched->shows) {
		GString *text = g_string_new(NULL);

		rs_trace_text_line(text, record, task, RS_TRACE_TEXT_NONE);
		if (text->len > SHOWN_MAX)
			g_string_truncate(text, SHOWN_MAX);
		while (text->len && text->str[text->len - 1] == '\n')
			g_string_truncate(text, text->len - 1);
		watched->text = g_string_free(text, FALSE);
	}
}

static gboolean tell_hits(gpointer data);

/* On the watch's thread. */
static void on_seen(void *data, const RsTraceRecord *record, const RsTraceTask *task)
{
	struct watched *watched = data;
	struct rs_run_triggers *all = watched->all;

	g_mutex_lock(&all->lock);
	watched->hits++;
	if (!watched->pending && g_get_monotonic_time() >= watched->quiet_until) {
		note_hit(watched, record, task);
		if (!all->telling)
			all->telling = g_idle_add_full(G_PRIORITY_HIGH, tell_hits, all, NULL);
	}
	g_mutex_unlock(&all->lock);
}

/* What this hit has done to the session, and what undoes it. */
static void tell_still(const struct rs_session *session, bool was_paused, bool was_frozen)
{
	if (!was_frozen && rs_session_is_frozen(session))
		rs_cli_tell_frozen(rs_session_name(session));
	if (!was_paused && rs_session_state(session) == RS_SESSION_PAUSED)
		rs_cli_tell_paused(rs_session_name(session));
}

static void tell_one(struct rs_run_triggers *all, uint32_t number)
{
	const bool paused = rs_session_state(all->session) == RS_SESSION_PAUSED;
	const bool frozen = rs_session_is_frozen(all->session);
	struct watched *watched = g_hash_table_lookup(all->watched, GUINT_TO_POINTER(number));
	g_autofree char *event = NULL, *text = NULL;
	struct rs_trigger_hit hit;
	uint32_t ms;

	if (!watched)
		return;
	g_mutex_lock(&all->lock);
	if (!watched->pending) {
		g_mutex_unlock(&all->lock);
		return;
	}
	hit = watched->hit;
	hit.event = event = g_steal_pointer(&watched->event);
	hit.text = text = g_steal_pointer(&watched->text);
	g_mutex_unlock(&all->lock);
	ms = rs_session_trigger_hit(all->session, number, &hit);
	tell_still(all->session, paused, frozen);
	watched = g_hash_table_lookup(all->watched, GUINT_TO_POINTER(number));
	if (!watched)
		return;
	g_mutex_lock(&all->lock);
	watched->pending = false;
	watched->quiet_until = g_get_monotonic_time() + (gint64)ms * 1000;
	g_mutex_unlock(&all->lock);
}

static int older(const void *a, const void *b)
{
	return GPOINTER_TO_INT(a) - GPOINTER_TO_INT(b);
}

static void tell_all(struct rs_run_triggers *all)
{
	g_autoptr(GList) numbers = g_list_sort(g_hash_table_get_keys(all->watched), older);

	for (const GList *at = numbers; at; at = at->next)
		tell_one(all, GPOINTER_TO_UINT(at->data));
}

static gboolean tell_hits(gpointer data)
{
	struct rs_run_triggers *all = data;

	g_mutex_lock(&all->lock);
	all->telling = 0;
	g_mutex_unlock(&all->lock);
	tell_all(all);
	return G_SOURCE_REMOVE;
}

/* ---- sources ---- */

static void on_read(void *source, void *data)
{
	struct rs_run_triggers *all = data;

	if (g_hash_table_remove(all->joined, source))
		rs_source_release(source);
}

static void join(struct rs_run_triggers *all, struct rs_source *source)
{
	RsTraceSource *pages;
	int number;

	if (!all->watch || g_hash_table_contains(all->joined, source))
		return;
	pages = rs_trace_live_new(rs_source_region(source), RS_TRACE_FROM_NOW,
				  rs_trace_live_flags(rs_source_joined(source)), NULL);
	if (!pages)
		return;
	if (all->symbols)
		rs_cli_symbols_give_own(all->symbols, source, pages);
	number = rs_event_watch_join(all->watch, rs_source_name(source), rs_source_number(source),
				     pages, source);
	rs_source_hold(source);
	g_hash_table_insert(all->joined, source, GINT_TO_POINTER(number));
}

static void on_added(void *data, struct rs_source *source)
{
	join(data, source);
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	struct rs_run_triggers *all = data;
	gpointer number;

	/* Those that the session has started stay: they may boot again, or their end is its own. */
	if (rs_source_joined(source) && all->watch &&
	    g_hash_table_lookup_extended(all->joined, source, NULL, &number))
		rs_event_watch_end(all->watch, GPOINTER_TO_INT(number));
}

static void on_doorbell(void *data)
{
	const struct rs_run_triggers *all = data;

	if (all->watch)
		rs_event_watch_wake(all->watch);
}

static void open_watch(struct rs_run_triggers *all)
{
	const struct rs_event_watch_config config = {.ended = on_read, .data = all};

	if (all->watch)
		return;
	all->watch = rs_event_watch_new(&config);
	for (guint i = 0; i < rs_session_n_sources(all->session); i++) {
		struct rs_source *source = rs_session_source(all->session, i);

		if (!rs_source_end(source))
			join(all, source);
	}
	rs_event_watch_hurry(all->watch);
	rs_event_watch_start(all->watch);
}

static void close_watch(struct rs_run_triggers *all)
{
	g_autoptr(GList) sources = g_hash_table_get_keys(all->joined);

	all->lost += all->watch ? rs_event_watch_lost(all->watch) : 0;
	g_clear_pointer(&all->watch, rs_event_watch_free);
	for (const GList *at = sources; at; at = at->next)
		on_read(at->data, all);
}

/* ---- from the session ---- */

static int watch(void *data, uint32_t number, const char *glob, const char *expression, bool shows,
		 struct rs_error *err)
{
	struct rs_run_triggers *all = data;
	struct watched *watched;
	GError *error = NULL;

	if (all->over)
		return rs_error_set(err, ESHUTDOWN, "the session ends");
	open_watch(all);
	watched = g_new0(struct watched, 1);
	watched->all = all;
	watched->number = number;
	watched->shows = shows;
	watched->wanted =
		rs_event_watch_want(all->watch, glob, expression, on_seen, watched, &error);
	if (!watched->wanted) {
		g_free(watched);
		if (!g_hash_table_size(all->watched))
			close_watch(all);
		return rs_error_take(err, EINVAL, error);
	}
	g_hash_table_insert(all->watched, GUINT_TO_POINTER(number), watched);
	return 0;
}

static void unwatch(void *data, uint32_t number)
{
	struct rs_run_triggers *all = data;
	struct watched *watched = g_hash_table_lookup(all->watched, GUINT_TO_POINTER(number));

	if (!watched)
		return;
	if (all->watch)
		rs_event_watch_drop(all->watch, watched->wanted);
	g_hash_table_remove(all->watched, GUINT_TO_POINTER(number));
	if (!g_hash_table_size(all->watched) && !all->over)
		close_watch(all);
}

static uint64_t hits(void *data, uint32_t number)
{
	struct rs_run_triggers *all = data;
	const struct watched *watched = g_hash_table_lookup(all->watched, GUINT_TO_POINTER(number));
	uint64_t n;

	if (!watched)
		return 0;
	g_mutex_lock(&all->lock);
	n = watched->hits;
	g_mutex_unlock(&all->lock);
	return n;
}

static uint64_t lost(void *data)
{
	const struct rs_run_triggers *all = data;

	return all->lost + (all->watch ? rs_event_watch_lost(all->watch) : 0);
}

static void on_written(void *data)
{
	struct rs_run_triggers *all = data;
	g_autofree char *problem = rs_trigger_snapshot_finish(g_steal_pointer(&all->snapshot));

	if (problem)
		rs_session_trigger_failed(all->session, all->snapshot_of, problem);
}

static int snapshot(void *data, uint32_t number, const char *path, struct rs_error *err)
{
	struct rs_run_triggers *all = data;
	g_autofree char *why = g_strdup_printf("trigger %u", number);

	if (all->snapshot)
		return rs_error_set(err, EBUSY, "another snapshot is being written");
	all->snapshot_of = number;
	return rs_trigger_snapshot_new(all->session, path ? path : RS_CLI_TRACE, why, all->symbols,
				       on_written, all, &all->snapshot, err);
}

/* ---- life ---- */

int rs_run_triggers_take(const struct rs_verb *verb, char **lines, GPtrArray *triggers)
{
	for (; lines && *lines; lines++) {
		struct rs_error err = {0};
		struct rs_trigger_text *text;

		if (rs_trigger_text_parse(*lines, &text, &err))
			return rs_cli_usage(verb, "--trigger: %s", err.message);
		g_ptr_array_add(triggers, text);
	}
	return 0;
}

void rs_run_triggers_add_globs(const GPtrArray *triggers, GPtrArray *globs)
{
	for (guint i = 0; triggers && i < triggers->len; i++) {
		const struct rs_trigger_text *text = triggers->pdata[i];

		g_ptr_array_add(globs, g_strdup(text->glob));
		for (guint k = 0; k < text->actions->len; k++) {
			const struct rs_trigger_action *action =
				&g_array_index(text->actions, struct rs_trigger_action, k);

			if (action->act == RS_TRIGGER_ENABLE || action->act == RS_TRIGGER_DISABLE)
				g_ptr_array_add(globs, g_strdup(action->arg));
		}
	}
}

static int add_all(struct rs_run_triggers *all, const GPtrArray *triggers, struct rs_error *err)
{
	int ret = 0;

	for (guint i = 0; !ret && triggers && i < triggers->len; i++) {
		struct rs_trigger_text *text = rs_trigger_text_copy(triggers->pdata[i]);
		uint32_t number;

		ret = rs_session_add_trigger(all->session, text, true, &number, NULL, err);
		if (ret)
			rs_trigger_text_free(text);
	}
	return ret;
}

int rs_run_triggers_new(struct rs_session *session, const struct rs_cli_symbols *symbols,
			const GPtrArray *triggers, struct rs_run_triggers **out,
			struct rs_error *err)
{
	struct rs_run_triggers *all = g_new0(struct rs_run_triggers, 1);
	int ret;

	all->session = session;
	all->symbols = symbols;
	all->watched = g_hash_table_new_full(NULL, NULL, NULL, free_watched);
	all->joined = g_hash_table_new(NULL, NULL);
	g_mutex_init(&all->lock);
	all->watcher = (struct rs_trigger_watcher){.data = all,
						   .watch = watch,
						   .unwatch = unwatch,
						   .hits = hits,
						   .lost = lost,
						   .snapshot = snapshot};
	all->listener = (struct rs_session_listener){
		.data = all, .added = on_added, .doorbell = on_doorbell, .ended = on_ended};
	rs_session_add_listener(session, &all->listener);
	rs_session_set_trigger_watcher(session, &all->watcher);
	ret = add_all(all, triggers, err);
	if (ret)
		rs_run_triggers_free(all);
	else
		*out = all;
	return ret;
}

void rs_run_triggers_finish(struct rs_run_triggers *all)
{
	if (!all)
		return;
	all->over = true;
	if (all->watch)
		rs_event_watch_finish(all->watch, true);
	tell_all(all);
	on_written(all);
}

void rs_run_triggers_free(struct rs_run_triggers *all)
{
	if (!all)
		return;
	rs_session_set_trigger_watcher(all->session, NULL);
	rs_session_remove_listener(all->session, &all->listener);
	close_watch(all);
	g_clear_handle_id(&all->telling, g_source_remove);
	on_written(all);
	g_hash_table_unref(all->watched);
	g_hash_table_unref(all->joined);
	g_mutex_clear(&all->lock);
	g_free(all);
}
