/* SPDX-License-Identifier: MIT */
#include "cli/table.h"

#include "cli/color.h"
#include <rs-trace-escape.h>
#include <stdio.h>
#include <string.h>

struct cell {
	char *text; /* escaped */
	const char *sgr;
	bool is_line; /* and no cell */
};

struct rs_cli_table {
	const char *const *heads;
	guint columns;
	bool color;
	GArray *cells; /* of struct cell, row by row; a line stands between rows */
};

static void cell_clear(gpointer data)
{
	g_free(((struct cell *)data)->text);
}

struct rs_cli_table *rs_cli_table_new(const char *const *heads, bool color)
{
	struct rs_cli_table *table = g_new0(struct rs_cli_table, 1);

	table->heads = heads;
	table->columns = g_strv_length((char **)heads);
	table->color = color;
	table->cells = g_array_new(FALSE, FALSE, sizeof(struct cell));
	g_array_set_clear_func(table->cells, cell_clear);
	return table;
}

void rs_cli_table_free(struct rs_cli_table *table)
{
	if (!table)
		return;
	g_array_unref(table->cells);
	g_free(table);
}

static void add(struct rs_cli_table *table, const char *text, const char *sgr, bool is_line)
{
	const struct cell cell = {rs_trace_escape(text, -1, NULL), sgr, is_line};

	g_array_append_val(table->cells, cell);
}

void rs_cli_table_add(struct rs_cli_table *table, const char *text, const char *sgr)
{
	add(table, text, sgr, false);
}

void rs_cli_table_addf(struct rs_cli_table *table, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	add(table, text, NULL, false);
}

void rs_cli_table_line(struct rs_cli_table *table, const char *text)
{
	add(table, text, RS_COLOR_FAINT, true);
}

static unsigned char_width(const char *at)
{
	const gunichar c = g_utf8_get_char(at);

	return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
}

unsigned rs_cli_text_width(const char *text)
{
	unsigned width = 0;

	for (; *text; text = g_utf8_next_char(text))
		width += char_width(text);
	return width;
}

static bool is_right(const struct rs_cli_table *table, guint column)
{
	return *table->heads[column] == '>';
}

static const char *head_of(const struct rs_cli_table *table, guint column)
{
	return table->heads[column] + is_right(table, column);
}

static unsigned *measure(const struct rs_cli_table *table)
{
	unsigned *widths = g_new0(unsigned, table->columns);
	guint column = 0;

	for (guint i = 0; i < table->columns; i++)
		widths[i] = rs_cli_text_width(head_of(table, i));
	for (guint i = 0; i < table->cells->len; i++) {
		const struct cell *cell = &g_array_index(table->cells, struct cell, i);

		if (cell->is_line)
			continue;
		widths[column] = MAX(widths[column], rs_cli_text_width(cell->text));
		column = (column + 1) % table->columns;
	}
	return widths;
}

/* A line that is being written. */
struct line {
	GString *out;
	unsigned left; /* columns of the terminal; G_MAXUINT: no limit */
	bool color;
};

static void put(struct line *line, const char *text, const char *sgr)
{
	const char *end = text;
	g_autofree char *part = NULL;

	for (; *end && char_width(end) <= line->left; end = g_utf8_next_char(end))
		line->left -= line->left == G_MAXUINT ? 0 : char_width(end);
	if (*end)
		line->left = 0;
	part = g_strndup(text, (gsize)(end - text));
	if (*part)
		rs_cli_append_painted(line->out, line->color && sgr, sgr, part);
}

static void fill(struct line *line, unsigned n)
{
	for (; n && line->left; n--)
		put(line, " ", NULL);
}

static void put_cell(struct line *line, const struct rs_cli_table *table, guint column,
		     unsigned width, const char *text, const char *sgr)
{
	const unsigned blanks = width - MIN(rs_cli_text_width(text), width);
	const bool is_last = column + 1 == table->columns;

	if (is_right(table, column))
		fill(line, blanks);
	put(line, text, sgr);
	if (!is_last && !is_right(table, column))
		fill(line, blanks);
	if (!is_last)
		fill(line, 2);
}

void rs_cli_table_append(const struct rs_cli_table *table, unsigned width, GString *out)
{
	const struct line fresh = {out, width ? width : G_MAXUINT, table->color};
	g_autofree unsigned *widths = measure(table);
	struct line line = fresh;
	guint column = 0;

	for (guint i = 0; i < table->columns; i++)
		put_cell(&line, table, i, widths[i], head_of(table, i), RS_COLOR_HEAD);
	g_string_append_c(out, '\n');
	for (guint i = 0; i < table->cells->len; i++) {
		const struct cell *cell = &g_array_index(table->cells, struct cell, i);

		if (!column)
			line = fresh;
		if (cell->is_line)
			put(&line, cell->text, cell->sgr);
		else
			put_cell(&line, table, column, widths[column], cell->text, cell->sgr);
		if (!cell->is_line)
			column = (column + 1) % table->columns;
		if (!column)
			g_string_append_c(out, '\n');
	}
}

void rs_cli_table_print(const struct rs_cli_table *table)
{
	g_autoptr(GString) out = g_string_new(NULL);

	rs_cli_table_append(table, 0, out);
	fwrite(out->str, 1, out->len, stdout);
}

void rs_cli_append_line(GString *out, const char *text, unsigned width, bool color, const char *sgr)
{
	g_autofree char *clean = rs_trace_escape(text, -1, NULL);
	struct line line = {out, width ? width : G_MAXUINT, color};

	put(&line, clean, sgr);
	g_string_append_c(out, '\n');
}
