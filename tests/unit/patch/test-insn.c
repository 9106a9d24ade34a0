/* SPDX-License-Identifier: MIT */
#include "patch/insn.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define AT ((rs_gva_t){0xffffffff81000008ull})

static void test_make(void)
{
	uint8_t jmp[5], nop[5];
	enum rs_site_text what;
	rs_gva_t to = {AT.v + 0x1234};

	rs_insn_nop(nop);
	g_assert_cmpint(rs_insn_jmp(AT, to, jmp, NULL), ==, 0);
	g_assert_cmpint(jmp[0], ==, 0xe9);
	g_assert_cmpint(rs_insn_check_site(AT, to, jmp, &what, NULL), ==, 0);
	g_assert_cmpint(what, ==, RS_TEXT_JMP);
	g_assert_cmpint(rs_insn_check_site(AT, to, nop, &what, NULL), ==, 0);
	g_assert_cmpint(what, ==, RS_TEXT_NOP);
	/* A JMP elsewhere is not ours. */
	g_assert_cmpint(rs_insn_compare(AT, (rs_gva_t){to.v + 1}, jmp), ==, RS_TEXT_FOREIGN);
	g_assert_true(rs_insn_is_switch_on(nop, jmp, 5));
	g_assert_false(rs_insn_is_switch_on(jmp, nop, 5));
	g_assert_false(rs_insn_is_switch_on(nop, jmp, 8));
}

static void test_reach(void)
{
	uint8_t jmp[5] = {1};

	g_assert_cmpint(rs_insn_jmp(AT, (rs_gva_t){AT.v + 5 + 0x7fffffff}, jmp, NULL), ==, 0);
	g_assert_cmpint(rs_insn_jmp(AT, (rs_gva_t){AT.v + 5 - 0x80000000ull}, jmp, NULL), ==, 0);
	g_assert_cmpint(rs_insn_jmp(AT, (rs_gva_t){AT.v + 5 - 0x80000001ull}, jmp, NULL), ==,
			-ERANGE);
	g_assert_cmpint(rs_insn_jmp((rs_gva_t){0x1000}, (rs_gva_t){0x80001005}, jmp, NULL), ==,
			-ERANGE);
}

static void test_foreign(void)
{
	static const uint8_t others[][5] = {
		{0x0f, 0x1f, 0x44, 0x00, 0x01}, {0x66, 0x0f, 0x1f, 0x44, 0x00},
		{0xcc, 0x1f, 0x44, 0x00, 0x00}, {0x90, 0x90, 0x90, 0x90, 0x90},
		{0xe8, 0x2f, 0x12, 0x00, 0x00}, {0, 0, 0, 0, 0},
	};
	enum rs_site_text what = RS_TEXT_NOP;
	struct rs_error err = {0};

	for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
		g_assert_cmpint(
			rs_insn_check_site(AT, (rs_gva_t){AT.v + 0x1234}, others[i], &what, &err),
			==, -EILSEQ);
	g_assert_nonnull(strstr(err.message, "00 00 00 00 00"));
	g_assert_cmpint(what, ==, RS_TEXT_NOP); /* untouched */
}

static void test_word(void)
{
	for (uint64_t at = 0; at < 16; at++)
		g_assert_cmpint(rs_insn_in_one_word((rs_gva_t){at}), ==, at / 8 == (at + 4) / 8);
}

static void test_target(void)
{
	static const uint8_t mov[] = {0x48, 0x89, 0xe5, 0xff}; /* mov rbp, rsp */
	static const uint8_t bad[] = {0x06};                   /* push es: not in 64-bit mode */
	struct rs_jump_target seen;

	g_assert_cmpint(rs_insn_check_target(AT, mov, sizeof(mov), &seen, NULL), ==, 0);
	g_assert_cmpint(seen.size, ==, 3);
	g_assert_cmpint(rs_insn_check_target(AT, bad, sizeof(bad), &seen, NULL), ==, -EILSEQ);
	g_assert_cmpint(rs_insn_check_target(AT, mov, 2, &seen, NULL), ==, -EILSEQ); /* cut */
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/patch/insn/make", test_make);
	g_test_add_func("/patch/insn/reach", test_reach);
	g_test_add_func("/patch/insn/foreign", test_foreign);
	g_test_add_func("/patch/insn/word", test_word);
	g_test_add_func("/patch/insn/target", test_target);
	return g_test_run();
}
