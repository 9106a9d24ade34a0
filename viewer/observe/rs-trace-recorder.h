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
	 * Says what cannot be seen from a feed: name, number, kind, machine, session_id and
	 * ring_page_size of the source whose feed has `source` as its data. The rest is filled in.
	 * May be NULL.
	 */
	void (*describe)(gpointer source, struct rs_file_source *out, gpointer data);
	gpointer data;
	/*
	 * A window is ended when it is so old; 0: 1000. It may take longer until all rings have
	 * been read as far as they were written by then.
	 */
	guint window_ms;
	/* Ends the recording before all its files together have more bytes; 0: never. */
	guint64 max_bytes;
	/*
	 * With `next`: begins another file at the end of the window in which this one has got so
	 * many bytes of pages, or so old. 0: not for that reason.
	 */
	guint64 rotate_bytes;
	guint64 rotate_ms;
	/*
	 * Opens file `number`, 2 for the first call, which the caller gives to the recorder. Called
	 * on the thread of the rounds. Each file is complete, and opens without the others. NULL:
	 * there is one file.
	 */
	GOutputStream *(*next)(guint64 number, gpointer data, GError **error);
} RsTraceRecorderConfig;

/*
 * For the caller or a pump to free, by its ops. G_IO_ERROR: the file cannot be written.
 * RS_TRACE_ERROR_FULL: max_bytes is less than a file needs.
 */
RsTraceSink *rs_trace_recorder_new(const RsTraceRecorderConfig *config, GError **error);

typedef struct {
	guint64 bytes; /* of all files */
	guint64 pages; /* that were written, parts of pages included */
	/*
	 * Records in them, as their headers say. At the end those of each ring's last page too.
	 */
	guint64 events;
	guint64 lost;    /* records, as far as losses were told */
	guint64 refused; /* records that were read and could not be written */
	guint64 windows;
	guint64 files;
	gboolean full; /* it has ended because of max_bytes */
} RsTraceRecorderStats;
/*
 * What was written so far. FALSE: the file could not be written up to its end; what is in it can be
 * read. Then the recorder wanted no more rounds. After the pump has finished.
 */
gboolean rs_trace_recorder_result(const RsTraceSink *recorder, RsTraceRecorderStats *out,
				  GError **error);
/* What was written up to the last round. On any thread. */
void rs_trace_recorder_progress(RsTraceSink *recorder, RsTraceRecorderStats *out);

G_END_DECLS

#endif
