/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-rings.h"

#include "app/rs-viewer-events.h"

#include <glib/gi18n.h>

/* As the session names them, in the order of the row's items. */
static const char *const modes[] = {"overwrite", "drop"};

struct _RsViewerRings {
	AdwBin parent;
	RsDBusSession1 *session; /* NULL: none, or it has ended */
	GCancellable *cancellable;
	AdwComboRow *row;
	gboolean asking, again; /* what the mode is; and once more after the answer */
	gboolean setting;       /* a choice of ours is under way */
	gboolean showing;       /* the row follows the session, which is no choice */
};

G_DEFINE_FINAL_TYPE(RsViewerRings, rs_viewer_rings, ADW_TYPE_BIN)

static guint said_signal;

/* ---- what it is ---- */

static guint position_of(GVariant *source)
{
	const char *mode = "";

	g_variant_lookup(source, "ring_mode", "&s", &mode);
	for (guint i = 0; i < G_N_ELEMENTS(modes); i++)
		if (!g_strcmp0(mode, modes[i]))
			return i;
	return GTK_INVALID_LIST_POSITION;
}

/* None of the items, if sources differ or do not say it. */
static guint position_of_all(GVariant *sources)
{
	guint all = GTK_INVALID_LIST_POSITION;

	for (gsize i = 0; i < g_variant_n_children(sources); i++) {
		g_autoptr(GVariant) source = g_variant_get_child_value(sources, i);
		const guint one = position_of(source);

		if (i && one != all)
			return GTK_INVALID_LIST_POSITION;
		all = one;
	}
	return all;
}

static void show(RsViewerRings *rings, guint position)
{
	rings->showing = TRUE;
	adw_combo_row_set_selected(rings->row, position);
	rings->showing = FALSE;
}

static void ask(RsViewerRings *rings);

static void told(GObject *session, GAsyncResult *result, gpointer data)
{
	g_autoptr(GVariant) sources = NULL;
	g_autoptr(GError) error = NULL;
	RsViewerRings *rings = data;

	rs_dbus_session1_call_sources_finish(RS_DBUS_SESSION1(session), &sources, NULL, result,
					     &error);
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		return;
	rings->asking = FALSE;
	/* While a choice is under way, the answer may be older than the choice. */
	if (sources && !rings->setting)
		show(rings, position_of_all(sources));
	if (rings->again)
		ask(rings);
}

static void ask(RsViewerRings *rings)
{
	rings->again = rings->asking;
	if (rings->asking || !rings->session)
		return;
	rings->asking = TRUE;
	rs_dbus_session1_call_sources(rings->session, rs_trace_client_no_options(),
				      rings->cancellable, told, rings);
}

/* ---- a choice ---- */

static void set(GObject *session, GAsyncResult *result, gpointer data)
{
	g_autoptr(GError) error = NULL;
	RsViewerRings *rings = data;

	rs_dbus_session1_call_set_ring_mode_finish(RS_DBUS_SESSION1(session), NULL, result, &error);
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		return;
	rings->setting = FALSE;
	gtk_widget_set_sensitive(GTK_WIDGET(rings->row), rings->session != NULL);
	if (error) {
		g_autofree char *text = rs_viewer_events_explain(error);

		g_signal_emit(rings, said_signal, 0, text, TRUE);
	}
	ask(rings);
}

static void chosen(RsViewerRings *rings)
{
	const guint position = adw_combo_row_get_selected(rings->row);

	if (rings->showing || rings->setting || !rings->session || position >= G_N_ELEMENTS(modes))
		return;
	rings->setting = TRUE;
	gtk_widget_set_sensitive(GTK_WIDGET(rings->row), FALSE);
	rs_dbus_session1_call_set_ring_mode(rings->session, modes[position],
					    rs_trace_client_no_options(), rings->cancellable, set,
					    rings);
}

void rs_viewer_rings_set_session(RsViewerRings *rings, RsDBusSession1 *session)
{
	if (session == rings->session)
		return;
	if (rings->session)
		g_signal_handlers_disconnect_by_data(rings->session, rings);
	g_cancellable_cancel(rings->cancellable);
	g_clear_object(&rings->cancellable);
	rings->cancellable = g_cancellable_new();
	rings->asking = rings->again = rings->setting = FALSE;
	g_set_object(&rings->session, session);
	gtk_widget_set_sensitive(GTK_WIDGET(rings->row), session != NULL);
	if (session)
		g_signal_connect_swapped(session, "changed", G_CALLBACK(ask), rings);
	ask(rings);
}

/* ---- the widget ---- */

static void dispose(GObject *object)
{
	RsViewerRings *rings = RS_VIEWER_RINGS(object);

	g_cancellable_cancel(rings->cancellable);
	g_clear_object(&rings->cancellable);
	if (rings->session)
		g_signal_handlers_disconnect_by_data(rings->session, rings);
	g_clear_object(&rings->session);
	G_OBJECT_CLASS(rs_viewer_rings_parent_class)->dispose(object);
}

static void rs_viewer_rings_class_init(RsViewerRingsClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	said_signal = g_signal_new("said", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL,
				   NULL, NULL, G_TYPE_NONE, 2, G_TYPE_STRING, G_TYPE_BOOLEAN);
}

static void rs_viewer_rings_init(RsViewerRings *rings)
{
	const char *const names[] = {_("Overwrite the oldest"), _("Refuse new events"), NULL};
	g_autoptr(GtkStringList) model = gtk_string_list_new(names);
	GtkWidget *list = gtk_list_box_new();

	rings->cancellable = g_cancellable_new();
	rings->row = ADW_COMBO_ROW(adw_combo_row_new());
	adw_preferences_row_set_title(ADW_PREFERENCES_ROW(rings->row), _("Full rings"));
	adw_combo_row_set_model(rings->row, G_LIST_MODEL(model));
	gtk_widget_set_sensitive(GTK_WIDGET(rings->row), FALSE);
	show(rings, GTK_INVALID_LIST_POSITION);
	g_signal_connect_swapped(rings->row, "notify::selected", G_CALLBACK(chosen), rings);
	gtk_list_box_set_selection_mode(GTK_LIST_BOX(list), GTK_SELECTION_NONE);
	gtk_list_box_append(GTK_LIST_BOX(list), GTK_WIDGET(rings->row));
	gtk_widget_add_css_class(list, "boxed-list");
	adw_bin_set_child(ADW_BIN(rings), list);
}

GtkWidget *rs_viewer_rings_new(void)
{
	return g_object_new(RS_VIEWER_TYPE_RINGS, NULL);
}
