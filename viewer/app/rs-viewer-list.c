/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-list.h"

#include <glib/gi18n.h>
#include <math.h>

#include "app/rs-viewer-list-private.h"
#include "rs-trace-escape.h"

#define ROW_PAD 6 /* pixels of a row around its text */

enum {
	PROP_0,
	PROP_HADJUSTMENT,
	PROP_VADJUSTMENT,
	PROP_HSCROLL_POLICY,
	PROP_VSCROLL_POLICY,
};

G_DEFINE_FINAL_TYPE_WITH_CODE(RsViewerList, rs_viewer_list, GTK_TYPE_WIDGET,
			      G_IMPLEMENT_INTERFACE(GTK_TYPE_SCROLLABLE, NULL))

/* ---- rows ---- */

static gboolean on_tick(GtkWidget *widget, GdkFrameClock *clock, gpointer data);

/*
 * Rows are bound before the layout of a frame: while it is laid out, none may become another one,
 * whose font may be larger.
 */
void rs_viewer_list_refresh(RsViewerList *self)
{
	if (!self->tick)
		self->tick = gtk_widget_add_tick_callback(GTK_WIDGET(self), on_tick, NULL, NULL);
}

gboolean rs_viewer_list_selection(RsViewerList *self, guint64 *first, guint64 *n)
{
	if (self->current == RS_VIEWER_ROW_NONE)
		return FALSE;
	*first = MIN(self->anchor, self->current);
	*n = MAX(self->anchor, self->current) - *first + 1;
	return TRUE;
}

static gboolean is_selected(RsViewerList *self, guint64 row)
{
	guint64 first, n;

	return rs_viewer_list_selection(self, &first, &n) && row >= first && row - first < n;
}

guint rs_viewer_list_page(RsViewerList *self)
{
	return MAX(self->scroll.page / self->scroll.height, 1);
}

gboolean rs_viewer_list_row_at(RsViewerList *self, double y, guint64 *row)
{
	double below = y - self->header_height + self->scroll.offset;

	if (y < self->header_height || below < 0)
		return FALSE;
	*row = self->scroll.top + (guint64)(below / self->scroll.height);
	return *row < self->scroll.rows;
}

/* As many as may be in view at once: see rs_viewer_scroll_in_view(). */
static void fit_pool(RsViewerList *self)
{
	guint n = self->scroll.page / self->scroll.height + 3;

	while (self->pool->len > n)
		g_ptr_array_set_size(self->pool, (int)self->pool->len - 1);
	while (self->pool->len < n) {
		GtkWidget *row = GTK_WIDGET(rs_viewer_list_row_new(&self->look));

		gtk_widget_set_parent(row, GTK_WIDGET(self));
		g_ptr_array_add(self->pool, row);
	}
}

/* What a screen reader says of the list: the row that is current. */
void rs_viewer_list_say_current(RsViewerList *self)
{
	g_autofree char *said = NULL;
	RsViewerLine line;

	if (self->current != RS_VIEWER_ROW_NONE &&
	    rs_viewer_rows_peek(self->rows, self->current, &line)) {
		said = rs_viewer_columns_say(self->look.columns, self->look.with_source, &line,
					     self->look.style, self->look.wall);
		rs_viewer_line_clear(&line);
	}
	gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
				       said ? said : _("No event is selected."), -1);
}

static void bind_row(RsViewerList *self, RsViewerLine *line)
{
	guint64 number = line->number;
	RsViewerListRow *row = g_ptr_array_index(self->pool, number % self->pool->len);

	rs_viewer_list_row_bind(row, line);
	rs_viewer_list_row_select(row, is_selected(self, number), number == self->current);
	gtk_widget_set_child_visible(GTK_WIDGET(row), TRUE);
}

static void bind_rows(RsViewerList *self)
{
	guint wanted = MIN(rs_viewer_scroll_in_view(&self->scroll), self->pool->len);
	g_autofree RsViewerLine *lines = g_new0(RsViewerLine, wanted + 1);
	guint n = rs_viewer_rows_view(self->rows, self->scroll.top, wanted, lines);

	self->bound_top = self->scroll.top;
	self->n_bound = n;
	for (guint i = 0; i < n; i++)
		bind_row(self, &lines[i]);
	for (guint i = n; i < self->pool->len; i++)
		gtk_widget_set_child_visible(
			g_ptr_array_index(self->pool, (self->scroll.top + i) % self->pool->len),
			FALSE);
}

