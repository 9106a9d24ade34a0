/* SPDX-License-Identifier: MIT */
/* What the parts of the event list share: layout, input, and the menus with their actions. */
#ifndef RS_VIEWER_LIST_PRIVATE_H
#define RS_VIEWER_LIST_PRIVATE_H

#include "app/rs-viewer-list-header.h"
#include "app/rs-viewer-list-row.h"
#include "app/rs-viewer-list.h"
#include "app/rs-viewer-mark.h"
#include "app/rs-viewer-rows.h"
#include "app/rs-viewer-scroll.h"

struct _RsViewerList {
	GtkWidget parent_instance;
	RsViewerView *view;
	RsViewerRows *rows;
	RsViewerFind *find;
	RsViewerListLook look;
	RsViewerScroll scroll;

	GtkAdjustment *adjustments[2]; /* by GtkOrientation */
	guint policies[2];
	gboolean configuring; /* the adjustments are changed by the list itself */

	GtkWidget *header;
	int header_height, row_height;
	guint tick;        /* rows are to be bound in the next frame; 0: they are not */
	guint64 bound_top; /* the first row that is bound */
	guint n_bound;
	guint64 followed; /* rows as rs_viewer_rows_follow() has them; 0: it does not follow */
	GPtrArray *pool;  /* RsViewerListRow; row `number` is at number % pool->len */
	GtkWidget *menu;  /* the popover that is or was open last; NULL: none was */

	guint64 anchor, current; /* the selection is from one to the other; RS_VIEWER_ROW_NONE */
	RsTraceTimelineRow anchor_at, current_at; /* which records these are */
	guint64 place;                            /* where keys go on from if nothing is selected */
	gboolean choosing; /* the view is told what is current by the list itself */
	/* The record that was chosen last, which a filter may hide. */
	RsViewerMark chosen;
	/* Of a filter that is at work: the moment that was current, whose row may still come. */
	gboolean seeking;
	guint64 sought;
	GCancellable *copying; /* NULL: nothing is copied */
};

/* ---- rs-viewer-list.c ---- */
/* All rows are to be looked at anew. */
void rs_viewer_list_refresh(RsViewerList *self);
/* Columns or how they look have changed. */
void rs_viewer_list_restyle(RsViewerList *self);
/* The row at this place of the widget. FALSE: there is none. */
gboolean rs_viewer_list_row_at(RsViewerList *self, double y, guint64 *row);
/* Rows in view from its upper edge to its lower. */
guint rs_viewer_list_page(RsViewerList *self);
/* A screen reader is told what is current. */
void rs_viewer_list_say_current(RsViewerList *self);

/* ---- rs-viewer-list-chosen.c ---- */
/* Somebody else has chosen a record or a moment. */
void rs_viewer_list_follow_view(RsViewerList *self);
/* There are more rows. */
void rs_viewer_list_follow_chosen(RsViewerList *self);
/* There are other rows: what was chosen is sought among them. */
void rs_viewer_list_seek_chosen(RsViewerList *self);
/* Makes a row current because the user wants it. `extend`: the selection grows to it. */
void rs_viewer_list_choose(RsViewerList *self, guint64 row, gboolean extend);

/* ---- rs-viewer-list-input.c ---- */
void rs_viewer_list_init_input(RsViewerList *self);
/* The timeline shows the selection, or a record with some around it. */
void rs_viewer_list_zoom(RsViewerList *self);

/* ---- rs-viewer-list-menu.c ---- */
void rs_viewer_list_class_init_actions(GtkWidgetClass *class);
void rs_viewer_list_update_actions(RsViewerList *self);
/* The menu of a row at a place of the widget. */
void rs_viewer_list_open_menu(RsViewerList *self, double x, double y);
/* The menu of columns below a head. */
void rs_viewer_list_open_columns(RsViewerList *self, GtkWidget *button);
void rs_viewer_list_notice(RsViewerList *self, const char *text);

#endif
