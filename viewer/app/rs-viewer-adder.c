/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-adder.h"
#include "rs-trace-escape.h"

#include <glib/gi18n.h>
#include <string.h>

typedef struct {
	RsViewerTimeline *timeline;
	GtkWidget *popover, *kind, *entry, *error;
} Adder;

static const struct {
	RsViewerLaneKind kind;
	const char *name, *hint;
} kinds[] = {
	{RS_VIEWER_LANE_EVENTS, N_("Events"), "sched:switch"},
	{RS_VIEWER_LANE_COUNTER, N_("Counter"), "sched:switch.next_prio"},
	{RS_VIEWER_LANE_PAIR, N_("Begin and end"), "syscall:enter..syscall:exit"},
};

static guint chosen(const Adder *adder)
{
	return MIN(gtk_drop_down_get_selected(GTK_DROP_DOWN(adder->kind)), G_N_ELEMENTS(kinds) - 1);
}

static void on_kind(Adder *adder)
{
	gtk_entry_set_placeholder_text(GTK_ENTRY(adder->entry), kinds[chosen(adder)].hint);
}

static void on_text(Adder *adder)
{
	gtk_widget_set_visible(adder->error, FALSE);
	gtk_widget_remove_css_class(adder->entry, "error");
}

static void on_show(Adder *adder)
{
	gtk_widget_grab_focus(adder->entry);
}

static void on_add(Adder *adder)
{
	const char *text = gtk_editable_get_text(GTK_EDITABLE(adder->entry));
	g_autoptr(GError) error = NULL;
	g_autofree char *message = NULL;

	if (!*text)
		return;
	if (rs_viewer_timeline_add(adder->timeline, kinds[chosen(adder)].kind, text, &error)) {
		gtk_editable_set_text(GTK_EDITABLE(adder->entry), "");
		gtk_popover_popdown(GTK_POPOVER(adder->popover));
		rs_viewer_timeline_focus(adder->timeline);
		return;
	}
	message = rs_trace_escape(error->message, -1, "\n");
	gtk_label_set_text(GTK_LABEL(adder->error), message);
	gtk_widget_set_visible(adder->error, TRUE);
	gtk_widget_add_css_class(adder->entry, "error");
}

static GtkWidget *error_new(void)
{
	GtkWidget *error = gtk_label_new(NULL);

	gtk_widget_set_visible(error, FALSE);
	gtk_widget_add_css_class(error, "error");
	gtk_widget_add_css_class(error, "monospace");
	gtk_label_set_wrap(GTK_LABEL(error), TRUE);
	gtk_label_set_xalign(GTK_LABEL(error), 0);
	gtk_label_set_max_width_chars(GTK_LABEL(error), 50);
	return error;
}

static GtkWidget *form_new(Adder *adder)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8);
	GtkWidget *add = gtk_button_new_with_label(_("Add Lane"));
	const char *names[G_N_ELEMENTS(kinds) + 1] = {NULL};

	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		names[i] = _(kinds[i].name);
	adder->kind = gtk_drop_down_new_from_strings(names);
	adder->entry = gtk_entry_new();
	adder->error = error_new();
	gtk_editable_set_width_chars(GTK_EDITABLE(adder->entry), 30);
	gtk_accessible_update_property(GTK_ACCESSIBLE(adder->kind), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("What the lane shows"), -1);
	gtk_accessible_update_property(GTK_ACCESSIBLE(adder->entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Of which events"), -1);
	gtk_widget_add_css_class(add, "suggested-action");
	g_signal_connect_swapped(adder->kind, "notify::selected", G_CALLBACK(on_kind), adder);
	g_signal_connect_swapped(adder->entry, "changed", G_CALLBACK(on_text), adder);
	g_signal_connect_swapped(adder->entry, "activate", G_CALLBACK(on_add), adder);
	g_signal_connect_swapped(add, "clicked", G_CALLBACK(on_add), adder);
	gtk_box_append(GTK_BOX(box), adder->kind);
	gtk_box_append(GTK_BOX(box), adder->entry);
	gtk_box_append(GTK_BOX(box), adder->error);
	gtk_box_append(GTK_BOX(box), add);
	on_kind(adder);
	return box;
}

GtkWidget *rs_viewer_adder_new(RsViewerTimeline *timeline)
{
	Adder *adder = g_new0(Adder, 1);
	GtkWidget *button = gtk_menu_button_new();

	adder->timeline = timeline;
	adder->popover = gtk_popover_new();
	g_signal_connect_swapped(adder->popover, "show", G_CALLBACK(on_show), adder);
	gtk_popover_set_child(GTK_POPOVER(adder->popover), form_new(adder));
	gtk_menu_button_set_icon_name(GTK_MENU_BUTTON(button), "list-add-symbolic");
	gtk_menu_button_set_popover(GTK_MENU_BUTTON(button), adder->popover);
	gtk_widget_set_tooltip_text(button, _("Add a Lane"));
	gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Add a Lane"), -1);
	g_object_set_data_full(G_OBJECT(button), "adder", adder, g_free);
	return button;
}
