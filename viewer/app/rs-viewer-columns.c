/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-columns.h"

#include <glib/gi18n.h>
#include <string.h>

#include "app/rs-viewer-record.h"

#define FIELD_MAX 256u /* bytes of a field's name */

static const struct {
	const char *id, *title;
	guint width;
	gboolean shown, number;
} kinds[] = {
	[RS_VIEWER_COLUMN_TIME] = {"time", N_("Time"), 156, TRUE, TRUE},
	[RS_VIEWER_COLUMN_DELTA] = {"delta", N_("Since Previous"), 112, FALSE, TRUE},
	[RS_VIEWER_COLUMN_CPU] = {"cpu", N_("CPU"), 48, TRUE, TRUE},
	[RS_VIEWER_COLUMN_SOURCE] = {"source", N_("Source"), 112, TRUE, FALSE},
	[RS_VIEWER_COLUMN_TASK] = {"task", N_("Task"), 168, TRUE, FALSE},
	[RS_VIEWER_COLUMN_EVENT] = {"event", N_("Event"), 192, TRUE, FALSE},
	[RS_VIEWER_COLUMN_FIELD] = {"field", NULL, 120, TRUE, FALSE},
	[RS_VIEWER_COLUMN_TEXT] = {"text", N_("Text"), 240, TRUE, FALSE},
};

static void free_column(gpointer data)
{
	RsViewerColumn *column = data;

	g_free(column->field);
	g_free(column);
}

static RsViewerColumn *make(RsViewerColumnKind kind, const char *field)
{
	RsViewerColumn *column = g_new0(RsViewerColumn, 1);

	column->kind = kind;
	column->field = g_strdup(field);
	column->width = kinds[kind].width;
	column->shown = kinds[kind].shown;
	return column;
}

RsViewerColumns *rs_viewer_columns_new(void)
{
	RsViewerColumns *columns = g_new0(RsViewerColumns, 1);

	columns->columns = g_ptr_array_new_with_free_func(free_column);
	for (guint kind = 0; kind < G_N_ELEMENTS(kinds); kind++)
		if (kind != RS_VIEWER_COLUMN_FIELD)
			g_ptr_array_add(columns->columns, make(kind, NULL));
	return columns;
}

void rs_viewer_columns_free(RsViewerColumns *columns)
{
	if (!columns)
		return;
	g_ptr_array_unref(columns->columns);
	g_free(columns);
}

static RsViewerColumn *at(const RsViewerColumns *columns, guint i)
{
	return g_ptr_array_index(columns->columns, i);
}

RsViewerColumn *rs_viewer_columns_of(const RsViewerColumns *columns, RsViewerColumnKind kind)
{
	for (guint i = 0; i < columns->columns->len; i++)
		if (at(columns, i)->kind == kind)
			return at(columns, i);
	return NULL;
}

RsViewerColumn *rs_viewer_columns_field(const RsViewerColumns *columns, const char *field)
{
	for (guint i = 0; i < columns->columns->len; i++)
		if (!g_strcmp0(at(columns, i)->field, field))
			return at(columns, i);
	return NULL;
}

/* Names of fields are words. What is no word would harm names of actions and of keys in files. */
static gboolean is_name(const char *field)
{
	gsize size = strlen(field);

	if (!size || size > FIELD_MAX)
		return FALSE;
	for (gsize i = 0; i < size; i++)
		if (!g_ascii_isalnum(field[i]) && !strchr("_.-", field[i]))
			return FALSE;
	return TRUE;
}

RsViewerColumn *rs_viewer_columns_add_field(RsViewerColumns *columns, const char *field)
{
	RsViewerColumn *column;
	guint n = 0;

	if (!is_name(field))
		return NULL;
	column = rs_viewer_columns_field(columns, field);
	if (column) {
		column->shown = TRUE;
		return column;
	}
	for (guint i = 0; i < columns->columns->len; i++)
		n += at(columns, i)->kind == RS_VIEWER_COLUMN_FIELD;
	if (n == RS_VIEWER_COLUMN_FIELDS)
		return NULL;
	column = make(RS_VIEWER_COLUMN_FIELD, field);
	/* before the text, which takes the rest of the width */
	g_ptr_array_insert(columns->columns, (int)columns->columns->len - 1, column);
	return column;
}

void rs_viewer_columns_remove(RsViewerColumns *columns, RsViewerColumn *column)
{
	if (column->kind == RS_VIEWER_COLUMN_FIELD)
		g_ptr_array_remove(columns->columns, column);
}

gboolean rs_viewer_columns_want_details(const RsViewerColumns *columns)
{
	for (guint i = 0; i < columns->columns->len; i++)
		if (at(columns, i)->kind == RS_VIEWER_COLUMN_FIELD && at(columns, i)->shown)
			return TRUE;
	return FALSE;
}

void rs_viewer_column_set_width(RsViewerColumn *column, int width)
{
	column->width = (guint)CLAMP(width, (int)RS_VIEWER_COLUMN_MIN, (int)RS_VIEWER_COLUMN_MAX);
}

char *rs_viewer_column_id(const RsViewerColumn *column)
{
	return column->field ? g_strconcat("field-", column->field, NULL)
			     : g_strdup(kinds[column->kind].id);
}

const char *rs_viewer_column_title(const RsViewerColumn *column)
{
	return column->field ? column->field : _(kinds[column->kind].title);
}

gboolean rs_viewer_column_is_number(const RsViewerColumn *column)
{
	return kinds[column->kind].number;
}

