/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-list-header.h"

#include <glib/gi18n.h>

#define GRIP 5      /* pixels on each side of an edge at which it can be taken */
#define KEY_STEP 16 /* pixels by which a key makes a column wider */

struct _RsViewerListHeader {
	GtkWidget parent_instance;
	RsViewerListLook *look;
	GPtrArray *buttons; /* of each column that is shown; the widget owns them */
	RsViewerColumn *dragged;
	int width_before;
};

G_DEFINE_FINAL_TYPE(RsViewerListHeader, rs_viewer_list_header, GTK_TYPE_WIDGET)

enum { RESIZED, MENU, N_SIGNALS };
static guint signals[N_SIGNALS];

static RsViewerColumn *column_of(GtkWidget *button)
{
	return g_object_get_data(G_OBJECT(button), "column");
}

static gboolean is_left_to_right(RsViewerListHeader *self)
{
	return gtk_widget_get_direction(GTK_WIDGET(self)) != GTK_TEXT_DIR_RTL;
}

/* ---- buttons ---- */

static void clicked(GtkWidget *button, RsViewerListHeader *self)
{
	g_signal_emit(self, signals[MENU], 0, button);
}

static GtkWidget *make_button(RsViewerListHeader *self, RsViewerColumn *column)
{
	GtkWidget *button = gtk_button_new();
	GtkWidget *label = gtk_label_new(rs_viewer_column_title(column));

	gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
	gtk_label_set_xalign(GTK_LABEL(label), rs_viewer_column_is_number(column) ? 1 : 0);
	gtk_button_set_child(GTK_BUTTON(button), label);
	gtk_widget_set_focus_on_click(button, FALSE);
	gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       rs_viewer_column_title(column),
				       GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
				       _("Chooses the columns of the list"), -1);
	g_object_set_data(G_OBJECT(button), "column", column);
	g_signal_connect(button, "clicked", G_CALLBACK(clicked), self);
	gtk_widget_set_parent(button, GTK_WIDGET(self));
	return button;
}

void rs_viewer_list_header_update(RsViewerListHeader *self)
{
	GPtrArray *columns = self->look->columns->columns;

	self->dragged = NULL;
	g_ptr_array_set_size(self->buttons, 0);
	for (guint i = 0; i < columns->len; i++)
		if (rs_viewer_list_look_has(self->look, g_ptr_array_index(columns, i)))
			g_ptr_array_add(self->buttons,
					make_button(self, g_ptr_array_index(columns, i)));
	gtk_widget_queue_resize(GTK_WIDGET(self));
}

/* ---- widths ---- */

static void resize(RsViewerListHeader *self, RsViewerColumn *column, int width)
{
	guint before = column->width;

	rs_viewer_column_set_width(column, width);
	if (column->width == before)
		return;
	gtk_widget_queue_allocate(GTK_WIDGET(self));
	g_signal_emit(self, signals[RESIZED], 0);
}

/* The column whose far edge is there; NULL: none. */
static RsViewerColumn *edge_at(RsViewerListHeader *self, double x)
{
	int edge = 0;

	if (!is_left_to_right(self))
		x = self->look->width - x;
	for (guint i = 0; i < self->buttons->len; i++) {
		RsViewerColumn *column = column_of(g_ptr_array_index(self->buttons, i));

		edge += rs_viewer_list_look_width(self->look, column);
		if (x >= edge - GRIP && x <= edge + GRIP)
			return column;
	}
	return NULL;
}

static void drag_begin(GtkGestureDrag *drag, double x, double y, RsViewerListHeader *self)
{
	self->dragged = edge_at(self, x);
	if (!self->dragged) {
		gtk_gesture_set_state(GTK_GESTURE(drag), GTK_EVENT_SEQUENCE_DENIED);
		return;
	}
	self->width_before = (int)self->dragged->width;
	gtk_gesture_set_state(GTK_GESTURE(drag), GTK_EVENT_SEQUENCE_CLAIMED);
}

static void drag_update(GtkGestureDrag *drag, double x, double y, RsViewerListHeader *self)
{
	if (self->dragged)
		resize(self, self->dragged,
		       self->width_before + (int)(is_left_to_right(self) ? x : -x));
}

static void drag_end(GtkGestureDrag *drag, double x, double y, RsViewerListHeader *self)
{
	self->dragged = NULL;
}

static void motion(GtkEventControllerMotion *controller, double x, double y,
		   RsViewerListHeader *self)
{
	gtk_widget_set_cursor_from_name(GTK_WIDGET(self),
					self->dragged || edge_at(self, x) ? "col-resize" : NULL);
}

