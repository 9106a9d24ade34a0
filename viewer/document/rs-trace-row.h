/* SPDX-License-Identifier: MIT */
/*
 * A record as a list shows it: texts that are safe to show. It is a value, made by the thread that
 * reads the trace, and does not change: any thread.
 */
#ifndef RS_TRACE_ROW_H
#define RS_TRACE_ROW_H

#include "rs-trace-text.h"

G_BEGIN_DECLS

/* A field of an event, as the details show it. */
typedef struct {
	char *name;
	char *type;  /* C type, as a format file shows it */
	char *value; /* as the event's text has it: symbols by name */
	char *raw;   /* as it is: numbers in decimal, or hexadecimal with 0x */
} RsTraceRowField;

typedef struct {
	gatomicrefcount refs;
	RsTraceRecordKind kind;
	guint64 ns;        /* its own time, as the line and the JSON have it */
	guint64 sorted_ns; /* where it stands in the order, which is its time in a timeline */
	guint64 lost;
	guint32 cpu;
	guint32 pid, tgid, boot;
	guint source;      /* RsTraceOrigin.index */
	guint32 number;    /* of the source in its session; 0: not known */
	guint id;          /* of the event */
	char *source_name; /* escaped, as all texts here; may be "" */
	char *comm;        /* "" if it is no event */
	char flags[6];     /* as the text's column of flags */
	char *event;       /* "system:name", "#64" of an unknown one; "" of a loss or a boot */
	char *text;        /* the event's own, by its print format; of a loss: how many */
	char *line;        /* as `ringside report` prints it, without its newline */
	char *json;        /* as `ringside report --json` prints it, without its newline */
	/* Only if details were asked for, else NULL: */
	GPtrArray *fields;  /* of RsTraceRowField */
	GBytes *payload;    /* as it was written */
	char *format;       /* of the event, as a Linux format file; NULL of what is no event */
	GStrv stack;        /* innermost first, "schedule+0x12" or "0x401234"; NULL: none */
	guint64 *addresses; /* of the same frames */
} RsTraceRow;

RsTraceRow *rs_trace_row_ref(RsTraceRow *row);
/* NULL is accepted. */
void rs_trace_row_unref(RsTraceRow *row);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceRow, rs_trace_row_unref)

/* Copies a record and its task. `style`: of its line. */
RsTraceRow *rs_trace_row_new(const RsTraceRecord *record, const RsTraceTask *task,
			     RsTraceTextStyle style, gboolean with_details);

G_END_DECLS

#endif
