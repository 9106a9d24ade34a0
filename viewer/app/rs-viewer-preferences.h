/* SPDX-License-Identifier: MIT */
/* The window of preferences. Thread: main. */
#ifndef RS_VIEWER_PREFERENCES_H
#define RS_VIEWER_PREFERENCES_H

#include <adwaita.h>

G_BEGIN_DECLS

GtkWindow *rs_viewer_preferences_new(GtkWindow *parent);
/* Light or dark, as the settings say, from now on. */
void rs_viewer_preferences_follow_scheme(void);

G_END_DECLS

#endif
