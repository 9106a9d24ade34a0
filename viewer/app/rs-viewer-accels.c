/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-accels.h"

#include <glib/gi18n.h>

struct accel {
	const char *section, *group; /* NULL: those of the row before */
	const char *title;
	const char *action; /* NULL: a widget takes the keys by itself */
	const char *keys[4];
};

static const struct accel table[] = {
	{N_("General"), N_("General"), N_("New window"), "app.new-window", {"<Control>n"}},
	{NULL, NULL, N_("Open files"), "win.open", {"<Control>o"}},
	{NULL, NULL, N_("Close the tab, or the window"), "win.close-tab", {"<Control>w"}},
	{NULL, NULL, N_("Main menu"), "win.menu", {"F10"}},
	{NULL, NULL, N_("Full screen"), "win.fullscreen", {"F11"}},
	{NULL, NULL, N_("Preferences"), "app.preferences", {"<Control>comma"}},
	{NULL,
	 NULL,
	 N_("Keyboard shortcuts"),
	 "app.shortcuts",
	 {"<Control>question", "<Control>F1"}},
	{NULL, NULL, N_("Help"), "app.help", {"F1"}},
	{NULL, NULL, N_("Quit"), "app.quit", {"<Control>q"}},
	{NULL, N_("Tabs"), N_("Start page"), "win.start", {"<Control>t"}},
	{NULL, NULL, N_("Next tab"), NULL, {"<Control>Page_Down", "<Control>Tab"}},
	{NULL, NULL, N_("Previous tab"), NULL, {"<Control>Page_Up", "<Control><Shift>Tab"}},
	{NULL, NULL, N_("Go to tab 1 … 9"), NULL, {"<Alt>1...9"}},
	{N_("Trace"), N_("Trace"), N_("Filter"), "page.filter", {"<Control>l"}},
	{NULL, NULL, N_("Find"), "page.find", {"<Control>f"}},
	{NULL, NULL, N_("Find the next match"), "page.find-next", {"F3", "<Control>g"}},
	{NULL,
	 NULL,
	 N_("Find the previous match"),
	 "page.find-previous",
	 {"<Shift>F3", "<Control><Shift>g"}},
	{NULL, NULL, N_("Timeline"), "page.timeline", {"<Control>1"}},
	{NULL, NULL, N_("List of events"), "page.list", {"<Control>2"}},
	{NULL, NULL, N_("Show or hide the side pane"), "page.side", {"F9"}},
	{NULL, NULL, N_("Follow the end of a running session"), "page.follow", {"<Control>e"}},
	{NULL, NULL, N_("Save the view"), "page.save-view", {"<Control>s"}},
	{NULL, NULL, N_("Open a view"), "page.open-view", {"<Control><Shift>o"}},
	{NULL, NULL, N_("Export"), "page.export", {"<Control><Shift>e"}},
	{NULL, NULL, N_("Compare with another trace"), "win.compare", {"<Control><Shift>d"}},
	{N_("Timeline"), N_("Timeline"), N_("Closer"), NULL, {"plus", "w"}},
	{NULL, NULL, N_("Farther"), NULL, {"minus", "s"}},
	{NULL, NULL, N_("The whole trace"), NULL, {"0"}},
	{NULL, NULL, N_("Between the markers"), NULL, {"z"}},
	{NULL, NULL, N_("Earlier"), NULL, {"Left", "a"}},
	{NULL, NULL, N_("Later"), NULL, {"Right", "d"}},
	{NULL, NULL, N_("Beginning and end"), NULL, {"Home", "End"}},
	{NULL, NULL, N_("Previous and next event of the lane"), NULL, {"comma", "period"}},
	{NULL, NULL, N_("Set markers A and B"), NULL, {"m", "n"}},
	{NULL, NULL, N_("Remove the markers"), NULL, {"Escape"}},
	{NULL, N_("Lanes"), N_("Previous and next lane"), NULL, {"Up", "Down"}},
	{NULL, NULL, N_("A page up and down"), NULL, {"Page_Up", "Page_Down"}},
	{NULL, NULL, N_("Find a lane"), NULL, {"slash"}},
	{NULL, NULL, N_("Pin"), NULL, {"p"}},
	{NULL, NULL, N_("Fold and unfold"), NULL, {"Return"}},
	{NULL, NULL, N_("Move up and down"), NULL, {"<Alt>Up", "<Alt>Down"}},
	{NULL, NULL, N_("Lower and higher"), NULL, {"<Shift>Up", "<Shift>Down"}},
	{NULL, NULL, N_("Remove"), NULL, {"Delete"}},
	{NULL, NULL, N_("Menu"), NULL, {"<Shift>F10"}},
	{N_("List of Events"),
	 N_("List of Events"),
	 N_("Previous and next event"),
	 NULL,
	 {"Up", "Down"}},
	{NULL, NULL, N_("Select several"), NULL, {"<Shift>Up", "<Shift>Down"}},
	{NULL, NULL, N_("A page up and down"), NULL, {"Page_Up", "Page_Down"}},
	{NULL, NULL, N_("First and last event"), NULL, {"Home", "End"}},
	{NULL, NULL, N_("Show in the timeline"), NULL, {"Return"}},
	{NULL, NULL, N_("Copy as text"), NULL, {"<Control>c"}},
	{NULL, NULL, N_("Copy as JSON"), NULL, {"<Control><Shift>c"}},
	{NULL, NULL, N_("Menu"), NULL, {"<Shift>F10"}},
};

