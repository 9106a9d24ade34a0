/* SPDX-License-Identifier: MIT */
/*
 * What differs between two documents, as `ringside diff` has it: analysis/rs-trace-diff.h. It reads
 * both on a thread of its own.
 *
 * Thread: main. Trust: as rs-trace-document.h.
 */
#ifndef RS_TRACE_COMPARE_H
#define RS_TRACE_COMPARE_H

#include "analysis/rs-trace-diff.h"
#include "document/rs-trace-document.h"

G_BEGIN_DECLS

/* How far it is, 0 to 1, of both together. */
typedef void (*RsTraceCompareProgress)(double share, gpointer data);

/*
 * Errors: those of the files; G_IO_ERROR_CANCELLED. Of a trace that is damaged, what can be read is
 * compared. `progress` may be NULL. It is not called once the cancellable is cancelled, or after
 * `done`, which gets no source object.
 */
void rs_trace_document_compare_async(RsTraceDocument *a, RsTraceDocument *b,
				     GCancellable *cancellable, RsTraceCompareProgress progress,
				     GAsyncReadyCallback done, gpointer data);
/* Of RsTraceDiffRow, those that changed most first; to be unrefed. */
GPtrArray *rs_trace_document_compare_finish(GAsyncResult *result, GError **error);

G_END_DECLS

#endif
