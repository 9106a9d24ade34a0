/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-timeline.h"
#include "app/rs-viewer-adder.h"
#include "app/rs-viewer-canvas.h"
#include "app/rs-viewer-legend.h"
#include "app/rs-viewer-overview.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#define GROUP "timeline"
#define CLOSER 0.7
#define STEP 0.2 /* of what is shown */

struct _RsViewerTimeline {
	GtkWidget parent_instance;
	RsViewerView *view;
	RsViewerCanvas *canvas;
	GtkWidget *box, *find;
};

G_DEFINE_FINAL_TYPE(RsViewerTimeline, rs_viewer_timeline, GTK_TYPE_WIDGET)

/* ---- time ---- */

static void zoom_in(GtkWidget *widget, const char *name, GVariant *parameter)
{
	rs_viewer_canvas_zoom(RS_VIEWER_TIMELINE(widget)->canvas, CLOSER);
}

static void zoom_out(GtkWidget *widget, const char *name, GVariant *parameter)
{
	rs_viewer_canvas_zoom(RS_VIEWER_TIMELINE(widget)->canvas, 1 / CLOSER);
}

static void zoom_all(GtkWidget *widget, const char *name, GVariant *parameter)
{
	rs_viewer_view_reset_range(RS_VIEWER_TIMELINE(widget)->view);
}

static void zoom_selection(GtkWidget *widget, const char *name, GVariant *parameter)
{
	RsViewerView *view = RS_VIEWER_TIMELINE(widget)->view;
	guint64 from, until;

	if (rs_viewer_view_selection(view, &from, &until))
		rs_viewer_view_set_range(view, from, MAX(until, from + 1));
}

static void pan_left(GtkWidget *widget, const char *name, GVariant *parameter)
{
	rs_viewer_canvas_pan(RS_VIEWER_TIMELINE(widget)->canvas, -STEP);
}

static void pan_right(GtkWidget *widget, const char *name, GVariant *parameter)
{
	rs_viewer_canvas_pan(RS_VIEWER_TIMELINE(widget)->canvas, STEP);
}

static void go_first(GtkWidget *widget, const char *name, GVariant *parameter)
{
	RsViewerView *view = RS_VIEWER_TIMELINE(widget)->view;
	guint64 from, until;

	rs_viewer_view_range(view, &from, &until);
	rs_viewer_view_set_range(view, 0, until - from);
}

static void go_last(GtkWidget *widget, const char *name, GVariant *parameter)
{
	RsViewerView *view = RS_VIEWER_TIMELINE(widget)->view;
	guint64 from, until;

	rs_viewer_view_range(view, &from, &until);
	rs_viewer_view_set_range(view, G_MAXUINT64 - (until - from), G_MAXUINT64);
}

/* ---- markers ---- */

static void set_marker(RsViewerView *view, RsViewerMarker which)
{
	guint64 ns, row;

	if (rs_viewer_view_current(view, &ns, &row))
		rs_viewer_view_set_marker(view, which, ns);
}

static void marker_a(GtkWidget *widget, const char *name, GVariant *parameter)
{
	set_marker(RS_VIEWER_TIMELINE(widget)->view, RS_VIEWER_MARKER_A);
}

static void marker_b(GtkWidget *widget, const char *name, GVariant *parameter)
{
	set_marker(RS_VIEWER_TIMELINE(widget)->view, RS_VIEWER_MARKER_B);
}

static void clear_markers(GtkWidget *widget, const char *name, GVariant *parameter)
{
	RsViewerView *view = RS_VIEWER_TIMELINE(widget)->view;

	rs_viewer_view_clear_marker(view, RS_VIEWER_MARKER_A);
	rs_viewer_view_clear_marker(view, RS_VIEWER_MARKER_B);
}

/* ---- lanes ---- */

static void next_event(GtkWidget *widget, const char *name, GVariant *parameter)
{
	if (!rs_viewer_canvas_step(RS_VIEWER_TIMELINE(widget)->canvas, TRUE))
		gtk_widget_error_bell(widget);
}

static void previous_event(GtkWidget *widget, const char *name, GVariant *parameter)
{
	if (!rs_viewer_canvas_step(RS_VIEWER_TIMELINE(widget)->canvas, FALSE))
		gtk_widget_error_bell(widget);
}

static void next_lane(GtkWidget *widget, const char *name, GVariant *parameter)
{
	rs_viewer_canvas_step_lane(RS_VIEWER_TIMELINE(widget)->canvas, TRUE);
}

