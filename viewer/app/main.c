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
	/* A session may cut off memory that it has handed over. */
	rs_trace_region_guard();
	g_set_application_name(_("Ringside Viewer"));
	application = rs_viewer_application_new();
	return g_application_run(G_APPLICATION(application), argc, argv);
}
