/* SPDX-License-Identifier: MIT */
/*
 * A window from which files can be dragged, as from a file manager:
 *
 *	drag-source FILE...
 */
#include <gtk/gtk.h>

static GdkContentProvider *on_prepare(GtkDragSource *source, double x, double y, gpointer data)
{
	char **paths = data;
	GSList *files = NULL;
	GdkFileList *list;
	GdkContentProvider *provider;

	for (guint i = 0; paths[i]; i++)
		files = g_slist_append(files, g_file_new_for_path(paths[i]));
	list = gdk_file_list_new_from_list(files);
	provider = gdk_content_provider_new_typed(GDK_TYPE_FILE_LIST, list);
	g_boxed_free(GDK_TYPE_FILE_LIST, list);
	g_slist_free_full(files, g_object_unref);
	return provider;
}

int main(int argc, char **argv)
{
	GtkWidget *window, *label;
	GtkDragSource *source;

	if (argc < 2)
		g_error("usage: drag-source FILE...");
	gtk_init();
	window = gtk_window_new();
	label = gtk_label_new("Drag me");
	source = gtk_drag_source_new();
	g_signal_connect(source, "prepare", G_CALLBACK(on_prepare), argv + 1);
	gtk_widget_add_controller(label, GTK_EVENT_CONTROLLER(source));
	gtk_window_set_title(GTK_WINDOW(window), "Files");
	gtk_window_set_default_size(GTK_WINDOW(window), 200, 150);
	gtk_window_set_child(GTK_WINDOW(window), label);
	gtk_widget_set_hexpand(label, TRUE);
	gtk_widget_set_vexpand(label, TRUE);
	gtk_window_present(GTK_WINDOW(window));
	while (g_list_model_get_n_items(gtk_window_get_toplevels()) > 0)
		g_main_context_iteration(NULL, TRUE);
	return 0;
}
