/* SPDX-License-Identifier: MIT */
/* Shows docs/viewer.md, as it was installed, in whatever the user reads such files with. */
#ifndef RS_VIEWER_HELP_H
#define RS_VIEWER_HELP_H

#include "app/rs-viewer-window.h"

G_BEGIN_DECLS

/* Thread: main. NULL: does nothing. If that fails, the window says where it is. */
void rs_viewer_help_show(RsViewerWindow *window);

G_END_DECLS

#endif
