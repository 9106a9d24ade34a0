/* SPDX-License-Identifier: MIT */
/* What pointer, wheel and touch do. Keys activate actions of RsViewerTimeline. */
#include "app/rs-viewer-canvas-private.h"

#include <glib/gi18n.h>
#include <math.h>

#define NOTCH 0.8     /* by which a notch of the wheel zooms */
#define PAN_NOTCH 0.1 /* of what is shown */
#define SCROLL 57     /* pixels of a notch */
#define GRAB 5        /* pixels around what can be grabbed */
#define CLOSER 0.25   /* of a double click */

/* ---- wheel and touchpad ---- */

static gboolean can_scroll(RsViewerCanvas *canvas)
{
	return gtk_adjustment_get_upper(canvas->adjustment) >
	       gtk_adjustment_get_page_size(canvas->adjustment) + 0.5;
}

static gboolean on_scroll(GtkEventControllerScroll *scroll, double dx, double dy,
			  RsViewerCanvas *canvas)
{
	GtkEventController *controller = GTK_EVENT_CONTROLLER(scroll);
	const GdkModifierType state = gtk_event_controller_get_current_event_state(controller);
	const gboolean in_ruler = canvas->y < RULER_HEIGHT;

	if (state & GDK_CONTROL_MASK) {
		rs_viewer_canvas_zoom(canvas, pow(NOTCH, -(dy + dx)));
		return TRUE;
	}
	if ((state & GDK_SHIFT_MASK) && dx == 0) {
		dx = dy;
		dy = 0;
	}
	if (dx != 0)
		rs_viewer_canvas_pan(canvas, dx * PAN_NOTCH);
	if (dy == 0)
		return TRUE;
	/* Lanes that are all in view need no scrolling, so the wheel is free for time. */
	if (can_scroll(canvas) && !in_ruler)
		gtk_adjustment_set_value(canvas->adjustment,
					 gtk_adjustment_get_value(canvas->adjustment) +
						 dy * SCROLL);
	else
		rs_viewer_canvas_pan(canvas, dy * PAN_NOTCH);
	return TRUE;
}

static void on_pinch_begin(GtkGesture *gesture, GdkEventSequence *sequence, RsViewerCanvas *canvas)
{
	canvas->pinch = 1;
}

static void on_pinch(GtkGestureZoom *zoom, double scale, RsViewerCanvas *canvas)
{
	double x, y;

	if (!(scale > 0) || !(canvas->pinch > 0))
		return;
	if (gtk_gesture_get_bounding_box_center(GTK_GESTURE(zoom), &x, &y))
		rs_viewer_view_zoom(canvas->view, canvas->pinch / scale,
				    rs_viewer_canvas_time_at(canvas, x));
	canvas->pinch = scale;
}

/* ---- pointer ---- */

static gboolean near_marker(RsViewerCanvas *canvas, RsViewerMarker which, double x)
{
	guint64 ns;

	return rs_viewer_view_marker(canvas->view, which, &ns) &&
	       fabs(rs_viewer_canvas_place_of(canvas, ns) - x) <= 2 * GRAB;
}

/* What a drag from there on would do. */
static RsViewerDrag drag_of(RsViewerCanvas *canvas, double x, double y, gboolean shift,
			    RsViewerLane **lane)
{
	double below = 0;

	*lane = rs_viewer_canvas_lane_at(canvas, y, &below);
	if (x < rs_viewer_canvas_left(canvas)) {
		if (!*lane || rs_viewer_lane_is_heading(*lane))
			return DRAG_NONE;
		return (*lane)->height - below <= GRAB ? DRAG_HEIGHT : DRAG_LANE;
	}
	if (y < RULER_HEIGHT && near_marker(canvas, RS_VIEWER_MARKER_A, x))
		return DRAG_MARKER_A;
	if (y < RULER_HEIGHT && near_marker(canvas, RS_VIEWER_MARKER_B, x))
		return DRAG_MARKER_B;
	return shift ? DRAG_SELECT : DRAG_PAN;
}

static void show_cursor(RsViewerCanvas *canvas, gboolean shift)
{
	static const char *const cursors[] = {NULL,        NULL,        "text", "ew-resize",
					      "ew-resize", "ns-resize", NULL};
	RsViewerLane *lane;
	RsViewerDrag drag = canvas->drag;

	if (drag == DRAG_NONE)
		drag = drag_of(canvas, canvas->x, canvas->y, shift, &lane);
	gtk_widget_set_cursor_from_name(GTK_WIDGET(canvas), drag == DRAG_PAN && canvas->dragged
								    ? "grabbing"
								    : cursors[drag]);
}

