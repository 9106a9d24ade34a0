/* SPDX-License-Identifier: MIT */
#include "rs-trace-schema.h"
#include "build.h"

#include <string.h>

static RsTraceSchema *parse(GByteArray *bytes, guint *bad, GError **error)
{
	RsTraceSchema *schema = rs_trace_schema_new();
	struct rs_provider entry;

	test_provider(&entry, 0, bytes);
	rs_trace_schema_take(schema, 0, &entry, bytes->data, bytes->len, bad, error);
	return schema;
}

static void test_fields(void)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceSchema) schema = NULL;
	const RsTraceEvent *event;
	guint bad = 9;

	test_desc_all(bytes);
	test_desc_switch(bytes);
	schema = parse(bytes, &bad, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(bad, ==, 0);
	g_assert_cmpuint(rs_trace_schema_n_events(schema), ==, 2);
	g_assert_cmpuint(rs_trace_schema_nth(schema, 0)->id, ==, TEST_SWITCH);
	g_assert_null(rs_trace_schema_nth(schema, 2));
	g_assert_null(rs_trace_schema_by_id(schema, TEST_ALL + 1));
	g_assert_null(rs_trace_schema_by_id(schema, RS_MAX_EVENTS));
	g_assert_null(rs_trace_schema_by_name(schema, "sched", "all"));
	event = rs_trace_schema_by_name(schema, "demo", "all");
	g_assert_true(event == rs_trace_schema_by_id(schema, TEST_ALL));
	g_assert_cmpuint(event->slot, ==, 0);
	g_assert_true(event->provider == rs_trace_schema_provider(schema, 0));
	g_assert_cmpstr(event->provider->name, ==, "test");
	g_assert_null(rs_trace_schema_provider(schema, 1));
	g_assert_cmpuint(event->n_fields, ==, 10);
	g_assert_cmpuint(rs_trace_event_field(event, "why")->dyn_index, ==, 1);
	g_assert_cmpstr(rs_trace_event_field(event, "state")->symbols[1].name, ==, "S\"quoted\"");
	g_assert_cmpstr(event->print, ==,
			"100%% u=%llu s=%d x=%hx p=%p %s|%s mac=%s <%-8s> list=%s why=%s");
	g_assert_cmpuint(event->n_print_args, ==, 10);
	g_assert_cmpuint(event->n_steps, ==, 11);
	g_assert_cmpstr(event->steps[0].literal, ==, "100% u=");
}

static gboolean accepts(const char *print, const char *args)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(RsTraceSchema) schema = NULL;
	TestDesc *desc = test_desc_new(TEST_ALL, "a", "b");

	test_desc_int(desc, "n", RS_KIND_UINT, 4);
	test_desc_array(desc, "s", RS_KIND_DYN_STRING, 0, 0, 0);
	test_desc_end(desc, print, args, bytes);
	schema = parse(bytes, NULL, NULL);
	return rs_trace_schema_n_events(schema) == 1;
}

static void test_print_formats(void)
{
	g_assert_true(accepts("%u", "n"));
	g_assert_true(accepts("%#010llx %hhd %% %5.3s|", "n, n, s"));
	g_assert_true(accepts("plain", ""));
	g_assert_true(accepts(NULL, NULL));
	g_assert_false(accepts("%n", "n"));
	g_assert_false(accepts("%*d", "n"));
	g_assert_false(accepts("%.*s", "s"));
	g_assert_false(accepts("%999999999d", "n"));
	g_assert_false(accepts("%.999999999d", "n"));
	g_assert_false(accepts("%", "n"));
	g_assert_false(accepts("%ll", "n"));
	g_assert_false(accepts("%s", "n"));
	g_assert_false(accepts("%d", "s"));
	g_assert_false(accepts("%f", "n"));
	g_assert_false(accepts("%d %d", "n"));
	g_assert_false(accepts("%d", "n, n"));
	g_assert_false(accepts("%d", "m"));
	g_assert_false(accepts("%d", "n,"));
	g_assert_false(accepts("bad \xff utf", ""));
}

/* Providers come in any order, whatever ids they have. */
static void test_ids_in_any_order(void)
{
	static const guint ids[] = {RS_FIRST_EVENT_ID + 9, RS_FIRST_EVENT_ID, RS_MAX_EVENTS - 1,
				    RS_FIRST_EVENT_ID + 4};
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();

	for (guint i = 0; i < G_N_ELEMENTS(ids); i++) {
		g_autoptr(GByteArray) bytes = g_byte_array_new();

		test_desc_end(test_desc_new(ids[i], "s", "e"), NULL, NULL, bytes);
		test_take(schema, i, bytes);
		for (guint k = 0; k < G_N_ELEMENTS(ids); k++) {
			const RsTraceEvent *event = rs_trace_schema_by_id(schema, ids[k]);

			g_assert_true((event != NULL) == (k <= i));
			g_assert_true(!event || event->slot == k);
		}
	}
}

