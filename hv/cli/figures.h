/* SPDX-License-Identifier: MIT */
/*
 * Figures of a trace (viewer/analysis), as a verb makes and shows them. Thread: main. Texts of a
 * guest are escaped.
 */
#ifndef RS_HV_CLI_FIGURES_H
#define RS_HV_CLI_FIGURES_H

#include "analysis/rs-trace-hist.h"
#include "analysis/rs-trace-latency.h"
#include "analysis/rs-trace-stacks.h"
#include "analysis/rs-trace-stat.h"
#include "cli/input.h"

/* What a verb was asked for. */
struct rs_cli_figures {
	bool stat, stacks;
	const char *hist;          /* NULL: not */
	const char *latency, *key; /* likewise */
	const char *by;            /* groups of either; likewise */
	/* These are set by rs_cli_figures_read(). */
	bool was_read; /* there is something to show, though the files may be damaged */
	RsTraceStat *of_stat;
	RsTraceStacks *of_stacks;
	RsTraceHist *of_hist;
	RsTraceLatency *of_latency;
};

/*
 * Reads the whole input, once for all of them, and closes it. Its exit code; RS_CLI_USAGE, after a
 * message, if what was asked for makes no sense: then the input was only closed.
 */
int rs_cli_figures_read(struct rs_cli_figures *figures, struct rs_cli_input *input);
/* Appends all that there is, as text or as JSON lines. Returns an exit code, after a message. */
int rs_cli_figures_show(const struct rs_cli_figures *figures, bool json, GString *out);
void rs_cli_figures_clear(struct rs_cli_figures *figures);

/* Writes it to standard output: an exit code. A reader that has gone is no error. */
int rs_cli_put(const GString *out);

/* Each of them. */
void rs_cli_show_stat(const RsTraceStat *stat, bool json, GString *out);
void rs_cli_show_hist(const struct rs_cli_figures *figures, GPtrArray *groups, bool json,
		      GString *out);
void rs_cli_show_latency(const struct rs_cli_figures *figures, GArray *groups, bool json,
			 GString *out);
void rs_cli_show_stacks(const RsTraceStacks *stacks, bool json, GString *out);

/* A time span as a person reads it, "12.3 us". */
void rs_cli_append_span(GString *out, double ns);
/* A bar of `count` among `most`, and a newline. */
void rs_cli_append_bar(GString *out, uint64_t count, uint64_t most);
/* Escapes the text and fills it up to `width` columns. */
void rs_cli_append_cell(GString *out, const char *text, unsigned width);

#endif
