/* SPDX-License-Identifier: MIT */
/*
 * A list below an entry, of what may stand there. The entry keeps the focus, and passes keys on.
 *
 * Signal: "chosen" (start, end, text): the text is to stand in the place of these bytes.
 *
 * Thread: main. Trust: texts are a guest's.
 */
#ifndef RS_VIEWER_SUGGESTIONS_H
#define RS_VIEWER_SUGGESTIONS_H

#include "app/rs-viewer-complete.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_SUGGESTIONS (rs_viewer_suggestions_get_type())
G_DECLARE_FINAL_TYPE(RsViewerSuggestions, rs_viewer_suggestions, RS_VIEWER, SUGGESTIONS, GtkWidget)

/* A widget without a height: the list appears below the place where it is packed. */
RsViewerSuggestions *rs_viewer_suggestions_new(void);
/* Takes `completion`. Hides if it has no candidates. */
void rs_viewer_suggestions_show(RsViewerSuggestions *suggestions, RsViewerCompletion *completion);
void rs_viewer_suggestions_hide(RsViewerSuggestions *suggestions);
gboolean rs_viewer_suggestions_shown(RsViewerSuggestions *suggestions);
/*
 * A key that the entry got. FALSE: it is for the entry. Tab takes a suggestion, and Enter one that
 * was chosen with Up or Down. Escape hides them.
 */
gboolean rs_viewer_suggestions_key(RsViewerSuggestions *suggestions, guint key);

G_END_DECLS

#endif
