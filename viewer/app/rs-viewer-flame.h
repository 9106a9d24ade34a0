/* SPDX-License-Identifier: MIT */
/*
 * A flame graph: boxes on boxes, each as wide as it lasted or as often as it came. Boxes that are
 * chosen, by a click or Enter, fill the width; Backspace goes back to the one below. The arrow keys
 * go from box to box.
 *
 * Thread: main. Trust: names are of guests: they are escaped text, never markup.
 */
#ifndef RS_VIEWER_FLAME_H
#define RS_VIEWER_FLAME_H

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* Parents stand before their children, and those of one parent by `at`. */
typedef struct {
	char *name;    /* escaped; freed with the box */
	guint depth;   /* 0: at the bottom */
	guint64 at;    /* where it begins: no less than where its parent does */
	guint64 total; /* its width: the parent holds it */
	guint64 self;  /* what its children have not */
	guint64 count;
} RsViewerFlameBox;

#define RS_VIEWER_TYPE_FLAME (rs_viewer_flame_get_type())
G_DECLARE_FINAL_TYPE(RsViewerFlame, rs_viewer_flame, RS_VIEWER, FLAME, GtkWidget)

GtkWidget *rs_viewer_flame_new(void);
/*
 * Takes `boxes` over, a GArray of RsViewerFlameBox whose clear function frees the name; NULL: none.
 * `times`: widths are nanoseconds, else numbers of records.
 */
void rs_viewer_flame_set(RsViewerFlame *flame, GArray *boxes, gboolean times);

G_END_DECLS

#endif
