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
	RsTraceEventName event_name;
	gboolean was_found;
	struct {
		guint64 unique; /* 0: empty */
		guint field;    /* index, or NO_FIELD */
		gboolean meant; /* the glob matches */
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

gboolean rs_trace_column_is_common(const char *field)
{
	return common_of(field) != COMMON_NONE;
}

void rs_trace_column_free(RsTraceColumn *column)
{
	if (!column)
		return;
	rs_trace_glob_free(column->glob);
	rs_trace_event_name_clear(&column->event_name);
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
	const RsTraceField *field = rs_trace_event_field(event, column->field);

	if (field && (field->kind == RS_KIND_ARRAY || field->kind == RS_KIND_DYN_ARRAY))
		return NO_FIELD; /* it has many values */
	return field ? (guint)(field - event->fields) : NO_FIELD;
}

/* FALSE: the glob does not mean the event. */
static gboolean field_of(RsTraceColumn *column, const RsTraceEvent *event,
			 const RsTraceField **field)
{
	const guint at = event->unique % RECENT;
	guint index;

	if (column->recent[at].unique != event->unique) {
		column->recent[at].unique = event->unique;
		column->recent[at].meant =
			!column->glob || rs_trace_glob_matches_event(column->glob, event);
		column->recent[at].field = find_field(column, event);
	}
	index = column->recent[at].field;
	*field = index == NO_FIELD ? NULL : &event->fields[index];
	return column->recent[at].meant;
}

static gboolean take_field(const RsTraceField *field, const RsTraceRecord *record, RsTraceCell *out)
{
	const guint8 *bytes;
	guint length;

	if (!rs_trace_field_bytes(field, record->payload, record->size, &bytes, &length))
		return FALSE;
	*out = (RsTraceCell){.field = field};
	if (field->kind == RS_KIND_POINTER) {
		out->symbols = record->symbols;
		out->when = record->when;
	}
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

void rs_trace_event_name_clear(RsTraceEventName *name)
{
	if (name->name)
		g_string_free(name->name, TRUE);
	g_free(name->sum);
}

/*
 * A key holds RS_TRACE_KEY_TEXT bytes, and two long names may begin with as many of the same. So
 * the key of those is a hash.
 */
void rs_trace_event_name_take(RsTraceEventName *name, const RsTraceRecord *record, RsTraceCell *out)
{
	const RsTraceEvent *event = record->event;

	if (!name->name)
		name->name = g_string_new(NULL);
	if (!event || name->unique != event->unique) {
		g_clear_pointer(&name->sum, g_free);
		if (event)
			g_string_printf(name->name, "%s:%s", event->system, event->name);
		else
			g_string_printf(name->name, "#%u", record->id);
		name->unique = event ? event->unique : 0;
		if (name->name->len > RS_TRACE_KEY_TEXT)
			name->sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256,
								  name->name->str, -1);
	}
	take_text(out, name->sum ? name->sum : name->name->str);
	out->label = name->name->str;
}

static gboolean take_common(RsTraceColumn *column, const RsTraceSample *item, RsTraceCell *out)
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
		rs_trace_event_name_take(&column->event_name, record, out);
		return TRUE;
	case SOURCE:
		take_text(out, item->source ? item->source : "");
		return TRUE;
	default:
		return FALSE;
	}
}

gboolean rs_trace_column_get(RsTraceColumn *column, const RsTraceSample *item, RsTraceCell *out)
{
	const RsTraceRecord *record = item->record;
	const RsTraceField *field = NULL;

	if (record->kind != RS_TRACE_RECORD_EVENT)
		return FALSE;
	if (column->glob || column->common == COMMON_NONE) {
		if (!record->event ? column->glob != NULL
				   : !field_of(column, record->event, &field))
			return FALSE;
	}
	if (field) {
		column->was_found = TRUE;
		return take_field(field, record, out);
	}
	if (!take_common(column, item, out))
		return FALSE;
	column->was_found = TRUE;
	return TRUE;
}

gboolean rs_trace_column_require(const RsTraceColumn *column, const RsTraceColumn *among,
				 GError **error)
{
	g_autofree char *name = NULL, *other = NULL;

	if (rs_trace_column_was_found(column))
		return TRUE;
	name = rs_trace_escape(rs_trace_column_name(column), -1, NULL);
	if (among)
		other = rs_trace_escape(rs_trace_column_name(among), -1, NULL);
	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
		    "none of the events%s%s%s has '%s', or it is no single value",
		    among ? " that have '" : "", among ? other : "", among ? "'" : "", name);
	return FALSE;
}
