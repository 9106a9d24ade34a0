/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-preferences.h"

#include "app/rs-viewer-settings.h"

#include <glib/gi18n.h>

struct choice {
	const char *value, *title;
};

static const struct choice schemes[] = {
	{RS_VIEWER_SCHEME_SYSTEM, N_("As the system")},
	{RS_VIEWER_SCHEME_LIGHT, N_("Light")},
	{RS_VIEWER_SCHEME_DARK, N_("Dark")},
};

static const struct choice times[] = {
	{RS_VIEWER_FORMAT_SECONDS, N_("Seconds since the trace began")},
	{RS_VIEWER_FORMAT_WALL, N_("Time of day")},
};

/* ---- a row with a few values ---- */

struct row {
	const char *property;
	const struct choice *choices;
	guint n;
};

static gboolean number_of(GBinding *binding, const GValue *from, GValue *to, gpointer data)
{
	const struct row *row = data;

	for (guint i = 0; i < row->n; i++)
		if (g_strcmp0(g_value_get_string(from), row->choices[i].value) == 0)
			g_value_set_uint(to, i);
	return TRUE;
}

static gboolean value_of(GBinding *binding, const GValue *from, GValue *to, gpointer data)
{
	const struct row *row = data;
	guint i = g_value_get_uint(from);

	if (i >= row->n)
		return FALSE;
	g_value_set_string(to, row->choices[i].value);
	return TRUE;
}

static void add_row(AdwPreferencesGroup *group, const char *title, const struct row *row)
{
	g_autoptr(GtkStringList) names = gtk_string_list_new(NULL);
	GtkWidget *combo = adw_combo_row_new();

	for (guint i = 0; i < row->n; i++)
		gtk_string_list_append(names, _(row->choices[i].title));
	adw_preferences_row_set_title(ADW_PREFERENCES_ROW(combo), title);
	adw_combo_row_set_model(ADW_COMBO_ROW(combo), G_LIST_MODEL(names));
	g_object_bind_property_full(rs_viewer_settings_get(), row->property, combo, "selected",
				    G_BINDING_BIDIRECTIONAL | G_BINDING_SYNC_CREATE, number_of,
				    value_of, (gpointer)row, NULL);
	adw_preferences_group_add(group, combo);
}

GtkWindow *rs_viewer_preferences_new(GtkWindow *parent)
{
	static const struct row scheme = {"color-scheme", schemes, G_N_ELEMENTS(schemes)};
	static const struct row time = {"time-format", times, G_N_ELEMENTS(times)};
	GtkWidget *window = adw_preferences_window_new();
	AdwPreferencesPage *page = ADW_PREFERENCES_PAGE(adw_preferences_page_new());
	AdwPreferencesGroup *group = ADW_PREFERENCES_GROUP(adw_preferences_group_new());

	adw_preferences_group_set_title(group, _("Appearance"));
	add_row(group, _("Colors"), &scheme);
	add_row(group, _("Times"), &time);
	adw_preferences_page_set_title(page, _("General"));
	adw_preferences_page_add(page, group);
	adw_preferences_window_add(ADW_PREFERENCES_WINDOW(window), page);
	adw_preferences_window_set_search_enabled(ADW_PREFERENCES_WINDOW(window), FALSE);
	gtk_window_set_transient_for(GTK_WINDOW(window), parent);
	gtk_window_set_modal(GTK_WINDOW(window), TRUE);
	gtk_window_set_default_size(GTK_WINDOW(window), 600, 360);
	return GTK_WINDOW(window);
}

/* ---- light and dark ---- */

static void set_scheme(RsViewerSettings *settings)
{
	const char *scheme = rs_viewer_settings_text(settings, "color-scheme");
	AdwColorScheme wanted = ADW_COLOR_SCHEME_DEFAULT;

	if (g_strcmp0(scheme, RS_VIEWER_SCHEME_LIGHT) == 0)
		wanted = ADW_COLOR_SCHEME_FORCE_LIGHT;
	else if (g_strcmp0(scheme, RS_VIEWER_SCHEME_DARK) == 0)
		wanted = ADW_COLOR_SCHEME_FORCE_DARK;
	adw_style_manager_set_color_scheme(adw_style_manager_get_default(), wanted);
}

void rs_viewer_preferences_follow_scheme(void)
{
	RsViewerSettings *settings = rs_viewer_settings_get();

	g_signal_connect(settings, "notify::color-scheme", G_CALLBACK(set_scheme), NULL);
	set_scheme(settings);
}
