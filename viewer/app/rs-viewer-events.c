/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-events.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>
#include <string.h>

/* Between two lists: others may change things as fast as they like. */
#define LIST_MS 250
#define PROBLEMS_MAX 4u

struct _RsViewerEvents {
	GObject parent;
	RsDBusSession1 *session;   /* NULL: none, or it has ended */
	GCancellable *cancellable; /* of calls to this session */
	GListStore *sources, *all;
	GHashTable *by_key;  /* RsViewerEvent by its place: see key_of() */
	GHashTable *by_name; /* label → the only event of that name, or NULL: there are several */
	GPtrArray *answered; /* of RsViewerEvent: a change of theirs is done, and not listed yet */
	GHashTable *seen;    /* of RsViewerEvent, while rows are taken */
	gboolean known, listing, again, several;
	gint64 listed_at, counted_at;
	guint later;
};

G_DEFINE_FINAL_TYPE(RsViewerEvents, rs_viewer_events, G_TYPE_OBJECT)

enum { PROP_ROOTS = 1, N_PROPERTIES };
static GParamSpec *properties[N_PROPERTIES];
enum { LISTED, PROBLEM, N_SIGNALS };
static guint signals[N_SIGNALS];

GListModel *rs_viewer_events_roots(RsViewerEvents *events)
{
	g_autoptr(RsViewerEvent) only = NULL;

	if (events->several || !g_list_model_get_n_items(G_LIST_MODEL(events->sources)))
		return G_LIST_MODEL(events->sources);
	only = g_list_model_get_item(G_LIST_MODEL(events->sources), 0);
	return G_LIST_MODEL(rs_viewer_event_children(only));
}

GListModel *rs_viewer_events_all(RsViewerEvents *events)
{
	return G_LIST_MODEL(events->all);
}

gboolean rs_viewer_events_known(RsViewerEvents *events)
{
	return events->known;
}

char *rs_viewer_events_glob(RsViewerEvents *events, RsViewerEvent *event)
{
	const char *source = events->several ? rs_viewer_event_source(event) : "";
	const char *slash = *source ? "/" : "";

	switch (rs_viewer_event_kind(event)) {
	case RS_VIEWER_EVENT_SOURCE:
		return g_strconcat(source, slash, "*", NULL);
	case RS_VIEWER_EVENT_SYSTEM:
		return g_strconcat(source, slash, rs_viewer_event_name(event), ":*", NULL);
	case RS_VIEWER_EVENT_EVENT:
		break;
	}
	return g_strconcat(source, slash, rs_viewer_event_label(event), NULL);
}

/* ---- rows ---- */

typedef struct {
	guint32 source_number, id;
	const char *source, *system, *name;
	RsViewerEventFacts facts;
	GVariant *owners; /* aa{sv}, or NULL */
} Row;

/* Skips what it does not know, and what has another type. */
static void read_key(Row *row, const char *key, GVariant *value)
{
	const struct {
		const char *key, *type, *format;
		gpointer to;
	} keys[] = {
		{"source", "s", "&s", &row->source},
		{"source_number", "u", "u", &row->source_number},
		{"id", "u", "u", &row->id},
		{"system", "s", "&s", &row->system},
		{"name", "s", "&s", &row->name},
		{"enabled", "b", "b", &row->facts.enabled},
		{"stack", "u", "u", &row->facts.stack},
		{"sites", "u", "u", &row->facts.sites},
		{"filter", "s", "&s", &row->facts.filter},
		{"note", "s", "&s", &row->facts.note},
		{"owners", "aa{sv}", "@aa{sv}", &row->owners},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
		if (strcmp(keys[i].key, key) != 0)
			continue;
		if (g_variant_is_of_type(value, G_VARIANT_TYPE(keys[i].type)))
			g_variant_get(value, keys[i].format, keys[i].to);
		return;
	}
}

/* Who else wants the event, and our own filter. */
static char *read_owners(Row *row)
{
	g_autoptr(GString) others = g_string_new(NULL);
	GVariantIter iter;
	GVariant *dict;

	if (!row->owners)
		return NULL;
	g_variant_iter_init(&iter, row->owners);
	while ((dict = g_variant_iter_next_value(&iter))) {
		const char *name = "";
		gboolean enabled = FALSE;

		g_variant_lookup(dict, "name", "&s", &name);
		g_variant_lookup(dict, "enabled", "b", &enabled);
		if (!strcmp(name, RS_VIEWER_OWNER))
			g_variant_lookup(dict, "filter", "&s", &row->facts.mine);
		else if (enabled)
			g_string_append_printf(others, "%s%s", others->len ? ", " : "", name);
		g_variant_unref(dict);
	}
	return g_strdup(others->str);
}

