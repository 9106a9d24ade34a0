/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-application.h"

#include "app/rs-viewer-accels.h"
#include "app/rs-viewer-command.h"
#include "app/rs-viewer-domains.h"
#include "app/rs-viewer-help.h"
#include "app/rs-viewer-preferences.h"
#include "app/rs-viewer-window.h"

#include <glib/gi18n.h>

struct _RsViewerApplication {
	AdwApplication parent;
	gboolean is_parsed; /* the options were, without a mistake */
};

G_DEFINE_FINAL_TYPE(RsViewerApplication, rs_viewer_application, ADW_TYPE_APPLICATION)

/* ---- windows ---- */

/* The window that was used last; NULL: there is none. */
static RsViewerWindow *last_window(GApplication *application)
{
	GList *list = gtk_application_get_windows(GTK_APPLICATION(application));

	for (; list; list = list->next)
		if (RS_VIEWER_IS_WINDOW(list->data))
			return list->data;
	return NULL;
}

static RsViewerWindow *take_window(GApplication *application, gboolean anew)
{
	RsViewerWindow *window = anew ? NULL : last_window(application);

	return window ? window : rs_viewer_window_new(GTK_APPLICATION(application));
}

static void activate(GApplication *application)
{
	gtk_window_present(GTK_WINDOW(take_window(application, FALSE)));
}

static int command_line(GApplication *application, GApplicationCommandLine *line)
{
	g_auto(RsViewerCommand) command = {0};
	RsViewerWindow *window;

	if (!rs_viewer_command_read(line, &command)) {
		g_application_command_line_printerr(line, "%s\n",
						    _("ringside-viewer: only files of this "
						      "computer can be opened"));
		return RS_VIEWER_EXIT_FAILED;
	}
	window = take_window(application, command.new_window);
	if (command.session)
		rs_viewer_window_open_session(window, command.session);
	else if (command.compare)
		rs_viewer_window_compare(window, (const char *[]){command.paths[0], NULL},
					 (const char *[]){command.paths[1], NULL});
	else if (command.tabs)
		for (char **path = command.paths; *path; path++)
			rs_viewer_window_open(window, (const char *[]){*path, NULL});
	else if (command.paths[0])
		rs_viewer_window_open(window, (const char *const *)command.paths);
	gtk_window_present(GTK_WINDOW(window));
	return 0;
}

/* ---- actions ---- */

static void new_window(GSimpleAction *action, GVariant *parameter, gpointer application)
{
	gtk_window_present(GTK_WINDOW(take_window(application, TRUE)));
}

static void show_preferences(GSimpleAction *action, GVariant *parameter, gpointer application)
{
	gtk_window_present(rs_viewer_preferences_new(GTK_WINDOW(last_window(application))));
}

static void show_shortcuts(GSimpleAction *action, GVariant *parameter, gpointer application)
{
	GtkWindow *window = rs_viewer_accels_window_new();

	gtk_window_set_transient_for(window, GTK_WINDOW(last_window(application)));
	gtk_window_present(window);
}

static void show_help(GSimpleAction *action, GVariant *parameter, gpointer application)
{
	rs_viewer_help_show(last_window(application));
}

static void show_about(GSimpleAction *action, GVariant *parameter, gpointer application)
{
	adw_show_about_window(GTK_WINDOW(last_window(application)), "application-name",
			      _("Ringside Viewer"), "application-icon", RS_VIEWER_ID, "version",
			      RS_VERSION, "developer-name", _("Ringside developers"),
			      "license-type", GTK_LICENSE_MIT_X11, "comments",
			      _("Shows what happened in a virtual machine, and when."), NULL);
}

/* A dialog that is open does not keep the others from closing. */
static void quit(GSimpleAction *action, GVariant *parameter, gpointer application)
{
	RsViewerWindow *window;

	while ((window = last_window(application))) {
		gtk_window_close(GTK_WINDOW(window));
		if (last_window(application) == window)
			gtk_window_destroy(GTK_WINDOW(window));
	}
	g_application_quit(application);
}

static void startup(GApplication *application)
{
	static const GActionEntry actions[] = {
		{.name = "new-window", .activate = new_window},
		{.name = "preferences", .activate = show_preferences},
		{.name = "shortcuts", .activate = show_shortcuts},
		{.name = "help", .activate = show_help},
		{.name = "about", .activate = show_about},
		{.name = "quit", .activate = quit},
	};

	G_APPLICATION_CLASS(rs_viewer_application_parent_class)->startup(application);
	g_action_map_add_action_entries(G_ACTION_MAP(application), actions, G_N_ELEMENTS(actions),
					application);
	rs_viewer_accels_install(GTK_APPLICATION(application));
	rs_viewer_preferences_follow_scheme();
	gtk_window_set_default_icon_name(RS_VIEWER_ID);
}

static void shut_down(GApplication *application)
{
	rs_viewer_domains_detach_all();
	G_APPLICATION_CLASS(rs_viewer_application_parent_class)->shutdown(application);
}

/* ---- options ---- */

static int check_options(GApplication *application, GVariantDict *options)
{
	RS_VIEWER_APPLICATION(application)->is_parsed = TRUE;
	return rs_viewer_command_check(application, options);
}

/* GApplication has one code for all that fails. */
static gboolean local_command_line(GApplication *application, char ***args, int *status)
{
	GApplicationClass *parent = G_APPLICATION_CLASS(rs_viewer_application_parent_class);
	gboolean is_done = parent->local_command_line(application, args, status);

	if (is_done && *status && !RS_VIEWER_APPLICATION(application)->is_parsed)
		*status = RS_VIEWER_EXIT_USAGE;
	return is_done;
}

/* ---- the object ---- */

static void rs_viewer_application_class_init(RsViewerApplicationClass *class)
{
	GApplicationClass *application_class = G_APPLICATION_CLASS(class);

	application_class->startup = startup;
	application_class->shutdown = shut_down;
	application_class->activate = activate;
	application_class->command_line = command_line;
	application_class->local_command_line = local_command_line;
	application_class->handle_local_options = check_options;
}

static void rs_viewer_application_init(RsViewerApplication *application)
{
	rs_viewer_command_describe(G_APPLICATION(application));
}

RsViewerApplication *rs_viewer_application_new(void)
{
	return g_object_new(RS_VIEWER_TYPE_APPLICATION, "application-id", RS_VIEWER_ID, "flags",
			    G_APPLICATION_HANDLES_COMMAND_LINE, "resource-base-path",
			    "/org/ringside/Viewer", NULL);
}
