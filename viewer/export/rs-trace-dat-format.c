/* SPDX-License-Identifier: MIT */
/*
 * Format files for libtraceevent. Where it knows less of printf than C, the print format says the
 * same in other words:
 *   - it does not extend the sign of small integers, so those get "h" or "hh";
 *   - it has no "%c": a table of all characters takes its place;
 *   - it prints a pointer its own way: "%p" becomes "0x%llx";
 *   - it knows no '+' and ' ' flags: they are left out;
 *   - it writes arrays without braces and commas, and all elements as unsigned: short arrays of a
 *     fixed size are written out element by element;
 *   - it finds no field that is called as one of every event: such a one gets a '_' in front;
 *   - it ends a text at the first byte that is not ASCII: such bytes are shown as "\xNN".
 */
#include "rs-trace-dat-private.h"

#include <ringside/descriptor.h>
#include <string.h>

#define LINUX_COMMON_SIZE 8u
#define ELEMENTS_MAX 64u       /* of an array that is written out */
#define FORMAT_MAX (64u << 10) /* bytes after which no more names of values are added */

static gboolean is_plain(char c)
{
	return c >= 0x20 && c < 0x7f;
}

/* Between quotes, where libtraceevent takes a backslash away again. */
static void append_literal(GString *out, const char *text, gsize size)
{
	for (gsize i = 0; i < size; i++) {
		if (!is_plain(text[i]))
			g_string_append_printf(out, "\\\\x%02x", (guchar)text[i]);
		else if (text[i] == '"' || text[i] == '\\')
			g_string_append_printf(out, "\\%c", text[i]);
		else if (text[i] == '%')
			g_string_append(out, "%%");
		else
			g_string_append_c(out, text[i]);
	}
}

/*
 * The name of a value, in quotes. Here libtraceevent keeps each backslash, so a name with both
 * quotes in it loses one of them.
 */
static void append_name(GString *out, const char *name)
{
	char quote = strchr(name, '"') && !strchr(name, '\'') ? '\'' : '"';
	gsize length = strlen(name);

	g_string_append_c(out, quote);
	for (gsize i = 0; i < length; i++) {
		if (!is_plain(name[i]))
			g_string_append_printf(out, "\\x%02x", (guchar)name[i]);
		else if (name[i] == quote)
			g_string_append_c(out, '\'');
		else
			g_string_append_c(out, name[i]);
	}
	/* It would keep the quote from ending the name, doubled or not. */
	if (length && name[length - 1] == '\\')
		g_string_append(out, "x5c");
	g_string_append_c(out, quote);
}

/* ---- fields ---- */

