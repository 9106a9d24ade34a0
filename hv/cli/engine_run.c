/* SPDX-License-Identifier: MIT */
#include "cli/engine_run.h"

#include "cli/engine_do.h"
#include "cli/engine_input.h"
#include "cli/engine_output.h"
#include "cli/engine_wait.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

struct run {
	struct rs_cli_engine_desk desk;
	struct rs_cli_engine_input input;
	const struct rs_cli_engine_options *options;
	GMainLoop *loop;
	guint due; /* work */
	guint64 shown;
	bool over, prompted;
	int code;
};

static bool from_script(const struct run *run)
{
	return run->input.from == RS_CLI_ENGINE_FROM_SCRIPT;
}

static bool from_terminal(const struct run *run)
{
	return run->input.from == RS_CLI_ENGINE_FROM_TERMINAL;
}

static bool is_stopped(RsTraceEngine *engine)
{
	return rs_trace_engine_get_state(engine) == RS_TRACE_ENGINE_STOPPED;
}

static bool is_gone(RsTraceEngine *engine)
{
	return rs_trace_engine_get_state(engine) == RS_TRACE_ENGINE_GONE;
}

static void finish(struct run *run, int code)
{
	if (!run->over)
		run->code = code;
	run->over = true;
	g_main_loop_quit(run->loop);
}

/* A message, an object of ours, or a line of the user's: what the prompt stands before. */
static void end_prompt(struct run *run)
{
	if (run->prompted)
		putchar('\n');
	run->prompted = false;
}

/*
 * A call has failed. Frees `error`. A script ends by it if what follows may rely on what was not
 * done, but not by what was only to be looked at.
 */
static void fail(struct run *run, GError *error, bool looks)
{
	int code;

	end_prompt(run);
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
		g_error_free(error);
		finish(run, RS_CLI_OK);
		return;
	}
	if (g_error_matches(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_ENDED) ||
	    g_error_matches(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_GONE)) {
		g_error_free(error);
		rs_cli_fail(0, "the session has ended");
		finish(run, RS_CLI_OK);
		return;
	}
	code = rs_cli_fail_gerror(error);
	/* It may have been the end of the thread, which is no mistake. */
	if (!from_terminal(run) && !looks &&
	    rs_cli_engine_refresh(run->desk.wait, run->desk.engines, NULL) &&
	    !is_gone(run->desk.current))
		finish(run, code);
}

/* ---- lines ---- */

static void take(struct run *run)
{
	rs_cli_engine_input_take(&run->input);
	if (!from_script(run))
		run->prompted = false;
}

/* At the end of a script its thread goes on. True: there may be more to do. */
static bool end_script(struct run *run)
{
	GError *error = NULL;

	run->input.at = 0;
	if (is_stopped(run->desk.current) &&
	    !rs_cli_engine_control(run->desk.wait, run->desk.current, RS_TRACE_ENGINE_RESUME,
				   &error)) {
		fail(run, error, false);
		/* Gone, or nothing that can be helped. */
		return false;
	}
	return true;
}

/* No line is there. */
static bool without_line(struct run *run)
{
	if (from_script(run)) {
		if (is_stopped(run->desk.current) || run->input.at > 0)
			return end_script(run);
		return false;
	}
	if (!run->input.ended)
		return false;
	if (from_terminal(run))
		finish(run, RS_CLI_OK);
	run->input.from = RS_CLI_ENGINE_FROM_SCRIPT; /* which is empty */
	return true;
}

static void wrong(struct run *run, const char *message)
{
	if (from_terminal(run))
		rs_cli_fail(0, "%s", message);
	else
		finish(run, rs_cli_fail(RS_CLI_USAGE, "%s", message));
}

/* The line stays until its thread has stopped. */
static bool must_wait(struct run *run, const struct rs_cli_engine_command *command)
{
	RsTraceEngine *current = run->desk.current;

	if (from_script(run) && !run->input.at && !is_stopped(current))
		return true;
	if (!command->needs_stop || is_stopped(current))
		return false;
	if (!from_terminal(run))
		return true;
	/* Who types while steps are made has seen enough of them. */
	rs_trace_engine_end_steps(current);
	return rs_trace_engine_get_steps(current) > 0;
}

static void do_command(struct run *run, const struct rs_cli_engine_command *command)
{
	RsTraceEngine *current = run->desk.current;
	GError *error = NULL;

	if (command->needs_stop && !is_stopped(current))
		rs_cli_fail(0, "thread %u runs; `stop` stops it",
			    rs_trace_engine_get_thread(current));
	else if (command->what == RS_CLI_ENGINE_DO_QUIT)
		finish(run, RS_CLI_OK);
	else if (!rs_cli_engine_do(&run->desk, command, &error))
		fail(run, error, command->looks);
}

/* True: a line was taken. */
static bool do_line(struct run *run, const char *line)
{
	struct rs_cli_engine_command command = {0};
	struct rs_error err = {0};
	int ret = rs_cli_engine_parse(line, rs_trace_engine_get_registers(run->desk.current),
				      run->options->names, &command, &err);

	if (must_wait(run, &command))
		return false;
	take(run);
	if (ret == -EINVAL)
		wrong(run, err.message);
	else if (ret)
		rs_trace_engine_end_steps(run->desk.current);
	else
		do_command(run, &command);
	return true;
}

/* ---- whose turn it is ---- */

static void show_stop(struct run *run, RsTraceEngine *engine)
{
	end_prompt(run);
	run->shown++;
	rs_cli_engine_show_stop(&run->desk, engine, run->options->insns);
}

static void show_all(struct run *run)
{
	for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(run->desk.engines)); i++) {
		g_autoptr(RsTraceEngine) engine =
			g_list_model_get_item(G_LIST_MODEL(run->desk.engines), i);

		if (is_stopped(engine) && !rs_cli_engine_is_shown(engine))
			show_stop(run, engine);
	}
}

