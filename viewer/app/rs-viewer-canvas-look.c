/* SPDX-License-Identifier: MIT */
/* Colours and texts of the canvas, from the theme. */
#include "app/rs-viewer-canvas-private.h"

#include <adwaita.h>

#define LAYOUTS 2048u /* that are kept */

static GdkRGBA lookup(GtkStyleContext *context, const char *name, const char *otherwise)
{
	GdkRGBA colour;

	if (!gtk_style_context_lookup_color(context, name, &colour))
		gdk_rgba_parse(&colour, otherwise);
	return colour;
}

static GdkRGBA with_alpha(GdkRGBA colour, float alpha)
{
	colour.alpha = alpha;
	return colour;
}

const RsViewerLook *rs_viewer_canvas_look(RsViewerCanvas *canvas)
{
	GtkStyleContext *context = gtk_widget_get_style_context(GTK_WIDGET(canvas));
	const gboolean contrast =
		adw_style_manager_get_high_contrast(adw_style_manager_get_default());
	RsViewerLook *look = &canvas->look;

	if (canvas->has_look)
		return look;
	look->view = lookup(context, "view_bg_color", "#ffffff");
	look->text = lookup(context, "view_fg_color", "#2e3436");
	look->header = lookup(context, "window_bg_color", "#fafafa");
	look->accent = lookup(context, "accent_bg_color", "#3584e4");
	look->error = lookup(context, "error_color", "#c01c28");
	look->is_dark = look->view.red + look->view.green + look->view.blue < 1.5f;
	look->dim = with_alpha(look->text, look->text.alpha * (contrast ? 0.9f : 0.6f));
	look->border = with_alpha(look->text, look->text.alpha * (contrast ? 0.5f : 0.18f));
	look->grid = with_alpha(look->text, look->text.alpha * (contrast ? 0.14f : 0.08f));
	look->marker_a = lookup(context, "marker_a_color", "#c64600");
	look->marker_b = lookup(context, "marker_b_color", "#813d9c");
	canvas->has_look = TRUE;
	return look;
}

void rs_viewer_canvas_forget_look(RsViewerCanvas *canvas)
{
	canvas->has_look = FALSE;
	g_hash_table_remove_all(canvas->layouts);
	g_hash_table_remove_all(canvas->titles);
}

static PangoLayout *cached(RsViewerCanvas *canvas, GHashTable *layouts, const char *text,
			   double scale)
{
	PangoLayout *layout = g_hash_table_lookup(layouts, text);
	g_autoptr(PangoAttrList) attributes = NULL;

	if (layout)
		return layout;
	if (g_hash_table_size(layouts) >= LAYOUTS)
		g_hash_table_remove_all(layouts);
	layout = gtk_widget_create_pango_layout(GTK_WIDGET(canvas), text);
	attributes = pango_attr_list_new();
	pango_attr_list_insert(attributes, pango_attr_scale_new(scale));
	pango_attr_list_insert(attributes, pango_attr_font_features_new("tnum=1"));
	pango_layout_set_attributes(layout, attributes);
	pango_layout_set_single_paragraph_mode(layout, TRUE);
	pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END);
	g_hash_table_insert(layouts, g_strdup(text), layout);
	return layout;
}

PangoLayout *rs_viewer_canvas_layout(RsViewerCanvas *canvas, const char *text)
{
	return cached(canvas, canvas->layouts, text, 0.8);
}

PangoLayout *rs_viewer_canvas_title(RsViewerCanvas *canvas, const char *text)
{
	return cached(canvas, canvas->titles, text, 0.9);
}

void rs_viewer_canvas_draw_text(GtkSnapshot *snapshot, PangoLayout *layout, double x, double y,
				const GdkRGBA *colour)
{
	int height;

	pango_layout_get_pixel_size(layout, NULL, &height);
	gtk_snapshot_save(snapshot);
	gtk_snapshot_translate(snapshot,
			       &GRAPHENE_POINT_INIT((float)x, (float)(int)(y - height / 2.0)));
	gtk_snapshot_append_layout(snapshot, layout, colour);
	gtk_snapshot_restore(snapshot);
}

void rs_viewer_canvas_draw_line(GtkSnapshot *snapshot, double x, double y, double height,
				const GdkRGBA *colour)
{
	gtk_snapshot_append_color(
		snapshot, colour,
		&GRAPHENE_RECT_INIT((float)(int)x, (float)y, 1, (float)MAX(height, 0)));
}
