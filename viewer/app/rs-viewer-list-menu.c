/* SPDX-License-Identifier: MIT */
/* Actions of the event list, and the menus that have them. */
#include <glib/gi18n.h>

#include "app/rs-viewer-copy.h"
#include "app/rs-viewer-list-private.h"

void rs_viewer_list_notice(RsViewerList *self, const char *text)
{
	g_signal_emit_by_name(self, "notice", text);
}

/* ---- copying ---- */

typedef struct {
	RsViewerList *list; /* a reference */
	guint64 wanted;
} Copying;

static void copied(GObject *document, GAsyncResult *result, gpointer data)
{
	Copying *copying = data;
	RsViewerList *self = copying->list;
	g_autoptr(GError) error = NULL;
	guint n = 0;
	g_autofree char *text = rs_viewer_copy_finish(result, &n, &error);
	g_autofree char *notice = NULL;

	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
		/* another copy, or the list is gone */
	} else if (error) {
		notice = g_strdup_printf(_("The events could not be read: %s"), error->message);
		rs_viewer_list_notice(self, notice);
	} else {
		gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(self)), text);
		notice = g_strdup_printf(
			n < copying->wanted
				? g_dngettext(NULL, "Only the first event could be copied",
					      "Only the first %'u events could be copied", n)
				: g_dngettext(NULL, "%'u event copied", "%'u events copied", n),
			n);
		rs_viewer_list_notice(self, notice);
	}
	g_object_unref(self);
	g_free(copying);
}

static void copy(RsViewerList *self, RsViewerCopyKind kind)
{
	Copying *copying;
	guint64 first, n;

	if (!rs_viewer_list_selection(self, &first, &n))
		return;
	g_cancellable_cancel(self->copying);
	g_clear_object(&self->copying);
	self->copying = g_cancellable_new();
	copying = g_new(Copying, 1);
	*copying = (Copying){g_object_ref(self), n};
	rs_viewer_copy_async(rs_viewer_view_document(self->view),
			     rs_viewer_rows_timeline(self->rows), first, n, kind, self->copying,
			     copied, copying);
}

static void copy_text(GtkWidget *widget, const char *name, GVariant *parameter)
{
	copy(RS_VIEWER_LIST(widget), RS_VIEWER_COPY_TEXT);
}

static void copy_json(GtkWidget *widget, const char *name, GVariant *parameter)
{
	copy(RS_VIEWER_LIST(widget), RS_VIEWER_COPY_JSON);
}

/* ---- the current row ---- */

/* Cleared by the caller. FALSE: there is none. */
static gboolean current_line(RsViewerList *self, RsViewerLine *line)
{
	return self->current != RS_VIEWER_ROW_NONE &&
	       rs_viewer_rows_peek(self->rows, self->current, line);
}

static void set_marker(RsViewerList *self, RsViewerMarker which)
{
	guint64 ns;

	if (self->current != RS_VIEWER_ROW_NONE &&
	    rs_viewer_rows_ns(self->rows, self->current, &ns))
		rs_viewer_view_set_marker(self->view, which, ns);
}

static void marker_a(GtkWidget *widget, const char *name, GVariant *parameter)
{
	set_marker(RS_VIEWER_LIST(widget), RS_VIEWER_MARKER_A);
}

static void marker_b(GtkWidget *widget, const char *name, GVariant *parameter)
{
	set_marker(RS_VIEWER_LIST(widget), RS_VIEWER_MARKER_B);
}

static void zoom(GtkWidget *widget, const char *name, GVariant *parameter)
{
	rs_viewer_list_zoom(RS_VIEWER_LIST(widget));
}

static void ask_filter(RsViewerList *self, const char *glob, const char *expression)
{
	g_signal_emit_by_name(self, "filter-asked", glob, expression);
}

static void filter_event(GtkWidget *widget, const char *name, GVariant *parameter)
{
	RsViewerList *self = RS_VIEWER_LIST(widget);
	RsViewerLine line;

	if (!current_line(self, &line))
		return;
	if (line.row.class >= RS_TRACE_CLASS_EVENTS)
		ask_filter(self, line.event, NULL);
	rs_viewer_line_clear(&line);
}

/* The number is asked of the record: what the timeline has may be a task that is not known yet. */
static void filter_task(GtkWidget *widget, const char *name, GVariant *parameter)
{
	RsViewerList *self = RS_VIEWER_LIST(widget);
	g_autofree char *expression = NULL;
	RsViewerLine line;

	if (!current_line(self, &line))
		return;
	if (line.read)
		expression = g_strdup_printf("PID == %u", line.read->pid);
	rs_viewer_line_clear(&line);
	if (expression)
		ask_filter(self, NULL, expression);
}

