/* SPDX-License-Identifier: MIT */
/* What is offered at each place of an expression. The cursor is where "|" stands. */
#include "app/rs-viewer-complete.h"

#include <string.h>

static const char format[] = "name: switch\n"
			     "ID: 78\n"
			     "format:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
			     "\n"
			     "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			     "\tfield:u32 prev_pid;\toffset:24;\tsize:4;\tsigned:0;\n"
			     "\tfield:u32 prev_state;\toffset:28;\tsize:4;\tsigned:0;\n"
			     "\tfield:u8 raw[4];\toffset:32;\tsize:4;\tsigned:0;\n"
			     "\tfield:__data_loc char[] why;\toffset:52;\tsize:4;\tsigned:0;\n"
			     "\n"
			     "print fmt: \"%s %u\", REC->prev_comm, "
			     "__print_symbolic(REC->prev_state, {0x0, \"running\"}, "
			     "{0x1, \"long wait\"}, {0x2, \"say \\\"x\\\"\"}), __get_str(why)\n";

static void test_fields(void)
{
	g_autoptr(GPtrArray) fields = rs_viewer_fields_parse(format);
	const RsViewerField *field;

	g_assert_cmpuint(fields->len, ==, 9);
	field = rs_viewer_fields_find(fields, "prev_comm", 9);
	g_assert_cmpint(field->kind, ==, RS_VIEWER_FIELD_TEXT);
	g_assert_cmpstr(field->type, ==, "char [16]");
	field = rs_viewer_fields_find(fields, "why", 3);
	g_assert_cmpint(field->kind, ==, RS_VIEWER_FIELD_TEXT);
	g_assert_cmpstr(field->type, ==, "__data_loc char[]");
	field = rs_viewer_fields_find(fields, "raw", 3);
	g_assert_cmpint(field->kind, ==, RS_VIEWER_FIELD_OTHER);
	field = rs_viewer_fields_find(fields, "prev_state", 10);
	g_assert_cmpint(field->kind, ==, RS_VIEWER_FIELD_NUMBER);
	g_assert_cmpuint(field->symbols->len, ==, 3);
	g_assert_cmpstr(field->symbols->pdata[1], ==, "long wait");
	g_assert_null(rs_viewer_fields_find(fields, "common_pid", 10));
	g_assert_null(rs_viewer_fields_find(fields, "prev", 4));
	g_assert_nonnull(rs_viewer_fields_find(fields, "TGID", 4));
}

/* What a guest may say. */
static void test_hostile(void)
{
	static const char *const bad[] = {
		"",
		"\tfield:;",
		"\tfield:]",
		"\tfield:[];",
		"\tfield:u32 ;",
		"\tfield:x",
		"print fmt: __print_symbolic(REC->",
		"print fmt: __print_symbolic(REC->a, {\"",
		"\tfield:u32 a;\nprint fmt: \"\", __print_symbolic(REC->a, {0, \"x\\",
		"\tfield:u32 a;\nprint fmt: \"\", __print_flags(REC->a, \"|\", {0, \"",
	};
	g_autoptr(GString) many = g_string_new(NULL);
	g_autoptr(GPtrArray) fields = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GPtrArray) some = rs_viewer_fields_parse(bad[i]);

		g_assert_cmpuint(some->len, >=, 4);
		g_assert_cmpuint(some->len, <=, 5);
	}
	for (guint i = 0; i < 5000; i++)
		g_string_append_printf(many, "\tfield:u32 f%u;\n", i);
	fields = rs_viewer_fields_parse(many->str);
	g_assert_cmpuint(fields->len, <, 600);
}

/* The candidates, joined by commas, without the space behind each. To be freed. */
static char *offered(const char *marked, gsize *start, gsize *end)
{
	g_autoptr(GPtrArray) fields = rs_viewer_fields_parse(format);
	g_autofree char *text = g_strdup(marked);
	char *cursor = strchr(text, '|');
	g_autoptr(RsViewerCompletion) completion = NULL;
	g_autoptr(GString) out = g_string_new(NULL);
	gsize at;

	/* The last one: "||" may come before it. */
	cursor = strrchr(text, '|');
	at = (gsize)(cursor - text);
	memmove(cursor, cursor + 1, strlen(cursor));
	completion = rs_viewer_complete(text, at, fields);
	for (guint i = 0; i < completion->candidates->len; i++) {
		const RsViewerCandidate *candidate = completion->candidates->pdata[i];

		g_assert_true(g_str_has_suffix(candidate->text, " "));
		g_string_append_printf(out, "%s%s", i ? "," : "", candidate->text);
		g_string_truncate(out, out->len - 1);
	}
	*start = completion->start;
	*end = completion->end;
	g_assert_cmpuint(*start, <=, at);
	g_assert_cmpuint(*end, >=, at);
	g_assert_cmpuint(*end, <=, strlen(text));
	return g_strdup(out->str);
}