/* ---- what lines have in them ---- */

/* What is longer would cost time in each frame, and nobody sees it. */
static char *bounded(const char *text)
{
	return rs_viewer_record_shorten(text, RS_VIEWER_CELL_MAX);
}

/* Rows of text become one. */
static char *one_line(char *text)
{
	for (char *c = text; *c; c++)
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	return text;
}

static char *field_of(const RsViewerLine *line, const char *name)
{
	if (!line->read || !line->read->fields)
		return g_strdup("");
	for (guint i = 0; i < line->read->fields->len; i++) {
		const RsTraceRowField *field = g_ptr_array_index(line->read->fields, i);

		if (!strcmp(field->name, name))
			return one_line(bounded(field->value));
	}
	return g_strdup("");
}

static char *text_of(const RsViewerLine *line)
{
	g_autofree char *lost = rs_viewer_number(line->lost);

	if (line->row.class == RS_TRACE_CLASS_LOSS)
		return g_strdup_printf(
			ngettext("%s event lost", "%s events lost", (gulong)line->lost), lost);
	if (line->read)
		return one_line(bounded(line->read->text));
	return g_strdup(line->failed ? _("This record could not be read.") : "");
}

char *rs_viewer_column_text(const RsViewerColumn *column, const RsViewerLine *line,
			    RsViewerTimeStyle style, guint64 wall)
{
	switch (column->kind) {
	case RS_VIEWER_COLUMN_TIME:
		return rs_viewer_time_moment(line->read ? line->read->ns : line->row.ns, style,
					     wall);
	case RS_VIEWER_COLUMN_DELTA:
		return rs_viewer_time_difference(line->before, line->row.ns);
	case RS_VIEWER_COLUMN_CPU:
		return g_strdup_printf("%u", line->cpu);
	case RS_VIEWER_COLUMN_SOURCE:
		return bounded(line->source);
	case RS_VIEWER_COLUMN_TASK:
		return bounded(line->task);
	case RS_VIEWER_COLUMN_EVENT:
		return bounded(line->event);
	case RS_VIEWER_COLUMN_FIELD:
		return field_of(line, column->field);
	case RS_VIEWER_COLUMN_TEXT:
		return text_of(line);
	}
	g_return_val_if_reached(g_strdup(""));
}

char *rs_viewer_columns_say(const RsViewerColumns *columns, gboolean with_source,
			    const RsViewerLine *line, RsViewerTimeStyle style, guint64 wall)
{
	GString *said = g_string_new(NULL);

	for (guint i = 0; i < columns->columns->len; i++) {
		const RsViewerColumn *column = at(columns, i);
		g_autofree char *text = NULL;

		if (!column->shown || (column->kind == RS_VIEWER_COLUMN_SOURCE && !with_source))
			continue;
		text = rs_viewer_column_text(column, line, style, wall);
		if (!*text)
			continue;
		if (said->len)
			g_string_append(said, ", ");
		if (column->kind == RS_VIEWER_COLUMN_CPU || column->field)
			g_string_append_printf(said, "%s ", rs_viewer_column_title(column));
		g_string_append(said, text);
	}
	return g_string_free(said, FALSE);
}

/* ---- files ---- */

static void set_for(GKeyFile *file, const char *group, const RsViewerColumn *column)
{
	g_autofree char *id = rs_viewer_column_id(column);
	g_autofree char *shown = g_strconcat(id, "-shown", NULL);
	g_autofree char *width = g_strconcat(id, "-width", NULL);

	g_key_file_set_boolean(file, group, shown, column->shown);
	g_key_file_set_integer(file, group, width, (int)column->width);
}

void rs_viewer_columns_save(const RsViewerColumns *columns, GKeyFile *file, const char *group)
{
	g_autoptr(GPtrArray) fields = g_ptr_array_new();

	for (guint i = 0; i < columns->columns->len; i++) {
		set_for(file, group, at(columns, i));
		if (at(columns, i)->field)
			g_ptr_array_add(fields, at(columns, i)->field);
	}
	g_key_file_set_string_list(file, group, "fields", (const char *const *)fields->pdata,
				   fields->len);
}

static void load_one(GKeyFile *file, const char *group, RsViewerColumn *column)
{
	g_autofree char *id = rs_viewer_column_id(column);
	g_autofree char *shown = g_strconcat(id, "-shown", NULL);
	g_autofree char *width = g_strconcat(id, "-width", NULL);
	g_autoptr(GError) error = NULL;
	gboolean is_shown = g_key_file_get_boolean(file, group, shown, &error);
	int pixels = g_key_file_get_integer(file, group, width, NULL);

	if (!error)
		column->shown = is_shown;
	if (pixels > 0)
		rs_viewer_column_set_width(column, pixels);
}

void rs_viewer_columns_load(RsViewerColumns *columns, GKeyFile *file, const char *group)
{
	g_auto(GStrv) fields = g_key_file_get_string_list(file, group, "fields", NULL, NULL);

	for (guint i = columns->columns->len; fields && i-- > 0;)
		if (at(columns, i)->field &&
		    !g_strv_contains((const char *const *)fields, at(columns, i)->field))
			rs_viewer_columns_remove(columns, at(columns, i));
	for (guint i = 0; fields && fields[i] && i < RS_VIEWER_COLUMN_FIELDS; i++)
		rs_viewer_columns_add_field(columns, fields[i]);
	for (guint i = 0; i < columns->columns->len; i++)
		load_one(file, group, at(columns, i));
}
