/* SPDX-License-Identifier: MIT */
/*
 * Print formats of libtraceevent as ours, where both print the same. libtraceevent shows an integer
 * by the size that its conversion names, and does not extend its sign. So a conversion is taken
 * over only where that makes no difference. All else goes on as text that libtraceevent made.
 */
#include "rs-trace-dat-event-private.h"

#include <ringside/name.h>
#include <stdlib.h>
#include <string.h>

static RsTraceDatField *by_tep_name(const RsTraceDatEvent *event, const char *name)
{
	for (guint i = 0; name && i < event->fields->len; i++) {
		RsTraceDatField *field = &g_array_index(event->fields, RsTraceDatField, i);

		if (field->tep && g_str_equal(field->tep->name, name))
			return field;
	}
	return NULL;
}

static RsTraceDatField *field_of(const RsTraceDatEvent *event, const struct tep_print_arg *arg)
{
	return arg && arg->type == TEP_PRINT_FIELD ? by_tep_name(event, arg->field.name) : NULL;
}

/* ---- names of values ---- */

static gboolean are_symbols(const struct tep_print_flag_sym *symbols)
{
	guint n = 0;

	for (; symbols; symbols = symbols->next, n++)
		if (n == RS_MAX_SYMBOLS || !g_ascii_isdigit(*symbols->value) ||
		    (strtoull(symbols->value, NULL, 0) && !rs_is_symbol(symbols->str)) ||
		    (!*symbols->str && strtoull(symbols->value, NULL, 0)))
			return FALSE;
	return n > 0;
}

static void take_symbols(RsTraceDatField *field, struct tep_print_flag_sym *symbols, guint kind)
{
	if (!field || field->symbols || !are_symbols(symbols) ||
	    (field->kind != RS_KIND_UINT && field->kind != RS_KIND_SINT &&
	     field->kind != RS_KIND_HEX))
		return;
	for (const struct tep_print_flag_sym *s = symbols; s && kind == RS_KIND_ENUM; s = s->next)
		if (!rs_is_symbol(s->str))
			return;
	field->symbols = symbols;
	field->kind = kind;
}

void rs_trace_dat_event_find_symbols(RsTraceDatEvent *event)
{
	for (struct tep_print_arg *arg = event->tep->print_fmt.args; arg; arg = arg->next) {
		if (arg->type == TEP_PRINT_SYMBOL)
			take_symbols(field_of(event, arg->symbol.field), arg->symbol.symbols,
				     RS_KIND_ENUM);
		else if (arg->type == TEP_PRINT_FLAGS && arg->flags.delim &&
			 g_str_equal(arg->flags.delim, "|"))
			take_symbols(field_of(event, arg->flags.field), arg->flags.flags,
				     RS_KIND_FLAGS);
	}
}

/* ---- conversions ---- */

typedef struct {
	RsTraceDatEvent *event;
	const char *at; /* in the format */
	struct tep_print_arg *arg;
	GString *print, *args;
} Translation;

/* "%-08.3ll": what stands before the letter; `longs` counts l, and h as -1. */
typedef struct {
	GString *flags;
	int longs;
	gboolean wide; /* has a width or precision */
	char letter;
} Conversion;

static gboolean parse_conversion(Translation *t, Conversion *out)
{
	for (t->at++; *t->at && strchr("-#0123456789.hlLzZ", *t->at); t->at++) {
		if (*t->at == 'h')
			out->longs--;
		else if (*t->at == 'l' || *t->at == 'z' || *t->at == 'Z')
			out->longs++;
		else if (*t->at == 'L')
			out->longs = 2;
		else
			g_string_append_c(out->flags, *t->at);
		out->wide |= g_ascii_isdigit(*t->at) || *t->at == '.';
	}
	out->letter = *t->at;
	if (!out->letter || !strchr("diuxXos", out->letter))
		return FALSE;
	t->at++;
	return TRUE;
}

/* "0x%lx" of a pointer: so our own export writes %p, of which we show what lies there. */
static gboolean is_pointer(const Translation *t, const RsTraceDatField *field, const Conversion *c)
{
	return field->kind == RS_KIND_POINTER && c->letter == 'x' && !c->flags->len &&
	       g_str_has_suffix(t->print->str, "0x");
}

static void use(Translation *t, const RsTraceDatField *field, const Conversion *c, const char *size)
{
	g_string_append_printf(t->print, "%%%s%s%c", c->flags->str, size, c->letter);
	g_string_append_printf(t->args, "%s%s", t->args->len ? ", " : "", field->name);
}

static gboolean take_integer(Translation *t, const Conversion *c)
{
	const RsTraceDatField *field = field_of(t->event, t->arg);
	gboolean is_signed = c->letter == 'd' || c->letter == 'i', extends;

	if (!field || field->kind > RS_KIND_FLAGS)
		return FALSE;
	extends = (field->tep->flags & TEP_FIELD_IS_SIGNED) != 0;
	if (field->size == 8 && c->longs < 1)
		return FALSE;
	if (field->size == 4 && (c->longs < 0 || (c->longs > 0 && is_signed)))
		return FALSE;
	/* As an enum or flags it is unsigned for us, too. */
	if (field->size < 4 && extends && field->kind == RS_KIND_SINT &&
	    !(is_signed && c->longs == (field->size == 1 ? -2 : -1)))
		return FALSE;
	if (field->size < 4 && field->kind != RS_KIND_SINT && c->longs < 0 &&
	    (is_signed || (c->longs < -1 && field->size > 1)))
		return FALSE;
	if (is_pointer(t, field, c)) {
		g_string_truncate(t->print, t->print->len - 2);
		use(t, field, &(Conversion){.flags = c->flags, .letter = 'p'}, "");
		return TRUE;
	}
	use(t, field, c, "");
	return TRUE;
}

