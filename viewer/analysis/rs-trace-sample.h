/* SPDX-License-Identifier: MIT */
/* A record with what is known of it, as an analysis takes it. Valid during the call. */
#ifndef RS_TRACE_SAMPLE_H
#define RS_TRACE_SAMPLE_H

#include "rs-trace-cmdline.h"
#include "rs-trace-decoder.h"

G_BEGIN_DECLS

typedef struct {
	const RsTraceRecord *record;
	const RsTraceTask *task; /* of an event; comm is never NULL */
	const char *source;      /* name of the record's source, any bytes */
	guint source_index;      /* no two sources of the trace have the same */
} RsTraceSample;

G_END_DECLS

#endif
