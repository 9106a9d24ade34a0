/* SPDX-License-Identifier: MIT */
#include "cli/engine_run.h"

#include "cli/engine_output.h"
#include "cli/engine_turn.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

static gboolean on_due(gpointer data)
{
	struct rs_cli_engine_run *run = data;

	run->due = 0;
	rs_cli_engine_work(run);
	return G_SOURCE_REMOVE;
}

/* Once all that is known by now has been told. */
static void work_soon(struct rs_cli_engine_run *run)
{
	if (!run->due && !run->over)
		run->due = g_idle_add(on_due, run);
}

static void on_news(RsTraceEngines *engines, RsTraceEngine *engine, gpointer data)
{
	work_soon(data);
}

static void on_attached(RsTraceEngines *engines, RsTraceEngine *engine, gpointer data)
{
	struct rs_cli_engine_run *run = data;

	rs_cli_engine_end_prompt(run);
	rs_cli_engine_print_attached(
		&run->desk.printer, engine,
		rs_trace_engines_by_number(engines, rs_trace_engine_get_followed(engine)));
	work_soon(run);
}

static void on_gone(RsTraceEngines *engines, RsTraceEngine *engine, gpointer data)
{
	struct rs_cli_engine_run *run = data;

	rs_cli_engine_end_prompt(run);
	rs_cli_engine_print_gone(&run->desk.printer, engine);
	work_soon(run);
}

static void on_over(RsTraceEngines *engines, const char *reason, int code, const char *text,
		    gpointer data)
{
	struct rs_cli_engine_run *run = data;

	if (run->over)
		return;
	if (!reason) {
		rs_cli_engine_lose(run);
		return;
	}
	rs_cli_engine_end_prompt(run);
	rs_cli_fail(0, "the guest has ended: %s%s%s", reason, *text ? ": " : "", text);
	rs_cli_engine_finish(run, RS_CLI_OK);
}

static gboolean on_enough(gpointer data)
{
	struct rs_cli_engine_run *run = data;

	rs_cli_engine_end_prompt(run);
	rs_cli_engine_finish(run, RS_CLI_OK);
	return G_SOURCE_CONTINUE;
}

static gboolean on_nobody_reads(gint fd, GIOCondition condition, gpointer data)
{
	rs_cli_engine_finish(data, RS_CLI_OK);
	return G_SOURCE_CONTINUE;
}

/* ---- a shell that takes us to the foreground again ---- */

static int continued; /* an eventfd; of the one run that there is */

static void on_sigcont(int number)
{
	const int before = errno;

	eventfd_write(continued, 1);
	errno = before;
}

/* What the shell has printed stands after our prompt. */
static gboolean on_continued(gint fd, GIOCondition condition, gpointer data)
{
	struct rs_cli_engine_run *run = data;
	eventfd_t count;

	eventfd_read(fd, &count);
	run->prompted = false;
	work_soon(run);
	return G_SOURCE_CONTINUE;
}

/* Returns a source; 0: there is nobody to prompt. */
static guint watch_continue(struct rs_cli_engine_run *run, struct sigaction *before)
{
	const struct sigaction action = {.sa_handler = on_sigcont, .sa_flags = SA_RESTART};

	if (run->input.from != RS_CLI_ENGINE_FROM_TERMINAL)
		return 0;
	continued = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (continued < 0)
		return 0;
	sigaction(SIGCONT, &action, before);
	return g_unix_fd_add(continued, G_IO_IN, on_continued, run);
}

static void unwatch_continue(guint source, const struct sigaction *before)
{
	if (!source)
		return;
	g_source_remove(source);
	sigaction(SIGCONT, before, NULL);
	close(continued);
}

static void loop(struct rs_cli_engine_run *run)
{
	RsTraceEngines *engines = run->desk.engines;
	struct sigaction before = {0};
	const guint continue_source = watch_continue(run, &before);
	guint sources[] = {
		g_unix_signal_add(SIGINT, on_enough, run),
		g_unix_signal_add(SIGTERM, on_enough, run),
		g_unix_signal_add(SIGHUP, on_enough, run),
		g_unix_fd_add(STDOUT_FILENO, G_IO_ERR, on_nobody_reads, run),
		run->options->duration > 0
			? g_timeout_add((guint)(run->options->duration * 1000), on_enough, run)
			: 0,
	};

	g_signal_connect(engines, "attached", G_CALLBACK(on_attached), run);
	g_signal_connect(engines, "stopped", G_CALLBACK(on_news), run);
	g_signal_connect(engines, "gone", G_CALLBACK(on_gone), run);
	g_signal_connect(engines, "over", G_CALLBACK(on_over), run);
	work_soon(run);
	g_main_loop_run(run->loop);
	g_signal_handlers_disconnect_by_data(engines, run);
	unwatch_continue(continue_source, &before);
	for (size_t i = 0; i < G_N_ELEMENTS(sources); i++)
		g_clear_handle_id(&sources[i], g_source_remove);
	g_clear_handle_id(&run->due, g_source_remove);
}

/* Whether they are of more than one source. */
static bool are_several(RsTraceEngines *engines)
{
	guint32 first = 0;

	for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(engines)); i++) {
		g_autoptr(RsTraceEngine) engine = g_list_model_get_item(G_LIST_MODEL(engines), i);
		guint32 source = rs_trace_engine_get_source_number(engine);

		if (first && source != first)
			return true;
		first = source;
	}
	return false;
}

int rs_cli_engine_run(RsDBusSession1 *session, RsTraceEngines *engines, struct rs_cli_wait *wait,
		      const struct rs_cli_engine_options *options)
{
	struct rs_cli_engine_run run = {
		.desk = {.engines = engines,
			 .wait = wait,
			 .current = g_list_model_get_item(G_LIST_MODEL(engines), 0),
			 .printer = {.names = options->names,
				     .brief = options->brief,
				     .json = options->json,
				     .name_sources = are_several(engines)}},
		.session = session,
		.options = options,
	};
	struct rs_cli_engine_output output;
	int code;

	rs_cli_engine_output_begin(&output, wait);
	rs_cli_engine_input_init(&run.input, options->script, rs_cli_engine_work, &run);
	run.loop = g_main_loop_new(NULL, FALSE);
	loop(&run);
	rs_cli_engine_detach_all(wait, engines);
	g_main_loop_unref(run.loop);
	rs_cli_engine_input_deinit(&run.input);
	g_clear_object(&run.desk.current);
	code = rs_cli_engine_output_end(&output);
	return run.code ? run.code : code;
}
