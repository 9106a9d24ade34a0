/* SPDX-License-Identifier: MIT */
/* The check of trace files is CRC-32C, by tables as well as by the CPU's instructions. */
#include "rs-trace-crc-private.h"

#include <string.h>

/* Of the catalogues of checks, and of RFC 3720. */
static void test_known(void)
{
	static const guint8 zeros[32];
	guint8 ones[32], rising[32];

	memset(ones, 0xff, sizeof(ones));
	for (guint i = 0; i < sizeof(rising); i++)
		rising[i] = (guint8)i;
	g_assert_cmphex(rs_trace_crc("123456789", 9), ==, 0xe3069283);
	g_assert_cmphex(rs_trace_crc(zeros, sizeof(zeros)), ==, 0x8a9136aa);
	g_assert_cmphex(rs_trace_crc(ones, sizeof(ones)), ==, 0x62a8ab43);
	g_assert_cmphex(rs_trace_crc(rising, sizeof(rising)), ==, 0x46dd794e);
	g_assert_cmphex(rs_trace_crc_table((const guint8 *)"123456789", 9), ==, 0xe3069283);
	g_assert_cmphex(rs_trace_crc("", 0), ==, 0);
}

/* Of each size, and wherever it begins. */
static void test_same(void)
{
	guint8 bytes[300];
	guint32 crc;

	for (guint i = 0; i < sizeof(bytes); i++)
		bytes[i] = (guint8)(i * 37 + i / 7);
	if (!rs_trace_crc_cpu(bytes, 0, &crc)) {
		g_test_skip("this CPU has no instruction for it");
		return;
	}
	for (guint from = 0; from < 9; from++)
		for (guint size = 0; size < sizeof(bytes) - 9; size++) {
			rs_trace_crc_cpu(bytes + from, size, &crc);
			g_assert_cmphex(crc, ==, rs_trace_crc_table(bytes + from, size));
		}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/crc/known", test_known);
	g_test_add_func("/decode/crc/same", test_same);
	return g_test_run();
}
