/* SPDX-License-Identifier: MIT */
#include "rs-trace-print-private.h"
#include "rs-trace-escape.h"

#include <string.h>

static gboolean refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean refuse(GError **error, const char *format, ...)
{
	va_list ap;
	g_autofree char *message = NULL;

	va_start(ap, format);
	message = g_strdup_vprintf(format, ap);
	va_end(ap);
	g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR, message);
	return FALSE;
}

static gboolean field_is_integer(const RsTraceField *field)
{
	return field->kind <= RS_KIND_FLAGS;
}

static gboolean conversion_fits(char conversion, const RsTraceField *field)
{
	if (conversion == 's')
		return field->kind >= RS_KIND_ENUM;
	return field_is_integer(field) && strchr("diuxXocp", conversion);
}

/* A decimal number in [0, WIDTH_MAX], or FALSE. Without digits it is 0. */
static gboolean parse_number(const char **at, gint16 *out)
{
	int value = 0;

	for (; g_ascii_isdigit(**at); (*at)++) {
		value = value * 10 + (**at - '0');
		if (value > RS_TRACE_PRINT_WIDTH_MAX)
			return FALSE;
	}
	*out = (gint16)value;
	return TRUE;
}

/* Begins after the '%' and ends after the conversion. */
static gboolean parse_conversion(const char **at, RsTracePrintStep *step, GError **error)
{
	static const char flags[] = "-+ #0";
	const char *flag;

	for (; **at && (flag = strchr(flags, **at)); (*at)++)
		step->flags |= (guint8)(1u << (flag - flags));
	if (**at == '*')
		return refuse(error, "print format has a '*' width");
	if (!parse_number(at, &step->width))
		return refuse(error, "print format has a width above %d", RS_TRACE_PRINT_WIDTH_MAX);
	step->precision = -1;
	if (**at == '.') {
		(*at)++;
		if (**at == '*')
			return refuse(error, "print format has a '*' precision");
		if (!parse_number(at, &step->precision))
			return refuse(error, "print format has a precision above %d",
				      RS_TRACE_PRINT_WIDTH_MAX);
	}
	for (; **at && strchr("hljzt", **at); (*at)++) {
		if (**at != 'h')
			step->low_bytes = 0;
		else
			step->low_bytes = step->low_bytes ? 1 : 2;
	}
	if (!g_ascii_isalpha(**at))
		return refuse(error, "print format has an unknown conversion");
	step->conversion = *(*at)++;
	if (!strchr("diuxXo", step->conversion))
		step->low_bytes = 0;
	return TRUE;
}

/* The conversion as C would write it for the field's own size. */
static void append_conversion(GString *print, const RsTracePrintStep *step)
{
	static const char flags[] = "-+ #0";

	g_string_append_c(print, '%');
	for (guint i = 0; i < 5; i++)
		if (step->flags & (1u << i))
			g_string_append_c(print, flags[i]);
	if (step->width)
		g_string_append_printf(print, "%d", step->width);
	if (step->precision >= 0)
		g_string_append_printf(print, ".%d", step->precision);
	if (step->low_bytes)
		g_string_append(print, step->low_bytes == 1 ? "hh" : "h");
	else if (step->field->size == 8 && strchr("diuxXo", step->conversion))
		g_string_append(print, "ll");
	g_string_append_c(print, step->conversion);
}

/* "a", "REC->a", "__entry->a" or "__get_str(a)", cut out of [from, to). */
static const RsTraceField *parse_arg(const RsTraceEvent *event, const char *from, const char *to)
{
	static const char *const prefixes[] = {"__entry->", "REC->", "__get_str("};
	g_autofree char *text = g_strstrip(g_strndup(from, (gsize)(to - from)));
	char *name = text;

	for (guint i = 0; i < G_N_ELEMENTS(prefixes); i++) {
		if (!g_str_has_prefix(text, prefixes[i]))
			continue;
		name = text + strlen(prefixes[i]);
		if (i == 2) {
			if (!g_str_has_suffix(name, ")"))
				return NULL;
			name[strlen(name) - 1] = 0;
		}
		g_strstrip(name);
		break;
	}
	return rs_trace_event_field(event, name);
}

static gboolean parse_args(const RsTraceEvent *event, const char *args, GPtrArray *out,
			   GError **error)
{
	const char *from = args;

	if (!args || !args[strspn(args, " \t")])
		return TRUE;
	for (;;) {
		const char *to = from + strcspn(from, ",");
		const RsTraceField *field = parse_arg(event, from, to);

		if (!field)
			return refuse(error, "print argument %u is not a field", out->len + 1);
		if (out->len == RS_TRACE_PRINT_ARGS_MAX)
			return refuse(error, "more than %d print arguments",
				      RS_TRACE_PRINT_ARGS_MAX);
		g_ptr_array_add(out, (gpointer)field);
		if (!*to)
			return TRUE;
		from = to + 1;
	}
}

