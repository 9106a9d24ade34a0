/* SPDX-License-Identifier: MIT */
/* One descriptor's bytes to an event, see rs-trace-descriptor-private.h. */
#include "rs-trace-descriptor-private.h"
#include "rs-trace-print-private.h"

#include <ringside/name.h>
#include <ringside/record.h>

#include <string.h>

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

#define PIECE 16u /* what an allocation costs beside its bytes */
/* Of an event itself, in the schema's list of its id, and in its others. */
#define OWN_MEMORY (sizeof(RsTraceDescriptor) + sizeof(GPtrArray) + 16 * sizeof(gpointer))

static gsize described_memory(const RsTraceDescribed *described)
{
	const RsTraceEvent *event = &described->event;
	gsize memory = sizeof(*described) + described->size + 12 * PIECE;

	memory += event->n_fields * sizeof(*event->fields);
	for (guint i = 0; i < event->n_fields; i++)
		memory += PIECE + event->fields[i].n_symbols * sizeof(*event->fields[i].symbols);
	memory += event->n_print_args * sizeof(*event->print_args) + strlen(event->print);
	for (guint i = 0; i < event->n_steps; i++)
		memory += PIECE + sizeof(*event->steps) + event->steps[i].literal_size + 1;
	return memory;
}

gsize rs_trace_descriptor_memory(const RsTraceDescriptor *entry)
{
	return OWN_MEMORY + described_memory(entry->described);
}

static void described_unref(RsTraceDescribed *described)
{
	if (--described->refs)
		return;
	if (described->pool) {
		g_tree_remove(described->pool->made, described);
		*described->pool->used -= described_memory(described);
	}
	rs_trace_print_clear(&described->event);
	for (guint i = 0; i < described->event.n_fields; i++)
		g_free((gpointer)described->event.fields[i].symbols);
	g_free((gpointer)described->event.fields);
	g_free(described->bytes);
	g_free(described);
}

void rs_trace_descriptor_free(RsTraceDescriptor *entry)
{
	if (!entry)
		return;
	if (entry->described->pool)
		*entry->described->pool->used -= OWN_MEMORY;
	described_unref(entry->described);
	g_free(entry);
}

/* ---- a pool ---- */

static gint bytes_order(gconstpointer a, gconstpointer b)
{
	const RsTraceDescribed *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return memcmp(x->bytes, y->bytes, x->size);
}

void rs_trace_descriptor_pool_init(RsTraceDescriptorPool *pool, gsize *used, gsize most)
{
	*pool = (RsTraceDescriptorPool){
		.made = g_tree_new(bytes_order), .used = used, .most = most};
}

void rs_trace_descriptor_pool_deinit(RsTraceDescriptorPool *pool)
{
	g_tree_unref(pool->made);
}

/* ---- the bytes ---- */

/* The NUL-terminated string at `offset`, or NULL if there is none. */
static const char *get_string(const Source *source, guint32 offset)
{
	if (offset < RS_EVENT_DESC_MIN_SIZE || offset >= source->size)
		return NULL;
	if (!memchr(source->bytes + offset, 0, source->size - offset))
		return NULL;
	return source->bytes + offset;
}

