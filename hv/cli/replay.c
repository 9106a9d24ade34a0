/* SPDX-License-Identifier: MIT */
#include "cli/replay.h"

#include "base/output.h"
#include "cli/verb.h"

#include <errno.h>
#include <rs-trace-escape.h>

#define OUT_MAX (64u << 10) /* of text, before it is written */

struct replay {
	const struct rs_printer_config *config;
	struct rs_cli_input *input;
	struct rs_output output;
	GString *out;
	uint64_t shown;
	int error;         /* of the output: -errno */
	GHashTable *names; /* index of a source -> its name, escaped */
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

static const char *source_name(struct replay *r, const struct rs_file_source *source)
{
	gpointer key = GUINT_TO_POINTER(rs_trace_reader_source_index(r->input->reader));
	char *name = g_hash_table_lookup(r->names, key);

	if (name)
		return name;
	if (g_hash_table_size(r->names) >= 4096)
		g_hash_table_remove_all(r->names);
	name = rs_trace_escape(source->name, -1, NULL);
	g_hash_table_insert(r->names, key, name);
	return name;
}

static void show(struct replay *r, const RsTraceRecord *record, const RsTraceTask *task)
{
	RsTraceReader *reader = r->input->reader;
	const struct rs_file_source *source = rs_trace_reader_source(reader);
	RsTraceJsonSource of = {"", source->number};
	bool named = rs_trace_reader_n_sources(reader) > 1;
	gsize before = r->out->len;

	if (r->config->json)
		of.name = source->name;
	else if (named)
		of.name = source_name(r, source);
	rs_printer_line(r->config, r->out, record, task, &of, named);
	r->shown += record->kind == RS_TRACE_RECORD_EVENT && r->out->len > before;
	if (r->out->len >= OUT_MAX)
		flush(r);
}

int rs_cli_replay(struct rs_cli_input *input, const struct rs_printer_config *config)
{
	struct replay r = {.config = config, .input = input};
	int code = rs_cli_input_open(input);
	const RsTraceRecord *record;
	const RsTraceTask *task;

	if (code)
		return code;
	r.out = g_string_new(NULL);
	r.names = g_hash_table_new_full(NULL, NULL, NULL, g_free);
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
	g_hash_table_unref(r.names);
	return code;
}