/* Each invalid descriptor is refused, and the good one after it is still found. */
static void test_refused(void)
{
	static const struct {
		guint at;
		guint value;
	} spoil[] = {
		{4, 3},       /* id below the first */
		{4, 40000},   /* id that is not its provider's */
		{8, 7},       /* another provider's */
		{6, 200},     /* fields that are not there */
		{12, 4000},   /* system outside */
		{16, 8},      /* name inside the header */
		{20, 60000},  /* print outside */
		{28, 5000},   /* entry too large */
		{28, 7},      /* entry smaller than its fields */
		{40, 40},     /* header smaller than it is */
		{40, 52},     /* header that shifts the fields */
		{42, 24},     /* fields smaller than they are */
		{42, 0xfff8}, /* fields that are not there */
		{44, 8},      /* symbols smaller than they are */
		{48, 5},      /* field name inside the header */
		{56, 5},      /* field outside the entry */
		{58, 3},      /* integer of 3 bytes */
		{66, 3},      /* symbols of an integer */
	};

	for (guint i = 0; i < G_N_ELEMENTS(spoil); i++) {
		g_autoptr(GByteArray) bytes = g_byte_array_new();
		g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
		g_autoptr(GError) error = NULL;
		struct rs_provider entry;
		guint bad;

		test_desc_switch(bytes);
		test_desc_all(bytes);
		test_provider(&entry, 0, bytes);
		memcpy(bytes->data + spoil[i].at, &(guint16){(guint16)spoil[i].value}, 2);
		rs_trace_schema_take(schema, 0, &entry, bytes->data, bytes->len, &bad, &error);
		g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR);
		g_assert_cmpuint(bad, ==, 1);
		g_assert_nonnull(rs_trace_schema_by_id(schema, TEST_ALL));
		g_assert_cmpuint(rs_trace_schema_n_events(schema), ==, 1);
	}
}

static void test_impossible_size(void)
{
	static const guint32 sizes[] = {0, 8, 52, 1u << 20, 0xffffffff};

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autoptr(GByteArray) bytes = g_byte_array_new();
		g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
		struct rs_provider entry;
		guint first, bad;

		test_desc_switch(bytes);
		first = bytes->len;
		test_desc_all(bytes);
		test_provider(&entry, 0, bytes);
		memcpy(bytes->data + first, &sizes[i], 4);
		rs_trace_schema_take(schema, 0, &entry, bytes->data, bytes->len, &bad, NULL);
		g_assert_cmpuint(bad, ==, 1);
		g_assert_cmpuint(rs_trace_schema_n_events(schema), ==, 1);
	}
}

static void test_twice(void)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(RsTraceSchema) schema = NULL;
	guint bad;

	test_desc_switch(bytes);
	test_desc_switch(bytes);
	schema = parse(bytes, &bad, NULL);
	g_assert_cmpuint(bad, ==, 1);
	g_assert_cmpuint(rs_trace_schema_n_events(schema), ==, 1);
}

static void test_format(void)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(RsTraceSchema) schema = NULL;
	g_autofree char *text = NULL, *wanted = NULL;

	test_desc_switch(bytes);
	schema = parse(bytes, NULL, NULL);
	text = rs_trace_event_format(rs_trace_schema_by_id(schema, TEST_SWITCH));
	wanted = g_strdup_printf(
		"name: switch\n"
		"ID: %u\n"
		"format:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;"
		"\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
		"\n"
		"\tfield:u32 prev;\toffset:8;\tsize:4;\tsigned:0;\n"
		"\tfield:u32 next;\toffset:12;\tsize:4;\tsigned:0;\n"
		"\n"
		"print fmt: \"prev=%%u next=%%u\", REC->prev, REC->next\n",
		TEST_SWITCH);
	g_assert_cmpstr(text, ==, wanted);
}

