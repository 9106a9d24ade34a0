/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-flame.h"

#include "app/rs-viewer-time.h"

#include <glib/gi18n.h>

#define ROW 20 /* pixels */
#define NONE G_MAXUINT
#define ROWS_MOST 64u

struct _RsViewerFlame {
	GtkWidget parent;
	GArray *boxes; /* RsViewerFlameBox; NULL: none */
	gboolean times;
	guint64 from, until; /* what fills the width */
	guint root;          /* the box that does; NONE: all */
	guint chosen, hover;
	guint rows;
	GArray *by_depth[ROWS_MOST]; /* of each row: guint, its boxes */
};

G_DEFINE_FINAL_TYPE(RsViewerFlame, rs_viewer_flame, GTK_TYPE_WIDGET)

static const RsViewerFlameBox *box(const RsViewerFlame *flame, guint i)
{
	return &g_array_index(flame->boxes, RsViewerFlameBox, i);
}

static guint n_boxes(const RsViewerFlame *flame)
{
	return flame->boxes ? flame->boxes->len : 0;
}

/* ---- what a box says ---- */

static char *amount(const RsViewerFlame *flame, guint64 value)
{
	return flame->times ? rs_viewer_time_duration(value)
			    : g_strdup_printf("%" G_GUINT64_FORMAT, value);
}

static char *describe(const RsViewerFlame *flame, guint i)
{
	g_autofree char *total = amount(flame, box(flame, i)->total);
	g_autofree char *self = amount(flame, box(flame, i)->self);

	g_autofree char *count = g_strdup_printf("%" G_GUINT64_FORMAT, box(flame, i)->count);

	/* Translators: a box of a flame graph: its name, all of it, what is its own, how often */
	return g_strdup_printf(_("%s: %s, %s of it its own, %s times"), box(flame, i)->name, total,
			       self, count);
}

static void choose(RsViewerFlame *flame, guint i)
{
	g_autofree char *text = i < n_boxes(flame) ? describe(flame, i) : g_strdup("");

	flame->chosen = i;
	gtk_accessible_update_property(GTK_ACCESSIBLE(flame), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
				       text, -1);
	gtk_widget_queue_draw(GTK_WIDGET(flame));
}

/* ---- where boxes are ---- */

static float x_of(RsViewerFlame *flame, guint64 at)
{
	double width = gtk_widget_get_width(GTK_WIDGET(flame));

	at = CLAMP(at, flame->from, flame->until);
	return (float)((double)(at - flame->from) / (double)(flame->until - flame->from) * width);
}

/* The boxes of a depth lie one behind the other. */
static guint box_at(RsViewerFlame *flame, double x, double y)
{
	double depth = (gtk_widget_get_height(GTK_WIDGET(flame)) - y) / ROW;
	const GArray *row;
	guint low = 0, high, i;

	if (depth < 0 || depth >= flame->rows)
		return NONE;
	row = flame->by_depth[(guint)depth];
	high = row->len;
	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (x_of(flame, box(flame, g_array_index(row, guint, middle))->at) <= x)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NONE;
	i = g_array_index(row, guint, low - 1);
	return x < x_of(flame, box(flame, i)->at + box(flame, i)->total) ? i : NONE;
}

static guint parent_of(const RsViewerFlame *flame, guint i)
{
	for (guint k = i; k-- > 0;)
		if (box(flame, k)->depth + 1 == box(flame, i)->depth)
			return k;
	return NONE;
}

static void show_box(RsViewerFlame *flame, guint i)
{
	guint64 until = 1;

	flame->root = i;
	if (i == NONE) {
		for (guint k = 0; k < n_boxes(flame); k++)
			until = MAX(until, box(flame, k)->at + box(flame, k)->total);
		flame->from = 0;
		flame->until = until;
	} else {
		flame->from = box(flame, i)->at;
		flame->until = flame->from + MAX(box(flame, i)->total, 1);
	}
	gtk_widget_queue_draw(GTK_WIDGET(flame));
}

void rs_viewer_flame_set(RsViewerFlame *flame, GArray *boxes, gboolean times)
{
	g_clear_pointer(&flame->boxes, g_array_unref);
	flame->boxes = boxes;
	flame->times = times;
	flame->hover = NONE;
	flame->rows = 0;
	for (guint i = 0; i < ROWS_MOST; i++)
		g_array_set_size(flame->by_depth[i], 0);
	for (guint i = 0; i < n_boxes(flame); i++) {
		guint depth = box(flame, i)->depth;

		flame->rows = MAX(flame->rows, MIN(depth + 1, ROWS_MOST));
		if (depth < ROWS_MOST)
			g_array_append_val(flame->by_depth[depth], i);
	}
	choose(flame, NONE);
	show_box(flame, NONE);
	gtk_widget_queue_resize(GTK_WIDGET(flame));
}

