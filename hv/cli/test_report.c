/* SPDX-License-Identifier: MIT */
/* The dispatcher, what formats share, and the text for people. */
#include "cli/test_report_private.h"

#include "cli/color.h"

#include <rs-trace-escape.h>
#include <string.h>

/* ---- shared ---- */

void rs_test_report_append(GString *out, const char *text)
{
	rs_trace_append_escaped(out, text, strlen(text), NULL);
}

char **rs_test_report_split(const char *text)
{
	char **lines = g_strsplit(text, "\n", -1);
	guint n = g_strv_length(lines);

	for (guint i = 0; i < n; i++) {
		char *raw = lines[i];
		gsize length = strlen(raw);

		/* Consoles end their lines with both. */
		while (length && raw[length - 1] == '\r')
			length--;
		lines[i] = rs_trace_escape(raw, (gssize)length, "\t");
		g_free(raw);
	}
	while (n && !*lines[n - 1])
		g_clear_pointer(&lines[--n], g_free);
	return lines;
}

char **rs_test_report_failed(const struct rs_test_outcome *outcome)
{
	GPtrArray *lines = g_ptr_array_new();

	for (unsigned int i = 0; i < outcome->n_checks; i++) {
		const struct rs_test_check *check = &outcome->checks[i];
		GString *line;

		if (check->passed)
			continue;
		line = g_string_new(NULL);
		rs_test_report_append(line, outcome->spec);
		if (check->line)
			g_string_append_printf(line, ":%u", check->line);
		g_string_append(line, ": ");
		rs_test_report_append(line, check->name);
		g_string_append(line, ": ");
		rs_test_report_append(line, check->why ? check->why : "failed");
		g_ptr_array_add(lines, g_string_free(line, FALSE));
	}
	if (!lines->len) {
		g_ptr_array_free(lines, TRUE);
		return NULL;
	}
	g_ptr_array_add(lines, NULL);
	return (char **)g_ptr_array_free(lines, FALSE);
}

void rs_test_report_append_why(GString *out, const struct rs_test_outcome *outcome)
{
	if (outcome->verdict == RS_TEST_BROKEN)
		g_string_append(out, "broken spec: ");
	if (outcome->verdict == RS_TEST_NOT_RUN)
		g_string_append(out, "not run: ");
	rs_test_report_append(out, outcome->why ? outcome->why : "no reason is known");
}

bool rs_test_report_append_attempts(GString *out, const struct rs_test_outcome *outcome)
{
	if (outcome->verdict != RS_TEST_PASSED || !outcome->first_why)
		return false;
	g_string_append_printf(out, "passed at attempt %u; the first said: ", outcome->attempts);
	rs_test_report_append(out, outcome->first_why);
	return true;
}

void rs_test_report_append_seconds(GString *out, int64_t us, unsigned int digits)
{
	int64_t unit = 1, all;

	for (unsigned int i = digits; i < 6; i++)
		unit *= 10;
	all = us > 0 ? us / unit + (us % unit >= (unit + 1) / 2) : 0;
	unit = 1000000 / unit;
	g_string_append_printf(out, "%" G_GINT64_FORMAT ".%0*" G_GINT64_FORMAT, all / unit,
			       (int)digits, all % unit);
}

void rs_test_report_append_totals(GString *out, const struct rs_test_report *report, int64_t us)
{
	g_string_append_printf(out, "%u passed, %u failed", report->counts[RS_TEST_PASSED],
			       report->counts[RS_TEST_FAILED]);
	if (report->counts[RS_TEST_BROKEN])
		g_string_append_printf(out, ", %u broken", report->counts[RS_TEST_BROKEN]);
	if (report->counts[RS_TEST_NOT_RUN])
		g_string_append_printf(out, ", %u not run", report->counts[RS_TEST_NOT_RUN]);
	g_string_append_printf(out, ", %u skipped", report->counts[RS_TEST_SKIPPED]);
	if (report->done < report->n)
		g_string_append_printf(out, ", %u not begun", report->n - report->done);
	g_string_append(out, " in ");
	rs_test_report_append_seconds(out, us, 1);
	g_string_append(out, " s");
}

