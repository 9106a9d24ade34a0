/* SPDX-License-Identifier: MIT */
#include "build.h"

#include <string.h>

struct _TestDesc {
	struct rs_event_desc head;
	GArray *fields;  /* struct rs_field_desc; `symbols` is an index into symbols + 1 */
	GArray *symbols; /* struct rs_symbol; `name` is an offset in strings */
	GByteArray *strings;
	guint more; /* bytes that are added to each header, field and symbol */
};

static guint32 add_string(TestDesc *desc, const char *text)
{
	guint32 at = desc->strings->len;

	g_byte_array_append(desc->strings, (const guint8 *)text, (guint)strlen(text) + 1);
	return at;
}

TestDesc *test_desc_new(guint id, const char *system, const char *name)
{
	TestDesc *desc = g_new0(TestDesc, 1);

	desc->fields = g_array_new(FALSE, TRUE, sizeof(struct rs_field_desc));
	desc->symbols = g_array_new(FALSE, TRUE, sizeof(struct rs_symbol));
	desc->strings = g_byte_array_new();
	desc->head.id = (uint16_t)id;
	desc->head.system = add_string(desc, system);
	desc->head.name = add_string(desc, name);
	return desc;
}

static void add_field(TestDesc *desc, const char *name, const char *type, guint kind, guint size,
		      guint elem_size, guint count, guint flags)
{
	guint align = elem_size ? elem_size : size;
	struct rs_field_desc field = {
		.kind = (uint8_t)kind,
		.flags = (uint8_t)flags,
		.size = (uint16_t)size,
		.elem_size = (uint16_t)elem_size,
		.elem_count = (uint16_t)count,
	};

	if (kind >= RS_KIND_DYN_ARRAY)
		align = 4;
	field.name = add_string(desc, name);
	field.type = add_string(desc, type);
	field.offset = (uint16_t)RS_ALIGN_UP(desc->head.entry_size, align);
	desc->head.entry_size = (uint16_t)(field.offset + size);
	g_array_append_val(desc->fields, field);
}

void test_desc_int(TestDesc *desc, const char *name, guint kind, guint size)
{
	g_autofree char *type = g_strdup_printf("%c%u", kind == RS_KIND_SINT ? 's' : 'u', size * 8);

	add_field(desc, name, type, kind, size, 0, 0, 0);
}

void test_desc_symbol(TestDesc *desc, guint64 value, const char *name)
{
	struct rs_field_desc *field =
		&g_array_index(desc->fields, struct rs_field_desc, desc->fields->len - 1);
	struct rs_symbol symbol = {.value = value, .name = add_string(desc, name)};

	if (!field->symbol_count++)
		field->symbols = desc->symbols->len + 1;
	g_array_append_val(desc->symbols, symbol);
}

void test_desc_array(TestDesc *desc, const char *name, guint kind, guint elem_size, guint count,
		     guint flags)
{
	g_autofree char *type =
		kind == RS_KIND_STRING || kind == RS_KIND_DYN_STRING
			? g_strdup("char")
			: g_strdup_printf("%c%u", flags & RS_FIELD_SIGNED ? 's' : 'u',
					  elem_size * 8);
	guint size = kind >= RS_KIND_DYN_ARRAY ? 4 : elem_size * count;

	add_field(desc, name, type, kind, size, elem_size, count, flags);
}

void test_desc_kind(TestDesc *desc, guint kind, guint flags)
{
	struct rs_field_desc *field =
		&g_array_index(desc->fields, struct rs_field_desc, desc->fields->len - 1);

	field->kind = (uint8_t)kind;
	field->flags = (uint8_t)flags;
}

void test_desc_grow(TestDesc *desc, guint more)
{
	desc->more = more;
}

/* For each of n elements, `size` bytes and then `more` bytes. */
static void append_grown(GByteArray *out, gconstpointer from, guint n, gsize size, guint more)
{
	const guint8 *at = from;

	for (guint i = 0; i < n; i++) {
		g_byte_array_append(out, at + i * size, (guint)size);
		for (guint k = 0; k < more; k++)
			g_byte_array_append(out, (const guint8 *)"\xa5", 1);
	}
}

