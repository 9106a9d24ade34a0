/* SPDX-License-Identifier: MIT */
/*
 * Reads the records of one or more trace files in the order of time, one by one, with all their
 * sources. Of a seekable file it holds where the pages of two windows lie, and 24 MB of them at
 * most. Of a pipe it holds the windows themselves (docs/adr/0018-reading-traces.md).
 *
 * What other languages than C have too, such as opening and seeking, stands in
 * rs-trace-reader-object.h, with errors, cancelling and threads.
 *
 * Damaged parts are passed over. What is missing becomes a loss where the pages around it say how
 * much it is. rs_trace_reader_remarks() says at the end what went wrong.
 *
 * Structs that it hands out are its own, since later versions may append to them. They change with
 * the next call of the same function.
 *
 * Trust: as rs-trace-file.h and rs-trace-decoder.h. One thread at a time.
 */
#ifndef RS_TRACE_READER_H
#define RS_TRACE_READER_H

#include "rs-trace-cmdline.h"
#include "rs-trace-decoder.h"
#include "rs-trace-file.h"
#include "rs-trace-reader-object.h"

G_BEGIN_DECLS

/* Takes `file` over. It begins with the file's first record. */
RsTraceReader *rs_trace_reader_new(RsTraceFile *file);

/*
 * One more file, before the first record is taken. `file` is taken over in any case. Times of all
 * files count from where the earliest file's do. Files of one boot of one host are put on one clock
 * exactly, others by the wall clock. FALSE: BAD_FILE, there is no clock that both have.
 */
gboolean rs_trace_reader_add(RsTraceReader *reader, RsTraceFile *file, GError **error);
/* The same without a look at clocks: its time 0 is `after_ns` behind the first file's. */
void rs_trace_reader_add_at(RsTraceReader *reader, RsTraceFile *file, guint64 after_ns);

/*
 * The header of the file from whose origin the times of all files count: its origin_ns and wall_ns
 * are those of time 0. Valid as long as the reader.
 */
const struct rs_file_header *rs_trace_reader_header(const RsTraceReader *reader);

/*
 * The next record, the reader's own, for nanoseconds and errors as rs_trace_reader_read() has them.
 * It is valid until the next call of this function or a seek, as is all that it points to, such as
 * its event: who keeps something copies it. Its `origin` is never NULL. NULL: there is none, or
 * `error` is set; what could be read has been handed out.
 */
const RsTraceRecord *rs_trace_reader_next(RsTraceReader *reader, GCancellable *cancellable,
					  GError **error);

/* The sum of all files' damage so far; `first` and `why` are of the first damaged file. */
const RsTraceFileDamage *rs_trace_reader_damage(RsTraceReader *reader);
/*
 * Of the record that was handed out last: its task, as rs_trace_cmdline_lookup() has it. Valid as
 * long as the record.
 */
const RsTraceTask *rs_trace_reader_task(RsTraceReader *reader);
/*
 * Called for each provider that the files tell, with the names of its source, to which it may add.
 * For who has symbols of his own. To be set before the first record.
 */
void rs_trace_reader_set_provider_func(RsTraceReader *reader, RsTraceProviderFunc func,
				       gpointer data);
/*
 * Called for each event that the files tell of, whether it has records or not. After a seek events
 * may be told once more. To be set before the first record.
 */
void rs_trace_reader_set_event_func(RsTraceReader *reader, RsTraceEventFunc func, gpointer data);
/*
 * Of files that somebody still writes, which are no pipes: only windows are read that have ended,
 * and records of one are handed out once the next one has. When there is none any more,
 * rs_trace_reader_next() returns NULL without an error, and may be called again once more was
 * written. FALSE, as at first: nothing more will be written, and all that is there is read. May be
 * changed whenever there was no next record.
 */
void rs_trace_reader_set_growing(RsTraceReader *reader, gboolean is_growing);
/* record->symbols is NULL from now on. To be called before the first record. */
void rs_trace_reader_hide_symbols(RsTraceReader *reader);
/* Names of its source's addresses, as record->symbols has them unless they are hidden. */
const RsTraceSymbols *rs_trace_reader_symbols(const RsTraceReader *reader);

/*
 * Of the record that was handed out last, if it is still valid: a value that stays, as
 * rs_trace_reader_read() makes one. To be unreffed. NULL: there is none.
 */
RsTraceItem *rs_trace_reader_item(RsTraceReader *reader);
/*
 * Windows that were read so far, of all files. Who has read a growing file as far as it goes, and
 * then three windows more, has had all that was written before.
 */
guint64 rs_trace_reader_n_windows(const RsTraceReader *reader);

/* Of all sources, since the beginning or the last seek. */
const RsTraceDecoderStats *rs_trace_reader_stats(RsTraceReader *reader);

G_END_DECLS

#endif
