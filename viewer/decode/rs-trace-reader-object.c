/* SPDX-License-Identifier: MIT */
#include "rs-trace-item-private.h"
#include "rs-trace-open-private.h"
#include "rs-trace-reader.h"

static RsTraceFile *open_path(const char *path, GCancellable *cancellable, GError **error)
{
	RsTraceFile *file = rs_trace_file_open(path, cancellable, error);

	if (file)
		rs_trace_file_set_name(file, path);
	return file;
}

/**
 * rs_trace_reader_open: (constructor)
 * @path: (type filename): of a trace file
 *
 * Opens a trace file. The reader begins with its first record.
 *
 * Returns: (transfer full): a reader
 */
RsTraceReader *rs_trace_reader_open(const char *path, GCancellable *cancellable, GError **error)
{
	RsTraceFile *file = open_path(path, cancellable, error);

	return file ? rs_trace_reader_new(file) : NULL;
}

/**
 * rs_trace_reader_open_stream: (constructor)
 * @stream: bytes of a trace file; a pipe will do
 *
 * Reads a trace file from a stream.
 *
 * Returns: (transfer full): a reader
 */
RsTraceReader *rs_trace_reader_open_stream(GInputStream *stream, GCancellable *cancellable,
					   GError **error)
{
	RsTraceFile *file = rs_trace_file_new(stream, cancellable, error);

	return file ? rs_trace_reader_new(file) : NULL;
}

/**
 * rs_trace_reader_add_path:
 * @reader: a reader from which nothing has been read
 * @path: (type filename): of one more trace file
 *
 * Merges one more file. Times of all files count from where the earliest file's do. Files of one
 * boot of one host are put on one clock exactly, others by the wall clock.
 *
 * Returns: %FALSE if the file cannot be opened, or there is no clock that both have
 */
gboolean rs_trace_reader_add_path(RsTraceReader *reader, const char *path,
				  GCancellable *cancellable, GError **error)
{
	RsTraceFile *file = open_path(path, cancellable, error);

	return file && rs_trace_reader_add(reader, file, error);
}

/**
 * rs_trace_reader_read:
 * @reader: a reader
 *
 * Takes the next record.
 *
 * Returns: (transfer full) (nullable): the record; %NULL without an error: there is none any more
 */
RsTraceItem *rs_trace_reader_read(RsTraceReader *reader, GCancellable *cancellable, GError **error)
{
	const RsTraceRecord *record = rs_trace_reader_next(reader, cancellable, error);

	if (!record)
		return NULL;
	return rs_trace_item_new(record, rs_trace_reader_task(reader),
				 rs_trace_reader_n_sources(reader) > 1 ? RS_TRACE_TEXT_SOURCE
								       : RS_TRACE_TEXT_NONE);
}

/**
 * rs_trace_reader_get_wall_time:
 * @reader: a reader
 *
 * Returns: the time of day at the trace's time 0, in nanoseconds since 1970; 0: not known
 */
guint64 rs_trace_reader_get_wall_time(const RsTraceReader *reader)
{
	return rs_trace_reader_header(reader)->wall_ns;
}
