/* SPDX-License-Identifier: MIT */
/*
 * The program: its command line, its windows, and what belongs to no window. A second start hands
 * its command line to the first.
 *
 * Thread: main. Trust: the command line is the user's own.
 */
#ifndef RS_VIEWER_APPLICATION_H
#define RS_VIEWER_APPLICATION_H

#include <adwaita.h>

G_BEGIN_DECLS

#define RS_VIEWER_ID "org.ringside.Viewer"

#define RS_VIEWER_TYPE_APPLICATION (rs_viewer_application_get_type())
G_DECLARE_FINAL_TYPE(RsViewerApplication, rs_viewer_application, RS_VIEWER, APPLICATION,
		     AdwApplication)

RsViewerApplication *rs_viewer_application_new(void);

G_END_DECLS

#endif
