/* SPDX-License-Identifier: MIT */
#include "cli/replay.h"

#include "base/output.h"
#include "cli/verb.h"

#include <errno.h>

#define OUT_MAX (64u << 10) /* of text, before it is written */

struct replay {
	const struct rs_printer_config *config;
	struct rs_cli_input *input;
	struct rs_output output;
	GString *out;
	uint64_t shown;
	int error; /* of the output: -errno */
};

static void flush(struct replay *r)
{
	static const gint64 for_ever;

	if (!r->error)
		r->error = rs_output_write(&r->output, r->out->str, r->out->len, &for_ever, NULL);
	g_string_truncate(r->out, 0);
}

static bool is_over(const struct replay *r)
{
	return r->error || (r->config->count && r->shown >= r->config->count);
}

static void show(struct replay *r, const RsTraceRecord *record, const RsTraceTask *task)
{
	bool named = rs_trace_reader_n_sources(r->input->reader) > 1;
	gsize before = r->out->len;

	rs_printer_line(r->config, r->out, record, task, named);
	r->shown += record->kind == RS_TRACE_RECORD_EVENT && r->out->len > before;
	if (r->out->len >= OUT_MAX)
		flush(r);
}

/* False: it is wanted and not known. */
static bool take_wall(struct rs_line_time *time, RsTraceReader *reader)
{
	if (!time || time->kind != RS_LINE_TIME_WALL)
		return true;
	time->wall_ns = rs_trace_reader_get_wall_time(reader);
	return time->wall_ns != 0;
}

int rs_cli_replay(struct rs_cli_input *input, const struct rs_printer_config *config)
{
	struct replay r = {.config = config, .input = input};
	int code = rs_cli_input_open(input);
	const RsTraceRecord *record;
	const RsTraceTask *task;

	if (!code && !take_wall(config->time, input->reader)) {
		rs_cli_input_close(input);
		code = rs_cli_fail(RS_CLI_FAILED, "the trace does not say at what time of day it "
						  "was recorded");
	}
	if (code)
		return code;
	r.out = g_string_new(NULL);
	rs_output_init(&r.output, config->fd);
	while (!is_over(&r) && (record = rs_cli_input_next(input, &task)))
		show(&r, record, task);
	flush(&r);
	code = rs_cli_input_close(input);
	if (r.error && r.error != -EPIPE)
		code = rs_cli_fail(RS_CLI_FAILED, "the trace could not be written: %s",
				   g_strerror(-r.error));
	rs_output_deinit(&r.output);
	g_string_free(r.out, TRUE);
	return code;
}
