/* SPDX-License-Identifier: MIT */
/*
 * A bar with what is to be said of a document: how well its files could be read, and what became of
 * its session (rs_trace_document_remarks()). It is hidden while there is nothing. Who has dismissed
 * it sees it again when there is something else. Thread: main. Trust: the texts are hostile.
 */
#ifndef RS_VIEWER_REMARKS_H
#define RS_VIEWER_REMARKS_H

#include "document/rs-trace-document.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_REMARKS (rs_viewer_remarks_get_type())
G_DECLARE_FINAL_TYPE(RsViewerRemarks, rs_viewer_remarks, RS_VIEWER, REMARKS, AdwBin)

/* Keeps no reference to the document. */
GtkWidget *rs_viewer_remarks_new(RsTraceDocument *document);

G_END_DECLS

#endif
