/* SPDX-License-Identifier: MIT */
/* `ringside diff`: what differs between two recorded traces. */
#include "analysis/rs-trace-diff.h"
#include "cli/choice.h"
#include "cli/figures.h"
#include "cli/json_line.h"
#include "cli/verb.h"

#include <math.h>
#include <rs-trace-escape.h>
#include <string.h>

struct args {
	RsCliChoice choice;
	gboolean json;
	char *latency, *key;
	double threshold; /* percent; NAN: none */
};

/* ---- how it looks ---- */

static void append_change(GString *out, const RsTraceDiffRow *row)
{
	if (row->is_new || row->is_gone)
		g_string_append_printf(out, "%10s\n", row->is_new ? "new" : "gone");
	else
		g_string_append_printf(out, "%+9.1f%%\n", row->change * 100);
}

static void event_text(const RsTraceDiffRow *row, unsigned width, GString *out)
{
	rs_cli_append_cell(out, row->label ? row->label : "(lost)", width);
	for (guint i = 0; i < 2; i++)
		g_string_append_printf(out, " %12" G_GUINT64_FORMAT, row->counts[i]);
	for (guint i = 0; i < 2; i++) {
		if (row->kind == RS_TRACE_DIFF_LOST)
			g_string_append_printf(out, " %11.3f%%", row->values[i] * 100);
		else
			g_string_append_printf(out, " %12.1f", row->values[i]);
	}
	g_string_append_c(out, ' ');
	append_change(out, row);
}

static void events_text(const GPtrArray *rows, GString *out)
{
	unsigned width = 6;

	for (guint i = 0; i < rows->len; i++) {
		const RsTraceDiffRow *row = rows->pdata[i];

		width = MAX(width, row->label ? MIN((unsigned)strlen(row->label), 48) : 0);
	}
	g_string_append_printf(out, "%-*s %12s %12s %12s %12s %10s\n", (int)width, "EVENT",
			       "COUNT A", "COUNT B", "RATE/S A", "RATE/S B", "CHANGE");
	for (guint i = 0; i < rows->len; i++)
		event_text(rows->pdata[i], width, out);
}

static void latency_text(const struct args *a, const GPtrArray *rows, GString *out)
{
	g_string_append_c(out, '\n');
	rs_cli_append_cell(out, a->latency, 0);
	g_string_append_printf(out, "%s\n", rows->len ? "" : ": no pairs");
	for (guint i = 0; i < rows->len; i++) {
		const RsTraceDiffRow *row = rows->pdata[i];

		g_string_append_printf(out, "  %-6s", row->label);
		for (guint k = 0; k < 2; k++) {
			g_autoptr(GString) span = g_string_new(NULL);

			if (isnan(row->values[k]))
				g_string_append_c(span, '-');
			else
				rs_cli_append_span(span, row->values[k]);
			g_string_append_printf(out, " %14s", span->str);
		}
		g_string_append_c(out, ' ');
		append_change(out, row);
	}
}

static void row_json(const RsTraceDiffRow *row, const struct args *a, GString *out)
{
	static const char *const kinds[] = {"event", "lost", "latency"};

	rs_json_begin(out);
	rs_json_text(out, "diff", kinds[row->kind]);
	if (row->kind == RS_TRACE_DIFF_LATENCY) {
		rs_json_text(out, "latency", a->latency);
		rs_json_text(out, "figure", row->label);
		for (guint i = 0; i < 2; i++) {
			if (!isnan(row->values[i]))
				rs_json_real(out, i ? "ns_b" : "ns_a", row->values[i]);
		}
	} else {
		bool is_event = row->kind == RS_TRACE_DIFF_EVENT;

		if (is_event)
			rs_json_text(out, "name", row->label);
		rs_json_number(out, "count_a", row->counts[0]);
		rs_json_number(out, "count_b", row->counts[1]);
		rs_json_real(out, is_event ? "rate_a" : "share_a", row->values[0]);
		rs_json_real(out, is_event ? "rate_b" : "share_b", row->values[1]);
	}
	rs_json_real(out, "change", row->change);
	rs_json_end(out);
}

static void rows_json(const GPtrArray *rows, const struct args *a, GString *out)
{
	for (guint i = 0; rows && i < rows->len; i++)
		row_json(rows->pdata[i], a, out);
}

/* ---- the verb ---- */

static int read_one(const struct args *a, const char *path, struct rs_cli_figures *figures,
		    char ***missing)
{
	const char *const paths[] = {path, NULL};
	struct rs_cli_input input = {.paths = paths, .progress = true, .missing = missing};
	int code = rs_cli_choice_take(&a->choice, &input.selection);

	if (code)
		return code;
	rs_cli_choice_expect(&a->choice, &input);
	rs_cli_input_expect_pair(&input, a->latency);
	figures->stat = true;
	figures->latency = a->latency;
	figures->key = a->key;
	return rs_cli_figures_read(figures, &input);
}

