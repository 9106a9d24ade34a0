/* SPDX-License-Identifier: MIT */
/*
 * Shows in the details of a record where its tracepoint is: each site with its state, and the
 * guest's text around it as instructions. A running session tells them; a file has none.
 *
 * Thread: main; no call waits. Trust: what a session says is hostile.
 */
#ifndef RS_VIEWER_SITE_H
#define RS_VIEWER_SITE_H

#include "app/rs-viewer-details.h"

G_BEGIN_DECLS

/* As long as the details live. */
void rs_viewer_site_connect(RsViewerDetails *details, RsTraceDocument *document);

G_END_DECLS

#endif
