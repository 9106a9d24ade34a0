/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-help.h"

#include <glib/gi18n.h>
#include <rs-viewer-paths.h>

static const char *path_of_help(void)
{
	const char *named = g_getenv("RINGSIDE_VIEWER_HELP");

	return named && *named ? named : RS_VIEWER_HELP;
}

static void shown(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;

	if (gtk_show_uri_full_finish(GTK_WINDOW(object), result, &error))
		return;
	/* Translators: a path, and why */
	text = g_strdup_printf(_("The help is in %s. %s"), path_of_help(), error->message);
	rs_viewer_window_say(RS_VIEWER_WINDOW(object), text);
}

void rs_viewer_help_show(RsViewerWindow *window)
{
	g_autofree char *uri = g_filename_to_uri(path_of_help(), NULL, NULL);

	if (uri && window)
		gtk_show_uri_full(GTK_WINDOW(window), uri, GDK_CURRENT_TIME, NULL, shown, NULL);
}