static void tell(const struct args *a, const RsTraceDiffRow *row)
{
	const bool is_latency = row->kind == RS_TRACE_DIFF_LATENCY;
	g_autofree char *name = rs_trace_escape(row->label ? row->label : "lost records", -1, NULL);
	g_autoptr(GString) change = g_string_new(NULL);

	append_change(change, row);
	g_strstrip(change->str);
	rs_cli_fail(0, "%s%s%s: %s, where %g%% may change", is_latency ? a->latency : "",
		    is_latency ? " " : "", name, change->str, a->threshold);
}

static int judge(const struct args *a, const GPtrArray *events, const GPtrArray *latency)
{
	const RsTraceDiffRow *row = rs_trace_diff_exceeds(events, a->threshold / 100);

	if (!row && latency)
		row = rs_trace_diff_exceeds(latency, a->threshold / 100);
	if (row)
		tell(a, row);
	return row ? RS_CLI_EXCEEDED : RS_CLI_OK;
}

static int compare(const struct args *a, const struct rs_cli_figures of[2])
{
	g_autoptr(GPtrArray) events = rs_trace_diff_stat(of[0].of_stat, of[1].of_stat);
	g_autoptr(GPtrArray) latency = NULL;
	g_autoptr(GString) out = g_string_new(NULL);
	int code;

	if (a->latency)
		latency = rs_trace_diff_latency(of[0].of_latency, of[1].of_latency);
	if (a->json) {
		rows_json(events, a, out);
		rows_json(latency, a, out);
	} else {
		events_text(events, out);
		if (latency)
			latency_text(a, latency, out);
	}
	code = rs_cli_put(out);
	if (code || isnan(a->threshold))
		return code;
	return judge(a, events, latency);
}

/* An event that only one trace has is a difference, not a mistake. */
static int tell_in_neither(char **const missing[2])
{
	g_autoptr(GStrvBuilder) both = g_strv_builder_new();
	g_auto(GStrv) globs = NULL;

	for (char **glob = missing[0]; glob && *glob; glob++) {
		if (missing[1] && g_strv_contains((const char *const *)missing[1], *glob))
			g_strv_builder_add(both, *glob);
	}
	globs = g_strv_builder_end(both);
	return rs_cli_tell_missing(globs);
}

static int diff(const struct args *a, char **paths)
{
	struct rs_cli_figures of[2] = {0};
	char **missing[2] = {NULL, NULL};
	int code = read_one(a, paths[0], &of[0], &missing[0]), second = RS_CLI_OK;

	if (of[0].was_read)
		second = read_one(a, paths[1], &of[1], &missing[1]);
	/* What could be read of damaged files is compared. */
	if (of[0].was_read && of[1].was_read) {
		int compared = compare(a, of);

		code = code ? code : second;
		code = code ? code : tell_in_neither(missing);
		code = code ? code : compared;
	} else {
		code = code ? code : second;
	}
	rs_cli_figures_clear(&of[0]);
	rs_cli_figures_clear(&of[1]);
	g_strfreev(missing[0]);
	g_strfreev(missing[1]);
	return code;
}

static int check(const struct rs_verb *verb, const struct args *a, int argc, char **argv)
{
	if (a->key && !a->latency)
		return rs_cli_usage(verb, "--key needs --latency");
	if (a->threshold < 0)
		return rs_cli_usage(verb, "--threshold: 0 or more percent");
	if (argc != 3)
		return rs_cli_usage(verb,
				    argc < 3 ? "two files are to be named" : "too many arguments");
	if (g_str_equal(argv[1], "-") && g_str_equal(argv[2], "-"))
		return rs_cli_usage(verb, "standard input is one trace, not two");
	return RS_CLI_OK;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct args a = {.threshold = NAN};
	const GOptionEntry options[] = {
		{"json", 'j', 0, G_OPTION_ARG_NONE, &a.json, "One JSON object a line", NULL},
		{"latency", 0, 0, G_OPTION_ARG_STRING, &a.latency,
		 "Also how long it takes from one event to another", "EVENT..EVENT"},
		{"key", 0, 0, G_OPTION_ARG_STRING, &a.key,
		 "With --latency: what both have in common, if not the task", "FIELD[..FIELD]"},
		{"threshold", 0, 0, G_OPTION_ARG_DOUBLE, &a.threshold,
		 "Fail (6) if a value has changed by more than so many percent", "PERCENT"},
		RS_CLI_CHOICE_OPTIONS(a.choice),
		RS_CLI_CHOICE_TIMES(a.choice),
		{0}};
	int code;

	if (rs_cli_parse(verb, options, &argc, &argv, &code)) {
		code = check(verb, &a, argc, argv);
		if (!code)
			code = diff(&a, argv + 1);
	}
	rs_cli_choice_clear(&a.choice);
	g_free(a.latency);
	g_free(a.key);
	return code;
}

const struct rs_verb rs_verb_diff = {
	.name = "diff",
	.args = "A B",
	.summary = "show what differs between two recorded traces",
	.details =
		"Compares how often each event comes, what was lost, and latencies, what changed "
		"most\nfirst. It ends with 0 even if they differ, unless --threshold is given.",
	.run = run,
};
