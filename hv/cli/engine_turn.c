/* SPDX-License-Identifier: MIT */
#include "cli/engine_turn.h"

#include "cli/observe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX_MAX 48 /* bytes of a command in a message about it */

static bool from_script(const struct rs_cli_engine_run *run)
{
	return run->input.from == RS_CLI_ENGINE_FROM_SCRIPT;
}

static bool from_terminal(const struct rs_cli_engine_run *run)
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

void rs_cli_engine_finish(struct rs_cli_engine_run *run, int code)
{
	if (!run->over)
		run->code = code;
	run->over = true;
	g_main_loop_quit(run->loop);
}

void rs_cli_engine_end_prompt(struct rs_cli_engine_run *run)
{
	if (run->prompted)
		putchar('\n');
	run->prompted = false;
}

void rs_cli_engine_lose(struct rs_cli_engine_run *run)
{
	rs_cli_engine_end_prompt(run);
	if (rs_cli_session_has_died(run->session))
		rs_cli_engine_finish(run, rs_cli_fail(RS_CLI_FAILED, "the session went away"));
	else
		rs_cli_engine_finish(run, rs_cli_fail(RS_CLI_OK, "the session has ended"));
}

/* Names the command by its line, or the beginning of that. */
static void prefix(GError **error, const char *line)
{
	g_autofree char *text = g_strstrip(g_strdup(line));

	g_prefix_error(error, "%.*s%s: ", PREFIX_MAX, text, strlen(text) > PREFIX_MAX ? "..." : "");
}

/*
 * The command of this line has failed. Frees `error`. A script ends by it if what follows may rely
 * on what was not done, but not by what was only to be looked at.
 */
static void fail(struct rs_cli_engine_run *run, const char *line, GError *error, bool looks)
{
	int code;

	rs_cli_engine_end_prompt(run);
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
		g_error_free(error);
		rs_cli_engine_finish(run, RS_CLI_OK);
		return;
	}
	if (g_error_matches(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_ENDED)) {
		g_error_free(error);
		rs_cli_engine_finish(run, rs_cli_fail(RS_CLI_OK, "the session has ended"));
		return;
	}
	if (g_error_matches(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_GONE)) {
		g_error_free(error);
		rs_cli_engine_lose(run);
		return;
	}
	prefix(&error, line);
	code = rs_cli_fail_gerror(error);
	/* It may have been the end of the thread, which is no mistake. */
	if (!from_terminal(run) && !looks &&
	    rs_cli_engine_refresh(run->desk.wait, run->desk.engines, NULL) &&
	    !is_gone(run->desk.current))
		rs_cli_engine_finish(run, code);
}

/* ---- lines ---- */

static void take(struct rs_cli_engine_run *run)
{
	rs_cli_engine_input_take(&run->input);
	if (!from_script(run))
		run->prompted = false;
}

/* At the end of a script its thread goes on. True: there may be more to do. */
static bool end_script(struct rs_cli_engine_run *run)
{
	GError *error = NULL;

	run->input.at = 0;
	if (is_stopped(run->desk.current) &&
	    !rs_cli_engine_control(run->desk.wait, run->desk.current, RS_TRACE_ENGINE_RESUME,
				   &error)) {
		fail(run, "resume", error, false);
		/* Gone, or nothing that can be helped. */
		return false;
	}
	return true;
}

/* No line is there. */
static bool without_line(struct rs_cli_engine_run *run)
{
	if (from_script(run)) {
		if (is_stopped(run->desk.current) || run->input.at > 0)
			return end_script(run);
		return false;
	}
	if (!run->input.ended)
		return false;
	if (from_terminal(run))
		rs_cli_engine_finish(run, RS_CLI_OK);
	run->input.from = RS_CLI_ENGINE_FROM_SCRIPT; /* which is empty */
	return true;
}

static void wrong(struct rs_cli_engine_run *run, const char *message)
{
	if (from_terminal(run))
		rs_cli_fail(0, "%s", message);
	else
		rs_cli_engine_finish(run, rs_cli_fail(RS_CLI_USAGE, "%s", message));
}

/* The line stays until its thread has stopped. */
static bool must_wait(struct rs_cli_engine_run *run, const struct rs_cli_engine_command *command)
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

static void do_command(struct rs_cli_engine_run *run, const char *line,
		       const struct rs_cli_engine_command *command)
{
	RsTraceEngine *current = run->desk.current;
	GError *error = NULL;

	if (command->needs_stop && !is_stopped(current))
		rs_cli_fail(0, "thread %u runs; `stop` stops it",
			    rs_trace_engine_get_thread(current));
	else if (command->what == RS_CLI_ENGINE_DO_QUIT)
		rs_cli_engine_finish(run, RS_CLI_OK);
	else if (!rs_cli_engine_do(&run->desk, command, &error))
		fail(run, line, error, command->looks);
}

