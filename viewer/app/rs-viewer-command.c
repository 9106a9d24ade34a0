/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-command.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <gtk/gtk.h>
#include <rs-trace-escape.h>
#include <rs-trace-rundir.h>

#include <unistd.h>

static const GOptionEntry entries[] = {
	{"session", 's', 0, G_OPTION_ARG_STRING, NULL, N_("Follow this running session"),
	 N_("NAME")},
	{"compare", 0, 0, G_OPTION_ARG_NONE, NULL, N_("Show two files side by side"), NULL},
	{"tabs", 0, 0, G_OPTION_ARG_NONE, NULL, N_("Open each file in a tab of its own"), NULL},
	{"new-window", 0, 0, G_OPTION_ARG_NONE, NULL, N_("Open a window of its own"), NULL},
	{"version", 'V', 0, G_OPTION_ARG_NONE, NULL, N_("Print the version"), NULL},
	{G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, NULL, NULL, N_("[FILE…]")},
	{0}};

void rs_viewer_command_describe(GApplication *application)
{
	g_application_add_main_option_entries(application, entries);
	g_application_set_option_context_summary(
		application, _("Shows traces of Ringside. Several files are shown on one clock."));
}

void rs_viewer_command_clear(RsViewerCommand *command)
{
	g_clear_pointer(&command->session, g_free);
	g_clear_pointer(&command->paths, g_strfreev);
}

static int fail(int code, const char *format, ...) G_GNUC_PRINTF(2, 3);

static int fail(int code, const char *format, ...)
{
	g_autofree char *text = NULL, *plain = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	plain = rs_trace_escape(text, -1, NULL);
	g_printerr("ringside-viewer: %s\n", plain);
	return code;
}

static int check_files(const char *const *paths)
{
	for (; paths && *paths; paths++) {
		g_autoptr(GFile) file = g_file_new_for_commandline_arg(*paths);
		g_autofree char *path = g_file_get_path(file);

		if (path && g_access(path, R_OK) != 0)
			return fail(errno == ENOENT ? RS_VIEWER_EXIT_NOT_FOUND
						    : RS_VIEWER_EXIT_FAILED,
				    "%s: %s", *paths, g_strerror(errno));
	}
	return -1;
}

static int check_session(const char *name)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_find(name, &error);

	if (!entry)
		return fail(RS_VIEWER_EXIT_NOT_FOUND, "%s", error->message);
	if (!entry->live)
		return fail(RS_VIEWER_EXIT_NOT_FOUND, _("session '%s' has died"), name);
	return -1;
}

int rs_viewer_command_check(GApplication *application, GVariantDict *options)
{
	g_autofree const char **paths = NULL;
	const char *session = NULL;
	guint n;
	int code;

	if (g_variant_dict_contains(options, "version")) {
		g_print("ringside-viewer %s\n", RS_VERSION);
		return 0;
	}
	g_variant_dict_lookup(options, G_OPTION_REMAINING, "^a&ay", &paths);
	n = paths ? g_strv_length((char **)paths) : 0;
	if (g_variant_dict_contains(options, "compare") && n != 2)
		return fail(RS_VIEWER_EXIT_USAGE, _("--compare is for two files"));
	g_variant_dict_lookup(options, "session", "&s", &session);
	if (session && n)
		return fail(RS_VIEWER_EXIT_USAGE, _("either --session or files"));
	code = session ? check_session(session) : check_files(paths);
	if (code >= 0)
		return code;
	/* GTK would end the program with a warning. */
	if (!gtk_init_check())
		return fail(RS_VIEWER_EXIT_FAILED,
			    _("there is no display (DISPLAY or WAYLAND_DISPLAY names one)"));
	return -1;
}

gboolean rs_viewer_command_read(GApplicationCommandLine *line, RsViewerCommand *out)
{
	GVariantDict *options = g_application_command_line_get_options_dict(line);
	g_autofree const char **given = NULL;
	g_autoptr(GStrvBuilder) paths = g_strv_builder_new();

	g_variant_dict_lookup(options, "session", "s", &out->session);
	out->compare = g_variant_dict_contains(options, "compare");
	out->tabs = g_variant_dict_contains(options, "tabs");
	out->new_window = g_variant_dict_contains(options, "new-window");
	g_variant_dict_lookup(options, G_OPTION_REMAINING, "^a&ay", &given);
	for (const char **arg = given; arg && *arg; arg++) {
		g_autoptr(GFile) file = g_application_command_line_create_file_for_arg(line, *arg);
		g_autofree char *path = g_file_get_path(file);

		if (!path) {
			out->paths = g_strv_builder_end(paths);
			return FALSE;
		}
		g_strv_builder_add(paths, path);
	}
	out->paths = g_strv_builder_end(paths);
	return !out->compare || g_strv_length(out->paths) == 2;
}
