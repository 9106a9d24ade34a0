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

#pragma GCC visibility push(hidden)
/*
 * While it is pausing, the reader changes nothing that records, which it has handed out, refer to:
 * their event, origin and symbols; only stacks, payloads and the names of tasks. When it has to
 * change something, rs_trace_reader_next() returns NULL without an error, and it is paused. The
 * next call goes on, and changes it if the reader is not pausing any more.
 */
void rs_trace_reader_set_pausing(RsTraceReader *reader, gboolean pausing);
gboolean rs_trace_reader_is_paused(const RsTraceReader *reader);
#pragma GCC visibility pop

G_END_DECLS

#endif
