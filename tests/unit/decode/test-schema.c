/* SPDX-License-Identifier: MIT */
#include "rs-trace-schema.h"
#include "build.h"

#include <string.h>

static RsTraceSchema *parse(GByteArray *bytes, guint *bad, GError **error)
{
	RsTraceSchema *schema = rs_trace_schema_new();

	rs_trace_schema_add(schema, bytes->data, bytes->len, bad, error);
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
	g_assert_cmpuint(rs_trace_schema_nth(schema, 0)->id, ==, 16);
	g_assert_null(rs_trace_schema_nth(schema, 2));
	g_assert_null(rs_trace_schema_by_id(schema, 18));
	g_assert_null(rs_trace_schema_by_name(schema, "sched", "all"));
	event = rs_trace_schema_by_name(schema, "demo", "all");
	g_assert_true(event == rs_trace_schema_by_id(schema, 17));
	g_assert_cmpuint(event->n_fields, ==, 10);
	g_assert_cmpuint(rs_trace_event_field(event, "why")->dyn_index, ==, 1);
	g_assert_cmpstr(rs_trace_event_field(event, "state")->symbols[1].name, ==, "S\"quoted\"");
	g_assert_cmpstr(event->print, ==,
			"100%% u=%llu s=%d x=%x p=%p %s|%s mac=%s <%-8s> list=%s why=%s");
	g_assert_cmpuint(event->n_print_args, ==, 10);
	g_assert_cmpuint(event->n_steps, ==, 11);
	g_assert_cmpstr(event->steps[0].literal, ==, "100% u=");
}

static gboolean accepts(const char *print, const char *args)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(RsTraceSchema) schema = NULL;
	TestDesc *desc = test_desc_new(20, "a", "b");

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

/* Each spoiled descriptor is refused, and the good one after it is still found. */
static void test_refused(void)
{
	static const struct {
		guint at;
		guint value;
	} spoil[] = {
		{4, 3},      /* id below the first */
		{6, 200},    /* fields that are not there */
		{12, 4000},  /* system outside */
		{16, 8},     /* name inside the header */
		{20, 60000}, /* print outside */
		{28, 5000},  /* entry too large */
		{28, 7},     /* entry smaller than its fields */
		{48, 5},     /* field name inside the header */
		{56, 5},     /* field outside the entry */
		{58, 3},     /* integer of 3 bytes */
		{60, 99},    /* no such kind */
		{66, 3},     /* symbols of an integer */
	};

	for (guint i = 0; i < G_N_ELEMENTS(spoil); i++) {
		g_autoptr(GByteArray) bytes = g_byte_array_new();
		g_autoptr(RsTraceSchema) schema = NULL;
		g_autoptr(GError) error = NULL;
		guint bad;

		test_desc_switch(bytes);
		test_desc_all(bytes);
		if (spoil[i].at == 60)
			bytes->data[60] = (guint8)spoil[i].value;
		else
			memcpy(bytes->data + spoil[i].at, &(guint16){(guint16)spoil[i].value}, 2);
		schema = parse(bytes, &bad, &error);
		g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR);
		g_assert_cmpuint(bad, ==, 1);
		g_assert_nonnull(rs_trace_schema_by_id(schema, 17));
		g_assert_cmpuint(rs_trace_schema_n_events(schema), ==, 1);
	}
}

static void test_impossible_size(void)
{
	static const guint32 sizes[] = {0, 8, 52, 1u << 20, 0xffffffff};

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autoptr(GByteArray) bytes = g_byte_array_new();
		g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
		guint first, bad;

		test_desc_switch(bytes);
		first = bytes->len;
		test_desc_all(bytes);
		memcpy(bytes->data + first, &sizes[i], 4);
		g_assert_cmpuint(rs_trace_schema_add(schema, bytes->data, bytes->len, &bad, NULL),
				 ==, first);
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

static void test_globs(void)
{
	RsTraceEvent event = {.system = "sched", .name = "switch"};
	g_autofree char *stars = g_strnfill(4000, '*');
	g_autofree char *evil = g_strconcat(stars, "x", NULL);

	g_assert_true(rs_trace_event_matches(&event, "sched:switch"));
	g_assert_true(rs_trace_event_matches(&event, "sched"));
	g_assert_true(rs_trace_event_matches(&event, "sw*ch"));
	g_assert_true(rs_trace_event_matches(&event, "sched:"));
	g_assert_true(rs_trace_event_matches(&event, "*:s[a-w]itch"));
	g_assert_true(rs_trace_event_matches(&event, "s?itch"));
	g_assert_true(rs_trace_event_matches(&event, "[!a]witch"));
	g_assert_true(rs_trace_event_matches(&event, "*"));
	g_assert_true(rs_trace_event_matches(&event, stars));
	g_assert_false(rs_trace_event_matches(&event, evil));
	g_assert_false(rs_trace_event_matches(&event, "sched:swit"));
	g_assert_false(rs_trace_event_matches(&event, "irq:*"));
	g_assert_false(rs_trace_event_matches(&event, "[!s]witch"));
	g_assert_false(rs_trace_event_matches(&event, "[s"));
	g_assert_false(rs_trace_event_matches(&event, ""));
}

static void test_format(void)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(RsTraceSchema) schema = NULL;
	g_autofree char *text = NULL;

	test_desc_switch(bytes);
	schema = parse(bytes, NULL, NULL);
	text = rs_trace_event_format(rs_trace_schema_by_id(schema, 16));
	g_assert_cmpstr(text, ==,
			"name: switch\n"
			"ID: 16\n"
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
			"print fmt: \"prev=%u next=%u\", REC->prev, REC->next\n");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/schema/fields", test_fields);
	g_test_add_func("/decode/schema/print-formats", test_print_formats);
	g_test_add_func("/decode/schema/refused", test_refused);
	g_test_add_func("/decode/schema/impossible-size", test_impossible_size);
	g_test_add_func("/decode/schema/twice", test_twice);
	g_test_add_func("/decode/schema/globs", test_globs);
	g_test_add_func("/decode/schema/format", test_format);
	return g_test_run();
}
