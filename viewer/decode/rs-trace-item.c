/* SPDX-License-Identifier: MIT */
#include "rs-trace-item-private.h"
#include "rs-trace-json.h"
#include "rs-trace-stack.h"

struct _RsTraceItem {
	gatomicrefcount refs;
	RsTraceItemKind kind;
	guint64 ns, lost;
	guint cpu, pid, tgid, boot, number, index;
	gboolean cut;
	char flags[6];
	char *source, *comm, *system, *name, *full_name, *text, *json;
	GVariant *fields, *names;
	guint64 *stack;
	guint n_stack;
	GStrv stack_names;
};

G_DEFINE_BOXED_TYPE(RsTraceItem, rs_trace_item, rs_trace_item_ref, rs_trace_item_unref)

GType rs_trace_item_kind_get_type(void)
{
	static const GEnumValue values[] = {
		{RS_TRACE_ITEM_KIND_EVENT, "RS_TRACE_ITEM_KIND_EVENT", "event"},
		{RS_TRACE_ITEM_KIND_LOSS, "RS_TRACE_ITEM_KIND_LOSS", "loss"},
		{RS_TRACE_ITEM_KIND_BOOT, "RS_TRACE_ITEM_KIND_BOOT", "boot"},
		{0, NULL, NULL},
	};
	static gsize type;

	if (g_once_init_enter(&type))
		g_once_init_leave(&type, g_enum_register_static("RsTraceItemKind", values));
	return type;
}

/* ---- fields ---- */

static GVariant *make_integer(guint64 value, gboolean is_signed)
{
	return is_signed ? g_variant_new_int64((gint64)value) : g_variant_new_uint64(value);
}

static GVariant *make_array(const RsTraceField *field, const guint8 *bytes, guint length)
{
	const GVariantType *type = field->is_signed ? G_VARIANT_TYPE_INT64 : G_VARIANT_TYPE_UINT64;
	GVariantBuilder builder;

	if (field->elem_size == 1 && !field->is_signed)
		return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bytes, length, 1);
	g_variant_builder_init(&builder,
			       field->is_signed ? G_VARIANT_TYPE("ax") : G_VARIANT_TYPE("at"));
	for (guint at = 0; length - at >= field->elem_size; at += field->elem_size)
		g_variant_builder_add_value(
			&builder, make_integer(rs_trace_load_integer(bytes + at, field->elem_size,
								     field->is_signed),
					       g_variant_type_equal(type, G_VARIANT_TYPE_INT64)));
	return g_variant_builder_end(&builder);
}

/* NULL: the payload does not have it. */
static GVariant *make_field(const RsTraceField *field, const RsTraceRecord *record)
{
	const guint8 *bytes;
	guint length;

	if (!rs_trace_field_bytes(field, record->payload, record->size, &bytes, &length))
		return NULL;
	if (field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING)
		return g_variant_new_take_string(g_utf8_make_valid((const char *)bytes, length));
	if (field->kind >= RS_KIND_ARRAY)
		return make_array(field, bytes, length);
	return make_integer(rs_trace_load_integer(bytes, field->size, field->is_signed),
			    field->is_signed);
}

static GVariant *make_fields(const RsTraceRecord *record)
{
	guint n = record->event ? record->event->n_fields : 0;
	GVariantBuilder builder;

	g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
	for (guint i = 0; i < n; i++) {
		const RsTraceField *field = &record->event->fields[i];
		GVariant *value = make_field(field, record);

		if (value)
			g_variant_builder_add(&builder, "{sv}", field->name, value);
	}
	return g_variant_ref_sink(g_variant_builder_end(&builder));
}

/* ---- names ---- */

static void append_plain(GString *out, const char *text, gsize size)
{
	g_string_append_len(out, text, (gssize)size);
}

