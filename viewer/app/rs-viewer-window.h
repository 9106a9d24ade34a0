/* SPDX-License-Identifier: MIT */
/*
 * A window: traces in tabs, and the start page while there is none.
 *
 * Thread: main. Trust: paths may be anything that a file can be called.
 */
#ifndef RS_VIEWER_WINDOW_H
#define RS_VIEWER_WINDOW_H

#include <adwaita.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_WINDOW (rs_viewer_window_get_type())
G_DECLARE_FINAL_TYPE(RsViewerWindow, rs_viewer_window, RS_VIEWER, WINDOW, AdwApplicationWindow)

/* It belongs to the application. */
RsViewerWindow *rs_viewer_window_new(GtkApplication *application);

/* Each makes a tab and shows it. `paths`: on one clock, at least one, NULL-terminated. */
void rs_viewer_window_open(RsViewerWindow *window, const char *const *paths);
void rs_viewer_window_open_session(RsViewerWindow *window, const char *session);
/* Two traces side by side, each as above. */
void rs_viewer_window_compare(RsViewerWindow *window, const char *const *first,
			      const char *const *second);

/* Says something for a few seconds. It is no markup, and may be anything. */
void rs_viewer_window_say(RsViewerWindow *window, const char *text);

G_END_DECLS

#endif
