/* SPDX-License-Identifier: MIT */
/* Workflow commands of GitHub's runners: an annotation for what did not pass, and the totals. */
#include "cli/test_report_private.h"

#include <string.h>

/* `property`: the text stands before the "::" that ends all properties. */
static void append_escaped(GString *out, const char *text, bool property)
{
	for (; *text; text++) {
		if (*text == '%' || *text == '\r' || *text == '\n' ||
		    (property && strchr(":,", *text)))
			g_string_append_printf(out, "%%%02X", (guchar)*text);
		else
			g_string_append_c(out, *text);
	}
}

static void append_property(GString *out, const char *name, const char *text)
{
	g_autoptr(GString) plain = g_string_new(NULL);

	rs_test_report_append(plain, text);
	g_string_append(out, name);
	g_string_append_c(out, '=');
	append_escaped(out, plain->str, true);
}

static void add_lines(GString *message, char **lines)
{
	for (; lines && *lines; lines++)
		g_string_append_printf(message, "\n%s", *lines);
}

/* A single failed check is the reason itself. */
static void append_message(GString *out, const struct rs_test_outcome *outcome)
{
	g_autoptr(GString) message = g_string_new(NULL);
	g_auto(GStrv) failed = rs_test_report_failed(outcome);

	rs_test_report_append_why(message, outcome);
	if (failed && failed[1])
		add_lines(message, failed);
	if (outcome->story) {
		g_auto(GStrv) story = rs_test_report_split(outcome->story);

		add_lines(message, story);
	}
	if (outcome->evidence) {
		g_string_append(message, "\nevidence: ");
		rs_test_report_append(message, outcome->evidence);
	}
	append_escaped(out, message->str, false);
}

/* Who looks at a run that is green should know of it. */
static void add_attempts(GString *out, const struct rs_test_outcome *outcome)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (!rs_test_report_append_attempts(text, outcome))
		return;
	g_string_append(out, "::warning ");
	append_property(out, "file", outcome->spec);
	append_property(out, ",title", outcome->name);
	g_string_append(out, "::");
	append_escaped(out, text->str, false);
	g_string_append_c(out, '\n');
}

static void github_add(struct rs_test_report *report, const struct rs_test_outcome *outcome,
		       GString *out)
{
	bool skipped = outcome->verdict == RS_TEST_SKIPPED;

	if (outcome->verdict == RS_TEST_PASSED) {
		add_attempts(out, outcome);
		return;
	}
	g_string_append(out, skipped ? "::notice " : "::error ");
	append_property(out, "file", outcome->spec);
	if (outcome->line)
		g_string_append_printf(out, ",line=%u", outcome->line);
	append_property(out, ",title", outcome->name);
	g_string_append(out, skipped ? "::skipped: " : "::");
	append_message(out, outcome);
	g_string_append_c(out, '\n');
}

static void github_end(struct rs_test_report *report, int64_t us, GString *out)
{
	rs_test_report_append_totals(out, report, us);
	g_string_append_c(out, '\n');
}

const struct rs_test_report_ops rs_test_report_github = {.add = github_add, .end = github_end};