static void on_motion(GtkEventControllerMotion *motion, double x, double y, RsViewerCanvas *canvas)
{
	const GdkModifierType state =
		gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(motion));

	/* A pointer that does not move tells it too. */
	if (canvas->hovers && canvas->x == x && canvas->y == y)
		return;
	canvas->hovers = TRUE;
	canvas->x = x;
	canvas->y = y;
	show_cursor(canvas, (state & GDK_SHIFT_MASK) != 0);
	gtk_widget_queue_draw(GTK_WIDGET(canvas));
}

static void on_leave(GtkEventControllerMotion *motion, RsViewerCanvas *canvas)
{
	canvas->hovers = FALSE;
	gtk_widget_queue_draw(GTK_WIDGET(canvas));
}

static gboolean on_tooltip(GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip,
			   gpointer data)
{
	RsViewerCanvas *canvas = RS_VIEWER_CANVAS(widget);
	RsViewerLane *lane = canvas->lane;
	g_autofree char *text = NULL;
	guint64 from, until, row;
	double below = 0;

	if (keyboard) {
		if (!lane || !rs_viewer_view_current(canvas->view, &from, &row))
			return FALSE;
		until = from + 1;
	} else {
		lane = rs_viewer_canvas_lane_at(canvas, y, &below);
		if (!lane || canvas->dragged)
			return FALSE;
		if (x < rs_viewer_canvas_left(canvas)) {
			gtk_tooltip_set_text(tooltip, lane->label);
			return TRUE;
		}
		from = rs_viewer_canvas_time_at(canvas, x);
		until = MAX(rs_viewer_canvas_time_at(canvas, x + 1), from + 1);
	}
	text = rs_viewer_canvas_describe(canvas, lane, from, until, below);
	if (!text)
		return FALSE;
	gtk_tooltip_set_text(tooltip, text);
	if (!keyboard)
		gtk_tooltip_set_tip_area(tooltip, &(GdkRectangle){x - 2, y - 2, 4, 4});
	return TRUE;
}

/* ---- drags ---- */

static void on_drag_begin(GtkGestureDrag *gesture, double x, double y, RsViewerCanvas *canvas)
{
	const GdkModifierType state =
		gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(gesture));

	gtk_widget_grab_focus(GTK_WIDGET(canvas));
	canvas->drag = drag_of(canvas, x, y, (state & GDK_SHIFT_MASK) != 0, &canvas->drag_lane);
	canvas->dragged = FALSE;
	canvas->drag_y = y;
	canvas->drag_scroll = gtk_adjustment_get_value(canvas->adjustment);
	canvas->drag_height = canvas->drag_lane ? canvas->drag_lane->height : 0;
	rs_viewer_view_range(canvas->view, &canvas->drag_from, &canvas->drag_until);
	if (canvas->drag == DRAG_SELECT)
		canvas->drag_from = rs_viewer_canvas_time_at(canvas, x);
}

static void drag_range(RsViewerCanvas *canvas, double dx)
{
	const guint64 range = canvas->drag_until - canvas->drag_from;
	const double share = fabs(dx) / rs_viewer_canvas_time_width(canvas);
	const guint64 by = (guint64)((double)range * share);
	guint64 from = canvas->drag_from;

	if (dx > 0)
		from -= MIN(by, from);
	else
		from += MIN(by, G_MAXUINT64 - range - from);
	rs_viewer_view_set_range(canvas->view, from, from + range);
}

/* It changes places with the lanes over which it is dragged. */
static void drag_lane(RsViewerCanvas *canvas, double dy)
{
	const double y = canvas->drag_y + dy;
	double top;

	if (!canvas->drag_lane || !rs_viewer_canvas_lane_top(canvas, canvas->drag_lane, &top))
		return;
	if (y < top - GRAB && rs_viewer_lanes_move(canvas->lanes, canvas->drag_lane, FALSE))
		rs_viewer_canvas_update_lanes(canvas);
	else if (y > top + canvas->drag_lane->height + GRAB &&
		 rs_viewer_lanes_move(canvas->lanes, canvas->drag_lane, TRUE))
		rs_viewer_canvas_update_lanes(canvas);
}

