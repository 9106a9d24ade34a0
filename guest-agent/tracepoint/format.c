/* SPDX-License-Identifier: MIT */
/* The file `format`, as Linux has it: see ringside/tracepoint.h. */
#include "format.h"
#include "out.h"
#include "print.h"

#define LINUX_COMMON_SIZE 8u /* the common fields, which are in front of a record of Linux */

struct writer {
	struct rs_out out;
	bool cut;
};

static void put(struct writer *w, char c)
{
	if (w->out.at < RS_FORMAT_MAX)
		rs_put(&w->out, c);
	else
		w->cut = true;
}

static void put_text(struct writer *w, const char *text)
{
	while (*text && !w->cut)
		put(w, *text++);
}

static void put_value(struct writer *w, uint64_t value, uint32_t base)
{
	char buffer[24], *end = buffer + sizeof(buffer);
	char *at = rs_digits(end, value, base, "0123456789abcdef");

	while (at < end)
		put(w, *at++);
}

static void put_number(struct writer *w, uint64_t value)
{
	put_value(w, value, 10);
}

/* One byte of text inside of a C string literal. */
static void put_quoted(struct writer *w, char c)
{
	if (c == '\n') {
		put_text(w, "\\n");
	} else if (c == '\t') {
		put_text(w, "\\t");
	} else if ((uint8_t)c < 0x20 || c == 0x7f) {
		put(w, '\\');
		put(w, (char)('0' + ((uint8_t)c >> 6)));
		put(w, (char)('0' + ((uint8_t)c >> 3 & 7)));
		put(w, (char)('0' + ((uint8_t)c & 7)));
	} else {
		if (c == '"' || c == '\\')
			put(w, '\\');
		put(w, c);
	}
}

static void put_quoted_text(struct writer *w, const char *text)
{
	put(w, '"');
	while (*text && !w->cut)
		put_quoted(w, *text++);
	put(w, '"');
}

/* ---- fields ---- */

static void put_element_type(struct writer *w, const struct rs_field_info *field)
{
	if (rs_field_is_text(field)) {
		put_text(w, "char");
		return;
	}
	put(w, rs_field_is_signed(field) ? 's' : 'u');
	put_number(w, field->elem_size * 8u);
}

static void put_field(struct writer *w, const struct rs_field_info *field)
{
	put_text(w, "\tfield:");
	switch (field->kind) {
	case RS_KIND_ARRAY:
	case RS_KIND_STRING:
		put_element_type(w, field);
		put(w, ' ');
		put_text(w, field->name);
		put(w, '[');
		put_number(w, rs_field_is_text(field) ? field->size : field->elem_count);
		put(w, ']');
		break;
	case RS_KIND_DYN_ARRAY:
	case RS_KIND_DYN_STRING:
		put_text(w, "__data_loc ");
		put_element_type(w, field);
		put_text(w, "[] ");
		put_text(w, field->name);
		break;
	default:
		put_text(w, field->type);
		put(w, ' ');
		put_text(w, field->name);
	}
	put_text(w, ";\toffset:");
	put_number(w, field->offset + LINUX_COMMON_SIZE);
	put_text(w, ";\tsize:");
	put_number(w, field->size);
	put_text(w, rs_field_is_signed(field) ? ";\tsigned:1;\n" : ";\tsigned:0;\n");
}

/* ---- the print format ---- */

/* The conversion as C has it for a field of this size. */
static void put_conversion(struct writer *w, const struct rs_print_step *step)
{
	static const char flags[] = RS_PRINT_FLAGS;

	put(w, '%');
	for (uint32_t i = 0; flags[i]; i++) {
		if (step->flags & (1u << i))
			put(w, flags[i]);
	}
	if (step->width)
		put_number(w, (uint64_t)step->width);
	if (step->precision >= 0) {
		put(w, '.');
		put_number(w, (uint64_t)step->precision);
	}
	if (step->low_bytes)
		put_text(w, step->low_bytes == 1 ? "hh" : "h");
	else if (step->field->size == 8 && rs_is_one_of(step->conversion, "diuxXo"))
		put_text(w, "ll");
	put(w, step->conversion);
}

static void put_symbols(struct writer *w, const struct rs_field_info *field)
{
	for (uint32_t i = 0; i < field->symbol_count && !w->cut; i++) {
		put_text(w, ", {0x");
		put_value(w, field->symbols[i].value, 16);
		put_text(w, ", ");
		put_quoted_text(w, field->symbols[i].name);
		put(w, '}');
	}
	put(w, ')');
}

static void put_record(struct writer *w, const char *before, const struct rs_field_info *field)
{
	put_text(w, before);
	put_text(w, "REC->");
	put_text(w, field->name);
}

/* Number of elements and size of one: the end of __print_array(). */
static void put_elements(struct writer *w, const char *before, uint32_t count, uint32_t size)
{
	put_text(w, before);
	put_number(w, count);
	put_text(w, ", ");
	put_number(w, size);
	put(w, ')');
}

static void put_arg(struct writer *w, const struct rs_print_step *step)
{
	const struct rs_field_info *field = step->field;

	put_text(w, ", ");
	switch (step->conversion == 's' ? field->kind : 0) {
	case RS_KIND_ENUM:
		put_record(w, "__print_symbolic(", field);
		put_symbols(w, field);
		break;
	case RS_KIND_FLAGS:
		put_record(w, "__print_flags(", field);
		put_text(w, ", \"|\"");
		put_symbols(w, field);
		break;
	case RS_KIND_ARRAY:
		put_record(w, "__print_array(", field);
		put_elements(w, ", ", field->elem_count, field->elem_size);
		break;
	case RS_KIND_DYN_ARRAY:
		put_text(w, "__print_array(__get_dynamic_array(");
		put_text(w, field->name);
		put_text(w, "), __get_dynamic_array_len(");
		put_text(w, field->name);
		put_elements(w, ") / ", field->elem_size, field->elem_size);
		break;
	case RS_KIND_DYN_STRING:
		put_text(w, "__get_str(");
		put_text(w, field->name);
		put(w, ')');
		break;
	default:
		put_record(w, "", field);
	}
}

static void put_print(struct writer *w, const struct rs_event_info *info)
{
	struct rs_print_step step;
	struct rs_print print;

	put(w, '"');
	rs_print_begin(&print, info);
	while (!w->cut && rs_print_next(&print, &step)) {
		for (uint32_t i = 0; i < step.literal_size; i++)
			put_quoted(w, step.literal[i]);
		if (step.field)
			put_conversion(w, &step);
	}
	put(w, '"');
	rs_print_begin(&print, info);
	while (!w->cut && rs_print_next(&print, &step) && step.field)
		put_arg(w, &step);
}

int rs_format(const struct rs_event_info *info, uint32_t id, char *out, uint32_t size)
{
	struct writer w = {.out = {.out = out, .size = size}};

	if (!rs_print_is_good(info))
		return -RS_EBADMSG;
	put_text(&w, "name: ");
	put_text(&w, info->name);
	put_text(&w, "\nID: ");
	put_number(&w, id);
	put_text(&w, "\nformat:\n"
		     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		     "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		     "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n");
	for (uint32_t i = 0; i < info->field_count && !w.cut; i++)
		put_field(&w, &info->fields[i]);
	put_text(&w, "\nprint fmt: ");
	put_print(&w, info);
	put(&w, '\n');
	if (w.cut) {
		rs_put_text(&w.out, "\n# cut: it has more than ");
		rs_put_number(&w.out, RS_FORMAT_MAX, 0, ' ');
		rs_put_text(&w.out, " bytes\n");
	}
	return (int)rs_put_end(&w.out);
}
