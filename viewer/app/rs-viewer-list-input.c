/* SPDX-License-Identifier: MIT */
/* Keys and pointer of the event list. */
#include "app/rs-viewer-list-private.h"

/* Rows on each side of a record that a zoom shows with it. */
#define ZOOM_ROWS 10u

static guint64 moved(RsViewerList *self, guint64 row, gboolean down, guint64 by)
{
	guint64 last = MAX(self->scroll.rows, 1) - 1;

	row = MIN(row, last);
	return down ? row + MIN(by, last - row) : row - MIN(by, row);
}

/* Where a key leads to. FALSE: it does not move. */
static gboolean target_of(RsViewerList *self, guint key, guint64 *row)
{
	gboolean is_chosen = self->current != RS_VIEWER_ROW_NONE;
	guint64 from = is_chosen ? self->current : self->place;
	guint64 page = MAX(rs_viewer_list_page(self), 2) - 1;

	switch (key) {
	case GDK_KEY_Up:
	case GDK_KEY_KP_Up:
		*row = moved(self, from, FALSE, is_chosen);
		return TRUE;
	case GDK_KEY_Down:
	case GDK_KEY_KP_Down:
		*row = moved(self, from, TRUE, is_chosen);
		return TRUE;
	case GDK_KEY_Page_Up:
	case GDK_KEY_KP_Page_Up:
		*row = moved(self, from, FALSE, page);
		return TRUE;
	case GDK_KEY_Page_Down:
	case GDK_KEY_KP_Page_Down:
		*row = moved(self, from, TRUE, page);
		return TRUE;
	case GDK_KEY_Home:
	case GDK_KEY_KP_Home:
		*row = 0;
		return TRUE;
	case GDK_KEY_End:
	case GDK_KEY_KP_End:
		*row = MAX(self->scroll.rows, 1) - 1;
		return TRUE;
	default:
		return FALSE;
	}
}

static void open_menu_at_current(RsViewerList *self)
{
	double y = self->header_height;

	if (self->current != RS_VIEWER_ROW_NONE) {
		rs_viewer_scroll_show(&self->scroll, self->current);
		y += (double)(self->current - self->scroll.top + 1) * self->scroll.height -
		     self->scroll.offset;
	}
	rs_viewer_list_open_menu(self, RS_VIEWER_LIST_PAD, y);
}

static gboolean key_pressed(GtkEventControllerKey *controller, guint key, guint code,
			    GdkModifierType state, RsViewerList *self)
{
	gboolean extend = state & GDK_SHIFT_MASK;
	guint64 row;

	if (key == GDK_KEY_Menu || (key == GDK_KEY_F10 && extend)) {
		open_menu_at_current(self);
		return GDK_EVENT_STOP;
	}
	if (state & (GDK_CONTROL_MASK | GDK_ALT_MASK | GDK_SUPER_MASK))
		return GDK_EVENT_PROPAGATE;
	if (key == GDK_KEY_Return || key == GDK_KEY_KP_Enter)
		return gtk_widget_activate_action(GTK_WIDGET(self), "event-list.zoom", NULL);
	self->scroll.rows = rs_viewer_rows_count(self->rows);
	if (!self->scroll.rows || !target_of(self, key, &row))
		return GDK_EVENT_PROPAGATE;
	rs_viewer_list_choose(self, row, extend);
	/* Of a running session, the end is where it is going on. */
	if (row + 1 == self->scroll.rows && (key == GDK_KEY_End || key == GDK_KEY_KP_End) &&
	    rs_trace_document_state(rs_viewer_view_document(self->view)) == RS_TRACE_DOCUMENT_LIVE)
		rs_viewer_view_set_following(self->view, TRUE);
	return GDK_EVENT_STOP;
}

static gboolean is_in_selection(RsViewerList *self, guint64 row)
{
	guint64 first, n;

	return rs_viewer_list_selection(self, &first, &n) && row >= first && row - first < n;
}

static void pressed(GtkGestureClick *click, int n, double x, double y, RsViewerList *self)
{
	guint button = gtk_gesture_single_get_current_button(GTK_GESTURE_SINGLE(click));
	GdkModifierType state =
		gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(click));
	guint64 row;

	if (!rs_viewer_list_row_at(self, y, &row))
		return;
	gtk_widget_grab_focus(GTK_WIDGET(self));
	if (button == GDK_BUTTON_SECONDARY) {
		if (!is_in_selection(self, row))
			rs_viewer_list_choose(self, row, FALSE);
		rs_viewer_list_open_menu(self, x, y);
	} else if (button == GDK_BUTTON_PRIMARY && n == 2) {
		gtk_widget_activate_action(GTK_WIDGET(self), "event-list.zoom", NULL);
	} else if (button == GDK_BUTTON_PRIMARY) {
		rs_viewer_list_choose(self, row, state & GDK_SHIFT_MASK);
	} else {
		return;
	}
	gtk_gesture_set_state(GTK_GESTURE(click), GTK_EVENT_SEQUENCE_CLAIMED);
}

static void long_pressed(GtkGestureLongPress *press, double x, double y, RsViewerList *self)
{
	guint64 row;

	if (!rs_viewer_list_row_at(self, y, &row))
		return;
	rs_viewer_list_choose(self, row, FALSE);
	rs_viewer_list_open_menu(self, x, y);
	gtk_gesture_set_state(GTK_GESTURE(press), GTK_EVENT_SEQUENCE_CLAIMED);
}

/* Rows near the record fill the timeline: that is near enough wherever it is dense or sparse. */
void rs_viewer_list_zoom(RsViewerList *self)
{
	guint64 first, n, from, until;

	if (!rs_viewer_list_selection(self, &first, &n))
		return;
	if (n == 1) {
		first -= MIN(first, ZOOM_ROWS);
		n = 2 * ZOOM_ROWS + 1;
	}
	n = MIN(n, rs_viewer_rows_count(self->rows) - first);
	if (rs_viewer_rows_ns(self->rows, first, &from) &&
	    rs_viewer_rows_ns(self->rows, first + n - 1, &until))
		rs_viewer_view_set_range(self->view, from, MAX(until, from) + 1);
}

void rs_viewer_list_init_input(RsViewerList *self)
{
	GtkEventController *keys = gtk_event_controller_key_new();
	GtkGesture *click = gtk_gesture_click_new();
	GtkGesture *press = gtk_gesture_long_press_new();

	g_signal_connect(keys, "key-pressed", G_CALLBACK(key_pressed), self);
	gtk_gesture_single_set_button(GTK_GESTURE_SINGLE(click), 0);
	g_signal_connect(click, "pressed", G_CALLBACK(pressed), self);
	gtk_gesture_single_set_touch_only(GTK_GESTURE_SINGLE(press), TRUE);
	g_signal_connect(press, "pressed", G_CALLBACK(long_pressed), self);
	gtk_widget_add_controller(GTK_WIDGET(self), keys);
	gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(click));
	gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(press));
}
