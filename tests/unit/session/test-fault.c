/* SPDX-License-Identifier: MIT */
/* The text of a fault: what it means, and where a mistake is. */
#include "session/fault.h"

#include <errno.h>
#include <string.h>

static struct rs_fault good(const char *text)
{
	struct rs_filter_error why = {0};
	struct rs_fault fault;

	if (rs_fault_parse(text, &fault, &why))
		g_error("%s: %s", text, why.message);
	return fault;
}

/* The mistake is `part`, where it stands last. */
static void bad(const char *text, const char *part, int code, const char *message)
{
	struct rs_filter_error why = {0};
	struct rs_fault fault = {.number = 7};
	const char *at = *part ? g_strrstr(text, part) : text + strlen(text);

	g_assert_cmpint(rs_fault_parse(text, &fault, &why), ==, -code);
	g_assert_cmpuint(fault.number, ==, 7);
	g_assert_cmpint(why.code, ==, code);
	if (!strstr(why.message, message) || why.at != (unsigned int)(at - text) ||
	    why.length != MAX(strlen(part), 1))
		g_error("%s: at %u+%u: %s", text, why.at, why.length, why.message);
}

static void test_pause(void)
{
	struct rs_fault fault = good("pause for=10ms");

	g_assert_cmpint(fault.kind, ==, RS_FAULT_PAUSE);
	g_assert_cmpuint(fault.for_ns, ==, 10000000);
	g_assert_false(fault.some_cpus);
	g_assert_true(rs_fault_lasts(&fault));
	fault = good("  pause   cpu=0,64,1023 for=1.25us ");
	g_assert_cmpuint(fault.for_ns, ==, 1250);
	g_assert_true(fault.some_cpus);
	for (uint32_t i = 0; i < RS_MAX_CPUS; i++)
		g_assert_cmpint(rs_fault_has_cpu(&fault, i), ==, i == 0 || i == 64 || i == 1023);
	bad("pause", "pause", EINVAL, "for is missing");
	bad("pause for=10", "10", EINVAL, "a time is due");
	bad("pause for=0ms", "0ms", EINVAL, "a time is due");
	bad("pause for=601s", "601s", EINVAL, "a time is due");
	bad("pause for=600.1s", "600.1s", EINVAL, "a time is due");
	bad("pause for=1.s", "1.s", EINVAL, "a time is due");
	bad("pause for=99999999999999ns", "99999999999999ns", EINVAL, "a time is due");
	bad("pause for=1ms for=2ms", "for", EINVAL, "there twice");
	bad("pause for=1ms cpu=1,", "", EINVAL, "a vCPU's number");
	bad("pause for=1ms cpu=1,x,2", "x", EINVAL, "a vCPU's number");
	bad("pause for=1ms cpu=1024", "1024", EINVAL, "a vCPU's number");
	bad("pause for=1ms loudly", "loudly", EINVAL, "no such key here; there is for, cpu");
}

static void test_fail_function(void)
{
	struct rs_fault fault = good("fail function=do_it return=-12 for=1s");

	g_assert_cmpint(fault.kind, ==, RS_FAULT_FAIL_FUNCTION);
	g_assert_cmpstr(fault.place.symbol, ==, "do_it");
	g_assert_cmpuint(fault.place.at, ==, 0);
	g_assert_cmpint(fault.value, ==, -12);
	g_assert_cmpuint(fault.for_ns, ==, 1000000000);
	fault = good("fail return=0xffffffffffffffff function=0xffffffff81000000");
	g_assert_cmpstr(fault.place.symbol, ==, "");
	g_assert_cmphex(fault.place.at, ==, 0xffffffff81000000);
	g_assert_cmpint(fault.value, ==, -1);
	g_assert_cmpuint(fault.for_ns, ==, 0);
	fault = good("fail function=f.part.0+0x10 return=-9223372036854775808");
	g_assert_cmpstr(fault.place.symbol, ==, "f.part.0");
	g_assert_cmpuint(fault.place.at, ==, 16);
	g_assert_cmpint(fault.value, ==, INT64_MIN);
	bad("fail", "fail", EINVAL, "what is to fail?");
	bad("fail function=f", "fail", EINVAL, "return is missing");
	bad("fail function=a-b return=1", "a-b", EINVAL, "a symbol or an address");
	bad("fail function=f+x return=1", "x", EINVAL, "bytes behind the symbol");
	bad("fail function=0xg return=1", "0xg", EINVAL, "no address");
	bad("fail function=f return=--1", "--1", EINVAL, "a number of 64 bits");
	bad("fail function=f return=-9223372036854775809", "-9223372036854775809", EINVAL,
	    "a number of 64 bits");
	bad("fail function=f return=1 count=2", "count", EINVAL, "no such key");
}

