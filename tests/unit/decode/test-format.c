/* SPDX-License-Identifier: MIT */
/* Print formats: as given, as made, and as C literals. */
#include "rs-trace-schema.h"
#include "build.h"

#include <string.h>

static RsTraceSchema *take(const char *print, const char *args)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	RsTraceSchema *schema = rs_trace_schema_new();
	TestDesc *desc = test_desc_new(TEST_ALL, "a", "b");

	test_desc_int(desc, "u", RS_KIND_UINT, 8);
	test_desc_int(desc, "s", RS_KIND_SINT, 4);
	test_desc_int(desc, "x", RS_KIND_HEX, 2);
	test_desc_int(desc, "p", RS_KIND_POINTER, 8);
	test_desc_int(desc, "e", RS_KIND_ENUM, 4);
	test_desc_array(desc, "t", RS_KIND_STRING, 1, 8, 0);
	test_desc_end(desc, print, args, bytes);
	test_take(schema, 0, bytes);
	return schema;
}

static void check_print(const char *print, const char *args, const char *shown, const char *fields)
{
	g_autoptr(RsTraceSchema) schema = take(print, args);
	const RsTraceEvent *event = rs_trace_schema_by_id(schema, TEST_ALL);
	guint with_field = 0;

	g_assert_cmpstr(event->print, ==, shown);
	g_assert_cmpuint(event->n_print_args, ==, strlen(fields));
	for (guint i = 0; i < event->n_print_args; i++) {
		g_assert_cmpint(event->print_args[i]->name[0], ==, fields[i]);
		with_field += event->steps[i].field != NULL;
	}
	g_assert_cmpuint(with_field, ==, event->n_print_args);
}

static void test_prints(void)
{
	check_print(NULL, NULL, "u=%llu s=%d x=%#x p=%#llx e=%s t=%s", "usxpet");
	check_print("", "", "", "");
	check_print("%%", "  \t", "%%", "");
	check_print("%.0d %5.0s|%-+ #0d", "s, t, s", "%.0d %5.0s|%-+ #0d", "sts");
	check_print("%.3d %-8s", " REC->s ,\t__entry->t", "%.3d %-8s", "st");
	check_print("%s %hhu %hx", "__get_str( t ), u, x", "%s %hhu %hx", "tux");
	check_print("%x %X %o %i", "u, u, s, s", "%llx %llX %o %i", "uuss");
}

static void test_quoted(void)
{
	g_autoptr(RsTraceSchema) schema = take("a\n\t\x01\x1f\x7f~\"\\ \xc3\xbc%d", "s");
	g_autofree char *text = rs_trace_event_format(rs_trace_schema_by_id(schema, TEST_ALL));

	g_assert_true(g_str_has_suffix(text,
				       "print fmt: \"a\\n\\t\\001\\037\\177~\\\"\\\\ \xc3\xbc%d\", "
				       "REC->s\n"));
}

/* Each kind as C declares it. A string's elements are its bytes, whatever a guest says. */
static void test_declared(void)
{
	static const RsTraceField fields[] = {
		{.name = "t", .kind = RS_KIND_STRING, .size = 9, .elem_count = 3, .elem_size = 4},
		{.name = "d", .kind = RS_KIND_DYN_STRING, .size = 4, .offset = 12, .elem_size = 2},
		{.name = "a", .kind = RS_KIND_ARRAY, .size = 8, .elem_count = 4, .elem_size = 2},
		{.name = "g",
		 .kind = RS_KIND_DYN_ARRAY,
		 .size = 4,
		 .elem_size = 8,
		 .is_signed = TRUE},
	};
	static const char *const declared[] = {"char t[9]", "__data_loc char[] d", "u16 a[4]",
					       "__data_loc s64[] g"};

	for (guint i = 0; i < G_N_ELEMENTS(fields); i++) {
		const RsTraceEvent event = {.system = "s",
					    .name = "n",
					    .print = "",
					    .n_fields = 1,
					    .fields = &fields[i]};
		g_autofree char *text = rs_trace_event_format(&event);
		g_autofree char *line = g_strdup_printf(
			"\tfield:%s;\toffset:%u;\tsize:%u;\tsigned:%d;\n", declared[i],
			fields[i].offset + 8, fields[i].size, fields[i].is_signed);

		g_assert_nonnull(strstr(text, line));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/format/prints", test_prints);
	g_test_add_func("/decode/format/declared", test_declared);
	g_test_add_func("/decode/format/quoted", test_quoted);
	return g_test_run();
}
