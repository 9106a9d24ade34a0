/* SPDX-License-Identifier: MIT */
#include "rs-trace-item-private.h"
#include "rs-trace-open-private.h"
#include "rs-trace-reader-private.h"

static RsTraceFile *open_path(const char *path, GCancellable *cancellable, GError **error)
{
	RsTraceFile *file = rs_trace_file_open(path, cancellable, error);

	if (file)
		rs_trace_file_set_name(file, path);
	return file;
}

RsTraceReader *rs_trace_reader_open(const char *path, GCancellable *cancellable, GError **error)
{
	RsTraceFile *file = open_path(path, cancellable, error);

	return file ? rs_trace_reader_new(file) : NULL;
}

RsTraceReader *rs_trace_reader_open_stream(GInputStream *stream, GCancellable *cancellable,
					   GError **error)
{
	RsTraceFile *file = rs_trace_file_new(stream, cancellable, error);

	return file ? rs_trace_reader_new(file) : NULL;
}

gboolean rs_trace_reader_add_path(RsTraceReader *reader, const char *path,
				  GCancellable *cancellable, GError **error)
{
	RsTraceFile *file = open_path(path, cancellable, error);

	return file && rs_trace_reader_add(reader, file, error);
}

RsTraceItem *rs_trace_reader_item(RsTraceReader *reader)
{
	if (!reader->last)
		return NULL;
	return rs_trace_item_new(&reader->last->head, rs_trace_reader_task(reader),
				 rs_trace_reader_n_sources(reader) > 1 ? RS_TRACE_TEXT_SOURCE
								       : RS_TRACE_TEXT_NONE);
}

RsTraceItem *rs_trace_reader_read(RsTraceReader *reader, GCancellable *cancellable, GError **error)
{
	return rs_trace_reader_next(reader, cancellable, error) ? rs_trace_reader_item(reader)
								: NULL;
}

guint64 rs_trace_reader_get_wall_time(const RsTraceReader *reader)
{
	return rs_trace_reader_header(reader)->wall_ns;
}
