/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-keys.h"

#include <string.h>

static RsTraceCell text(const char *of)
{
	return (RsTraceCell){.kind = RS_TRACE_CELL_TEXT, .text = of, .size = strlen(of)};
}

static RsTraceCell number(guint64 of)
{
	return (RsTraceCell){.kind = RS_TRACE_CELL_NUMBER, .number = of};
}

static void count(RsTraceKeys *keys, guint source, RsTraceCell cell)
{
	++*(guint64 *)rs_trace_keys_get(keys, source, &cell);
}

static int compare(gconstpointer a, gconstpointer b)
{
	const RsTraceKey *x = *(RsTraceKey *const *)a, *y = *(RsTraceKey *const *)b;
	int order = strcmp(x->label, y->label);

	return order ? order : (int)x->source - (int)y->source;
}

/* "label=count" of all keys. */
static char *show(const RsTraceKeys *keys)
{
	g_autoptr(GPtrArray) list = rs_trace_keys_list(keys);
	GString *out = g_string_new(NULL);

	g_assert_cmpuint(list->len, ==, rs_trace_keys_n(keys));
	g_ptr_array_sort(list, compare);
	for (guint i = 0; i < list->len; i++) {
		const RsTraceKey *key = list->pdata[i];

		g_string_append_printf(out, "%s%s=%u", i ? " " : "", key->label,
				       (guint) * (guint64 *)key->value);
	}
	return g_string_free(out, FALSE);
}

static void test_keys(void)
{
	g_autoptr(RsTraceKeys) keys = rs_trace_keys_new(100, sizeof(guint64), NULL);
	const RsTraceCell minus = {.kind = RS_TRACE_CELL_SIGNED, .number = (guint64)-3};
	const RsTraceCell none = text("c");
	g_autofree char *got = NULL;

	count(keys, 0, text("a"));
	count(keys, 0, text("a"));
	count(keys, 0, text("ab"));
	count(keys, 0, text(""));
	count(keys, 0, text("7"));
	count(keys, 0, number(7)); /* a number is no text */
	count(keys, 1, text("a")); /* of another source */
	count(keys, 0, minus);
	got = show(keys);
	g_assert_cmpstr(got, ==, "=1 -3=1 7=1 7=1 a=2 a=1 ab=1");
	g_assert_null(rs_trace_keys_find(keys, 0, &none));
}

/* Events may call one number different names, and one name may be of two numbers. */
static void test_names_of_numbers(void)
{
	static const RsTraceSymbol a[] = {{1, "go"}, {2, "go"}}, b[] = {{1, "stop"}};
	const RsTraceField fields[] = {{.kind = RS_KIND_ENUM, .symbols = a, .n_symbols = 2},
				       {.kind = RS_KIND_ENUM, .symbols = b, .n_symbols = 1}};
	g_autoptr(RsTraceKeys) keys = rs_trace_keys_new(9, sizeof(guint64), NULL);
	g_autofree char *got = NULL;

	for (guint i = 0; i < 8; i++)
		count(keys, 0,
		      (RsTraceCell){.kind = RS_TRACE_CELL_SYMBOL,
				    .number = i % 4 / 2 + 1,
				    .field = &fields[i % 2]});
	count(keys, 0, number(1));
	got = show(keys);
	g_assert_cmpstr(got, ==, "0x2=2 1=1 go=2 go=2 stop=2");
}

/* A hostile trace may have any number of keys, of any length. */
static void test_bounds(void)
{
	g_autoptr(RsTraceKeys) keys = rs_trace_keys_new(2, sizeof(guint64), NULL);
	g_autofree char *same = g_strnfill(RS_TRACE_KEY_TEXT, 'a');
	g_autofree char *one = g_strconcat(same, "b", NULL), *two = g_strconcat(same, "c", NULL);
	g_autofree char *want = NULL, *got = NULL;

	count(keys, 0, text(one));
	count(keys, 0, text(two));
	count(keys, 0, number(5));
	for (guint i = 0; i < 1000; i++)
		count(keys, i, number(6 + i));
	count(keys, 0, number(5));
	got = show(keys);
	want = g_strdup_printf("(other)=1000 5=2 %s=2", same);
	g_assert_cmpstr(got, ==, want);
}

static void test_removal(void)
{
	g_autoptr(RsTraceKeys) keys = rs_trace_keys_new(2, sizeof(guint64), NULL);
	const RsTraceCell five = number(5);
	g_autofree char *got = NULL;

	count(keys, 0, five);
	count(keys, 0, number(6));
	rs_trace_keys_remove(keys, rs_trace_keys_find(keys, 0, &five));
	g_assert_null(rs_trace_keys_find(keys, 0, &five));
	count(keys, 0, number(7));
	got = show(keys);
	g_assert_cmpstr(got, ==, "6=1 7=1");
}

static void test_symbols(void)
{
	static const RsTraceSymbol symbols[] = {{1, "A"}, {2, "B"}};
	const RsTraceField field = {
		.kind = RS_KIND_FLAGS, .size = 4, .n_symbols = 2, .symbols = symbols};
	g_autoptr(RsTraceKeys) keys = rs_trace_keys_new(9, sizeof(guint64), NULL);
	g_autofree char *got = NULL;

	for (guint i = 0; i < 5; i++)
		count(keys, 0,
		      (RsTraceCell){.kind = RS_TRACE_CELL_SYMBOL, .number = i, .field = &field});
	got = show(keys);
	g_assert_cmpstr(got, ==, "=1 0x4=1 A=1 A|B=1 B=1");
}

static guint cleared;

static void on_clear(gpointer value)
{
	cleared += (guint) * (guint64 *)value;
}

static void test_values_are_cleared(void)
{
	RsTraceKeys *keys = rs_trace_keys_new(1, sizeof(guint64), on_clear);

	count(keys, 0, number(1));
	count(keys, 0, number(1));
	count(keys, 0, number(2));
	rs_trace_keys_free(keys);
	g_assert_cmpuint(cleared, ==, 3);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/analysis/keys/keys", test_keys);
	g_test_add_func("/analysis/keys/names", test_names_of_numbers);
	g_test_add_func("/analysis/keys/bounds", test_bounds);
	g_test_add_func("/analysis/keys/removal", test_removal);
	g_test_add_func("/analysis/keys/symbols", test_symbols);
	g_test_add_func("/analysis/keys/cleared", test_values_are_cleared);
	return g_test_run();
}