/* ---- drawing ---- */

/* Warm, and the same for the same name. */
static GdkRGBA colour_of(const char *name)
{
	guint hash = g_str_hash(name) * 2654435761u;

	return (GdkRGBA){0.86f + (float)(hash >> 28) / 120,
			 0.45f + (float)(hash >> 20 & 0xff) / 700,
			 0.25f + (float)(hash >> 12 & 0xff) / 1500, 1};
}

static void draw_box(RsViewerFlame *flame, GtkSnapshot *snapshot, guint i)
{
	const RsViewerFlameBox *what = box(flame, i);
	float x = x_of(flame, what->at), width = x_of(flame, what->at + what->total) - x;
	float y = (float)(gtk_widget_get_height(GTK_WIDGET(flame)) - (int)(what->depth + 1) * ROW);
	GdkRGBA colour = colour_of(what->name), black = {0, 0, 0, 0.9f};
	g_autoptr(PangoLayout) layout = NULL;

	if (i == flame->chosen || i == flame->hover)
		colour = (GdkRGBA){0.6f, 0.76f, 0.95f, 1};
	gtk_snapshot_append_color(snapshot, &colour,
				  &GRAPHENE_RECT_INIT(x, y, MAX(width - 1, 1), ROW - 1));
	if (width < 30)
		return;
	layout = gtk_widget_create_pango_layout(GTK_WIDGET(flame), what->name);
	pango_layout_set_width(layout, (int)(width - 6) * PANGO_SCALE);
	pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END);
	gtk_snapshot_save(snapshot);
	gtk_snapshot_translate(snapshot, &GRAPHENE_POINT_INIT(x + 3, y + 1));
	gtk_snapshot_append_layout(snapshot, layout, &black);
	gtk_snapshot_restore(snapshot);
}

/* Of boxes that are too narrow to be seen by themselves, one for each half of a pixel is drawn. */
static void draw_row(RsViewerFlame *flame, GtkSnapshot *snapshot, const GArray *row)
{
	float drawn = -1;

	for (guint k = 0; k < row->len; k++) {
		guint i = g_array_index(row, guint, k);
		const RsViewerFlameBox *what = box(flame, i);
		float end = x_of(flame, what->at + what->total);

		if (what->at >= flame->until)
			return;
		if (what->at + what->total <= flame->from || end < drawn + .5f)
			continue;
		draw_box(flame, snapshot, i);
		drawn = end;
	}
}

static void snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
	RsViewerFlame *flame = RS_VIEWER_FLAME(widget);

	gtk_snapshot_push_clip(snapshot,
			       &GRAPHENE_RECT_INIT(0, 0, (float)gtk_widget_get_width(widget),
						   (float)gtk_widget_get_height(widget)));
	for (guint depth = 0; depth < flame->rows; depth++)
		draw_row(flame, snapshot, flame->by_depth[depth]);
	gtk_snapshot_pop(snapshot);
	if (gtk_widget_has_visible_focus(widget))
		gtk_snapshot_render_focus(snapshot, gtk_widget_get_style_context(widget), 0, 0,
					  gtk_widget_get_width(widget),
					  gtk_widget_get_height(widget));
}

static void measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
		    int *natural, int *minimum_baseline, int *natural_baseline)
{
	int rows = (int)MAX(RS_VIEWER_FLAME(widget)->rows, 1) * ROW;

	*minimum = *natural = orientation == GTK_ORIENTATION_VERTICAL ? rows : 120;
}

static gboolean query_tooltip(GtkWidget *widget, int x, int y, gboolean keyboard,
			      GtkTooltip *tooltip)
{
	RsViewerFlame *flame = RS_VIEWER_FLAME(widget);
	guint i = keyboard ? flame->chosen : box_at(flame, x, y);
	g_autofree char *text = NULL;

	if (i >= n_boxes(flame))
		return FALSE;
	text = describe(flame, i);
	gtk_tooltip_set_text(tooltip, text);
	return TRUE;
}

/* ---- input ---- */

/* The next box of that depth in that direction. */
static guint next_box(const RsViewerFlame *flame, guint from, guint depth, int step)
{
	for (guint i = from + (guint)step; i < n_boxes(flame); i += (guint)step)
		if (box(flame, i)->depth == depth)
			return i;
	return from;
}

