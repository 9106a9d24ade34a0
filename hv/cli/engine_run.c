/* SPDX-License-Identifier: MIT */
#include "cli/engine_run.h"

#include "cli/engine_do.h"

#include <errno.h>
#include <glib-unix.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TYPED_MAX 4096 /* bytes of a command */

enum input {
	FROM_SCRIPT,   /* anew at each stop; the thread goes on at its end */
	FROM_PIPE,     /* a line waits until its thread has stopped */
	FROM_TERMINAL, /* a line is carried out at once, and may be wrong */
};

struct run {
	struct rs_cli_engine_desk desk;
	const struct rs_cli_engine_options *options;
	GMainLoop *loop;
	enum input input;
	char **script;
	guint at; /* the next command of the script; 0: it has not begun */
	GString *typed;
	bool ended; /* nothing more will be typed */
	guint listening;
	guint64 shown;
	bool over, prompted;
	int code;
};

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

static bool is_end(const GError *error)
{
	return g_error_matches(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_ENDED) ||
	       g_error_matches(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_GONE);
}

/* A call has failed. Frees `error`. */
static void fail(struct run *run, GError *error)
{
	int code;

	rs_trace_client_fix_error(&error);
	end_prompt(run);
	if (is_end(error)) {
		g_error_free(error);
		rs_cli_fail(0, "the session has ended");
		finish(run, RS_CLI_OK);
		return;
	}
	code = rs_cli_fail_gerror(error);
	/* In a script it may have been the end of the thread, which is no mistake. */
	if (run->input != FROM_TERMINAL && rs_cli_engines_refresh(run->desk.engines, NULL) &&
	    !run->desk.current->gone)
		finish(run, code);
}

/* ---- what is shown ---- */

static void show_stop(struct run *run, struct rs_cli_engine *engine)
{
	end_prompt(run);
	run->shown++;
	rs_cli_engine_show_stop(&run->desk, engine, run->options->insns);
}

static void on_gone(struct rs_cli_engine *engine, void *data)
{
	struct run *run = data;

	end_prompt(run);
	rs_cli_engine_print_gone(&run->desk.printer, engine);
}

/* ---- where commands come from ---- */

/* The next line, to be freed; NULL: there is none now. It stays until it is taken. */
static char *peek(struct run *run)
{
	const char *end;

	if (run->input == FROM_SCRIPT)
		return run->script ? g_strdup(run->script[run->at]) : NULL;
	end = memchr(run->typed->str, '\n', run->typed->len);
	if (!end && (!run->ended || !run->typed->len))
		return NULL;
	return g_strndup(run->typed->str, end ? (gsize)(end - run->typed->str) : run->typed->len);
}

static void take(struct run *run)
{
	const char *end;

	if (run->input == FROM_SCRIPT) {
		run->at++;
		return;
	}
	end = memchr(run->typed->str, '\n', run->typed->len);
	g_string_erase(run->typed, 0, end ? end - run->typed->str + 1 : -1);
	run->prompted = false;
}

/* At the end of a script its thread goes on. True: there may be more to do. */
static bool end_script(struct run *run)
{
	GError *error = NULL;

	run->at = 0;
	if (run->desk.current->stopped &&
	    !rs_cli_engine_control(run->desk.engines, run->desk.current, "resume", &error)) {
		fail(run, error);
		/* Gone, or nothing that can be helped. */
		run->desk.current->stopped = false;
	}
	return true;
}

/* No line is there. */
static bool without_line(struct run *run)
{
	if (run->input == FROM_SCRIPT) {
		if (run->desk.current->stopped || run->at > 0)
			return end_script(run);
		return false;
	}
	if (!run->ended)
		return false;
	if (run->input == FROM_TERMINAL)
		finish(run, RS_CLI_OK);
	run->input = FROM_SCRIPT; /* which is empty */
	return true;
}

static void wrong(struct run *run, const char *message)
{
	run->prompted = false;
	if (run->input == FROM_TERMINAL)
		rs_cli_fail(0, "%s", message);
	else
		finish(run, rs_cli_fail(RS_CLI_USAGE, "%s", message));
}

