/* SPDX-License-Identifier: MIT */
/*
 * What the user prefers, as properties of one object: "window-width", "window-height",
 * "window-maximized", "time-format", "color-scheme", and "columns". They are kept in
 * the schema org.ringside.Viewer. Where it is not installed, they last as long as the program.
 *
 * Thread: main. Trust: values that the schema forbids are refused; lists may hold anything.
 */
#ifndef RS_VIEWER_SETTINGS_H
#define RS_VIEWER_SETTINGS_H

#include <gio/gio.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_SETTINGS (rs_viewer_settings_get_type())
G_DECLARE_FINAL_TYPE(RsViewerSettings, rs_viewer_settings, RS_VIEWER, SETTINGS, GObject)

/* Values of "time-format" and "color-scheme". */
#define RS_VIEWER_FORMAT_SECONDS "seconds" /* since the trace's time 0 */
#define RS_VIEWER_FORMAT_WALL "wall-clock" /* local time of day, if the trace has it */
#define RS_VIEWER_SCHEME_SYSTEM "system"
#define RS_VIEWER_SCHEME_LIGHT "light"
#define RS_VIEWER_SCHEME_DARK "dark"

/* The one of this program. It belongs to the callee. */
RsViewerSettings *rs_viewer_settings_get(void);

int rs_viewer_settings_number(RsViewerSettings *settings, const char *name);
gboolean rs_viewer_settings_flag(RsViewerSettings *settings, const char *name);
/* Good until the property changes. */
const char *rs_viewer_settings_text(RsViewerSettings *settings, const char *name);
const char *const *rs_viewer_settings_list(RsViewerSettings *settings, const char *name);

G_END_DECLS

#endif
