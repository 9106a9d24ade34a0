/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-session-stat.h"
#include "app/rs-viewer-time.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>

#define ASK_S 1

enum { ROW_RINGS, ROW_LOST, ROW_EVENTS, ROW_SITES, ROW_PAUSES, ROW_CLOCK, ROW_KIND, ROWS };

struct _RsViewerSessionStat {
	AdwBin parent;
	RsDBusSession1 *session;
	GCancellable *cancellable;
	AdwExpanderRow *expander;
	GtkLabel *values[ROWS];
	gboolean asking;
	guint timer;
};

G_DEFINE_FINAL_TYPE(RsViewerSessionStat, rs_viewer_session_stat, ADW_TYPE_BIN)

/* ---- figures ---- */

static guint64 number(GVariant *dict, const char *name)
{
	guint64 value = 0;

	g_variant_lookup(dict, name, "t", &value);
	return value;
}

static const char *text(GVariant *dict, const char *name)
{
	const char *value = "";

	g_variant_lookup(dict, name, "&s", &value);
	return value;
}

static guint64 sum(GVariant *cpus, const char *name)
{
	guint64 all = 0;

	for (gsize i = 0; i < g_variant_n_children(cpus); i++) {
		g_autoptr(GVariant) cpu = g_variant_get_child_value(cpus, i);

		all += number(cpu, name);
	}
	return all;
}

/* Takes `value`. */
static void show(RsViewerSessionStat *stat, guint row, char *value)
{
	g_autofree char *owned G_GNUC_UNUSED = value, *safe = rs_trace_escape(value, -1, NULL);

	gtk_label_set_text(stat->values[row], safe);
}

static void show_lost(RsViewerSessionStat *stat, GVariant *totals, GVariant *cpus)
{
	g_autofree char *overwritten = rs_viewer_number(sum(cpus, "overrun"));
	g_autofree char *dropped = rs_viewer_number(sum(cpus, "dropped"));
	g_autofree char *other =
		rs_viewer_number(number(totals, "lost_nested") + number(totals, "lost_no_ring"));

	show(stat, ROW_LOST,
	     g_strdup_printf(_("%s overwritten, %s refused, %s without room"), overwritten, dropped,
			     other));
}

/* Of rings of one source: those of several may differ. */
static void show_rings(RsViewerSessionStat *stat, GVariant *totals, GVariant *cpus)
{
	const gsize n = g_variant_n_children(cpus);
	g_autofree char *size =
		g_format_size_full(number(totals, "ring_bytes"), G_FORMAT_SIZE_IEC_UNITS);
	const char *mode = text(totals, "ring_mode");

	if (!*mode)
		show(stat, ROW_RINGS, g_strdup_printf("%zu", n));
	else if (!g_strcmp0(mode, "drop"))
		show(stat, ROW_RINGS, g_strdup_printf(_("%zu × %s, refuse when full"), n, size));
	else
		show(stat, ROW_RINGS,
		     g_strdup_printf(_("%zu × %s, overwrite the oldest"), n, size));
}

static void show_clock(RsViewerSessionStat *stat, GVariant *totals)
{
	guint64 error;

	if (!number(totals, "clock_hz"))
		show(stat, ROW_CLOCK, g_strdup("–"));
	else if (g_variant_lookup(totals, "clock_error_ns", "t", &error))
		show(stat, ROW_CLOCK,
		     g_strdup_printf(_("%.1f MHz, right to %.1f µs"),
				     (double)number(totals, "clock_hz") / 1e6,
				     (double)error / 1e3));
	else
		show(stat, ROW_CLOCK,
		     g_strdup_printf(_("%.1f MHz, its error is not known"),
				     (double)number(totals, "clock_hz") / 1e6));
}

