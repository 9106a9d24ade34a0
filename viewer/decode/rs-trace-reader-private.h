/* SPDX-License-Identifier: MIT */
/* What the parts of RsTraceReader know of each other. */
#ifndef RS_TRACE_READER_PRIVATE_H
#define RS_TRACE_READER_PRIVATE_H

#include "rs-trace-input-private.h"
#include "rs-trace-reader.h"

G_BEGIN_DECLS

struct _RsTraceReader {
	GObject parent_instance;
	GPtrArray *inputs; /* RsTraceInput * */
	GArray *starts;    /* gint64: when each one's time 0 is, from that of the first; ns */
	RsTraceShared shared;
	GCancellable *cancellable; /* of the last call; NULL: none */
	gboolean started;
	guint64 passed;      /* the last record that was handed out is earlier; 0: there was none */
	RsTraceInput *input; /* whose record was handed out */
	RsTraceLane *last;   /* that record's; NULL: none */
	guint64 limit;       /* another input may have a record that is as early */
	/* What was handed out last: */
	RsTraceTask task;
	RsTraceFileDamage damage;
	RsTraceDecoderStats stats;
};

static inline RsTraceInput *rs_trace_reader_nth(const RsTraceReader *reader, guint n)
{
	return reader->inputs->pdata[n];
}

G_END_DECLS

#endif
