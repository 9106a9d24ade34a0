/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-fields.h"

#include <string.h>

#define FIELDS_MAX 512u
#define SYMBOLS_MAX 64u

static void free_field(gpointer data)
{
	RsViewerField *field = data;

	g_free(field->name);
	g_free(field->type);
	g_ptr_array_unref(field->symbols);
	g_free(field);
}

const RsViewerField *rs_viewer_fields_find(const GPtrArray *fields, const char *name, gsize size)
{
	for (guint i = 0; i < fields->len; i++) {
		const RsViewerField *field = fields->pdata[i];

		if (strlen(field->name) == size && !strncmp(field->name, name, size))
			return field;
	}
	return NULL;
}

/* Takes both texts. */
static void add(GPtrArray *fields, char *name, char *type, RsViewerFieldKind kind)
{
	RsViewerField *field = g_new0(RsViewerField, 1);

	field->name = name;
	field->type = type;
	field->kind = kind;
	field->symbols = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(fields, field);
}

static RsViewerFieldKind kind_of(const char *declaration)
{
	if (!strchr(declaration, '['))
		return RS_VIEWER_FIELD_NUMBER;
	return strstr(declaration, "char") ? RS_VIEWER_FIELD_TEXT : RS_VIEWER_FIELD_OTHER;
}

/* "u32 prev_pid", "char comm[16]", "__data_loc char[] why" */
static void add_declared(GPtrArray *fields, const char *declaration)
{
	const char *end = declaration + strlen(declaration), *name;
	g_autofree char *type = NULL;

	if (g_str_has_suffix(declaration, "]"))
		end = strrchr(declaration, '[');
	name = end;
	while (name > declaration && (g_ascii_isalnum(name[-1]) || name[-1] == '_'))
		name--;
	if (name == end || g_str_has_prefix(name, "common_") || fields->len >= FIELDS_MAX ||
	    rs_viewer_fields_find(fields, name, (gsize)(end - name)))
		return;
	type = g_strdup_printf("%.*s%s", (int)(name - declaration), declaration, end);
	add(fields, g_strndup(name, (gsize)(end - name)), g_strdup(g_strstrip(type)),
	    kind_of(declaration));
}

/* The names in `{0x0, "running"}, {0x1, "ready"})`; up to the parenthesis. */
static void add_symbols(GPtrArray *symbols, const char *text)
{
	while (*text == '{' && symbols->len < SYMBOLS_MAX) {
		const char *begin = strchr(text, '"'), *end;

		if (!begin)
			return;
		for (end = begin + 1; *end && *end != '"'; end++)
			if (*end == '\\' && end[1])
				end++;
		if (!*end)
			return;
		g_ptr_array_add(symbols, g_strndup(begin + 1, (gsize)(end - begin - 1)));
		text = end + 1;
		text += strspn(text, "}, ");
	}
}

/* A guest's text may repeat such calls as often as it likes. */
#define CALLS_MAX 256u
#define LIST_FAR 256u /* bytes from a call's name to its list */

/* `__print_symbolic(REC->state, {…}, …)`, or flags, which have a separator before the list. */
static void read_print(GPtrArray *fields, const char *print)
{
	static const char *const calls[] = {"__print_symbolic(REC->", "__print_flags(REC->"};

	for (gsize i = 0; i < G_N_ELEMENTS(calls); i++) {
		const char *at = print;

		for (guint n = 0; n < CALLS_MAX && (at = strstr(at, calls[i])); n++) {
			const char *name = at += strlen(calls[i]);
			const gsize size = strcspn(name, ", )");
			const RsViewerField *field = rs_viewer_fields_find(fields, name, size);
			const char *list = field && !field->symbols->len
						   ? memchr(name, '{', strnlen(name, LIST_FAR))
						   : NULL;

			if (list)
				add_symbols(field->symbols, list);
		}
	}
}

GPtrArray *rs_viewer_fields_parse(const char *formats)
{
	static const char *const more[] = {"COMM", "CPU", "PID", "TGID"};
	GPtrArray *fields = g_ptr_array_new_with_free_func(free_field);
	g_auto(GStrv) lines = g_strsplit(formats, "\n", -1);

	for (char **line = lines; *line; line++) {
		char *end;

		if (g_str_has_prefix(*line, "print fmt: "))
			read_print(fields, *line);
		if (!g_str_has_prefix(*line, "\tfield:") || !(end = strchr(*line, ';')))
			continue;
		*end = '\0';
		add_declared(fields, *line + strlen("\tfield:"));
	}
	for (gsize i = 0; i < G_N_ELEMENTS(more); i++)
		if (!rs_viewer_fields_find(fields, more[i], strlen(more[i])))
			add(fields, g_strdup(more[i]), g_strdup(i ? "u32" : "char[]"),
			    i ? RS_VIEWER_FIELD_NUMBER : RS_VIEWER_FIELD_TEXT);
	return fields;
}