static void show_all(RsViewerSessionStat *stat, GVariant *totals, GVariant *cpus)
{
	g_autofree char *enabled = rs_viewer_number(number(totals, "events_enabled"));
	g_autofree char *events = rs_viewer_number(number(totals, "events"));
	g_autofree char *patched = rs_viewer_number(number(totals, "sites_patched"));
	g_autofree char *sites = rs_viewer_number(number(totals, "sites"));
	g_autofree char *refused = rs_viewer_number(number(totals, "sites_refused"));

	show_rings(stat, totals, cpus);
	show_lost(stat, totals, cpus);
	show_clock(stat, totals);
	show(stat, ROW_EVENTS, g_strdup_printf(_("%s of %s on"), enabled, events));
	show(stat, ROW_SITES,
	     g_strdup_printf(_("%s of %s patched, %s refused"), patched, sites, refused));
	show(stat, ROW_PAUSES,
	     g_strdup_printf(_("longest %.1f µs, together %.1f µs"),
			     (double)number(totals, "pause_max_ns") / 1e3,
			     (double)number(totals, "pause_total_ns") / 1e3));
	show(stat, ROW_KIND,
	     *text(totals, "kind") ? g_strdup_printf(_("%s, text written by %s"),
						     text(totals, "kind"), text(totals, "text"))
				   : g_strdup(_("several sources")));
}

/* ---- asking ---- */

static void answered(GObject *session, GAsyncResult *result, gpointer data)
{
	g_autoptr(GVariant) totals = NULL, cpus = NULL;
	g_autoptr(GError) error = NULL;
	RsViewerSessionStat *stat = data;

	rs_dbus_session1_call_stat_finish(RS_DBUS_SESSION1(session), &totals, &cpus, result,
					  &error);
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		return;
	stat->asking = FALSE;
	if (totals)
		show_all(stat, totals, cpus);
}

/* While there is one source, its own figures say more than those of the session. */
static void ask_stat(RsViewerSessionStat *stat, guint32 source)
{
	rs_dbus_session1_call_stat(stat->session, rs_trace_client_source(source), stat->cancellable,
				   answered, stat);
}

static void told_sources(GObject *session, GAsyncResult *result, gpointer data)
{
	g_autoptr(GVariant) sources = NULL;
	g_autoptr(GError) error = NULL;
	RsViewerSessionStat *stat = data;
	guint32 only = 0;

	rs_dbus_session1_call_sources_finish(RS_DBUS_SESSION1(session), &sources, NULL, result,
					     &error);
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		return;
	if (!sources) {
		stat->asking = FALSE;
		return;
	}
	if (g_variant_n_children(sources) == 1) {
		g_autoptr(GVariant) source = g_variant_get_child_value(sources, 0);

		g_variant_lookup(source, "number", "u", &only);
	}
	ask_stat(stat, only);
}

static gboolean ask(gpointer data)
{
	RsViewerSessionStat *stat = data;

	if (!stat->session || stat->asking || !adw_expander_row_get_expanded(stat->expander))
		return G_SOURCE_CONTINUE;
	stat->asking = TRUE;
	rs_dbus_session1_call_sources(stat->session, rs_trace_client_no_options(),
				      stat->cancellable, told_sources, stat);
	return G_SOURCE_CONTINUE;
}

static void expanded(RsViewerSessionStat *stat)
{
	ask(stat);
}

void rs_viewer_session_stat_set_session(RsViewerSessionStat *stat, RsDBusSession1 *session)
{
	if (session == stat->session)
		return;
	g_cancellable_cancel(stat->cancellable);
	g_clear_object(&stat->cancellable);
	g_set_object(&stat->session, session);
	stat->asking = FALSE;
	stat->cancellable = g_cancellable_new();
	ask(stat);
}

/* ---- the widget ---- */

static void map(GtkWidget *widget)
{
	RsViewerSessionStat *stat = RS_VIEWER_SESSION_STAT(widget);

	GTK_WIDGET_CLASS(rs_viewer_session_stat_parent_class)->map(widget);
	if (!stat->timer)
		stat->timer = g_timeout_add_seconds(ASK_S, ask, stat);
	ask(stat);
}

