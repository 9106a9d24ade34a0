/* SPDX-License-Identifier: MIT */
/*
 * Writes the blocks of a trace file (<ringside/trace_file.h>) to a stream. Pages are gathered and
 * written in blocks of some size. What was told while pages were gathered comes before them, which
 * a reader does not mind: what is told says itself since when it is valid.
 *
 * After an error nothing more is written. A regular file is cut behind the last whole block, so
 * that a full disk leaves a good file. One thread at a time.
 */
#ifndef RS_TRACE_WRITER_H
#define RS_TRACE_WRITER_H

#include <gio/gio.h>
#include <ringside/trace_file.h>

G_BEGIN_DECLS

typedef struct _RsTraceWriter RsTraceWriter;

typedef struct {
	guint64 origin_ns; /* rs_region_header.origin_ns of the sources */
	guint64 wall_ns;   /* CLOCK_REALTIME at that moment; 0: unknown */
	guint8 host_boot[16];
	/* zstd level of pages; 0: they are not compressed */
	gint compression;
	/*
	 * Bytes that the file may have; 0: any number. A block that does not fit is refused with
	 * RS_TRACE_ERROR_FULL, and so is each one after it. There is always room to end the file.
	 */
	guint64 max_bytes;
} RsTraceWriterConfig;

/* Less than this is no file. */
#define RS_TRACE_WRITER_MIN 4096u

/* Writes the header. Keeps a reference to `stream`, which is closed by rs_trace_writer_close(). */
RsTraceWriter *rs_trace_writer_new(GOutputStream *stream, const RsTraceWriterConfig *config,
				   GError **error);
/* Without rs_trace_writer_close() the file has no end, as after a crash. NULL is accepted. */
void rs_trace_writer_free(RsTraceWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceWriter, rs_trace_writer_free)

/* What a head holds behind its struct rs_file_block, for all kinds that are no table. */
gboolean rs_trace_writer_put(RsTraceWriter *writer, guint kind, guint source, gconstpointer body,
			     gsize size, GError **error);

typedef struct {
	guint64 arg; /* these four as in struct rs_file_table */
	gconstpointer elements;
	guint count;
	guint stride;
	gconstpointer data;
	gsize data_size;
} RsTraceWriterTable;
gboolean rs_trace_writer_put_table(RsTraceWriter *writer, guint kind, guint source,
				   const RsTraceWriterTable *table, GError **error);

/*
 * A page up to page->to, with its header at `bytes`, of which what is behind page->from is new.
 * page->at is not used. BAD_FILE: no page can be so large.
 */
gboolean rs_trace_writer_put_page(RsTraceWriter *writer, guint source, const guint8 *bytes,
				  const struct rs_file_page *page, GError **error);

/* Writes the pages that were gathered. */
gboolean rs_trace_writer_flush(RsTraceWriter *writer, GError **error);

/* Bytes of pages since the last window, also of those that are still being gathered. */
gsize rs_trace_writer_window_bytes(const RsTraceWriter *writer);
/* Ends a window. */
gboolean rs_trace_writer_end_window(RsTraceWriter *writer, guint64 until_ns, GError **error);

typedef struct {
	guint64 pages;
	guint64 records; /* in them */
	guint64 lost;    /* before them */
} RsTraceWriterRefused;
/* Pages that were put and are not in the file, as it is full or cannot be written. */
void rs_trace_writer_refused(const RsTraceWriter *writer, RsTraceWriterRefused *out);

/* Bytes so far, with pages that are still being gathered as if they were written as they are. */
guint64 rs_trace_writer_size(const RsTraceWriter *writer);
/* Those of them that are pages: the rest is what was told, and the file's own order. */
guint64 rs_trace_writer_page_bytes(const RsTraceWriter *writer);
/* Ends the file, and closes the stream. */
gboolean rs_trace_writer_close(RsTraceWriter *writer, GError **error);

G_END_DECLS

#endif
