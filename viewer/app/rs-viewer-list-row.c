/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-list-row.h"

#include <glib/gi18n.h>

#define CHIP 3       /* width of the mark in the colour of an event or task */
#define CHIP_GAP 5   /* and what is between it and the text */
#define CHIP_INSET 6 /* above and below */

struct _RsViewerListRow {
	GtkWidget parent_instance;
	const RsViewerListLook *look;
	RsViewerLine line;
	gboolean bound;
	guint serial;
	GPtrArray *layouts; /* PangoLayout of each column that is shown, NULL: nothing is there */
};

G_DEFINE_FINAL_TYPE(RsViewerListRow, rs_viewer_list_row, GTK_TYPE_WIDGET)

/* ---- the look ---- */

gboolean rs_viewer_list_look_has(const RsViewerListLook *look, const RsViewerColumn *column)
{
	return column->shown && (column->kind != RS_VIEWER_COLUMN_SOURCE || look->with_source);
}

static int least_of(const RsViewerListLook *look, const RsViewerColumn *but)
{
	int width = 0;

	for (guint i = 0; i < look->columns->columns->len; i++) {
		const RsViewerColumn *column = g_ptr_array_index(look->columns->columns, i);

		if (column != but && rs_viewer_list_look_has(look, column))
			width += (int)column->width;
	}
	return width;
}

int rs_viewer_list_look_least(const RsViewerListLook *look)
{
	return least_of(look, NULL);
}

int rs_viewer_list_look_width(const RsViewerListLook *look, const RsViewerColumn *column)
{
	int width = (int)column->width;

	if (column->kind == RS_VIEWER_COLUMN_TEXT)
		width = MAX(width, look->width - least_of(look, column));
	return width;
}

/* ---- texts ---- */

static gboolean is_dim(const RsViewerColumn *column)
{
	return column->kind == RS_VIEWER_COLUMN_DELTA || column->kind == RS_VIEWER_COLUMN_SOURCE;
}

static PangoLayout *layout_of(RsViewerListRow *self, const RsViewerColumn *column)
{
	g_autofree char *text =
		rs_viewer_column_text(column, &self->line, self->look->style, self->look->wall);
	PangoLayout *layout;

	if (!*text)
		return NULL;
	layout = gtk_widget_create_pango_layout(GTK_WIDGET(self), text);
	pango_layout_set_single_paragraph_mode(layout, TRUE);
	pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END);
	return layout;
}

static void unref_layout(gpointer layout)
{
	if (layout)
		g_object_unref(layout);
}

static void make_layouts(RsViewerListRow *self)
{
	const RsViewerListLook *look = self->look;

	g_ptr_array_set_size(self->layouts, 0);
	for (guint i = 0; i < look->columns->columns->len; i++) {
		const RsViewerColumn *column = g_ptr_array_index(look->columns->columns, i);

		if (rs_viewer_list_look_has(look, column))
			g_ptr_array_add(self->layouts, layout_of(self, column));
	}
}

static void say(RsViewerListRow *self)
{
	g_autofree char *said =
		rs_viewer_columns_say(self->look->columns, self->look->with_source, &self->line,
				      self->look->style, self->look->wall);

	gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL, said,
				       -1);
}

static void set_class(RsViewerListRow *self, const char *name, gboolean set)
{
	if (set)
		gtk_widget_add_css_class(GTK_WIDGET(self), name);
	else
		gtk_widget_remove_css_class(GTK_WIDGET(self), name);
}

void rs_viewer_list_row_bind(RsViewerListRow *self, RsViewerLine *line)
{
	if (self->bound && self->serial == self->look->serial &&
	    self->line.number == line->number && self->line.row.ring == line->row.ring &&
	    self->line.row.index == line->row.index && self->line.before == line->before &&
	    self->line.read == line->read && self->line.failed == line->failed) {
		rs_viewer_line_clear(line);
		return;
	}
	rs_viewer_line_clear(&self->line);
	self->line = *line;
	*line = (RsViewerLine){0};
	self->bound = TRUE;
	self->serial = self->look->serial;
	set_class(self, "loss", self->line.row.class == RS_TRACE_CLASS_LOSS);
	set_class(self, "boot", self->line.row.class == RS_TRACE_CLASS_BOOT);
	make_layouts(self);
	say(self);
	gtk_widget_queue_draw(GTK_WIDGET(self));
}

void rs_viewer_list_row_select(RsViewerListRow *self, gboolean selected, gboolean current)
{
	if (selected)
		gtk_widget_set_state_flags(GTK_WIDGET(self), GTK_STATE_FLAG_SELECTED, FALSE);
	else
		gtk_widget_unset_state_flags(GTK_WIDGET(self), GTK_STATE_FLAG_SELECTED);
	set_class(self, "current", current);
	gtk_accessible_update_state(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_STATE_SELECTED, selected,
				    -1);
}

/* ---- drawing ---- */

static void draw_chip(GtkSnapshot *snapshot, int x, int height, guint32 colour)
{
	GdkRGBA rgba = {(float)(colour >> 16 & 0xff) / 255.f, (float)(colour >> 8 & 0xff) / 255.f,
			(float)(colour & 0xff) / 255.f, 1.f};

	gtk_snapshot_append_color(snapshot, &rgba,
				  &GRAPHENE_RECT_INIT((float)x, CHIP_INSET, CHIP,
						      (float)MAX(height - 2 * CHIP_INSET, 1)));
}

