/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-column.h"

#include "rs-trace-error.h"
#include "rs-trace-escape.h"
#include "rs-trace-glob.h"
#include "rs-trace-value.h"

#include <string.h>

#define RECENT 256u /* events whose field is known; a power of 2 */
#define NO_FIELD G_MAXUINT

typedef enum { COMMON_NONE, COMM, CPU, PID, TGID, EVENT, SOURCE } Common;

struct _RsTraceColumn {
	char *name;        /* as given */
	char *field;       /* its part behind the event */
	RsTraceGlob *glob; /* of events; NULL: any */
	Common common;
	gboolean was_found;
	struct {
		guint64 unique; /* 0: empty */
		guint field;    /* index, or NO_FIELD */
	} recent[RECENT];
};

static Common common_of(const char *name)
{
	static const struct {
		const char *name;
		Common common;
	} names[] = {{"comm", COMM}, {"cpu", CPU},     {"pid", PID},
		     {"tgid", TGID}, {"event", EVENT}, {"source", SOURCE}};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		if (!g_ascii_strcasecmp(name, names[i].name))
			return names[i].common;
	}
	return COMMON_NONE;
}

RsTraceColumn *rs_trace_column_new(const char *name, GError **error)
{
	g_autoptr(RsTraceColumn) column = g_new0(RsTraceColumn, 1);
	const char *dot = strrchr(name, '.');

	column->name = g_strdup(name);
	column->field = g_strdup(dot ? dot + 1 : name);
	if (dot && dot > name) {
		g_autofree char *glob = g_strndup(name, (gsize)(dot - name));

		column->glob = rs_trace_glob_new(glob);
	}
	if (!*column->field || strlen(column->field) >= RS_NAME_MAX || (dot && !column->glob)) {
		g_autofree char *clean = rs_trace_escape(name, -1, NULL);

		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
			    "'%s' is no FIELD or EVENT.FIELD", clean);
		return NULL;
	}
	column->common = common_of(column->field);
	return g_steal_pointer(&column);
}

void rs_trace_column_free(RsTraceColumn *column)
{
	if (!column)
		return;
	rs_trace_glob_free(column->glob);
	g_free(column->field);
	g_free(column->name);
	g_free(column);
}

const char *rs_trace_column_name(const RsTraceColumn *column)
{
	return column->name;
}

gboolean rs_trace_column_was_found(const RsTraceColumn *column)
{
	return column->was_found;
}

/* ---- of a record ---- */

static guint find_field(const RsTraceColumn *column, const RsTraceEvent *event)
{
	const RsTraceField *field = NULL;

	if (!column->glob || rs_trace_glob_matches_event(column->glob, event))
		field = rs_trace_event_field(event, column->field);
	if (field && (field->kind == RS_KIND_ARRAY || field->kind == RS_KIND_DYN_ARRAY))
		return NO_FIELD; /* it has many values */
	return field ? (guint)(field - event->fields) : NO_FIELD;
}

static const RsTraceField *field_of(RsTraceColumn *column, const RsTraceEvent *event)
{
	const guint at = event->unique % RECENT;
	guint field;

	if (column->recent[at].unique != event->unique) {
		column->recent[at].unique = event->unique;
		column->recent[at].field = find_field(column, event);
	}
	field = column->recent[at].field;
	return field == NO_FIELD ? NULL : &event->fields[field];
}

static gboolean take_field(const RsTraceField *field, const RsTraceRecord *record, RsTraceCell *out)
{
	const guint8 *bytes;
	guint length;

	if (!rs_trace_field_bytes(field, record->payload, record->size, &bytes, &length))
		return FALSE;
	*out = (RsTraceCell){.field = field};
	if (field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING) {
		out->kind = RS_TRACE_CELL_TEXT;
		out->text = (const char *)bytes;
		out->size = length;
		return TRUE;
	}
	out->number = rs_trace_load_integer(bytes, field->size, field->is_signed);
	if (field->kind == RS_KIND_ENUM || field->kind == RS_KIND_FLAGS)
		out->kind = RS_TRACE_CELL_SYMBOL;
	else if (field->kind == RS_KIND_POINTER)
		out->kind = RS_TRACE_CELL_NAMED;
	else
		out->kind = field->is_signed ? RS_TRACE_CELL_SIGNED : RS_TRACE_CELL_NUMBER;
	return TRUE;
}

static void take_text(RsTraceCell *out, const char *text)
{
	*out = (RsTraceCell){.kind = RS_TRACE_CELL_TEXT, .text = text, .size = strlen(text)};
}

static gboolean take_common(const RsTraceColumn *column, const RsTraceSample *item,
			    RsTraceCell *out)
{
	const RsTraceRecord *record = item->record;

	*out = (RsTraceCell){.kind = RS_TRACE_CELL_NAMED};
	switch (column->common) {
	case COMM:
		take_text(out, item->task->comm);
		return TRUE;
	case CPU:
		out->number = record->ring;
		return TRUE;
	case PID:
		out->number = record->pid;
		return TRUE;
	case TGID:
		out->number = item->task->tgid;
		return TRUE;
	case EVENT:
		if (!record->event)
			return FALSE;
		take_text(out, record->event->name);
		return TRUE;
	case SOURCE:
		take_text(out, item->source);
		return TRUE;
	default:
		return FALSE;
	}
}

gboolean rs_trace_column_get(RsTraceColumn *column, const RsTraceSample *item, RsTraceCell *out)
{
	const RsTraceRecord *record = item->record;
	const RsTraceField *field;

	if (record->kind != RS_TRACE_RECORD_EVENT)
		return FALSE;
	field = record->event ? field_of(column, record->event) : NULL;
	if (field) {
		column->was_found = TRUE;
		return take_field(field, record, out);
	}
	if (column->glob &&
	    (!record->event || !rs_trace_glob_matches_event(column->glob, record->event)))
		return FALSE;
	if (!take_common(column, item, out))
		return FALSE;
	column->was_found = TRUE;
	return TRUE;
}

gboolean rs_trace_column_require(const RsTraceColumn *column, GError **error)
{
	g_autofree char *name = NULL;

	if (rs_trace_column_was_found(column))
		return TRUE;
	name = rs_trace_escape(rs_trace_column_name(column), -1, NULL);
	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
		    "none of the events has '%s', or it is no single value", name);
	return FALSE;
}
