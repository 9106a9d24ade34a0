/* SPDX-License-Identifier: MIT */
/* The rules for names, which agent and host share. */
#include <glib.h>
#include <ringside/name.h>
#include <string.h>

typedef bool (*Rule)(const char *);

static bool is_type(const char *text)
{
	return rs_is_type(text, RS_SYMBOL_LEN);
}

static const struct {
	const char *text;
	bool name, field, type, symbol;
} cases[] = {
	{"sched", true, true, true, true},
	{"_x9", true, true, true, true},
	{"9p", true, false, true, true},
	{"a-b.c", true, false, false, true},
	{"Company_Org_Component", true, true, true, true},
	{"-a", false, false, false, true},
	{".a", false, false, false, true},
	{"u8 *[4]", false, false, true, true},
	{"", false, false, false, false},
	{"a b", false, false, true, true},
	{"a:b", false, false, false, true},
	{"a/b", false, false, false, true},
	{"a*", false, false, true, true},
	{"a\nb", false, false, false, false},
	{"\x7f", false, false, false, false},
	{"caf\xc3\xa9", false, false, false, true},
	{"caf\xc3", false, false, false, false},
	{"\xc2\x9b", false, false, false, false}, /* a control character beyond ASCII */
	{"\xc0\xaf", false, false, false, false}, /* a second form of '/' */
	{"\xed\xa0\x80", false, false, false, false},
	{"\xf4\x90\x80\x80", false, false, false, false},
	{"\xf0\x9f\x99\x82", false, false, false, true},
};

static void test_cases(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *shown = g_strescape(cases[i].text, NULL);

		g_test_message("%s", shown);
		g_assert_true(rs_is_name(cases[i].text) == cases[i].name);
		g_assert_true(rs_is_field_name(cases[i].text) == cases[i].field);
		g_assert_true(is_type(cases[i].text) == cases[i].type);
		g_assert_true(rs_is_symbol(cases[i].text) == cases[i].symbol);
	}
	g_assert_false(rs_is_name(NULL));
	g_assert_false(rs_is_field_name(NULL));
	g_assert_false(is_type(NULL));
	g_assert_false(rs_is_symbol(NULL));
}

static void test_lengths(void)
{
	static const struct {
		Rule rule;
		uint32_t room;
	} rules[] = {{rs_is_name, RS_NAME_MAX},
		     {rs_is_field_name, RS_NAME_MAX},
		     {is_type, RS_SYMBOL_LEN},
		     {rs_is_symbol, RS_SYMBOL_LEN}};

	for (guint i = 0; i < G_N_ELEMENTS(rules); i++) {
		g_autofree char *most = g_strnfill(rules[i].room - 1, 'a');
		g_autofree char *over = g_strnfill(rules[i].room, 'a');

		g_assert_true(rules[i].rule(most));
		g_assert_false(rules[i].rule(over));
	}
	/* What LinuxTracepoints leaves to a provider. */
	g_assert_cmpuint(RS_NAME_MAX, >, 233);
}

/* GLib has the other opinion: all short texts of bytes at the borders of UTF-8. */
static void test_characters(void)
{
	static const unsigned char edges[] = {
		0x1f, 0x20, 0x7e, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xc3,
		0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff, 0x00};
	guint n = G_N_ELEMENTS(edges);

	for (guint i = 0; i < n * n * n * n; i++) {
		const char text[] = {(char)edges[i % n], (char)edges[i / n % n],
				     (char)edges[i / n / n % n], (char)edges[i / n / n / n], 0};
		gboolean good = text[0] && g_utf8_validate(text, -1, NULL);

		for (const char *c = text; good && *c; c = g_utf8_next_char(c))
			good = !g_unichar_iscntrl(g_utf8_get_char(c));
		g_assert_true(rs_is_symbol(text) == good);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/shared/name/cases", test_cases);
	g_test_add_func("/shared/name/lengths", test_lengths);
	g_test_add_func("/shared/name/characters", test_characters);
	return g_test_run();
}
