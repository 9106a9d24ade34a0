/* SPDX-License-Identifier: MIT */
#include "cli/replay.h"

#include "base/output.h"
#include "cli/verb.h"

#include <errno.h>
#include <rs-trace-lines.h>

/* Reading takes a third of the time of a line, and is done by one thread at a time. */
#define JOBS_OF_USE 4u

/* What a line depends on beside its record. */
struct line_state {
	struct rs_line_time time;
	bool named; /* it says its source */
};

struct replay {
	const struct rs_printer_config *config;
	struct rs_output output;
	bool all;  /* each record has a line */
	int error; /* of the output: -errno */
	/* Of the thread that reads, in cache lines that no other one looks at. */
	struct rs_cli_input *input __attribute__((aligned(64)));
	struct line_state state;
	bool has_passed; /* a line was made, or will be, of this time: */
	uint64_t passed;
	uint64_t shown; /* events; with `all`: that were handed out to be shown */
};

unsigned rs_cli_replay_jobs(void)
{
	return MIN(g_get_num_processors(), JOBS_OF_USE);
}

static gboolean write_text(const char *text, gsize size, gpointer data)
{
	static const gint64 for_ever;
	struct replay *r = data;

	r->error = rs_output_write(&r->output, text, size, &for_ever, NULL);
	return !r->error;
}

static const RsTraceRecord *next(const RsTraceTask **task, gpointer data)
{
	struct replay *r = data;
	const RsTraceRecord *record;

	if (r->config->count && r->shown >= r->config->count)
		return NULL;
	if (r->has_passed)
		rs_line_time_pass(&r->state.time, r->passed);
	r->has_passed = false;
	record = rs_cli_input_next(r->input, task);
	if (!record)
		return NULL;
	r->state.named = rs_trace_reader_n_sources(r->input->reader) > 1;
	r->has_passed = record->kind != RS_TRACE_RECORD_LOSS;
	r->passed = record->ns;
	r->shown += r->all && record->kind == RS_TRACE_RECORD_EVENT;
	return record;
}

static void line(GString *out, const RsTraceRecord *record, const RsTraceTask *task, gpointer data,
		 gpointer user_data)
{
	struct line_state *state = data;
	struct replay *r = user_data;
	const gsize before = out->len;

	rs_printer_line(r->config, &state->time, state->named, out, record, task);
	if (!r->all)
		r->shown += record->kind == RS_TRACE_RECORD_EVENT && out->len > before;
}

static void print(struct replay *r, unsigned jobs)
{
	const RsTraceLinesConfig lines = {
		.jobs = r->all ? jobs : 1,
		/* Whether one more is wanted is known when the line of the one before is made. */
		.batch = !r->all && r->config->count ? 1 : 0,
		.next = next,
		.state = &r->state,
		.state_size = sizeof(r->state),
		.line = line,
		.write = write_text,
		.data = r,
	};

	rs_output_init(&r->output, r->config->fd);
	rs_trace_lines_make(r->input->reader, &lines);
	rs_output_deinit(&r->output);
}

/* False: it is wanted and not known. */
static bool take_wall(struct rs_line_time *time, RsTraceReader *reader)
{
	if (time->kind != RS_LINE_TIME_WALL)
		return true;
	time->wall_ns = rs_trace_reader_get_wall_time(reader);
	return time->wall_ns != 0;
}

int rs_cli_replay(struct rs_cli_input *input, const struct rs_printer_config *config, unsigned jobs)
{
	struct replay r = {
		.config = config,
		.input = input,
		.all = !config->view && !config->wants && !config->show,
	};
	int code = rs_cli_input_open(input);

	if (config->time)
		r.state.time = *config->time;
	if (!code && !take_wall(&r.state.time, input->reader)) {
		rs_cli_input_close(input);
		code = rs_cli_fail(RS_CLI_FAILED, "the trace does not say at what time of day it "
						  "was recorded");
	}
	if (code)
		return code;
	print(&r, jobs);
	code = rs_cli_input_close(input);
	if (r.error && r.error != -EPIPE)
		code = rs_cli_fail(RS_CLI_FAILED, "the trace could not be written: %s",
				   g_strerror(-r.error));
	return code;
}
