/* SPDX-License-Identifier: MIT */
/* Rows of events, which a session or its guests may have made up, and the table of them. */
#include "cli/list_events.h"
#include "cli/list_rows.h"

/* Rows as text: aa{sv}. */
static GVariant *rows(const char *text)
{
	GVariant *parsed = g_variant_parse(G_VARIANT_TYPE("aa{sv}"), text, NULL, NULL, NULL);

	g_assert_nonnull(parsed);
	return parsed;
}

static void check_table(const char *text, const char *expected)
{
	g_autoptr(GVariant) events = rows(text);
	g_autoptr(rs_cli_table) table = rs_cli_event_table(events, events, NULL, false);
	g_autoptr(GString) out = g_string_new(NULL);

	rs_cli_table_append(table, 0, out);
	g_assert_cmpstr(out->str, ==, expected);
}

/* An event may have a level, a keyword, both or neither. */
static void test_levels(void)
{
	check_table("[{'id': <uint32 2>, 'system': <'s'>, 'name': <'plain'>, 'sites': <uint32 1>}]",
		    "ID  ON  SITES  EVENT\n"
		    " 2  -       1  s:plain\n");
	check_table("[{'id': <uint32 2>, 'system': <'s'>, 'name': <'both'>, 'level': <uint32 3>,"
		    "  'keyword': <uint64 6>, 'enabled': <true>},"
		    " {'id': <uint32 3>, 'system': <'s'>, 'name': <'keyword'>,"
		    "  'keyword': <uint64 16>},"
		    " {'id': <uint32 4>, 'system': <'s'>, 'name': <'level'>,"
		    "  'level': <uint32 5>},"
		    " {'id': <uint32 5>, 'system': <'s'>, 'name': <'neither'>}]",
		    "ID  ON  SITES  LEVEL  KEYWORD  EVENT\n"
		    " 2  on      0      3  0x6      s:both\n"
		    " 3  -       0         0x10     s:keyword\n"
		    " 4  -       0      5           s:level\n"
		    " 5  -       0                  s:neither\n");
}

/* What a row lacks, what has another type, and what comes twice. */
static void test_hostile(void)
{
	g_autoptr(GVariant) events = rows("[{'id': <'x'>, 'system': <uint32 1>, 'nix': <1>,"
					  "  'name': <'first'>, 'name': <'second'>,"
					  "  'owners': <[{'name': <'a'>}]>,"
					  "  'owners': <[{'name': <'b'>}, {'name': <1>}]>},"
					  " {}]");
	struct rs_cli_event event = {0};
	struct rs_cli_wish wish;
	GVariantIter iter, wishes;

	g_variant_iter_init(&iter, events);
	g_assert_true(rs_cli_next_event(&iter, &event));
	g_assert_cmpuint(event.id, ==, 0);
	g_assert_cmpstr(event.system, ==, "");
	g_assert_cmpstr(event.name, ==, "first");
	g_variant_iter_init(&wishes, event.owners);
	g_assert_true(rs_cli_next_wish(&wishes, &wish));
	g_assert_cmpstr(wish.name, ==, "a");
	g_assert_false(rs_cli_next_wish(&wishes, &wish));
	g_assert_true(rs_cli_next_event(&iter, &event));
	g_assert_cmpstr(event.name, ==, "");
	g_assert_null(event.owners);
	g_assert_false(rs_cli_next_event(&iter, &event));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cli/list-events/levels", test_levels);
	g_test_add_func("/cli/list-events/hostile", test_hostile);
	return g_test_run();
}
