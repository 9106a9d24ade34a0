/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-find-bar.h"

#include "app/rs-viewer-time.h"

#include <glib/gi18n.h>

#define TEXT_MAX 1024 /* characters that are looked for */

struct _RsViewerFindBar {
	GtkWidget parent_instance;
	RsViewerList *list;
	GtkWidget *bar;
	GtkEditable *entry;
	GtkDropDown *kind;
	GtkLabel *status;
	GtkProgressBar *progress;
};

G_DEFINE_FINAL_TYPE(RsViewerFindBar, rs_viewer_find_bar, GTK_TYPE_WIDGET)

/* ---- what it says ---- */

static void show_error(RsViewerFindBar *self, const char *message)
{
	if (message)
		gtk_widget_add_css_class(GTK_WIDGET(self->entry), "error");
	else
		gtk_widget_remove_css_class(GTK_WIDGET(self->entry), "error");
	gtk_widget_set_tooltip_text(GTK_WIDGET(self->entry), message);
	gtk_accessible_update_state(
		GTK_ACCESSIBLE(self->entry), GTK_ACCESSIBLE_STATE_INVALID,
		message ? GTK_ACCESSIBLE_INVALID_TRUE : GTK_ACCESSIBLE_INVALID_FALSE, -1);
}

static char *say_count(guint64 n, gboolean all)
{
	g_autofree char *number = rs_viewer_number(n);

	return g_strdup_printf(all ? ngettext("%s match", "%s matches", (gulong)n)
				   : ngettext("%s match so far", "%s matches so far", (gulong)n),
			       number);
}

static void show_status(RsViewerFindBar *self)
{
	RsViewerFind *find = rs_viewer_list_finder(self->list);
	double share = rs_viewer_find_progress(find);
	g_autofree char *text = NULL;
	gboolean all;
	guint64 n;

	gtk_widget_set_visible(GTK_WIDGET(self->progress), rs_viewer_find_is_busy(find));
	if (share >= 0)
		gtk_progress_bar_set_fraction(self->progress, share);
	else
		gtk_progress_bar_pulse(self->progress);
	if (rs_viewer_find_count(find, &n, &all))
		text = say_count(n, all);
	gtk_label_set_text(self->status, text ? text : "");
}

/* ---- what it does ---- */

void rs_viewer_find_bar_find(RsViewerFindBar *self, gboolean forward)
{
	RsViewerFindKind kind = gtk_drop_down_get_selected(self->kind);
	g_autoptr(GError) error = NULL;

	if (!rs_viewer_list_find(self->list, kind, gtk_editable_get_text(self->entry), forward,
				 &error))
		show_error(self, error->message);
	else
		show_error(self, NULL);
	show_status(self);
}

static void find_next(RsViewerFindBar *self)
{
	rs_viewer_find_bar_find(self, TRUE);
}

static void find_previous(RsViewerFindBar *self)
{
	rs_viewer_find_bar_find(self, FALSE);
}

static void changed(RsViewerFindBar *self)
{
	rs_viewer_find_cancel(rs_viewer_list_finder(self->list));
	show_error(self, NULL);
	gtk_label_set_text(self->status, "");
}

static void mode_changed(RsViewerFindBar *self)
{
	if (gtk_search_bar_get_search_mode(GTK_SEARCH_BAR(self->bar)))
		return;
	rs_viewer_find_cancel(rs_viewer_list_finder(self->list));
	gtk_widget_grab_focus(GTK_WIDGET(self->list));
}

void rs_viewer_find_bar_open(RsViewerFindBar *self)
{
	gtk_search_bar_set_search_mode(GTK_SEARCH_BAR(self->bar), TRUE);
	gtk_widget_grab_focus(GTK_WIDGET(self->entry));
}

/* ---- the widget ---- */

static GtkWidget *make_button(RsViewerFindBar *self, const char *icon, const char *name,
			      GCallback clicked)
{
	GtkWidget *button = gtk_button_new_from_icon_name(icon);

	gtk_widget_set_tooltip_text(button, name);
	gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, name,
				       -1);
	g_signal_connect_swapped(button, "clicked", clicked, self);
	return button;
}

/* The order is that of RsViewerFindKind. */
static GtkWidget *make_kind(RsViewerFindBar *self)
{
	const char *const kinds[] = {_("Text"), _("Event"), _("Filter"), NULL};
	GtkWidget *kind = gtk_drop_down_new_from_strings(kinds);

	gtk_accessible_update_property(GTK_ACCESSIBLE(kind), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("What to look for"), -1);
	g_signal_connect_swapped(kind, "notify::selected", G_CALLBACK(changed), self);
	self->kind = GTK_DROP_DOWN(kind);
	return kind;
}