void test_desc_end(TestDesc *desc, const char *print, const char *args, GByteArray *out)
{
	guint32 header = (guint32)sizeof(desc->head) + desc->more;
	guint32 field_stride = (guint32)sizeof(struct rs_field_desc) + desc->more;
	guint32 symbol_stride = (guint32)sizeof(struct rs_symbol) + desc->more;
	guint32 symbols = header + desc->fields->len * field_stride;
	guint32 strings = symbols + desc->symbols->len * symbol_stride;
	static const guint8 zero[8];

	if (print) {
		desc->head.print = add_string(desc, print) + strings;
		desc->head.print_args = add_string(desc, args ? args : "") + strings;
	}
	desc->head.system += strings;
	desc->head.name += strings;
	for (guint i = 0; i < desc->fields->len; i++) {
		struct rs_field_desc *field = &g_array_index(desc->fields, struct rs_field_desc, i);

		field->name += strings;
		field->type += strings;
		if (field->symbols)
			field->symbols = symbols + (field->symbols - 1) * symbol_stride;
	}
	for (guint i = 0; i < desc->symbols->len; i++)
		g_array_index(desc->symbols, struct rs_symbol, i).name += strings;
	desc->head.field_count = (uint16_t)desc->fields->len;
	desc->head.size = RS_ALIGN_UP(strings + desc->strings->len, 8u);
	desc->head.header_size = (uint16_t)header;
	desc->head.field_stride = (uint16_t)field_stride;
	desc->head.symbol_stride = (uint16_t)symbol_stride;
	append_grown(out, &desc->head, 1, sizeof(desc->head), desc->more);
	append_grown(out, desc->fields->data, desc->fields->len, sizeof(struct rs_field_desc),
		     desc->more);
	append_grown(out, desc->symbols->data, desc->symbols->len, sizeof(struct rs_symbol),
		     desc->more);
	g_byte_array_append(out, desc->strings->data, desc->strings->len);
	g_byte_array_append(out, zero, desc->head.size - strings - desc->strings->len);
	g_array_unref(desc->fields);
	g_array_unref(desc->symbols);
	g_byte_array_unref(desc->strings);
	g_free(desc);
}

void test_provider(struct rs_provider *entry, guint slot, GByteArray *descs)
{
	guint first = RS_MAX_EVENTS, last = 0;
	struct rs_event_desc head;

	for (guint at = 0; at < descs->len; at += head.size) {
		memcpy(&head, descs->data + at, sizeof(head));
		head.provider = slot;
		memcpy(descs->data + at, &head, sizeof(head));
		first = MIN(first, head.id);
		last = MAX(last, head.id);
	}
	*entry = (struct rs_provider){
		.sequence = 2,
		.state = RS_PROVIDER_LIVE,
		.first_boot = 1,
		.last_boot = 1,
		.event_count = last - first + 1,
		.first_id = first,
		.desc_offset = (guint64)slot << 20,
		.desc_size = descs->len,
		.generation = 1,
		.name = "test",
	};
}