/* What the value is called. FALSE: it has no name. */
static gboolean append_value(GString *out, const RsTraceField *field, const RsTraceRecord *record)
{
	gboolean is_pointer = field->kind == RS_KIND_POINTER;
	const guint8 *bytes;
	guint64 value;
	guint length;

	if (!(is_pointer || field->kind == RS_KIND_ENUM || field->kind == RS_KIND_FLAGS) ||
	    !rs_trace_field_bytes(field, record->payload, record->size, &bytes, &length))
		return FALSE;
	value = rs_trace_load_integer(bytes, field->size, field->is_signed);
	if (is_pointer)
		return rs_trace_symbols_append(record->symbols, record->when, value, append_plain,
					       out);
	rs_trace_append_symbols(out, field, value, append_plain);
	return TRUE;
}

static GVariant *make_names(const RsTraceRecord *record)
{
	guint n = record->event ? record->event->n_fields : 0;
	GVariantBuilder builder;

	g_variant_builder_init(&builder, G_VARIANT_TYPE("a{ss}"));
	for (guint i = 0; i < n; i++) {
		const RsTraceField *field = &record->event->fields[i];
		g_autoptr(GString) name = g_string_new(NULL);
		g_autofree char *valid = NULL;

		if (!append_value(name, field, record))
			continue;
		valid = g_utf8_make_valid(name->str, (gssize)name->len);
		g_variant_builder_add(&builder, "{ss}", field->name, valid);
	}
	return g_variant_ref_sink(g_variant_builder_end(&builder));
}

static void take_stack(RsTraceItem *item, const RsTraceRecord *record)
{
	item->n_stack = record->n_stack;
	item->stack = g_new(guint64, record->n_stack);
	item->stack_names = g_new0(char *, record->n_stack + 1);
	for (guint i = 0; i < record->n_stack; i++) {
		g_autoptr(GString) name = g_string_new(NULL);

		item->stack[i] = rs_trace_stack_frame(record, i);
		rs_trace_stack_append_frame(name, record, i, append_plain);
		item->stack_names[i] = g_utf8_make_valid(name->str, (gssize)name->len);
	}
}

/* ---- items ---- */

static char *make_text(const RsTraceRecord *record, const RsTraceTask *task, RsTraceTextStyle style)
{
	GString *out = g_string_new(NULL);

	rs_trace_text_line(out, record, task, style);
	if (out->len && out->str[out->len - 1] == '\n')
		g_string_truncate(out, out->len - 1);
	return g_string_free(out, FALSE);
}

static char *make_json(const RsTraceRecord *record, const RsTraceTask *task)
{
	GString *out = g_string_new(NULL);

	rs_trace_json_line(out, record, task);
	if (out->len && out->str[out->len - 1] == '\n')
		g_string_truncate(out, out->len - 1);
	return g_string_free(out, FALSE);
}

static void take_event(RsTraceItem *item, const RsTraceRecord *record, const RsTraceTask *task)
{
	const RsTraceEvent *event = record->event;

	item->pid = record->pid;
	item->tgid = task->tgid;
	item->comm = g_utf8_make_valid(task->comm, -1);
	item->cut = record->cut;
	rs_trace_text_flags(record->context, item->flags);
	item->fields = make_fields(record);
	item->names = make_names(record);
	if (record->n_stack)
		take_stack(item, record);
	if (!event)
		return;
	item->system = g_utf8_make_valid(event->system, -1);
	item->name = g_utf8_make_valid(event->name, -1);
	item->full_name = g_strdup_printf("%s:%s", item->system, item->name);
}