/* By name. */
static int compare(gconstpointer a, gconstpointer b, gpointer data)
{
	return strcmp(rs_viewer_event_name((RsViewerEvent *)a),
		      rs_viewer_event_name((RsViewerEvent *)b));
}

static char *key_of(const Row *row, RsViewerEventKind kind)
{
	if (kind == RS_VIEWER_EVENT_SOURCE)
		return g_strdup_printf("%u", row->source_number);
	if (kind == RS_VIEWER_EVENT_SYSTEM)
		return g_strdup_printf("%u/%s", row->source_number, row->system);
	return g_strdup_printf("%u/%s:%s %u", row->source_number, row->system, row->name, row->id);
}

/* The node of this place, which is made if it is not there. */
static RsViewerEvent *find(RsViewerEvents *events, const Row *row, RsViewerEventKind kind,
			   RsViewerEvent *parent)
{
	g_autofree char *key = key_of(row, kind);
	RsViewerEvent *event = g_hash_table_lookup(events->by_key, key);
	const char *name = kind == RS_VIEWER_EVENT_SOURCE   ? row->source
			   : kind == RS_VIEWER_EVENT_SYSTEM ? row->system
							    : row->name;

	if (event) {
		g_hash_table_add(events->seen, event);
		return event;
	}
	event = rs_viewer_event_new(kind, parent, name, row->source_number,
				    kind == RS_VIEWER_EVENT_EVENT ? row->id : 0);
	g_hash_table_add(events->seen, event);
	g_hash_table_insert(events->by_key, g_steal_pointer(&key), event);
	if (parent)
		g_list_store_insert_sorted(rs_viewer_event_children(parent), event, compare, NULL);
	else
		g_list_store_append(events->sources, event);
	if (kind == RS_VIEWER_EVENT_EVENT)
		g_list_store_append(events->all, event);
	return event;
}

static void take_row(RsViewerEvents *events, GVariant *dict)
{
	Row row = {.source = "", .system = "", .name = ""};
	g_autofree char *others = NULL;
	GVariantIter iter;
	const char *key;
	GVariant *value;
	RsViewerEvent *source, *system, *event;

	g_variant_iter_init(&iter, dict);
	while (g_variant_iter_loop(&iter, "{&sv}", &key, &value))
		read_key(&row, key, value);
	row.facts.others = others = read_owners(&row);
	source = find(events, &row, RS_VIEWER_EVENT_SOURCE, NULL);
	system = find(events, &row, RS_VIEWER_EVENT_SYSTEM, source);
	event = find(events, &row, RS_VIEWER_EVENT_EVENT, system);
	rs_viewer_event_set_facts(event, &row.facts);
	g_clear_pointer(&row.owners, g_variant_unref);
}

static void drop_unseen(RsViewerEvents *events, GListStore *store)
{
	for (guint i = g_list_model_get_n_items(G_LIST_MODEL(store)); i-- > 0;) {
		g_autoptr(RsViewerEvent) event = g_list_model_get_item(G_LIST_MODEL(store), i);

		if (!g_hash_table_contains(events->seen, event))
			g_list_store_remove(store, i);
		else if (rs_viewer_event_children(event))
			drop_unseen(events, rs_viewer_event_children(event));
	}
}

static gboolean is_unseen(gpointer key, gpointer event, gpointer seen)
{
	return !g_hash_table_contains(seen, event);
}

static void sum_up(GListModel *nodes)
{
	for (guint i = 0; i < g_list_model_get_n_items(nodes); i++) {
		g_autoptr(RsViewerEvent) event = g_list_model_get_item(nodes, i);

		if (!rs_viewer_event_children(event))
			continue;
		sum_up(G_LIST_MODEL(rs_viewer_event_children(event)));
		rs_viewer_event_sum_up(event);
	}
}

