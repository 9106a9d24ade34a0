/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-help.h"

#include <glib/gi18n.h>
#include <rs-viewer-paths.h>

static void shown(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;

	if (gtk_show_uri_full_finish(GTK_WINDOW(object), result, &error))
		return;
	/* Translators: a path, and why */
	text = g_strdup_printf(_("The help is in %s. %s"), RS_VIEWER_HELP, error->message);
	rs_viewer_window_say(RS_VIEWER_WINDOW(object), text);
}

void rs_viewer_help_show(RsViewerWindow *window)
{
	const char *named = g_getenv("RINGSIDE_VIEWER_HELP");
	g_autofree char *uri = g_filename_to_uri(named ? named : RS_VIEWER_HELP, NULL, NULL);

	if (uri && window)
		gtk_show_uri_full(GTK_WINDOW(window), uri, GDK_CURRENT_TIME, NULL, shown, NULL);
}