void rs_viewer_accels_install(GtkApplication *application)
{
	for (gsize i = 0; i < G_N_ELEMENTS(table); i++)
		if (table[i].action)
			gtk_application_set_accels_for_action(application, table[i].action,
							      table[i].keys);
}

void rs_viewer_accels_set_tooltip(GtkWidget *widget, const char *text, const char *action)
{
	g_autofree char *keys = NULL, *tip = NULL;
	GdkModifierType modifiers;
	guint key;

	for (gsize i = 0; i < G_N_ELEMENTS(table) && !keys; i++)
		if (!g_strcmp0(table[i].action, action) &&
		    gtk_accelerator_parse(table[i].keys[0], &key, &modifiers))
			keys = gtk_accelerator_get_label(key, modifiers);
	/* Translators: what a button does, and the key for it */
	tip = keys ? g_strdup_printf(_("%s (%s)"), text, keys) : g_strdup(text);
	gtk_widget_set_tooltip_text(widget, tip);
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

static void append_row(GString *xml, gsize i)
{
	g_autofree char *keys = g_strjoinv(" ", (char **)table[i].keys);
	const gboolean is_last = i + 1 == G_N_ELEMENTS(table);

	/* Not so high that a section needs pages, of which GTK 4.8 warns. */
	if (table[i].section)
		append(xml,
		       "<child><object class='GtkShortcutsSection'>"
		       "<property name='section-name'>s%u</property>"
		       "<property name='title'>%s</property>"
		       "<property name='max-height'>14</property>",
		       (guint)i, _(table[i].section));
	if (table[i].group)
		append(xml,
		       "<child><object class='GtkShortcutsGroup'>"
		       "<property name='title'>%s</property>",
		       _(table[i].group));
	append(xml,
	       "<child><object class='GtkShortcutsShortcut'><property name='title'>%s"
	       "</property><property name='accelerator'>%s</property></object></child>",
	       _(table[i].title), keys);
	if (is_last || table[i + 1].group)
		g_string_append(xml, "</object></child>");
	if (is_last || table[i + 1].section)
		g_string_append(xml, "</object></child>");
}

/* GTK 4.8 has no other way to fill such a window than by a description. */
GtkWindow *rs_viewer_accels_window_new(void)
{
	g_autoptr(GString) xml =
		g_string_new("<interface><object class='GtkShortcutsWindow' id='shortcuts'>"
			     "<property name='modal'>1</property>");
	g_autoptr(GtkBuilder) builder = NULL;
	GtkWindow *window;

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++)
		append_row(xml, i);
	g_string_append(xml, "</object></interface>");
	builder = gtk_builder_new_from_string(xml->str, (gssize)xml->len);
	window = GTK_WINDOW(gtk_builder_get_object(builder, "shortcuts"));
	gtk_window_set_title(window, _("Keyboard Shortcuts"));
	return window;
}
