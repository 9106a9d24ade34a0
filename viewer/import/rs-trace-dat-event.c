/* SPDX-License-Identifier: MIT */
#include "rs-trace-dat-event-private.h"

#include <ringside/name.h>
#include <ringside/record.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 16384u

/* ---- fields ---- */

static const char *plain_type(guint size, gboolean is_signed)
{
	static const char *const names[2][9] = {
		{[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"},
		{[1] = "s8", [2] = "s16", [4] = "s32", [8] = "s64"},
	};

	return names[!!is_signed][size];
}

static gboolean is_power(guint size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static gboolean has_field(const RsTraceDatEvent *event, const char *name)
{
	for (guint i = 0; i < event->fields->len; i++)
		if (g_str_equal(g_array_index(event->fields, RsTraceDatField, i).name, name))
			return TRUE;
	return FALSE;
}

/* A name that a descriptor can have, and no other field has. */
static char *field_name(const RsTraceDatEvent *event, const char *wanted)
{
	g_autofree char *name = g_strndup(wanted, RS_NAME_MAX - 8);

	for (char *at = name; *at; at++)
		if (!g_ascii_isalnum(*at))
			*at = '_';
	if (!rs_is_field_name(name) || has_field(event, name)) {
		g_autofree char *other = g_strdup_printf("_%.200s_%u", name, event->fields->len);

		return g_steal_pointer(&other);
	}
	return g_steal_pointer(&name);
}

/* To libtraceevent, arrays of any bytes are strings. */
static gboolean is_text(const struct tep_format_field *tep)
{
	return (tep->flags & TEP_FIELD_IS_STRING) && strstr(tep->type, "char") &&
	       !strstr(tep->type, "unsigned");
}

static void classify_array(RsTraceDatField *field)
{
	const struct tep_format_field *tep = field->tep;
	gboolean dynamic = (tep->flags & TEP_FIELD_IS_DYNAMIC) != 0 || !tep->size;

	if (is_text(tep)) {
		field->kind = dynamic ? RS_KIND_DYN_STRING : RS_KIND_STRING;
		field->elem_size = 1;
		field->elem_count = field->size;
		field->type = g_strdup("char");
		return;
	}
	field->kind = dynamic ? RS_KIND_DYN_ARRAY : RS_KIND_ARRAY;
	field->elem_size = tep->elementsize;
	if (!is_power(field->elem_size) || (!dynamic && field->size % field->elem_size))
		field->elem_size = 1;
	field->elem_count = field->size / field->elem_size;
	if (tep->flags & TEP_FIELD_IS_SIGNED)
		field->flags |= RS_FIELD_SIGNED;
	field->type =
		g_strdup(plain_type(field->elem_size, (tep->flags & TEP_FIELD_IS_SIGNED) != 0));
}

/* FALSE: it cannot be a field of ours. */
static gboolean classify(RsTraceDatField *field)
{
	const struct tep_format_field *tep = field->tep;

	if (tep->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) {
		classify_array(field);
		return TRUE;
	}
	if (!is_power(field->size)) {
		field->kind = RS_KIND_ARRAY;
		field->flags = RS_FIELD_HEX;
		field->elem_size = 1;
		field->elem_count = field->size;
		field->type = g_strdup("u8");
		return TRUE;
	}
	field->kind = tep->flags & TEP_FIELD_IS_SIGNED ? RS_KIND_SINT : RS_KIND_UINT;
	if (tep->flags & TEP_FIELD_IS_POINTER)
		field->kind = field->size == 8 ? RS_KIND_POINTER : RS_KIND_HEX;
	field->type = g_strdup(rs_is_type(tep->type, RS_SYMBOL_LEN)
				       ? tep->type
				       : plain_type(field->size, field->kind == RS_KIND_SINT));
	return TRUE;
}

/* What lies behind the entry's size, or a part of the common fields, is left out. */
static void add_field(RsTraceDatEvent *event, struct tep_format_field *tep)
{
	RsTraceDatField field = {.tep = tep, .size = (guint)MAX(tep->size, 0)};

	/* One less for the text, and room for locators that are added. */
	if (event->fields->len + 1 >= RS_MAX_FIELDS || tep->offset < (int)event->base ||
	    tep->size < 0 ||
	    (guint)tep->offset - event->base + field.size > RS_MAX_ENTRY_SIZE - 512)
		return;
	if (tep->flags & TEP_FIELD_IS_DYNAMIC && field.size != 4)
		return;
	if (!tep->size && !(tep->flags & TEP_FIELD_IS_ARRAY))
		return;
	field.offset = (guint)tep->offset - event->base;
	if (!classify(&field))
		return;
	field.name = field_name(event, tep->name);
	event->fixed = MAX(event->fixed, field.offset + field.size);
	g_array_append_val(event->fields, field);
}

/* Fields without a size hold the rest of the record; they and the text get locators. */
static void place_locators(RsTraceDatEvent *event)
{
	event->entry_size = (event->fixed + 3) & ~3u;
	for (guint i = 0; i < event->fields->len; i++) {
		RsTraceDatField *field = &g_array_index(event->fields, RsTraceDatField, i);

		if (field->size)
			continue;
		field->size = 4;
		field->offset = event->entry_size;
		event->entry_size += 4;
	}
}

static void add_text(RsTraceDatEvent *event)
{
	RsTraceDatField field = {.kind = RS_KIND_DYN_STRING, .elem_size = 1};

	field.name = field_name(event, "text");
	field.type = g_strdup("char");
	event->makes_text = TRUE;
	event->print = g_strdup("%s");
	event->args = g_strdup(field.name);
	g_array_append_val(event->fields, field);
}

static void clear_field(gpointer data)
{
	RsTraceDatField *field = data;

	g_free(field->name);
	g_free(field->type);
}

static void find_common(RsTraceDatEvent *event)
{
	event->flags_at = event->preempt_at = event->pid_at = -1;
	for (const struct tep_format_field *f = event->tep->format.common_fields; f; f = f->next) {
		if (f->offset < 0 || f->size < 0 || f->offset > 256 || f->size > 256)
			continue;
		event->base = MAX(event->base, (guint)(f->offset + f->size));
		if (g_str_equal(f->name, "common_flags") && f->size == 1)
			event->flags_at = f->offset;
		else if (g_str_equal(f->name, "common_preempt_count") && f->size == 1)
			event->preempt_at = f->offset;
		else if (g_str_equal(f->name, "common_pid") && f->size == 4)
			event->pid_at = f->offset;
	}
}

static void find_role(RsTraceDatEvent *event)
{
	static const struct {
		const char *system, *name, *field; /* NULL: no field */
		RsTraceDatRole role;
	} roles[] = {
		{"ftrace", "kernel_stack", "caller", RS_TRACE_DAT_STACK},
		{"ringside", "boot", "boot", RS_TRACE_DAT_BOOT},
		{"ringside", "end", NULL, RS_TRACE_DAT_END},
	};

	for (guint i = 0; i < G_N_ELEMENTS(roles); i++) {
		const struct tep_format_field *field = NULL;

		if (strcmp(event->tep->system, roles[i].system) ||
		    strcmp(event->tep->name, roles[i].name))
			continue;
		if (roles[i].field)
			field = tep_find_field(event->tep, roles[i].field);
		if (roles[i].field && (!field || field->offset < 0 || field->offset > 256))
			continue;
		event->role = roles[i].role;
		event->value_at = field ? field->offset : 0;
	}
}

RsTraceDatEvent *rs_trace_dat_event_new(struct tep_event *tep, guint id)
{
	RsTraceDatEvent *event = g_new0(RsTraceDatEvent, 1);

	event->tep = tep;
	event->id = id;
	event->fields = g_array_new(FALSE, TRUE, sizeof(RsTraceDatField));
	g_array_set_clear_func(event->fields, clear_field);
	find_common(event);
	find_role(event);
	for (struct tep_format_field *f = tep->format.fields; f; f = f->next)
		add_field(event, f);
	rs_trace_dat_event_find_symbols(event);
	if (!rs_trace_dat_event_translate(event))
		add_text(event);
	place_locators(event);
	return event;
}

void rs_trace_dat_event_free(gpointer data)
{
	RsTraceDatEvent *event = data;

	if (!event)
		return;
	g_array_unref(event->fields);
	g_free(event->print);
	g_free(event->args);
	g_free(event);
}

/* ---- the descriptor ---- */

static guint32 add_string(GByteArray *strings, guint32 base, const char *text)
{
	guint32 at = base + strings->len;

	g_byte_array_append(strings, (const guint8 *)text, (guint)strlen(text) + 1);
	return at;
}

static guint n_symbols(const RsTraceDatField *field)
{
	guint n = 0;

	for (const struct tep_print_flag_sym *s = field->symbols; s; s = s->next)
		n += field->kind == RS_KIND_ENUM || strtoull(s->value, NULL, 0);
	return n;
}

static void describe_symbols(const RsTraceDatField *field, GByteArray *symbols, guint32 base,
			     GByteArray *strings)
{
	for (const struct tep_print_flag_sym *s = field->symbols; s; s = s->next) {
		struct rs_symbol symbol = {.value = strtoull(s->value, NULL, 0)};

		if (field->kind == RS_KIND_FLAGS && !symbol.value)
			continue;
		symbol.name = add_string(strings, base, s->str);
		g_byte_array_append(symbols, (const guint8 *)&symbol, sizeof(symbol));
	}
}

static char *name_of(const char *name, gsize max)
{
	char *out = g_strndup(name, max - 1);

	for (char *at = out; *at; at++)
		if (!g_ascii_isalnum(*at) && *at != '_' &&
		    !(at > out && (*at == '-' || *at == '.')))
			*at = '_';
	if (!*out) {
		g_free(out);
		return g_strdup("_");
	}
	return out;
}

void rs_trace_dat_event_describe(const RsTraceDatEvent *event, guint slot, GByteArray *out)
{
	g_autoptr(GByteArray) fields = g_byte_array_new(), symbols = g_byte_array_new();
	g_autoptr(GByteArray) strings = g_byte_array_new();
	g_autofree char *system = name_of(event->tep->system, RS_NAME_MAX);
	g_autofree char *name = name_of(event->tep->name, RS_NAME_MAX);
	guint32 symbols_at = sizeof(struct rs_event_desc) +
			     event->fields->len * (guint32)sizeof(struct rs_field_desc);
	guint32 at = symbols_at;
	struct rs_event_desc head = {.id = (uint16_t)event->id,
				     .field_count = (uint16_t)event->fields->len,
				     .provider = slot,
				     .entry_size = (uint16_t)event->entry_size,
				     .header_size = sizeof(struct rs_event_desc),
				     .field_stride = sizeof(struct rs_field_desc),
				     .symbol_stride = sizeof(struct rs_symbol)};

	for (guint i = 0; i < event->fields->len; i++)
		at += n_symbols(&g_array_index(event->fields, RsTraceDatField, i)) *
		      (guint32)sizeof(struct rs_symbol);
	for (guint i = 0; i < event->fields->len; i++) {
		const RsTraceDatField *field = &g_array_index(event->fields, RsTraceDatField, i);
		struct rs_field_desc desc = {.name = add_string(strings, at, field->name),
					     .type = add_string(strings, at, field->type),
					     .offset = (uint16_t)field->offset,
					     .size = (uint16_t)field->size,
					     .kind = (uint8_t)field->kind,
					     .flags = (uint8_t)field->flags,
					     .elem_size = (uint16_t)field->elem_size,
					     .elem_count = (uint16_t)field->elem_count,
					     .symbol_count = (uint16_t)n_symbols(field)};

		desc.symbols = desc.symbol_count ? symbols_at + symbols->len : 0;
		describe_symbols(field, symbols, at, strings);
		g_byte_array_append(fields, (const guint8 *)&desc, sizeof(desc));
	}
	head.system = add_string(strings, at, system);
	head.name = add_string(strings, at, name);
	head.print = add_string(strings, at, event->print);
	head.print_args = add_string(strings, at, event->args);
	g_byte_array_set_size(strings, (strings->len + 8) & ~7u);
	head.size = at + strings->len;
	g_byte_array_append(out, (const guint8 *)&head, sizeof(head));
	g_byte_array_append(out, fields->data, fields->len);
	g_byte_array_append(out, symbols->data, symbols->len);
	g_byte_array_append(out, strings->data, strings->len);
}

/* ---- payloads ---- */

/* Linux has no RS_LOCATOR_CUT. What is longer lies outside of any record of ours. */
static guint32 locator_of(guint offset, guint length)
{
	return offset > 0xffff ? 0 : rs_locator(offset, MIN(length, RS_REC_SIZE_MASK));
}

/* What Linux' locator names, from the payload's start. What is behind the fixed part moved. */
static guint32 convert_locator(const RsTraceDatEvent *event, const RsTraceDatField *field,
			       guint32 locator)
{
	guint offset = locator & 0xffff, length = locator >> 16;
	guint start = event->base + event->fixed;

	if (field->tep->flags & TEP_FIELD_IS_RELATIVE)
		offset += (guint)field->tep->offset + 4;
	if (offset < event->base)
		return 0;
	offset = offset - event->base + (offset >= start ? event->entry_size - event->fixed : 0);
	return locator_of(offset, length);
}

static void put_locator(GByteArray *out, guint at, guint offset, guint length)
{
	guint32 locator = locator_of(offset, length);

	memcpy(out->data + at, &locator, sizeof(locator));
}

static void put_text(const RsTraceDatField *field, const RsTraceDatEvent *event,
		     struct tep_record *record, struct trace_seq *text, GByteArray *out)
{
	guint length;

	trace_seq_reset(text);
	tep_print_event(event->tep->tep, text, record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(text);
	length = MIN(text->len, TEXT_MAX);
	while (length && text->buffer[length - 1] == '\n')
		length--;
	/* A stack's frames stand in lines of their own; an event of ours is one line. */
	for (guint i = 0; i < length; i++)
		if (text->buffer[i] == '\n')
			text->buffer[i] = ' ';
	put_locator(out, field->offset, out->len, length + 1);
	g_byte_array_append(out, (const guint8 *)text->buffer, length);
	g_byte_array_append(out, (const guint8 *)"", 1);
}

void rs_trace_dat_event_payload(const RsTraceDatEvent *event, struct tep_record *record,
				struct trace_seq *text, GByteArray *out)
{
	const guint8 *data = record->data;
	guint size = (guint)MAX(record->size, 0), rest;

	g_byte_array_set_size(out, event->entry_size);
	memset(out->data, 0, out->len);
	if (size > event->base)
		memcpy(out->data, data + event->base, MIN(size - event->base, event->fixed));
	rest = MIN(event->base + event->fixed, size);
	g_byte_array_append(out, data + rest, size - rest);
	for (guint i = 0; i < event->fields->len; i++) {
		const RsTraceDatField *field = &g_array_index(event->fields, RsTraceDatField, i);
		guint32 locator;

		if (field->kind < RS_KIND_DYN_ARRAY)
			continue;
		if (!field->tep) {
			put_text(field, event, record, text, out);
		} else if (!(field->tep->flags & TEP_FIELD_IS_DYNAMIC)) {
			put_locator(out, field->offset, event->entry_size, size - rest);
		} else {
			memcpy(&locator, out->data + field->offset, sizeof(locator));
			locator = convert_locator(event, field, locator);
			memcpy(out->data + field->offset, &locator, sizeof(locator));
		}
	}
}
