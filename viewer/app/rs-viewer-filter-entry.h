/* SPDX-License-Identifier: MIT */
/*
 * An entry for a filter's expression: it completes names of fields, operators and values, marks a
 * mistake at its place and says below what it is, and remembers what was applied (Up and Down).
 *
 * Signals:
 *   "apply" (text)   Enter: an expression without a mistake that can be seen here; "" takes the
 *                    filter away. Whoever takes it may still refuse it
 *   "changed" ()     the text is another one
 *
 * Thread: main. Trust: fields are a guest's; texts are shown as they are, and never as markup.
 */
#ifndef RS_VIEWER_FILTER_ENTRY_H
#define RS_VIEWER_FILTER_ENTRY_H

#include "app/rs-viewer-fields.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_FILTER_ENTRY (rs_viewer_filter_entry_get_type())
G_DECLARE_FINAL_TYPE(RsViewerFilterEntry, rs_viewer_filter_entry, RS_VIEWER, FILTER_ENTRY, AdwBin)

/* `with_glob`: "GLOB: EXPRESSION" is one, too, as of a selection. */
GtkWidget *rs_viewer_filter_entry_new(gboolean with_glob);

/* A name for people, which a screen reader says. */
void rs_viewer_filter_entry_set_label(RsViewerFilterEntry *entry, const char *label);
void rs_viewer_filter_entry_set_placeholder(RsViewerFilterEntry *entry, const char *text);
/* Takes a reference. NULL: only those that each event has. */
void rs_viewer_filter_entry_set_fields(RsViewerFilterEntry *entry, GPtrArray *fields);

const char *rs_viewer_filter_entry_text(RsViewerFilterEntry *entry);
/* Not as if it were typed: nothing is offered. Takes an error away. */
void rs_viewer_filter_entry_set_text(RsViewerFilterEntry *entry, const char *text);

/* As Enter does. */
void rs_viewer_filter_entry_apply(RsViewerFilterEntry *entry);

/* FALSE: it can still be read. */
void rs_viewer_filter_entry_set_editable(RsViewerFilterEntry *entry, gboolean editable);

/*
 * Marks a mistake of the expression until the text changes, by what a session says of it
 * (rs_filter_error_render()): if its lines can be told apart, the place is marked.
 */
void rs_viewer_filter_entry_set_session_error(RsViewerFilterEntry *entry, const char *message);
/* The cursor goes to where the last mistake begins. */
void rs_viewer_filter_entry_go_to_error(RsViewerFilterEntry *entry);
void rs_viewer_filter_entry_clear_error(RsViewerFilterEntry *entry);

G_END_DECLS

#endif