static void previous_lane(GtkWidget *widget, const char *name, GVariant *parameter)
{
	rs_viewer_canvas_step_lane(RS_VIEWER_TIMELINE(widget)->canvas, FALSE);
}

static void scroll(GtkWidget *widget, int direction)
{
	GtkAdjustment *adjustment = rs_viewer_canvas_adjustment(RS_VIEWER_TIMELINE(widget)->canvas);

	gtk_adjustment_set_value(adjustment,
				 gtk_adjustment_get_value(adjustment) +
					 direction * gtk_adjustment_get_page_increment(adjustment));
}

static void lanes_up(GtkWidget *widget, const char *name, GVariant *parameter)
{
	scroll(widget, -1);
}

static void lanes_down(GtkWidget *widget, const char *name, GVariant *parameter)
{
	scroll(widget, 1);
}

/* The lane that an action is about; NULL: none is chosen. */
static RsViewerLane *lane_of(GtkWidget *widget, RsViewerLanes **lanes)
{
	RsViewerCanvas *canvas = RS_VIEWER_TIMELINE(widget)->canvas;

	*lanes = rs_viewer_canvas_lanes(canvas);
	return rs_viewer_canvas_lane(canvas);
}

static void pin(GtkWidget *widget, const char *name, GVariant *parameter)
{
	RsViewerLanes *lanes;
	RsViewerLane *lane = lane_of(widget, &lanes);

	if (!lane)
		return;
	rs_viewer_lanes_pin(lanes, lane, !lane->pinned);
	rs_viewer_canvas_update_lanes(RS_VIEWER_TIMELINE(widget)->canvas);
}

static void fold(GtkWidget *widget, const char *name, GVariant *parameter)
{
	RsViewerLanes *lanes;
	RsViewerLane *lane = lane_of(widget, &lanes);

	if (!lane || !rs_viewer_lane_is_heading(lane))
		return;
	rs_viewer_lanes_fold(lanes, lane, !lane->folded);
	rs_viewer_canvas_update_lanes(RS_VIEWER_TIMELINE(widget)->canvas);
}

static void move_lane(GtkWidget *widget, gboolean down)
{
	RsViewerLanes *lanes;
	RsViewerLane *lane = lane_of(widget, &lanes);

	if (lane && rs_viewer_lanes_move(lanes, lane, down))
		rs_viewer_canvas_update_lanes(RS_VIEWER_TIMELINE(widget)->canvas);
}

static void move_up(GtkWidget *widget, const char *name, GVariant *parameter)
{
	move_lane(widget, FALSE);
}

static void move_down(GtkWidget *widget, const char *name, GVariant *parameter)
{
	move_lane(widget, TRUE);
}

static void resize_lane(GtkWidget *widget, int by)
{
	RsViewerLanes *lanes;
	RsViewerLane *lane = lane_of(widget, &lanes);

	if (!lane)
		return;
	rs_viewer_lanes_set_height(lanes, lane, (guint)MAX(0, (int)lane->height + by));
	rs_viewer_canvas_redraw_lane(RS_VIEWER_TIMELINE(widget)->canvas, lane);
	rs_viewer_canvas_update_lanes(RS_VIEWER_TIMELINE(widget)->canvas);
}

static void taller(GtkWidget *widget, const char *name, GVariant *parameter)
{
	resize_lane(widget, 8);
}

static void lower(GtkWidget *widget, const char *name, GVariant *parameter)
{
	resize_lane(widget, -8);
}

static void remove_lane(GtkWidget *widget, const char *name, GVariant *parameter)
{
	RsViewerLanes *lanes;
	RsViewerLane *lane = lane_of(widget, &lanes);

	if (lane)
		rs_viewer_canvas_remove(RS_VIEWER_TIMELINE(widget)->canvas, lane);
}

static void show_all(GtkWidget *widget, const char *name, GVariant *parameter)
{
	RsViewerTimeline *timeline = RS_VIEWER_TIMELINE(widget);

	gtk_editable_set_text(GTK_EDITABLE(timeline->find), "");
	rs_viewer_lanes_show_all(rs_viewer_canvas_lanes(timeline->canvas));
	rs_viewer_canvas_update_lanes(timeline->canvas);
}

static void lane_popup(GtkWidget *widget, const char *name, GVariant *parameter)
{
	rs_viewer_canvas_popup_lane(RS_VIEWER_TIMELINE(widget)->canvas);
}

