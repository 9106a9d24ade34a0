/* SPDX-License-Identifier: MIT */
/*
 * Reads the records of a trace file in the order of time, one by one, with all its sources. It
 * holds the pages of two windows and one record of each ring (docs/adr/0017-trace-files.md).
 *
 * Trust: as rs-trace-file.h and rs-trace-decoder.h. One thread at a time.
 */
#ifndef RS_TRACE_READER_H
#define RS_TRACE_READER_H

#include "rs-trace-cmdline.h"
#include "rs-trace-decoder.h"
#include "rs-trace-file.h"

G_BEGIN_DECLS

typedef struct _RsTraceReader RsTraceReader;

/* Takes `file` over. It begins with the file's first record. */
RsTraceReader *rs_trace_reader_new(RsTraceFile *file);
void rs_trace_reader_free(RsTraceReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceReader, rs_trace_reader_free)

/*
 * The next record, valid until the next call. FALSE: there is none. Then `error` is set if the file
 * cannot be read any further; what could be read has been handed out.
 */
gboolean rs_trace_reader_next(RsTraceReader *reader, RsTraceRecord *out, GError **error);
/* The file ended before its recorder had ended it. Only known at the end. */
gboolean rs_trace_reader_is_cut(const RsTraceReader *reader);

/* Of the record that was handed out last: its task, as rs_trace_cmdline_lookup() has it. */
void rs_trace_reader_task(RsTraceReader *reader, RsTraceTask *out);
/* The source that it is from. */
const struct rs_file_source *rs_trace_reader_source(const RsTraceReader *reader);
/* Which one that is: 0, 1 … in the order in which sources joined. Never used again. */
guint rs_trace_reader_source_index(const RsTraceReader *reader);

/* Of the file. Valid as long as the reader. */
const struct rs_file_header *rs_trace_reader_header(const RsTraceReader *reader);
/* Names of that source's addresses, as record->symbols has them. */
const RsTraceSymbols *rs_trace_reader_symbols(const RsTraceReader *reader);

/* How many sources have joined so far, as far as the file has been read. */
guint rs_trace_reader_n_sources(const RsTraceReader *reader);

/* Of all sources so far. */
void rs_trace_reader_stats(const RsTraceReader *reader, RsTraceDecoderStats *out);

G_END_DECLS

#endif