static void test_fail_syscall(void)
{
	struct rs_fault fault = good("fail syscall=open error=ENOENT pid=12 count=3");

	g_assert_cmpint(fault.kind, ==, RS_FAULT_FAIL_SYSCALL);
	g_assert_cmpstr(fault.syscall, ==, "open");
	g_assert_cmpint(fault.error, ==, ENOENT);
	g_assert_cmpuint(fault.pid, ==, 12);
	g_assert_cmpuint(fault.count, ==, 3);
	fault = good("fail syscall=257 error=4095 comm=\"my prog*\"");
	g_assert_cmpstr(fault.syscall, ==, "");
	g_assert_cmpuint(fault.number, ==, 257);
	g_assert_cmpint(fault.error, ==, 4095);
	g_assert_cmpstr(fault.comm, ==, "my prog*");
	g_assert_cmpuint(fault.count, ==, 0);
	bad("fail syscall=open", "fail", EINVAL, "error is missing");
	bad("fail syscall=open error=ENIX", "ENIX", EINVAL, "an error is due");
	bad("fail syscall=open error=0", "0", EINVAL, "an error is due");
	bad("fail syscall=open error=4096", "4096", EINVAL, "an error is due");
	bad("fail syscall=open error=1 pid=0", "0", EINVAL, "a number from 1");
	bad("fail syscall=open error=1 pid=1 comm=a", "comm", EINVAL, "says already");
	bad("fail syscall=open error=1 count=0", "0", EINVAL, "a number from 1");
}

static void test_flip(void)
{
	struct rs_fault fault = good("flip at=jiffies+4 bit=63");

	g_assert_cmpint(fault.kind, ==, RS_FAULT_FLIP);
	g_assert_cmpstr(fault.place.symbol, ==, "jiffies");
	g_assert_cmpuint(fault.place.at, ==, 4);
	g_assert_cmphex(fault.mask, ==, 1ull << 63);
	g_assert_false(fault.place.physical);
	g_assert_false(rs_fault_lasts(&fault));
	fault = good("flip phys=0x1000 mask=0xff00");
	g_assert_true(fault.place.physical);
	g_assert_cmphex(fault.place.at, ==, 0x1000);
	g_assert_cmphex(fault.mask, ==, 0xff00);
	bad("flip bit=1", "flip", EINVAL, "where?");
	bad("flip at=a phys=1 bit=1", "flip", EINVAL, "where?");
	bad("flip at=a", "flip", EINVAL, "what?");
	bad("flip at=a bit=1 mask=1", "flip", EINVAL, "what?");
	bad("flip at=a bit=64", "64", EINVAL, "from 0 to 63");
	bad("flip at=a mask=0", "0", EINVAL, "from 1 to");
	bad("flip phys=a bit=1", "a", EINVAL, "a number from 0");
}

static void test_others(void)
{
	g_autofree char *long_one = g_strnfill(RS_FAULT_TEXT_MAX + 1, 'x');
	struct rs_filter_error why = {0};
	struct rs_error err = {0};
	struct rs_fault fault;
	uint64_t ns = 5;

	g_assert_cmpint(good("reboot").kind, ==, RS_FAULT_REBOOT);
	g_assert_cmpint(good("kill").kind, ==, RS_FAULT_KILL);
	g_assert_cmpint(good("nmi").kind, ==, RS_FAULT_NMI);
	bad("", "", EINVAL, "a fault is due");
	bad("kill -9", "-9", EINVAL, "takes none");
	bad("killed", "killed", EINVAL, "no such fault");
	bad("kill=1", "kill", EINVAL, "no such fault");
	bad("kill\t", "\t", EINVAL, "printable ASCII");
	bad("interrupt drop=3", "interrupt", ENOTSUP, "do not pass through us");
	g_assert_cmpint(rs_fault_parse(long_one, &fault, &why), ==, -EINVAL);
	g_assert_cmpint(rs_fault_parse("a a a a a a a a a a a a a a a a a", &fault, &why), ==,
			-EINVAL);
	g_assert_cmpint(rs_fault_parse("pause fo=1", &fault, &why), ==, -EINVAL);
	g_assert_cmpint(rs_fault_blame("pause fo=1", &why, &err), ==, -EINVAL);
	g_assert_cmpstr(err.message, ==,
			"bad fault\n  pause fo=1\n  ^~~~~\n"
			"for is missing: how long, such as for=10ms");
	g_assert_true(rs_fault_parse_time("0s", &ns));
	g_assert_cmpuint(ns, ==, 0);
	ns = 5;
	g_assert_false(rs_fault_parse_time("1h", &ns));
	g_assert_false(rs_fault_parse_time("", &ns));
	g_assert_cmpuint(ns, ==, 5);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fault/pause", test_pause);
	g_test_add_func("/fault/fail-function", test_fail_function);
	g_test_add_func("/fault/fail-syscall", test_fail_syscall);
	g_test_add_func("/fault/flip", test_flip);
	g_test_add_func("/fault/others", test_others);
	return g_test_run();
}