static gboolean on_key(RsViewerFlame *flame, guint key)
{
	guint i = flame->chosen, depth;

	if (!n_boxes(flame))
		return GDK_EVENT_PROPAGATE;
	if (key == GDK_KEY_BackSpace) {
		show_box(flame, flame->root == NONE ? NONE : parent_of(flame, flame->root));
		return GDK_EVENT_STOP;
	}
	if (i >= n_boxes(flame)) {
		if (key != GDK_KEY_Up && key != GDK_KEY_Left && key != GDK_KEY_Right)
			return GDK_EVENT_PROPAGATE;
		choose(flame, 0);
		return GDK_EVENT_STOP;
	}
	depth = box(flame, i)->depth;
	if (key == GDK_KEY_Up && depth + 1 < flame->rows && i + 1 < n_boxes(flame) &&
	    box(flame, i + 1)->depth == depth + 1)
		choose(flame, i + 1);
	else if (key == GDK_KEY_Down && depth)
		choose(flame, parent_of(flame, i));
	else if (key == GDK_KEY_Left)
		choose(flame, next_box(flame, i, depth, -1));
	else if (key == GDK_KEY_Right)
		choose(flame, next_box(flame, i, depth, 1));
	else if (key == GDK_KEY_Return || key == GDK_KEY_KP_Enter)
		show_box(flame, i);
	else
		return key == GDK_KEY_Up || key == GDK_KEY_Down;
	return GDK_EVENT_STOP;
}

static void on_motion(RsViewerFlame *flame, double x, double y)
{
	guint i = box_at(flame, x, y);

	if (i == flame->hover)
		return;
	flame->hover = i;
	gtk_widget_queue_draw(GTK_WIDGET(flame));
}

static void on_leave(RsViewerFlame *flame)
{
	flame->hover = NONE;
	gtk_widget_queue_draw(GTK_WIDGET(flame));
}

/* Of the box that fills the width: back to what is below it. */
static void on_click(RsViewerFlame *flame, int n_press, double x, double y)
{
	guint i = box_at(flame, x, y);

	gtk_widget_grab_focus(GTK_WIDGET(flame));
	if (i == NONE)
		return;
	choose(flame, i);
	show_box(flame, i == flame->root ? parent_of(flame, i) : i);
}

/* ---- the widget ---- */

static void finalize(GObject *object)
{
	RsViewerFlame *flame = RS_VIEWER_FLAME(object);

	g_clear_pointer(&flame->boxes, g_array_unref);
	for (guint i = 0; i < ROWS_MOST; i++)
		g_array_unref(flame->by_depth[i]);
	G_OBJECT_CLASS(rs_viewer_flame_parent_class)->finalize(object);
}

static void rs_viewer_flame_class_init(RsViewerFlameClass *class)
{
	GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

	G_OBJECT_CLASS(class)->finalize = finalize;
	widget_class->snapshot = snapshot;
	widget_class->measure = measure;
	widget_class->query_tooltip = query_tooltip;
	gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void rs_viewer_flame_init(RsViewerFlame *flame)
{
	GtkEventController *motion = gtk_event_controller_motion_new();
	GtkEventController *keys = gtk_event_controller_key_new();
	GtkGesture *click = gtk_gesture_click_new();

	flame->chosen = flame->hover = flame->root = NONE;
	flame->until = 1;
	for (guint i = 0; i < ROWS_MOST; i++)
		flame->by_depth[i] = g_array_new(FALSE, FALSE, sizeof(guint));
	gtk_widget_set_focusable(GTK_WIDGET(flame), TRUE);
	gtk_widget_set_has_tooltip(GTK_WIDGET(flame), TRUE);
	gtk_accessible_update_property(GTK_ACCESSIBLE(flame), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Flame graph"), -1);
	g_signal_connect_swapped(motion, "motion", G_CALLBACK(on_motion), flame);
	g_signal_connect_swapped(motion, "leave", G_CALLBACK(on_leave), flame);
	g_signal_connect_swapped(keys, "key-pressed", G_CALLBACK(on_key), flame);
	g_signal_connect_swapped(click, "pressed", G_CALLBACK(on_click), flame);
	gtk_widget_add_controller(GTK_WIDGET(flame), motion);
	gtk_widget_add_controller(GTK_WIDGET(flame), keys);
	gtk_widget_add_controller(GTK_WIDGET(flame), GTK_EVENT_CONTROLLER(click));
}

GtkWidget *rs_viewer_flame_new(void)
{
	return g_object_new(RS_VIEWER_TYPE_FLAME, NULL);
}
