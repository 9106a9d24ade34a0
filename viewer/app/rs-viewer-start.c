/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-start.h"

#include "app/rs-viewer-domains.h"
#include "app/rs-viewer-sessions.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>
#include <string.h>

#define TRACE_TYPE "application/x-ringside-trace"
#define RECENT_MAX 10u
#define AGAIN_S 5 /* after which domains are asked for again */

struct _RsViewerStart {
	AdwBin parent;
	GtkWidget *nothing;
	GtkWidget *sessions_group, *domains_group, *recent_group;
	GtkListBox *sessions_list, *domains_list, *recent_list;
	RsViewerSessions *sessions; /* NULL: nobody looks */
	GCancellable *cancellable;
	gboolean attaching, asking;
	guint again; /* a source, while the page is shown */
	char *known; /* what the list of domains shows */
};

G_DEFINE_FINAL_TYPE(RsViewerStart, rs_viewer_start, ADW_TYPE_BIN)

enum { SESSION_CHOSEN, FILE_CHOSEN, FAILED, N_SIGNALS };
static guint signals[N_SIGNALS];

#define ROW_VALUE "ringside-value" /* the name or path of a row, as it is */

/* ---- rows ---- */

static void clear(GtkListBox *list)
{
	GtkWidget *row;

	while ((row = gtk_widget_get_first_child(GTK_WIDGET(list))))
		gtk_list_box_remove(list, row);
}

static GtkWidget *add_row(GtkListBox *list, const char *icon, const char *title,
			  const char *subtitle, const char *value)
{
	g_autofree char *plain = rs_trace_escape(title, -1, NULL);
	g_autofree char *below = rs_trace_escape(subtitle, -1, NULL);
	GtkWidget *row = g_object_new(ADW_TYPE_ACTION_ROW, "use-markup", FALSE, NULL);

	/* Only now: those of a new object are told in any order, and a title might be markup. */
	g_object_set(row, "title", plain, "subtitle", below, "icon-name", icon, "activatable", TRUE,
		     "title-lines", 2, "subtitle-lines", 2, NULL);
	gtk_accessible_update_property(GTK_ACCESSIBLE(row), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
				       below, -1);
	g_object_set_data_full(G_OBJECT(row), ROW_VALUE, g_strdup(value), g_free);
	gtk_list_box_append(list, row);
	return row;
}

static void update_nothing(RsViewerStart *start)
{
	gtk_widget_set_visible(start->nothing,
			       !gtk_widget_get_visible(start->sessions_group) &&
				       !gtk_widget_get_visible(start->domains_group));
}

/* ---- sessions ---- */

static char *describe(const RsTraceRundirEntry *entry)
{
	const RsTraceRundirSource *first = rs_trace_rundir_entry_source(entry, 1);

	if (entry->sources->len > 1)
		return g_strdup_printf(ngettext("%u source", "%u sources", entry->sources->len),
				       entry->sources->len);
	return first ? g_strdup_printf("%s · %s", first->kind, first->kernel) : g_strdup("");
}

static void fill_sessions(RsViewerStart *start)
{
	const GPtrArray *list = rs_viewer_sessions_list(start->sessions);
	guint n = 0;

	clear(start->sessions_list);
	for (guint i = 0; i < list->len; i++) {
		const RsTraceRundirEntry *entry = list->pdata[i];
		g_autofree char *text = describe(entry);

		if (!entry->live)
			continue;
		add_row(start->sessions_list, "media-record-symbolic", entry->name, text,
			entry->name);
		n++;
	}
	gtk_widget_set_visible(start->sessions_group, n > 0);
	update_nothing(start);
}

static void session_activated(RsViewerStart *start, GtkListBoxRow *row)
{
	g_signal_emit(start, signals[SESSION_CHOSEN], 0,
		      g_object_get_data(G_OBJECT(row), ROW_VALUE));
}

/* ---- domains ---- */

/* The text below a domain's name. */
static const char *say_domain(const RsViewerDomain *domain)
{
	if (g_strcmp0(domain->state, "off") == 0)
		return _("Off");
	if (!domain->device)
		return _("To attach to it adds a device for traces");
	return g_strcmp0(domain->state, "paused") == 0 ? _("Paused") : _("Running");
}

