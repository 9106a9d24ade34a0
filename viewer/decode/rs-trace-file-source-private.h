/* SPDX-License-Identifier: MIT */
/*
 * What a trace file has told of one of its sources: boots, providers, clock, names. One thread at a
 * time.
 */
#ifndef RS_TRACE_FILE_SOURCE_PRIVATE_H
#define RS_TRACE_FILE_SOURCE_PRIVATE_H

#include "rs-trace-cmdline.h"
#include "rs-trace-descriptor-private.h"
#include "rs-trace-lane-private.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

/*
 * What sources take together, in bytes of memory. Names of tasks are dropped when there are too
 * many: each source has its share. What else has no room is refused.
 */
#define RS_TRACE_TOLD_BYTES ((gsize)28 << 20)
#define RS_TRACE_TOLD_SYMBOLS ((gsize)20 << 20) /* names of addresses, of which no more counts */
#define RS_TRACE_TOLD_COUNTED ((gsize)12 << 20) /* than this, so that there is room for events */
#define RS_TRACE_TOLD_TASKS ((gsize)8 << 20)
typedef struct {
	gsize *used; /* of all */
	gsize symbols;
	gsize tasks;
	guint n_sources;
	RsTraceDescriptorPool pool;
} RsTraceTold;

static inline gboolean rs_trace_told_is_full(const RsTraceTold *told)
{
	return *told->used >= RS_TRACE_TOLD_BYTES;
}

struct _RsTraceFileSource {
	struct rs_file_source info;
	RsTraceOrigin *origin; /* of `info` */
	RsTraceTold *told;
	gsize counted, symbols_counted, tasks_counted; /* there */
	gboolean left;
	/* NULL: nothing of it was told. */
	RsTraceSchema *schema;
	RsTraceClock *clock;
	RsTraceCmdline *names;
	RsTraceSymbols *symbols;
	gboolean hide_symbols; /* of records */
	RsTraceDecoder *decoder;
	guint busy; /* lanes that have pages */
	RsTraceLane lanes[];
};

/* `info` is checked. `index`: as its origin has it. */
RsTraceFileSource *rs_trace_file_source_new(const struct rs_file_source *info, guint index,
					    RsTraceTold *told);
void rs_trace_file_source_free(RsTraceFileSource *source);
/*
 * Takes what a block says, if it is one of those that tell something. Returns why it cannot be
 * taken, or not all of it, or NULL.
 */
const char *rs_trace_file_source_take(RsTraceFileSource *source, const RsTraceFileBlock *block);
/* To be filled by somebody else, who then calls rs_trace_file_source_count(). */
RsTraceSymbols *rs_trace_file_source_symbols(RsTraceFileSource *source);
/* Counts what the source takes now. */
void rs_trace_file_source_count(RsTraceFileSource *source);
/* Adds to a sum. */
void rs_trace_file_source_add_stats(const RsTraceFileSource *source, RsTraceDecoderStats *sum);

#pragma GCC visibility pop
G_END_DECLS

#endif