/* Headers, fields and symbols of a later version are longer. Their known parts are the same. */
static void test_grown(void)
{
	char *formats[2] = {NULL, NULL};

	for (guint i = 0; i < 2; i++) {
		g_autoptr(GByteArray) bytes = g_byte_array_new();
		g_autoptr(RsTraceSchema) schema = NULL;
		g_autoptr(GError) error = NULL;
		TestDesc *desc = test_desc_new(TEST_SWITCH, "a", "b");

		test_desc_grow(desc, i * 24);
		test_desc_int(desc, "state", RS_KIND_ENUM, 4);
		test_desc_symbol(desc, 0, "R");
		test_desc_symbol(desc, 1, "S");
		test_desc_int(desc, "n", RS_KIND_UINT, 8);
		test_desc_end(desc, "%s %u", "state, n", bytes);
		test_desc_all(bytes);
		schema = parse(bytes, NULL, &error);
		g_assert_no_error(error);
		g_assert_cmpuint(rs_trace_schema_n_events(schema), ==, 2);
		formats[i] = rs_trace_event_format(rs_trace_schema_by_id(schema, TEST_SWITCH));
	}
	g_assert_nonnull(strstr(formats[0], "{0x0, \"R\"}, {0x1, \"S\"}"));
	g_assert_cmpstr(formats[1], ==, formats[0]);
	g_free(formats[0]);
	g_free(formats[1]);
}

/* As many symbols as a field may have, and one more. */
static void test_many_symbols(void)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(RsTraceSchema) schema = NULL;
	g_autoptr(GError) error = NULL;
	TestDesc *desc = test_desc_new(TEST_SWITCH, "a", "b");
	struct rs_field_desc *fields;

	for (guint field = 0; field < 2; field++) {
		test_desc_int(desc, field ? "second" : "first", RS_KIND_ENUM, 4);
		for (guint i = 0; i < RS_MAX_SYMBOLS; i++)
			test_desc_symbol(desc, i, "R");
	}
	test_desc_end(desc, "%s %s", "first, second", bytes);
	schema = parse(bytes, NULL, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(rs_trace_schema_by_id(schema, TEST_SWITCH)->fields[1].n_symbols, ==,
			 RS_MAX_SYMBOLS);

	g_clear_pointer(&schema, rs_trace_schema_free);
	fields = (struct rs_field_desc *)(bytes->data + sizeof(struct rs_event_desc));
	fields[1].symbol_count++;
	schema = parse(bytes, NULL, &error);
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR);
}

/* Fields that share symbols need more memory for them than their descriptor has. */
static void test_shared_symbols(void)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(RsTraceSchema) schema = NULL;
	g_autoptr(GError) error = NULL;
	TestDesc *desc = test_desc_new(TEST_SWITCH, "a", "b");
	struct rs_field_desc *fields;

	test_desc_int(desc, "first", RS_KIND_ENUM, 4);
	for (guint i = 0; i < 100; i++)
		test_desc_symbol(desc, i, "R");
	test_desc_int(desc, "second", RS_KIND_ENUM, 4);
	test_desc_end(desc, "%s %s", "first, second", bytes);
	fields = (struct rs_field_desc *)(bytes->data + sizeof(struct rs_event_desc));
	fields[1].symbol_count = fields[0].symbol_count;
	fields[1].symbols = fields[0].symbols;
	schema = parse(bytes, NULL, &error);
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR);
}

/* Of a field of a later kind only the place of its bytes is known. */
static void test_unknown_kind(void)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(RsTraceSchema) schema = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	const RsTraceField *field;
	const RsTraceEvent *event;

	test_desc_later(bytes);
	schema = parse(bytes, NULL, &error);
	g_assert_no_error(error);
	event = rs_trace_schema_by_id(schema, TEST_ALL + 1);
	field = rs_trace_event_field(event, "odd");
	g_assert_cmpuint(field->kind, ==, RS_KIND_ARRAY);
	g_assert_cmpuint(field->size, ==, 6);
	g_assert_cmpuint(field->elem_size, ==, 1);
	g_assert_cmpuint(field->elem_count, ==, 6);
	field = rs_trace_event_field(event, "blob");
	g_assert_cmpuint(field->kind, ==, RS_KIND_DYN_ARRAY);
	g_assert_cmpuint(field->size, ==, 4);
	g_assert_cmpuint(field->elem_size, ==, 1);
	g_assert_cmpuint(field->dyn_index, ==, 1);
	g_assert_cmpstr(event->print, ==, "why=%s odd=%s real=%s blob=%s n=%u");
	text = rs_trace_event_format(event);
	g_assert_nonnull(strstr(text, "\tfield:u8 odd[6];\toffset:12;\tsize:6;\tsigned:0;\n"
				      "\tfield:u8 real[8];\toffset:18;\tsize:8;\tsigned:0;\n"
				      "\tfield:__data_loc u8[] blob;\toffset:28;\tsize:4;"
				      "\tsigned:0;\n"));
	g_assert_nonnull(strstr(text, ", __print_array(REC->odd, 6, 1), "));
	g_assert_nonnull(strstr(text, ", __print_array(__get_dynamic_array(blob), "
				      "__get_dynamic_array_len(blob) / 1, 1), "));
}