/* Where the list is now. */
static void fix_scroll(RsViewerList *self)
{
	const gboolean follows = rs_viewer_view_following(self->view);

	self->scroll.rows =
		follows && self->followed ? self->followed : rs_viewer_rows_count(self->rows);
	if (follows)
		rs_viewer_scroll_to_end(&self->scroll);
	rs_viewer_scroll_fix(&self->scroll);
}

/* Where the end is that it follows. */
static void follow(RsViewerList *self)
{
	if (rs_viewer_view_following(self->view)) {
		self->followed = rs_viewer_rows_follow(self->rows,
						       self->scroll.page / self->scroll.height + 1);
	} else if (self->followed) {
		rs_viewer_rows_unfollow(self->rows);
		self->followed = 0;
	}
}

static gboolean on_tick(GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
	RsViewerList *self = RS_VIEWER_LIST(widget);

	self->tick = 0;
	follow(self);
	fix_scroll(self);
	fit_pool(self);
	bind_rows(self);
	/* GTK 4.8 may forget an allocation that is queued while a sibling gets another size. */
	gtk_widget_queue_resize(widget);
	return G_SOURCE_REMOVE;
}

static void place_rows(RsViewerList *self, int x)
{
	for (guint i = 0; i < self->n_bound; i++) {
		guint64 number = self->bound_top + i;
		GtkWidget *row = g_ptr_array_index(self->pool, number % self->pool->len);
		double y = (double)(gint64)(number - self->scroll.top) * self->scroll.height -
			   self->scroll.offset + self->header_height;

		gtk_widget_measure(row, GTK_ORIENTATION_VERTICAL, -1, NULL, NULL, NULL, NULL);
		gtk_widget_size_allocate(row,
					 &(GtkAllocation){x, (int)floor(y), self->look.width,
							  (int)self->scroll.height},
					 -1);
	}
}

/* ---- layout ---- */

static void configure(RsViewerList *self, GtkOrientation orientation, double value, double upper,
		      double step, double page)
{
	GtkAdjustment *adjustment = self->adjustments[orientation];

	if (!adjustment)
		return;
	self->configuring = TRUE;
	gtk_adjustment_configure(adjustment, value, 0, upper, step, MAX(page - step, step), page);
	self->configuring = FALSE;
}

/* One source needs no column that names it. */
static void look_at_sources(RsViewerList *self)
{
	RsTraceTimeline *timeline = rs_viewer_rows_timeline(self->rows);
	gboolean many;

	rs_trace_timeline_lock(timeline);
	many = rs_trace_timeline_source(timeline, 1) != NULL;
	rs_trace_timeline_unlock(timeline);
	self->look.wall = rs_trace_document_wall_time(rs_viewer_view_document(self->view));
	if (many == self->look.with_source)
		return;
	self->look.with_source = many;
	rs_viewer_list_restyle(self);
}

static int measure_row(RsViewerList *self)
{
	int height;

	gtk_widget_measure(g_ptr_array_index(self->pool, 0), GTK_ORIENTATION_VERTICAL, -1, NULL,
			   &height, NULL, NULL);
	return MAX(height + ROW_PAD, 1);
}

static void allocate(GtkWidget *widget, int width, int height, int baseline)
{
	RsViewerList *self = RS_VIEWER_LIST(widget);
	double x = 0;

	gtk_widget_measure(self->header, GTK_ORIENTATION_VERTICAL, -1, &self->header_height, NULL,
			   NULL, NULL);
	self->row_height = measure_row(self);
	self->look.width = MAX(width, rs_viewer_list_look_least(&self->look));
	self->scroll.height = (guint)self->row_height;
	self->scroll.page = (guint)MAX(height - self->header_height, 1);
	fix_scroll(self);
	if (self->adjustments[GTK_ORIENTATION_HORIZONTAL])
		x = MIN(gtk_adjustment_get_value(self->adjustments[GTK_ORIENTATION_HORIZONTAL]),
			self->look.width - width);
	configure(self, GTK_ORIENTATION_HORIZONTAL, x, self->look.width, 32, width);
	configure(self, GTK_ORIENTATION_VERTICAL, rs_viewer_scroll_value(&self->scroll),
		  rs_viewer_scroll_upper(&self->scroll), self->row_height, self->scroll.page);
	if (gtk_widget_get_direction(widget) == GTK_TEXT_DIR_RTL)
		x = self->look.width - width - x;
	gtk_widget_measure(self->header, GTK_ORIENTATION_HORIZONTAL, -1, NULL, NULL, NULL, NULL);
	gtk_widget_size_allocate(
		self->header, &(GtkAllocation){-(int)x, 0, self->look.width, self->header_height},
		-1);
	place_rows(self, -(int)x);
	/* Its size is another one, or it has grown: more is to be seen, from the next frame on. */
	if (self->scroll.top != self->bound_top ||
	    self->n_bound < rs_viewer_scroll_in_view(&self->scroll))
		rs_viewer_list_refresh(self);
	if (self->menu)
		gtk_popover_present(GTK_POPOVER(self->menu));
}

