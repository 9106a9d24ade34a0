/* SPDX-License-Identifier: MIT */
/*
 * A part of the details pane: a head that folds it, a button that copies it, and rows of names with
 * values, or a block of text. It is hidden while it has nothing. Thread: main. Texts are valid
 * UTF-8 and are never markup.
 */
#ifndef RS_VIEWER_SECTION_H
#define RS_VIEWER_SECTION_H

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_SECTION (rs_viewer_section_get_type())
G_DECLARE_FINAL_TYPE(RsViewerSection, rs_viewer_section, RS_VIEWER, SECTION, GtkWidget)

RsViewerSection *rs_viewer_section_new(const char *title, gboolean expanded);
/* Takes all rows away, and hides it. */
void rs_viewer_section_clear(RsViewerSection *section);
/* Takes `text`: what the button copies. */
void rs_viewer_section_set_copy(RsViewerSection *section, char *text);
/* `note` is smaller, below the value; `suffix` a widget at the end. Both may be NULL. */
void rs_viewer_section_add(RsViewerSection *section, const char *name, const char *value,
			   const char *note, GtkWidget *suffix);
/* Lines in a font whose characters have one width. */
void rs_viewer_section_add_block(RsViewerSection *section, const char *text);

G_END_DECLS

#endif