RsTraceItem *rs_trace_item_new(const RsTraceRecord *record, const RsTraceTask *task,
			       RsTraceTextStyle style)
{
	RsTraceItem *item = g_new0(RsTraceItem, 1);

	g_atomic_ref_count_init(&item->refs);
	item->kind = record->kind == RS_TRACE_RECORD_EVENT  ? RS_TRACE_ITEM_KIND_EVENT
		     : record->kind == RS_TRACE_RECORD_LOSS ? RS_TRACE_ITEM_KIND_LOSS
							    : RS_TRACE_ITEM_KIND_BOOT;
	item->ns = record->ns;
	item->cpu = record->ring;
	item->boot = record->when.boot;
	item->number = record->origin->number;
	item->index = record->origin->index;
	item->source = g_utf8_make_valid(record->origin->name, -1);
	item->text = make_text(record, task, style);
	item->json = make_json(record, task);
	if (item->kind == RS_TRACE_ITEM_KIND_LOSS)
		item->lost = record->lost;
	if (item->kind == RS_TRACE_ITEM_KIND_EVENT)
		take_event(item, record, task);
	return item;
}

RsTraceItem *rs_trace_item_ref(RsTraceItem *item)
{
	g_atomic_ref_count_inc(&item->refs);
	return item;
}

void rs_trace_item_unref(RsTraceItem *item)
{
	if (!g_atomic_ref_count_dec(&item->refs))
		return;
	g_free(item->source);
	g_free(item->comm);
	g_free(item->system);
	g_free(item->name);
	g_free(item->full_name);
	g_free(item->text);
	g_free(item->json);
	g_clear_pointer(&item->fields, g_variant_unref);
	g_clear_pointer(&item->names, g_variant_unref);
	g_free(item->stack);
	g_strfreev(item->stack_names);
	g_free(item);
}

RsTraceItemKind rs_trace_item_get_kind(const RsTraceItem *item)
{
	return item->kind;
}

guint64 rs_trace_item_get_time(const RsTraceItem *item)
{
	return item->ns;
}

guint rs_trace_item_get_cpu(const RsTraceItem *item)
{
	return item->cpu;
}

const char *rs_trace_item_get_source(const RsTraceItem *item)
{
	return item->source;
}

guint rs_trace_item_get_source_number(const RsTraceItem *item)
{
	return item->number;
}

guint rs_trace_item_get_source_index(const RsTraceItem *item)
{
	return item->index;
}

guint rs_trace_item_get_pid(const RsTraceItem *item)
{
	return item->pid;
}

guint rs_trace_item_get_tgid(const RsTraceItem *item)
{
	return item->tgid;
}

const char *rs_trace_item_get_comm(const RsTraceItem *item)
{
	return item->comm;
}

const char *rs_trace_item_get_system(const RsTraceItem *item)
{
	return item->system;
}

const char *rs_trace_item_get_name(const RsTraceItem *item)
{
	return item->name;
}

const char *rs_trace_item_get_full_name(const RsTraceItem *item)
{
	return item->full_name;
}

const char *rs_trace_item_get_flags(const RsTraceItem *item)
{
	return *item->flags ? item->flags : NULL;
}

gboolean rs_trace_item_is_cut(const RsTraceItem *item)
{
	return item->cut;
}

GVariant *rs_trace_item_get_fields(const RsTraceItem *item)
{
	return item->fields;
}

GVariant *rs_trace_item_get_field(const RsTraceItem *item, const char *name)
{
	return item->fields ? g_variant_lookup_value(item->fields, name, NULL) : NULL;
}

GVariant *rs_trace_item_get_names(const RsTraceItem *item)
{
	return item->names;
}

const guint64 *rs_trace_item_get_stack(const RsTraceItem *item, guint *n_frames)
{
	*n_frames = item->n_stack;
	return item->stack;
}

const char *const *rs_trace_item_get_stack_names(const RsTraceItem *item)
{
	return (const char *const *)item->stack_names;
}

guint64 rs_trace_item_get_lost(const RsTraceItem *item)
{
	return item->lost;
}

guint rs_trace_item_get_boot(const RsTraceItem *item)
{
	return item->boot;
}

const char *rs_trace_item_to_text(const RsTraceItem *item)
{
	return item->text;
}

const char *rs_trace_item_to_json(const RsTraceItem *item)
{
	return item->json;
}
