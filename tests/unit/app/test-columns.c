/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-columns.h"

#include <string.h>

/* Texts of lines only; no rows are read. */
void rs_trace_row_unref(RsTraceRow *row)
{
}

static char *text_of(RsViewerColumnKind kind, const RsViewerLine *line)
{
	g_autoptr(RsViewerColumns) columns = rs_viewer_columns_new();

	return rs_viewer_column_text(rs_viewer_columns_of(columns, kind), line,
				     RS_VIEWER_TIME_SECONDS, 0);
}

static void check(RsViewerColumnKind kind, const RsViewerLine *line, const char *want)
{
	g_autofree char *got = text_of(kind, line);

	g_assert_cmpstr(got, ==, want);
}

static void test_texts(void)
{
	char source[] = "guest", task[] = "init-1", event[] = "sched:switch", text[] = "a\nb\tc";
	RsTraceRow row = {.text = text, .ns = 1400, .sorted_ns = 1500};
	RsViewerLine line = {.row = {.ns = 1500, .class = RS_TRACE_CLASS_EVENTS},
			     .before = 1000,
			     .cpu = 3,
			     .source = source,
			     .task = task,
			     .event = event};

	check(RS_VIEWER_COLUMN_TIME, &line, "0.000001500");
	check(RS_VIEWER_COLUMN_DELTA, &line, "+500 ns");
	check(RS_VIEWER_COLUMN_CPU, &line, "3");
	check(RS_VIEWER_COLUMN_SOURCE, &line, "guest");
	check(RS_VIEWER_COLUMN_TASK, &line, "init-1");
	check(RS_VIEWER_COLUMN_EVENT, &line, "sched:switch");
	check(RS_VIEWER_COLUMN_TEXT, &line, "");
	line.read = &row;
	check(RS_VIEWER_COLUMN_TEXT, &line, "a b c");
	/* The clock of its vCPU went back. */
	check(RS_VIEWER_COLUMN_TIME, &line, "0.000001400");
	check(RS_VIEWER_COLUMN_DELTA, &line, "+500 ns");
	line.read = NULL;
	line.failed = TRUE;
	check(RS_VIEWER_COLUMN_TEXT, &line, "This record could not be read.");
	line.row.class = RS_TRACE_CLASS_LOSS;
	line.lost = 1;
	check(RS_VIEWER_COLUMN_TEXT, &line, "1 event lost");
	line.lost = G_MAXUINT64;
	check(RS_VIEWER_COLUMN_TEXT, &line, "18,446,744,073,709,551,615 events lost");
}

/* However long a text is, and whatever bytes it has, what comes out is short and valid. */
static void test_bound(void)
{
	for (guint i = 0; i < 2000; i++) {
		guint size = (guint)g_test_rand_int_range(0, 2 * RS_VIEWER_CELL_MAX);
		g_autofree char *bytes = g_malloc0(size + 1);
		g_autofree char *got = NULL;
		RsTraceRow row = {.text = bytes};
		RsViewerLine line = {.row = {.class = RS_TRACE_CLASS_EVENTS}, .read = &row};

		for (guint k = 0; k < size; k++)
			bytes[k] = (char)g_test_rand_int_range(1, 256);
		if (i % 2)
			for (guint k = 0; k + 3 <= size; k += 3)
				memcpy(bytes + k, "€", 3);
		got = text_of(RS_VIEWER_COLUMN_TEXT, &line);
		g_assert_true(g_utf8_validate(got, -1, NULL));
		g_assert_cmpuint(strlen(got), <=, 3 * RS_VIEWER_CELL_MAX + 3);
		g_assert_cmpint(g_str_has_suffix(got, "…"), ==, size > RS_VIEWER_CELL_MAX);
	}
}