static void measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
		    int *natural, int *minimum_baseline, int *natural_baseline)
{
	RsViewerList *self = RS_VIEWER_LIST(widget);

	*minimum_baseline = *natural_baseline = -1;
	if (orientation == GTK_ORIENTATION_HORIZONTAL) {
		*minimum = 1;
		*natural = rs_viewer_list_look_least(&self->look);
		return;
	}
	gtk_widget_measure(self->header, orientation, -1, minimum, NULL, NULL, NULL);
	*natural = *minimum + 10 * measure_row(self);
	*minimum += measure_row(self);
}

static void snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
	RsViewerList *self = RS_VIEWER_LIST(widget);
	int width = gtk_widget_get_width(widget), height = gtk_widget_get_height(widget);

	gtk_snapshot_push_clip(snapshot,
			       &GRAPHENE_RECT_INIT(0, (float)self->header_height, (float)width,
						   (float)MAX(height - self->header_height, 0)));
	for (guint i = 0; i < self->pool->len; i++)
		gtk_widget_snapshot_child(widget, g_ptr_array_index(self->pool, i), snapshot);
	gtk_snapshot_pop(snapshot);
	gtk_widget_snapshot_child(widget, self->header, snapshot);
}

void rs_viewer_list_restyle(RsViewerList *self)
{
	self->look.serial++;
	rs_viewer_rows_set_details(self->rows, rs_viewer_columns_want_details(self->look.columns));
	rs_viewer_list_header_update(RS_VIEWER_LIST_HEADER(self->header));
	rs_viewer_list_refresh(self);
}

/* ---- what there is ---- */

static void on_grown(RsViewerList *self)
{
	look_at_sources(self);
	rs_viewer_list_follow_chosen(self);
	rs_viewer_list_refresh(self);
}

static void on_replaced(RsViewerList *self)
{
	self->look.serial++;
	self->followed = 0;
	rs_viewer_scroll_to(&self->scroll, 0);
	rs_viewer_list_seek_chosen(self);
	rs_viewer_list_say_current(self);
	rs_viewer_list_update_actions(self);
	on_grown(self);
}

static void on_read(RsViewerList *self)
{
	rs_viewer_list_say_current(self);
	rs_viewer_list_refresh(self);
}

/* ---- the scrollable ---- */

static void on_value(GtkAdjustment *adjustment, RsViewerList *self)
{
	if (self->configuring)
		return;
	if (adjustment == self->adjustments[GTK_ORIENTATION_VERTICAL]) {
		rs_viewer_scroll_set_value(&self->scroll, gtk_adjustment_get_value(adjustment));
		/* What is sought may come much later. */
		self->seeking = FALSE;
		/* Who scrolls back wants to look at what is there. */
		if (!rs_viewer_scroll_is_at_end(&self->scroll))
			rs_viewer_view_set_following(self->view, FALSE);
	}
	rs_viewer_list_refresh(self);
}