static void unmap(GtkWidget *widget)
{
	g_clear_handle_id(&RS_VIEWER_SESSION_STAT(widget)->timer, g_source_remove);
	GTK_WIDGET_CLASS(rs_viewer_session_stat_parent_class)->unmap(widget);
}

static void dispose(GObject *object)
{
	RsViewerSessionStat *stat = RS_VIEWER_SESSION_STAT(object);

	g_clear_handle_id(&stat->timer, g_source_remove);
	g_cancellable_cancel(stat->cancellable);
	g_clear_object(&stat->cancellable);
	g_clear_object(&stat->session);
	G_OBJECT_CLASS(rs_viewer_session_stat_parent_class)->dispose(object);
}

static void rs_viewer_session_stat_class_init(RsViewerSessionStatClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	GTK_WIDGET_CLASS(class)->map = map;
	GTK_WIDGET_CLASS(class)->unmap = unmap;
}

static void add_row(RsViewerSessionStat *stat, guint row, const char *title)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0), *item = gtk_list_box_row_new();
	GtkWidget *name = gtk_label_new(title);

	stat->values[row] = GTK_LABEL(gtk_label_new("–"));
	gtk_label_set_xalign(GTK_LABEL(name), 0);
	gtk_label_set_xalign(stat->values[row], 0);
	gtk_label_set_wrap(stat->values[row], TRUE);
	gtk_label_set_selectable(stat->values[row], TRUE);
	gtk_widget_add_css_class(name, "caption");
	gtk_widget_add_css_class(name, "dim-label");
	gtk_widget_add_css_class(GTK_WIDGET(stat->values[row]), "numeric");
	gtk_box_append(GTK_BOX(box), name);
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(stat->values[row]));
	gtk_widget_set_margin_start(box, 12);
	gtk_widget_set_margin_end(box, 12);
	gtk_widget_set_margin_top(box, 6);
	gtk_widget_set_margin_bottom(box, 6);
	gtk_list_box_row_set_child(GTK_LIST_BOX_ROW(item), box);
	gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(item), FALSE);
	gtk_accessible_update_relation(GTK_ACCESSIBLE(stat->values[row]),
				       GTK_ACCESSIBLE_RELATION_LABELLED_BY, name, NULL, -1);
	adw_expander_row_add_row(stat->expander, item);
}

static void rs_viewer_session_stat_init(RsViewerSessionStat *stat)
{
	GtkWidget *list = gtk_list_box_new();

	stat->cancellable = g_cancellable_new();
	stat->expander = ADW_EXPANDER_ROW(adw_expander_row_new());
	adw_preferences_row_set_title(ADW_PREFERENCES_ROW(stat->expander), _("Figures"));
	add_row(stat, ROW_RINGS, _("Rings"));
	add_row(stat, ROW_LOST, _("Lost events"));
	add_row(stat, ROW_EVENTS, _("Events"));
	add_row(stat, ROW_SITES, _("Sites"));
	add_row(stat, ROW_PAUSES, _("Pauses of the guest for patching"));
	add_row(stat, ROW_CLOCK, _("Clock"));
	add_row(stat, ROW_KIND, _("Guest"));
	g_signal_connect_swapped(stat->expander, "notify::expanded", G_CALLBACK(expanded), stat);
	gtk_list_box_set_selection_mode(GTK_LIST_BOX(list), GTK_SELECTION_NONE);
	gtk_list_box_append(GTK_LIST_BOX(list), GTK_WIDGET(stat->expander));
	gtk_widget_add_css_class(list, "boxed-list");
	adw_bin_set_child(ADW_BIN(stat), list);
}

GtkWidget *rs_viewer_session_stat_new(void)
{
	return g_object_new(RS_VIEWER_TYPE_SESSION_STAT, NULL);
}