/* True: a line was taken. */
static bool do_line(struct run *run, const char *line)
{
	struct rs_cli_engine_command command;
	struct rs_error err = {0};
	GError *error = NULL;
	int ret = rs_cli_engine_parse(line, run->desk.printer.arch, run->options->names, &command,
				      &err);

	if (run->input == FROM_SCRIPT && !run->at && !run->desk.current->stopped)
		return false;
	if (!ret && command.needs_stop && !run->desk.current->stopped &&
	    (run->input != FROM_TERMINAL || run->desk.current->steps))
		return false;
	take(run);
	if (ret == -EINVAL) {
		wrong(run, err.message);
	} else if (!ret && command.needs_stop && !run->desk.current->stopped) {
		rs_cli_fail(0, "thread %u runs; stop stops it", run->desk.current->thread);
	} else if (!ret && command.what == RS_CLI_ENGINE_DO_QUIT) {
		finish(run, RS_CLI_OK);
	} else if (!ret && !rs_cli_engine_do(&run->desk, &command, &error)) {
		fail(run, error);
	}
	return true;
}

/* ---- whose turn it is ---- */

static struct rs_cli_engine *any_left(const struct run *run)
{
	for (guint i = 0; i < run->desk.engines->all->len; i++) {
		struct rs_cli_engine *engine = run->desk.engines->all->pdata[i];

		if (!engine->gone)
			return engine;
	}
	return NULL;
}

static void show_all(struct run *run)
{
	for (guint i = 0; i < run->desk.engines->all->len; i++) {
		struct rs_cli_engine *engine = run->desk.engines->all->pdata[i];

		if (engine->stopped && !engine->shown)
			show_stop(run, engine);
	}
}

/* Commands mean one thread until it goes on, and then the one that stopped first. */
static void choose(struct run *run)
{
	struct rs_cli_engine *before = run->desk.current;
	struct rs_cli_engine *next = rs_cli_engines_first_stopped(run->desk.engines);

	if (run->desk.current->gone) {
		run->desk.current = any_left(run);
		run->desk.kept = false;
		run->at = 0;
	}
	if (!run->desk.kept && !run->desk.current->stopped && !run->desk.current->steps &&
	    !run->at && next)
		run->desk.current = next;
	if (run->input == FROM_TERMINAL) {
		if (run->desk.current != before && run->desk.current->stopped &&
		    run->desk.current->shown)
			rs_cli_engine_print_again(&run->desk.printer, run->desk.current);
		show_all(run);
	} else if (run->desk.current->stopped && !run->desk.current->shown) {
		show_stop(run, run->desk.current);
	}
}

static bool is_enough(const struct run *run)
{
	const struct rs_cli_engine *current = run->desk.current;

	return run->options->count && run->shown >= run->options->count && !run->at &&
	       !current->stopped && (!current->steps || run->input == FROM_SCRIPT);
}

/* True: there may be more to do. */
static bool turn(struct run *run)
{
	g_autofree char *line = NULL;

	if (is_enough(run)) {
		finish(run, RS_CLI_OK);
		return false;
	}
	if (!any_left(run)) {
		end_prompt(run);
		if (!run->options->json)
			rs_cli_fail(0, "no thread is left");
		finish(run, RS_CLI_OK);
		return false;
	}
	choose(run);
	line = peek(run);
	return line ? do_line(run, line) : without_line(run);
}

static gboolean on_input(gint fd, GIOCondition condition, gpointer data);

static void prompt(struct run *run)
{
	const struct rs_cli_engine *current = run->desk.current;

	if (run->input != FROM_TERMINAL || run->prompted || run->options->json || current->steps ||
	    !isatty(STDOUT_FILENO))
		return;
	printf("(%u %s%s) ", current->thread, current->comm, current->stopped ? "" : ", runs");
	fflush(stdout);
	run->prompted = true;
}

static void work(struct run *run)
{
	while (!run->over && turn(run))
		if (ferror(stdout))
			finish(run, RS_CLI_OK); /* nobody reads any more */
	if (run->over)
		return;
	prompt(run);
	if (run->input != FROM_SCRIPT && !run->ended && !run->listening &&
	    !memchr(run->typed->str, '\n', run->typed->len))
		run->listening =
			g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR, on_input, run);
}

/* ---- what happens ---- */