static gboolean is_power(guint size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static gboolean shape_is_good(const RsTraceField *field)
{
	/* Of a kind of a later ABI version only the place of its bytes matters. */
	if (field->is_later)
		return field->kind != RS_KIND_DYN_ARRAY || field->size == 4;
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

static gboolean parse_symbols(const Source *source, const struct rs_field_desc *desc, guint stride,
			      RsTraceField *field)
{
	RsTraceSymbol *symbols;

	if (!desc->symbol_count)
		return TRUE;
	if (field->kind != RS_KIND_ENUM && field->kind != RS_KIND_FLAGS)
		return refuse(source, "field %s has symbols but is no enum", field->name);
	if (desc->symbol_count > RS_MAX_SYMBOLS || desc->symbols % 8 ||
	    desc->symbols > source->size ||
	    (gsize)desc->symbol_count * stride > source->size - desc->symbols)
		return refuse(source, "symbols of field %s lie outside", field->name);
	symbols = g_new0(RsTraceSymbol, desc->symbol_count);
	field->symbols = symbols;
	field->n_symbols = desc->symbol_count;
	for (guint i = 0; i < desc->symbol_count; i++) {
		struct rs_symbol symbol;

		rs_take_record(&symbol, sizeof(symbol),
			       source->bytes + desc->symbols + i * (gsize)stride, stride);
		symbols[i].value = symbol.value;
		symbols[i].name = get_string(source, symbol.name);
		if (!rs_is_symbol(symbols[i].name))
			return refuse(source, "symbol %u of field %s has a bad name", i,
				      field->name);
	}
	return TRUE;
}

/* For a kind of a later ABI version: only the place of its bytes is known. */
static void take_as_bytes(struct rs_field_desc *desc, RsTraceField *field)
{
	desc->kind = desc->flags & RS_FIELD_DYNAMIC ? RS_KIND_DYN_ARRAY : RS_KIND_ARRAY;
	desc->flags = RS_FIELD_HEX;
	desc->symbol_count = 0;
	field->kind = desc->kind;
	field->is_later = TRUE;
	field->elem_size = 1;
	field->elem_count = field->size;
}

static gboolean parse_field(const Source *source, const struct rs_event_desc *head,
			    RsTraceEvent *event, guint index, RsTraceField *field)
{
	struct rs_field_desc desc;
	const char *name;

	rs_take_record(&desc, sizeof(desc),
		       source->bytes + head->header_size + index * (gsize)head->field_stride,
		       head->field_stride);
	name = get_string(source, desc.name);
	if (!rs_is_field_name(name))
		return refuse(source, "field %u has a bad name", index);
	if (rs_trace_event_field(event, name))
		return refuse(source, "field %s is there twice", name);
	field->name = name;
	field->type = get_string(source, desc.type);
	if (!rs_is_type(field->type, RS_SYMBOL_LEN))
		return refuse(source, "field %s has a bad type", name);
	field->kind = desc.kind;
	field->offset = desc.offset;
	field->size = desc.size;
	field->elem_size = desc.elem_size;
	field->elem_count = desc.elem_count;
	if (desc.kind > RS_KIND_DYN_STRING || desc.kind == 0)
		take_as_bytes(&desc, field);
	field->is_signed = desc.kind == RS_KIND_SINT || (desc.flags & RS_FIELD_SIGNED) != 0;
	field->is_hex = desc.kind == RS_KIND_HEX || desc.kind == RS_KIND_POINTER ||
			(desc.flags & RS_FIELD_HEX) != 0;
	if (!shape_is_good(field))
		return refuse(source, "field %s has an impossible kind or size", name);
	/* Only SINT is signed. For other kinds the flag is about the elements of an array. */
	if (desc.kind < RS_KIND_ARRAY && desc.kind != RS_KIND_SINT)
		field->is_signed = FALSE;
	if (field->offset + field->size > event->entry_size)
		return refuse(source, "field %s lies outside the entry", name);
	return parse_symbols(source, &desc, head->symbol_stride, field);
}

static gboolean parse_fields(const Source *source, const struct rs_event_desc *head,
			     RsTraceEvent *event)
{
	RsTraceField *fields = g_new0(RsTraceField, head->field_count);
	gsize symbols = 0;
	guint dynamic = 0;

	event->fields = fields;
	for (guint i = 0; i < head->field_count; i++) {
		/* Count the field before the check, so that the event frees it after a failure. */
		gboolean ok = parse_field(source, head, event, i, &fields[i]);

		event->n_fields = i + 1;
		if (!ok)
			return FALSE;
		if (fields[i].kind >= RS_KIND_DYN_ARRAY)
			fields[i].dyn_index = dynamic++;
		/* Shared symbols would take far more memory here than in the descriptor. */
		symbols += (gsize)fields[i].n_symbols * head->symbol_stride;
		if (symbols > source->size)
			return refuse(source, "fields share symbols");
	}
	return TRUE;
}

static gboolean parse_event(const Source *source, RsTraceEvent *event)
{
	struct rs_event_desc desc;
	const char *print = NULL, *args = NULL;

	rs_take_record(&desc, sizeof(desc), source->bytes, RS_EVENT_DESC_MIN_SIZE);
	event->id = desc.id;
	event->slot = desc.provider;
	event->entry_size = desc.entry_size;
	event->level = desc.level;
	event->keyword = desc.keyword;
	event->system = get_string(source, desc.system);
	event->name = get_string(source, desc.name);
	if (!rs_is_name(event->system) || !rs_is_name(event->name))
		return refuse(source, "bad system or name");
	if (desc.id < RS_FIRST_EVENT_ID)
		return refuse(source, "id %u is reserved", desc.id);
	if (!rs_stride_fits(desc.header_size, RS_EVENT_DESC_MIN_SIZE) ||
	    desc.header_size > source->size ||
	    !rs_stride_fits(desc.field_stride, RS_FIELD_DESC_MIN_SIZE) ||
	    !rs_stride_fits(desc.symbol_stride, RS_SYMBOL_MIN_SIZE))
		return refuse(source, "its parts have impossible sizes");
	/* The rest of its header, now that its size is known. */
	rs_take_record(&desc, sizeof(desc), source->bytes, desc.header_size);
	if (desc.field_count > RS_MAX_FIELDS ||
	    desc.header_size + (gsize)desc.field_count * desc.field_stride > source->size)
		return refuse(source, "%u fields do not fit", desc.field_count);
	if (desc.entry_size > RS_MAX_ENTRY_SIZE)
		return refuse(source, "entry of %u bytes is too large", desc.entry_size);
	if (!parse_fields(source, &desc, event))
		return FALSE;
	if (desc.print && !(print = get_string(source, desc.print)))
		return refuse(source, "print format lies outside");
	if (desc.print_args && !(args = get_string(source, desc.print_args)))
		return refuse(source, "print arguments lie outside");
	return rs_trace_print_parse(event, print, args, source->error);
}

static RsTraceDescribed *parse(const guint8 *bytes, gsize size, GError **error)
{
	RsTraceDescribed *described = g_new0(RsTraceDescribed, 1);
	RsTraceEvent *event = &described->event;
	Source source = {.size = size, .error = error};

	source.bytes = described->bytes = g_memdup2(bytes, size);
	described->size = size;
	described->refs = 1;
	if (parse_event(&source, event))
		return described;
	if (rs_is_name(event->system) && rs_is_name(event->name))
		g_prefix_error(error, "%s:%s: ", event->system, event->name);
	else
		g_prefix_error(error, "descriptor: ");
	described_unref(described);
	return NULL;
}

static RsTraceDescribed *find_or_parse(RsTraceDescriptorPool *pool, const guint8 *bytes, gsize size,
				       GError **error)
{
	const RsTraceDescribed key = {.bytes = (char *)bytes, .size = size};
	RsTraceDescribed *described = g_tree_lookup(pool->made, &key);

	if (described) {
		described->refs++;
		return described;
	}
	described = parse(bytes, size, error);
	if (!described)
		return NULL;
	described->pool = pool;
	g_tree_insert(pool->made, described, described);
	*pool->used += described_memory(described);
	return described;
}

static gboolean has_room(RsTraceDescriptorPool *pool, GError **error)
{
	if (*pool->used < pool->most)
		return TRUE;
	pool->is_full = TRUE;
	g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR,
			    "there is no room for more descriptors");
	return FALSE;
}

RsTraceDescriptor *rs_trace_descriptor_parse(RsTraceDescriptorPool *pool, const guint8 *bytes,
					     gsize size, GError **error)
{
	static guint64 made; /* atomic */
	RsTraceDescribed *described;
	RsTraceDescriptor *entry;

	if (pool && !has_room(pool, error))
		return NULL;
	described = pool ? find_or_parse(pool, bytes, size, error) : parse(bytes, size, error);
	if (!described)
		return NULL;
	entry = g_new0(RsTraceDescriptor, 1);
	entry->described = described;
	entry->event = described->event;
	entry->event.unique = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
	if (pool)
		*pool->used += OWN_MEMORY;
	return entry;
}

const RsTraceField *rs_trace_event_field(const RsTraceEvent *event, const char *name)
{
	for (guint i = 0; i < event->n_fields; i++)
		if (!strcmp(event->fields[i].name, name))
			return &event->fields[i];
	return NULL;
}
