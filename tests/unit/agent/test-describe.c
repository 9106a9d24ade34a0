/* SPDX-License-Identifier: MIT */
/*
 * Names in what the agent describes: the longest ones reach a trace line, and what the host would
 * leave out is refused with an error of its own.
 */
#include "core.h"
#include "region/regions.h"

#include <glib.h>
#include <rs-trace-glob.h>
#include <rs-trace-text.h>
#include <string.h>

static RsTraceRegion *region;

/* An event with a number and an enum, all of whose names can be changed. */
struct made {
	struct rs_symbol_info symbol;
	struct rs_field_info field;
	struct rs_event_info what;
	struct rs_event event;
	struct rs_agent_provider provider;
};

static void make(struct made *m)
{
	memset(m, 0, sizeof(*m));
	m->symbol = (struct rs_symbol_info){.value = 1, .name = "one"};
	m->field = (struct rs_field_info){.name = "field",
					  .type = "u32",
					  .size = 4,
					  .kind = RS_KIND_ENUM,
					  .symbols = &m->symbol,
					  .symbol_count = 1};
	m->what = (struct rs_event_info){.system = "system",
					 .name = "event",
					 .print = "%s",
					 .print_args = "field",
					 .fields = &m->field,
					 .field_count = 1,
					 .entry_size = 4};
	m->event.info = &m->what;
	m->provider = (struct rs_agent_provider){
		.name = "provider", .events = &m->event, .events_end = &m->event + 1};
}

static void set_up(void)
{
	struct rs_region_config config = {.vcpus = 1, .ring_bytes = 64 * 1024};
	struct rs_agent_config agent = {.cpu_count = 1};

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	agent.region = region->map;
	agent.region_size = region->size;
	g_assert_cmpint(rs_agent_init(&agent), ==, 0);
}

static void tear_down(void)
{
	rs_agent_fini();
	rs_trace_region_free(region);
}

/* The name at `at`, which is part of `m`: what registering it gives. */
static void check(struct made *m, const char **at, const char *name, int expected)
{
	g_autofree char *shown = g_strescape(name ? name : "(none)", NULL);
	const char *good = *at;
	int err;

	g_test_message("%s", shown);
	*at = name;
	err = rs_agent_register(&m->provider);
	g_assert_cmpint(err, ==, expected);
	if (!err)
		g_assert_cmpint(rs_agent_unregister(&m->provider), ==, 0);
	*at = good;
}

static void test_refused(void)
{
	g_autofree char *long_name = g_strnfill(RS_NAME_MAX, 'n');
	g_autofree char *long_symbol = g_strnfill(RS_SYMBOL_LEN, 's');
	struct made m;

	set_up();
	make(&m);
	check(&m, &m.provider.name, "provider", 0);
	check(&m, &m.provider.name, NULL, -RS_EILSEQ);
	check(&m, &m.provider.name, "", -RS_EILSEQ);
	check(&m, &m.provider.name, "a b", -RS_EILSEQ);
	check(&m, &m.provider.name, long_name, -RS_ENAMETOOLONG);
	check(&m, &m.what.system, "a:b", -RS_EILSEQ);
	check(&m, &m.what.system, "-x", -RS_EILSEQ);
	check(&m, &m.what.system, "9p", 0);
	check(&m, &m.what.system, long_name, -RS_ENAMETOOLONG);
	check(&m, &m.what.name, "a/b", -RS_EILSEQ);
	check(&m, &m.what.name, long_name, -RS_ENAMETOOLONG);
	check(&m, &m.field.name, "a-b", -RS_EILSEQ);
	check(&m, &m.field.name, "9p", -RS_EILSEQ);
	check(&m, &m.field.type, "int;", -RS_EILSEQ);
	check(&m, &m.field.type, "", -RS_EILSEQ);
	check(&m, &m.field.type, long_symbol, -RS_ENAMETOOLONG);
	check(&m, &m.symbol.name, "a\nb", -RS_EILSEQ);
	check(&m, &m.symbol.name, "\xff", -RS_EILSEQ);
	check(&m, &m.symbol.name, long_symbol, -RS_ENAMETOOLONG);
	check(&m, &m.symbol.name, "na\xc3\xafve", 0);
	/* Other mistakes have other errors. */
	m.what.level = 6;
	check(&m, &m.what.name, "event", -RS_EINVAL);
	g_assert_cmpstr(rs_agent_strerror(-RS_EILSEQ), !=, rs_agent_strerror(-RS_EINVAL));
	tear_down();
}