/* A domain that has a session is listed with the sessions. */
static void fill_domains(RsViewerStart *start, const GPtrArray *list)
{
	guint n = 0;

	clear(start->domains_list);
	for (guint i = 0; list && i < list->len; i++) {
		RsViewerDomain *domain = list->pdata[i];
		GtkWidget *row;

		if (domain->session)
			continue;
		row = add_row(start->domains_list, "computer-symbolic", domain->name,
			      say_domain(domain), NULL);
		g_object_set_data_full(G_OBJECT(row), ROW_VALUE, rs_viewer_domain_copy(domain),
				       (GDestroyNotify)rs_viewer_domain_free);
		gtk_widget_set_sensitive(row, g_strcmp0(domain->state, "off") != 0);
		n++;
	}
	gtk_widget_set_visible(start->domains_group, n > 0);
	update_nothing(start);
}

/* All that rows say, and what they are activated with. */
static char *summary_of(const GPtrArray *list)
{
	GString *all = g_string_new(NULL);

	for (guint i = 0; list && i < list->len; i++) {
		const RsViewerDomain *domain = list->pdata[i];

		g_string_append_printf(all, "%s\n%s\n%s\n%s\n%s\n%d\n", domain->name, domain->uuid,
				       domain->uri, domain->state,
				       domain->session ? domain->session : "", domain->device);
	}
	return g_string_free(all, FALSE);
}

/* Rows that stay keep the focus. */
static void show_domains(RsViewerStart *start, const GPtrArray *list)
{
	g_autofree char *all = summary_of(list);

	if (g_strcmp0(all, start->known) == 0)
		return;
	fill_domains(start, list);
	g_free(start->known);
	start->known = g_steal_pointer(&all);
}

static void domains_listed(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerStart) start = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) list = rs_viewer_domains_list_finish(result, &error);

	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		return;
	start->asking = FALSE;
	/* Most machines have no libvirt: then there are no domains, and nothing is wrong. */
	if (!start->attaching)
		show_domains(start, list);
}

static void ask_domains(RsViewerStart *start)
{
	if (start->asking || start->attaching || !start->cancellable)
		return;
	start->asking = TRUE;
	rs_viewer_domains_list_async(start->cancellable, domains_listed, g_object_ref(start));
}

/* Nothing says when one starts. */
static gboolean ask_again(gpointer data)
{
	ask_domains(data);
	return G_SOURCE_CONTINUE;
}

static void domain_attached(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerStart) start = data;
	g_autoptr(GError) error = NULL;
	g_autofree char *session = rs_viewer_domains_attach_finish(result, &error);

	start->attaching = FALSE;
	/* The row says that it is under way, whether anything else has changed or not. */
	g_clear_pointer(&start->known, g_free);
	gtk_widget_set_sensitive(GTK_WIDGET(start->domains_list), TRUE);
	if (session)
		g_signal_emit(start, signals[SESSION_CHOSEN], 0, session);
	else
		g_signal_emit(start, signals[FAILED], 0, error->message);
	ask_domains(start);
}

static void domain_activated(RsViewerStart *start, GtkListBoxRow *row)
{
	const RsViewerDomain *domain = g_object_get_data(G_OBJECT(row), ROW_VALUE);
	GtkWidget *spinner = gtk_spinner_new();

	start->attaching = TRUE;
	gtk_spinner_start(GTK_SPINNER(spinner));
	adw_action_row_add_suffix(ADW_ACTION_ROW(row), spinner);
	adw_action_row_set_subtitle(ADW_ACTION_ROW(row), _("Attaching…"));
	gtk_widget_set_sensitive(GTK_WIDGET(start->domains_list), FALSE);
	rs_viewer_domains_attach_async(domain, NULL, domain_attached, g_object_ref(start));
}

/* ---- recent files ---- */

static int newer(gconstpointer a, gconstpointer b)
{
	GDateTime *x = gtk_recent_info_get_modified((GtkRecentInfo *)a);
	GDateTime *y = gtk_recent_info_get_modified((GtkRecentInfo *)b);

	return x && y ? g_date_time_compare(y, x) : 0;
}

/* Below the home folder from there on: "~/traces". */
static char *folder_of(const char *path)
{
	g_autofree char *folder = g_path_get_dirname(path);
	const char *home = g_get_home_dir();
	const gsize length = strlen(home);

	if (length > 1 && g_str_has_prefix(folder, home) &&
	    (!folder[length] || folder[length] == G_DIR_SEPARATOR))
		return g_strconcat("~", folder + length, NULL);
	return g_steal_pointer(&folder);
}

