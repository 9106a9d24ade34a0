/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-start.h"

#include "app/rs-viewer-sessions.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>

#define TRACE_TYPE "application/x-ringside-trace"
#define RECENT_MAX 10u

struct _RsViewerStart {
	AdwBin parent;
	GtkWidget *nothing;
	GtkWidget *sessions_group, *recent_group;
	GtkListBox *sessions_list, *recent_list;
	RsViewerSessions *sessions;
};

G_DEFINE_FINAL_TYPE(RsViewerStart, rs_viewer_start, ADW_TYPE_BIN)

enum { SESSION_CHOSEN, FILE_CHOSEN, N_SIGNALS };
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

	/* Only now: properties of a new object are told in any order, and a title might be markup. */
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
				       !gtk_widget_get_visible(start->recent_group));
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

/* ---- recent files ---- */

static int newer(gconstpointer a, gconstpointer b)
{
	GDateTime *x = gtk_recent_info_get_modified((GtkRecentInfo *)a);
	GDateTime *y = gtk_recent_info_get_modified((GtkRecentInfo *)b);

	return x && y ? g_date_time_compare(y, x) : 0;
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
		folder = g_path_get_dirname(path);
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
	if (!start->sessions) {
		start->sessions = rs_viewer_sessions_new();
		g_signal_connect_object(start->sessions, "changed", G_CALLBACK(fill_sessions),
					start, G_CONNECT_SWAPPED);
	}
}

/* Nobody looks: nothing needs to be kept fresh. */
static void unmap(GtkWidget *widget)
{
	g_clear_object(&RS_VIEWER_START(widget)->sessions);
	GTK_WIDGET_CLASS(rs_viewer_start_parent_class)->unmap(widget);
}

static void rs_viewer_start_class_init(RsViewerStartClass *class)
{
	GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

	widget_class->map = map;
	widget_class->unmap = unmap;
	signals[SESSION_CHOSEN] =
		g_signal_new("session-chosen", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL,
			     NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
	signals[FILE_CHOSEN] =
		g_signal_new("file-chosen", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL,
			     NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
	gtk_widget_class_set_template_from_resource(widget_class,
						    "/org/ringside/Viewer/ui/start.ui");
	gtk_widget_class_bind_template_child(widget_class, RsViewerStart, nothing);
	gtk_widget_class_bind_template_child(widget_class, RsViewerStart, sessions_group);
	gtk_widget_class_bind_template_child(widget_class, RsViewerStart, sessions_list);
	gtk_widget_class_bind_template_child(widget_class, RsViewerStart, recent_group);
	gtk_widget_class_bind_template_child(widget_class, RsViewerStart, recent_list);
	gtk_widget_class_bind_template_callback(widget_class, session_activated);
	gtk_widget_class_bind_template_callback(widget_class, recent_activated);
}

static void rs_viewer_start_init(RsViewerStart *start)
{
	gtk_widget_init_template(GTK_WIDGET(start));
	g_signal_connect_object(gtk_recent_manager_get_default(), "changed",
				G_CALLBACK(fill_recent), start, G_CONNECT_SWAPPED);
	fill_recent(start);
}
