/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-section.h"

#include <glib/gi18n.h>

struct _RsViewerSection {
	GtkWidget parent_instance;
	GtkWidget *box, *expander, *copy, *content;
	GtkGrid *grid; /* of the rows so far; NULL: none yet */
	int n_rows;
	char *text; /* to be copied */
};

G_DEFINE_FINAL_TYPE(RsViewerSection, rs_viewer_section, GTK_TYPE_WIDGET)

static GtkWidget *make_label(const char *text, gboolean selectable)
{
	GtkWidget *label = gtk_label_new(text);

	gtk_label_set_xalign(GTK_LABEL(label), 0);
	gtk_label_set_wrap(GTK_LABEL(label), TRUE);
	gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
	gtk_label_set_selectable(GTK_LABEL(label), selectable);
	gtk_widget_set_valign(label, GTK_ALIGN_START);
	return label;
}

static GtkWidget *make_value(const char *value, const char *note)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	GtkWidget *label = make_label(value, TRUE);

	gtk_box_append(GTK_BOX(box), label);
	if (note) {
		label = make_label(note, FALSE);
		gtk_widget_add_css_class(label, "caption");
		gtk_widget_add_css_class(label, "dim-label");
		gtk_box_append(GTK_BOX(box), label);
	}
	gtk_widget_set_hexpand(box, TRUE);
	return box;
}

static void show_copy(RsViewerSection *self)
{
	gtk_widget_set_visible(
		self->copy, self->text && gtk_expander_get_expanded(GTK_EXPANDER(self->expander)));
}

void rs_viewer_section_clear(RsViewerSection *self)
{
	GtkWidget *child;

	while ((child = gtk_widget_get_first_child(self->content)))
		gtk_box_remove(GTK_BOX(self->content), child);
	self->grid = NULL;
	self->n_rows = 0;
	g_clear_pointer(&self->text, g_free);
	show_copy(self);
	gtk_widget_set_visible(GTK_WIDGET(self), FALSE);
}

void rs_viewer_section_set_copy(RsViewerSection *self, char *text)
{
	g_free(self->text);
	self->text = text;
	show_copy(self);
}

void rs_viewer_section_add(RsViewerSection *self, const char *name, const char *value,
			   const char *note, GtkWidget *suffix)
{
	GtkWidget *label = make_label(name, FALSE), *box = make_value(value, note);

	if (!self->grid) {
		self->grid = GTK_GRID(gtk_grid_new());
		gtk_grid_set_column_spacing(self->grid, 12);
		gtk_grid_set_row_spacing(self->grid, 6);
		gtk_box_append(GTK_BOX(self->content), GTK_WIDGET(self->grid));
	}
	gtk_widget_add_css_class(label, "dim-label");
	gtk_label_set_width_chars(GTK_LABEL(label), 10);
	gtk_label_set_max_width_chars(GTK_LABEL(label), 20);
	gtk_accessible_update_relation(GTK_ACCESSIBLE(gtk_widget_get_first_child(box)),
				       GTK_ACCESSIBLE_RELATION_LABELLED_BY, label, NULL, -1);
	gtk_grid_attach(self->grid, label, 0, self->n_rows, 1, 1);
	gtk_grid_attach(self->grid, box, 1, self->n_rows, 1, 1);
	if (suffix) {
		gtk_widget_set_valign(suffix, GTK_ALIGN_START);
		gtk_grid_attach(self->grid, suffix, 2, self->n_rows, 1, 1);
	}
	self->n_rows++;
	gtk_widget_set_visible(GTK_WIDGET(self), TRUE);
}