static const char *plain_type(guint size, gboolean is_signed)
{
	static const char *const names[2][9] = {
		{[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"},
		{[1] = "s8", [2] = "s16", [4] = "s32", [8] = "s64"},
	};

	return names[!!is_signed][size];
}

/* A type says more than its size to libtraceevent: it may not make an integer an array. */
static const char *scalar_type(const RsTraceField *field)
{
	const char *type = field->type;

	if (!g_ascii_isalpha(*type) || strpbrk(type, "[]") || strstr(type, "_loc"))
		return plain_type(field->size, field->is_signed);
	return type;
}

static gboolean is_text(const RsTraceField *field)
{
	return field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING;
}

/* libtraceevent looks for a name among the fields of every event first. */
static void append_field_name(GString *out, const RsTraceEvent *event, const RsTraceField *field)
{
	static const char *const common[] = {"common_type", "common_flags", "common_preempt_count",
					     "common_pid", NULL};
	g_autoptr(GString) name = NULL;

	if (!g_strv_contains(common, field->name)) {
		g_string_append(out, field->name);
		return;
	}
	name = g_string_new(field->name);
	do
		g_string_prepend_c(name, '_');
	while (rs_trace_event_field(event, name->str));
	g_string_append(out, name->str);
}

static void append_field(GString *out, const RsTraceEvent *event, const RsTraceField *field)
{
	gboolean is_array = field->kind == RS_KIND_ARRAY || field->kind == RS_KIND_DYN_ARRAY;
	const char *type = is_array ? plain_type(field->elem_size, field->is_signed) : "char";
	gboolean is_signed = field->is_signed || is_text(field);

	switch (field->kind) {
	case RS_KIND_ARRAY:
	case RS_KIND_STRING:
		g_string_append_printf(out, "\tfield:%s ", type);
		break;
	case RS_KIND_DYN_ARRAY:
	case RS_KIND_DYN_STRING:
		g_string_append_printf(out, "\tfield:__data_loc %s[] ", type);
		break;
	default:
		g_string_append_printf(out, "\tfield:%s ", scalar_type(field));
	}
	append_field_name(out, event, field);
	if (field->kind == RS_KIND_ARRAY || field->kind == RS_KIND_STRING)
		g_string_append_printf(out, "[%u]",
				       is_text(field) ? field->size : field->elem_count);
	g_string_append_printf(out, ";\toffset:%u;\tsize:%u;\tsigned:%d;\n",
			       field->offset + LINUX_COMMON_SIZE, field->size, is_signed);
}

/* ---- the print format: texts and conversions in `format`, arguments in `args` ---- */

typedef struct {
	const RsTraceEvent *event;
	GString *format, *args;
} Print;

/* ", REC->name", or with another word before and behind the name. */
static void append_value(Print *print, const char *before, const RsTraceField *field,
			 const char *behind)
{
	g_string_append(print->args, before);
	append_field_name(print->args, print->event, field);
	g_string_append(print->args, behind);
}

static void begin_conversion(GString *out, const RsTracePrintStep *step)
{
	g_string_append_c(out, '%');
	if (step->flags & RS_TRACE_PRINT_LEFT)
		g_string_append_c(out, '-');
	if (step->flags & RS_TRACE_PRINT_ALT)
		g_string_append_c(out, '#');
	if (step->flags & RS_TRACE_PRINT_ZERO)
		g_string_append_c(out, '0');
	if (step->width)
		g_string_append_printf(out, "%d", step->width);
	if (step->precision >= 0)
		g_string_append_printf(out, ".%d", step->precision);
}

static const char *length_modifier(guint size)
{
	return size == 8 ? "ll" : size == 2 ? "h" : size == 1 ? "hh" : "";
}

static void append_integer(Print *print, const RsTracePrintStep *step)
{
	const RsTraceField *field = step->field;
	gboolean small = field->is_signed && field->size < 4, is_signed;
	guint size = step->low_bytes ? MIN(step->low_bytes, field->size) : field->size;
	guint half = small ? 1u << (8 * field->size - 1) : 0;

	is_signed = step->conversion == 'd' || step->conversion == 'i';
	begin_conversion(print->format, step);
	if (is_signed ? step->low_bytes || small || size == 8 : step->low_bytes || size == 8)
		g_string_append(print->format,
				length_modifier(is_signed || size == 8 ? size : step->low_bytes));
	g_string_append_c(print->format, step->conversion);
	append_value(print, ", REC->", field, "");
	/* C extends the sign of a small integer before it shows it as an unsigned one. */
	if (small && !is_signed) {
		append_value(print, " - ((REC->", field, "");
		g_string_append_printf(print->args, " / %u) * %u)", half, 2 * half);
	}
}

static void append_pointer(Print *print, const RsTracePrintStep *step)
{
	RsTracePrintStep rest = *step;

	if (step->flags & RS_TRACE_PRINT_LEFT || step->width <= 2) {
		g_string_append(print->format, "0x");
		rest.width = (gint16)(MAX(step->width, 2) - 2);
	} else {
		rest.flags |= RS_TRACE_PRINT_ALT;
	}
	begin_conversion(print->format, &rest);
	g_string_append(print->format, "llx");
	append_value(print, ", REC->", step->field, "");
}

/* The values up to `last`, with their names. */
static void append_values(GString *out, const RsTraceField *field, guint64 last)
{
	for (guint i = 0; i < field->n_symbols && out->len < FORMAT_MAX; i++) {
		if (field->symbols[i].value > last)
			continue;
		g_string_append_printf(out, ", {0x%" G_GINT64_MODIFIER "x, ",
				       field->symbols[i].value);
		append_name(out, field->symbols[i].name);
		g_string_append_c(out, '}');
	}
}

static void append_char(Print *print, const RsTracePrintStep *step)
{
	RsTracePrintStep text = *step;

	text.flags &= RS_TRACE_PRINT_LEFT;
	text.precision = -1;
	begin_conversion(print->format, &text);
	g_string_append_c(print->format, 's');
	append_value(print, ", __print_symbolic(REC->", step->field, " & 0xff");
	for (guint i = 0; i < 256; i++) {
		char name[8] = {(char)i};

		if (!is_plain(name[0]))
			g_snprintf(name, sizeof(name), "\\x%02x", i);
		g_string_append_printf(print->args, ", {0x%x, ", i);
		append_name(print->args, name);
		g_string_append_c(print->args, '}');
	}
	g_string_append_c(print->args, ')');
}

static void append_enum(Print *print, const RsTracePrintStep *step)
{
	if (!step->field->n_symbols) {
		g_string_append(print->format, "0x%llx");
		append_value(print, ", REC->", step->field, "");
		return;
	}
	begin_conversion(print->format, step);
	g_string_append_c(print->format, 's');
	append_value(print, ", __print_symbolic(REC->", step->field, "");
	append_values(print->args, step->field, G_MAXUINT64);
	g_string_append_c(print->args, ')');
}

/*
 * libtraceevent takes a value with bit 63 for the name of no flags, and never for flags: a bit
 * without a name, which it shows as a number, is less wrong. A width would be that of each name.
 */
static void append_flags(Print *print, const RsTracePrintStep *step)
{
	gsize before;

	g_string_append(print->format, "%s");
	append_value(print, ", __print_flags(REC->", step->field, ", \"|\"");
	before = print->args->len;
	append_values(print->args, step->field, G_MAXINT64);
	if (print->args->len == before)
		g_string_append(print->args, ", {0x0, \"\"}"); /* never shown, but one must be */
	g_string_append_c(print->args, ')');
}

static void append_text(Print *print, const RsTracePrintStep *step)
{
	RsTracePrintStep text = *step;

	text.flags &= RS_TRACE_PRINT_LEFT;
	begin_conversion(print->format, &text);
	g_string_append_c(print->format, 's');
	if (step->field->kind == RS_KIND_STRING)
		append_value(print, ", REC->", step->field, "");
	else
		append_value(print, ", __get_str(", step->field, ")");
}

static void append_elements(Print *print, const RsTraceField *field)
{
	g_string_append_c(print->format, '{');
	for (guint i = 0; i < field->elem_count; i++) {
		g_string_append(print->format, i ? "," : "");
		g_string_append_printf(print->format, "%s%%%s%c", field->is_hex ? "0x" : "",
				       field->elem_size == 8 || field->is_signed
					       ? length_modifier(field->elem_size)
					       : "",
				       field->is_hex      ? 'x'
				       : field->is_signed ? 'd'
							  : 'u');
		append_value(print, ", REC->", field, "");
		g_string_append_printf(print->args, "[%u]", i);
	}
	g_string_append_c(print->format, '}');
}

static void append_array(Print *print, const RsTraceField *field)
{
	gboolean bytes = field->is_hex && field->elem_size == 1;

	if (field->kind == RS_KIND_ARRAY && field->elem_count <= ELEMENTS_MAX &&
	    print->args->len < FORMAT_MAX) {
		append_elements(print, field);
		return;
	}
	g_string_append(print->format, "{%s}");
	g_string_append(print->args, bytes ? ", __print_hex(" : ", __print_array(");
	if (field->kind == RS_KIND_ARRAY) {
		append_value(print, "REC->", field, "");
		g_string_append_printf(print->args, ", %u", field->elem_count);
	} else {
		append_value(print, "__get_dynamic_array(", field, ")");
		append_value(print, ", __get_dynamic_array_len(", field, ")");
		g_string_append_printf(print->args, " / %u", field->elem_size);
	}
	if (!bytes)
		g_string_append_printf(print->args, ", %u", field->elem_size);
	g_string_append_c(print->args, ')');
}

static void append_step(Print *print, const RsTracePrintStep *step)
{
	append_literal(print->format, step->literal, step->literal_size);
	if (!step->field)
		return;
	if (step->conversion == 'p')
		append_pointer(print, step);
	else if (step->conversion == 'c')
		append_char(print, step);
	else if (step->conversion != 's')
		append_integer(print, step);
	else if (step->field->kind == RS_KIND_ENUM)
		append_enum(print, step);
	else if (step->field->kind == RS_KIND_FLAGS)
		append_flags(print, step);
	else if (is_text(step->field))
		append_text(print, step);
	else
		append_array(print, step->field);
}

char *rs_trace_dat_format(const RsTraceEvent *event)
{
	GString *out = g_string_new(
		"format:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n");
	g_autoptr(GString) format = g_string_new(NULL), args = g_string_new(NULL);
	Print print = {event, format, args};

	for (guint i = 0; i < event->n_fields; i++)
		append_field(out, event, &event->fields[i]);
	for (guint i = 0; i < event->n_steps; i++)
		append_step(&print, &event->steps[i]);
	if (g_str_has_suffix(format->str, "\\"))
		g_string_append_c(format, ' '); /* as in append_name() */
	g_string_append_printf(out, "\nprint fmt: \"%s\"%s\n", format->str, args->str);
	return g_string_free(out, FALSE);
}
