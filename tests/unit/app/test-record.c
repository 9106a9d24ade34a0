/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-record.h"

#include <string.h>

static void check(char *got, const char *want)
{
	g_assert_cmpstr(got, ==, want);
	g_free(got);
}

static void test_flags(void)
{
	check(rs_viewer_record_flags("....."), "");
	check(rs_viewer_record_flags(""), "");
	check(rs_viewer_record_flags("d...."), "interrupts off");
	check(rs_viewer_record_flags("dnh21"),
	      "interrupts off; another task is to run; in an interrupt; "
	      "preemption disabled 2 times; migration disabled 1 times");
	check(rs_viewer_record_flags("..Hf."),
	      "in an interrupt; in a soft interrupt; preemption disabled 15 times");
	check(rs_viewer_record_flags("..Z.."), "in a non-maskable interrupt; in an interrupt");
}

static void test_bytes(void)
{
	g_autoptr(GBytes) none = g_bytes_new(NULL, 0);
	g_autoptr(GBytes) some = g_bytes_new_static("ab\0\377 0123456789ABCD", 19);

	check(rs_viewer_record_bytes(NULL, 100), "");
	check(rs_viewer_record_bytes(none, 100), "");
	check(rs_viewer_record_bytes(some, 100),
	      "0000  61 62 00 ff 20 30 31 32  33 34 35 36 37 38 39 41  ab.. 0123456789A\n"
	      "0010  42 43 44                                          BCD");
	check(rs_viewer_record_bytes(some, 2),
	      "0000  61 62                                             ab\n"
	      "and 17 more bytes");
}

static void test_fields(void)
{
	char pid[] = "pid", type[] = "u32", seven[] = "7", why[] = "why", exit[] = "exit",
	     four[] = "4";
	RsTraceRowField fields[] = {{pid, type, seven, seven}, {why, type, exit, four}};
	g_autoptr(GPtrArray) array = g_ptr_array_new();
	RsTraceRow row = {.fields = array};
	RsTraceRow none = {0};

	g_ptr_array_add(array, &fields[0]);
	g_ptr_array_add(array, &fields[1]);
	check(rs_viewer_record_fields(&row), "pid\tu32\t7\t7\nwhy\tu32\texit\t4");
	check(rs_viewer_record_fields(&none), "");
}

static void test_stack(void)
{
	char inner[] = "schedule+0x12", outer[] = "0x401234";
	char *names[] = {inner, outer, NULL};
	guint64 addresses[] = {0xffffffff81000012, 0x401234};
	RsTraceRow row = {.stack = names, .addresses = addresses};

	check(rs_viewer_record_stack(&row), "0xffffffff81000012 schedule+0x12\n0x401234 0x401234");
}

static void test_shorten(void)
{
	check(rs_viewer_record_shorten("abc", 3), "abc");
	check(rs_viewer_record_shorten("abcd", 3), "abc…");
	check(rs_viewer_record_shorten("ab€", 4), "ab…");
	check(rs_viewer_record_shorten("ab€", 5), "ab€");
	check(rs_viewer_record_shorten("", 0), "");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/flags", test_flags);
	g_test_add_func("/record/bytes", test_bytes);
	g_test_add_func("/record/fields", test_fields);
	g_test_add_func("/record/stack", test_stack);
	g_test_add_func("/record/shorten", test_shorten);
	return g_test_run();
}