/* ---- for people ---- */

static void append_lines(GString *out, char **lines)
{
	for (; lines && *lines; lines++)
		g_string_append_printf(out, **lines ? "  %s\n" : "%s\n", *lines);
}

/* What shows the reason. A single failed check is the reason itself. */
static void human_details(const struct rs_test_outcome *outcome, GString *out)
{
	g_auto(GStrv) failed = rs_test_report_failed(outcome);

	if (outcome->line) {
		g_string_append(out, "  at ");
		rs_test_report_append(out, outcome->spec);
		g_string_append_printf(out, ":%u\n", outcome->line);
	}
	if (failed && failed[1])
		append_lines(out, failed);
	if (outcome->story) {
		g_auto(GStrv) story = rs_test_report_split(outcome->story);

		append_lines(out, story);
	}
	if (outcome->evidence) {
		g_string_append(out, "  evidence: ");
		rs_test_report_append(out, outcome->evidence);
		g_string_append_c(out, '\n');
	}
}

static void append_attempts(GString *out, const struct rs_test_outcome *outcome)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (rs_test_report_append_attempts(text, outcome))
		g_string_append_printf(out, "  %s\n", text->str);
}

static void human_add(struct rs_test_report *report, const struct rs_test_outcome *outcome,
		      GString *out)
{
	switch (outcome->verdict) {
	case RS_TEST_PASSED:
		rs_cli_append_painted(out, report->colour, RS_COLOR_GOOD, "ok");
		g_string_append(out, "   ");
		rs_test_report_append(out, outcome->name);
		g_string_append(out, "  (");
		rs_test_report_append_seconds(out, outcome->us, 2);
		g_string_append(out, " s)\n");
		append_attempts(out, outcome);
		break;
	case RS_TEST_SKIPPED:
	case RS_TEST_FAILED:
	case RS_TEST_BROKEN:
	case RS_TEST_NOT_RUN:
		if (outcome->verdict == RS_TEST_SKIPPED)
			rs_cli_append_painted(out, report->colour, RS_COLOR_WARN, "skip");
		else
			rs_cli_append_painted(out, report->colour, RS_COLOR_BAD, "FAIL");
		g_string_append_c(out, ' ');
		rs_test_report_append(out, outcome->name);
		g_string_append(out, ": ");
		rs_test_report_append_why(out, outcome);
		g_string_append_c(out, '\n');
		break;
	}
	if (outcome->verdict != RS_TEST_SKIPPED)
		human_details(outcome, out);
}

static void human_end(struct rs_test_report *report, int64_t us, GString *out)
{
	rs_test_report_append_totals(out, report, us);
	g_string_append_c(out, '\n');
}

static const struct rs_test_report_ops human = {.add = human_add, .end = human_end};

/* ---- the dispatcher ---- */

struct rs_test_report *rs_test_report_new(enum rs_test_format format, bool colour, unsigned int n)
{
	struct rs_test_report *report = g_new0(struct rs_test_report, 1);

	switch (format) {
	case RS_TEST_HUMAN:
		report->ops = &human;
		break;
	case RS_TEST_TAP:
		report->ops = &rs_test_report_tap;
		break;
	case RS_TEST_JUNIT:
		report->ops = &rs_test_report_junit;
		break;
	case RS_TEST_GITHUB:
		report->ops = &rs_test_report_github;
		break;
	}
	report->colour = colour;
	report->n = n;
	report->body = g_string_new(NULL);
	return report;
}

void rs_test_report_free(struct rs_test_report *report)
{
	if (!report)
		return;
	g_string_free(report->body, TRUE);
	g_free(report);
}

void rs_test_report_begin(struct rs_test_report *report, GString *out)
{
	if (report->ops->begin)
		report->ops->begin(report, out);
}

void rs_test_report_add(struct rs_test_report *report, const struct rs_test_outcome *outcome,
			GString *out)
{
	report->done++;
	report->counts[outcome->verdict]++;
	report->ops->add(report, outcome, out);
}

void rs_test_report_end(struct rs_test_report *report, int64_t us, GString *out)
{
	report->ops->end(report, us, out);
}