static void set_adjustment(RsViewerList *self, GtkOrientation orientation,
			   GtkAdjustment *adjustment)
{
	if (adjustment && adjustment == self->adjustments[orientation])
		return;
	if (self->adjustments[orientation])
		g_signal_handlers_disconnect_by_func(self->adjustments[orientation], on_value,
						     self);
	if (!adjustment)
		adjustment = gtk_adjustment_new(0, 0, 0, 0, 0, 0);
	g_clear_object(&self->adjustments[orientation]);
	self->adjustments[orientation] = g_object_ref_sink(adjustment);
	g_signal_connect(adjustment, "value-changed", G_CALLBACK(on_value), self);
	rs_viewer_list_refresh(self);
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
	RsViewerList *self = RS_VIEWER_LIST(object);

	switch (id) {
	case PROP_HADJUSTMENT:
		g_value_set_object(value, self->adjustments[GTK_ORIENTATION_HORIZONTAL]);
		break;
	case PROP_VADJUSTMENT:
		g_value_set_object(value, self->adjustments[GTK_ORIENTATION_VERTICAL]);
		break;
	case PROP_HSCROLL_POLICY:
		g_value_set_enum(value, (int)self->policies[GTK_ORIENTATION_HORIZONTAL]);
		break;
	case PROP_VSCROLL_POLICY:
		g_value_set_enum(value, (int)self->policies[GTK_ORIENTATION_VERTICAL]);
		break;
	default:
		G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
	}
}

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
	RsViewerList *self = RS_VIEWER_LIST(object);

	switch (id) {
	case PROP_HADJUSTMENT:
		set_adjustment(self, GTK_ORIENTATION_HORIZONTAL, g_value_get_object(value));
		break;
	case PROP_VADJUSTMENT:
		set_adjustment(self, GTK_ORIENTATION_VERTICAL, g_value_get_object(value));
		break;
	case PROP_HSCROLL_POLICY:
		self->policies[GTK_ORIENTATION_HORIZONTAL] = (guint)g_value_get_enum(value);
		break;
	case PROP_VSCROLL_POLICY:
		self->policies[GTK_ORIENTATION_VERTICAL] = (guint)g_value_get_enum(value);
		break;
	default:
		G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
	}
}

/* ---- finding ---- */

static void on_found(RsViewerList *self, guint64 row, gboolean wrapped)
{
	gboolean at_start = row <= self->place;

	rs_viewer_list_choose(self, row, FALSE);
	if (wrapped)
		rs_viewer_list_notice(self, at_start ? _("The search went on at the start")
						     : _("The search went on at the end"));
}

static void on_missing(RsViewerList *self, const char *why)
{
	g_autofree char *escaped = why ? rs_trace_escape(why, -1, NULL) : NULL;

	rs_viewer_list_notice(self, escaped ? escaped : _("Nothing was found"));
}

gboolean rs_viewer_list_find(RsViewerList *self, RsViewerFindKind kind, const char *what,
			     gboolean forward, GError **error)
{
	gboolean is_chosen = self->current != RS_VIEWER_ROW_NONE;

	if (!rs_viewer_find_set(self->find, kind, what, error))
		return FALSE;
	rs_viewer_find_next(self->find, is_chosen ? self->current : self->place, !is_chosen,
			    forward);
	return TRUE;
}

RsViewerFind *rs_viewer_list_finder(RsViewerList *self)
{
	return self->find;
}

/* ---- settings ---- */

void rs_viewer_list_set_time_style(RsViewerList *self, RsViewerTimeStyle style)
{
	self->look.style = style;
	rs_viewer_list_restyle(self);
}

gboolean rs_viewer_list_add_field(RsViewerList *self, const char *field)
{
	if (!rs_viewer_columns_add_field(self->look.columns, field))
		return FALSE;
	rs_viewer_list_restyle(self);
	return TRUE;
}

void rs_viewer_list_save(RsViewerList *self, GKeyFile *file)
{
	rs_viewer_columns_save(self->look.columns, file, "list");
}

void rs_viewer_list_load(RsViewerList *self, GKeyFile *file)
{
	rs_viewer_columns_load(self->look.columns, file, "list");
	rs_viewer_list_restyle(self);
}

/* ---- the widget ---- */

