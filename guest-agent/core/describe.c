/* SPDX-License-Identifier: MIT */
/* Writes an event's descriptor (ringside/descriptor.h): header, fields, symbols, strings. */
#include "core.h"

#include <ringside/name.h>

/* Writes to `out`, or compares with `have`, or only measures where both are NULL. */
struct writer {
	uint8_t *out;
	const uint8_t *have;
	bool differs;
	uint32_t at; /* of the next string */
};

static void put_bytes(struct writer *w, uint32_t at, const void *bytes, uint32_t size)
{
	const uint8_t *from = bytes;

	if (w->out)
		__builtin_memcpy(w->out + at, from, size);
	for (uint32_t i = 0; w->have && i < size; i++)
		w->differs |= w->have[at + i] != from[i];
}

static uint32_t put_text(struct writer *w, const char *text)
{
	for (; *text; text++)
		put_bytes(w, w->at++, text, 1);
	return w->at;
}

static void end_text(struct writer *w)
{
	put_bytes(w, w->at++, "", 1);
}

static uint32_t string(struct writer *w, const char *text)
{
	uint32_t start = w->at;

	put_text(w, text);
	end_text(w);
	return start;
}

static void put_number(struct writer *w, uint32_t n)
{
	char digits[11];
	uint32_t at = sizeof(digits) - 1;

	digits[at] = 0;
	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	put_text(w, digits + at);
}

static bool is_dynamic(const struct rs_field_info *field)
{
	return field->kind == RS_KIND_DYN_ARRAY || field->kind == RS_KIND_DYN_STRING;
}