static void find_lane(GtkWidget *widget, const char *name, GVariant *parameter)
{
	gtk_widget_grab_focus(RS_VIEWER_TIMELINE(widget)->find);
}

/* ---- parts ---- */

static void on_find(GtkSearchEntry *entry, RsViewerTimeline *timeline)
{
	rs_viewer_lanes_find(rs_viewer_canvas_lanes(timeline->canvas),
			     gtk_editable_get_text(GTK_EDITABLE(entry)));
	rs_viewer_canvas_update_lanes(timeline->canvas);
}

static void on_found(GtkSearchEntry *entry, RsViewerTimeline *timeline)
{
	rs_viewer_timeline_focus(timeline);
	rs_viewer_canvas_set_lane(timeline->canvas, NULL);
	rs_viewer_canvas_step_lane(timeline->canvas, TRUE);
}

static void on_stop_find(GtkSearchEntry *entry, RsViewerTimeline *timeline)
{
	gtk_editable_set_text(GTK_EDITABLE(entry), "");
	rs_viewer_timeline_focus(timeline);
}

static GtkWidget *find_new(RsViewerTimeline *timeline)
{
	GtkWidget *find = gtk_search_entry_new();

	g_object_set(find, "placeholder-text", _("Find lanes"), NULL);
	gtk_editable_set_width_chars(GTK_EDITABLE(find), 8);
	gtk_editable_set_max_width_chars(GTK_EDITABLE(find), 20);
	gtk_accessible_update_property(GTK_ACCESSIBLE(find), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Find lanes"), -1);
	g_signal_connect(find, "search-changed", G_CALLBACK(on_find), timeline);
	g_signal_connect(find, "activate", G_CALLBACK(on_found), timeline);
	g_signal_connect(find, "stop-search", G_CALLBACK(on_stop_find), timeline);
	return find;
}

static GtkWidget *button_new(const char *icon, const char *tip, const char *action)
{
	GtkWidget *button = gtk_button_new_from_icon_name(icon);

	gtk_widget_set_tooltip_text(button, tip);
	gtk_actionable_set_action_name(GTK_ACTIONABLE(button), action);
	gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, tip,
				       -1);
	return button;
}

static GtkWidget *zoom_new(void)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);

	gtk_widget_add_css_class(box, "linked");
	gtk_box_append(GTK_BOX(box),
		       button_new("zoom-out-symbolic", _("Zoom Out"), "timeline.zoom-out"));
	gtk_box_append(GTK_BOX(box),
		       button_new("zoom-fit-best-symbolic", _("Whole Trace"), "timeline.zoom-all"));
	gtk_box_append(GTK_BOX(box),
		       button_new("zoom-in-symbolic", _("Zoom In"), "timeline.zoom-in"));
	return box;
}

static GtkWidget *lanes_menu_new(void)
{
	GtkWidget *button = gtk_menu_button_new();
	g_autoptr(GMenu) menu = g_menu_new();

	g_menu_append(menu, _("Show All Lanes"), "timeline.show-all");
	g_menu_append(menu, _("Zoom to Selection"), "timeline.zoom-selection");
	g_menu_append(menu, _("Clear Markers"), "timeline.clear-markers");
	gtk_menu_button_set_icon_name(GTK_MENU_BUTTON(button), "view-more-symbolic");
	gtk_menu_button_set_menu_model(GTK_MENU_BUTTON(button), G_MENU_MODEL(menu));
	gtk_widget_set_tooltip_text(button, _("Lanes and Markers"));
	gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Lanes and Markers"), -1);
	return button;
}

/* What does not fit into a narrow window is not shown. */
static GtkWidget *squeezed(GtkWidget *child)
{
	GtkWidget *squeezer = adw_squeezer_new();

	adw_squeezer_set_homogeneous(ADW_SQUEEZER(squeezer), FALSE);
	adw_squeezer_add(ADW_SQUEEZER(squeezer), child);
	adw_squeezer_add(ADW_SQUEEZER(squeezer), gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0));
	gtk_widget_set_hexpand(squeezer, TRUE);
	gtk_widget_set_halign(squeezer, GTK_ALIGN_END);
	return squeezer;
}

