/* SPDX-License-Identifier: MIT */
/* Which record of the list is chosen: also while rows shift, and in the timeline of a filter. */
#include "app/rs-viewer-list-private.h"

/* Which record a row is, and what it will be after a filter. */
static void note_chosen(RsViewerList *self)
{
	RsTraceTimeline *timeline = rs_viewer_rows_timeline(self->rows);

	rs_viewer_mark_clear(&self->chosen);
	if (self->current == RS_VIEWER_ROW_NONE ||
	    !rs_viewer_rows_get(self->rows, self->current, &self->current_at))
		return;
	if (self->anchor == self->current)
		self->anchor_at = self->current_at;
	rs_trace_timeline_lock(timeline);
	rs_viewer_mark_set(&self->chosen, timeline, &self->current_at);
	rs_trace_timeline_unlock(timeline);
}

static void select_row(RsViewerList *self, guint64 row, gboolean extend)
{
	self->current = row;
	if (!extend || self->anchor == RS_VIEWER_ROW_NONE)
		self->anchor = row;
	self->seeking = FALSE;
	note_chosen(self);
	if (row != RS_VIEWER_ROW_NONE) {
		self->place = row;
		/* The row may have come after the last frame. */
		self->scroll.rows = rs_viewer_rows_count(self->rows);
		rs_viewer_scroll_show(&self->scroll, row);
	}
	rs_viewer_list_update_actions(self);
	rs_viewer_list_say_current(self);
	rs_viewer_list_refresh(self);
}

/* Rows that come to a trace that grows may shift the numbers of those that are there. */
static void follow_numbers(RsViewerList *self)
{
	guint64 row;

	if (self->current == RS_VIEWER_ROW_NONE)
		return;
	row = rs_viewer_rows_number(self->rows, &self->current_at);
	if (self->place == self->current)
		self->place = row;
	self->current = row;
	self->anchor = rs_viewer_rows_number(self->rows, &self->anchor_at);
}

void rs_viewer_list_choose(RsViewerList *self, guint64 row, gboolean extend)
{
	guint64 ns;

	if (!rs_viewer_rows_ns(self->rows, row, &ns))
		return;
	if (row + 1 < rs_viewer_rows_count(self->rows))
		rs_viewer_view_set_following(self->view, FALSE);
	select_row(self, row, extend);
	self->choosing = TRUE;
	rs_viewer_view_set_current(self->view, ns, row);
	self->choosing = FALSE;
	rs_viewer_view_show(self->view, ns);
}

void rs_viewer_list_go_to(RsViewerList *self, guint64 row)
{
	rs_viewer_list_choose(self, row, FALSE);
}

void rs_viewer_list_follow_view(RsViewerList *self)
{
	guint64 ns, row;

	/* Once the list shows what the document does, it seeks what was chosen by itself. */
	if (self->choosing || rs_viewer_rows_timeline(self->rows) !=
				      rs_trace_document_shown(rs_viewer_view_document(self->view)))
		return;
	if (!rs_viewer_view_current(self->view, &ns, &row)) {
		select_row(self, RS_VIEWER_ROW_NONE, FALSE);
		return;
	}
	self->scroll.rows = rs_viewer_rows_count(self->rows);
	if (row < self->scroll.rows) {
		select_row(self, row, FALSE);
		return;
	}
	select_row(self, RS_VIEWER_ROW_NONE, FALSE);
	self->place = MIN(rs_viewer_rows_at(self->rows, ns), MAX(self->scroll.rows, 1) - 1);
	rs_viewer_scroll_show(&self->scroll, self->place);
}

/* The record's row. RS_VIEWER_ROW_NONE: it has none, or not yet. */
static guint64 find_chosen(RsViewerList *self)
{
	RsTraceTimeline *timeline = rs_viewer_rows_timeline(self->rows);
	guint64 row;

	rs_trace_timeline_lock(timeline);
	row = rs_viewer_mark_find(&self->chosen, timeline);
	rs_trace_timeline_unlock(timeline);
	return row;
}

/* Where the record is that was current before a filter, once that moment has been filtered. */
static void seek(RsViewerList *self)
{
	guint64 row = rs_viewer_rows_at(self->rows, self->sought), chosen, ns;

	if (!rs_viewer_rows_ns(self->rows, row, &ns))
		return;
	self->scroll.rows = rs_viewer_rows_count(self->rows);
	self->place = row;
	rs_viewer_scroll_show(&self->scroll, row);
	chosen = find_chosen(self);
	if (chosen == RS_VIEWER_ROW_NONE) {
		/* Others of its time may be there before it. */
		self->seeking =
			rs_viewer_rows_at(self->rows, self->sought + 1) == self->scroll.rows;
		return;
	}
	select_row(self, chosen, FALSE);
	self->choosing = TRUE;
	rs_viewer_view_set_current(self->view, self->sought, chosen);
	self->choosing = FALSE;
}

void rs_viewer_list_follow_chosen(RsViewerList *self)
{
	follow_numbers(self);
	if (self->seeking)
		seek(self);
}

void rs_viewer_list_seek_chosen(RsViewerList *self)
{
	guint64 row;

	self->current = self->anchor = RS_VIEWER_ROW_NONE;
	self->place = 0;
	self->seeking = rs_viewer_view_current(self->view, &self->sought, &row);
	if (self->seeking && self->chosen.ns != self->sought)
		rs_viewer_mark_clear(&self->chosen);
}