static void find_names(RsViewerEvents *events)
{
	g_hash_table_remove_all(events->by_name);
	for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(events->all)); i++) {
		g_autoptr(RsViewerEvent) event =
			g_list_model_get_item(G_LIST_MODEL(events->all), i);
		const char *label = rs_viewer_event_label(event);

		g_hash_table_insert(events->by_name, g_strdup(label),
				    g_hash_table_contains(events->by_name, label) ? NULL : event);
	}
}

/* What was asked for is done, as far as anybody knows. */
static void settle(RsViewerEvents *events)
{
	for (guint i = 0; i < events->answered->len; i++)
		rs_viewer_event_set_busy(events->answered->pdata[i], FALSE);
	g_ptr_array_set_size(events->answered, 0);
}

void rs_viewer_events_take(RsViewerEvents *events, GVariant *rows)
{
	const gboolean known = events->known;
	gboolean several;
	GVariantIter iter;
	GVariant *dict;

	events->seen = g_hash_table_new(NULL, NULL);
	g_variant_iter_init(&iter, rows);
	while ((dict = g_variant_iter_next_value(&iter))) {
		take_row(events, dict);
		g_variant_unref(dict);
	}
	g_hash_table_foreach_remove(events->by_key, is_unseen, events->seen);
	/* The flat list first: nodes of the tree are what it refers to. */
	drop_unseen(events, events->all);
	drop_unseen(events, events->sources);
	g_clear_pointer(&events->seen, g_hash_table_unref);
	sum_up(G_LIST_MODEL(events->sources));
	find_names(events);
	settle(events);
	several = g_list_model_get_n_items(G_LIST_MODEL(events->sources)) > 1;
	events->known = TRUE;
	if (!known || several != events->several) {
		events->several = several;
		g_object_notify_by_pspec(G_OBJECT(events), properties[PROP_ROOTS]);
	}
	g_signal_emit(events, signals[LISTED], 0);
}

/* ---- calls ---- */

static void list(RsViewerEvents *events);

static void say(RsViewerEvents *events, const char *text)
{
	g_signal_emit(events, signals[PROBLEM], 0, text);
}

char *rs_viewer_events_explain(const GError *error)
{
	g_autoptr(GError) shown = g_error_copy(error);

	rs_trace_client_fix_error(&shown);
	if (g_error_matches(shown, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BUSY))
		return g_strdup(_("Another program has claimed the session for now. Nothing was "
				  "changed; try again when it has let go."));
	return rs_trace_escape(shown->message, -1, "\n");
}

static void say_error(RsViewerEvents *events, const GError *error)
{
	g_autofree char *text = rs_viewer_events_explain(error);

	say(events, text);
}

