/* SPDX-License-Identifier: MIT */
/* `ringside engine`: stops threads of a guest at events, to look at them and to change them. */
#include "cli/engine_command.h"
#include "cli/engine_print.h"
#include "cli/engine_run.h"
#include "cli/engine_wait.h"
#include "filter/rs-trace-event-glob.h"

#include <errno.h>
#include <rs-trace-glob.h>
#include <stdio.h>

#define INSNS 6
#define INSNS_DEFAULT G_MININT64

struct args {
	char *session, *comm, *source, *events, *exec, *calls;
	gboolean stop, interrupt, follow, brief, json, list;
	gint64 pid, count, insns;
	double duration;
	guint32 mask;
	char **script;
};

static bool parse(const struct rs_verb *verb, struct args *a, int *argc, char ***argv, int *code)
{
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &a->session, "The session", "NAME"},
		{"pid", 'p', 0, G_OPTION_ARG_INT64, &a->pid,
		 "The threads of this process, or else the one with this id", "PID"},
		{"comm", 'c', 0, G_OPTION_ARG_STRING, &a->comm,
		 "The threads whose name matches, with * ? [a-c]; !GLOB: all others", "GLOB"},
		{"source", 0, 0, G_OPTION_ARG_STRING, &a->source,
		 "Only in this source of the session", "NAME"},
		{"events", 'e', 0, G_OPTION_ARG_STRING, &a->events,
		 "Stop them at these events, with commas between", "EVENTS"},
		{"stop", 0, 0, G_OPTION_ARG_NONE, &a->stop, "Stop them now", NULL},
		{"interrupt", 0, 0, G_OPTION_ARG_NONE, &a->interrupt,
		 "... and end a system call that waits", NULL},
		{"exec", 'x', 0, G_OPTION_ARG_STRING, &a->exec,
		 "Commands at each stop, with semicolons between", "COMMANDS"},
		{"insns", 0, 0, G_OPTION_ARG_INT64, &a->insns,
		 "Show so many instructions at a stop (default: 6)", "N"},
		{"follow", 'f', 0, G_OPTION_ARG_NONE, &a->follow,
		 "Attach to the threads that they make, too, before these run", NULL},
		{"brief", 'b', 0, G_OPTION_ARG_NONE, &a->brief,
		 "A stop is one line, without registers and instructions", NULL},
		{"calls", 0, 0, G_OPTION_ARG_FILENAME, &a->calls,
		 "Names of system calls: lines of a number and a name", "FILE"},
		{"count", 0, 0, G_OPTION_ARG_INT64, &a->count,
		 "End after so many stops (0: no limit)", "N"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &a->duration,
		 "End after so many seconds (0: no limit)", "SECONDS"},
		{"json", 'j', 0, G_OPTION_ARG_NONE, &a->json, "Print JSON", NULL},
		{"list", 'l', 0, G_OPTION_ARG_NONE, &a->list, "List the threads, attach to none",
		 NULL},
		{0}};

	return rs_cli_parse(verb, options, argc, argv, code);
}

/* Returns 0, or RS_CLI_USAGE after a message. */
static int check(const struct rs_verb *verb, struct args *a)
{
	const bool has_pid = a->pid != G_MININT64;
	struct rs_error err = {0};

	if (has_pid && (a->pid < 1 || a->pid > G_MAXUINT32))
		return rs_cli_usage(verb, "--pid: a process id, 1 to 4294967295");
	if (a->comm && strlen(a->comm) > RS_TRACE_GLOB_MAX)
		return rs_cli_usage(verb, "--comm: the pattern is too long");
	if (a->list && (a->events || a->stop || a->interrupt || a->exec || a->follow))
		return rs_cli_usage(verb, "--list attaches to nothing");
	if (a->list)
		return 0;
	if (!has_pid && !a->comm)
		return rs_cli_usage(verb, "which threads? --pid PID or --comm GLOB; --list shows "
					  "them");
	if (!a->events && !a->stop && !a->interrupt)
		return rs_cli_usage(verb, "stop them when? --events EVENTS, --stop or --interrupt");
	if (a->events && rs_cli_engine_parse_events(a->events, &a->mask, &err))
		return rs_cli_usage(verb, "--events: %s", err.message);
	if (a->insns == INSNS_DEFAULT)
		a->insns = a->brief ? 0 : INSNS;
	if (a->insns < 0 || a->insns > RS_CLI_ENGINE_DIS_MAX)
		return rs_cli_usage(verb, "--insns: a number from 0 to %u", RS_CLI_ENGINE_DIS_MAX);
	if (a->count < 0)
		return rs_cli_usage(verb, "--count is a number of stops; 0: no limit");
	return rs_cli_check_limits(verb, a->count, a->duration);
}

