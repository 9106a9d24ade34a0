/* SPDX-License-Identifier: MIT */
#include "schema.h"

#include "../decode/build.h"
#include "core.h"

#include <string.h>

#define ID RS_FIRST_EVENT_ID

static const char *const field_names[SCHEMA_FIELDS] = {"a", "b",     "ab",   "entry",
						       "x", "REC_1", "text", "f_8"};
/* Plain and wide characters, and what must not reach a terminal. */
static const char *const snippets[] = {
	"a",
	"B7",
	"%%",
	" ",
	"\n",
	"\t",
	"\x1b[2J",
	"\\",
	"\"",
	"\x7f",
	"\xc3\xa9",
	"\xe2\x82\xac",
	"\xf0\x9f\x98\x80",
	"\xc2\x85",
	"\xc2\xad",
	"\xe2\x80\xae",
	"\xe2\x80\x8b",
	"\xe2\x80\xa8",
	"\xef\xbb\xbf",
	"\xee\x80\x80",
};
/* These are not UTF-8. */
static const char *const broken[] = {"\xff",         "\xc3",
				     "\xe2\x82",     "\xc0\x80",
				     "\xed\xa0\x80", "\xf4\x90\x80\x80",
				     "\x80",         "\xf8\x88\x80\x80\x80"};

static const char *const symbol_names[SCHEMA_SYMBOLS] = {"one", "TWO|x", "\xc3\xa9t\xc3\xa9",
							 "0x5"};

static void make_symbols(struct schema *schema, guint index, schema_draw draw, gpointer data)
{
	struct rs_field_info *field = &schema->fields[index];

	field->symbols = schema->symbols[index];
	field->symbol_count = (uint16_t)draw(data, SCHEMA_SYMBOLS + 1);
	for (guint i = 0; i < field->symbol_count; i++) {
		schema->symbols[index][i].value = draw(data, 6);
		if (!draw(data, 4))
			schema->symbols[index][i].value <<= draw(data, 62);
		schema->symbols[index][i].name = symbol_names[i];
	}
}

static void make_field(struct schema *schema, guint index, schema_draw draw, gpointer data)
{
	static const char *const types[] = {"u8", "s16", "uint32_t", "unsigned long", "void *"};
	struct rs_field_info *field = &schema->fields[index];
	guint at = schema->info.entry_size;

	*field = (struct rs_field_info){.name = field_names[index],
					.type = types[draw(data, G_N_ELEMENTS(types))],
					.kind = (uint8_t)(1 + draw(data, RS_KIND_DYN_STRING)),
					.size = (uint16_t)(1u << draw(data, 4))};
	switch (field->kind) {
	case RS_KIND_ENUM:
	case RS_KIND_FLAGS:
		make_symbols(schema, index, draw, data);
		break;
	case RS_KIND_POINTER:
		field->size = 8;
		break;
	case RS_KIND_ARRAY:
	case RS_KIND_STRING:
		field->elem_size = field->kind == RS_KIND_STRING ? 1 : field->size;
		field->elem_count = (uint16_t)(1 + draw(data, 9));
		field->size = field->elem_size * field->elem_count;
		break;
	case RS_KIND_DYN_ARRAY:
	case RS_KIND_DYN_STRING:
		field->elem_size = field->kind == RS_KIND_DYN_STRING ? 1 : field->size;
		field->size = 4;
		break;
	}
	if (field->kind == RS_KIND_ARRAY || field->kind == RS_KIND_DYN_ARRAY)
		field->flags = (uint8_t)draw(data, 4); /* RS_FIELD_SIGNED, RS_FIELD_HEX */
	/* Now and then unaligned, which macros do not make, but the ABI allows. */
	if (draw(data, 8))
		at = RS_ALIGN_UP(at, 4);
	field->offset = (uint16_t)at;
	schema->info.entry_size = at + field->size;
}

static void append_snippet(GString *out, schema_draw draw, gpointer data)
{
	if (draw(data, 40))
		g_string_append(out, snippets[draw(data, G_N_ELEMENTS(snippets))]);
	else
		g_string_append(out, broken[draw(data, G_N_ELEMENTS(broken))]);
}

static void append_arg(GString *args, const char *name, schema_draw draw, gpointer data)
{
	static const char *const shapes[] = {"%s",
					     "%s",
					     "%s",
					     " %s ",
					     "__entry->%s",
					     "REC->%s",
					     "__get_str(%s)",
					     "__get_str( __entry->%s ) ",
					     "__entry -> %s",
					     "nothing"};
	guint shape = draw(data, 8);

	/* Shapes that the host refuses are rarer. */
	if (!draw(data, 30))
		shape = 8 + draw(data, 2);
	if (args->len || !draw(data, 100))
		g_string_append_c(args, ',');
	g_string_append_printf(args, shapes[shape], name);
}