/* The guest itself makes text of its events, so it needs the format as the host does. */
static void test_an_event_without_a_print_format_is_refused(void)
{
	struct made m;

	set_up();
	make(&m);
	check(&m, &m.what.print, NULL, -RS_EBADMSG);
	check(&m, &m.what.print_args, NULL, -RS_EBADMSG);
	g_assert_cmpuint(m.event.id, ==, 0);
	m.what.print_args = "";
	check(&m, &m.what.print, "", 0);
	tear_down();
}

/* Long types that the agent makes longer are the host's to read as well. */
static void test_types(void)
{
	static const uint8_t kinds[] = {RS_KIND_DYN_ARRAY, RS_KIND_ARRAY};
	struct made m;

	set_up();
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		for (gsize length = 40; length < 70; length++) {
			g_autofree char *type = g_strnfill(length, 't');
			g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
			g_autofree guint8 *copy = NULL;
			struct rs_provider entry;
			gsize size;
			guint bad;
			int err;

			make(&m);
			m.what.print = m.what.print_args = "";
			m.field = (struct rs_field_info){.name = "field",
							 .type = type,
							 .size = 4,
							 .kind = kinds[i],
							 .elem_size = 1,
							 .elem_count = i ? 4 : 0};
			err = rs_agent_register(&m.provider);
			/* "__data_loc " and "[]" go with it, and the NUL. */
			g_assert_cmpint(err, ==,
					length + 13 < RS_SYMBOL_LEN ? 0 : -RS_ENAMETOOLONG);
			if (err)
				continue;
			g_assert_true(rs_trace_region_provider(region, m.provider.id - 1, &entry));
			copy = rs_trace_region_descriptors(region, m.provider.id - 1, &entry,
							   &size);
			rs_trace_schema_take(schema, m.provider.id - 1, &entry, copy, size, &bad,
					     NULL);
			g_assert_cmpuint(bad, ==, 0);
			g_assert_cmpint(rs_agent_unregister(&m.provider), ==, 0);
		}
	}
	tear_down();
}

static void test_longest(void)
{
	g_autofree char *provider = g_strnfill(RS_NAME_MAX - 1, 'p');
	g_autofree char *system = g_strnfill(RS_NAME_MAX - 1, 's');
	g_autofree char *name = g_strnfill(RS_NAME_MAX - 1, 'e');
	g_autofree char *field = g_strnfill(RS_NAME_MAX - 1, 'f');
	g_autofree char *expected = g_strdup_printf("%s:%s: one\n", system, name);
	g_autofree char *glob = g_strdup_printf("%s:*e", system);
	g_autoptr(RsTraceGlob) match = rs_trace_glob_new(glob);
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(GString) line = g_string_new(NULL);
	g_autofree guint8 *copy = NULL;
	g_autofree char *format = NULL;
	RsTraceTask task = {.comm = "task"};
	const RsTraceEvent *event;
	struct rs_provider entry;
	guint32 value = 1;
	struct made m;
	gsize size;
	guint bad;

	set_up();
	make(&m);
	m.provider.name = provider;
	m.what.system = system;
	m.what.name = name;
	m.field.name = m.what.print_args = field;
	g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
	g_assert_true(rs_trace_region_provider(region, 0, &entry));
	g_assert_cmpstr(entry.name, ==, provider);
	copy = rs_trace_region_descriptors(region, 0, &entry, &size);
	rs_trace_schema_take(schema, 0, &entry, copy, size, &bad, NULL);
	g_assert_cmpuint(bad, ==, 0);
	event = rs_trace_schema_by_name(schema, system, name);
	g_assert_nonnull(event);
	g_assert_cmpstr(event->provider->name, ==, provider);
	g_assert_true(rs_trace_glob_matches_event(match, event));
	g_assert_nonnull(rs_trace_event_field(event, field));
	format = rs_trace_event_format(event);
	g_assert_nonnull(strstr(format, field));
	rs_trace_text_line(line,
			   &(RsTraceRecord){.kind = RS_TRACE_RECORD_EVENT,
					    .id = event->id,
					    .event = event,
					    .payload = (const guint8 *)&value,
					    .size = sizeof(value)},
			   &task, 0);
	g_assert_true(g_str_has_suffix(line->str, expected) ||
		      g_str_has_suffix(line->str, g_strchomp(expected)));
	/* It comes back by its whole name. */
	g_assert_cmpint(rs_agent_unregister(&m.provider), ==, 0);
	g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
	g_assert_cmpuint(m.provider.id, ==, 1);
	g_assert_cmpint(rs_agent_unregister(&m.provider), ==, 0);
	provider[RS_NAME_MAX - 2] = 'q';
	g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
	g_assert_cmpuint(m.provider.id, ==, 2);
	tear_down();
}