static gboolean key_pressed(GtkEventControllerKey *controller, guint key, guint code,
			    GdkModifierType state, RsViewerListHeader *self)
{
	GtkWidget *focus = gtk_widget_get_focus_child(GTK_WIDGET(self));
	gboolean wider = key == GDK_KEY_Right;

	if (!focus || !(state & GDK_SHIFT_MASK) || (key != GDK_KEY_Left && !wider))
		return GDK_EVENT_PROPAGATE;
	resize(self, column_of(focus),
	       (int)column_of(focus)->width +
		       (wider == is_left_to_right(self) ? KEY_STEP : -KEY_STEP));
	return GDK_EVENT_STOP;
}

/* ---- the widget ---- */

static void measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
		    int *natural, int *minimum_baseline, int *natural_baseline)
{
	RsViewerListHeader *self = RS_VIEWER_LIST_HEADER(widget);

	*minimum = *natural = 0;
	*minimum_baseline = *natural_baseline = -1;
	for (guint i = 0; i < self->buttons->len; i++) {
		int least = 0, wanted = 0;

		gtk_widget_measure(g_ptr_array_index(self->buttons, i), orientation, -1, &least,
				   &wanted, NULL, NULL);
		*minimum = MAX(*minimum, least);
		*natural = MAX(*natural, wanted);
	}
}

static void allocate(GtkWidget *widget, int width, int height, int baseline)
{
	RsViewerListHeader *self = RS_VIEWER_LIST_HEADER(widget);
	int x = 0;

	for (guint i = 0; i < self->buttons->len; i++) {
		GtkWidget *button = g_ptr_array_index(self->buttons, i);
		int wide = rs_viewer_list_look_width(self->look, column_of(button));
		int least;

		/* A button may want more than its column has. */
		gtk_widget_measure(button, GTK_ORIENTATION_HORIZONTAL, -1, &least, NULL, NULL,
				   NULL);
		gtk_widget_size_allocate(
			button,
			&(GtkAllocation){is_left_to_right(self) ? x : width - x - wide, 0,
					 MAX(wide, least), height},
			-1);
		x += wide;
	}
}

GtkWidget *rs_viewer_list_header_new(RsViewerListLook *look)
{
	RsViewerListHeader *self = g_object_new(RS_VIEWER_TYPE_LIST_HEADER, NULL);

	self->look = look;
	rs_viewer_list_header_update(self);
	return GTK_WIDGET(self);
}

static void dispose(GObject *object)
{
	RsViewerListHeader *self = RS_VIEWER_LIST_HEADER(object);

	g_clear_pointer(&self->buttons, g_ptr_array_unref);
	G_OBJECT_CLASS(rs_viewer_list_header_parent_class)->dispose(object);
}

static void rs_viewer_list_header_class_init(RsViewerListHeaderClass *class)
{
	GtkWidgetClass *widget = GTK_WIDGET_CLASS(class);

	G_OBJECT_CLASS(class)->dispose = dispose;
	widget->measure = measure;
	widget->size_allocate = allocate;
	signals[RESIZED] = g_signal_new("resized", RS_VIEWER_TYPE_LIST_HEADER, G_SIGNAL_RUN_LAST, 0,
					NULL, NULL, NULL, G_TYPE_NONE, 0);
	signals[MENU] = g_signal_new("menu", RS_VIEWER_TYPE_LIST_HEADER, G_SIGNAL_RUN_LAST, 0, NULL,
				     NULL, NULL, G_TYPE_NONE, 1, GTK_TYPE_WIDGET);
	gtk_widget_class_set_css_name(widget, "header");
	gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_ROW);
}

static void rs_viewer_list_header_init(RsViewerListHeader *self)
{
	GtkGesture *drag = gtk_gesture_drag_new();
	GtkEventController *moves = gtk_event_controller_motion_new();
	GtkEventController *keys = gtk_event_controller_key_new();

	self->buttons = g_ptr_array_new_with_free_func((GDestroyNotify)gtk_widget_unparent);
	gtk_event_controller_set_propagation_phase(GTK_EVENT_CONTROLLER(drag), GTK_PHASE_CAPTURE);
	g_signal_connect(drag, "drag-begin", G_CALLBACK(drag_begin), self);
	g_signal_connect(drag, "drag-update", G_CALLBACK(drag_update), self);
	g_signal_connect(drag, "drag-end", G_CALLBACK(drag_end), self);
	g_signal_connect(moves, "motion", G_CALLBACK(motion), self);
	gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE);
	g_signal_connect(keys, "key-pressed", G_CALLBACK(key_pressed), self);
	gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(drag));
	gtk_widget_add_controller(GTK_WIDGET(self), moves);
	gtk_widget_add_controller(GTK_WIDGET(self), keys);
}
