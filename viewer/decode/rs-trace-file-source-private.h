/* SPDX-License-Identifier: MIT */
/*
 * What a trace file has told of one of its sources: boots, providers, clock, names. One thread at a
 * time.
 */
#ifndef RS_TRACE_FILE_SOURCE_PRIVATE_H
#define RS_TRACE_FILE_SOURCE_PRIVATE_H

#include "rs-trace-cmdline.h"
#include "rs-trace-lane-private.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

struct _RsTraceFileSource {
	struct rs_file_source info;
	RsTraceOrigin *origin; /* of `info` */
	gboolean left;
	RsTraceSchema *schema;
	RsTraceClock *clock;
	RsTraceCmdline *names;
	RsTraceSymbols *symbols;
	RsTraceDecoder *decoder;
	guint busy; /* lanes that have pages */
	RsTraceLane lanes[];
};

/* `info` is checked. `index`: as its origin has it. */
RsTraceFileSource *rs_trace_file_source_new(const struct rs_file_source *info, guint index);
void rs_trace_file_source_free(RsTraceFileSource *source);
/*
 * Takes what a block says, if it is one of those that tell something. Its names of addresses
 * take no more than `room` bytes in all.
 */
void rs_trace_file_source_take(RsTraceFileSource *source, const RsTraceFileBlock *block,
			       gsize room);
/* Adds to a sum. */
void rs_trace_file_source_add_stats(const RsTraceFileSource *source, RsTraceDecoderStats *sum);

#pragma GCC visibility pop
G_END_DECLS

#endif