GtkWidget *rs_viewer_list_new(RsViewerView *view)
{
	RsViewerList *self = g_object_new(RS_VIEWER_TYPE_LIST, NULL);

	self->view = g_object_ref(view);
	self->rows = rs_viewer_rows_new(rs_viewer_view_document(view));
	self->find = rs_viewer_find_new(rs_viewer_view_document(view));
	g_signal_connect_object(self->find, "found", G_CALLBACK(on_found), self, G_CONNECT_SWAPPED);
	g_signal_connect_object(self->find, "missing", G_CALLBACK(on_missing), self,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(self->rows, "grown", G_CALLBACK(on_grown), self, G_CONNECT_SWAPPED);
	g_signal_connect_object(self->rows, "replaced", G_CALLBACK(on_replaced), self,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(self->rows, "read", G_CALLBACK(on_read), self, G_CONNECT_SWAPPED);
	g_signal_connect_object(view, "current", G_CALLBACK(rs_viewer_list_follow_view), self,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(view, "following", G_CALLBACK(rs_viewer_list_refresh), self,
				G_CONNECT_SWAPPED);
	rs_viewer_list_follow_view(self);
	on_grown(self);
	return GTK_WIDGET(self);
}

static void dispose(GObject *object)
{
	RsViewerList *self = RS_VIEWER_LIST(object);

	if (self->tick)
		gtk_widget_remove_tick_callback(GTK_WIDGET(self), self->tick);
	self->tick = 0;
	g_cancellable_cancel(self->copying);
	g_clear_object(&self->copying);
	g_clear_pointer(&self->menu, gtk_widget_unparent);
	g_clear_pointer(&self->header, gtk_widget_unparent);
	if (self->pool)
		g_ptr_array_set_size(self->pool, 0);
	for (guint i = 0; i < G_N_ELEMENTS(self->adjustments); i++) {
		if (self->adjustments[i])
			g_signal_handlers_disconnect_by_func(self->adjustments[i], on_value, self);
		g_clear_object(&self->adjustments[i]);
	}
	g_clear_object(&self->find);
	g_clear_object(&self->rows);
	g_clear_object(&self->view);
	G_OBJECT_CLASS(rs_viewer_list_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	RsViewerList *self = RS_VIEWER_LIST(object);

	g_ptr_array_unref(self->pool);
	rs_viewer_mark_clear(&self->chosen);
	rs_viewer_columns_free(self->look.columns);
	G_OBJECT_CLASS(rs_viewer_list_parent_class)->finalize(object);
}

static void rs_viewer_list_class_init(RsViewerListClass *class)
{
	GObjectClass *object = G_OBJECT_CLASS(class);
	GtkWidgetClass *widget = GTK_WIDGET_CLASS(class);

	object->dispose = dispose;
	object->finalize = finalize;
	object->get_property = get_property;
	object->set_property = set_property;
	widget->measure = measure;
	widget->size_allocate = allocate;
	widget->snapshot = snapshot;
	g_object_class_override_property(object, PROP_HADJUSTMENT, "hadjustment");
	g_object_class_override_property(object, PROP_VADJUSTMENT, "vadjustment");
	g_object_class_override_property(object, PROP_HSCROLL_POLICY, "hscroll-policy");
	g_object_class_override_property(object, PROP_VSCROLL_POLICY, "vscroll-policy");
	g_signal_new("notice", RS_VIEWER_TYPE_LIST, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
		     G_TYPE_NONE, 1, G_TYPE_STRING);
	g_signal_new("filter-asked", RS_VIEWER_TYPE_LIST, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
		     G_TYPE_NONE, 2, G_TYPE_STRING, G_TYPE_STRING);
	rs_viewer_list_class_init_actions(widget);
	gtk_widget_class_set_css_name(widget, "eventlist");
	gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_GRID);
}

static void rs_viewer_list_init(RsViewerList *self)
{
	self->anchor = self->current = RS_VIEWER_ROW_NONE;
	self->look.columns = rs_viewer_columns_new();
	self->scroll.height = 1;
	self->scroll.page = 1;
	self->pool = g_ptr_array_new_with_free_func((GDestroyNotify)gtk_widget_unparent);
	fit_pool(self);
	self->header = rs_viewer_list_header_new(&self->look);
	gtk_widget_set_parent(self->header, GTK_WIDGET(self));
	gtk_widget_set_focusable(GTK_WIDGET(self), TRUE);
	gtk_widget_set_overflow(GTK_WIDGET(self), GTK_OVERFLOW_HIDDEN);
	gtk_widget_add_css_class(GTK_WIDGET(self), "view");
	gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Events"), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
				       _("No event is selected."), -1);
	g_signal_connect_swapped(self->header, "resized", G_CALLBACK(rs_viewer_list_refresh), self);
	g_signal_connect_swapped(self->header, "menu", G_CALLBACK(rs_viewer_list_open_columns),
				 self);
	rs_viewer_list_init_input(self);
	rs_viewer_list_update_actions(self);
}