/* The commands of --exec: all of them must be right before anything is done. */
static int check_script(const struct rs_verb *verb, struct args *a,
			const struct rs_call_names *names)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) parts = a->exec ? g_strsplit(a->exec, ";", -1) : NULL;

	for (guint i = 0; parts && parts[i]; i++) {
		struct rs_cli_engine_command command;
		struct rs_error err = {0};
		int ret = rs_cli_engine_parse(parts[i], rs_trace_register_set(RS_ARCH_X86_64),
					      names, &command, &err);

		if (ret == -EINVAL)
			return rs_cli_usage(verb, "--exec: %s", err.message);
		if (!ret)
			g_ptr_array_add(lines, g_strdup(parts[i]));
	}
	g_ptr_array_add(lines, NULL);
	if (a->exec)
		a->script = (char **)g_ptr_array_free(g_steal_pointer(&lines), FALSE);
	return 0;
}

/* Which threads are meant. */
struct choice {
	const struct args *args;
	bool thread;       /* --pid is a thread: no process has this id */
	RsTraceGlob *glob; /* NULL: any name */
};

static bool matches(const struct choice *choice, guint32 thread, guint32 process, const char *comm)
{
	const gint64 pid = choice->args->pid;

	if (pid != G_MININT64 && (choice->thread ? thread : process) != pid)
		return false;
	return !choice->glob || rs_trace_glob_matches(choice->glob, comm);
}

/* By the user, who knows. Then it is freed. */
static bool is_cancelled(GError *error)
{
	bool is = g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);

	if (is)
		g_error_free(error);
	return is;
}

/* The threads that match; NULL: a message has been printed. */
static GPtrArray *find(RsTraceEngines *engines, struct rs_cli_wait *wait, struct choice *choice,
		       guint32 source, int *code)
{
	GError *error = NULL;
	GPtrArray *threads = rs_cli_engine_threads(wait, engines, source, &error);

	if (!threads) {
		*code = is_cancelled(error) ? RS_CLI_FAILED : rs_cli_fail_gerror(error);
		return NULL;
	}
	choice->thread = true;
	for (guint i = 0; i < threads->len; i++) {
		const RsTraceEngineThread *thread = threads->pdata[i];

		choice->thread &= thread->process != choice->args->pid;
	}
	for (guint i = threads->len; i-- > 0;) {
		const RsTraceEngineThread *thread = threads->pdata[i];

		/* One that is to be reaped still is shown only. */
		if ((thread->dead && !choice->args->list) ||
		    !matches(choice, thread->id, thread->process, thread->comm))
			g_ptr_array_remove_index(threads, i);
	}
	return threads;
}

/*
 * One that has died meanwhile is left out, and so is another thread that has its id by now. Returns
 * an exit code after a message, or 0.
 */
static int attach_one(RsTraceEngines *engines, struct rs_cli_wait *wait,
		      const struct choice *choice, const RsTraceEngineThread *thread)
{
	const struct args *a = choice->args;
	GError *error = NULL;
	g_autoptr(RsTraceEngine) engine =
		rs_cli_engine_attach(wait, engines, thread, a->mask, a->follow, &error);

	if (!engine &&
	    g_error_matches(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NO_SUCH_THREAD)) {
		g_error_free(error);
		return RS_CLI_OK;
	}
	if (!engine && is_cancelled(error))
		return RS_CLI_OK;
	if (!engine) {
		g_prefix_error(&error, "thread %u (%s): ", thread->id, thread->comm);
		return rs_cli_fail_gerror(error);
	}
	if (!matches(choice, rs_trace_engine_get_thread(engine),
		     rs_trace_engine_get_process(engine), rs_trace_engine_get_comm(engine)))
		rs_cli_engine_control(wait, engine, RS_TRACE_ENGINE_DETACH, NULL);
	return RS_CLI_OK;
}

/* Of several failures the last one counts. */
static int attach(RsTraceEngines *engines, struct rs_cli_wait *wait, const struct choice *choice,
		  GPtrArray *threads)
{
	const struct args *a = choice->args;
	const RsTraceEngineAction action =
		a->interrupt ? RS_TRACE_ENGINE_INTERRUPT : RS_TRACE_ENGINE_STOP;
	GListModel *list = G_LIST_MODEL(engines);
	int code = RS_CLI_OK;

	for (guint i = 0; i < threads->len; i++) {
		const int failed = attach_one(engines, wait, choice, threads->pdata[i]);

		code = failed ? failed : code;
	}
	/* What has died since, the session tells. */
	for (guint i = 0; (a->stop || a->interrupt) && i < g_list_model_get_n_items(list); i++) {
		g_autoptr(RsTraceEngine) engine = g_list_model_get_item(list, i);

		rs_cli_engine_control(wait, engine, action, NULL);
	}
	return code;
}

