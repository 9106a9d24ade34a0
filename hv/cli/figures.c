/* SPDX-License-Identifier: MIT */
#include "cli/figures.h"

#include "base/output.h"
#include "cli/verb.h"

#include <errno.h>
#include <rs-trace-escape.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR 40u

static bool prepare(struct rs_cli_figures *f, GError **error)
{
	if (f->stat)
		f->of_stat = rs_trace_stat_new();
	if (f->stacks)
		f->of_stacks = rs_trace_stacks_new();
	if (f->hist && !(f->of_hist = rs_trace_hist_new(f->hist, f->by, error)))
		return false;
	if (f->latency && !(f->of_latency = rs_trace_latency_new(f->latency, f->key, error)))
		return false;
	if (f->latency && f->by && !rs_trace_latency_group_by(f->of_latency, f->by, error))
		return false;
	return true;
}

static void add(struct rs_cli_figures *f, const RsTraceSample *item)
{
	if (f->of_stat)
		rs_trace_stat_add(f->of_stat, item);
	if (f->of_stacks)
		rs_trace_stacks_add(f->of_stacks, item);
	if (f->of_hist)
		rs_trace_hist_add(f->of_hist, item);
	if (f->of_latency)
		rs_trace_latency_add(f->of_latency, item);
}

int rs_cli_figures_read(struct rs_cli_figures *f, struct rs_cli_input *input)
{
	g_autoptr(GError) error = NULL;
	const RsTraceRecord *record;
	const RsTraceTask *task;
	int code;

	if (!prepare(f, &error)) {
		g_clear_pointer(&input->selection, rs_trace_selection_free);
		return rs_cli_fail(RS_CLI_USAGE, "%s", error->message);
	}
	code = rs_cli_input_open(input);
	if (code)
		return code;
	while ((record = rs_cli_input_next(input, &task))) {
		const RsTraceSample item = {
			.record = record,
			.task = task,
			.source = record->origin->name,
			.source_index = record->origin->index,
		};

		add(f, &item);
	}
	if (f->of_stat && input->has_span)
		rs_trace_stat_set_span(f->of_stat, input->first_ns, input->last_ns);
	code = rs_cli_input_close(input);
	f->was_read = code != RS_CLI_USAGE;
	return code;
}

int rs_cli_figures_show(const struct rs_cli_figures *f, bool json, GString *out)
{
	g_autoptr(GPtrArray) groups = NULL;
	g_autoptr(GArray) pairs = NULL;
	g_autoptr(GError) error = NULL;

	if (f->of_stat)
		rs_cli_show_stat(f->of_stat, json, out);
	if (f->of_hist) {
		if (!rs_trace_hist_result(f->of_hist, &groups, &error))
			return rs_cli_fail(RS_CLI_USAGE, "%s", error->message);
		rs_cli_show_hist(f, groups, json, out);
	}
	if (f->of_latency) {
		pairs = rs_trace_latency_groups(f->of_latency, &error);
		if (!pairs)
			return rs_cli_fail(RS_CLI_USAGE, "%s", error->message);
		rs_cli_show_latency(f, pairs, json, out);
	}
	if (f->of_stacks)
		rs_cli_show_stacks(f->of_stacks, json, out);
	return RS_CLI_OK;
}

void rs_cli_figures_clear(struct rs_cli_figures *f)
{
	g_clear_pointer(&f->of_stat, rs_trace_stat_free);
	g_clear_pointer(&f->of_stacks, rs_trace_stacks_free);
	g_clear_pointer(&f->of_hist, rs_trace_hist_free);
	g_clear_pointer(&f->of_latency, rs_trace_latency_free);
}

int rs_cli_put(const GString *out)
{
	static const gint64 for_ever;
	struct rs_output output;
	int ret;

	rs_output_init(&output, STDOUT_FILENO);
	ret = rs_output_write(&output, out->str, out->len, &for_ever, NULL);
	rs_output_deinit(&output);
	if (!ret || ret == -EPIPE)
		return RS_CLI_OK;
	return rs_cli_fail(RS_CLI_FAILED, "the output could not be written: %s", g_strerror(-ret));
}

void rs_cli_append_span(GString *out, double ns)
{
	if (ns < 1e3)
		g_string_append_printf(out, "%.0f ns", ns);
	else if (ns < 1e6)
		g_string_append_printf(out, "%.2f us", ns / 1e3);
	else if (ns < 1e9)
		g_string_append_printf(out, "%.2f ms", ns / 1e6);
	else
		g_string_append_printf(out, "%.3f s", ns / 1e9);
}

/* What a terminal has left of the line that `out` ends with. */
static unsigned bar_width(const GString *out)
{
	const char *newline = g_strrstr(out->str, "\n"), *line = newline ? newline + 1 : out->str;
	const glong used = g_utf8_strlen(line, -1) + 1;
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return BAR;
	return (unsigned)CLAMP((glong)size.ws_col - used, 1, BAR);
}

void rs_cli_append_bar(GString *out, uint64_t count, uint64_t most)
{
	const unsigned longest = bar_width(out);
	unsigned n = most ? (unsigned)((double)count / (double)most * longest + 0.5) : 0;

	if (count && !n)
		n = 1;
	g_string_append_c(out, '|');
	for (unsigned i = 0; i < n; i++)
		g_string_append_c(out, '@');
	g_string_append_c(out, '\n');
}

void rs_cli_append_cell(GString *out, const char *text, unsigned width)
{
	g_autofree char *clean = rs_trace_escape(text, -1, NULL);
	glong used = g_utf8_strlen(clean, -1);

	g_string_append(out, clean);
	for (; used < (glong)width; used++)
		g_string_append_c(out, ' ');
}
