/* SPDX-License-Identifier: MIT */
/* `ringside export`: a recorded trace in the format of another tool. */
#include "cli/stoppable.h"
#include "cli/verb.h"

#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <glib-unix.h>
#include <rs-trace-exporter.h>
#include <rs-trace-open.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define TELL_EVERY_US 200000

/* The export runs on a thread of its own, so that signals are seen. */
struct export
{
	const char *path, *out;
	const RsTraceExportFormat *format;
	RsTraceExportConfig config;
	RsTraceExportResult result;
	RsTraceReader *reader;
	GMainLoop *loop;
	gint64 told; /* g_get_monotonic_time() when progress was shown */
	bool done, terminal;
	GError *error;
};

/* ---- progress ---- */

/* Thread: the export's. Nobody else prints meanwhile. */
static void on_progress(guint64 events, gpointer data)
{
	struct export *e = data;
	gint64 now = g_get_monotonic_time();

	if (now - e->told < TELL_EVERY_US)
		return;
	e->told = now;
	fprintf(stderr, "\r%" G_GUINT64_FORMAT " events ", events);
	fflush(stderr);
}

static int tell(struct export *e)
{
	if (e->terminal)
		fputs("\r\033[K", stderr);
	if (g_error_matches(e->error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		return rs_cli_fail(RS_CLI_FAILED, "interrupted: nothing was written");
	if (g_error_matches(e->error, G_IO_ERROR, G_IO_ERROR_BROKEN_PIPE))
		return RS_CLI_OK; /* who reads it has seen enough */
	if (!e->done)
		return rs_cli_fail(RS_CLI_FAILED, "the export failed: %s", e->error->message);
	if (e->result.damage)
		return rs_cli_fail(RS_CLI_FAILED,
				   "%s: %s: the %" G_GUINT64_FORMAT
				   " events before that were written",
				   e->path, e->result.damage->message, e->result.events);
	if (e->result.cut)
		rs_cli_fail(0, "%s: the file was not ended: what was recorded by then was written",
			    e->path);
	if (isatty(STDERR_FILENO))
		g_printerr("%s: %" G_GUINT64_FORMAT " events, %" G_GUINT64_FORMAT " lost\n", e->out,
			   e->result.events, e->result.lost);
	return RS_CLI_OK;
}

/* ---- the export ---- */

static gboolean on_end(gpointer data)
{
	g_main_loop_quit(((struct export *)data)->loop);
	return G_SOURCE_REMOVE;
}

/* Thread: the export's. */
static gpointer work(gpointer data)
{
	struct export *e = data;
	const RsTraceExportHooks hooks = {.progress = e->terminal ? on_progress : NULL, .data = e};

	e->done = rs_trace_export(e->reader, e->format, &e->config, &hooks, &e->result, &e->error);
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

	e->terminal = isatty(STDERR_FILENO);
	e->loop = g_main_loop_new(NULL, FALSE);
	thread = g_thread_new("export", work, e);
	g_main_loop_run(e->loop);
	g_thread_join(thread);
	g_main_loop_unref(e->loop);
}

/* ---- input and output ---- */

static RsTraceReader *open_trace(const char *path, GCancellable *cancellable, GError **error)
{
	g_autoptr(GInputStream) base = rs_trace_open(path, error), stream = NULL;
	RsTraceFile *file;

	if (base)
		stream = g_str_equal(path, "-") ? rs_stoppable_new(base, cancellable)
						: g_object_ref(base);
	file = stream ? rs_trace_file_new(stream, error) : NULL;
	return file ? rs_trace_reader_new(file) : NULL;
}

static RsTraceOutput *open_output(const struct export *e, bool force, GError **error)
{
	RsTraceOutputFlags flags = force ? RS_TRACE_OUTPUT_FORCE : RS_TRACE_OUTPUT_FILE;
	g_autoptr(GOutputStream) stream = NULL;

	if (e->format->is_directory)
		flags |= RS_TRACE_OUTPUT_DIRECTORY;
	if (!g_str_equal(e->out, "-"))
		return rs_trace_output_new(e->out, flags, error);
	stream = g_unix_output_stream_new(STDOUT_FILENO, FALSE);
	return rs_trace_output_new_for_stream(stream);
}

static int export_trace(struct export *e, bool force)
{
	g_autoptr(GError) error = NULL;
	int code;

	e->reader = open_trace(e->path, e->config.cancellable, &error);
	if (!e->reader)
		return rs_cli_fail(RS_CLI_FAILED, "%s: %s", e->path, error->message);
	e->config.header = rs_trace_reader_header(e->reader);
	see_signals(e);
	e->config.output = open_output(e, force, &error);
	if (e->config.output) {
		run_export(e);
		code = tell(e);
	} else if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_EXISTS)) {
		code = rs_cli_fail(RS_CLI_FAILED, "%s%s", error->message,
				   force ? "" : ": --force replaces it");
	} else {
		code = rs_cli_fail(RS_CLI_FAILED, "%s", error->message);
	}
	rs_trace_output_free(e->config.output);
	while (g_source_remove_by_user_data(e)) /* those signals that did not come */
		;
	rs_trace_reader_free(e->reader);
	g_clear_error(&e->result.damage);
	g_clear_error(&e->error);
	return code;
}

