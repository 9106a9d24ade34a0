/* SPDX-License-Identifier: MIT */
/* What the files of rows share. */
#ifndef RS_VIEWER_ROWS_PRIVATE_H
#define RS_VIEWER_ROWS_PRIVATE_H

#include "app/rs-viewer-rows.h"

G_BEGIN_DECLS

/* Wants the timeline's lock. The line has its number, row and time before, and what was read. */
void rs_viewer_line_fill(RsViewerLine *line, const RsTraceTimeline *timeline);

G_END_DECLS

#endif
