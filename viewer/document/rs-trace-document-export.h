/* SPDX-License-Identifier: MIT */
/*
 * Writes what a document has in the format of another tool, on a thread of its own with a reader of
 * its own: export/rs-trace-exporter.h. Of a running session it is what was recorded up to then.
 *
 * Thread: main. Trust: as rs-trace-document.h; the path is the user's.
 */
#ifndef RS_TRACE_DOCUMENT_EXPORT_H
#define RS_TRACE_DOCUMENT_EXPORT_H

#include "document/rs-trace-document.h"

#include <rs-trace-exporter.h>

G_BEGIN_DECLS

typedef struct {
	const RsTraceExportFormat *format;
	const char *path;
	gboolean replace;    /* a file that is there; nothing else is replaced */
	guint64 from, until; /* [from, until), 0 and G_MAXUINT64: from the first to the last */
	const char *const *filters; /* as of rs_trace_document_set_filter(); NULL: all records */
	/* As RsTraceExportConfig has them; a format takes only those that it knows. */
	const char *const *slices;
	const char *const *counters;
	const char *columns;
} RsTraceDocumentExport;

/* How far it is. */
typedef struct {
	double share; /* 0 to 1, of what is to be read */
	guint64 events;
	guint64 bytes; /* written so far: some formats write at the end */
} RsTraceDocumentExported;

typedef struct {
	RsTraceExportResult result;
	guint64 bytes;
	GStrv missing; /* what was named and no event matches; never NULL. Only if all was read */
} RsTraceDocumentExportResult;

void rs_trace_document_export_result_free(RsTraceDocumentExportResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceDocumentExportResult, rs_trace_document_export_result_free)

typedef void (*RsTraceDocumentExportProgress)(const RsTraceDocumentExported *exported,
					      gpointer data);

/*
 * Errors: RS_TRACE_ERROR_SELECTION, a filter cannot be read; G_IO_ERROR_INVALID_ARGUMENT, a slice
 * or a counter cannot; those of rs_trace_output_new() and of writing; G_IO_ERROR_FAILED, the path
 * is the trace itself; CANCELLED. Then nothing is left of the output. A trace that is damaged is
 * written as far as it can be read, and result->result.damage says why.
 *
 * `progress` may be NULL. It is not called once the cancellable is cancelled, or after `done`,
 * which gets no source object.
 */
void rs_trace_document_export_async(RsTraceDocument *document, const RsTraceDocumentExport *what,
				    GCancellable *cancellable,
				    RsTraceDocumentExportProgress progress,
				    GAsyncReadyCallback done, gpointer data);
RsTraceDocumentExportResult *rs_trace_document_export_finish(GAsyncResult *result, GError **error);

G_END_DECLS

#endif