/* How much an event may have of each thing; one more is too much. */
static void test_limits(void)
{
	g_autofree struct rs_symbol_info *symbols =
		g_new0(struct rs_symbol_info, RS_MAX_SYMBOLS + 1);
	struct rs_field_info fields[RS_MAX_FIELDS + 1];
	g_autofree char *print = g_strnfill(RS_MAX_DESC_SIZE, 'p');
	struct made m;
	int size;

	make(&m);
	size = rs_describe_size(&m.what);
	g_assert_cmpint(size, >, 0);
	m.what.level = 5;
	g_assert_cmpint(rs_describe_size(&m.what), ==, size);
	m.what.level = 6;
	g_assert_cmpint(rs_describe_size(&m.what), ==, -RS_EINVAL);
	make(&m);
	m.field.kind = RS_KIND_DYN_STRING + 1;
	g_assert_cmpint(rs_describe_size(&m.what), ==, -RS_EINVAL);
	m.field.kind = 0;
	g_assert_cmpint(rs_describe_size(&m.what), ==, -RS_EINVAL);
	make(&m);
	m.what.entry_size = RS_MAX_ENTRY_SIZE;
	g_assert_cmpint(rs_describe_size(&m.what), ==, size);
	m.what.entry_size++;
	g_assert_cmpint(rs_describe_size(&m.what), ==, -RS_EOVERFLOW);
	make(&m);
	for (guint i = 0; i < G_N_ELEMENTS(fields); i++)
		fields[i] = m.field;
	m.what.fields = fields;
	m.what.field_count = RS_MAX_FIELDS;
	g_assert_cmpint(rs_describe_size(&m.what), >, size);
	/* Each field and each symbol of it is looked at. */
	fields[RS_MAX_FIELDS - 1].name = "9";
	g_assert_cmpint(rs_describe_size(&m.what), ==, -RS_EILSEQ);
	m.what.field_count++;
	g_assert_cmpint(rs_describe_size(&m.what), ==, -RS_EOVERFLOW);
	make(&m);
	for (guint i = 0; i <= RS_MAX_SYMBOLS; i++)
		symbols[i] = m.symbol;
	m.field.symbols = symbols;
	m.field.symbol_count = RS_MAX_SYMBOLS;
	g_assert_cmpint(rs_describe_size(&m.what), >, size);
	symbols[RS_MAX_SYMBOLS - 1].name = "";
	g_assert_cmpint(rs_describe_size(&m.what), ==, -RS_EILSEQ);
	m.field.symbol_count++;
	g_assert_cmpint(rs_describe_size(&m.what), ==, -RS_EOVERFLOW);
	make(&m);
	m.what.print = print;
	print[RS_MAX_DESC_SIZE - size] = 0;
	size = rs_describe_size(&m.what);
	g_assert_cmpint(size, >=, RS_MAX_DESC_SIZE - 8);
	while (size < (int)RS_MAX_DESC_SIZE) {
		print[strlen(print)] = 'p';
		size = rs_describe_size(&m.what);
	}
	g_assert_cmpint(size, ==, RS_MAX_DESC_SIZE);
	for (guint i = 0; i < 8; i++) {
		g_assert_cmpint(rs_describe_size(&m.what), ==, RS_MAX_DESC_SIZE);
		print[strlen(print)] = 'p';
		if (rs_describe_size(&m.what) < 0)
			break;
	}
	g_assert_cmpint(rs_describe_size(&m.what), ==, -RS_EOVERFLOW);
}