static void on_drag_update(GtkGestureDrag *gesture, double dx, double dy, RsViewerCanvas *canvas)
{
	double x, y;
	guint64 ns;

	if (!canvas->dragged && fabs(dx) + fabs(dy) < 4)
		return;
	if (!canvas->dragged)
		gtk_gesture_set_state(GTK_GESTURE(gesture), GTK_EVENT_SEQUENCE_CLAIMED);
	canvas->dragged = TRUE;
	gtk_gesture_drag_get_start_point(gesture, &x, &y);
	ns = rs_viewer_canvas_time_at(canvas, x + dx);
	switch (canvas->drag) {
	case DRAG_PAN:
		drag_range(canvas, dx);
		gtk_adjustment_set_value(canvas->adjustment, canvas->drag_scroll - dy);
		break;
	case DRAG_SELECT:
		rs_viewer_view_set_marker(canvas->view, RS_VIEWER_MARKER_A,
					  MIN(ns, canvas->drag_from));
		rs_viewer_view_set_marker(canvas->view, RS_VIEWER_MARKER_B,
					  MAX(ns, canvas->drag_from));
		break;
	case DRAG_MARKER_A:
	case DRAG_MARKER_B:
		rs_viewer_view_set_marker(canvas->view,
					  canvas->drag == DRAG_MARKER_A ? RS_VIEWER_MARKER_A
									: RS_VIEWER_MARKER_B,
					  ns);
		break;
	case DRAG_HEIGHT:
		if (canvas->drag_lane)
			rs_viewer_lanes_set_height(
				canvas->lanes, canvas->drag_lane,
				(guint)MAX(0, (int)canvas->drag_height + (int)dy));
		if (canvas->drag_lane && canvas->drag_lane->strip)
			rs_viewer_strip_drop(canvas->drag_lane->strip);
		rs_viewer_canvas_update_lanes(canvas);
		break;
	case DRAG_LANE:
		drag_lane(canvas, dy);
		break;
	case DRAG_NONE:
		break;
	}
	show_cursor(canvas, FALSE);
}

static void on_drag_end(GtkGestureDrag *gesture, double dx, double dy, RsViewerCanvas *canvas)
{
	canvas->drag = DRAG_NONE;
	canvas->drag_lane = NULL;
	show_cursor(canvas, FALSE);
}

/* ---- clicks ---- */

static void on_pressed(GtkGestureClick *click, int n_press, double x, double y,
		       RsViewerCanvas *canvas)
{
	gtk_widget_grab_focus(GTK_WIDGET(canvas));
	if (n_press == 2 && x >= rs_viewer_canvas_left(canvas)) {
		rs_viewer_view_zoom(canvas->view, CLOSER, rs_viewer_canvas_time_at(canvas, x));
		gtk_gesture_set_state(GTK_GESTURE(click), GTK_EVENT_SEQUENCE_CLAIMED);
	}
}

static void on_released(GtkGestureClick *click, int n_press, double x, double y,
			RsViewerCanvas *canvas)
{
	double below;
	RsViewerLane *lane = rs_viewer_canvas_lane_at(canvas, y, &below);

	if (canvas->dragged || n_press > 1) {
		canvas->dragged = FALSE;
		return;
	}
	if (lane)
		rs_viewer_canvas_set_lane(canvas, lane);
	if (x >= rs_viewer_canvas_left(canvas)) {
		rs_viewer_canvas_choose_at(canvas, lane, x);
	} else if (lane && rs_viewer_lane_is_heading(lane)) {
		rs_viewer_lanes_fold(canvas->lanes, lane, !lane->folded);
		rs_viewer_canvas_update_lanes(canvas);
	}
}

static void on_menu(GtkGestureClick *click, int n_press, double x, double y, RsViewerCanvas *canvas)
{
	double below;

	gtk_widget_grab_focus(GTK_WIDGET(canvas));
	rs_viewer_canvas_popup(canvas, rs_viewer_canvas_lane_at(canvas, y, &below), x, y);
	gtk_gesture_set_state(GTK_GESTURE(click), GTK_EVENT_SEQUENCE_CLAIMED);
}

/* ---- menu ---- */

static void append(GMenu *menu, const char *label, const char *action)
{
	g_menu_append(menu, label, action);
}

static GMenuModel *lane_menu(const RsViewerLane *lane)
{
	GMenu *menu = g_menu_new();

	if (rs_viewer_lane_is_heading(lane)) {
		append(menu, lane->folded ? _("Unfold") : _("Fold"), "timeline.fold");
		append(menu, _("Hide"), "timeline.remove-lane");
		return G_MENU_MODEL(menu);
	}
	append(menu, lane->pinned ? _("Unpin") : _("Pin to the Top"), "timeline.pin");
	append(menu, _("Move Up"), "timeline.move-up");
	append(menu, _("Move Down"), "timeline.move-down");
	append(menu, _("Taller"), "timeline.taller");
	append(menu, _("Lower"), "timeline.lower");
	append(menu, rs_viewer_lane_is_chosen(lane) ? _("Remove") : _("Hide"),
	       "timeline.remove-lane");
	return G_MENU_MODEL(menu);
}