static void test_field(void)
{
	g_autoptr(RsViewerColumns) columns = rs_viewer_columns_new();
	char name[] = "pid", value[] = "seven";
	RsTraceRowField field = {.name = name, .value = value};
	g_autoptr(GPtrArray) fields = g_ptr_array_new();
	RsTraceRow row = {.fields = fields};
	RsViewerLine line = {.row = {.class = RS_TRACE_CLASS_EVENTS}, .read = &row};
	g_autofree char *got = NULL, *missing = NULL;

	g_ptr_array_add(fields, &field);
	g_assert_false(rs_viewer_columns_want_details(columns));
	g_assert_nonnull(rs_viewer_columns_add_field(columns, "pid"));
	g_assert_true(rs_viewer_columns_want_details(columns));
	got = rs_viewer_column_text(rs_viewer_columns_field(columns, "pid"), &line,
				    RS_VIEWER_TIME_SECONDS, 0);
	g_assert_cmpstr(got, ==, "seven");
	missing = rs_viewer_column_text(rs_viewer_columns_add_field(columns, "other"), &line,
					RS_VIEWER_TIME_SECONDS, 0);
	g_assert_cmpstr(missing, ==, "");
	/* the text stays the last one */
	g_assert_cmpint(
		((RsViewerColumn *)g_ptr_array_index(columns->columns, columns->columns->len - 1))
			->kind,
		==, RS_VIEWER_COLUMN_TEXT);
	rs_viewer_columns_remove(columns, rs_viewer_columns_field(columns, "pid"));
	g_assert_null(rs_viewer_columns_field(columns, "pid"));
}

static void test_names(void)
{
	g_autoptr(RsViewerColumns) columns = rs_viewer_columns_new();
	g_autofree char *longest = g_strnfill(257, 'a');

	g_assert_null(rs_viewer_columns_add_field(columns, ""));
	g_assert_null(rs_viewer_columns_add_field(columns, "a b"));
	g_assert_null(rs_viewer_columns_add_field(columns, "a::b"));
	g_assert_null(rs_viewer_columns_add_field(columns, "\xff"));
	g_assert_null(rs_viewer_columns_add_field(columns, longest));
	for (guint i = 0; i < RS_VIEWER_COLUMN_FIELDS; i++) {
		g_autofree char *name = g_strdup_printf("f%u", i);

		g_assert_nonnull(rs_viewer_columns_add_field(columns, name));
	}
	g_assert_null(rs_viewer_columns_add_field(columns, "more"));
	g_assert_nonnull(rs_viewer_columns_add_field(columns, "f3"));
}

static void test_files(void)
{
	g_autoptr(RsViewerColumns) a = rs_viewer_columns_new(), b = rs_viewer_columns_new();
	g_autoptr(GKeyFile) file = g_key_file_new();
	RsViewerColumn *column;

	rs_viewer_columns_of(a, RS_VIEWER_COLUMN_CPU)->shown = FALSE;
	rs_viewer_columns_of(a, RS_VIEWER_COLUMN_DELTA)->shown = TRUE;
	rs_viewer_column_set_width(rs_viewer_columns_of(a, RS_VIEWER_COLUMN_TASK), 333);
	rs_viewer_column_set_width(rs_viewer_columns_add_field(a, "next_comm"), 77);
	rs_viewer_columns_save(a, file, "list");
	rs_viewer_columns_load(b, file, "list");
	g_assert_false(rs_viewer_columns_of(b, RS_VIEWER_COLUMN_CPU)->shown);
	g_assert_true(rs_viewer_columns_of(b, RS_VIEWER_COLUMN_DELTA)->shown);
	g_assert_cmpuint(rs_viewer_columns_of(b, RS_VIEWER_COLUMN_TASK)->width, ==, 333);
	column = rs_viewer_columns_field(b, "next_comm");
	g_assert_nonnull(column);
	g_assert_cmpuint(column->width, ==, 77);
	/* what is wrong in a file */
	g_key_file_set_string(file, "list", "time-shown", "maybe");
	g_key_file_set_string(file, "list", "time-width", "-5");
	g_key_file_set_integer(file, "list", "task-width", G_MAXINT);
	g_key_file_set_string(file, "list", "fields", "ok;not a name;;");
	rs_viewer_columns_load(b, file, "list");
	g_assert_true(rs_viewer_columns_of(b, RS_VIEWER_COLUMN_TIME)->shown);
	g_assert_cmpuint(rs_viewer_columns_of(b, RS_VIEWER_COLUMN_TIME)->width, >=,
			 RS_VIEWER_COLUMN_MIN);
	g_assert_cmpuint(rs_viewer_columns_of(b, RS_VIEWER_COLUMN_TASK)->width, ==,
			 RS_VIEWER_COLUMN_MAX);
	g_assert_nonnull(rs_viewer_columns_field(b, "ok"));
	g_assert_null(rs_viewer_columns_field(b, "not a name"));
	g_assert_null(rs_viewer_columns_field(b, "next_comm")); /* which the file does not have */
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/columns/texts", test_texts);
	g_test_add_func("/columns/bound", test_bound);
	g_test_add_func("/columns/field", test_field);
	g_test_add_func("/columns/names", test_names);
	g_test_add_func("/columns/files", test_files);
	return g_test_run();
}
