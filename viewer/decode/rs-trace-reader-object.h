/* SPDX-License-Identifier: MIT */
/*
 * The reader of traces as programs in any language see it (GObject introspection, RsTrace-1.0):
 *
 *	reader = RsTrace.Reader.open('trace')
 *	while item := reader.read():
 *		print(item.get_time(), item.get_name(), item.get_fields())
 *
 * Programs in C include rs-trace-reader.h, which has this too. One thread at a time.
 */
#ifndef RS_TRACE_READER_OBJECT_H
#define RS_TRACE_READER_OBJECT_H

#include "rs-trace-item.h"

#include <gio/gio.h>

G_BEGIN_DECLS

#define RS_TRACE_TYPE_READER (rs_trace_reader_get_type())
/**
 * RsTraceReader:
 *
 * Reads the records of one or more trace files in the order of time.
 *
 * Times are nanoseconds since the trace's time 0, see [method@Reader.get_wall_time]. Damaged parts
 * of a file are passed over, and [method@Reader.remarks] says so at the end.
 *
 * A call that is cancelled fails with %G_IO_ERROR_CANCELLED. It stops where it waits for bytes or
 * goes from block to block. Records that are held already are still handed out. After that
 * [method@Reader.read] goes on as if nothing had been; after a seek, seek again.
 *
 * A reader may be used by any thread, one at a time. It makes no threads and needs no main loop.
 */
G_DECLARE_FINAL_TYPE(RsTraceReader, rs_trace_reader, RS_TRACE, READER, GObject)

/**
 * rs_trace_reader_open: (constructor)
 * @path: (type filename): of a trace file, or a trace.dat of trace-cmd; a FIFO or URI will do, and
 *   "-" is standard input
 * @cancellable: (nullable): ends a wait for a pipe
 *
 * Opens a trace. The reader begins with its first record. A trace.dat needs the program
 * `ringside-import` of the package ringside.
 *
 * Errors: %RS_TRACE_ERROR_BAD_FILE if it is no trace, %RS_TRACE_ERROR_BAD_VERSION if this version
 * cannot read it; else those of GIO, such as %G_IO_ERROR_NOT_FOUND. Their messages do not name the
 * file.
 *
 * Returns: (transfer full): a reader
 */
RsTraceReader *rs_trace_reader_open(const char *path, GCancellable *cancellable, GError **error);

/**
 * rs_trace_reader_open_stream: (constructor)
 * @stream: bytes of a trace file; a pipe will do
 * @cancellable: (nullable): ends a wait for its first bytes
 *
 * Reads a trace file from a stream, of which the reader keeps a reference. Nobody else may read it.
 * A trace.dat is opened by its path only.
 *
 * Errors: as [ctor@Reader.open].
 *
 * Returns: (transfer full): a reader
 */
RsTraceReader *rs_trace_reader_open_stream(GInputStream *stream, GCancellable *cancellable,
					   GError **error);

/**
 * rs_trace_reader_add_path:
 * @reader: a reader from which nothing has been read
 * @path: (type filename): of one more trace, as for [ctor@Reader.open]
 * @cancellable: (nullable): ends a wait for a pipe
 *
 * Merges one more file. Times of all files count from where the earliest file's do. Files of one
 * boot of one host are put on one clock exactly, others by the wall clock.
 *
 * Errors: as [ctor@Reader.open]; and %RS_TRACE_ERROR_BAD_FILE if there is no clock that both have,
 * or if something has been read.
 *
 * Returns: %FALSE if it was not added
 */
gboolean rs_trace_reader_add_path(RsTraceReader *reader, const char *path,
				  GCancellable *cancellable, GError **error);

/**
 * rs_trace_reader_read:
 * @reader: a reader
 * @cancellable: (nullable): ends a wait for a pipe
 *
 * Takes the next record.
 *
 * Errors: those of the stream, once what could be read has been handed out;
 * %RS_TRACE_ERROR_BAD_FILE if a trace.dat is damaged. Damage of a trace file is no error.
 *
 * Returns: (transfer full) (nullable): the record; %NULL without an error: there is none any more
 */
