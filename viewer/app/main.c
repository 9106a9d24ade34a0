/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-application.h"

#include <glib/gi18n.h>
#include <locale.h>
#include <rs-trace-region.h>
#include <rs-viewer-paths.h>

int main(int argc, char **argv)
{
	g_autoptr(RsViewerApplication) application = NULL;

	setlocale(LC_ALL, "");
	bindtextdomain(GETTEXT_PACKAGE, RS_LOCALE_DIR);
	bind_textdomain_codeset(GETTEXT_PACKAGE, "UTF-8");
	textdomain(GETTEXT_PACKAGE);
	/*
	 * Who asks for a renderer without OpenGL needs none of it. To load a driver in software
	 * takes half of the time until the window is there, and 60 MB.
	 */
	if (!g_strcmp0(g_getenv("GSK_RENDERER"), "cairo")) {
		if (gtk_get_minor_version() < 16)
			g_setenv("GDK_DEBUG", "gl-disable", FALSE);
		else
			g_setenv("GDK_DISABLE", "gl", FALSE);
	}
	/* A session may cut off memory that it has handed over. */
	rs_trace_region_guard();
	g_set_application_name(_("Ringside Viewer"));
	application = rs_viewer_application_new();
	return g_application_run(G_APPLICATION(application), argc, argv);
}
