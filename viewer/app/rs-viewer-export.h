/* SPDX-License-Identifier: MIT */
/*
 * The dialog that exports a trace: it asks for format, records and place, shows how far it is, and
 * can be cancelled.
 *
 * Signal: "exported" (path, text): it is done, and the dialog closes. `text` says what was
 * written, for people; the path is as the file system has it.
 *
 * Thread: main. Trust: as rs-trace-document-export.h.
 */
#ifndef RS_VIEWER_EXPORT_H
#define RS_VIEWER_EXPORT_H

#include "app/rs-viewer-view.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_EXPORT (rs_viewer_export_get_type())
G_DECLARE_FINAL_TYPE(RsViewerExport, rs_viewer_export, RS_VIEWER, EXPORT, AdwWindow)

/* `title`: of the trace, from which the name that is proposed is made. It is to be presented. */
RsViewerExport *rs_viewer_export_new(GtkWindow *parent, RsViewerView *view, const char *title);

G_END_DECLS

#endif