static gboolean on_input(gint fd, GIOCondition condition, gpointer data)
{
	struct run *run = data;
	char bytes[TYPED_MAX];
	ssize_t got = read(fd, bytes, sizeof(bytes));

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return G_SOURCE_CONTINUE;
	run->listening = 0;
	if (got <= 0)
		run->ended = true;
	else
		g_string_append_len(run->typed, bytes, got);
	if (run->typed->len > TYPED_MAX && !memchr(run->typed->str, '\n', run->typed->len))
		finish(run, rs_cli_fail(RS_CLI_USAGE, "a line of commands is too long"));
	work(run);
	return G_SOURCE_REMOVE;
}

static void refresh(struct run *run)
{
	GError *error = NULL;

	if (!run->over && !rs_cli_engines_refresh(run->desk.engines, &error)) {
		fail(run, error);
		finish(run, RS_CLI_FAILED);
	}
	work(run);
}

static void on_changed(RsDBusSession1 *session, guint generation, GVariant *more, gpointer data)
{
	refresh(data);
}

static void on_ended(RsDBusSession1 *session, const char *reason, gint code, const char *text,
		     GVariant *more, gpointer data)
{
	struct run *run = data;

	end_prompt(run);
	rs_cli_fail(0, "the guest has ended: %s%s%s", reason, *text ? ": " : "", text);
	finish(run, RS_CLI_OK);
}

static void on_closed(GDBusConnection *connection, gboolean vanished, GError *error, gpointer data)
{
	struct run *run = data;

	if (!run->over) {
		end_prompt(run);
		rs_cli_fail(0, "the session has ended");
	}
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
	GDBusConnection *connection =
		g_dbus_proxy_get_connection(G_DBUS_PROXY(run->desk.engines->session));
	gulong signals[] = {
		g_signal_connect(run->desk.engines->session, "changed", G_CALLBACK(on_changed),
				 run),
		g_signal_connect(run->desk.engines->session, "ended", G_CALLBACK(on_ended), run),
	};
	gulong closed = g_signal_connect(connection, "closed", G_CALLBACK(on_closed), run);
	guint sources[] = {
		g_unix_signal_add(SIGINT, on_enough, run),
		g_unix_signal_add(SIGTERM, on_enough, run),
		g_unix_signal_add(SIGHUP, on_enough, run),
		g_unix_fd_add(STDOUT_FILENO, G_IO_ERR, on_nobody_reads, run),
		run->options->duration > 0
			? g_timeout_add((guint)(run->options->duration * 1000), on_enough, run)
			: 0,
	};

	/* What has happened before we listened. */
	refresh(run);
	if (!run->over)
		g_main_loop_run(run->loop);
	for (size_t i = 0; i < G_N_ELEMENTS(sources); i++)
		g_clear_handle_id(&sources[i], g_source_remove);
	g_clear_handle_id(&run->listening, g_source_remove);
	for (size_t i = 0; i < G_N_ELEMENTS(signals); i++)
		g_signal_handler_disconnect(run->desk.engines->session, signals[i]);
	g_signal_handler_disconnect(connection, closed);
}

int rs_cli_engine_run(struct rs_cli_engines *engines, const struct rs_cli_engine_options *options)
{
	struct run run = {
		.desk = {.engines = engines,
			 .printer = {.arch = &rs_cli_engine_x86_64,
				     .names = options->names,
				     .json = options->json,
				     .name_sources = rs_cli_engines_several(engines)}},
		.options = options,
		.input = options->script        ? FROM_SCRIPT
			 : isatty(STDIN_FILENO) ? FROM_TERMINAL
						: FROM_PIPE,
		.script = options->script,
	};

	run.typed = g_string_new(NULL);
	run.loop = g_main_loop_new(NULL, FALSE);
	run.desk.current = engines->all->pdata[0];
	engines->gone = on_gone;
	engines->data = &run;
	loop(&run);
	/* The session would do so too, but only once it notices that we are gone. */
	for (guint i = 0; i < engines->all->len; i++) {
		struct rs_cli_engine *engine = engines->all->pdata[i];

		if (!engine->gone)
			rs_cli_engine_control(engines, engine, "detach", NULL);
	}
	g_main_loop_unref(run.loop);
	g_string_free(run.typed, TRUE);
	return run.code;
}
