/* SPDX-License-Identifier: MIT */
/* A page's export, and how the user gets to what was written. */
#include "rs-viewer-page-private.h"

#include "app/rs-viewer-export.h"

#include <glib/gi18n.h>

/* ---- the folder ---- */

/* Without a file manager that shows a file in its folder, whatever shows folders. */
static void on_shown(GObject *bus, GAsyncResult *result, gpointer data)
{
	g_autoptr(GFile) file = data;
	g_autoptr(GVariant) answer =
		g_dbus_connection_call_finish(G_DBUS_CONNECTION(bus), result, NULL);
	g_autoptr(GFile) folder = answer ? NULL : g_file_get_parent(file);
	g_autofree char *uri = folder ? g_file_get_uri(folder) : NULL;

	if (uri)
		g_app_info_launch_default_for_uri_async(uri, NULL, NULL, NULL, NULL);
}

static void show_folder(GSimpleAction *action, GVariant *path, gpointer page)
{
	GDBusConnection *bus = g_application_get_dbus_connection(g_application_get_default());
	GFile *file = g_file_new_for_path(g_variant_get_bytestring(path));
	g_autofree char *uri = g_file_get_uri(file);
	const char *const uris[] = {uri, NULL};

	if (!bus) {
		g_object_unref(file);
		return;
	}
	g_dbus_connection_call(bus, "org.freedesktop.FileManager1", "/org/freedesktop/FileManager1",
			       "org.freedesktop.FileManager1", "ShowItems",
			       g_variant_new("(^ass)", uris, ""), NULL, G_DBUS_CALL_FLAGS_NONE, -1,
			       NULL, on_shown, file);
}

/* ---- the export ---- */

static void on_exported(RsViewerPage *page, const char *path, const char *text)
{
	g_autofree char *markup = g_markup_escape_text(text, -1);
	AdwToast *toast = adw_toast_new(markup);

	adw_toast_set_button_label(toast, _("Show in Folder"));
	adw_toast_set_action_name(toast, "page.show-folder");
	adw_toast_set_action_target_value(toast, g_variant_new_bytestring(path));
	adw_toast_set_timeout(toast, 10);
	adw_toast_overlay_add_toast(page->toasts, toast);
}

static void export(GSimpleAction *action, GVariant *parameter, gpointer data)
{
	RsViewerPage *page = data;
	GtkRoot *root = gtk_widget_get_root(GTK_WIDGET(page));
	RsViewerExport *dialog;

	if (!GTK_IS_WINDOW(root) ||
	    rs_trace_document_state(page->document) == RS_TRACE_DOCUMENT_FAILED)
		return;
	dialog = rs_viewer_export_new(GTK_WINDOW(root), page->view, page->title);
	g_signal_connect_object(dialog, "exported", G_CALLBACK(on_exported), page,
				G_CONNECT_SWAPPED);
	gtk_window_present(GTK_WINDOW(dialog));
}

void rs_viewer_page_add_export(RsViewerPage *page)
{
	static const GActionEntry entries[] = {
		{.name = "export", .activate = export},
		{.name = "show-folder", .parameter_type = "ay", .activate = show_folder}};

	g_action_map_add_action_entries(G_ACTION_MAP(page->actions), entries, G_N_ELEMENTS(entries),
					page);
}
