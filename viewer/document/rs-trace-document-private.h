/* SPDX-License-Identifier: MIT */
/* What jobs of a document use of it. Thread: main. */
#ifndef RS_TRACE_DOCUMENT_PRIVATE_H
#define RS_TRACE_DOCUMENT_PRIVATE_H

#include "document/rs-trace-document.h"
#include "rs-trace-files-private.h"

G_BEGIN_DECLS

/* The document's files, of which a job keeps a reference. */
RsTraceFiles *rs_trace_document_files(RsTraceDocument *document);

G_END_DECLS

#endif