void test_take(RsTraceSchema *schema, guint slot, GByteArray *descs)
{
	g_autoptr(GError) error = NULL;
	struct rs_provider entry;
	guint bad;

	test_provider(&entry, slot, descs);
	rs_trace_schema_take(schema, slot, &entry, descs->data, descs->len, &bad, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(bad, ==, 0);
}

struct _TestPage {
	GByteArray *bytes;
};

TestPage *test_page_new(guint ring, guint64 seq, guint64 ts, guint pid, guint context)
{
	TestPage *page = g_new0(TestPage, 1);
	struct rs_ring_page head = {
		.seq = seq,
		.ts = ts,
		.pid = pid,
		.context = (uint16_t)context,
		.ring = (uint16_t)ring,
		.boot = 1,
		.header_size = RS_RING_PAGE_HEADER,
	};

	page->bytes = g_byte_array_new();
	g_byte_array_append(page->bytes, (const guint8 *)&head, sizeof(head));
	return page;
}

struct rs_ring_page *test_page_header(TestPage *page)
{
	return (struct rs_ring_page *)page->bytes->data;
}

guint test_page_size(const TestPage *page)
{
	return page->bytes->len;
}

void test_page_raw(TestPage *page, gconstpointer bytes, gsize size)
{
	static const guint8 zero[8];

	g_byte_array_append(page->bytes, bytes, (guint)size);
	g_byte_array_append(page->bytes, zero, (guint)(-size & 7));
}

void test_page_record(TestPage *page, guint id, guint32 ts, gconstpointer payload, gsize size)
{
	g_autoptr(GByteArray) record = g_byte_array_new();
	struct rs_rec_header head = {
		.id = (uint16_t)id, .size = (uint16_t)(size + sizeof(head)), .ts = ts};

	g_byte_array_append(record, (const guint8 *)&head, sizeof(head));
	if (size)
		g_byte_array_append(record, payload, (guint)size);
	test_page_raw(page, record->data, record->len);
}

void test_page_context(TestPage *page, guint pid, guint context)
{
	struct rs_rec_context mark = {
		.id = RS_REC_CONTEXT, .context = (uint16_t)context, .pid = pid};

	test_page_raw(page, &mark, sizeof(mark));
}

void test_page_time(TestPage *page, guint epoch, guint64 ts)
{
	struct rs_rec_time mark = {
		.id = RS_REC_TIME, .size = sizeof(mark), .chain = epoch, .ts = ts};

	test_page_raw(page, &mark, sizeof(mark));
}

void test_page_mark(TestPage *page, guint id, guint size)
{
	guint16 head[2] = {(guint16)id, (guint16)size};
	g_autofree guint8 *bytes = g_malloc(size);

	memset(bytes, 0x5a, size);
	memcpy(bytes, head, sizeof(head));
	test_page_raw(page, bytes, size);
}

GByteArray *test_page_end(TestPage *page)
{
	GByteArray *bytes = page->bytes;

	test_page_header(page)->committed = bytes->len;
	g_free(page);
	return bytes;
}

void test_put(GByteArray *payload, guint64 value, gsize size)
{
	static const guint8 zero[8];
	guint64 le = GUINT64_TO_LE(value);

	g_byte_array_append(payload, zero, (guint)(-(gsize)payload->len & (size - 1)));
	g_byte_array_append(payload, (const guint8 *)&le, (guint)size);
}

void test_put_text(GByteArray *payload, const char *text)
{
	g_byte_array_append(payload, (const guint8 *)text, (guint)strlen(text) + 1);
}

struct rs_cmdline_entry test_task(guint pid, guint64 since, const char *comm)
{
	struct rs_cmdline_entry entry = {.sequence = 2, .pid = pid, .since = since, .boot = 1};

	memcpy(entry.comm, comm, MIN(strlen(comm), RS_COMM_LEN));
	return entry;
}

void test_cmdline_put(guint8 *section, guint buckets, struct rs_cmdline_entry entry)
{
	struct rs_cmdline_bucket *bucket =
		(struct rs_cmdline_bucket *)section + rs_cmdline_hash(entry.pid, buckets);

	for (guint i = 0; i < RS_CMDLINE_WAYS; i++) {
		if (bucket->way[i].sequence)
			continue;
		bucket->way[i] = entry;
		return;
	}
	g_assert_not_reached();
}

void test_desc_switch(GByteArray *out)
{
	TestDesc *desc = test_desc_new(TEST_SWITCH, "sched", "switch");

	test_desc_int(desc, "prev", RS_KIND_UINT, 4);
	test_desc_int(desc, "next", RS_KIND_UINT, 4);
	test_desc_end(desc, "prev=%u next=%u", "prev, next", out);
}

void test_desc_all(GByteArray *out)
{
	TestDesc *desc = test_desc_new(TEST_ALL, "demo", "all");

	test_desc_int(desc, "u", RS_KIND_UINT, 8);
	test_desc_int(desc, "s", RS_KIND_SINT, 4);
	test_desc_int(desc, "x", RS_KIND_HEX, 2);
	test_desc_int(desc, "p", RS_KIND_POINTER, 8);
	test_desc_int(desc, "state", RS_KIND_ENUM, 4);
	test_desc_symbol(desc, 0, "R");
	test_desc_symbol(desc, 1, "S\"quoted\"");
	test_desc_int(desc, "bits", RS_KIND_FLAGS, 4);
	test_desc_symbol(desc, 1, "A");
	test_desc_symbol(desc, 4, "C");
	test_desc_array(desc, "mac", RS_KIND_ARRAY, 1, 6, RS_FIELD_HEX);
	test_desc_array(desc, "comm", RS_KIND_STRING, 1, 16, 0);
	test_desc_array(desc, "list", RS_KIND_DYN_ARRAY, 2, 0, RS_FIELD_SIGNED);
	test_desc_array(desc, "why", RS_KIND_DYN_STRING, 0, 0, 0);
	test_desc_end(desc, "100%% u=%llu s=%ld x=%hx p=%p %s|%s mac=%s <%-8s> list=%s why=%s",
		      "REC->u, __entry->s, x, p, state, bits, mac, comm, list, __get_str(why)",
		      out);
}

GByteArray *test_payload_all(void)
{
	GByteArray *payload = g_byte_array_new();
	static const guint8 mac[6] = {0x02, 0, 0, 0xab, 0xcd, 0xef};
	static const char comm[16] = "bash";

	test_put(payload, G_MAXUINT64, 8);
	test_put(payload, (guint32)-5, 4);
	test_put(payload, 0xbeef, 2);
	test_put(payload, 0xffff800012345678, 8);
	test_put(payload, 1, 4);
	test_put(payload, 5, 4);
	g_byte_array_append(payload, mac, sizeof(mac));
	g_byte_array_append(payload, (const guint8 *)comm, sizeof(comm));
	test_put(payload, rs_locator(64, 6), 4);
	test_put(payload, rs_locator(70, 6), 4);
	g_assert_cmpuint(payload->len, ==, 64);
	test_put(payload, 1, 2);
	test_put(payload, (guint16)-2, 2);
	test_put(payload, 300, 2);
	test_put_text(payload, "done!");
	return payload;
}

void test_cut_payload_all(GByteArray *payload)
{
	const guint32 locators[] = {rs_locator(64, 2) | RS_LOCATOR_CUT,
				    rs_locator(70, 3) | RS_LOCATOR_CUT};

	memcpy(payload->data + 56, locators, sizeof(locators));
}

#define LATER 77u /* not a kind of this version */

void test_desc_later(GByteArray *out)
{
	TestDesc *desc = test_desc_new(TEST_ALL + 1, "demo", "later");

	test_desc_array(desc, "why", RS_KIND_DYN_STRING, 0, 0, 0);
	test_desc_array(desc, "odd", RS_KIND_ARRAY, 1, 6, 0);
	test_desc_kind(desc, LATER, 0);
	test_desc_array(desc, "real", RS_KIND_ARRAY, 1, 8, 0);
	test_desc_kind(desc, LATER, 0);
	test_desc_array(desc, "blob", RS_KIND_DYN_ARRAY, 8, 0, 0);
	test_desc_kind(desc, LATER, RS_FIELD_DYNAMIC);
	test_desc_int(desc, "n", RS_KIND_UINT, 4);
	test_desc_end(desc, "why=%s odd=%s real=%8.3f blob=%s n=%u", "why, odd, real, blob, n",
		      out);
}

GByteArray *test_payload_later(void)
{
	static const guint8 bytes[14] = {0, 1, 254, 255, 16, 32, 8, 7, 6, 5, 4, 3, 2, 1};
	GByteArray *payload = g_byte_array_new();

	test_put(payload, rs_locator(28, 3), 4);
	g_byte_array_append(payload, bytes, sizeof(bytes));
	test_put(payload, rs_locator(31, 5), 4);
	test_put(payload, 9, 4);
	g_assert_cmpuint(payload->len, ==, 28);
	test_put_text(payload, "ha");
	g_byte_array_append(payload, bytes + 1, 5);
	return payload;
}
