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
G_DECLARE_FINAL_TYPE(RsTraceReader, rs_trace_reader, RS_TRACE, READER, GObject)

RsTraceReader *rs_trace_reader_open(const char *path, GCancellable *cancellable, GError **error);
RsTraceReader *rs_trace_reader_open_stream(GInputStream *stream, GCancellable *cancellable,
					   GError **error);
gboolean rs_trace_reader_add_path(RsTraceReader *reader, const char *path,
				  GCancellable *cancellable, GError **error);

RsTraceItem *rs_trace_reader_read(RsTraceReader *reader, GCancellable *cancellable, GError **error);

gboolean rs_trace_reader_seek(RsTraceReader *reader, guint64 ns, GCancellable *cancellable,
			      GError **error);
gboolean rs_trace_reader_seek_last(RsTraceReader *reader, guint64 n, GCancellable *cancellable,
				   GError **error);
void rs_trace_reader_progress(RsTraceReader *reader, guint64 *done, guint64 *total);

guint64 rs_trace_reader_get_wall_time(const RsTraceReader *reader);
guint rs_trace_reader_n_sources(const RsTraceReader *reader);
gboolean rs_trace_reader_is_cut(const RsTraceReader *reader);
gboolean rs_trace_reader_is_unordered(const RsTraceReader *reader);
GStrv rs_trace_reader_remarks(const RsTraceReader *reader);

G_END_DECLS

#endif