static gboolean is_cancelled(const GError *error)
{
	return g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static gboolean list_later(gpointer data)
{
	RsViewerEvents *events = data;

	events->later = 0;
	list(events);
	return G_SOURCE_REMOVE;
}

static void listed(GObject *session, GAsyncResult *result, gpointer data)
{
	g_autoptr(GVariant) rows = NULL;
	g_autoptr(GError) error = NULL;
	RsViewerEvents *events = data;

	rs_dbus_session1_call_list_finish(RS_DBUS_SESSION1(session), &rows, NULL, result, &error);
	/* The object may be gone. */
	if (is_cancelled(error))
		return;
	events->listing = FALSE;
	events->listed_at = g_get_monotonic_time();
	if (rows)
		rs_viewer_events_take(events, rows);
	if (events->again && events->session)
		list(events);
}

/* Soon, and once for all changes until then. */
static void list(RsViewerEvents *events)
{
	const gint64 wait = events->listed_at + (gint64)LIST_MS * 1000 - g_get_monotonic_time();

	events->again = events->listing;
	if (events->listing || events->later || !events->session)
		return;
	if (wait > 0) {
		events->later = g_timeout_add((guint)(wait / 1000) + 1, list_later, events);
		return;
	}
	events->listing = TRUE;
	rs_dbus_session1_call_list(events->session, "", rs_trace_client_no_options(),
				   events->cancellable, listed, events);
}

void rs_viewer_events_set_session(RsViewerEvents *events, RsDBusSession1 *session)
{
	if (session == events->session)
		return;
	if (events->session)
		g_signal_handlers_disconnect_by_data(events->session, events);
	g_cancellable_cancel(events->cancellable);
	g_clear_object(&events->cancellable);
	g_clear_handle_id(&events->later, g_source_remove);
	events->listing = events->again = FALSE;
	events->listed_at = 0;
	settle(events);
	g_set_object(&events->session, session);
	if (!session)
		return;
	events->cancellable = g_cancellable_new();
	g_signal_connect_swapped(session, "changed", G_CALLBACK(list), events);
	list(events);
}

/* A line of its own. Takes `line`. */
static void add_line(GString *text, char *line)
{
	g_autofree char *safe = rs_trace_escape(line, -1, "\n");

	g_string_append_printf(text, "%s%s", text->len ? "\n" : "", safe);
	g_free(line);
}

/* What was not done as it was asked for. */
static void say_result(RsViewerEvents *events, const char *const *problems, GVariant *more)
{
	g_autoptr(GString) text = g_string_new(NULL);
	const guint n = g_strv_length((char **)problems);
	g_autofree const char **for_whom = NULL;
	guint kept = 0, unfiltered = 0;

	for (guint i = 0; i < MIN(n, PROBLEMS_MAX); i++)
		add_line(text, g_strdup(problems[i]));
	if (n > PROBLEMS_MAX)
		add_line(text, g_strdup_printf(_("and %u more"), n - PROBLEMS_MAX));
	g_variant_lookup(more, "kept", "u", &kept);
	if (kept && g_variant_lookup(more, "kept_for", "^a&s", &for_whom)) {
		g_autofree char *names = g_strjoinv(", ", (char **)for_whom);

		add_line(text,
			 g_strdup_printf(ngettext("%u event stays as it is: also for %s",
						  "%u events stay as they are: also for %s", kept),
					 kept, names));
	}
	if (g_variant_lookup(more, "unfiltered", "u", &unfiltered) && unfiltered)
		add_line(text, g_strdup_printf(ngettext("%u event has no such field, and all of it "
							"is recorded",
							"%u events have no such field, and all of "
							"them is recorded",
							unfiltered),
					       unfiltered));
	if (text->len)
		say(events, text->str);
}

/* A change that is under way. */
typedef struct {
	RsViewerEvents *events; /* only if it was not cancelled */
	RsViewerEvent *event;
	gboolean on;
} Change;

static void switched(GObject *object, GAsyncResult *result, gpointer data)
{
	RsDBusSession1 *session = RS_DBUS_SESSION1(object);
	g_autofree Change *change = data;
	g_autoptr(RsViewerEvent) event = change->event;
	g_auto(GStrv) problems = NULL;
	g_autoptr(GVariant) more = NULL;
	g_autoptr(GError) error = NULL;

	if (change->on)
		rs_dbus_session1_call_enable_finish(session, NULL, NULL, &problems, &more, result,
						    &error);
	else
		rs_dbus_session1_call_disable_finish(session, NULL, NULL, &problems, &more, result,
						     &error);
	if (error)
		rs_viewer_event_set_busy(event, FALSE);
	if (is_cancelled(error))
		return;
	if (error) {
		say_error(change->events, error);
	} else {
		/* It is busy until the next list says what has become of it. */
		g_ptr_array_add(change->events->answered, g_steal_pointer(&event));
		say_result(change->events, (const char *const *)problems, more);
	}
	list(change->events);
}

static GVariant *options_of_owner(void)
{
	GVariantDict options;

	g_variant_dict_init(&options, NULL);
	g_variant_dict_insert(&options, "owner", "s", RS_VIEWER_OWNER);
	return g_variant_dict_end(&options);
}

void rs_viewer_events_switch(RsViewerEvents *events, RsViewerEvent *event, gboolean on)
{
	g_autofree char *glob = rs_viewer_events_glob(events, event);
	Change *change;

	if (!events->session)
		return;
	change = g_new(Change, 1);
	*change = (Change){events, g_object_ref(event), on};
	rs_viewer_event_set_busy(event, TRUE);
	(on ? rs_dbus_session1_call_enable : rs_dbus_session1_call_disable)(
		events->session, glob, options_of_owner(), events->cancellable, switched, change);
}

static void filtered(GObject *session, GAsyncResult *result, gpointer data)
{
	g_autoptr(GTask) task = data;
	RsViewerEvents *events = g_task_get_source_object(task);
	g_auto(GStrv) problems = NULL;
	g_autoptr(GVariant) more = NULL;
	GError *error = NULL;

	if (!rs_dbus_session1_call_set_filter_finish(RS_DBUS_SESSION1(session), NULL, NULL,
						     &problems, &more, result, &error)) {
		rs_trace_client_fix_error(&error);
		g_task_return_error(task, error);
		return;
	}
	say_result(events, (const char *const *)problems, more);
	list(events);
	g_task_return_boolean(task, TRUE);
}

void rs_viewer_events_filter_async(RsViewerEvents *events, RsViewerEvent *event,
				   const char *expression, GAsyncReadyCallback done, gpointer data)
{
	GTask *task = g_task_new(events, events->cancellable, done, data);
	g_autofree char *glob = rs_viewer_events_glob(events, event);

	if (!events->session) {
		g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_CLOSED, "%s",
					_("The session has ended."));
		g_object_unref(task);
		return;
	}
	rs_dbus_session1_call_set_filter(events->session, glob, expression, options_of_owner(),
					 events->cancellable, filtered, task);
}

