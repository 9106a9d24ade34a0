/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-remarks.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>
#include <string.h>

#define HEIGHT 120    /* pixels, beyond which one scrolls */
#define TEXT_MAX 4096 /* bytes of one that are shown */

struct _RsViewerRemarks {
	AdwBin parent;
	GtkInfoBar *bar;
	GtkBox *lines;
	GStrv shown; /* as the document has them */
};

G_DEFINE_FINAL_TYPE(RsViewerRemarks, rs_viewer_remarks, ADW_TYPE_BIN)

static void add_line(RsViewerRemarks *remarks, const char *text)
{
	g_autoptr(GString) escaped = g_string_new(NULL);
	const gsize size = strlen(text);
	GtkWidget *label;

	rs_trace_append_escaped(escaped, text, MIN(size, TEXT_MAX), NULL);
	if (size > TEXT_MAX)
		g_string_append(escaped, "…");
	label = gtk_label_new(escaped->str);
	gtk_label_set_xalign(GTK_LABEL(label), 0);
	gtk_label_set_wrap(GTK_LABEL(label), TRUE);
	gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
	gtk_label_set_selectable(GTK_LABEL(label), TRUE);
	/* A bar that comes takes the focus from nobody. */
	gtk_widget_set_focusable(label, FALSE);
	gtk_box_append(remarks->lines, label);
}

static void show(RsViewerRemarks *remarks, RsTraceDocument *document)
{
	const char *const *texts = rs_trace_document_remarks(document);
	GtkWidget *child;

	if (g_strv_equal(texts, (const char *const *)remarks->shown))
		return;
	g_strfreev(remarks->shown);
	remarks->shown = g_strdupv((char **)texts);
	while ((child = gtk_widget_get_first_child(GTK_WIDGET(remarks->lines))))
		gtk_box_remove(remarks->lines, child);
	for (const char *const *text = texts; *text; text++)
		add_line(remarks, *text);
	gtk_widget_set_visible(GTK_WIDGET(remarks), *texts != NULL);
	gtk_info_bar_set_revealed(remarks->bar, *texts != NULL);
}

static void on_changed(RsViewerRemarks *remarks, RsTraceDocument *document)
{
	show(remarks, document);
}

static void on_response(RsViewerRemarks *remarks)
{
	gtk_info_bar_set_revealed(remarks->bar, FALSE);
	gtk_widget_set_visible(GTK_WIDGET(remarks), FALSE);
}

GtkWidget *rs_viewer_remarks_new(RsTraceDocument *document)
{
	RsViewerRemarks *remarks = g_object_new(RS_VIEWER_TYPE_REMARKS, NULL);

	g_signal_connect_object(document, "changed", G_CALLBACK(on_changed), remarks,
				G_CONNECT_SWAPPED);
	show(remarks, document);
	return GTK_WIDGET(remarks);
}

static void finalize(GObject *object)
{
	g_strfreev(RS_VIEWER_REMARKS(object)->shown);
	G_OBJECT_CLASS(rs_viewer_remarks_parent_class)->finalize(object);
}

static void rs_viewer_remarks_class_init(RsViewerRemarksClass *class)
{
	G_OBJECT_CLASS(class)->finalize = finalize;
	gtk_widget_class_set_accessible_role(GTK_WIDGET_CLASS(class), GTK_ACCESSIBLE_ROLE_ALERT);
}

static void rs_viewer_remarks_init(RsViewerRemarks *remarks)
{
	GtkWidget *icon = gtk_image_new_from_icon_name("dialog-warning-symbolic");
	GtkWidget *scrolled = gtk_scrolled_window_new();

	remarks->shown = g_new0(char *, 1);
	remarks->lines = GTK_BOX(gtk_box_new(GTK_ORIENTATION_VERTICAL, 3));
	gtk_widget_set_valign(GTK_WIDGET(remarks->lines), GTK_ALIGN_CENTER);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), GTK_WIDGET(remarks->lines));
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER,
				       GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_propagate_natural_height(GTK_SCROLLED_WINDOW(scrolled), TRUE);
	gtk_scrolled_window_set_max_content_height(GTK_SCROLLED_WINDOW(scrolled), HEIGHT);
	gtk_widget_set_hexpand(scrolled, TRUE);
	remarks->bar = GTK_INFO_BAR(gtk_info_bar_new());
	gtk_info_bar_set_message_type(remarks->bar, GTK_MESSAGE_WARNING);
	gtk_info_bar_set_revealed(remarks->bar, FALSE);
	gtk_widget_set_margin_start(icon, 6);
	gtk_info_bar_add_child(remarks->bar, icon);
	gtk_info_bar_add_child(remarks->bar, scrolled);
	gtk_info_bar_add_button(remarks->bar, _("Dismiss"), GTK_RESPONSE_CLOSE);
	g_signal_connect_swapped(remarks->bar, "response", G_CALLBACK(on_response), remarks);
	adw_bin_set_child(ADW_BIN(remarks), GTK_WIDGET(remarks->bar));
	gtk_widget_set_visible(GTK_WIDGET(remarks), FALSE);
	gtk_accessible_update_property(GTK_ACCESSIBLE(remarks), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Remarks"), -1);
}