/* Commands mean one thread until it goes on, and then the one that stopped first. */
static void choose(struct run *run)
{
	struct rs_cli_engine_desk *desk = &run->desk;
	RsTraceEngine *next = rs_trace_engines_first_stopped(desk->engines);
	bool is_other = false;

	if (is_gone(desk->current)) {
		g_autoptr(RsTraceEngine) left =
			g_list_model_get_item(G_LIST_MODEL(desk->engines), 0);

		is_other = g_set_object(&desk->current, left);
		desk->kept = false;
		run->input.at = 0;
	}
	if (!desk->kept && !is_stopped(desk->current) &&
	    !rs_trace_engine_get_steps(desk->current) && !run->input.at && next)
		is_other |= g_set_object(&desk->current, next);
	if (!from_terminal(run)) {
		if (is_stopped(desk->current) && !rs_cli_engine_is_shown(desk->current))
			show_stop(run, desk->current);
		return;
	}
	if (is_other && rs_cli_engine_is_shown(desk->current))
		rs_cli_engine_print_again(&desk->printer, desk->current);
	show_all(run);
}

static bool is_enough(const struct run *run)
{
	RsTraceEngine *current = run->desk.current;

	return run->options->count && run->shown >= run->options->count && !run->input.at &&
	       !is_stopped(current) && (!rs_trace_engine_get_steps(current) || from_script(run));
}

/* True: there may be more to do. */
static bool turn(struct run *run)
{
	g_autofree char *line = NULL;

	if (is_enough(run)) {
		finish(run, RS_CLI_OK);
		return false;
	}
	if (!g_list_model_get_n_items(G_LIST_MODEL(run->desk.engines))) {
		end_prompt(run);
		if (!run->options->json)
			rs_cli_fail(0, "no thread is left");
		finish(run, RS_CLI_OK);
		return false;
	}
	choose(run);
	line = rs_cli_engine_input_peek(&run->input);
	return line ? do_line(run, line) : without_line(run);
}

static void prompt(struct run *run)
{
	RsTraceEngine *current = run->desk.current;

	if (!from_terminal(run) || run->prompted || run->options->json ||
	    rs_trace_engine_get_steps(current) || !isatty(STDOUT_FILENO))
		return;
	printf("(%u %s%s) ", rs_trace_engine_get_thread(current), rs_trace_engine_get_comm(current),
	       is_stopped(current) ? "" : ", runs");
	fflush(stdout);
	run->prompted = true;
}

static void work(void *data)
{
	struct run *run = data;

	if (run->input.too_long)
		finish(run, rs_cli_fail(RS_CLI_USAGE, "a line of commands is too long"));
	while (!run->over && turn(run))
		/* Nobody reads any more, or we are to end. */
		if (ferror(stdout) || rs_cli_wait_is_over(run->desk.wait))
			finish(run, RS_CLI_OK);
	if (run->over)
		return;
	prompt(run);
	rs_cli_engine_input_listen(&run->input);
}

/* ---- what happens ---- */

static gboolean on_due(gpointer data)
{
	struct run *run = data;

	run->due = 0;
	work(run);
	return G_SOURCE_REMOVE;
}

/* Once all that is known by now has been told. */
static void work_soon(struct run *run)
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
	struct run *run = data;

	end_prompt(run);
	rs_cli_engine_print_attached(
		&run->desk.printer, engine,
		rs_trace_engines_by_number(engines, rs_trace_engine_get_followed(engine)));
	work_soon(run);
}

static void on_gone(RsTraceEngines *engines, RsTraceEngine *engine, gpointer data)
{
	struct run *run = data;

	end_prompt(run);
	rs_cli_engine_print_gone(&run->desk.printer, engine);
	work_soon(run);
}

static void on_over(RsTraceEngines *engines, const char *reason, int code, const char *text,
		    gpointer data)
{
	struct run *run = data;

	if (run->over)
		return;
	end_prompt(run);
	if (reason)
		rs_cli_fail(0, "the guest has ended: %s%s%s", reason, *text ? ": " : "", text);
	else
		rs_cli_fail(0, "the session has ended");
	finish(run, RS_CLI_OK);
}

static gboolean on_enough(gpointer data)
{
	struct run *run = data;

	end_prompt(run);
	finish(run, RS_CLI_OK);
	return G_SOURCE_CONTINUE;
}

static gboolean on_nobody_reads(gint fd, GIOCondition condition, gpointer data)
{
	finish(data, RS_CLI_OK);
	return G_SOURCE_CONTINUE;
}

static void loop(struct run *run)
{
	RsTraceEngines *engines = run->desk.engines;
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

int rs_cli_engine_run(RsTraceEngines *engines, struct rs_cli_wait *wait,
		      const struct rs_cli_engine_options *options)
{
	struct run run = {
		.desk = {.engines = engines,
			 .wait = wait,
			 .current = g_list_model_get_item(G_LIST_MODEL(engines), 0),
			 .printer = {.names = options->names,
				     .brief = options->brief,
				     .json = options->json,
				     .name_sources = are_several(engines)}},
		.options = options,
	};
	struct rs_cli_engine_output output;
	int code;

	rs_cli_engine_output_begin(&output, wait);
	rs_cli_engine_input_init(&run.input, options->script, work, &run);
	run.loop = g_main_loop_new(NULL, FALSE);
	loop(&run);
	rs_cli_engine_detach_all(wait, engines);
	g_main_loop_unref(run.loop);
	rs_cli_engine_input_deinit(&run.input);
	g_clear_object(&run.desk.current);
	code = rs_cli_engine_output_end(&output);
	return run.code ? run.code : code;
}