static void filter_cpu(GtkWidget *widget, const char *name, GVariant *parameter)
{
	RsViewerList *self = RS_VIEWER_LIST(widget);
	g_autofree char *expression = NULL;
	RsViewerLine line;

	if (!current_line(self, &line))
		return;
	expression = g_strdup_printf("CPU == %u", line.cpu);
	rs_viewer_line_clear(&line);
	ask_filter(self, NULL, expression);
}

void rs_viewer_list_update_actions(RsViewerList *self)
{
	static const char *const names[] = {"copy",        "copy-json", "zoom",
					    "marker-a",    "marker-b",  "filter-event",
					    "filter-task", "filter-cpu"};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *name = g_strconcat("event-list.", names[i], NULL);

		gtk_widget_action_set_enabled(GTK_WIDGET(self), name,
					      self->current != RS_VIEWER_ROW_NONE);
	}
}

void rs_viewer_list_class_init_actions(GtkWidgetClass *class)
{
	static const struct {
		const char *name;
		GtkWidgetActionActivateFunc activate;
	} actions[] = {
		{"event-list.copy", copy_text},
		{"event-list.copy-json", copy_json},
		{"event-list.zoom", zoom},
		{"event-list.marker-a", marker_a},
		{"event-list.marker-b", marker_b},
		{"event-list.filter-event", filter_event},
		{"event-list.filter-task", filter_task},
		{"event-list.filter-cpu", filter_cpu},
	};

	for (guint i = 0; i < G_N_ELEMENTS(actions); i++)
		gtk_widget_class_install_action(class, actions[i].name, NULL, actions[i].activate);
	gtk_widget_class_add_binding_action(class, GDK_KEY_c, GDK_CONTROL_MASK, "event-list.copy",
					    NULL);
	gtk_widget_class_add_binding_action(class, GDK_KEY_c, GDK_CONTROL_MASK | GDK_SHIFT_MASK,
					    "event-list.copy-json", NULL);
}

/* ---- columns ---- */

static void toggle_column(GSimpleAction *action, GVariant *state, RsViewerList *self)
{
	RsViewerColumn *column = g_object_get_data(G_OBJECT(action), "column");
	gboolean shown = g_variant_get_boolean(state);

	g_simple_action_set_state(action, state);
	column->shown = shown;
	if (!shown && column->kind == RS_VIEWER_COLUMN_FIELD)
		rs_viewer_columns_remove(self->look.columns, column);
	rs_viewer_list_restyle(self);
}

/* The last column that is shown stays: without one there would be no head to choose from. */
static gboolean may_hide(RsViewerList *self, const RsViewerColumn *column)
{
	guint shown = 0;

	for (guint i = 0; i < self->look.columns->columns->len; i++)
		shown += rs_viewer_list_look_has(&self->look,
						 g_ptr_array_index(self->look.columns->columns, i));
	return !column->shown || shown > 1;
}

static void add_column(RsViewerList *self, RsViewerColumn *column, GActionMap *actions, GMenu *menu)
{
	g_autofree char *id = rs_viewer_column_id(column);
	g_autofree char *name = g_strconcat("columns.", id, NULL);
	g_autoptr(GSimpleAction) action =
		g_simple_action_new_stateful(id, NULL, g_variant_new_boolean(column->shown));

	g_object_set_data(G_OBJECT(action), "column", column);
	g_simple_action_set_enabled(action, may_hide(self, column));
	g_signal_connect_object(action, "change-state", G_CALLBACK(toggle_column), self, 0);
	g_action_map_add_action(actions, G_ACTION(action));
	g_menu_append(menu, rs_viewer_column_title(column), name);
}

/* Made anew each time it is opened, since there may be other columns. */
static GMenu *columns_menu(RsViewerList *self)
{
	g_autoptr(GSimpleActionGroup) actions = g_simple_action_group_new();
	GMenu *menu = g_menu_new();

	for (guint i = 0; i < self->look.columns->columns->len; i++) {
		RsViewerColumn *column = g_ptr_array_index(self->look.columns->columns, i);

		if (column->kind != RS_VIEWER_COLUMN_SOURCE || self->look.with_source)
			add_column(self, column, G_ACTION_MAP(actions), menu);
	}
	gtk_widget_insert_action_group(GTK_WIDGET(self), "columns", G_ACTION_GROUP(actions));
	return menu;
}