/* Symbols may share one long name, and arguments one field: a small descriptor, a long format. */
static void test_format_bomb(void)
{
	static const char *const ends[] = {"\n# cut: it has more than 65536 bytes\n",
					   "field:u8 e;"};
	g_autofree RsTraceSymbol *symbols = g_new0(RsTraceSymbol, RS_MAX_SYMBOLS);
	const RsTraceField *args[RS_TRACE_PRINT_ARGS_MAX];
	RsTracePrintStep steps[RS_TRACE_PRINT_ARGS_MAX];
	g_autofree char *name = g_strnfill(60000, 'x'), *text = NULL;
	RsTraceField field = {.name = "e",
			      .type = "u8",
			      .kind = RS_KIND_ENUM,
			      .size = 1,
			      .n_symbols = RS_MAX_SYMBOLS,
			      .symbols = symbols};
	RsTraceEvent event = {.id = TEST_SWITCH,
			      .system = "s",
			      .name = "bomb",
			      .print = "%s",
			      .n_print_args = G_N_ELEMENTS(args),
			      .print_args = args,
			      .steps = steps,
			      .n_fields = 1,
			      .fields = &field};

	for (guint i = 0; i < RS_MAX_SYMBOLS; i++)
		symbols[i] = (RsTraceSymbol){i, name};
	for (guint i = 0; i < G_N_ELEMENTS(args); i++) {
		args[i] = &field;
		steps[i] = (RsTracePrintStep){.field = &field, .conversion = 's'};
	}
	text = rs_trace_event_format(&event);
	g_assert_true(g_str_has_suffix(text, ends[0]));
	g_assert_nonnull(strstr(text, ends[1]));
	g_assert_cmpuint(strlen(text), ==, RS_TRACE_FORMAT_MAX + strlen(ends[0]));
	/* What fits is whole. */
	g_clear_pointer(&text, g_free);
	field.n_symbols = event.n_print_args = 1;
	text = rs_trace_event_format(&event);
	g_assert_null(strstr(text, "# cut"));
	g_assert_true(g_str_has_suffix(text, "xxx\"})\n"));
}

/* A provider of one event, "name:event", with the id TEST_SWITCH. */
typedef struct {
	GByteArray *bytes;
	struct rs_provider entry;
	guint slot;
} Provider;

static Provider *provider_new(guint slot, const char *name, guint boot, guint64 since)
{
	Provider *provider = g_new0(Provider, 1);

	provider->slot = slot;
	provider->bytes = g_byte_array_new();
	test_desc_end(test_desc_new(TEST_SWITCH, name, "event"), NULL, NULL, provider->bytes);
	test_provider(&provider->entry, slot, provider->bytes);
	provider->entry.first_boot = provider->entry.last_boot = boot;
	provider->entry.since = since;
	provider->entry.desc_offset = slot * 4096u;
	return provider;
}

static void provider_free(Provider *provider)
{
	g_byte_array_unref(provider->bytes);
	g_free(provider);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Provider, provider_free)

static void take(RsTraceSchema *schema, const Provider *provider)
{
	g_autoptr(GError) error = NULL;

	rs_trace_schema_take(schema, provider->slot, &provider->entry, provider->bytes->data,
			     provider->bytes->len, NULL, &error);
	g_assert_no_error(error);
}

/* Takes the slot as free: its provider has lost it. */
static void take_free(RsTraceSchema *schema, guint slot)
{
	rs_trace_schema_take(schema, slot, &(struct rs_provider){.sequence = 4}, NULL, 0, NULL,
			     NULL);
}

/* The provider whose event TEST_SWITCH was then; "": none. */
static const char *whose(const RsTraceSchema *schema, guint boot, guint64 ts)
{
	const RsTraceEvent *event =
		rs_trace_schema_lookup(schema, TEST_SWITCH, (RsTraceMoment){boot, 0, ts});

	return event ? event->system : "";
}