#define FIELDS "prev_comm,prev_pid,prev_state,why,COMM,CPU,PID,TGID"
#define NUMBER "==,!=,<,<=,>,>=,&,&&,||"

static void test_places(void)
{
	static const struct {
		const char *marked, *offered;
		gsize start, end;
	} places[] = {
		{"|", FIELDS, 0, 0},
		{"pr|", "prev_comm,prev_pid,prev_state", 0, 2},
		{"prev_p|", "prev_pid", 0, 6},
		{"prev_p|id == 3", "prev_pid", 0, 8},
		{"p|", "prev_comm,prev_pid,prev_state,PID", 0, 1},
		{"nix|", "", 0, 3},
		{"prev_pid |", NUMBER, 9, 9},
		{"prev_pid <|", "<,<=", 9, 10},
		{"prev_comm |", "==,!=,~,!~,&&,||", 10, 10},
		{"prev_comm &|", "&&", 10, 11},
		{"!prev_pid &|", "&,&&", 10, 11},
		{"!prev_pid && |", FIELDS, 13, 13},
		{"prev_comm !|", "!=,!~", 10, 11},
		{"nix |", "==,!=,<,<=,>,>=,~,!~,&,&&,||", 4, 4},
		{"prev_state == |", "running,\"long wait\",\"say \\\"x\\\"\"", 14, 14},
		{"prev_state==|", "==", 10, 12},
		{"prev_state == r|", "running", 14, 15},
		{"prev_state == \"lo|", "\"long wait\"", 14, 17},
		{"prev_pid == |", "", 12, 12},
		{"prev_pid == 3 |", "&&,||", 14, 14},
		{"prev_pid == 3 &|", "&&", 14, 15},
		{"prev_pid == 3 && |", FIELDS, 17, 17},
		{"prev_pid == 3 || c|", "COMM,CPU", 17, 18},
		{"prev_pid == 3 && !(prev_s|", "prev_state", 19, 25},
		{"(prev_pid == 3) |", "&&,||", 16, 16},
		{"why ~ \"a && b\" |", "&&,||", 15, 15},
		{"why ~ 'it\\'s' && |", FIELDS, 17, 17},
		{"prev_pid & 3 |", "&&,||", 13, 13},
		{"é == 3 && t|", "TGID", 11, 12},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
		gsize start, end;
		g_autofree char *text = offered(places[i].marked, &start, &end);

		g_test_message("%s", places[i].marked);
		g_assert_cmpstr(text, ==, places[i].offered);
		if (*text) {
			g_assert_cmpuint(start, ==, places[i].start);
			g_assert_cmpuint(end, ==, places[i].end);
		}
	}
}

/* Any text with the cursor anywhere ends, and gives a place in it. */
static void test_any(void)
{
	static const char signs[] = "ap&|=<>!~()\"'\\ 3";

	for (guint i = 0; i < 20000; i++) {
		char text[24];
		gsize size = (gsize)g_test_rand_int_range(0, sizeof(text) - 2), start, end;
		g_autofree char *unused = NULL;
		gsize at;

		for (gsize k = 0; k < size; k++)
			text[k] = signs[g_test_rand_int_range(0, sizeof(signs) - 1)];
		at = (gsize)g_test_rand_int_range(0, (gint)size + 1);
		/* offered() takes the last one for the cursor. */
		for (gsize k = at; k < size; k++)
			text[k] = text[k] == '|' ? '&' : text[k];
		memmove(text + at + 1, text + at, size - at);
		text[at] = '|';
		text[size + 1] = '\0';
		unused = offered(text, &start, &end);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/app/complete/fields", test_fields);
	g_test_add_func("/app/complete/hostile", test_hostile);
	g_test_add_func("/app/complete/places", test_places);
	g_test_add_func("/app/complete/any", test_any);
	return g_test_run();
}