static const char *text_at(const uint8_t *desc, uint32_t offset)
{
	return (const char *)desc + offset;
}

static void check_field(const uint8_t *desc, uint32_t index, uint32_t symbols, const char *name,
			const char *type, const struct rs_field_info *from)
{
	const struct rs_event_desc *head = (const void *)desc;
	const struct rs_field_desc *field =
		(const void *)(desc + sizeof(*head) + index * sizeof(*field));

	g_assert_cmpstr(text_at(desc, field->name), ==, name);
	g_assert_cmpstr(text_at(desc, field->type), ==, type);
	g_assert_cmpuint(field->offset, ==, from->offset);
	g_assert_cmpuint(field->size, ==, from->size);
	g_assert_cmpuint(field->kind, ==, from->kind);
	g_assert_cmpuint(field->elem_size, ==, from->elem_size);
	g_assert_cmpuint(field->elem_count, ==, from->elem_count);
	g_assert_cmpuint(field->symbol_count, ==, from->symbol_count);
	g_assert_cmpuint(field->symbols, ==, from->symbol_count ? symbols : 0);
	g_assert_cmpuint(field->flags, ==,
			 from->flags | (from->kind >= RS_KIND_DYN_ARRAY ? RS_FIELD_DYNAMIC : 0));
	for (guint i = 0; i < from->symbol_count; i++) {
		const struct rs_symbol *symbol =
			(const void *)(desc + symbols + i * sizeof(*symbol));

		g_assert_cmpuint(symbol->value, ==, from->symbols[i].value);
		g_assert_cmpstr(text_at(desc, symbol->name), ==, from->symbols[i].name);
		g_assert_cmpuint(symbol->reserved, ==, 0);
	}
}