/* An id that meant one event in one boot and another in the next, whichever is read first. */
static void test_boots(void)
{
	for (guint order = 0; order < 2; order++) {
		g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
		g_autoptr(Provider) first = provider_new(order, "first", 1, 700);
		g_autoptr(Provider) second = provider_new(!order, "second", 2, 300);

		first->entry.state = RS_PROVIDER_DEAD;
		take(schema, order ? second : first);
		take(schema, order ? first : second);
		g_assert_cmpuint(rs_trace_schema_n_events(schema), ==, 2);
		g_assert_cmpstr(whose(schema, 0, 1000), ==, "");
		g_assert_cmpstr(whose(schema, 1, 699), ==, "");
		g_assert_cmpstr(whose(schema, 1, 700), ==, "first");
		g_assert_cmpstr(whose(schema, 1, G_MAXUINT64), ==, "first");
		g_assert_cmpstr(whose(schema, 2, 0), ==, "");
		g_assert_cmpstr(whose(schema, 2, 300), ==, "second");
		g_assert_cmpstr(whose(schema, 3, 1000), ==, "");
		g_assert_null(rs_trace_schema_lookup(schema, TEST_SWITCH + 1,
						     (RsTraceMoment){1, 0, 700}));
		g_assert_null(
			rs_trace_schema_lookup(schema, G_MAXUINT, (RsTraceMoment){1, 0, 700}));
		/* It lives on into the next boot, whose clock begins again. */
		second->entry.last_boot = 3;
		take(schema, second);
		g_assert_cmpstr(whose(schema, 3, 0), ==, "second");
	}
}

/* Slot and id of a provider that is gone are given to another, in the same boot. */
static void test_used_again(void)
{
	for (guint slot = 0; slot < 2; slot++) {
		g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
		g_autoptr(Provider) old = provider_new(0, "old", 1, 100);
		g_autoptr(Provider) new = provider_new(slot, "new", 1, 1000);
		const RsTraceEvent *event;

		take(schema, old);
		event = rs_trace_schema_by_name(schema, "old", "event");
		old->entry.state = RS_PROVIDER_DEAD;
		old->entry.until = 900;
		take(schema, old);
		if (slot)
			take_free(schema, 0);
		take(schema, new);
		g_assert_cmpstr(whose(schema, 1, 99), ==, "");
		g_assert_true(rs_trace_schema_lookup(schema, TEST_SWITCH,
						     (RsTraceMoment){1, 0, 100}) == event);
		g_assert_true(rs_trace_schema_lookup(schema, TEST_SWITCH,
						     (RsTraceMoment){1, 0, 900}) == event);
		g_assert_cmpstr(whose(schema, 1, 901), ==, "");
		g_assert_cmpstr(whose(schema, 1, 999), ==, "");
		g_assert_cmpstr(whose(schema, 1, 1000), ==, "new");
		g_assert_false(event->provider->is_live);
		g_assert_cmpstr(rs_trace_schema_by_id(schema, TEST_SWITCH)->system, ==, "new");
		/* Only the new one can be traced now. */
		g_assert_cmpuint(rs_trace_schema_n_events(schema), ==, 1);
		g_assert_cmpstr(rs_trace_schema_nth(schema, 0)->system, ==, "new");
		g_assert_null(rs_trace_schema_by_name(schema, "old", "event"));
		rs_trace_schema_trim(schema, 1, G_MAXSIZE);
		g_assert_cmpstr(whose(schema, 1, 900), ==, "old");
		rs_trace_schema_trim(schema, 0, G_MAXSIZE);
		g_assert_cmpstr(whose(schema, 1, 900), ==, "");
		g_assert_cmpstr(whose(schema, 1, 1000), ==, "new");
	}
}

/* The counter goes back within a boot: moments of two chains are in the order of the chains. */
static void test_counter_goes_back(void)
{
	static const struct {
		RsTraceMoment when;
		const char *whose;
	} CASES[] = {
		{{1, 0, 4999}, ""},   {{1, 0, 5000}, "old"}, {{1, 0, 9000}, "old"},
		{{1, 0, 9001}, ""},   {{1, 3, 0}, ""},       {{1, 3, 99}, ""},
		{{1, 3, 100}, "new"}, {{1, 3, 300}, "new"},  {{1, 3, 301}, ""},
		{{1, 4, 200}, ""},    {{1, 2, 5000}, ""},    {{2, 0, 200}, ""},
	};
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(Provider) old = provider_new(0, "old", 1, 5000);
	g_autoptr(Provider) new = provider_new(1, "new", 1, 100);

	old->entry.until = 9000;
	new->entry.since_chain = new->entry.until_chain = 3;
	new->entry.until = 300;
	old->entry.state = new->entry.state = RS_PROVIDER_DEAD;
	take(schema, new);
	take(schema, old);
	for (guint i = 0; i < G_N_ELEMENTS(CASES); i++) {
		const RsTraceEvent *event =
			rs_trace_schema_lookup(schema, TEST_SWITCH, CASES[i].when);

		g_assert_cmpstr(event ? event->system : "", ==, CASES[i].whose);
	}
	/* It lives across the change. */
	old->entry.until_chain = 3;
	old->entry.until = 50;
	take(schema, old);
	g_assert_nonnull(rs_trace_schema_lookup(schema, TEST_SWITCH, (RsTraceMoment){1, 3, 50}));
	g_assert_null(rs_trace_schema_lookup(schema, TEST_SWITCH, (RsTraceMoment){1, 3, 51}));
}

