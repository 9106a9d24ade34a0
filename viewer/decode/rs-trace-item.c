/* SPDX-License-Identifier: MIT */
#include "rs-trace-item-private.h"
#include "rs-trace-json.h"

/**
 * RsTraceItem:
 *
 * A record of a trace: an event, a loss, or the boot of a guest.
 *
 * Names and strings come from the guest. What is no UTF-8 in them is replaced by U+FFFD.
 */
struct _RsTraceItem {
	gatomicrefcount refs;
	RsTraceItemKind kind;
	guint64 ns, lost;
	guint cpu, pid, tgid, boot;
	char *source, *comm, *system, *name, *text, *json;
	GVariant *fields;
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
	item->source = g_utf8_make_valid(record->origin->name, -1);
	item->text = make_text(record, task, style);
	item->json = make_json(record, task);
	if (item->kind == RS_TRACE_ITEM_KIND_LOSS)
		item->lost = record->lost;
	if (item->kind == RS_TRACE_ITEM_KIND_EVENT) {
		item->pid = record->pid;
		item->tgid = task->tgid;
		item->comm = g_utf8_make_valid(task->comm, -1);
		item->fields = make_fields(record);
	}
	if (item->fields && record->event) {
		item->system = g_utf8_make_valid(record->event->system, -1);
		item->name = g_utf8_make_valid(record->event->name, -1);
	}
	return item;
}

/**
 * rs_trace_item_ref:
 * @item: an item
 *
 * Returns: (transfer full): the same
 */
RsTraceItem *rs_trace_item_ref(RsTraceItem *item)
{
	g_atomic_ref_count_inc(&item->refs);
	return item;
}

/**
 * rs_trace_item_unref:
 * @item: (transfer full): an item
 */
void rs_trace_item_unref(RsTraceItem *item)
{
	if (!g_atomic_ref_count_dec(&item->refs))
		return;
	g_free(item->source);
	g_free(item->comm);
	g_free(item->system);
	g_free(item->name);
	g_free(item->text);
	g_free(item->json);
	g_clear_pointer(&item->fields, g_variant_unref);
	g_free(item);
}

/**
 * rs_trace_item_get_kind:
 * @item: an item
 *
 * Returns: what it is
 */
RsTraceItemKind rs_trace_item_get_kind(const RsTraceItem *item)
{
	return item->kind;
}

/**
 * rs_trace_item_get_time:
 * @item: an item
 *
 * Returns: its time in nanoseconds since the trace's time 0
 */
guint64 rs_trace_item_get_time(const RsTraceItem *item)
{
	return item->ns;
}

/**
 * rs_trace_item_get_cpu:
 * @item: an item
 *
 * Returns: the vCPU that wrote it
 */
guint rs_trace_item_get_cpu(const RsTraceItem *item)
{
	return item->cpu;
}

/**
 * rs_trace_item_get_source:
 * @item: an item
 *
 * Returns: the name of the source that it is from
 */
const char *rs_trace_item_get_source(const RsTraceItem *item)
{
	return item->source;
}

/**
 * rs_trace_item_get_pid:
 * @item: an item
 *
 * Returns: the task that wrote the event; 0 for others
 */
guint rs_trace_item_get_pid(const RsTraceItem *item)
{
	return item->pid;
}

/**
 * rs_trace_item_get_tgid:
 * @item: an item
 *
 * Returns: the thread group of the task; 0: not known
 */
guint rs_trace_item_get_tgid(const RsTraceItem *item)
{
	return item->tgid;
}

/**
 * rs_trace_item_get_comm:
 * @item: an item
 *
 * Returns: (nullable): the name of the task, "<...>" if nobody knows it; %NULL if it is no event
 */
const char *rs_trace_item_get_comm(const RsTraceItem *item)
{
	return item->comm;
}

/**
 * rs_trace_item_get_system:
 * @item: an item
 *
 * Returns: (nullable): the system of the event; %NULL if it is none, or an unknown one
 */
const char *rs_trace_item_get_system(const RsTraceItem *item)
{
	return item->system;
}

/**
 * rs_trace_item_get_name:
 * @item: an item
 *
 * Returns: (nullable): the name of the event; %NULL if it is none, or an unknown one
 */
const char *rs_trace_item_get_name(const RsTraceItem *item)
{
	return item->name;
}

/**
 * rs_trace_item_get_fields:
 * @item: an item
 *
 * The fields of an event, by name: integers, enums, flags and pointers as `t`, signed ones as `x`,
 * strings as `s`, arrays of bytes as `ay`, other arrays as `at` or `ax`. Those that a cut event
 * lacks are missing.
 *
 * Returns: (transfer none) (nullable): a dictionary (`a{sv}`); %NULL if it is no event
 */
GVariant *rs_trace_item_get_fields(const RsTraceItem *item)
{
	return item->fields;
}

/**
 * rs_trace_item_get_field:
 * @item: an item
 * @name: of a field
 *
 * Returns: (transfer full) (nullable): its value as [method@Item.get_fields] has it; %NULL if there
 *   is none of this name
 */
GVariant *rs_trace_item_get_field(const RsTraceItem *item, const char *name)
{
	return item->fields ? g_variant_lookup_value(item->fields, name, NULL) : NULL;
}

/**
 * rs_trace_item_get_lost:
 * @item: an item
 *
 * Returns: how many events are missing here; 0 if it is no loss
 */
guint64 rs_trace_item_get_lost(const RsTraceItem *item)
{
	return item->lost;
}

/**
 * rs_trace_item_get_boot:
 * @item: an item
 *
 * Returns: the boot of the guest in which it was written, from 1 on
 */
guint rs_trace_item_get_boot(const RsTraceItem *item)
{
	return item->boot;
}

/**
 * rs_trace_item_to_text:
 * @item: an item
 *
 * Returns: the line that `ringside report` prints, without its newline
 */
const char *rs_trace_item_to_text(const RsTraceItem *item)
{
	return item->text;
}

/**
 * rs_trace_item_to_json:
 * @item: an item
 *
 * Returns: the line that `ringside report --json` prints, without its newline
 */
const char *rs_trace_item_to_json(const RsTraceItem *item)
{
	return item->json;
}
