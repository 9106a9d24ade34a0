/* SPDX-License-Identifier: MIT */
/*
 * TAP version 14. Its readers differ: some know no escapes, others no blocks of YAML. What could
 * be taken for a directive or for the end of a block is written so that none of them does.
 */
#include "cli/test_report_private.h"

#include <string.h>

/* `text` is after a '#'. */
static bool is_directive(const char *text)
{
	text += strspn(text, " \t");
	return !g_ascii_strncasecmp(text, "skip", 4) || !g_ascii_strncasecmp(text, "todo", 4);
}

/* A name or reason. Meson knows no "\#", so a '#' that it would believe is written in hex. */
static void append_description(GString *out, const char *text)
{
	g_autoptr(GString) line = g_string_new(NULL);

	rs_test_report_append(line, text);
	for (const char *at = line->str; *at; at++) {
		if (*at == '#' && is_directive(at + 1)) {
			g_string_append(out, "\\\\x23");
			continue;
		}
		if (*at == '#' || *at == '\\')
			g_string_append_c(out, '\\');
		g_string_append_c(out, *at);
	}
}

static void append_quoted(GString *out, const char *indent, const char *key, const char *text)
{
	g_string_append_printf(out, "%s  %s: \"", indent, key);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			g_string_append_c(out, '\\');
		g_string_append_c(out, *text);
	}
	g_string_append(out, "\"\n");
}

static void append_text(GString *out, const char *indent, const char *key, const char *text)
{
	g_autoptr(GString) line = g_string_new(NULL);

	rs_test_report_append(line, text);
	append_quoted(out, indent, key, line->str);
}

static bool is_blank(const char *line)
{
	return !line[strspn(line, " \t")];
}

/*
 * A line of a literal block. Its first line says how far the block is indented, so it may not begin
 * with a blank. Meson ends a block at any indented "...", and a reader that knows no YAML obeys a
 * "Bail out!".
 */
static void append_literal(GString *out, const char *line, bool first)
{
	gsize blanks = first ? 0 : strspn(line, " \t");

	g_string_append(out, "    ");
	if (is_blank(line)) {
		g_string_append_c(out, '\n');
		return;
	}
	g_string_append_len(out, line, (gssize)blanks);
	line += blanks;
	if (*line == ' ' || *line == '\t' || g_str_has_prefix(line, "...") ||
	    !g_ascii_strncasecmp(line, "bail out!", 9))
		g_string_append_printf(out, "\\x%02x", (guchar)*line++);
	g_string_append_printf(out, "%s\n", line);
}

static void append_story(GString *out, const char *story)
{
	g_auto(GStrv) lines = rs_test_report_split(story);
	char **first = lines;

	while (*first && is_blank(*first))
		first++;
	if (!*first)
		return;
	g_string_append(out, "  story: |\n");
	for (char **line = first; *line; line++)
		append_literal(out, *line, line == first);
}

static void append_place(GString *out, const char *indent, const char *spec, unsigned int line)
{
	append_text(out, indent, "file", spec);
	if (line)
		g_string_append_printf(out, "%s  line: %u\n", indent, line);
}

static void append_diagnostics(GString *out, const struct rs_test_outcome *outcome)
{
	g_autoptr(GString) why = g_string_new(NULL);

	rs_test_report_append_why(why, outcome);
	g_string_append(out, "  ---\n");
	append_quoted(out, "", "message", why->str);
	append_place(out, "", outcome->spec, outcome->line);
	if (outcome->evidence)
		append_text(out, "", "evidence", outcome->evidence);
	if (outcome->story)
		append_story(out, outcome->story);
	g_string_append(out, "  ...\n");
}

/* The comment stands where its parent does, and names it as the parent's own line does. */
static void append_checks(GString *out, const struct rs_test_outcome *outcome)
{
	g_string_append(out, "# Subtest: ");
	append_description(out, outcome->name);
	g_string_append_printf(out, "\n    1..%u\n", outcome->n_checks);
	for (unsigned int i = 0; i < outcome->n_checks; i++) {
		const struct rs_test_check *check = &outcome->checks[i];

		g_string_append_printf(out, "    %s %u - ", check->passed ? "ok" : "not ok", i + 1);
		append_description(out, check->name);
		g_string_append_c(out, '\n');
		if (check->passed)
			continue;
		g_string_append(out, "      ---\n");
		append_text(out, "    ", "message", check->why ? check->why : "failed");
		append_place(out, "    ", outcome->spec, check->line);
		g_string_append(out, "      ...\n");
	}
}

static void tap_begin(struct rs_test_report *report, GString *out)
{
	g_string_append_printf(out, "TAP version 14\n1..%u%s\n", report->n,
			       report->n ? "" : " # SKIP there are no tests");
}

static void tap_add(struct rs_test_report *report, const struct rs_test_outcome *outcome,
		    GString *out)
{
	bool ok = outcome->verdict == RS_TEST_PASSED || outcome->verdict == RS_TEST_SKIPPED;
	g_autoptr(GString) attempts = g_string_new(NULL);

	if (outcome->n_checks && outcome->verdict != RS_TEST_SKIPPED)
		append_checks(out, outcome);
	g_string_append_printf(out, "%s %u - ", ok ? "ok" : "not ok", report->done);
	append_description(out, outcome->name);
	if (outcome->verdict == RS_TEST_SKIPPED) {
		g_string_append(out, " # SKIP ");
		append_description(out, outcome->why ? outcome->why : "no reason is known");
	}
	g_string_append_c(out, '\n');
	if (rs_test_report_append_attempts(attempts, outcome))
		g_string_append_printf(out, "# %s\n", attempts->str);
	if (!ok)
		append_diagnostics(out, outcome);
}

static void tap_end(struct rs_test_report *report, int64_t us, GString *out)
{
	if (report->done < report->n)
		g_string_append_printf(out, "Bail out! %u tests were not begun\n",
				       report->n - report->done);
	g_string_append(out, "# ");
	rs_test_report_append_totals(out, report, us);
	g_string_append_c(out, '\n');
}

const struct rs_test_report_ops rs_test_report_tap = {
	.begin = tap_begin, .add = tap_add, .end = tap_end};
