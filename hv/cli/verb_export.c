/* SPDX-License-Identifier: MIT */
/* `ringside export`: recorded traces in the format of another tool. */
#include "cli/choice.h"
#include "cli/input.h"
#include "cli/verb.h"

#include <gio/gunixoutputstream.h>
#include <glib/gstdio.h>
#include <glib-unix.h>
#include <rs-trace-exporter.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* The export runs on a thread of its own, so that signals are seen. */
struct export
{
	struct rs_cli_input input;
	const char *out;
	const RsTraceExportFormat *format;
	RsTraceExportConfig config;
	RsTraceExportResult result;
	GMainLoop *loop;
	bool done;
	GError *error;
};

/* ---- the export ---- */

static gboolean on_end(gpointer data)
{
	g_main_loop_quit(((struct export *)data)->loop);
	return G_SOURCE_REMOVE;
}

/* Thread: the export's. The input keeps its error, to tell it. */
static const RsTraceRecord *next(const RsTraceTask **task, gpointer data, GError **error)
{
	return rs_cli_input_next(&((struct export *)data)->input, task);
}

/* Thread: the export's. */
static gpointer work(gpointer data)
{
	struct export *e = data;

	e->done = rs_trace_export(e->input.reader, next, e, e->format, &e->config, &e->result,
				  &e->error);
	g_idle_add(on_end, e);
	return NULL;
}

/* A second signal ends the process, if a pipe should hold up the export. */
static gboolean on_signal(gpointer data)
{
	g_cancellable_cancel(((struct export *)data)->config.cancellable);
	return G_SOURCE_REMOVE;
}

/* From now on signals are seen, so that nothing is left of an output. */
static void see_signals(struct export *e)
{
	g_unix_signal_add(SIGINT, on_signal, e);
	g_unix_signal_add(SIGTERM, on_signal, e);
	g_unix_signal_add(SIGHUP, on_signal, e);
}

static void run_export(struct export *e)
{
	GThread *thread;

	e->loop = g_main_loop_new(NULL, FALSE);
	thread = g_thread_new("export", work, e);
	g_main_loop_run(e->loop);
	g_thread_join(thread);
	g_main_loop_unref(e->loop);
}

/* ---- the output ---- */

/* Whether OUT is one of the traces, perhaps by another name: --force would replace it. */
static bool is_input(const struct export *e)
{
	GStatBuf in;

	for (const char *const *path = e->input.paths; *path; path++)
		if (!g_stat(*path, &in) && rs_trace_output_is_file(e->out, &in))
			return true;
	return false;
}

static RsTraceOutput *open_output(const struct export *e, bool force, GError **error)
{
	RsTraceOutputFlags flags = force ? RS_TRACE_OUTPUT_FORCE : RS_TRACE_OUTPUT_FILE;
	g_autoptr(GOutputStream) stream = NULL;

	if (e->format->is_directory)
		flags |= RS_TRACE_OUTPUT_DIRECTORY;
	if (!g_str_equal(e->out, "-")) {
		if (!is_input(e))
			return rs_trace_output_new(e->out, flags, error);
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s is the trace itself", e->out);
		return NULL;
	}
	stream = g_unix_output_stream_new(STDOUT_FILENO, FALSE);
	return rs_trace_output_new_for_stream(stream);
}

