/* SPDX-License-Identifier: MIT */
#include "rs-trace-schema.h"
#include "rs-trace-print.h"

#include <ringside/record.h>

#include <string.h>

/*
 * An event with what it owns. Strings point into `bytes`, a copy of the descriptor, so a hostile
 * descriptor that names one long string a thousand times costs its own size only.
 */
typedef struct {
	RsTraceEvent event;
	char *bytes;
} Entry;

struct _RsTraceSchema {
	GPtrArray *entries;  /* of Entry, in order of id */
	GPtrArray *by_id;    /* of Entry, not owned, with holes */
	GHashTable *by_name; /* RsTraceEvent → itself, by system and name */
};

/* The descriptor that is being parsed. */
typedef struct {
	const char *bytes;
	gsize size;
	GError **error;
} Source;

static gboolean refuse(const Source *source, const char *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean refuse(const Source *source, const char *format, ...)
{
	va_list ap;
	g_autofree char *message = NULL;

	va_start(ap, format);
	message = g_strdup_vprintf(format, ap);
	va_end(ap);
	g_set_error_literal(source->error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR, message);
	return FALSE;
}

static void entry_free(gpointer data)
{
	Entry *entry = data;

	if (!entry)
		return;
	rs_trace_print_clear(&entry->event);
	for (guint i = 0; i < entry->event.n_fields; i++)
		g_free((gpointer)entry->event.fields[i].symbols);
	g_free((gpointer)entry->event.fields);
	g_free(entry->bytes);
	g_free(entry);
}

static guint event_hash(gconstpointer key)
{
	const RsTraceEvent *event = key;

	return g_str_hash(event->system) * 31 + g_str_hash(event->name);
}

static gboolean event_equal(gconstpointer a, gconstpointer b)
{
	const RsTraceEvent *x = a, *y = b;

	return !strcmp(x->system, y->system) && !strcmp(x->name, y->name);
}

RsTraceSchema *rs_trace_schema_new(void)
{
	RsTraceSchema *schema = g_new0(RsTraceSchema, 1);

	schema->entries = g_ptr_array_new_with_free_func(entry_free);
	schema->by_id = g_ptr_array_new();
	schema->by_name = g_hash_table_new(event_hash, event_equal);
	return schema;
}

void rs_trace_schema_free(RsTraceSchema *schema)
{
	if (!schema)
		return;
	g_hash_table_unref(schema->by_name);
	g_ptr_array_unref(schema->by_id);
	g_ptr_array_unref(schema->entries);
	g_free(schema);
}

/* The NUL-terminated string at `offset`, or NULL where there is none. */
static const char *get_string(const Source *source, guint32 offset)
{
	if (offset < sizeof(struct rs_event_desc) || offset >= source->size)
		return NULL;
	if (!memchr(source->bytes + offset, 0, source->size - offset))
		return NULL;
	return source->bytes + offset;
}

/* Letters, digits, '_' and `extra`, not beginning with a digit or '-', 1..RS_NAME_MAX-1 bytes. */
static gboolean is_name(const char *text, const char *extra)
{
	gsize length = text ? strlen(text) : 0;

	if (!length || length >= RS_NAME_MAX || !(g_ascii_isalpha(text[0]) || text[0] == '_'))
		return FALSE;
	for (gsize i = 0; i < length; i++)
		if (!g_ascii_isalnum(text[i]) && text[i] != '_' && !strchr(extra, text[i]))
			return FALSE;
	return TRUE;
}

static gboolean is_type(const char *text)
{
	gsize length = text ? strlen(text) : 0;

	if (!length || length >= RS_NAME_MAX)
		return FALSE;
	for (gsize i = 0; i < length; i++)
		if (!g_ascii_isalnum(text[i]) && !strchr("_ *[]", text[i]))
			return FALSE;
	return TRUE;
}

static gboolean is_symbol(const char *text)
{
	gsize length = text ? strlen(text) : 0;

	if (!length || length >= RS_NAME_MAX || !g_utf8_validate(text, -1, NULL))
		return FALSE;
	for (const char *c = text; *c; c = g_utf8_next_char(c))
		if (g_unichar_iscntrl(g_utf8_get_char(c)))
			return FALSE;
	return TRUE;
}

static gboolean is_power(guint size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static gboolean shape_is_good(const RsTraceField *field)
{
	switch (field->kind) {
	case RS_KIND_UINT:
	case RS_KIND_SINT:
	case RS_KIND_HEX:
	case RS_KIND_ENUM:
	case RS_KIND_FLAGS:
		return is_power(field->size);
	case RS_KIND_POINTER:
		return field->size == 8;
	case RS_KIND_ARRAY:
		return is_power(field->elem_size) && field->elem_count &&
		       field->elem_size * field->elem_count == field->size;
	case RS_KIND_STRING:
		return field->size > 0;
	case RS_KIND_DYN_ARRAY:
		return field->size == 4 && is_power(field->elem_size);
	case RS_KIND_DYN_STRING:
		return field->size == 4;
	}
	return FALSE;
}

static gboolean parse_symbols(const Source *source, const struct rs_field_desc *desc,
			      RsTraceField *field)
{
	RsTraceSymbol *symbols;

	if (!desc->symbol_count)
		return TRUE;
	if (field->kind != RS_KIND_ENUM && field->kind != RS_KIND_FLAGS)
		return refuse(source, "field %s has symbols but is no enum", field->name);
	if (desc->symbol_count > RS_MAX_SYMBOLS || desc->symbols % 8 ||
	    desc->symbols > source->size ||
	    desc->symbol_count * sizeof(struct rs_symbol) > source->size - desc->symbols)
		return refuse(source, "symbols of field %s lie outside", field->name);
	symbols = g_new0(RsTraceSymbol, desc->symbol_count);
	field->symbols = symbols;
	field->n_symbols = desc->symbol_count;
	for (guint i = 0; i < desc->symbol_count; i++) {
		struct rs_symbol symbol;

		memcpy(&symbol, source->bytes + desc->symbols + i * sizeof(symbol), sizeof(symbol));
		symbols[i].value = symbol.value;
		symbols[i].name = get_string(source, symbol.name);
		if (!is_symbol(symbols[i].name))
			return refuse(source, "symbol %u of field %s has a bad name", i,
				      field->name);
	}
	return TRUE;
}

static gboolean parse_field(const Source *source, RsTraceEvent *event, guint index,
			    RsTraceField *field)
{
	struct rs_field_desc desc;
	const char *name;

	memcpy(&desc, source->bytes + sizeof(struct rs_event_desc) + index * sizeof(desc),
	       sizeof(desc));
	name = get_string(source, desc.name);
	if (!is_name(name, ""))
		return refuse(source, "field %u has a bad name", index);
	if (rs_trace_event_field(event, name))
		return refuse(source, "field %s is there twice", name);
	field->name = name;
	field->type = get_string(source, desc.type);
	if (!is_type(field->type))
		return refuse(source, "field %s has a bad type", name);
	field->kind = desc.kind;
	field->offset = desc.offset;
	field->size = desc.size;
	field->elem_size = desc.elem_size;
	field->elem_count = desc.elem_count;
	field->is_signed = desc.kind == RS_KIND_SINT || (desc.flags & RS_FIELD_SIGNED) != 0;
	field->is_hex = desc.kind == RS_KIND_HEX || desc.kind == RS_KIND_POINTER ||
			(desc.flags & RS_FIELD_HEX) != 0;
	if (!shape_is_good(field))
		return refuse(source, "field %s has an impossible kind or size", name);
	/* Only SINT is signed; for others the flag speaks of an array's elements. */
	if (desc.kind < RS_KIND_ARRAY && desc.kind != RS_KIND_SINT)
		field->is_signed = FALSE;
	if (field->offset + field->size > event->entry_size)
		return refuse(source, "field %s lies outside the entry", name);
	return parse_symbols(source, &desc, field);
}

static gboolean parse_fields(const Source *source, guint count, RsTraceEvent *event)
{
	RsTraceField *fields = g_new0(RsTraceField, count + 1);
	guint dynamic = 0;

	event->fields = fields;
	for (guint i = 0; i < count; i++) {
		/* Counted first: what a failure leaves behind is freed with the event. */
		gboolean ok = parse_field(source, event, i, &fields[i]);

		event->n_fields = i + 1;
		if (!ok)
			return FALSE;
		if (fields[i].kind >= RS_KIND_DYN_ARRAY)
			fields[i].dyn_index = dynamic++;
	}
	return TRUE;
}

static gboolean parse_event(const Source *source, RsTraceEvent *event)
{
	struct rs_event_desc desc;
	const char *print = NULL, *args = NULL;

	memcpy(&desc, source->bytes, sizeof(desc));
	event->id = desc.id;
	event->provider = desc.provider;
	event->entry_size = desc.entry_size;
	event->level = desc.level;
	event->keyword = desc.keyword;
	event->system = get_string(source, desc.system);
	event->name = get_string(source, desc.name);
	if (!is_name(event->system, "-.") || !is_name(event->name, "-."))
		return refuse(source, "bad system or name");
	if (desc.id < RS_FIRST_EVENT_ID)
		return refuse(source, "id %u is reserved", desc.id);
	if (desc.field_count > RS_MAX_FIELDS ||
	    sizeof(desc) + desc.field_count * sizeof(struct rs_field_desc) > source->size)
		return refuse(source, "%u fields do not fit", desc.field_count);
	if (desc.entry_size > RS_MAX_ENTRY_SIZE)
		return refuse(source, "entry of %u bytes is too large", desc.entry_size);
	if (!parse_fields(source, desc.field_count, event))
		return FALSE;
	if (desc.print && !(print = get_string(source, desc.print)))
		return refuse(source, "print format lies outside");
	if (desc.print_args && !(args = get_string(source, desc.print_args)))
		return refuse(source, "print arguments lie outside");
	return rs_trace_print_parse(event, print, args, source->error);
}

static gint by_id_order(gconstpointer a, gconstpointer b)
{
	const Entry *x = *(const Entry *const *)a, *y = *(const Entry *const *)b;

	return (gint)x->event.id - (gint)y->event.id;
}

/* Takes one whole descriptor. */
static gboolean add_one(RsTraceSchema *schema, const char *bytes, gsize size, GError **error)
{
	Entry *entry = g_new0(Entry, 1);
	RsTraceEvent *event = &entry->event;
	Source source = {.size = size, .error = error};

	source.bytes = entry->bytes = g_memdup2(bytes, size);
	if (!parse_event(&source, event))
		goto bad;
	if (rs_trace_schema_by_id(schema, event->id)) {
		refuse(&source, "id %u is taken", event->id);
		goto bad;
	}
	if (g_hash_table_contains(schema->by_name, event)) {
		refuse(&source, "the name is taken");
		goto bad;
	}
	if (schema->by_id->len <= event->id)
		g_ptr_array_set_size(schema->by_id, (gint)event->id + 1);
	schema->by_id->pdata[event->id] = entry;
	g_hash_table_add(schema->by_name, event);
	g_ptr_array_add(schema->entries, entry);
	return TRUE;
bad:
	if (is_name(event->system, "-.") && is_name(event->name, "-."))
		g_prefix_error(error, "%s:%s: ", event->system, event->name);
	else
		g_prefix_error(error, "descriptor: ");
	entry_free(entry);
	return FALSE;
}

gsize rs_trace_schema_add(RsTraceSchema *schema, const guint8 *data, gsize size, guint *bad,
			  GError **error)
{
	gsize at = 0;
	guint n_bad = 0, before = schema->entries->len;
	gboolean sorted = TRUE, lost = FALSE;

	while (!lost && size - at >= sizeof(struct rs_event_desc)) {
		g_autoptr(GError) local = NULL;
		guint32 bytes;

		memcpy(&bytes, data + at, sizeof(bytes));
		lost = bytes < sizeof(struct rs_event_desc) || bytes % 8 ||
		       bytes > RS_MAX_DESC_SIZE || bytes > size - at;
		if (lost) {
			g_set_error(&local, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR,
				    "descriptor: a size of %u bytes is impossible", bytes);
		} else {
			gboolean ok = add_one(schema, (const char *)data + at, bytes, &local);

			at += bytes;
			if (ok)
				continue;
		}
		if (!n_bad++)
			g_propagate_error(error, g_steal_pointer(&local));
	}
	for (guint i = MAX(before, 1); sorted && i < schema->entries->len; i++)
		sorted =
			by_id_order(&schema->entries->pdata[i - 1], &schema->entries->pdata[i]) < 0;
	if (!sorted)
		g_ptr_array_sort(schema->entries, by_id_order);
	if (bad)
		*bad = n_bad;
	return at;
}

guint rs_trace_schema_n_events(const RsTraceSchema *schema)
{
	return schema->entries->len;
}

const RsTraceEvent *rs_trace_schema_nth(const RsTraceSchema *schema, guint n)
{
	return n < schema->entries->len ? &((Entry *)schema->entries->pdata[n])->event : NULL;
}

const RsTraceEvent *rs_trace_schema_by_id(const RsTraceSchema *schema, guint id)
{
	Entry *entry = id < schema->by_id->len ? schema->by_id->pdata[id] : NULL;

	return entry ? &entry->event : NULL;
}

const RsTraceEvent *rs_trace_schema_by_name(const RsTraceSchema *schema, const char *system,
					    const char *name)
{
	RsTraceEvent key = {.system = system, .name = name};

	return g_hash_table_lookup(schema->by_name, &key);
}

const RsTraceField *rs_trace_event_field(const RsTraceEvent *event, const char *name)
{
	for (guint i = 0; i < event->n_fields; i++)
		if (!strcmp(event->fields[i].name, name))
			return &event->fields[i];
	return NULL;
}