RsTraceItem *rs_trace_reader_read(RsTraceReader *reader, GCancellable *cancellable, GError **error);

/**
 * rs_trace_reader_seek:
 * @reader: a reader
 * @ns: a time
 * @cancellable: (nullable): ends the search
 *
 * Goes to a time: the next record is the first of those from @ns on. A pipe is read up to there,
 * and cannot go back. A trace.dat can: it is then read once more, into a temporary file.
 *
 * Errors: %G_IO_ERROR_NOT_SUPPORTED for a pipe, and nothing has changed; else those of the stream.
 * %RS_TRACE_ERROR_BAD_FILE if the file has more blocks than can be looked through.
 *
 * Returns: %FALSE if that cannot be done
 */
gboolean rs_trace_reader_seek(RsTraceReader *reader, guint64 ns, GCancellable *cancellable,
			      GError **error);

/**
 * rs_trace_reader_seek_last:
 * @reader: a reader
 * @n: a number of events
 * @cancellable: (nullable): ends the search
 *
 * Goes to the end: the next event is the first of the last @n of all files, or of all if there are
 * fewer.
 *
 * Errors: as [method@Reader.seek], but of a pipe always %G_IO_ERROR_NOT_SUPPORTED.
 *
 * Returns: %FALSE if that cannot be done
 */
gboolean rs_trace_reader_seek_last(RsTraceReader *reader, guint64 n, GCancellable *cancellable,
				   GError **error);

/**
 * rs_trace_reader_progress:
 * @reader: a reader
 * @done: (out): bytes read so far
 * @total: (out): bytes of all files; 0: not known, one of them is a pipe or a trace.dat
 *
 * Says how far it is.
 */
void rs_trace_reader_progress(RsTraceReader *reader, guint64 *done, guint64 *total);

/**
 * rs_trace_reader_get_wall_time:
 * @reader: a reader
 *
 * Tells when the trace's time 0 was, by the clock of the host that recorded it.
 *
 * Returns: nanoseconds since the beginning of 1970, UTC; 0: not known
 */
guint64 rs_trace_reader_get_wall_time(const RsTraceReader *reader);

/**
 * rs_trace_reader_n_sources:
 * @reader: a reader
 *
 * Counts the sources, each a guest's kernel or a program: all that a file has, as its index says,
 * so that it is the same before the first record and behind the last. Of a pipe, and of a file that
 * was not ended, those count that have joined as far as it has been read; a seek does not lessen
 * that.
 *
 * Returns: how many
 */
guint rs_trace_reader_n_sources(const RsTraceReader *reader);

/**
 * rs_trace_reader_is_cut:
 * @reader: a reader
 *
 * Tells whether a file ended before its recorder had ended it, as one that was killed leaves it.
 *
 * Returns: whether that was seen; only known at the end
 */
gboolean rs_trace_reader_is_cut(const RsTraceReader *reader);

/**
 * rs_trace_reader_is_unordered:
 * @reader: a reader
 *
 * Tells whether a window was too large to hold: more than 32 MiB of a pipe, or 262,144 pages of any
 * file, or 4,096 sources that have left. Then records of different rings may have come in the wrong
 * order.
 *
 * Returns: whether that was seen so far
 */
gboolean rs_trace_reader_is_unordered(const RsTraceReader *reader);

/**
 * rs_trace_reader_remarks:
 * @reader: a reader
 *
 * All that is to be said about how well the files could be read so far, a sentence each, in plain
 * ASCII, with the names of files that have one.
 *
 * Returns: (transfer full): the sentences; empty: nothing
 */
GStrv rs_trace_reader_remarks(const RsTraceReader *reader);

G_END_DECLS

#endif