static void append_conversion(struct schema *schema, schema_draw draw, gpointer data)
{
	const struct rs_field_info *field = &schema->fields[draw(data, schema->info.field_count)];
	static const char *const lengths[] = {"", "", "", "l", "ll", "h", "hh", "hhh", "lh", "z"};
	const char *suited = field->kind >= RS_KIND_ENUM ? "s" : "diuxXocp";
	GString *print = schema->print;

	g_string_append_c(print, '%');
	for (guint n = draw(data, 3); n; n--)
		g_string_append_c(print, "-+ #0"[draw(data, 5)]);
	if (!draw(data, 3))
		g_string_append_printf(print, "%u", draw(data, draw(data, 20) ? 30 : 300));
	if (!draw(data, 3))
		g_string_append_printf(print, ".%u", draw(data, draw(data, 20) ? 12 : 300));
	g_string_append(print, lengths[draw(data, G_N_ELEMENTS(lengths))]);
	if (draw(data, 60))
		g_string_append_c(print, suited[draw(data, (guint)strlen(suited))]);
	else
		g_string_append_c(print, "sdcfn*%1"[draw(data, 8)]);
	if (draw(data, 100))
		append_arg(schema->args, field->name, draw, data);
}

static void make_print(struct schema *schema, schema_draw draw, gpointer data)
{
	for (guint n = draw(data, 6); n; n--) {
		for (guint k = draw(data, 4); k; k--)
			append_snippet(schema->print, draw, data);
		if (schema->info.field_count)
			append_conversion(schema, draw, data);
	}
	for (guint k = draw(data, 3); k; k--)
		append_snippet(schema->print, draw, data);
}

void schema_describe(struct schema *schema)
{
	int size = rs_describe_size(&schema->info);
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	struct rs_provider entry;
	guint bad = 0;

	g_assert_cmpint(size, >, 0);
	g_byte_array_set_size(bytes, (guint)size);
	rs_describe(&schema->info, ID, 0, bytes->data);
	test_provider(&entry, 0, bytes);
	schema->host = rs_trace_schema_new();
	rs_trace_schema_take(schema->host, 0, &entry, bytes->data, bytes->len, &bad, NULL);
	schema->refused = bad != 0;
}

void schema_make(struct schema *schema, schema_draw draw, gpointer data)
{
	memset(schema, 0, sizeof(*schema));
	schema->print = g_string_new(NULL);
	schema->args = g_string_new(NULL);
	schema->info = (struct rs_event_info){
		.system = "random", .name = "event", .fields = schema->fields};
	for (guint n = draw(data, SCHEMA_FIELDS + 1), i = 0; i < n; i++) {
		make_field(schema, i, draw, data);
		schema->info.field_count = i + 1;
	}
	if (schema->info.field_count > 1 && !draw(data, 100))
		schema->fields[1].name = schema->fields[0].name;
	make_print(schema, draw, data);
	schema->info.print = schema->print->str;
	schema->info.print_args = schema->args->str;
	schema_describe(schema);
}

void schema_clear(struct schema *schema)
{
	rs_trace_schema_free(schema->host);
	g_string_free(schema->print, TRUE);
	g_string_free(schema->args, TRUE);
}

const RsTraceEvent *schema_event(struct schema *schema)
{
	return schema->refused ? NULL : rs_trace_schema_by_id(schema->host, ID);
}

static void fill(GByteArray *out, guint at, guint size, schema_draw draw, gpointer data)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (!size)
		return;
	while (text->len < size && draw(data, 6))
		append_snippet(text, draw, data);
	memcpy(out->data + at, text->str, MIN(size, text->len));
	for (guint i = 0; i < size && draw(data, 3); i++)
		out->data[at + i] = (guint8)(draw(data, 2) ? draw(data, 256) : 255);
}

GByteArray *schema_payload(const struct schema *schema, schema_draw draw, gpointer data)
{
	guint dynamic = draw(data, 100), entry = schema->info.entry_size;
	GByteArray *out = g_byte_array_new();

	g_byte_array_set_size(out, entry + dynamic);
	if (out->len)
		memset(out->data, 0, out->len);
	fill(out, entry, dynamic, draw, data);
	for (guint i = 0; i < schema->info.field_count; i++) {
		const struct rs_field_info *field = &schema->fields[i];
		guint at = draw(data, dynamic + 1);
		guint32 locator = rs_locator(entry + at, draw(data, dynamic - at + 1));

		locator |= draw(data, 4) ? 0 : RS_LOCATOR_CUT;
		fill(out, field->offset, field->size, draw, data);
		/* Else it points anywhere. */
		if (field->kind >= RS_KIND_DYN_ARRAY && draw(data, 10))
			memcpy(out->data + field->offset, &locator, sizeof(locator));
	}
	if (out->len && !draw(data, 5))
		g_byte_array_set_size(out, draw(data, out->len));
	return out;
}