static GtkWidget *bar_new(RsViewerTimeline *timeline)
{
	GtkWidget *bar = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);

	timeline->find = find_new(timeline);
	gtk_widget_add_css_class(bar, "toolbar");
	gtk_box_append(GTK_BOX(bar), timeline->find);
	gtk_box_append(GTK_BOX(bar), rs_viewer_adder_new(timeline));
	gtk_box_append(GTK_BOX(bar), squeezed(rs_viewer_legend_new()));
	gtk_box_append(GTK_BOX(bar), zoom_new());
	gtk_box_append(GTK_BOX(bar), lanes_menu_new());
	return bar;
}

static void fill(RsViewerTimeline *timeline)
{
	GtkWidget *lanes = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
	GtkWidget *overview = rs_viewer_overview_new(timeline->view);

	timeline->canvas = RS_VIEWER_CANVAS(rs_viewer_canvas_new(timeline->view));
	timeline->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	gtk_widget_set_parent(timeline->box, GTK_WIDGET(timeline));
	gtk_box_append(GTK_BOX(timeline->box), bar_new(timeline));
	gtk_box_append(GTK_BOX(timeline->box), overview);
	gtk_box_append(GTK_BOX(timeline->box), gtk_separator_new(GTK_ORIENTATION_HORIZONTAL));
	gtk_box_append(GTK_BOX(lanes), GTK_WIDGET(timeline->canvas));
	gtk_box_append(GTK_BOX(lanes),
		       gtk_scrollbar_new(GTK_ORIENTATION_VERTICAL,
					 rs_viewer_canvas_adjustment(timeline->canvas)));
	gtk_box_append(GTK_BOX(timeline->box), lanes);
}

/* ---- object ---- */

static void dispose(GObject *object)
{
	RsViewerTimeline *timeline = RS_VIEWER_TIMELINE(object);

	g_clear_pointer(&timeline->box, gtk_widget_unparent);
	g_clear_object(&timeline->view);
	G_OBJECT_CLASS(rs_viewer_timeline_parent_class)->dispose(object);
}

typedef struct {
	const char *action;
	GtkWidgetActionActivateFunc func;
} Action;

static const Action actions[] = {
	{"timeline.zoom-in", zoom_in},
	{"timeline.zoom-out", zoom_out},
	{"timeline.zoom-all", zoom_all},
	{"timeline.zoom-selection", zoom_selection},
	{"timeline.pan-left", pan_left},
	{"timeline.pan-right", pan_right},
	{"timeline.go-first", go_first},
	{"timeline.go-last", go_last},
	{"timeline.marker-a", marker_a},
	{"timeline.marker-b", marker_b},
	{"timeline.clear-markers", clear_markers},
	{"timeline.next-event", next_event},
	{"timeline.previous-event", previous_event},
	{"timeline.next-lane", next_lane},
	{"timeline.previous-lane", previous_lane},
	{"timeline.lanes-up", lanes_up},
	{"timeline.lanes-down", lanes_down},
	{"timeline.pin", pin},
	{"timeline.fold", fold},
	{"timeline.move-up", move_up},
	{"timeline.move-down", move_down},
	{"timeline.taller", taller},
	{"timeline.lower", lower},
	{"timeline.remove-lane", remove_lane},
	{"timeline.show-all", show_all},
	{"timeline.find-lane", find_lane},
	{"timeline.menu", lane_popup},
};