/* The type as a format file shows it: "u32", "u8[6]", "__data_loc char[]". */
static uint32_t type(struct writer *w, const struct rs_field_info *field)
{
	bool dynamic = is_dynamic(field);
	uint32_t start = w->at;

	if (dynamic)
		put_text(w, "__data_loc ");
	put_text(w, field->type);
	if (dynamic) {
		put_text(w, "[]");
	} else if (field->kind == RS_KIND_ARRAY || field->kind == RS_KIND_STRING) {
		put_text(w, "[");
		put_number(w, field->elem_count);
		put_text(w, "]");
	}
	end_text(w);
	return start;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* "prev, __entry->next" becomes "prev,next". */
static uint32_t print_args(struct writer *w, const char *text)
{
	static const char prefix[] = "__entry->";
	uint32_t start = w->at;

	while (*text) {
		uint32_t n = 0;

		while (n < sizeof(prefix) - 1 && text[n] == prefix[n])
			n++;
		if (n == sizeof(prefix) - 1) {
			text += n;
		} else {
			char one[2] = {*text++, 0};

			if (!blank(one[0]))
				put_text(w, one);
		}
	}
	end_text(w);
	return start;
}

static uint32_t fixed_size(const struct rs_event_info *info)
{
	uint32_t size = sizeof(struct rs_event_desc) +
			info->field_count * (uint32_t)sizeof(struct rs_field_desc);

	for (uint32_t i = 0; i < info->field_count; i++)
		size += info->fields[i].symbol_count * (uint32_t)sizeof(struct rs_symbol);
	return size;
}

/* `symbols` is where the next symbol goes. */
static void put_field(struct writer *w, const struct rs_field_info *field, uint32_t at,
		      uint32_t *symbols)
{
	struct rs_field_desc desc = {
		.offset = field->offset,
		.size = field->size,
		.kind = field->kind,
		.flags = field->flags | (is_dynamic(field) ? RS_FIELD_DYNAMIC : 0),
		.elem_size = field->elem_size,
		.elem_count = field->elem_count,
		.symbol_count = field->symbol_count,
		.symbols = field->symbol_count ? *symbols : 0,
	};

	desc.name = string(w, field->name);
	desc.type = type(w, field);
	for (uint32_t i = 0; i < field->symbol_count; i++) {
		struct rs_symbol symbol = {.value = field->symbols[i].value};

		symbol.name = string(w, field->symbols[i].name);
		put_bytes(w, *symbols, &symbol, sizeof(symbol));
		*symbols += sizeof(symbol);
	}
	put_bytes(w, at, &desc, sizeof(desc));
}

static void describe(struct writer *w, const struct rs_event_info *info, uint32_t id, uint32_t slot)
{
	uint32_t at = sizeof(struct rs_event_desc);
	uint32_t symbols = at + info->field_count * (uint32_t)sizeof(struct rs_field_desc);
	struct rs_event_desc desc = {
		.id = (uint16_t)id,
		.field_count = (uint16_t)info->field_count,
		.provider = slot,
		.entry_size = (uint16_t)info->entry_size,
		.level = (uint8_t)info->level,
		.keyword = info->keyword,
		.header_size = sizeof(struct rs_event_desc),
		.field_stride = sizeof(struct rs_field_desc),
		.symbol_stride = sizeof(struct rs_symbol),
	};

	w->at = fixed_size(info);
	desc.system = string(w, info->system);
	desc.name = string(w, info->name);
	desc.print = string(w, info->print);
	desc.print_args = print_args(w, info->print_args);
	for (uint32_t i = 0; i < info->field_count; i++, at += sizeof(struct rs_field_desc))
		put_field(w, &info->fields[i], at, &symbols);
	while (w->at % 8)
		end_text(w);
	desc.size = w->at;
	put_bytes(w, 0, &desc, sizeof(desc));
}

/* "__data_loc " and "[]", or "[65535]", go with it. */
#define TYPE_ROOM (RS_SYMBOL_LEN - 13)

static bool is_long(const char *text, uint32_t room)
{
	uint32_t n = 0;

	while (text && n < room && text[n])
		n++;
	return n >= room;
}

/* `good`: what else names.h says of it. */
static int check(const char *text, uint32_t room, bool good)
{
	if (is_long(text, room))
		return -RS_ENAMETOOLONG;
	return good ? 0 : -RS_EILSEQ;
}

int rs_core_check_name(const char *name, uint32_t room)
{
	return check(name, room, rs_is_name(name));
}

static int check_field(const struct rs_field_info *field)
{
	int err = check(field->name, RS_NAME_MAX, rs_is_field_name(field->name));

	if (!err)
		err = check(field->type, TYPE_ROOM, rs_is_type(field->type, TYPE_ROOM));
	if (!err && field->symbol_count > RS_MAX_SYMBOLS)
		err = -RS_EOVERFLOW;
	for (uint32_t i = 0; i < field->symbol_count && !err; i++) {
		const char *name = field->symbols[i].name;

		err = check(name, RS_SYMBOL_LEN, rs_is_symbol(name));
	}
	if (!err && (field->kind < RS_KIND_UINT || field->kind > RS_KIND_DYN_STRING))
		err = -RS_EINVAL;
	return err;
}

static int check_event(const struct rs_event_info *info)
{
	int err;

	if (!info || !info->print || !info->print_args || (info->field_count && !info->fields))
		return -RS_EBADMSG;
	err = rs_core_check_name(info->system, RS_NAME_MAX);
	if (!err)
		err = rs_core_check_name(info->name, RS_NAME_MAX);
	if (!err && info->level > 5)
		err = -RS_EINVAL;
	if (!err && (info->field_count > RS_MAX_FIELDS || info->entry_size > RS_MAX_ENTRY_SIZE))
		err = -RS_EOVERFLOW;
	for (uint32_t i = 0; i < info->field_count && !err; i++)
		err = check_field(&info->fields[i]);
	return err;
}

int rs_describe_size(const struct rs_event_info *info)
{
	struct writer w = {.out = NULL};
	int err = check_event(info);

	if (err)
		return err;
	describe(&w, info, 0, 0);
	return w.at <= RS_MAX_DESC_SIZE ? (int)w.at : -RS_EOVERFLOW;
}

void rs_describe(const struct rs_event_info *info, uint32_t id, uint32_t slot, void *out)
{
	struct writer w = {.out = out};

	describe(&w, info, id, slot);
}

bool rs_described(const struct rs_event_info *info, uint32_t id, uint32_t slot, const void *at)
{
	struct writer w = {.have = at};

	describe(&w, info, id, slot);
	return !w.differs;
}