/* The field of __get_dynamic_array(), whose elements have `size` bytes. */
static RsTraceDatField *dynamic_array(Translation *t, const struct tep_print_arg *arg, guint size)
{
	RsTraceDatField *field;

	if (!arg || arg->type != TEP_PRINT_DYNAMIC_ARRAY || !arg->dynarray.field)
		return NULL;
	field = by_tep_name(t->event, arg->dynarray.field->name);
	return field && field->kind == RS_KIND_DYN_ARRAY && field->elem_size == size ? field : NULL;
}

/*
 * "{%s}" of a whole list: so our own export writes lists, whose text has the braces. Its elements
 * have a size that is written down.
 */
static gboolean take_list(Translation *t, const Conversion *c)
{
	RsTraceDatField *field = NULL;

	if (c->wide || *t->at != '}' || !t->print->len || t->print->str[t->print->len - 1] != '{')
		return FALSE;
	if (t->arg->type == TEP_PRINT_HEX) {
		field = dynamic_array(t, t->arg->hex.field, 1);
		if (field)
			field->flags |= RS_FIELD_HEX;
	} else if (t->arg->type == TEP_PRINT_INT_ARRAY && t->arg->int_array.el_size &&
		   t->arg->int_array.el_size->type == TEP_PRINT_ATOM) {
		field = dynamic_array(
			t, t->arg->int_array.field,
			(guint)strtoul(t->arg->int_array.el_size->atom.atom, NULL, 0));
	}
	if (!field || (field->flags & RS_FIELD_SIGNED))
		return FALSE;
	g_string_truncate(t->print, t->print->len - 1);
	t->at++;
	use(t, field, c, "");
	return TRUE;
}

static gboolean take_string(Translation *t, const Conversion *c)
{
	const RsTraceDatField *field = NULL;

	switch (t->arg->type) {
	case TEP_PRINT_STRING:
		field = by_tep_name(t->event, t->arg->string.string);
		if (field && field->kind != RS_KIND_DYN_STRING)
			field = NULL;
		break;
	case TEP_PRINT_FIELD:
		field = field_of(t->event, t->arg);
		if (field && field->kind != RS_KIND_STRING)
			field = NULL;
		break;
	case TEP_PRINT_SYMBOL:
		field = c->wide ? NULL : field_of(t->event, t->arg->symbol.field);
		if (field && field->symbols != t->arg->symbol.symbols)
			field = NULL;
		break;
	case TEP_PRINT_FLAGS:
		field = c->wide ? NULL : field_of(t->event, t->arg->flags.field);
		if (field && field->symbols != t->arg->flags.flags)
			field = NULL;
		break;
	default:
		return take_list(t, c);
	}
	if (!field || strchr(c->flags->str, '#') || c->longs)
		return FALSE;
	use(t, field, c, "");
	return TRUE;
}

static void take_literal(Translation *t)
{
	char c = *t->at++;

	if (c == '%')
		t->at++;
	if (c == '\\' && *t->at) {
		c = *t->at++;
		c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
	}
	if (c == '%')
		g_string_append_c(t->print, c);
	g_string_append_c(t->print, c);
}

static gboolean translate(Translation *t)
{
	while (*t->at) {
		g_autoptr(GString) flags = g_string_new(NULL);
		Conversion c = {.flags = flags};

		if (t->at[0] != '%' || t->at[1] == '%') {
			take_literal(t);
			continue;
		}
		if (!t->arg || !parse_conversion(t, &c))
			return FALSE;
		if (!(c.letter == 's' ? take_string(t, &c) : take_integer(t, &c)))
			return FALSE;
		t->arg = t->arg->next;
	}
	/* The end of a line is not part of the text. */
	while (t->print->len && t->print->str[t->print->len - 1] == '\n')
		g_string_truncate(t->print, t->print->len - 1);
	return !t->arg && g_utf8_validate(t->print->str, -1, NULL);
}

gboolean rs_trace_dat_event_translate(RsTraceDatEvent *event)
{
	const struct tep_event *tep = event->tep;
	g_autoptr(GString) print = g_string_new(NULL), args = g_string_new(NULL);
	Translation t = {.event = event,
			 .at = tep->print_fmt.format,
			 .arg = tep->print_fmt.args,
			 .print = print,
			 .args = args};

	if ((guint)tep->flags &
	    (TEP_EVENT_FL_FAILED | TEP_EVENT_FL_ISBPRINT | TEP_EVENT_FL_PRINTRAW))
		return FALSE;
	if (tep->handler || !t.at || !translate(&t))
		return FALSE;
	event->print = g_strdup(print->str);
	event->args = g_strdup(args->str);
	return TRUE;
}