/* ---- the verb ---- */

static void print_formats(void)
{
	for (const RsTraceExportFormat *const *f = rs_trace_export_formats(); *f; f++)
		printf("%-10s  %s\n", (*f)->name, (*f)->summary);
}

static int check(const struct rs_verb *verb, struct export *e, const char *to, int argc)
{
	if (!to)
		return rs_cli_usage(verb, "--to is missing (--to list shows the formats)");
	e->format = rs_trace_export_format(to);
	if (!e->format)
		return rs_cli_usage(verb, "no such format: '%s' (--to list shows them)", to);
	if (argc != 2)
		return rs_cli_usage(verb, argc < 2 ? "no file is named" : "too many arguments");
	if (!e->out)
		return rs_cli_usage(verb, "-o is missing");
	if (g_str_equal(e->out, "-") && e->format->is_directory)
		return rs_cli_usage(verb, "%s is a directory, which standard output is not", to);
	return RS_CLI_OK;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *to = NULL, *out = NULL, *columns = NULL;
	g_auto(GStrv) slices = NULL, counters = NULL;
	gboolean force = FALSE;
	const GOptionEntry options[] = {
		{"to", 0, 0, G_OPTION_ARG_STRING, &to, "The format; list shows all of them",
		 "FORMAT"},
		{"output", 'o', 0, G_OPTION_ARG_FILENAME, &out,
		 "The file or directory to write; - is standard output", "OUT"},
		{"force", 'f', 0, G_OPTION_ARG_NONE, &force, "Replace OUT", NULL},
		{"columns", 0, 0, G_OPTION_ARG_STRING, &columns,
		 "Of csv: only this event, with a column for each field", "EVENT"},
		{"slice", 0, 0, G_OPTION_ARG_STRING_ARRAY, &slices,
		 "Of perfetto and chrome: from one event to another is a slice", "BEGIN..END"},
		{"counter", 0, 0, G_OPTION_ARG_STRING_ARRAY, &counters,
		 "Likewise: a field that counts", "EVENT.FIELD"},
		{0}};
	struct export e = {0};
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	if (g_strcmp0(to, "list") == 0 && argc == 1) {
		print_formats();
		return RS_CLI_OK;
	}
	e.out = out;
	e.config.columns = columns;
	e.config.slices = (const char *const *)slices;
	e.config.counters = (const char *const *)counters;
	code = check(verb, &e, to, argc);
	if (code)
		return code;
	e.path = argv[1];
	e.config.cancellable = g_cancellable_new();
	code = export_trace(&e, force);
	g_object_unref(e.config.cancellable);
	return code;
}

const struct rs_verb rs_verb_export = {
	.name = "export",
	.args = "FILE --to FORMAT -o OUT",
	.summary = "write a recorded trace in the format of another tool",
	.details = "Reads what `ringside record` wrote; \"-\" is standard input. OUT is written "
		   "under another\nname and gets its own at the end, so that there is never half "
		   "of it.",
	.run = run,
};