static void field_entered(GtkEntry *entry, RsViewerList *self)
{
	g_autofree char *name = g_strstrip(g_strdup(gtk_editable_get_text(GTK_EDITABLE(entry))));

	if (*name && !rs_viewer_list_add_field(self, name)) {
		gtk_widget_add_css_class(GTK_WIDGET(entry), "error");
		return;
	}
	if (self->menu)
		gtk_popover_popdown(GTK_POPOVER(self->menu));
}

/* An entry in the menu, for the name of a field. */
static GtkWidget *field_entry(RsViewerList *self)
{
	GtkWidget *entry = gtk_entry_new();

	gtk_entry_set_placeholder_text(GTK_ENTRY(entry), _("Add a field…"));
	gtk_widget_set_tooltip_text(entry, _("A column with the values of the field of this name"));
	gtk_accessible_update_property(GTK_ACCESSIBLE(entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Name of a field to add as a column"), -1);
	g_signal_connect_object(entry, "activate", G_CALLBACK(field_entered), self, 0);
	return entry;
}

/* ---- menus ---- */

static void popup(RsViewerList *self, GMenu *menu, GdkRectangle at)
{
	g_clear_pointer(&self->menu, gtk_widget_unparent);
	self->menu = gtk_popover_menu_new_from_model(G_MENU_MODEL(menu));
	gtk_popover_set_has_arrow(GTK_POPOVER(self->menu), FALSE);
	gtk_widget_set_halign(self->menu, GTK_ALIGN_START);
	gtk_widget_set_parent(self->menu, GTK_WIDGET(self));
	gtk_popover_set_pointing_to(GTK_POPOVER(self->menu), &at);
}

static void append_custom(GMenu *menu, const char *id)
{
	g_autoptr(GMenuItem) item = g_menu_item_new(NULL, NULL);

	g_menu_item_set_attribute(item, "custom", "s", id);
	g_menu_append_item(menu, item);
}

void rs_viewer_list_open_columns(RsViewerList *self, GtkWidget *button)
{
	g_autoptr(GMenu) menu = g_menu_new(), own = g_menu_new();
	g_autoptr(GMenu) columns = columns_menu(self);
	graphene_rect_t bounds;

	if (!gtk_widget_compute_bounds(button, GTK_WIDGET(self), &bounds))
		return;
	append_custom(own, "field");
	g_menu_append_section(menu, _("Columns"), G_MENU_MODEL(columns));
	g_menu_append_section(menu, NULL, G_MENU_MODEL(own));
	popup(self, menu,
	      (GdkRectangle){(int)bounds.origin.x, (int)bounds.origin.y, (int)bounds.size.width,
			     (int)bounds.size.height});
	gtk_popover_menu_add_child(GTK_POPOVER_MENU(self->menu), field_entry(self), "field");
	gtk_popover_popup(GTK_POPOVER(self->menu));
}

/* Sections of it, each with rows of label and action. */
static GMenu *row_menu(RsViewerList *self)
{
	static const struct {
		guint section;
		const char *label, *action;
	} items[] = {
		{0, N_("_Copy"), "event-list.copy"},
		{0, N_("Copy as _JSON"), "event-list.copy-json"},
		{1, N_("Only This _Event"), "event-list.filter-event"},
		{1, N_("Only This _Task"), "event-list.filter-task"},
		{1, N_("Only This C_PU"), "event-list.filter-cpu"},
		{2, N_("Set Marker _A"), "event-list.marker-a"},
		{2, N_("Set Marker _B"), "event-list.marker-b"},
		{2, N_("_Zoom Timeline"), "event-list.zoom"},
	};
	GMenu *menu = g_menu_new();

	for (guint i = 0; i < G_N_ELEMENTS(items);) {
		g_autoptr(GMenu) section = g_menu_new();
		guint number = items[i].section;

		for (; i < G_N_ELEMENTS(items) && items[i].section == number; i++)
			g_menu_append(section, _(items[i].label), items[i].action);
		g_menu_append_section(menu, NULL, G_MENU_MODEL(section));
	}
	return menu;
}

void rs_viewer_list_open_menu(RsViewerList *self, double x, double y)
{
	g_autoptr(GMenu) menu = row_menu(self);
	g_autoptr(GMenu) columns = columns_menu(self);

	g_menu_append_submenu(menu, _("C_olumns"), G_MENU_MODEL(columns));
	popup(self, menu, (GdkRectangle){(int)x, (int)y, 1, 1});
	gtk_popover_popup(GTK_POPOVER(self->menu));
}