static GMenuModel *time_menu(void)
{
	GMenu *menu = g_menu_new();

	append(menu, _("Marker A Here"), "timeline.marker-a");
	append(menu, _("Marker B Here"), "timeline.marker-b");
	append(menu, _("Clear Markers"), "timeline.clear-markers");
	append(menu, _("Zoom to Selection"), "timeline.zoom-selection");
	append(menu, _("Whole Trace"), "timeline.zoom-all");
	return G_MENU_MODEL(menu);
}

static gboolean unparent(gpointer data)
{
	GtkWidget *menu = data, *parent = gtk_widget_get_parent(menu);

	/* Another one may be open by now, and the canvas may be gone. */
	if (parent && RS_VIEWER_CANVAS(parent)->menu == menu)
		RS_VIEWER_CANVAS(parent)->menu = NULL;
	if (parent)
		gtk_widget_unparent(menu);
	return G_SOURCE_REMOVE;
}

/* Only then is the item's action activated. */
static void on_menu_closed(GtkPopover *popover)
{
	g_idle_add_full(G_PRIORITY_DEFAULT_IDLE, unparent, g_object_ref(popover), g_object_unref);
}

void rs_viewer_canvas_popup(RsViewerCanvas *canvas, RsViewerLane *lane, double x, double y)
{
	g_autoptr(GMenu) menu = g_menu_new();
	g_autoptr(GMenuModel) times = time_menu();

	if (lane) {
		g_autoptr(GMenuModel) of_lane = lane_menu(lane);

		g_menu_append_section(menu, lane->label, of_lane);
		rs_viewer_canvas_set_lane(canvas, lane);
	}
	if (x >= rs_viewer_canvas_left(canvas)) {
		rs_viewer_canvas_choose_at(canvas, lane, x);
		g_menu_append_section(menu, NULL, times);
	}
	g_clear_pointer(&canvas->menu, gtk_widget_unparent);
	canvas->menu = gtk_popover_menu_new_from_model(G_MENU_MODEL(menu));
	gtk_widget_set_parent(canvas->menu, GTK_WIDGET(canvas));
	gtk_popover_set_has_arrow(GTK_POPOVER(canvas->menu), FALSE);
	gtk_widget_set_halign(canvas->menu, GTK_ALIGN_START);
	gtk_popover_set_pointing_to(GTK_POPOVER(canvas->menu),
				    &(GdkRectangle){(int)x, (int)y, 1, 1});
	g_signal_connect(canvas->menu, "closed", G_CALLBACK(on_menu_closed), NULL);
	gtk_popover_popup(GTK_POPOVER(canvas->menu));
}

/* ---- all of them ---- */

static void add_pointer(GtkWidget *widget)
{
	GtkEventController *motion = gtk_event_controller_motion_new();
	GtkEventController *scroll =
		gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);

	g_signal_connect(motion, "enter", G_CALLBACK(on_motion), widget);
	g_signal_connect(motion, "motion", G_CALLBACK(on_motion), widget);
	g_signal_connect(motion, "leave", G_CALLBACK(on_leave), widget);
	g_signal_connect(scroll, "scroll", G_CALLBACK(on_scroll), widget);
	g_signal_connect(widget, "query-tooltip", G_CALLBACK(on_tooltip), NULL);
	gtk_widget_add_controller(widget, motion);
	gtk_widget_add_controller(widget, scroll);
	gtk_widget_set_has_tooltip(widget, TRUE);
}

void rs_viewer_canvas_add_input(RsViewerCanvas *canvas)
{
	GtkWidget *widget = GTK_WIDGET(canvas);
	GtkGesture *pinch = gtk_gesture_zoom_new();
	GtkGesture *drag = gtk_gesture_drag_new();
	GtkGesture *click = gtk_gesture_click_new();
	GtkGesture *menu = gtk_gesture_click_new();

	add_pointer(widget);
	gtk_gesture_single_set_button(GTK_GESTURE_SINGLE(menu), GDK_BUTTON_SECONDARY);
	g_signal_connect(pinch, "begin", G_CALLBACK(on_pinch_begin), canvas);
	g_signal_connect(pinch, "scale-changed", G_CALLBACK(on_pinch), canvas);
	g_signal_connect(drag, "drag-begin", G_CALLBACK(on_drag_begin), canvas);
	g_signal_connect(drag, "drag-update", G_CALLBACK(on_drag_update), canvas);
	g_signal_connect(drag, "drag-end", G_CALLBACK(on_drag_end), canvas);
	g_signal_connect(click, "pressed", G_CALLBACK(on_pressed), canvas);
	g_signal_connect(click, "released", G_CALLBACK(on_released), canvas);
	g_signal_connect(menu, "pressed", G_CALLBACK(on_menu), canvas);
	gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(pinch));
	gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(drag));
	gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(click));
	gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(menu));
	gtk_gesture_group(drag, click);
}