/* The literals of all steps lie in `literals`, one after the other, each with its NUL. */
static void end_step(RsTracePrintStep *step, GString *literal, GArray *steps, GString *literals)
{
	g_autofree char *escaped = rs_trace_escape(literal->str, (gssize)literal->len, NULL);

	step->literal_size = (guint)strlen(escaped);
	g_string_append_len(literals, escaped, step->literal_size + 1);
	g_string_truncate(literal, 0);
	g_array_append_val(steps, *step);
}

/* A guest chooses how many steps there are, so they take no more memory than they need. */
static void keep_steps(RsTraceEvent *event, const GArray *steps, const GString *literals)
{
	const char *literal = g_memdup2(literals->str, literals->len);
	RsTracePrintStep *kept = g_memdup2(steps->data, steps->len * sizeof(*kept));

	for (guint i = 0; i < steps->len; i++) {
		kept[i].literal = literal;
		literal += kept[i].literal_size + 1;
	}
	event->steps = kept;
	event->n_steps = steps->len;
}

static gboolean parse_steps(const char *at, const GPtrArray *args, GArray *steps, GString *literals,
			    GString *print, GError **error)
{
	g_autoptr(GString) literal = g_string_new(NULL);
	RsTracePrintStep last = {0};
	guint n = 0;

	while (*at) {
		RsTracePrintStep step = {0};

		if (at[0] != '%' || at[1] == '%') {
			g_string_append_c(literal, *at);
			g_string_append_len(print, at, *at == '%' ? 2 : 1);
			at += *at == '%' ? 2 : 1;
			continue;
		}
		at++;
		if (!parse_conversion(&at, &step, error))
			return FALSE;
		if (n == args->len)
			return refuse(error, "print format has more conversions than arguments");
		step.field = args->pdata[n++];
		/* The conversion may not fit the field that is shown as bytes. %s does. */
		if (step.field->is_later)
			step = (RsTracePrintStep){
				.field = step.field, .conversion = 's', .precision = -1};
		if (!conversion_fits(step.conversion, step.field))
			return refuse(error, "print format shows field %s by %%%c",
				      step.field->name, step.conversion);
		append_conversion(print, &step);
		end_step(&step, literal, steps, literals);
	}
	if (n != args->len)
		return refuse(error, "print format has fewer conversions than arguments");
	end_step(&last, literal, steps, literals);
	return TRUE;
}

/* The format of an event that has none. */
static char *default_print(const RsTraceEvent *event, GPtrArray *args)
{
	GString *print = g_string_new(NULL);

	for (guint i = 0; i < event->n_fields; i++) {
		const RsTraceField *field = &event->fields[i];
		const char *conversion = "%s";

		if (field->kind == RS_KIND_UINT)
			conversion = "%u";
		else if (field->kind == RS_KIND_SINT)
			conversion = "%d";
		else if (field->kind == RS_KIND_HEX || field->kind == RS_KIND_POINTER)
			conversion = "%#x";
		g_string_append_printf(print, "%s%s=%s", i ? " " : "", field->name, conversion);
		g_ptr_array_add(args, (gpointer)field);
	}
	return g_string_free(print, FALSE);
}

gboolean rs_trace_print_parse(RsTraceEvent *event, const char *print, const char *args,
			      GError **error)
{
	g_autoptr(GPtrArray) fields = g_ptr_array_new();
	g_autoptr(GString) normal = g_string_new(NULL);
	g_autoptr(GString) literals = g_string_new(NULL);
	g_autoptr(GArray) steps = g_array_new(FALSE, TRUE, sizeof(RsTracePrintStep));
	g_autofree char *made = NULL;

	if (print) {
		if (!g_utf8_validate(print, -1, NULL))
			return refuse(error, "print format is not UTF-8");
		if (!parse_args(event, args, fields, error))
			return FALSE;
	} else {
		print = made = default_print(event, fields);
	}
	if (!parse_steps(print, fields, steps, literals, normal, error))
		return FALSE;
	keep_steps(event, steps, literals);
	event->print = g_strdup(normal->str);
	event->n_print_args = fields->len;
	event->print_args = g_memdup2(fields->pdata, fields->len * sizeof(gpointer));
	return TRUE;
}

void rs_trace_print_clear(RsTraceEvent *event)
{
	if (event->n_steps)
		g_free((gpointer)event->steps[0].literal); /* and so those of all others */
	g_free((gpointer)event->steps);
	g_free((gpointer)event->print);
	g_free((gpointer)event->print_args);
}
