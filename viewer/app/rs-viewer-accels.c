/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-accels.h"

#include <glib/gi18n.h>

struct accel {
	const char *group, *title; /* for people; the group is that of the row before if NULL */
	const char *action;        /* NULL: a widget takes the keys by itself */
	const char *keys[4];
};

static const struct accel table[] = {
	{N_("General"), N_("New window"), "app.new-window", {"<Control>n"}},
	{NULL, N_("Open files"), "win.open", {"<Control>o"}},
	{NULL, N_("Close the tab, or the window"), "win.close-tab", {"<Control>w"}},
	{NULL, N_("Main menu"), "win.menu", {"F10"}},
	{NULL, N_("Full screen"), "win.fullscreen", {"F11"}},
	{NULL, N_("Preferences"), "app.preferences", {"<Control>comma"}},
	{NULL, N_("Keyboard shortcuts"), "app.shortcuts", {"<Control>question", "<Control>F1"}},
	{NULL, N_("Help"), "app.help", {"F1"}},
	{NULL, N_("Quit"), "app.quit", {"<Control>q"}},
	{N_("Tabs"), N_("Start page"), "win.start", {"<Control>t"}},
	{NULL, N_("Next tab"), NULL, {"<Control>Page_Down", "<Control>Tab"}},
	{NULL, N_("Previous tab"), NULL, {"<Control>Page_Up", "<Control><Shift>Tab"}},
	{NULL, N_("Go to tab 1 … 9"), NULL, {"<Alt>1...9"}},
	{N_("Events"), N_("Find"), "page.find", {"<Control>f"}},
	{NULL, N_("Find the next match"), "page.find-next", {"F3", "<Control>g"}},
	{NULL,
	 N_("Find the previous match"),
	 "page.find-previous",
	 {"<Shift>F3", "<Control><Shift>g"}},
	{NULL, N_("Show the selection in the timeline"), NULL, {"Return"}},
	{NULL, N_("Copy as text"), NULL, {"<Control>c"}},
	{NULL, N_("Copy as JSON"), NULL, {"<Control><Shift>c"}},
};

void rs_viewer_accels_install(GtkApplication *application)
{
	for (gsize i = 0; i < G_N_ELEMENTS(table); i++)
		if (table[i].action)
			gtk_application_set_accels_for_action(application, table[i].action,
							      table[i].keys);
}

static void append(GString *xml, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void append(GString *xml, const char *format, ...)
{
	va_list args;
	g_autofree char *text = NULL;

	va_start(args, format);
	text = g_markup_vprintf_escaped(format, args);
	va_end(args);
	g_string_append(xml, text);
}

/* GTK 4.8 has no other way to fill such a window than by a description. */
GtkWindow *rs_viewer_accels_window_new(void)
{
	g_autoptr(GString) xml =
		g_string_new("<interface><object class='GtkShortcutsWindow' id='shortcuts'>"
			     "<property name='modal'>1</property>"
			     "<child><object class='GtkShortcutsSection'>"
			     "<property name='section-name'>all</property><property "
			     "name='max-height'>12</property>");
	g_autoptr(GtkBuilder) builder = NULL;
	GtkWindow *window;

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autofree char *keys = g_strjoinv(" ", (char **)table[i].keys);

		if (table[i].group)
			append(xml,
			       "<child><object class='GtkShortcutsGroup'>"
			       "<property name='title'>%s</property>",
			       _(table[i].group));
		append(xml,
		       "<child><object class='GtkShortcutsShortcut'><property name='title'>%s"
		       "</property><property name='accelerator'>%s</property></object></child>",
		       _(table[i].title), keys);
		if (i + 1 == G_N_ELEMENTS(table) || table[i + 1].group)
			g_string_append(xml, "</object></child>");
	}
	g_string_append(xml, "</object></child></object></interface>");
	builder = gtk_builder_new_from_string(xml->str, (gssize)xml->len);
	window = g_object_ref(GTK_WINDOW(gtk_builder_get_object(builder, "shortcuts")));
	gtk_window_set_title(window, _("Keyboard Shortcuts"));
	return window;
}
