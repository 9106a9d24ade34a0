/* SPDX-License-Identifier: MIT */
/* What the files of the canvas share. */
#ifndef RS_VIEWER_CANVAS_PRIVATE_H
#define RS_VIEWER_CANVAS_PRIVATE_H

#include "app/rs-viewer-canvas.h"
#include "app/rs-viewer-strip.h"

G_BEGIN_DECLS

#define RULER_HEIGHT 30
#define HEADER_WIDTH 168

typedef enum {
	DRAG_NONE,
	DRAG_PAN,
	DRAG_SELECT,
	DRAG_MARKER_A,
	DRAG_MARKER_B,
	DRAG_HEIGHT,
	DRAG_LANE,
} RsViewerDrag;

/* Colours of the theme. */
typedef struct {
	GdkRGBA view, text, dim, header, border, grid, accent, error, marker_a, marker_b;
	gboolean is_dark;
} RsViewerLook;

struct _RsViewerCanvas {
	GtkWidget parent_instance;

	RsViewerView *view;
	RsTraceDocument *document;
	RsViewerLanes *lanes;
	RsViewerLane *lane; /* the chosen one */
	GtkAdjustment *adjustment;

	RsViewerFrame frame;
	guint room;          /* columns that it has room for */
	guint frames;        /* drawn so far */
	gboolean is_stale;   /* the trace has changed since */
	GPtrArray *in_view;  /* lanes of the last frame; not owned */
	GPtrArray *gathered; /* lanes whose events were gathered, the oldest first; not owned */
	guint n_gathering;
	guint n_changes; /* of the document, from 1 on: what is shown may be another timeline */
	guint wait;      /* source that gathers later what may not be gathered yet; 0: none */

	RsViewerLook look;
	gboolean has_look;
	GHashTable *layouts; /* text -> PangoLayout, of the size of bands; small ones */
	GHashTable *titles;  /* likewise, of the size of names */
	GtkIconPaintable *pin;

	gboolean hovers;
	double x, y; /* of the pointer */
	RsViewerDrag drag;
	gboolean dragged;              /* it has moved since it began */
	guint64 drag_from, drag_until; /* the range then, or the moment */
	double drag_scroll, drag_y;
	guint drag_height;
	RsViewerLane *drag_lane;
	double pinch; /* scale of the gesture so far */
	GtkWidget *menu;

	/* The event that was chosen here, so that the next one is known among equal times. */
	RsViewerLane *hit_lane;
	guint64 hit_index, hit_ns;
	gconstpointer hit_of; /* the timeline in which it has that index: only to be compared */
};

/* ---- geometry ---- */

int rs_viewer_canvas_time_width(RsViewerCanvas *canvas);
guint64 rs_viewer_canvas_time_at(RsViewerCanvas *canvas, double x);
double rs_viewer_canvas_place_of(RsViewerCanvas *canvas, guint64 ns);
/* Height of the part that does not scroll. */
int rs_viewer_canvas_pinned_height(RsViewerCanvas *canvas);
/* The lane at that height of the widget and how far below its top; NULL: none. */
RsViewerLane *rs_viewer_canvas_lane_at(RsViewerCanvas *canvas, double y, double *below);
/* Height of the widget at which a lane begins. FALSE: it is not seen. */
gboolean rs_viewer_canvas_lane_top(RsViewerCanvas *canvas, const RsViewerLane *lane, double *y);

/* Where the bands of a lane are, in pixels below its top. */
typedef struct {
	int top, height;
} RsViewerBand;

void rs_viewer_canvas_bands(const RsViewerLane *lane, RsViewerBand *events, RsViewerBand *spans);
/* What lasts is between them, if the lane has that; else its height is 0. */
RsViewerBand rs_viewer_canvas_lasting_band(const RsViewerLane *lane);
/* Of each of `n` rows of slices in a band. */
double rs_viewer_canvas_slice_height(const RsViewerBand *spans, guint n);
/* How high a lane is in which `n` rows of slices can be told apart. */
guint rs_viewer_canvas_pair_height(guint n);

/* ---- drawing ---- */

void rs_viewer_canvas_prepare(RsViewerCanvas *canvas);
void rs_viewer_canvas_snapshot(GtkWidget *widget, GtkSnapshot *snapshot);
void rs_viewer_canvas_draw_ruler(RsViewerCanvas *canvas, GtkSnapshot *snapshot);
void rs_viewer_canvas_draw_grid(RsViewerCanvas *canvas, GtkSnapshot *snapshot);
/* Markers, the selection, the current moment and the pointer. */
void rs_viewer_canvas_draw_marks(RsViewerCanvas *canvas, GtkSnapshot *snapshot);
const RsViewerLook *rs_viewer_canvas_look(RsViewerCanvas *canvas);
void rs_viewer_canvas_forget_look(RsViewerCanvas *canvas);
/* A layout of that text, which lives until the look is forgotten or many others were asked for. */
PangoLayout *rs_viewer_canvas_layout(RsViewerCanvas *canvas, const char *text);
PangoLayout *rs_viewer_canvas_title(RsViewerCanvas *canvas, const char *text);
/* Its left end is at x, its middle at y. */
void rs_viewer_canvas_draw_text(GtkSnapshot *snapshot, PangoLayout *layout, double x, double y,
				const GdkRGBA *colour);
void rs_viewer_canvas_draw_line(GtkSnapshot *snapshot, double x, double y, double height,
				const GdkRGBA *colour);

/* ---- work in the background ---- */

/* Sees to it that what the lane shows is gathered. */
void rs_viewer_canvas_gather(RsViewerCanvas *canvas, RsViewerLane *lane);
/* Forgets what was gathered of what another filter left. */
void rs_viewer_canvas_forget_former(RsViewerCanvas *canvas);
/* Begins to look for what a chosen lane shows. An error is kept in the strip too. */
gboolean rs_viewer_canvas_begin_chosen(RsViewerCanvas *canvas, RsViewerLane *lane, GError **error);

/* ---- events of lanes ---- */

typedef struct {
	guint64 ns;
	guint64 row;      /* of the shown timeline; G_MAXUINT64: not known */
	guint64 index;    /* in the lane */
	gconstpointer of; /* the timeline of that index: only to be compared */
	char *label;      /* of its class; to be freed */
} RsViewerHit;

/* The event of the lane that is nearest to a moment. FALSE: there is none within `reach` ns. */
gboolean rs_viewer_canvas_nearest(RsViewerCanvas *canvas, RsViewerLane *lane, guint64 ns,
				  guint64 reach, RsViewerHit *hit);
/*
 * What there is at a moment of a lane, and so many pixels below its top, for people; NULL: nothing.
 */
char *rs_viewer_canvas_describe(RsViewerCanvas *canvas, RsViewerLane *lane, guint64 from,
				guint64 until, double below);

/* ---- input ---- */

void rs_viewer_canvas_add_input(RsViewerCanvas *canvas);
void rs_viewer_canvas_popup(RsViewerCanvas *canvas, RsViewerLane *lane, double x, double y);
void rs_viewer_canvas_choose_at(RsViewerCanvas *canvas, RsViewerLane *lane, double x);

G_END_DECLS

#endif
