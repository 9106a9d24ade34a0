/* SPDX-License-Identifier: MIT */
#include "cli/replay.h"

#include "base/output.h"
#include "cli/verb.h"

#include <errno.h>
#include <gio/gunixinputstream.h>
#include <rs-trace-escape.h>
#include <rs-trace-reader.h>
#include <unistd.h>

#define OUT_MAX (64u << 10) /* of text, before it is written */

struct replay {
	const struct rs_printer_config *config;
	const char *path;
	RsTraceReader *reader;
	struct rs_output output;
	GString *out;
	uint64_t shown;
	int error; /* of the output: -errno */
};

static GInputStream *open_stream(const char *path, GError **error)
{
	g_autoptr(GFile) file = g_file_new_for_commandline_arg(path);

	if (g_str_equal(path, "-"))
		return g_unix_input_stream_new(STDIN_FILENO, FALSE);
	return G_INPUT_STREAM(g_file_read(file, NULL, error));
}

static RsTraceReader *open_reader(const char *path, GError **error)
{
	g_autoptr(GInputStream) stream = open_stream(path, error);
	RsTraceFile *file = stream ? rs_trace_file_new(stream, error) : NULL;

	return file ? rs_trace_reader_new(file) : NULL;
}

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

static void show(struct replay *r, const RsTraceRecord *record)
{
	const struct rs_file_source *source = rs_trace_reader_source(r->reader);
	g_autofree char *name = NULL;
	RsTraceJsonSource of = {"", source->number};
	bool named = rs_trace_reader_n_sources(r->reader) > 1;
	gsize before = r->out->len;
	RsTraceTask task;

	if (r->config->json)
		of.name = source->name;
	else if (named)
		of.name = name = rs_trace_escape(source->name, -1, NULL);
	rs_trace_reader_task(r->reader, &task);
	rs_printer_line(r->config, r->out, record, &task, &of, named);
	r->shown += record->kind == RS_TRACE_RECORD_EVENT && r->out->len > before;
	if (r->out->len >= OUT_MAX)
		flush(r);
}

/* What is to be said of how it ended. */
static int tell(struct replay *r, GError *error)
{
	g_auto(GStrv) remarks = rs_trace_reader_remarks(r->reader);
	RsTraceFileDamage damage;

	rs_trace_reader_damage(r->reader, &damage);
	for (guint i = 0; remarks[i]; i++)
		rs_cli_fail(0, "%s: %s", r->path, remarks[i]);
	if (r->error && r->error != -EPIPE)
		return rs_cli_fail(RS_CLI_FAILED, "the trace could not be written: %s",
				   g_strerror(-r->error));
	if (error)
		return rs_cli_fail(RS_CLI_FAILED, "%s: %s", r->path, error->message);
	return damage.gaps ? RS_CLI_FAILED : RS_CLI_OK;
}

int rs_cli_replay(const char *path, const struct rs_printer_config *config)
{
	struct replay r = {.config = config, .path = path};
	g_autoptr(GError) error = NULL;
	RsTraceRecord record;
	int code;

	r.reader = open_reader(path, &error);
	if (!r.reader)
		return rs_cli_fail(RS_CLI_FAILED, "%s: %s", path, error->message);
	r.out = g_string_new(NULL);
	rs_output_init(&r.output, config->fd);
	while (!is_over(&r) && rs_trace_reader_next(r.reader, &record, &error))
		show(&r, &record);
	flush(&r);
	code = tell(&r, error);
	rs_output_deinit(&r.output);
	g_string_free(r.out, TRUE);
	rs_trace_reader_free(r.reader);
	return code;
}