static GtkWidget *make_entry(RsViewerFindBar *self)
{
	GtkWidget *entry = gtk_search_entry_new();
	GtkText *text = GTK_TEXT(gtk_editable_get_delegate(GTK_EDITABLE(entry)));

	gtk_text_set_max_length(text, TEXT_MAX);
	gtk_editable_set_width_chars(GTK_EDITABLE(entry), 8);
	gtk_editable_set_max_width_chars(GTK_EDITABLE(entry), 50);
	gtk_widget_set_hexpand(entry, TRUE);
	gtk_accessible_update_property(GTK_ACCESSIBLE(entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Find in the events"), -1);
	g_signal_connect_swapped(entry, "activate", G_CALLBACK(find_next), self);
	g_signal_connect_swapped(entry, "next-match", G_CALLBACK(find_next), self);
	g_signal_connect_swapped(entry, "previous-match", G_CALLBACK(find_previous), self);
	g_signal_connect_swapped(entry, "changed", G_CALLBACK(changed), self);
	self->entry = GTK_EDITABLE(entry);
	return entry;
}

static GtkWidget *make_line(RsViewerFindBar *self)
{
	GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
	GtkWidget *steps = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);

	gtk_widget_add_css_class(steps, "linked");
	gtk_box_append(GTK_BOX(steps), make_button(self, "go-up-symbolic", _("Previous match"),
						   G_CALLBACK(find_previous)));
	gtk_box_append(GTK_BOX(steps), make_button(self, "go-down-symbolic", _("Next match"),
						   G_CALLBACK(find_next)));
	self->status = GTK_LABEL(gtk_label_new(NULL));
	gtk_widget_add_css_class(GTK_WIDGET(self->status), "dim-label");
	gtk_label_set_ellipsize(self->status, PANGO_ELLIPSIZE_END);
	gtk_box_append(GTK_BOX(line), make_kind(self));
	gtk_box_append(GTK_BOX(line), make_entry(self));
	gtk_box_append(GTK_BOX(line), steps);
	gtk_box_append(GTK_BOX(line), GTK_WIDGET(self->status));
	return line;
}

GtkWidget *rs_viewer_find_bar_new(RsViewerList *list)
{
	RsViewerFindBar *self = g_object_new(RS_VIEWER_TYPE_FIND_BAR, NULL);

	self->list = g_object_ref(list);
	g_signal_connect_object(rs_viewer_list_finder(list), "changed", G_CALLBACK(show_status),
				self, G_CONNECT_SWAPPED);
	return GTK_WIDGET(self);
}

static void dispose(GObject *object)
{
	RsViewerFindBar *self = RS_VIEWER_FIND_BAR(object);

	g_clear_pointer(&self->bar, gtk_widget_unparent);
	g_clear_object(&self->list);
	G_OBJECT_CLASS(rs_viewer_find_bar_parent_class)->dispose(object);
}

static void rs_viewer_find_bar_class_init(RsViewerFindBarClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(class), GTK_TYPE_BIN_LAYOUT);
	gtk_widget_class_set_accessible_role(GTK_WIDGET_CLASS(class), GTK_ACCESSIBLE_ROLE_SEARCH);
}

static void rs_viewer_find_bar_init(RsViewerFindBar *self)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 3);

	self->bar = gtk_search_bar_new();
	self->progress = GTK_PROGRESS_BAR(gtk_progress_bar_new());
	gtk_widget_add_css_class(GTK_WIDGET(self->progress), "osd");
	gtk_widget_set_visible(GTK_WIDGET(self->progress), FALSE);
	gtk_box_append(GTK_BOX(box), make_line(self));
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(self->progress));
	gtk_search_bar_set_child(GTK_SEARCH_BAR(self->bar), box);
	gtk_search_bar_set_show_close_button(GTK_SEARCH_BAR(self->bar), TRUE);
	gtk_search_bar_connect_entry(GTK_SEARCH_BAR(self->bar), self->entry);
	gtk_widget_set_parent(self->bar, GTK_WIDGET(self));
	g_signal_connect_swapped(self->bar, "notify::search-mode-enabled", G_CALLBACK(mode_changed),
				 self);
}