/* Another provider has its slot before anyone saw it die: the time in between is unknown. */
static void test_unseen_death(void)
{
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(Provider) old = provider_new(0, "old", 1, 100);
	g_autoptr(Provider) new = provider_new(0, "new", 1, 1000);

	take(schema, old);
	g_assert_cmpstr(whose(schema, 1, 999), ==, "old");
	take(schema, new);
	g_assert_cmpstr(whose(schema, 1, 999), ==, "");
	g_assert_cmpstr(whose(schema, 1, 1000), ==, "new");
}

/* The same where the first one began with the clock. */
static void test_unseen_death_at_zero(void)
{
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(Provider) old = provider_new(0, "old", 1, 0);
	g_autoptr(Provider) new = provider_new(0, "new", 1, 1000);

	take(schema, old);
	take(schema, new);
	g_assert_cmpstr(whose(schema, 1, 0), ==, "old");
	g_assert_cmpstr(whose(schema, 1, 2), ==, "");
	g_assert_cmpstr(whose(schema, 1, 1000), ==, "new");
}

/* Whoever was refused bytes that another has, has none: once the other is gone, a third may. */
static void test_refused_has_none(void)
{
	static const char *const names[] = {"first", "refused", "third"};
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autoptr(Provider) provider = provider_new(i, names[i], 1, i);
		g_autoptr(GError) error = NULL;

		provider->entry.desc_offset = 0;
		g_assert_true(!rs_trace_schema_overlap(schema, i, &provider->entry) == (i != 1));
		rs_trace_schema_take(schema, i, &provider->entry, provider->bytes->data,
				     provider->bytes->len, NULL, &error);
		g_assert_true(!error == (i != 1));
		if (i == 1)
			take_free(schema, 0);
	}
	g_assert_nonnull(rs_trace_schema_by_name(schema, "third", "event"));
	g_assert_null(rs_trace_schema_by_name(schema, "refused", "event"));
}

/* The oldest go first, wherever they are in the list of their id. */
static void test_trim(void)
{
	static const char *const names[] = {"a", "b", "c"};
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autoptr(Provider) provider = provider_new(i, names[i], i + 1, 0);

		take(schema, provider);
	}
	take_free(schema, 1);
	take_free(schema, 2);
	take_free(schema, 0);
	g_assert_cmpuint(rs_trace_schema_n_events(schema), ==, 0);
	rs_trace_schema_trim(schema, 2, G_MAXSIZE);
	g_assert_cmpstr(whose(schema, 1, 0), ==, "a");
	g_assert_cmpstr(whose(schema, 2, 0), ==, "");
	g_assert_cmpstr(whose(schema, 3, 0), ==, "c");
	rs_trace_schema_trim(schema, 1, G_MAXSIZE);
	g_assert_cmpstr(whose(schema, 1, 0), ==, "a");
	g_assert_cmpstr(whose(schema, 3, 0), ==, "");
	rs_trace_schema_trim(schema, 0, G_MAXSIZE);
	g_assert_null(rs_trace_schema_by_id(schema, TEST_SWITCH));
}

/* An entry of a known provider brings no new events, only a new state. */
static void test_knows(void)
{
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(Provider) provider = provider_new(3, "a", 1, 100);
	struct rs_provider *entry = &provider->entry, other;
	const RsTraceEvent *event;

	g_assert_true(rs_trace_schema_knows(schema, 3, &(struct rs_provider){0}));
	g_assert_false(rs_trace_schema_knows(schema, 3, entry));
	take(schema, provider);
	g_assert_true(rs_trace_schema_knows(schema, 3, entry));
	g_assert_false(rs_trace_schema_knows(schema, 2, entry));
	event = rs_trace_schema_by_id(schema, TEST_SWITCH);
	g_assert_true(event->provider->is_live);
	entry->state = RS_PROVIDER_DEAD;
	entry->until = 5000;
	entry->last_boot = 4;
	g_assert_true(rs_trace_schema_knows(schema, 3, entry));
	rs_trace_schema_take(schema, 3, entry, NULL, 0, NULL, NULL);
	g_assert_true(rs_trace_schema_by_id(schema, TEST_SWITCH) == event);
	g_assert_false(event->provider->is_live);
	g_assert_cmpuint(event->provider->until.ts, ==, 5000);
	g_assert_cmpuint(event->provider->until.boot, ==, 4);
	for (guint i = 0; i < 5; i++) {
		other = *entry;
		other.since += i == 0;
		other.first_boot += i == 1;
		other.first_id += i == 2;
		other.event_count += i == 3;
		other.desc_offset += i == 4 ? 64 : 0;
		g_assert_false(rs_trace_schema_knows(schema, 3, &other));
	}
}