static void fill_recent(RsViewerStart *start)
{
	GList *all = gtk_recent_manager_get_items(gtk_recent_manager_get_default());
	guint n = 0;

	clear(start->recent_list);
	all = g_list_sort(all, newer);
	for (GList *link = all; link && n < RECENT_MAX; link = link->next) {
		const char *uri = gtk_recent_info_get_uri(link->data);
		g_autofree char *path = g_filename_from_uri(uri, NULL, NULL), *folder = NULL;
		g_autofree char *name = path ? g_path_get_basename(path) : NULL;

		if (!path || g_strcmp0(gtk_recent_info_get_mime_type(link->data), TRACE_TYPE) != 0)
			continue;
		folder = folder_of(path);
		add_row(start->recent_list, "text-x-generic-symbolic", name, folder, path);
		n++;
	}
	g_list_free_full(all, (GDestroyNotify)gtk_recent_info_unref);
	gtk_widget_set_visible(start->recent_group, n > 0);
	update_nothing(start);
}

static void recent_activated(RsViewerStart *start, GtkListBoxRow *row)
{
	g_signal_emit(start, signals[FILE_CHOSEN], 0, g_object_get_data(G_OBJECT(row), ROW_VALUE));
}

/* ---- the object ---- */

static void map(GtkWidget *widget)
{
	RsViewerStart *start = RS_VIEWER_START(widget);

	GTK_WIDGET_CLASS(rs_viewer_start_parent_class)->map(widget);
	start->sessions = rs_viewer_sessions_new();
	g_signal_connect_object(start->sessions, "changed", G_CALLBACK(fill_sessions), start,
				G_CONNECT_SWAPPED);
	/* A domain whose session has ended can be attached again. */
	g_signal_connect_object(start->sessions, "changed", G_CALLBACK(ask_domains), start,
				G_CONNECT_SWAPPED);
	fill_sessions(start);
	start->cancellable = g_cancellable_new();
	ask_domains(start);
	start->again = g_timeout_add_seconds(AGAIN_S, ask_again, start);
}

/* Nobody looks: nothing needs to be kept fresh. */
static void unmap(GtkWidget *widget)
{
	RsViewerStart *start = RS_VIEWER_START(widget);

	g_signal_handlers_disconnect_by_data(start->sessions, start);
	g_clear_object(&start->sessions);
	g_cancellable_cancel(start->cancellable);
	g_clear_object(&start->cancellable);
	start->asking = FALSE;
	g_clear_handle_id(&start->again, g_source_remove);
	GTK_WIDGET_CLASS(rs_viewer_start_parent_class)->unmap(widget);
}

static void finalize(GObject *object)
{
	g_free(RS_VIEWER_START(object)->known);
	G_OBJECT_CLASS(rs_viewer_start_parent_class)->finalize(object);
}

static void rs_viewer_start_class_init(RsViewerStartClass *class)
{
	GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

	G_OBJECT_CLASS(class)->finalize = finalize;
	widget_class->map = map;
	widget_class->unmap = unmap;
	signals[SESSION_CHOSEN] =
		g_signal_new("session-chosen", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL,
			     NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
	signals[FILE_CHOSEN] =
		g_signal_new("file-chosen", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL,
			     NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
	signals[FAILED] = g_signal_new("failed", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0,
				       NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
	gtk_widget_class_set_template_from_resource(widget_class,
						    "/org/ringside/Viewer/ui/start.ui");
	gtk_widget_class_bind_template_child(widget_class, RsViewerStart, nothing);
	gtk_widget_class_bind_template_child(widget_class, RsViewerStart, sessions_group);
	gtk_widget_class_bind_template_child(widget_class, RsViewerStart, sessions_list);
	gtk_widget_class_bind_template_child(widget_class, RsViewerStart, domains_group);
	gtk_widget_class_bind_template_child(widget_class, RsViewerStart, domains_list);
	gtk_widget_class_bind_template_child(widget_class, RsViewerStart, recent_group);
	gtk_widget_class_bind_template_child(widget_class, RsViewerStart, recent_list);
	gtk_widget_class_bind_template_callback(widget_class, session_activated);
	gtk_widget_class_bind_template_callback(widget_class, domain_activated);
	gtk_widget_class_bind_template_callback(widget_class, recent_activated);
}

static void rs_viewer_start_init(RsViewerStart *start)
{
	gtk_widget_init_template(GTK_WIDGET(start));
	g_signal_connect_object(gtk_recent_manager_get_default(), "changed",
				G_CALLBACK(fill_recent), start, G_CONNECT_SWAPPED);
	fill_recent(start);
}