/* True: a line was taken. */
static bool do_line(struct rs_cli_engine_run *run, const char *line)
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
		do_command(run, line, &command);
	return true;
}

/* ---- whose turn it is ---- */

static void show_stop(struct rs_cli_engine_run *run, RsTraceEngine *engine)
{
	rs_cli_engine_end_prompt(run);
	run->shown++;
	rs_cli_engine_show_stop(&run->desk, engine, run->options->insns);
}

static void show_all(struct rs_cli_engine_run *run)
{
	for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(run->desk.engines)); i++) {
		g_autoptr(RsTraceEngine) engine =
			g_list_model_get_item(G_LIST_MODEL(run->desk.engines), i);

		if (is_stopped(engine) && !rs_cli_engine_is_shown(engine))
			show_stop(run, engine);
	}
}

/* Commands mean one thread until it goes on, and then the one that stopped first. */
static void choose(struct rs_cli_engine_run *run)
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

static bool is_enough(const struct rs_cli_engine_run *run)
{
	RsTraceEngine *current = run->desk.current;

	return run->options->count && run->shown >= run->options->count && !run->input.at &&
	       !is_stopped(current) && (!rs_trace_engine_get_steps(current) || from_script(run));
}

/* Whether something can still be told, but for the end of a thread. */
static bool may_come(const struct rs_cli_engine_run *run)
{
	GListModel *list = G_LIST_MODEL(run->desk.engines);

	for (guint i = 0; i < g_list_model_get_n_items(list); i++) {
		g_autoptr(RsTraceEngine) engine = g_list_model_get_item(list, i);

		if (rs_trace_engine_may_stop(engine) || rs_trace_engine_get_follow(engine))
			return true;
	}
	return false;
}

/* Nothing can be done now. `line`: that waits for a stop; NULL: none. */
static void end_if_idle(struct rs_cli_engine_run *run, char *line)
{
	if (run->over || from_terminal(run) || (!line && !from_script(run)) || may_come(run))
		return;
	/* The commands of a script that has not begun are for a stop that may or may not come. */
	if (line && (!from_script(run) || run->input.at))
		rs_cli_engine_finish(run,
				     rs_cli_fail(RS_CLI_FAILED,
						 "%s: thread %u runs, and nothing stops it "
						 "any more",
						 g_strstrip(line),
						 rs_trace_engine_get_thread(run->desk.current)));
	else
		rs_cli_engine_finish(run, RS_CLI_OK);
}

/* True: there may be more to do. */
static bool turn(struct rs_cli_engine_run *run)
{
	g_autofree char *line = NULL;

	if (is_enough(run)) {
		rs_cli_engine_finish(run, RS_CLI_OK);
		return false;
	}
	if (!g_list_model_get_n_items(G_LIST_MODEL(run->desk.engines))) {
		rs_cli_engine_end_prompt(run);
		if (!run->options->json)
			rs_cli_fail(0, "no thread is left");
		rs_cli_engine_finish(run, RS_CLI_OK);
		return false;
	}
	choose(run);
	line = rs_cli_engine_input_peek(&run->input);
	if (line ? do_line(run, line) : without_line(run))
		return true;
	end_if_idle(run, line);
	return false;
}

static void prompt(struct rs_cli_engine_run *run)
{
	const bool several = run->desk.printer.name_sources;
	RsTraceEngine *current = run->desk.current;

	if (!from_terminal(run) || run->prompted || run->options->json ||
	    rs_trace_engine_get_steps(current) || !isatty(STDOUT_FILENO))
		return;
	printf("(%s%s%u %s%s) ", several ? rs_trace_engine_get_source(current) : "",
	       several ? "/" : "", rs_trace_engine_get_thread(current),
	       rs_trace_engine_get_comm(current), is_stopped(current) ? "" : ", runs");
	fflush(stdout);
	run->prompted = true;
}

void rs_cli_engine_work(void *data)
{
	struct rs_cli_engine_run *run = data;

	if (run->input.too_long)
		rs_cli_engine_finish(run,
				     rs_cli_fail(RS_CLI_USAGE, "a line of commands is too long"));
	while (!run->over && turn(run))
		/* Nobody reads any more, or we are to end. */
		if (ferror(stdout) || rs_cli_wait_is_over(run->desk.wait))
			rs_cli_engine_finish(run, RS_CLI_OK);
	if (run->over)
		return;
	prompt(run);
	rs_cli_engine_input_listen(&run->input);
}
