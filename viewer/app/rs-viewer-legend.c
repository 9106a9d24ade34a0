/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-legend.h"
#include "timeline/rs-trace-timeline.h"

#include <glib/gi18n.h>

#define LOSS_COLOUR 0xe01b24u
#define SIDE 12

static void draw(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
	const guint32 colour = GPOINTER_TO_UINT(data);

	cairo_set_source_rgb(cr, ((colour >> 16) & 0xff) / 255.0, ((colour >> 8) & 0xff) / 255.0,
			     (colour & 0xff) / 255.0);
	cairo_paint(cr);
}

static void add(GtkBox *box, const char *name, guint32 colour)
{
	GtkWidget *area = gtk_drawing_area_new(), *label = gtk_label_new(name);

	gtk_drawing_area_set_content_width(GTK_DRAWING_AREA(area), SIDE);
	gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(area), SIDE);
	gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), draw, GUINT_TO_POINTER(colour),
				       NULL);
	gtk_widget_set_valign(area, GTK_ALIGN_CENTER);
	gtk_widget_set_margin_start(area, 6);
	gtk_widget_add_css_class(label, "caption");
	gtk_widget_add_css_class(label, "dim-label");
	gtk_box_append(box, area);
	gtk_box_append(box, label);
}

GtkWidget *rs_viewer_legend_new(void)
{
	static const char *const names[RS_TRACE_STATES] = {
		NULL, N_("running"), N_("runnable"), N_("blocked"), N_("stopped"), N_("dead")};
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 4);

	for (guint i = RS_TRACE_STATE_RUNNING; i < RS_TRACE_STATES; i++)
		add(GTK_BOX(box), _(names[i]), rs_trace_timeline_state_colour(i));
	add(GTK_BOX(box), _("lost"), LOSS_COLOUR);
	return box;
}
