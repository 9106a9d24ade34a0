/* SPDX-License-Identifier: MIT */
#include "print.h"
#include "escape.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* ---- arguments: "prev, __entry->next" ---- */

static const char entry[] = "__entry->";

/* Where `text` goes on behind `prefix`, or NULL. Blanks before it and in it do not count. */
static const char *behind(const char *text, const char *prefix)
{
	for (; *prefix; text++) {
		if (is_blank(*text))
			continue;
		if (*text != *prefix++)
			return NULL;
	}
	return text;
}

/* Whether [from, to) is this name, with blanks anywhere, and perhaps with "__entry->". */
static bool is_named(const char *from, const char *to, const char *name)
{
	const char *at = behind(from, entry);

	if (at && at <= to)
		from = at;
	for (; from < to; from++) {
		if (is_blank(*from))
			continue;
		if (*from != *name++)
			return false;
	}
	return !*name;
}

static const struct rs_field_info *find(const struct rs_event_info *info, const char *from,
					const char *to)
{
	for (uint32_t i = 0; i < info->field_count; i++) {
		if (is_named(from, to, info->fields[i].name))
			return &info->fields[i];
	}
	return NULL;
}

/* "a", "__entry->a", "REC->a" or "__get_str(a)". */
static const struct rs_field_info *parse_arg(const struct rs_event_info *info, const char *from,
					     const char *to)
{
	const char *record = behind(from, "REC->"), *text = behind(from, "__get_str(");

	if (record && record <= to)
		return find(info, record, to);
	if (!text || text > to)
		return find(info, from, to);
	while (to > text && is_blank(to[-1]))
		to--;
	return to > text && to[-1] == ')' ? find(info, text, to - 1) : NULL;
}

static const char *skip_blanks(const char *text)
{
	while (is_blank(*text))
		text++;
	return text;
}

/* The next argument's field; NULL: there is no further one, or it is no field. */
static const struct rs_field_info *next_field(struct rs_print *print)
{
	const char *from = print->args, *to = from;

	if (!from || print->count++ == RS_PRINT_ARGS_MAX)
		return NULL;
	while (*to && *to != ',')
		to++;
	print->args = *to ? to + 1 : NULL;
	return parse_arg(print->info, from, to);
}

/* ---- conversions ---- */

static bool take_number(struct rs_print *print, int16_t *out)
{
	int value = 0;

	for (; *print->at >= '0' && *print->at <= '9'; print->at++) {
		value = value * 10 + (*print->at - '0');
		if (value > RS_PRINT_WIDTH_MAX)
			return false;
	}
	*out = (int16_t)value;
	return true;
}

static uint8_t take_flags(struct rs_print *print)
{
	static const char letters[] = RS_PRINT_FLAGS;
	uint8_t flags = 0;

	for (;; print->at++) {
		uint32_t i = 0;

		while (letters[i] && letters[i] != *print->at)
			i++;
		if (!letters[i])
			return flags;
		flags |= (uint8_t)(1u << i);
	}
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Begins behind the '%'. A '*' is neither a digit nor a letter, so it is refused, too. */
static bool take_conversion(struct rs_print *print, struct rs_print_step *step)
{
	step->flags = take_flags(print);
	step->precision = -1;
	if (!take_number(print, &step->width))
		return false;
	if (*print->at == '.') {
		print->at++;
		if (!take_number(print, &step->precision))
			return false;
	}
	for (; *print->at && rs_is_one_of(*print->at, "hljzt"); print->at++) {
		if (*print->at != 'h')
			step->low_bytes = 0;
		else
			step->low_bytes = step->low_bytes ? 1 : 2;
	}
	if (!is_letter(*print->at))
		return false;
	step->conversion = *print->at++;
	if (!rs_is_one_of(step->conversion, "diuxXo"))
		step->low_bytes = 0;
	return true;
}

static bool fits(char conversion, const struct rs_field_info *field)
{
	if (conversion == 's')
		return field->kind >= RS_KIND_ENUM;
	return field->kind <= RS_KIND_FLAGS && rs_is_one_of(conversion, "diuxXocp");
}

/* ---- steps ---- */

void rs_print_begin(struct rs_print *print, const struct rs_event_info *info)
{
	*print = (struct rs_print){.info = info, .at = info->print};
	if (*skip_blanks(info->print_args))
		print->args = info->print_args;
}

static bool refuse(struct rs_print *print)
{
	print->bad = true;
	print->at = NULL;
	return false;
}

bool rs_print_next(struct rs_print *print, struct rs_print_step *step)
{
	*step = (struct rs_print_step){.literal = print->at};
	if (!print->at)
		return false;
	while (*print->at && (print->at[0] != '%' || print->at[1] == '%'))
		print->at += *print->at == '%' ? 2 : 1;
	step->literal_size = (uint32_t)(print->at - step->literal);
	if (!*print->at) {
		print->at = NULL;
		return !print->args || refuse(print);
	}
	print->at++;
	if (!take_conversion(print, step))
		return refuse(print);
	step->field = next_field(print);
	if (!step->field || !fits(step->conversion, step->field))
		return refuse(print);
	return true;
}

static bool has_twice(const struct rs_event_info *info, uint32_t index)
{
	const char *name = info->fields[index].name, *end = name;

	while (*end)
		end++;
	return find(info, name, end) != &info->fields[index];
}

bool rs_print_is_good(const struct rs_event_info *info)
{
	struct rs_print_step step;
	struct rs_print print;

	for (uint32_t i = 0; i < info->field_count; i++) {
		if (!info->fields[i].kind || info->fields[i].kind > RS_KIND_DYN_STRING ||
		    has_twice(info, i))
			return false;
	}
	if (!rs_is_utf8(info->print))
		return false;
	rs_print_begin(&print, info);
	while (rs_print_next(&print, &step))
		;
	return !print.bad;
}