/* Each byte of a descriptor: all that the event is, one part behind the other, and no more. */
static void test_bytes(void)
{
	static const struct rs_symbol_info one[] = {{.value = 1, .name = "one"},
						    {.value = 1ull << 63, .name = "top"}};
	static const struct rs_symbol_info two[] = {{.value = 7, .name = "seven"}};
	static const struct rs_field_info fields[] = {
		{.name = "a",
		 .type = "u8",
		 .offset = 3,
		 .size = 1,
		 .kind = RS_KIND_ENUM,
		 .symbols = one,
		 .symbol_count = 2},
		{.name = "b",
		 .type = "u16",
		 .offset = 4,
		 .size = 20,
		 .kind = RS_KIND_ARRAY,
		 .elem_size = 2,
		 .elem_count = 10,
		 .flags = RS_FIELD_HEX},
		{.name = "c",
		 .type = "char",
		 .offset = 24,
		 .size = 9,
		 .kind = RS_KIND_STRING,
		 .elem_size = 1,
		 .elem_count = 65535},
		{.name = "d",
		 .type = "u32",
		 .offset = 36,
		 .size = 4,
		 .kind = RS_KIND_FLAGS,
		 .symbols = two,
		 .symbol_count = 1},
		{.name = "e",
		 .type = "s64",
		 .offset = 40,
		 .size = 4,
		 .kind = RS_KIND_DYN_ARRAY,
		 .elem_size = 8,
		 .flags = RS_FIELD_SIGNED},
		{.name = "f", .type = "char", .offset = 44, .size = 4, .kind = RS_KIND_DYN_STRING},
	};
	static const char *const types[] = {"u8",  "u16[10]",          "char[65535]",
					    "u32", "__data_loc s64[]", "__data_loc char[]"};
	static const struct rs_event_info what = {
		.system = "sys",
		.name = "ev",
		.print = "%d",
		.print_args = " a,\t__entry->b ,\n__entry-c, __entry->",
		.fields = fields,
		.field_count = G_N_ELEMENTS(fields),
		.entry_size = 48,
		.keyword = 1ull << 63 | 5,
		.level = 3,
	};
	int size = rs_describe_size(&what);
	guint symbols = sizeof(struct rs_event_desc) + 6 * sizeof(struct rs_field_desc);
	g_autofree uint8_t *out = g_malloc((gsize)size + 8);
	const struct rs_event_desc *head = (const void *)out;
	gsize strings;

	g_assert_cmpint(size % 8, ==, 0);
	memset(out, 0xee, (gsize)size + 8);
	rs_describe(&what, 700, 9, out);
	for (guint i = 0; i < 8; i++)
		g_assert_cmpint(out[size + (int)i], ==, 0xee);
	g_assert_cmpuint(head->size, ==, size);
	g_assert_cmpuint(head->id, ==, 700);
	g_assert_cmpuint(head->provider, ==, 9);
	g_assert_cmpuint(head->field_count, ==, 6);
	g_assert_cmpuint(head->entry_size, ==, 48);
	g_assert_cmpuint(head->level, ==, 3);
	g_assert_cmpuint(head->keyword, ==, what.keyword);
	g_assert_cmpuint(head->header_size, ==, sizeof(*head));
	g_assert_cmpuint(head->field_stride, ==, sizeof(struct rs_field_desc));
	g_assert_cmpuint(head->symbol_stride, ==, sizeof(struct rs_symbol));
	g_assert_cmpuint(head->system, ==, symbols + 3 * sizeof(struct rs_symbol));
	g_assert_cmpstr(text_at(out, head->system), ==, "sys");
	g_assert_cmpstr(text_at(out, head->name), ==, "ev");
	g_assert_cmpstr(text_at(out, head->print), ==, "%d");
	g_assert_cmpstr(text_at(out, head->print_args), ==, "a,b,__entry-c,");
	strings = sizeof("sys") + sizeof("ev") + sizeof("%d") + sizeof("a,b,__entry-c,") +
		  sizeof("one") + sizeof("top") + sizeof("seven");
	for (guint i = 0; i < 6; i++) {
		char name[] = {(char)('a' + i), 0};
		guint before = i > 3 ? 3 : i > 0 ? 2 : 0;

		strings += sizeof(name) + strlen(types[i]) + 1;
		check_field(out, i, symbols + before * (guint)sizeof(struct rs_symbol), name,
			    types[i], &fields[i]);
	}
	g_assert_cmpuint(size, ==, RS_ALIGN_UP(head->system + strings, 8u));
	for (gsize at = head->system + strings; at < (gsize)size; at++)
		g_assert_cmpint(out[at], ==, 0);
	/* It is there already, unless one byte differs. */
	g_assert_true(rs_described(&what, 700, 9, out));
	g_assert_false(rs_described(&what, 701, 9, out));
	g_assert_false(rs_described(&what, 700, 8, out));
	for (int i = 0; i < size; i++) {
		out[i] ^= 0x10;
		g_assert_false(rs_described(&what, 700, 9, out));
		out[i] ^= 0x10;
	}
	g_assert_true(rs_described(&what, 700, 9, out));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/describe/refused", test_refused);
	g_test_add_func("/agent/describe/no-print",
			test_an_event_without_a_print_format_is_refused);
	g_test_add_func("/agent/describe/types", test_types);
	g_test_add_func("/agent/describe/longest", test_longest);
	g_test_add_func("/agent/describe/limits", test_limits);
	g_test_add_func("/agent/describe/bytes", test_bytes);
	return g_test_run();
}
