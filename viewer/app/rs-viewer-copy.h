/* SPDX-License-Identifier: MIT */
/*
 * Rows of a document as one text for the clipboard, read in the background. Thread: main.
 */
#ifndef RS_VIEWER_COPY_H
#define RS_VIEWER_COPY_H

#include "document/rs-trace-document.h"

G_BEGIN_DECLS

#define RS_VIEWER_COPY_ROWS 100000u
#define RS_VIEWER_COPY_BYTES (64u << 20)

typedef enum {
	RS_VIEWER_COPY_TEXT, /* lines as `ringside report` prints them */
	RS_VIEWER_COPY_JSON, /* an object in each line, as `ringside report --json` */
} RsViewerCopyKind;

/*
 * Of up to `n` rows of a timeline of the document, and no more than RS_VIEWER_COPY_ROWS and about
 * RS_VIEWER_COPY_BYTES. A row that cannot be read is left out.
 */
void rs_viewer_copy_async(RsTraceDocument *document, RsTraceTimeline *timeline, guint64 first,
			  guint64 n, RsViewerCopyKind kind, GCancellable *cancellable,
			  GAsyncReadyCallback done, gpointer data);
/*
 * `copied`: how many rows it has; `unread`: how many were left out. NULL: it was cancelled, or
 * reading has failed.
 */
char *rs_viewer_copy_finish(GAsyncResult *result, guint *copied, guint *unread, GError **error);

G_END_DECLS

#endif