/* A name means the provider that came last, or came back last. */
static void test_newest_name(void)
{
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(Provider) one = provider_new(0, "same", 1, 100);
	g_autoptr(Provider) two = provider_new(1, "same", 2, 100);

	take(schema, one);
	take(schema, two);
	g_assert_cmpuint(rs_trace_schema_by_name(schema, "same", "event")->slot, ==, 1);
	one->entry.last_boot = 3;
	one->entry.generation++;
	take(schema, one);
	g_assert_cmpuint(rs_trace_schema_by_name(schema, "same", "event")->slot, ==, 0);
	one->entry.state = RS_PROVIDER_FREE;
	take(schema, one);
	g_assert_cmpuint(rs_trace_schema_by_name(schema, "same", "event")->slot, ==, 1);
	two->entry.state = RS_PROVIDER_FREE;
	take(schema, two);
	g_assert_null(rs_trace_schema_by_name(schema, "same", "event"));
}

/* Bytes belong to one provider of the table, dead or alive; sizes are whatever a guest writes. */
static void test_overlap(void)
{
	static const struct {
		guint64 offset, size;
		gboolean refused;
	} cases[] = {
		{0, 8192, FALSE},    {8192, 1, TRUE},        {12287, 100, TRUE},
		{12288, 100, FALSE}, {0, G_MAXUINT64, TRUE}, {G_MAXUINT64, G_MAXUINT64, FALSE},
		{10000, 0, FALSE},
	};
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(Provider) first = provider_new(2, "first", 1, 1);

	first->entry.desc_size = 4096;
	first->entry.state = RS_PROVIDER_DEAD;
	take(schema, first);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(Provider) provider = provider_new(5, "second", 1, 100 + i);
		struct rs_provider *entry = &provider->entry;
		g_autoptr(GError) error = NULL;
		guint bad;

		entry->desc_offset = cases[i].offset;
		entry->desc_size = cases[i].size;
		rs_trace_schema_take(schema, 5, entry, provider->bytes->data, provider->bytes->len,
				     &bad, &error);
		g_assert_cmpuint(bad, ==, cases[i].refused);
		g_assert_true(!error == !cases[i].refused);
		g_assert_true(rs_trace_schema_knows(schema, 5, entry));
		g_assert_cmpuint(rs_trace_schema_n_events(schema), ==, 2 - cases[i].refused);
	}
}

/* The events of one slot, while others have more. */
static void test_of_slot(void)
{
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(GByteArray) two = g_byte_array_new();
	g_autoptr(Provider) one = provider_new(3, "one", 1, 1);

	test_desc_all(two);
	test_desc_switch(two);
	test_take(schema, 1, two);
	take(schema, one);
	g_assert_cmpuint(rs_trace_schema_nth_of(schema, 1, 0)->id, ==, TEST_SWITCH);
	g_assert_cmpuint(rs_trace_schema_nth_of(schema, 1, 1)->id, ==, TEST_ALL);
	g_assert_null(rs_trace_schema_nth_of(schema, 1, 2));
	g_assert_cmpstr(rs_trace_schema_nth_of(schema, 3, 0)->system, ==, "one");
	g_assert_null(rs_trace_schema_nth_of(schema, 3, 1));
	g_assert_null(rs_trace_schema_nth_of(schema, 2, 0));
	g_assert_null(rs_trace_schema_nth_of(schema, 4, 0));
}

static gsize grow(RsTraceSchema *schema, guint symbols)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	TestDesc *desc = test_desc_new(TEST_SWITCH, "a", "b");
	guint n;

	test_desc_int(desc, "n", RS_KIND_ENUM, 4);
	for (guint i = 0; i < symbols; i++)
		test_desc_symbol(desc, i, "R");
	test_desc_end(desc, NULL, NULL, bytes);
	test_take(schema, 0, bytes);
	take_free(schema, 0);
	return rs_trace_schema_retired(schema, &n);
}

/* Retired providers are counted with all the memory that they take, and trimmed by it too. */
static void test_trim_bytes(void)
{
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	gsize small = grow(schema, 1), large = grow(schema, 1001) - small;
	guint n;

	g_assert_cmpuint(large - small, >=, 1000 * sizeof(RsTraceSymbol));
	g_assert_cmpuint(grow(schema, 1), ==, large + 2 * small);
	rs_trace_schema_trim(schema, 3, large + 2 * small);
	g_assert_cmpuint(rs_trace_schema_retired(schema, &n), ==, large + 2 * small);
	g_assert_cmpuint(n, ==, 3);
	rs_trace_schema_trim(schema, 3, large);
	g_assert_cmpuint(rs_trace_schema_retired(schema, &n), ==, small);
	g_assert_cmpuint(n, ==, 1);
	rs_trace_schema_trim(schema, 3, 0);
	g_assert_cmpuint(rs_trace_schema_retired(schema, &n), ==, 0);
}

