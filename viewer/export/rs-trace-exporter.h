/* SPDX-License-Identifier: MIT */
/*
 * Writes what a reader hands out in the formats of other tools. Each format is one table, in a file
 * of its own; rs_trace_export_formats() has all of them. The memory that an export takes does not
 * grow with the trace.
 *
 * Trust: whatever a guest or a file says is hostile, and each format escapes it as its readers need
 * it. One thread at a time.
 */
#ifndef RS_TRACE_EXPORTER_H
#define RS_TRACE_EXPORTER_H

#include "rs-trace-output.h"
#include "rs-trace-reader.h"

G_BEGIN_DECLS

/* What a format is made from. Valid as long as the export runs. */
typedef struct {
	const struct rs_file_header *header; /* of the trace, or of the first of several */
	RsTraceOutput *output;
	GCancellable *cancellable; /* may be NULL */
	/* What the user asked for, NULL-terminated, or NULL. A format may take no notice. */
	const char *const *slices;   /* "BEGIN..END": names of two events, "sched:a..sched:b" */
	const char *const *counters; /* "EVENT.FIELD" */
	const char *columns;         /* the event whose fields become columns */
} RsTraceExportConfig;

/* A record, with what is known of it. Valid during the call. */
typedef struct {
	const RsTraceRecord *record;
	const RsTraceTask *task; /* of events; comm is never NULL */
	const struct rs_file_source *source;
	guint source_index; /* 0, 1 … in the order in which sources joined; never used again */
	guint n_sources;    /* that have joined so far */
} RsTraceExportItem;

/* A format. `self` is what open() returned. Every function may fail with G_IO_ERROR. */
typedef struct {
	const char *name;    /* as --to has it */
	const char *summary; /* one line, to be translated: what it is, and what opens it */
	const char *suffix;  /* what its files' names usually end with: ".csv" */
	gboolean is_directory;
	gboolean is_text;     /* made of lines, without bytes that a terminal obeys */
	gboolean has_columns; /* it heeds config->columns */
	gpointer (*open)(const RsTraceExportConfig *config, GError **error);
	gboolean (*record)(gpointer self, const RsTraceExportItem *item, GError **error);
	/* Writes what is still to be written, after the last record. */
	gboolean (*close)(gpointer self, GError **error);
	/* Slices not drawn, for too many were open around them. NULL: no slices, no counters. */
	guint64 (*too_deep)(gpointer self);
	/* Frees it, at any time. */
	void (*free)(gpointer self);
} RsTraceExportFormat;

/* NULL-terminated, in the order in which to show them. */
const RsTraceExportFormat *const *rs_trace_export_formats(void);
/* NULL: there is none of that name. */
const RsTraceExportFormat *rs_trace_export_format(const char *name);

/*
 * The next record of the reader that is wanted, and its task, both valid until the next call. NULL:
 * there is none, or `error` is set. Called on the thread of the export.
 */
typedef const RsTraceRecord *(*RsTraceExportNext)(const RsTraceTask **task, gpointer data,
						  GError **error);

typedef struct {
	guint64 events;   /* that were written */
	guint64 lost;     /* that were lost when the trace was made */
	guint64 too_deep; /* slices that were not drawn, for too many were open around them */
	GError *damage;   /* why the trace cannot be read any further; the caller's. NULL: it can */
} RsTraceExportResult;

/*
 * Writes all records to config->output and commits it, also if the trace is cut or damaged, which
 * the reader tells. `next` NULL: all of the reader's records are wanted. FALSE: the output cannot
 * be written, the export was cancelled, or `next` said RS_TRACE_ERROR_SELECTION. Then nothing is
 * left of it. *result is set in each case.
 */
gboolean rs_trace_export(RsTraceReader *reader, RsTraceExportNext next, gpointer data,
			 const RsTraceExportFormat *format, const RsTraceExportConfig *config,
			 RsTraceExportResult *result, GError **error);

G_END_DECLS

#endif
