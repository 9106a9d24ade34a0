/* SPDX-License-Identifier: MIT */
/*
 * One value of each record, by its name: "FIELD" of any event that has it, "EVENT.FIELD" of the
 * events that match a glob, or one of comm, cpu, pid, tgid, event ("system:name", "#64" of an
 * unknown one) and source, which every record has. Those are the record's own, whatever the names
 * of its fields: a field of such a name is had by EVENT.FIELD. Of an event without such a field,
 * EVENT.pid is the record's own, too.
 *
 * Trust: records are hostile. One thread at a time.
 */
#ifndef RS_TRACE_COLUMN_H
#define RS_TRACE_COLUMN_H

#include "analysis/rs-trace-sample.h"

G_BEGIN_DECLS

typedef enum {
	RS_TRACE_CELL_NUMBER, /* `number` */
	RS_TRACE_CELL_SIGNED, /* `number`, extended */
	RS_TRACE_CELL_NAMED,  /* a number that is a name rather than an amount: pid, cpu, pointer */
	RS_TRACE_CELL_SYMBOL, /* `number`, with symbols of `field` */
	RS_TRACE_CELL_TEXT,   /* `text`, any bytes */
} RsTraceCellKind;

/* Valid as long as the record. */
typedef struct {
	RsTraceCellKind kind;
	guint64 number;
	const char *text;
	gsize size;
	const RsTraceField *field;
	const RsTraceSymbols *symbols; /* of an address: names; NULL: none */
	RsTraceMoment when;            /* of which these are */
	const char *label;             /* of a text that stands for a longer one: that; else NULL */
} RsTraceCell;

/* What an event is called, and room for it. Zeroed at first. */
typedef struct {
	guint64 unique; /* of the event; 0: of none */
	GString *name;
	char *sum; /* of a name that is longer than a key */
} RsTraceEventName;

/* "system:name", or "#ID" of an unknown event. Valid until the next call. */
void rs_trace_event_name_take(RsTraceEventName *name, const RsTraceRecord *record,
			      RsTraceCell *out);
void rs_trace_event_name_clear(RsTraceEventName *name);

#define RS_TRACE_KEY_TEXT 64u /* bytes of a text that are compared (rs-trace-keys.h) */

typedef struct _RsTraceColumn RsTraceColumn;

/* NULL: RS_TRACE_ERROR_SELECTION, the name is empty or too long. */
RsTraceColumn *rs_trace_column_new(const char *name, GError **error);
/* Accepts NULL. */
void rs_trace_column_free(RsTraceColumn *column);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceColumn, rs_trace_column_free)

/* Whether every record has a value of that name. */
gboolean rs_trace_column_is_common(const char *field);
const char *rs_trace_column_name(const RsTraceColumn *column);
/* FALSE: the event has no such value, or it is an array, or the payload lacks it. */
gboolean rs_trace_column_get(RsTraceColumn *column, const RsTraceSample *item, RsTraceCell *out);
/* Whether any event so far has had it. */
gboolean rs_trace_column_was_found(const RsTraceColumn *column);
/* The same. `among`: it was looked for where that one was found. FALSE: ERROR_SELECTION. */
gboolean rs_trace_column_require(const RsTraceColumn *column, const RsTraceColumn *among,
				 GError **error);

G_END_DECLS

#endif