void rs_viewer_section_add_block(RsViewerSection *self, const char *text)
{
	GtkWidget *scrolled = gtk_scrolled_window_new();
	GtkWidget *view = gtk_text_view_new();

	gtk_text_view_set_editable(GTK_TEXT_VIEW(view), FALSE);
	gtk_text_view_set_monospace(GTK_TEXT_VIEW(view), TRUE);
	gtk_text_view_set_accepts_tab(GTK_TEXT_VIEW(view), FALSE);
	gtk_text_view_set_left_margin(GTK_TEXT_VIEW(view), 6);
	gtk_text_view_set_right_margin(GTK_TEXT_VIEW(view), 6);
	gtk_text_view_set_top_margin(GTK_TEXT_VIEW(view), 6);
	gtk_text_view_set_bottom_margin(GTK_TEXT_VIEW(view), 6);
	gtk_text_buffer_set_text(gtk_text_view_get_buffer(GTK_TEXT_VIEW(view)), text, -1);
	gtk_accessible_update_property(GTK_ACCESSIBLE(view), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       gtk_expander_get_label(GTK_EXPANDER(self->expander)), -1);
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_AUTOMATIC,
				       GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_propagate_natural_height(GTK_SCROLLED_WINDOW(scrolled), TRUE);
	gtk_scrolled_window_set_max_content_height(GTK_SCROLLED_WINDOW(scrolled), 320);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), view);
	gtk_widget_add_css_class(scrolled, "card");
	gtk_widget_set_overflow(scrolled, GTK_OVERFLOW_HIDDEN);
	gtk_box_append(GTK_BOX(self->content), scrolled);
	gtk_widget_set_visible(GTK_WIDGET(self), TRUE);
}

static void copy(RsViewerSection *self)
{
	if (self->text)
		gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(self)), self->text);
}

RsViewerSection *rs_viewer_section_new(const char *title, gboolean expanded)
{
	RsViewerSection *self = g_object_new(RS_VIEWER_TYPE_SECTION, NULL);
	g_autofree char *copy_name = g_strdup_printf(_("Copy “%s”"), title);

	GtkWidget *label = gtk_label_new(title);

	gtk_widget_add_css_class(label, "heading");
	gtk_widget_set_margin_top(label, 6); /* as high as the button at its end */
	gtk_widget_set_margin_bottom(label, 6);
	gtk_expander_set_label_widget(GTK_EXPANDER(self->expander), label);
	gtk_accessible_update_property(GTK_ACCESSIBLE(self->expander),
				       GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
	gtk_expander_set_expanded(GTK_EXPANDER(self->expander), expanded);
	gtk_widget_set_tooltip_text(self->copy, copy_name);
	gtk_accessible_update_property(GTK_ACCESSIBLE(self->copy), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       copy_name, -1);
	return self;
}

static void dispose(GObject *object)
{
	RsViewerSection *self = RS_VIEWER_SECTION(object);

	g_clear_pointer(&self->box, gtk_widget_unparent);
	g_clear_pointer(&self->text, g_free);
	G_OBJECT_CLASS(rs_viewer_section_parent_class)->dispose(object);
}

static void rs_viewer_section_class_init(RsViewerSectionClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(class), GTK_TYPE_BIN_LAYOUT);
	gtk_widget_class_set_accessible_role(GTK_WIDGET_CLASS(class), GTK_ACCESSIBLE_ROLE_GROUP);
}

static void rs_viewer_section_init(RsViewerSection *self)
{
	GtkWidget *overlay = gtk_overlay_new();

	self->box = overlay;
	self->content = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
	gtk_widget_set_margin_start(self->content, 6);
	self->expander = gtk_expander_new(NULL);
	gtk_expander_set_child(GTK_EXPANDER(self->expander), self->content);
	self->copy = gtk_button_new_from_icon_name("edit-copy-symbolic");
	gtk_widget_add_css_class(self->copy, "flat");
	gtk_widget_set_halign(self->copy, GTK_ALIGN_END);
	gtk_widget_set_valign(self->copy, GTK_ALIGN_START);
	gtk_overlay_set_child(GTK_OVERLAY(overlay), self->expander);
	gtk_overlay_add_overlay(GTK_OVERLAY(overlay), self->copy);
	gtk_widget_set_parent(overlay, GTK_WIDGET(self));
	g_signal_connect_swapped(self->copy, "clicked", G_CALLBACK(copy), self);
	g_signal_connect_swapped(self->expander, "notify::expanded", G_CALLBACK(show_copy), self);
	rs_viewer_section_clear(self);
}