/*
 * Very many providers had one id. A lookup or a trim that went through all of them would take too
 * long. They began at the same time, or one after the other.
 */
static void test_many_lives(void)
{
	const guint n = 50000;
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(Provider) provider = provider_new(0, "x", 1, 0);

	for (guint i = 0; i < n; i++) {
		provider->entry.since = MAX(i, n / 2);
		provider->entry.first_id = TEST_SWITCH - i % 2; /* another provider */
		provider->entry.event_count = 1 + i % 2;
		take(schema, provider);
	}
	for (guint i = 0; i < 20 * n; i++) {
		g_assert_cmpstr(whose(schema, 1, i % n), ==, i % n < n / 2 ? "" : "x");
		g_assert_cmpstr(whose(schema, 2, i % n), ==, "");
	}
	rs_trace_schema_trim(schema, 2, G_MAXSIZE);
	g_assert_cmpstr(whose(schema, 1, n - 4), ==, "");
	g_assert_cmpstr(whose(schema, 1, n - 3), ==, "x");
	rs_trace_schema_trim(schema, 0, G_MAXSIZE);
	g_assert_cmpstr(whose(schema, 1, n - 2), ==, "");
	g_assert_cmpstr(whose(schema, 1, n - 1), ==, "x");
}

/* As many small events as there may be are taken in the time that they need. */
static void test_many(void)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	struct rs_provider entry;
	guint bad = 0;

	for (guint id = RS_FIRST_EVENT_ID; id < RS_MAX_EVENTS; id++) {
		g_autofree char *name = g_strdup_printf("e%u", id);

		test_desc_end(test_desc_new(id, "s", name), NULL, NULL, bytes);
	}
	test_provider(&entry, 0, bytes);
	entry.first_id = RS_FIRST_EVENT_ID;
	entry.event_count = RS_MAX_EVENTS - RS_FIRST_EVENT_ID;
	rs_trace_schema_take(schema, 0, &entry, bytes->data, bytes->len, &bad, NULL);
	g_assert_cmpuint(bad, ==, 0);
	g_assert_cmpuint(rs_trace_schema_n_events(schema), ==, entry.event_count);
	g_assert_cmpuint(rs_trace_schema_by_name(schema, "s", "e1000")->id, ==, 1000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/schema/fields", test_fields);
	g_test_add_func("/decode/schema/print-formats", test_print_formats);
	g_test_add_func("/decode/schema/ids-in-any-order", test_ids_in_any_order);
	g_test_add_func("/decode/schema/refused", test_refused);
	g_test_add_func("/decode/schema/impossible-size", test_impossible_size);
	g_test_add_func("/decode/schema/twice", test_twice);
	g_test_add_func("/decode/schema/format", test_format);
	g_test_add_func("/decode/schema/grown", test_grown);
	g_test_add_func("/decode/schema/format-bomb", test_format_bomb);
	g_test_add_func("/decode/schema/many-symbols", test_many_symbols);
	g_test_add_func("/decode/schema/shared-symbols", test_shared_symbols);
	g_test_add_func("/decode/schema/unknown-kind", test_unknown_kind);
	g_test_add_func("/decode/schema/boots", test_boots);
	g_test_add_func("/decode/schema/used-again", test_used_again);
	g_test_add_func("/decode/schema/counter-goes-back", test_counter_goes_back);
	g_test_add_func("/decode/schema/unseen-death", test_unseen_death);
	g_test_add_func("/decode/schema/unseen-death-at-zero", test_unseen_death_at_zero);
	g_test_add_func("/decode/schema/refused-has-none", test_refused_has_none);
	g_test_add_func("/decode/schema/trim", test_trim);
	g_test_add_func("/decode/schema/of-slot", test_of_slot);
	g_test_add_func("/decode/schema/trim-bytes", test_trim_bytes);
	g_test_add_func("/decode/schema/many-lives", test_many_lives);
	g_test_add_func("/decode/schema/overlap", test_overlap);
	g_test_add_func("/decode/schema/knows", test_knows);
	g_test_add_func("/decode/schema/newest-name", test_newest_name);
	g_test_add_func("/decode/schema/many", test_many);
	return g_test_run();
}