/* In the colour that the timeline has for it. RS_TRACE_PALETTE_NONE: it has none. */
static guint32 chip_of(const RsViewerListRow *self, const RsViewerColumn *column)
{
	if (column->kind == RS_VIEWER_COLUMN_TASK)
		return self->line.task_colour;
	if (column->kind == RS_VIEWER_COLUMN_EVENT)
		return self->line.event_colour;
	return RS_TRACE_PALETTE_NONE;
}

static void draw_text(GtkSnapshot *snapshot, PangoLayout *layout, const RsViewerColumn *column,
		      int x, int width, int height, GdkRGBA colour)
{
	int text_width, text_height;

	if (is_dim(column))
		colour.alpha *= .7f;
	pango_layout_set_width(layout, MAX(width, 1) * PANGO_SCALE);
	pango_layout_get_pixel_size(layout, &text_width, &text_height);
	if (rs_viewer_column_is_number(column))
		x += MAX(width - text_width, 0);
	gtk_snapshot_save(snapshot);
	gtk_snapshot_translate(snapshot,
			       &GRAPHENE_POINT_INIT((float)x, (float)((height - text_height) / 2)));
	gtk_snapshot_append_layout(snapshot, layout, &colour);
	gtk_snapshot_restore(snapshot);
}

static void snapshot_row(GtkWidget *widget, GtkSnapshot *snapshot)
{
	RsViewerListRow *self = RS_VIEWER_LIST_ROW(widget);
	const RsViewerListLook *look = self->look;
	int height = gtk_widget_get_height(widget), x = 0;
	gboolean left = gtk_widget_get_direction(widget) != GTK_TEXT_DIR_RTL;
	GdkRGBA colour;
	guint n = 0;

	gtk_style_context_get_color(gtk_widget_get_style_context(widget), &colour);
	for (guint i = 0; i < look->columns->columns->len; i++) {
		const RsViewerColumn *column = g_ptr_array_index(look->columns->columns, i);
		int width, at, inset = 0;
		guint32 chip = chip_of(self, column);

		if (!rs_viewer_list_look_has(look, column) || n >= self->layouts->len)
			continue;
		width = rs_viewer_list_look_width(look, column);
		at = left ? x : look->width - x - width;
		if (chip != RS_TRACE_PALETTE_NONE) {
			draw_chip(snapshot, at + RS_VIEWER_LIST_PAD, height, chip);
			inset = CHIP + CHIP_GAP;
		}
		if (g_ptr_array_index(self->layouts, n))
			draw_text(snapshot, g_ptr_array_index(self->layouts, n), column,
				  at + RS_VIEWER_LIST_PAD + inset,
				  width - 2 * RS_VIEWER_LIST_PAD - inset, height, colour);
		x += width;
		n++;
	}
}

static void measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
		    int *natural, int *minimum_baseline, int *natural_baseline)
{
	g_autoptr(PangoLayout) layout = NULL;

	*minimum_baseline = *natural_baseline = -1;
	if (orientation == GTK_ORIENTATION_HORIZONTAL) {
		*minimum = *natural = 1;
		return;
	}
	layout = gtk_widget_create_pango_layout(widget, "Mg0");
	pango_layout_get_pixel_size(layout, NULL, minimum);
	*natural = *minimum;
}

/* Another font or colour. */
static void css_changed(GtkWidget *widget, GtkCssStyleChange *change)
{
	RsViewerListRow *self = RS_VIEWER_LIST_ROW(widget);

	GTK_WIDGET_CLASS(rs_viewer_list_row_parent_class)->css_changed(widget, change);
	for (guint i = 0; i < self->layouts->len; i++)
		if (g_ptr_array_index(self->layouts, i))
			pango_layout_context_changed(g_ptr_array_index(self->layouts, i));
}

/* ---- the widget ---- */

RsViewerListRow *rs_viewer_list_row_new(const RsViewerListLook *look)
{
	RsViewerListRow *self = g_object_new(RS_VIEWER_TYPE_LIST_ROW, NULL);

	self->look = look;
	return self;
}

static void finalize(GObject *object)
{
	RsViewerListRow *self = RS_VIEWER_LIST_ROW(object);

	rs_viewer_line_clear(&self->line);
	g_ptr_array_unref(self->layouts);
	G_OBJECT_CLASS(rs_viewer_list_row_parent_class)->finalize(object);
}

static void rs_viewer_list_row_class_init(RsViewerListRowClass *class)
{
	GtkWidgetClass *widget = GTK_WIDGET_CLASS(class);

	G_OBJECT_CLASS(class)->finalize = finalize;
	widget->snapshot = snapshot_row;
	widget->measure = measure;
	widget->css_changed = css_changed;
	gtk_widget_class_set_css_name(widget, "eventrow");
	gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_ROW);
}

static void rs_viewer_list_row_init(RsViewerListRow *self)
{
	self->layouts = g_ptr_array_new_with_free_func(unref_layout);
}
