/* SPDX-License-Identifier: MIT */
/* Events as Linux format files: the part of rs-trace-schema.h that parses no bytes. */
#include "rs-trace-schema.h"

#include <ringside/bridge.h>
#include <string.h>

#define LINUX_COMMON_SIZE 8u

static gboolean too_long(const GString *out)
{
	return out->len > RS_TRACE_FORMAT_MAX;
}

/* Text inside a C string literal. */
static void append_quoted(GString *out, const char *text)
{
	g_string_append_c(out, '"');
	for (; *text && !too_long(out); text++) {
		if (*text == '\n')
			g_string_append(out, "\\n");
		else if (*text == '\t')
			g_string_append(out, "\\t");
		else if ((guchar)*text < 0x20 || *text == 0x7f)
			g_string_append_printf(out, "\\%03o", *text);
		else if (*text == '"' || *text == '\\')
			g_string_append_printf(out, "\\%c", *text);
		else
			g_string_append_c(out, *text);
	}
	g_string_append_c(out, '"');
}

static const char *element_type(const RsTraceField *field)
{
	static const char *const names[2][9] = {
		{[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"},
		{[1] = "s8", [2] = "s16", [4] = "s32", [8] = "s64"},
	};

	if (field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING)
		return "char";
	return names[!!field->is_signed][field->elem_size];
}

static void append_field(GString *out, const RsTraceField *field)
{
	gboolean text = field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING;

	g_string_append(out, "\tfield:");
	switch (field->kind) {
	case RS_KIND_ARRAY:
	case RS_KIND_STRING:
		g_string_append_printf(out, "%s %s[%u]", element_type(field), field->name,
				       text ? field->size : field->elem_count);
		break;
	case RS_KIND_DYN_ARRAY:
	case RS_KIND_DYN_STRING:
		g_string_append_printf(out, "__data_loc %s[] %s", element_type(field), field->name);
		break;
	default:
		g_string_append_printf(out, "%s %s", field->type, field->name);
	}
	g_string_append_printf(out, ";\toffset:%u;\tsize:%u;\tsigned:%d;\n",
			       field->offset + LINUX_COMMON_SIZE, field->size, !!field->is_signed);
}

static void append_symbols(GString *out, const RsTraceField *field)
{
	for (guint i = 0; i < field->n_symbols && !too_long(out); i++) {
		g_string_append_printf(out, ", {0x%" G_GINT64_MODIFIER "x, ",
				       field->symbols[i].value);
		append_quoted(out, field->symbols[i].name);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ')');
}

static void append_arg(GString *out, const RsTraceField *field, char conversion)
{
	g_string_append(out, ", ");
	if (conversion != 's') {
		g_string_append_printf(out, "REC->%s", field->name);
		return;
	}
	switch (field->kind) {
	case RS_KIND_ENUM:
		g_string_append_printf(out, "__print_symbolic(REC->%s", field->name);
		append_symbols(out, field);
		break;
	case RS_KIND_FLAGS:
		g_string_append_printf(out, "__print_flags(REC->%s, \"|\"", field->name);
		append_symbols(out, field);
		break;
	case RS_KIND_ARRAY:
		g_string_append_printf(out, "__print_array(REC->%s, %u, %u)", field->name,
				       field->elem_count, field->elem_size);
		break;
	case RS_KIND_DYN_ARRAY:
		g_string_append_printf(out,
				       "__print_array(__get_dynamic_array(%s), "
				       "__get_dynamic_array_len(%s) / %u, %u)",
				       field->name, field->name, field->elem_size,
				       field->elem_size);
		break;
	case RS_KIND_DYN_STRING:
		g_string_append_printf(out, "__get_str(%s)", field->name);
		break;
	default:
		g_string_append_printf(out, "REC->%s", field->name);
	}
}

/*
 * The last part of the kernel's own format file, which a bridge gives instead of a print format:
 * ringside/bridge.h. NULL: the event is no such one.
 */
static const char *kernel_print(const RsTraceEvent *event, guint *id)
{
	const char *at = event->print + strlen(RS_BRIDGE_ID);
	char *end;
	guint64 number;

	if (event->n_print_args || !g_str_has_prefix(event->print, RS_BRIDGE_ID))
		return NULL;
	number = g_ascii_strtoull(at, &end, 10);
	if (!number || number > G_MAXUINT16 || !g_str_has_prefix(end, RS_BRIDGE_PRINT))
		return NULL;
	*id = (guint)number;
	return end + strlen(RS_BRIDGE_PRINT);
}

/* Each '%' stands twice in it. Lines do not end in it. */
static void append_kernel_print(GString *out, const char *text)
{
	for (; *text && !too_long(out); text++) {
		g_string_append_c(out, (guchar)*text < 0x20 ? ' ' : *text);
		text += text[0] == '%' && text[1] == '%';
	}
}

char *rs_trace_event_format(const RsTraceEvent *event)
{
	GString *out = g_string_new(NULL);
	guint id = event->id;
	const char *print = kernel_print(event, &id);

	g_string_append_printf(
		out,
		"name: %s\nID: %u\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
		event->name, id);
	for (guint i = 0; i < event->n_fields && !too_long(out); i++)
		append_field(out, &event->fields[i]);
	g_string_append(out, "\nprint fmt: ");
	if (print)
		append_kernel_print(out, print);
	else
		append_quoted(out, event->print);
	for (guint i = 0; i < event->n_print_args && !too_long(out); i++)
		append_arg(out, event->print_args[i], event->steps[i].conversion);
	g_string_append_c(out, '\n');
	if (too_long(out)) {
		g_string_truncate(out, RS_TRACE_FORMAT_MAX);
		g_string_append_printf(out, "\n# cut: it has more than %u bytes\n",
				       RS_TRACE_FORMAT_MAX);
	}
	return g_string_free(out, FALSE);
}
