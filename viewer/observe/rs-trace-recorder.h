/* SPDX-License-Identifier: MIT */
/*
 * The sink that keeps: it writes pages and all that was told to a trace file, and looks into no
 * page (docs/adr/0017-trace-files.md). Its sources must hand out whole pages
 * (RS_TRACE_LIVE_WHOLE). rs_trace_reader_new() reads what it wrote.
 *
 * Functions here are called on the thread of the rounds, or after the pump has finished.
 */
#ifndef RS_TRACE_RECORDER_H
#define RS_TRACE_RECORDER_H

#include "rs-trace-sink.h"

#include <gio/gio.h>
#include <rs-trace-writer.h>

G_BEGIN_DECLS

typedef struct {
	/* The recorder keeps a reference, and closes it at the end. */
	GOutputStream *stream;
	RsTraceWriterConfig file;
	/*
	 * Says what cannot be seen from a feed: name, number, kind, arch, session_id and
	 * ring_page_size of the source whose feed has `source` as its data. The rest is filled in.
	 * May be NULL.
	 */
	void (*describe)(gpointer source, struct rs_file_source *out, gpointer data);
	gpointer data;
	/* How long a window is at most; 0: 1000. A reader of the file holds two of them. */
	guint window_ms;
} RsTraceRecorderConfig;

/* For the caller or a pump to free, by its ops. G_IO_ERROR: the file cannot be written. */
RsTraceSink *rs_trace_recorder_new(const RsTraceRecorderConfig *config, GError **error);

typedef struct {
	guint64 bytes; /* of the file */
	guint64 pages; /* that were written, parts of pages included */
	guint64 lost;  /* records, as far as losses were told */
	guint64 windows;
} RsTraceRecorderStats;
/*
 * What was written so far. FALSE: the file could not be written up to its end; what is in it can be
 * read. Then the recorder wanted no more rounds.
 */
gboolean rs_trace_recorder_result(const RsTraceSink *recorder, RsTraceRecorderStats *out,
				  GError **error);

G_END_DECLS

#endif