/* Of several keys, menus show the last. */
static const struct {
	guint key;
	GdkModifierType modifiers;
	const char *action;
} keys[] = {
	{GDK_KEY_KP_Add, 0, "timeline.zoom-in"},
	{GDK_KEY_equal, 0, "timeline.zoom-in"},
	{GDK_KEY_plus, 0, "timeline.zoom-in"},
	{GDK_KEY_w, 0, "timeline.zoom-in"},
	{GDK_KEY_KP_Subtract, 0, "timeline.zoom-out"},
	{GDK_KEY_minus, 0, "timeline.zoom-out"},
	{GDK_KEY_s, 0, "timeline.zoom-out"},
	{GDK_KEY_KP_0, 0, "timeline.zoom-all"},
	{GDK_KEY_0, 0, "timeline.zoom-all"},
	{GDK_KEY_z, 0, "timeline.zoom-selection"},
	{GDK_KEY_KP_Left, 0, "timeline.pan-left"},
	{GDK_KEY_Left, 0, "timeline.pan-left"},
	{GDK_KEY_a, 0, "timeline.pan-left"},
	{GDK_KEY_KP_Right, 0, "timeline.pan-right"},
	{GDK_KEY_Right, 0, "timeline.pan-right"},
	{GDK_KEY_d, 0, "timeline.pan-right"},
	{GDK_KEY_KP_Home, 0, "timeline.go-first"},
	{GDK_KEY_Home, 0, "timeline.go-first"},
	{GDK_KEY_KP_End, 0, "timeline.go-last"},
	{GDK_KEY_End, 0, "timeline.go-last"},
	{GDK_KEY_bracketleft, 0, "timeline.marker-a"},
	{GDK_KEY_m, 0, "timeline.marker-a"},
	{GDK_KEY_bracketright, 0, "timeline.marker-b"},
	{GDK_KEY_n, 0, "timeline.marker-b"},
	{GDK_KEY_Escape, 0, "timeline.clear-markers"},
	{GDK_KEY_period, 0, "timeline.next-event"},
	{GDK_KEY_comma, 0, "timeline.previous-event"},
	{GDK_KEY_KP_Down, 0, "timeline.next-lane"},
	{GDK_KEY_Down, 0, "timeline.next-lane"},
	{GDK_KEY_KP_Up, 0, "timeline.previous-lane"},
	{GDK_KEY_Up, 0, "timeline.previous-lane"},
	{GDK_KEY_KP_Page_Up, 0, "timeline.lanes-up"},
	{GDK_KEY_Page_Up, 0, "timeline.lanes-up"},
	{GDK_KEY_KP_Page_Down, 0, "timeline.lanes-down"},
	{GDK_KEY_Page_Down, 0, "timeline.lanes-down"},
	{GDK_KEY_p, 0, "timeline.pin"},
	{GDK_KEY_KP_Enter, 0, "timeline.fold"},
	{GDK_KEY_Return, 0, "timeline.fold"},
	{GDK_KEY_Up, GDK_ALT_MASK, "timeline.move-up"},
	{GDK_KEY_Down, GDK_ALT_MASK, "timeline.move-down"},
	{GDK_KEY_Down, GDK_SHIFT_MASK, "timeline.taller"},
	{GDK_KEY_Up, GDK_SHIFT_MASK, "timeline.lower"},
	{GDK_KEY_KP_Delete, 0, "timeline.remove-lane"},
	{GDK_KEY_Delete, 0, "timeline.remove-lane"},
	{GDK_KEY_slash, 0, "timeline.find-lane"},
	{GDK_KEY_F10, GDK_SHIFT_MASK, "timeline.menu"},
	{GDK_KEY_Menu, 0, "timeline.menu"},
};

static void rs_viewer_timeline_class_init(RsViewerTimelineClass *class)
{
	GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

	G_OBJECT_CLASS(class)->dispose = dispose;
	for (guint i = 0; i < G_N_ELEMENTS(actions); i++)
		gtk_widget_class_install_action(widget_class, actions[i].action, NULL,
						actions[i].func);
	for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
		gtk_widget_class_add_binding_action(widget_class, keys[i].key, keys[i].modifiers,
						    keys[i].action, NULL);
	gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
	gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_GROUP);
}

static void rs_viewer_timeline_init(RsViewerTimeline *timeline)
{
	gtk_widget_set_hexpand(GTK_WIDGET(timeline), TRUE);
	gtk_widget_set_vexpand(GTK_WIDGET(timeline), TRUE);
}

GtkWidget *rs_viewer_timeline_new(RsViewerView *view)
{
	RsViewerTimeline *timeline = g_object_new(RS_VIEWER_TYPE_TIMELINE, NULL);

	timeline->view = g_object_ref(view);
	fill(timeline);
	return GTK_WIDGET(timeline);
}

gboolean rs_viewer_timeline_add(RsViewerTimeline *timeline, RsViewerLaneKind kind, const char *text,
				GError **error)
{
	return rs_viewer_canvas_add(timeline->canvas, kind, text, error);
}

void rs_viewer_timeline_focus(RsViewerTimeline *timeline)
{
	gtk_widget_grab_focus(GTK_WIDGET(timeline->canvas));
}

void rs_viewer_timeline_save(RsViewerTimeline *timeline, GKeyFile *file)
{
	rs_viewer_lanes_save(rs_viewer_canvas_lanes(timeline->canvas), file, GROUP);
}

void rs_viewer_timeline_load(RsViewerTimeline *timeline, GKeyFile *file)
{
	rs_viewer_canvas_load(timeline->canvas, file, GROUP);
}
