/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "format.h"

#include <ringside/bridge.h>
#include <ringside/ftrace_page.h>
#include <ringside/name.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_ROOM (RS_SYMBOL_LEN - 13) /* what the agent adds to a type */

/* A field's line, cut into its parts. */
struct line {
	char *type, *name;
	char *count; /* between brackets; NULL: it is no array */
	uint32_t offset, size;
	bool is_signed;
};

static bool is_power(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static const char *plain_type(uint32_t size, bool is_signed)
{
	static const char *const names[2][9] = {
		{[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"},
		{[1] = "s8", [2] = "s16", [4] = "s32", [8] = "s64"},
	};

	return names[is_signed][size];
}

static bool take_number(const char *line, const char *key, uint32_t *out)
{
	const char *at = strstr(line, key);
	unsigned long value;
	char *end;

	if (!at)
		return false;
	value = strtoul(at + strlen(key), &end, 10);
	if (*end != ';' || value > RS_MAX_ENTRY_SIZE)
		return false;
	*out = (uint32_t)value;
	return true;
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && end[-1] == ' ')
		*--end = 0;
	return text + strspn(text, " ");
}

/* "type name", "type name[count]", "type[] name": the name is the last word. */
static bool split_declaration(char *text, struct line *out)
{
	char *name;
	size_t length;

	text = trim(text);
	length = strlen(text);
	out->count = NULL;
	if (length && text[length - 1] == ']') {
		out->count = strrchr(text, '[');
		if (!out->count)
			return false;
		*out->count++ = 0;
		text[length - 1] = 0;
		text = trim(text);
	}
	name = strrchr(text, ' ');
	if (!name)
		return false;
	*name++ = 0;
	/* "char *name" */
	for (; *name == '*'; name++)
		strcat(text, "*"); /* into the blank's place and the star's */
	out->name = name;
	out->type = trim(text);
	return rs_is_field_name(name);
}

/* "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;" */
static bool split_line(char *text, struct line *out)
{
	char *end;
	uint32_t is_signed = 0;

	text += strspn(text, " \t");
	if (strncmp(text, "field:", 6))
		return false;
	text += 6;
	end = strchr(text, ';');
	if (!end || !take_number(end + 1, "offset:", &out->offset) ||
	    !take_number(end + 1, "size:", &out->size))
		return false;
	take_number(end + 1, "signed:", &is_signed);
	out->is_signed = is_signed != 0;
	*end = 0;
	return split_declaration(text, out);
}

/* Bytes of an element of this type, as far as its name says it; 0: it does not. */
static uint32_t size_of_type(const char *type)
{
	static const struct {
		const char *name;
		uint32_t size;
	} known[] = {
		{"char", 1},
		{"unsigned char", 1},
		{"u8", 1},
		{"s8", 1},
		{"__u8", 1},
		{"uint8_t", 1},
		{"bool", 1},
		{"short", 2},
		{"unsigned short", 2},
		{"u16", 2},
		{"__u16", 2},
		{"uint16_t", 2},
		{"int", 4},
		{"unsigned int", 4},
		{"u32", 4},
		{"__u32", 4},
		{"uint32_t", 4},
		{"s32", 4},
		{"long", 8},
		{"unsigned long", 8},
		{"u64", 8},
		{"__u64", 8},
		{"uint64_t", 8},
		{"s64", 8},
		{"long long", 8},
		{"unsigned long long", 8},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(type, known[i].name))
			return known[i].size;
	return 0;
}

static bool is_text(const char *type)
{
	return !strcmp(type, "char");
}

/* "__data_loc char[] name": the kernel's locator is one of ours, but for where it counts from. */
static bool fill_dynamic(struct rs_field_info *field, struct line *line)
{
	char *bracket = strchr(line->type, '[');

	if (field->size != 4)
		return false;
	line->type += strlen("__data_loc ");
	if (bracket && bracket > line->type)
		*bracket = 0;
	line->type = trim(line->type);
	field->kind = is_text(line->type) ? RS_KIND_DYN_STRING : RS_KIND_DYN_ARRAY;
	field->elem_size = (uint16_t)size_of_type(line->type);
	if (!field->elem_size)
		field->elem_size = 1;
	field->flags = line->is_signed && field->kind == RS_KIND_DYN_ARRAY ? RS_FIELD_SIGNED : 0;
	field->type = field->kind == RS_KIND_DYN_STRING
			      ? "char"
			      : plain_type(field->elem_size, line->is_signed);
	return true;
}

static bool fill_array(struct rs_field_info *field, const struct line *line)
{
	unsigned long count = strtoul(line->count, NULL, 10);
	uint32_t element = size_of_type(line->type);

	if (!field->size)
		return false; /* the rest of the record */
	if (!element && count && field->size % count == 0)
		element = (uint32_t)(field->size / count);
	if (!is_power(element) || field->size % element)
		element = 1;
	field->kind = is_text(line->type) ? RS_KIND_STRING : RS_KIND_ARRAY;
	field->elem_size = (uint16_t)element;
	field->elem_count = (uint16_t)(field->size / element);
	field->flags = line->is_signed && field->kind == RS_KIND_ARRAY ? RS_FIELD_SIGNED : 0;
	field->type = is_text(line->type) ? "char" : plain_type(element, line->is_signed);
	return true;
}

static void fill_bytes(struct rs_field_info *field)
{
	field->kind = RS_KIND_ARRAY;
	field->flags = RS_FIELD_HEX;
	field->elem_size = 1;
	field->elem_count = field->size;
	field->type = "u8";
}

static bool fill_plain(struct rs_field_info *field, const struct line *line)
{
	bool pointer = strchr(line->type, '*') != NULL;

	if (!field->size)
		return false;
	if (!is_power(field->size)) {
		fill_bytes(field);
		return true;
	}
	field->kind = pointer && field->size == 8 ? RS_KIND_POINTER
		      : line->is_signed           ? RS_KIND_SINT
						  : RS_KIND_UINT;
	field->flags = field->kind == RS_KIND_SINT ? RS_FIELD_SIGNED : 0;
	field->type = strdup(rs_is_type(line->type, TYPE_ROOM)
				     ? line->type
				     : plain_type(field->size, line->is_signed));
	return field->type != NULL;
}

/* Of the types only those of plain fields are allocated. */
static bool has_own_type(const struct rs_field_info *field)
{
	return field->kind == RS_KIND_POINTER || field->kind == RS_KIND_SINT ||
	       field->kind == RS_KIND_UINT;
}

static bool fill_field(struct rs_field_info *field, struct line *line)
{
	field->offset = (uint16_t)(line->offset - RS_FTRACE_COMMON);
	field->size = (uint16_t)line->size;
	if (!strncmp(line->type, "__data_loc ", strlen("__data_loc ")))
		return fill_dynamic(field, line);
	if (line->count)
		return fill_array(field, line);
	return fill_plain(field, line);
}

static bool has_field(const struct rs_event_info *info, const char *name)
{
	for (uint32_t i = 0; i < info->field_count; i++)
		if (!strcmp(info->fields[i].name, name))
			return true;
	return false;
}

/* Returns false if there is no memory. */
static bool add_field(struct rs_event_info *info, char *text)
{
	struct rs_field_info *fields = (struct rs_field_info *)info->fields, *field;
	struct line line;
	uint32_t end;

	if (info->field_count == RS_MAX_FIELDS || !split_line(text, &line) ||
	    line.offset < RS_FTRACE_COMMON || !strncmp(line.name, "common_", 7) ||
	    has_field(info, line.name))
		return true;
	end = line.offset - RS_FTRACE_COMMON + line.size;
	if (end > RS_MAX_ENTRY_SIZE)
		return true;
	field = &fields[info->field_count];
	memset(field, 0, sizeof(*field));
	if (!fill_field(field, &line))
		return true;
	field->name = strdup(line.name);
	info->field_count++;
	if (end > info->entry_size)
		info->entry_size = end;
	return field->name != NULL;
}

/* What our descriptor has for a print format, see ringside/bridge.h. */
static char *make_print(uint32_t id, const char *print)
{
	size_t room = strlen(print) * 2 + 64, at;
	char *out = malloc(room);

	if (!out)
		return NULL;
	at = (size_t)snprintf(out, room, RS_BRIDGE_ID "%u" RS_BRIDGE_PRINT, id);
	for (; *print; print++) {
		if (*print == '%')
			out[at++] = '%';
		out[at++] = (unsigned char)*print < 0x80 ? *print : '?';
	}
	while (at && out[at - 1] == '\n')
		at--;
	out[at] = 0;
	return out;
}

static bool take_line(struct bridge_format *out, char *line, const char **print)
{
	if (!strncmp(line, "ID: ", 4))
		out->id = (uint32_t)strtoul(line + 4, NULL, 10);
	else if (!strncmp(line, "print fmt: ", 11))
		*print = line + 11;
	else
		return add_field(&out->info, line);
	return true;
}

/* Most events have few fields, and there are thousands of events. */
static void shrink(struct rs_event_info *info)
{
	size_t count = info->field_count ? info->field_count : 1;
	void *less = realloc((void *)info->fields, count * sizeof(*info->fields));

	if (less)
		info->fields = less;
}

bool bridge_format_parse(struct bridge_format *out, const char *system, const char *name,
			 char *text)
{
	struct rs_event_info *info = &out->info;
	const char *print = NULL;
	bool ok = true;

	memset(out, 0, sizeof(*out));
	if (!rs_is_name(system) || !rs_is_name(name))
		return false;
	info->system = strdup(system);
	info->name = strdup(name);
	info->fields = calloc(RS_MAX_FIELDS, sizeof(struct rs_field_info));
	info->print_args = "";
	for (char *line; ok && info->fields && (line = strsep(&text, "\n"));)
		ok = take_line(out, line, &print);
	if (print && out->id && out->id <= UINT16_MAX)
		info->print = make_print(out->id, print);
	if (ok && info->system && info->name && info->fields && info->print) {
		shrink(info);
		return true;
	}
	bridge_format_deinit(out);
	return false;
}

void bridge_format_deinit(struct bridge_format *format)
{
	struct rs_event_info *info = &format->info;

	for (uint32_t i = 0; info->fields && i < info->field_count; i++) {
		const struct rs_field_info *field = &info->fields[i];

		free((char *)field->name);
		if (has_own_type(field))
			free((char *)field->type);
	}
	free((void *)info->fields);
	free((char *)info->system);
	free((char *)info->name);
	free((char *)info->print);
	memset(format, 0, sizeof(*format));
}