gboolean rs_viewer_events_filter_finish(RsViewerEvents *events, GAsyncResult *result,
					GError **error)
{
	return g_task_propagate_boolean(G_TASK(result), error);
}

/* ---- counts ---- */

void rs_viewer_events_count(RsViewerEvents *events, const RsTraceTimeline *timeline)
{
	const gint64 now = g_get_monotonic_time();
	const double dt = events->counted_at ? (double)(now - events->counted_at) / 1e6 : 0;
	g_autoptr(GHashTable) counts = g_hash_table_new(NULL, NULL);
	const RsTraceTimelineClass *class;

	events->counted_at = now;
	rs_trace_timeline_lock(timeline);
	for (guint i = RS_TRACE_CLASS_EVENTS; (class = rs_trace_timeline_class(timeline, i)); i++) {
		RsViewerEvent *event = g_hash_table_lookup(events->by_name, class->label);

		if (event)
			g_hash_table_insert(counts, event, GSIZE_TO_POINTER(class->count));
	}
	rs_trace_timeline_unlock(timeline);
	for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(events->all)); i++) {
		g_autoptr(RsViewerEvent) event =
			g_list_model_get_item(G_LIST_MODEL(events->all), i);
		const char *label = rs_viewer_event_label(event);

		/* The timeline does not tell events of several sources apart. */
		if (g_hash_table_lookup(events->by_name, label))
			rs_viewer_event_set_count(
				event, GPOINTER_TO_SIZE(g_hash_table_lookup(counts, event)), dt);
		else
			rs_viewer_event_set_unknown_count(event);
	}
	sum_up(G_LIST_MODEL(events->sources));
}

/* ---- the object ---- */

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
	g_value_set_object(value, rs_viewer_events_roots(RS_VIEWER_EVENTS(object)));
}

static void dispose(GObject *object)
{
	rs_viewer_events_set_session(RS_VIEWER_EVENTS(object), NULL);
	G_OBJECT_CLASS(rs_viewer_events_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	RsViewerEvents *events = RS_VIEWER_EVENTS(object);

	g_ptr_array_unref(events->answered);
	g_hash_table_unref(events->by_key);
	g_hash_table_unref(events->by_name);
	g_object_unref(events->sources);
	g_object_unref(events->all);
	G_OBJECT_CLASS(rs_viewer_events_parent_class)->finalize(object);
}

static void rs_viewer_events_class_init(RsViewerEventsClass *class)
{
	GObjectClass *object_class = G_OBJECT_CLASS(class);

	object_class->get_property = get_property;
	object_class->dispose = dispose;
	object_class->finalize = finalize;
	properties[PROP_ROOTS] = g_param_spec_object("roots", NULL, NULL, G_TYPE_LIST_MODEL,
						     G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
	g_object_class_install_properties(object_class, N_PROPERTIES, properties);
	signals[LISTED] = g_signal_new("listed", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0,
				       NULL, NULL, NULL, G_TYPE_NONE, 0);
	signals[PROBLEM] = g_signal_new("problem", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0,
					NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void rs_viewer_events_init(RsViewerEvents *events)
{
	events->sources = g_list_store_new(RS_VIEWER_TYPE_EVENT);
	events->all = g_list_store_new(RS_VIEWER_TYPE_EVENT);
	events->answered = g_ptr_array_new_with_free_func(g_object_unref);
	events->by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
	events->by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

RsViewerEvents *rs_viewer_events_new(void)
{
	return g_object_new(RS_VIEWER_TYPE_EVENTS, NULL);
}
