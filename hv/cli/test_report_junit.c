/* SPDX-License-Identifier: MIT */
/*
 * JUnit XML, as Jenkins and others read it. All text is escaped for a terminal first. Then it is
 * UTF-8 without control characters, so that markup is all that is left to escape.
 */
#include "cli/test_report_private.h"

static void append_markup(GString *out, const char *plain)
{
	g_autofree char *markup = g_markup_escape_text(plain, -1);

	g_string_append(out, markup);
}

static void append_text(GString *out, const char *text)
{
	g_autoptr(GString) plain = g_string_new(NULL);

	rs_test_report_append(plain, text);
	append_markup(out, plain->str);
}

/* ` name="text"` */
static void append_attribute(GString *out, const char *name, const char *text)
{
	g_string_append_printf(out, " %s=\"", name);
	append_text(out, text);
	g_string_append_c(out, '"');
}

static void append_time(GString *out, int64_t us)
{
	g_string_append(out, " time=\"");
	rs_test_report_append_seconds(out, us, 3);
	g_string_append_c(out, '"');
}

/* <failure> or <error>, with the places of what failed. */
static void append_fault(GString *out, const char *element, const char *type,
			 const struct rs_test_outcome *outcome)
{
	g_auto(GStrv) failed = rs_test_report_failed(outcome);

	g_string_append_printf(out, "      <%s", element);
	append_attribute(out, "message", outcome->why ? outcome->why : "no reason is known");
	append_attribute(out, "type", type);
	g_string_append_c(out, '>');
	if (!failed) {
		append_text(out, outcome->spec);
		if (outcome->line)
			g_string_append_printf(out, ":%u", outcome->line);
	}
	for (guint i = 0; failed && failed[i]; i++) {
		if (i)
			g_string_append_c(out, '\n');
		append_markup(out, failed[i]);
	}
	g_string_append_printf(out, "</%s>\n", element);
}

/*
 * Readers attach the files that such a line names, wherever they are. A guest's text may not say
 * which.
 */
static void append_story(GString *out, const char *story)
{
	g_auto(GStrv) lines = rs_test_report_split(story);

	for (char **line = lines; *line; line++) {
		g_autoptr(GString) tame = g_string_new(*line);

		g_string_replace(tame, "[[ATTACHMENT|", "[[ATTACHMENT\\x7c", 0);
		append_markup(out, tame->str);
		g_string_append_c(out, '\n');
	}
}

static void append_output(GString *out, const struct rs_test_outcome *outcome)
{
	g_autoptr(GString) attempts = g_string_new(NULL);

	if (!rs_test_report_append_attempts(attempts, outcome) && !outcome->story &&
	    !outcome->evidence)
		return;
	g_string_append(out, "      <system-out>");
	if (attempts->len) {
		append_text(out, attempts->str);
		g_string_append_c(out, '\n');
	}
	if (outcome->story)
		append_story(out, outcome->story);
	if (outcome->evidence) {
		g_string_append(out, "[[ATTACHMENT|");
		append_text(out, outcome->evidence);
		g_string_append(out, "]]\n");
	}
	g_string_append(out, "</system-out>\n");
}

static void junit_add(struct rs_test_report *report, const struct rs_test_outcome *outcome,
		      GString *out)
{
	GString *body = report->body;

	g_string_append(body, "    <testcase");
	append_attribute(body, "classname", outcome->spec);
	append_attribute(body, "name", outcome->name);
	append_time(body, outcome->us);
	g_string_append(body, ">\n");
	switch (outcome->verdict) {
	case RS_TEST_PASSED:
		break;
	case RS_TEST_FAILED:
		append_fault(body, "failure", "expectation", outcome);
		break;
	case RS_TEST_BROKEN:
		append_fault(body, "error", "broken", outcome);
		break;
	case RS_TEST_NOT_RUN:
		append_fault(body, "error", "not-run", outcome);
		break;
	case RS_TEST_SKIPPED:
		g_string_append(body, "      <skipped");
		append_attribute(body, "message",
				 outcome->why ? outcome->why : "no reason is known");
		g_string_append(body, "/>\n");
		break;
	}
	append_output(body, outcome);
	g_string_append(body, "    </testcase>\n");
}

static void append_counts(GString *out, const struct rs_test_report *report)
{
	g_string_append_printf(out,
			       " name=\"ringside test\" tests=\"%u\" failures=\"%u\" errors=\"%u\"",
			       report->done, report->counts[RS_TEST_FAILED],
			       report->counts[RS_TEST_BROKEN] + report->counts[RS_TEST_NOT_RUN]);
}

static void junit_end(struct rs_test_report *report, int64_t us, GString *out)
{
	g_string_append(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
	append_counts(out, report);
	append_time(out, us);
	g_string_append(out, ">\n  <testsuite");
	append_counts(out, report);
	g_string_append_printf(out, " skipped=\"%u\"", report->counts[RS_TEST_SKIPPED]);
	append_time(out, us);
	g_string_append(out, ">\n");
	g_string_append_len(out, report->body->str, (gssize)report->body->len);
	g_string_append(out, "  </testsuite>\n</testsuites>\n");
}

const struct rs_test_report_ops rs_test_report_junit = {.add = junit_add, .end = junit_end};