/* Why there is no output. */
static int tell_failure(struct export *e)
{
	if (e->input.is_shown)
		fputs("\r\033[K", stderr);
	if (g_error_matches(e->error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		return rs_cli_fail(RS_CLI_FAILED, "interrupted: nothing was written");
	if (g_error_matches(e->error, G_IO_ERROR, G_IO_ERROR_BROKEN_PIPE))
		return RS_CLI_OK; /* who reads it has seen enough */
	if (g_error_matches(e->error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT))
		return rs_cli_fail(RS_CLI_USAGE, "%s", e->error->message);
	return rs_cli_fail(RS_CLI_FAILED, "the export failed: %s", e->error->message);
}

static int finish(struct export *e)
{
	int code;

	if (!e->done) {
		code = tell_failure(e);
		rs_cli_input_drop(&e->input);
		return code;
	}
	code = rs_cli_input_close(&e->input);
	if (e->result.too_deep)
		rs_cli_fail(
			0,
			"%" G_GUINT64_FORMAT
			" slices are not drawn, only their events: too many are open around them",
			e->result.too_deep);
	if (isatty(STDERR_FILENO))
		g_printerr("%s: %" G_GUINT64_FORMAT " events, %" G_GUINT64_FORMAT " lost\n", e->out,
			   e->result.events, e->result.lost);
	return code;
}

static int export_trace(struct export *e, bool force)
{
	g_autoptr(GError) error = NULL;
	int code;

	e->config.cancellable = e->input.cancellable = g_cancellable_new();
	e->input.progress = isatty(STDERR_FILENO);
	code = rs_cli_input_open(&e->input);
	if (!code) {
		see_signals(e);
		e->config.header = rs_trace_reader_header(e->input.reader);
		e->config.output = open_output(e, force, &error);
		if (e->config.output) {
			run_export(e);
			code = finish(e);
		} else {
			bool hint = !force && g_error_matches(error, G_IO_ERROR, G_IO_ERROR_EXISTS);

			code = rs_cli_fail(RS_CLI_FAILED, "%s%s", error->message,
					   hint ? ": --force replaces it" : "");
			rs_cli_input_drop(&e->input);
		}
		while (g_source_remove_by_user_data(e)) /* those signals that did not come */
			;
	}
	rs_trace_output_free(e->config.output);
	g_clear_error(&e->error);
	g_object_unref(e->config.cancellable);
	return code;
}

/* ---- the verb ---- */

static void print_formats(void)
{
	for (const RsTraceExportFormat *const *f = rs_trace_export_formats(); *f; f++)
		printf("%-10s  %s\n", (*f)->name, (*f)->summary);
}

struct args {
	RsCliChoice choice;
	char *to, *out, *columns, **slices, **counters;
	gboolean force;
};

static bool parse(const struct rs_verb *verb, struct args *a, int *argc, char ***argv, int *code)
{
	const GOptionEntry options[] = {
		{"to", 0, 0, G_OPTION_ARG_STRING, &a->to, "The format; list shows all of them",
		 "FORMAT"},
		{"output", 'o', 0, G_OPTION_ARG_FILENAME, &a->out,
		 "The file or directory to write; - is standard output", "OUT"},
		{"force", 'f', 0, G_OPTION_ARG_NONE, &a->force, "Replace OUT", NULL},
		{"columns", 0, 0, G_OPTION_ARG_STRING, &a->columns,
		 "Of csv: only this event, with a column for each field", "EVENT"},
		{"slice", 0, 0, G_OPTION_ARG_STRING_ARRAY, &a->slices,
		 "Of perfetto and chrome: from one event to another is a slice", "BEGIN..END"},
		{"counter", 0, 0, G_OPTION_ARG_STRING_ARRAY, &a->counters,
		 "Likewise: a field that counts", "EVENT.FIELD"},
		RS_CLI_CHOICE_OPTIONS(a->choice),
		RS_CLI_CHOICE_TIMES(a->choice),
		{0}};

	return rs_cli_parse(verb, options, argc, argv, code);
}

static int check(const struct rs_verb *verb, const struct args *a, struct export *e, int argc,
		 char **argv)
{
	int code;

	if (!a->to)
		return rs_cli_usage(verb, "--to is missing (--to list shows the formats)");
	e->format = rs_trace_export_format(a->to);
	if (!e->format)
		return rs_cli_usage(verb, "no such format: '%s' (--to list shows them)", a->to);
	e->input.paths = rs_cli_input_paths(verb, argc, argv, &code);
	if (!e->input.paths)
		return code;
	if (a->columns && !e->format->has_columns)
		return rs_cli_usage(verb, "--columns is for csv");
	if ((a->slices || a->counters) && !e->format->too_deep)
		return rs_cli_usage(verb, "--slice and --counter are for perfetto and chrome");
	if (!a->out || !*a->out)
		return rs_cli_usage(verb, "-o is missing");
	if (g_str_equal(a->out, "-") && e->format->is_directory)
		return rs_cli_usage(verb, "%s is a directory, which standard output is not", a->to);
	if (g_str_equal(a->out, "-") && !e->format->is_text && isatty(STDOUT_FILENO))
		return rs_cli_usage(verb, "%s is not for a terminal: choose a file by -o OUT",
				    a->to);
	return RS_CLI_OK;
}

/* Events that are named must be there. */
static void expect(const struct args *a, struct rs_cli_input *input)
{
	rs_cli_choice_expect(&a->choice, input);
	rs_cli_input_expect(input, a->columns);
	for (char **slice = a->slices; slice && *slice; slice++)
		rs_cli_input_expect_pair(input, *slice);
	for (char **counter = a->counters; counter && *counter; counter++)
		rs_cli_input_expect_field(input, *counter);
}

static int run_parsed(const struct rs_verb *verb, const struct args *a, int argc, char **argv)
{
	struct export e = {
		.out = a->out,
		.config.columns = a->columns,
		.config.slices = (const char *const *)a->slices,
		.config.counters = (const char *const *)a->counters,
	};
	int code;

	if (g_strcmp0(a->to, "list") == 0) {
		if (argc > 1)
			return rs_cli_usage(verb, "--to list takes no file");
		print_formats();
		return RS_CLI_OK;
	}
	code = check(verb, a, &e, argc, argv);
	if (!code)
		code = rs_cli_choice_take(&a->choice, &e.input.selection);
	if (code)
		return code;
	expect(a, &e.input);
	return export_trace(&e, a->force);
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct args a = {0};
	int code;

	if (parse(verb, &a, &argc, &argv, &code))
		code = run_parsed(verb, &a, argc, argv);
	rs_cli_choice_clear(&a.choice);
	g_free(a.to);
	g_free(a.out);
	g_free(a.columns);
	g_strfreev(a.slices);
	g_strfreev(a.counters);
	return code;
}

const struct rs_verb rs_verb_export = {
	.name = "export",
	.args = "[FILE...] --to FORMAT -o OUT",
	.summary = "write a recorded trace in the format of another tool",
	.details = "Reads what `ringside record` wrote; \"-\" is standard input. OUT is written "
		   "under another\nname and gets its own at the end, so that there is never half "
		   "of it.",
	.run = run,
};