static int no_such_thread(void)
{
	return rs_cli_fail(RS_CLI_NOT_FOUND, "no such thread; --list shows all");
}

static int follow(RsDBusSession1 *session, RsTraceEngines *engines, struct rs_cli_wait *wait,
		  const struct choice *choice, const struct rs_call_names *names,
		  GPtrArray *threads)
{
	const struct args *a = choice->args;
	const struct rs_cli_engine_options options = {
		.names = names,
		.script = a->script,
		.count = (guint64)a->count,
		.duration = a->duration,
		.insns = (unsigned int)a->insns,
		.brief = a->brief,
		.json = a->json,
	};
	const int attached = attach(engines, wait, choice, threads);
	int code = RS_CLI_OK;

	if (rs_cli_wait_is_over(wait))
		rs_cli_engine_detach_all(wait, engines);
	else if (g_list_model_get_n_items(G_LIST_MODEL(engines)))
		code = rs_cli_engine_run(session, engines, wait, &options);
	else if (!attached)
		code = no_such_thread();
	return code ? code : attached;
}

/* Of those that were asked for one must be there. */
static int list(const struct choice *choice, GPtrArray *threads)
{
	const struct args *a = choice->args;

	if (!threads->len && (a->pid != G_MININT64 || a->comm))
		return no_such_thread();
	rs_cli_engine_print_threads(threads, a->json);
	return RS_CLI_OK;
}

static int with_session(RsDBusSession1 *session, struct args *a, const struct rs_call_names *names,
			guint32 source)
{
	g_autoptr(RsTraceEngines) engines = rs_trace_engines_new(session);
	g_autoptr(RsTraceGlob) glob = a->comm ? rs_trace_task_glob_new(a->comm, NULL) : NULL;
	struct choice choice = {.args = a, .glob = glob};
	g_autoptr(GPtrArray) threads = NULL;
	struct rs_cli_wait wait;
	int code = RS_CLI_OK;

	rs_cli_wait_init(&wait);
	threads = find(engines, &wait, &choice, source, &code);
	if (threads && !a->list)
		code = follow(session, engines, &wait, &choice, names, threads);
	/* From here on a signal ends us. */
	rs_cli_wait_deinit(&wait);
	if (threads && a->list)
		code = list(&choice, threads);
	return code;
}

static int engine(const struct rs_verb *verb, struct args *a, const struct rs_call_names *names,
		  int argc, char **argv)
{
	g_autoptr(RsDBusSession1) session = NULL;
	guint32 source = 0;
	int code = check_script(verb, a, names);

	if (!code)
		session = rs_cli_connect(verb, a->session, 0, &argc, argv, &code);
	if (!session)
		return code;
	if (argc > 1)
		return rs_cli_usage(verb, "too many arguments");
	if (a->source && (code = rs_cli_find_source(session, a->source, &source)))
		return code;
	return with_session(session, a, names, source);
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct args a = {.pid = G_MININT64, .insns = INSNS_DEFAULT};
	struct rs_call_names names = {0};
	int code;

	if (parse(verb, &a, &argc, &argv, &code)) {
		code = check(verb, &a);
		if (!code)
			code = rs_call_names_init(&names, verb, a.calls);
		if (!code)
			code = engine(verb, &a, &names, argc, argv);
	}
	rs_call_names_deinit(&names);
	g_free(a.session);
	g_free(a.comm);
	g_free(a.source);
	g_free(a.events);
	g_free(a.exec);
	g_free(a.calls);
	g_strfreev(a.script);
	return code;
}

const struct rs_verb rs_verb_engine = {
	.name = "engine",
	.args = "[NAME] --pid PID|--comm GLOB --events EVENTS|--stop",
	.summary = "stop a guest's threads at events, look at them and change them",
	.details =
		"EVENTS: clone, exec, exit, syscall_entry, syscall_exit (syscall: both), "
		"signal, signal_ign,\n"
		"signal_stop, signal_term, signal_core (signal_all: all five), jctl.\n"
		"At a stop, commands come from --exec, or else from standard input; `help` lists "
		"them. The guest's\n"
		"OS needs a task that takes commands. Its other threads run on.",
	.run = run,
};
