/* SPDX-License-Identifier: MIT */
/* `ringside bench`: what tracing takes on this machine, and of a guest or a program. */
#include "cli/bench.h"

#include "base/ticks.h"

#include <rs-trace-rundir.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECONDS_USUAL 2.0
#define SECONDS_MAX 60.0
#define TIMES_MAX 100
#define LOOK_MS 50      /* at whether a signal came */
#define LONG_US 5000000 /* for a run; then it is told that it is waited for */
#define END_US 5000000  /* for a run that was asked to end */

/* ---- Ctrl-C ---- */

static gint stopped; /* by which signal; 0: by none */

static void on_signal(int number)
{
	g_atomic_int_set(&stopped, number);
}

/* What was switched on is switched off, and what was started is stopped, before it ends us. */
static void catch_signals(void)
{
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	signal(SIGHUP, on_signal);
}

static int end_by_signal(int code)
{
	const int number = g_atomic_int_get(&stopped);

	if (!number)
		return code;
	signal(number, SIG_DFL);
	raise(number);
	return RS_CLI_FAILED;
}

/* ---- guests that are started for it ---- */

/* Its output is nobody's. */
static int spawn(char **args, GSpawnFlags flags)
{
	g_autofree char *out = NULL;
	GError *error = NULL;
	int status;

	if (!g_spawn_sync(NULL, args, NULL, G_SPAWN_CHILD_INHERITS_STDIN | flags, NULL, NULL, &out,
			  NULL, &status, &error))
		return rs_cli_fail_gerror(error);
	return g_spawn_check_wait_status(status, NULL) ? RS_CLI_OK : RS_CLI_FAILED;
}

/* It says by itself why it did not start. */
static int start(const char *self, const char *name, char **what)
{
	g_autoptr(GPtrArray) args = g_ptr_array_new();
	const char *const first[] = {self, "run", "--background", "--name", name};

	for (gsize i = 0; i < G_N_ELEMENTS(first); i++)
		g_ptr_array_add(args, (char *)first[i]);
	for (; *what; what++)
		g_ptr_array_add(args, *what);
	g_ptr_array_add(args, NULL);
	return spawn((char **)args->pdata, 0);
}

/* Its log stays if somebody may want to know why it failed. */
static void stop(const char *self, const char *name, bool failed)
{
	const char *const args[] = {self, "stop", name, NULL};
	g_autofree char *log = rs_trace_rundir_file(name, "log", NULL);

	/* It may have ended by itself. */
	spawn((char **)args, G_SPAWN_STDERR_TO_DEV_NULL);
	if (log && !failed)
		unlink(log);
}

struct args {
	gboolean json, demo;
	char *glob, *accel, *name;
	double seconds;
	int times;      /* --times; 0: not given */
	char **program; /* --hosted and all behind it; NULL: not given */
};

static int bench_new(struct rs_bench *bench, const struct args *a, char **what)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *name = g_strdup_printf("bench-%d", (int)getpid());
	g_autoptr(RsDBusSession1) session = NULL;
	GError *error = NULL;
	int code = self ? start(self, name, what)
			: rs_cli_fail(RS_CLI_FAILED, "our own program is not known");

	if (code)
		return code;
	session = rs_trace_client_connect(name, &error);
	code = session ? rs_bench_session(bench, session, true, a->glob, a->seconds)
		       : rs_cli_fail_gerror(error);
	g_clear_object(&session);
	stop(self, name, code && !g_atomic_int_get(&stopped));
	return code;
}

/* ---- runs to their ends ---- */

struct one_run {
	GSubprocess *child;
	char *said; /* on stderr */
	bool ended;
};

static void on_end(GObject *object, GAsyncResult *result, gpointer data)
{
	struct one_run *run = data;

	g_subprocess_communicate_utf8_finish((GSubprocess *)object, result, NULL, &run->said, NULL);
	run->ended = true;
}

static gboolean on_look(gpointer data)
{
	return G_SOURCE_CONTINUE;
}

/* To its end. Whoever wants no more has it ended: by SIGINT, and later by SIGKILL. */
static void await_end(struct one_run *run)
{
	const gint64 begun = g_get_monotonic_time();
	const guint look = g_timeout_add(LOOK_MS, on_look, NULL);
	gint64 asked = 0;
	bool told = false;

	while (!run->ended) {
		const gint64 now = g_get_monotonic_time();

		g_main_context_iteration(NULL, TRUE);
		if (!told && now - begun > LONG_US) {
			rs_cli_fail(0, "waiting for a run to end by itself");
			told = true;
		}
		if (!asked && g_atomic_int_get(&stopped)) {
			g_subprocess_send_signal(run->child, SIGINT);
			asked = now;
		} else if (asked && now - asked > END_US) {
			g_subprocess_force_exit(run->child);
		}
	}
	g_source_remove(look);
}

/* What it said last. */
static int fail_run(const struct one_run *run)
{
	g_auto(GStrv) lines =
		g_strsplit(g_strchomp(run->said ? run->said : (char[]){""}), "\n", -1);
	const guint n = g_strv_length(lines);

	return rs_cli_fail(RS_CLI_FAILED, "a run failed%s%s", n && *lines[n - 1] ? ": " : "",
			   n ? lines[n - 1] : "");
}

/* An exit code, after a message. What the guest or program prints is nobody's. */
static int run_once(const struct args *a, const char *self, char **what, bool on, uint64_t *ns)
{
	const char *const first[] = {self, "run", "-q", "-o", "/dev/null"};
	g_autoptr(GPtrArray) args = g_ptr_array_new();
	const uint64_t begun = rs_monotonic_ns();
	struct one_run run = {0};
	GError *error = NULL;
	int code = RS_CLI_OK;

	for (gsize i = 0; i < G_N_ELEMENTS(first); i++)
		g_ptr_array_add(args, (char *)first[i]);
	if (on) {
		g_ptr_array_add(args, (char *)"-e");
		g_ptr_array_add(args, a->glob);
	}
	for (; *what; what++)
		g_ptr_array_add(args, *what);
	g_ptr_array_add(args, NULL);
	run.child = g_subprocess_newv(
		(const char *const *)args->pdata,
		G_SUBPROCESS_FLAGS_STDOUT_SILENCE | G_SUBPROCESS_FLAGS_STDERR_PIPE, &error);
	if (!run.child)
		return rs_cli_fail_gerror(error);
	g_subprocess_communicate_utf8_async(run.child, NULL, NULL, on_end, &run);
	await_end(&run);
	*ns = rs_monotonic_ns() - begun;
	if (g_atomic_int_get(&stopped))
		code = RS_CLI_FAILED;
	else if (!g_subprocess_get_successful(run.child))
		code = fail_run(&run);
	g_object_unref(run.child);
	g_free(run.said);
	return code;
}

/* Runs to their ends, in turns with events off and on: the best of each. */
static int bench_times(struct rs_bench *bench, const struct args *a, char **what)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	uint64_t best[2] = {UINT64_MAX, UINT64_MAX}, worst[2] = {0, 0}, took = 0;

	for (int i = 0; self && i < a->times; i++) {
		for (unsigned on = 0; on < 2; on++) {
			const int code = run_once(a, self, what, on, &took);

			if (code)
				return code;
			best[on] = MIN(best[on], took);
			worst[on] = MAX(worst[on], took);
		}
	}
	bench->title = "a run from its start to its end";
	rs_bench_ns(bench, "run_off", "with events off, the shortest", (double)best[0]);
	rs_bench_ns(bench, "run_off_worst", "and the longest", (double)worst[0]);
	rs_bench_ns(bench, "run_on", "with events on, the shortest", (double)best[1]);
	rs_bench_ns(bench, "run_on_worst", "and the longest", (double)worst[1]);
	rs_bench_share(bench, "run_ratio", "with events on, of that with them off",
		       (double)best[1] / (double)best[0]);
	return RS_CLI_OK;
}

/* A name of a session that runs is that, also if there is a file of this name. */
static bool is_kernel(const char *name)
{
	g_autoptr(RsTraceRundirEntry) session = rs_trace_rundir_find(name, NULL);

	return !session && g_file_test(name, G_FILE_TEST_IS_REGULAR);
}

/* What `ringside run` is given. NULL: nothing is to be started. */
static GPtrArray *run_args(const struct args *a, int argc, char **argv)
{
	const bool kernel = argc > 1 && is_kernel(argv[1]);
	GPtrArray *args;

	if (!a->demo && !a->program && !kernel)
		return NULL;
	args = g_ptr_array_new();
	if (a->accel) {
		g_ptr_array_add(args, (char *)"--accel");
		g_ptr_array_add(args, a->accel);
	}
	if (a->demo)
		g_ptr_array_add(args, (char *)"--demo");
	else if (kernel)
		g_ptr_array_add(args, argv[1]);
	for (char **arg = a->program; arg && *arg; arg++)
		g_ptr_array_add(args, *arg);
	g_ptr_array_add(args, NULL);
	return args;
}

static int measure(const struct rs_verb *verb, struct args *a, int argc, char **argv)
{
	g_autoptr(GPtrArray) run = run_args(a, argc, argv);
	const bool wants_session = !run && (a->name || argc > 1);
	struct rs_bench bench = {.json = a->json, .stopped = &stopped};
	g_autoptr(RsDBusSession1) session = NULL;
	int code = RS_CLI_OK;

	if (!run && a->times)
		return rs_cli_usage(verb, "--times is of what is started for it");
	if (!run && a->accel)
		return rs_cli_usage(verb, "--accel is of a kernel that is started for it");
	if (!run && !wants_session && a->glob)
		return rs_cli_usage(verb,
				    "--events of what? A session, a kernel, --demo or --hosted");
	if (wants_session)
		session = rs_cli_connect(verb, a->name, 0, &argc, argv, &code);
	if (!code && !run && argc > 1)
		code = rs_cli_usage(verb, "too many arguments");
	/* Others see them, too. */
	if (!code && session && !a->glob)
		code = rs_cli_usage(verb, "which events are to be on meanwhile, without a filter? "
					  "--events GLOB, or '*' for all");
	if (!a->glob)
		a->glob = g_strdup("*");
	if (!code)
		code = rs_bench_machine(&bench);
	catch_signals();
	if (!code)
		code = bench.code;
	if (!code && session)
		code = rs_bench_session(&bench, session, false, a->glob, a->seconds);
	if (!code && run)
		code = a->times ? bench_times(&bench, a, (char **)run->pdata)
				: bench_new(&bench, a, (char **)run->pdata);
	return end_by_signal(code ? code : bench.code);
}

static int check(const struct rs_verb *verb, const struct args *a, int argc)
{
	const int targets = !!a->demo + !!a->program + !!a->name + (argc > 1);

	if (!(a->seconds > 0) || a->seconds > SECONDS_MAX)
		return rs_cli_usage(verb, "--duration is a number of seconds, at most %.0f",
				    SECONDS_MAX);
	if (targets > 1 || argc > 2)
		return rs_cli_usage(verb,
				    "one of a session, a kernel, --demo and --hosted PROGRAM");
	if (a->times < 0 || a->times > TIMES_MAX)
		return rs_cli_usage(verb, "--times is a number of runs, at most %d", TIMES_MAX);
	if (a->program && !a->program[1])
		return rs_cli_usage(verb, "--hosted: which program?");
	return RS_CLI_OK;
}

/* All from --hosted on is the program's, as `ringside run` has it. */
static char **split(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--hosted") != 0)
			continue;
		*argc = i;
		return argv + i;
	}
	return NULL;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct args a = {.seconds = SECONDS_USUAL};
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &a.name, "A session that runs", "NAME"},
		{"demo", 0, 0, G_OPTION_ARG_NONE, &a.demo, "The bundled demo guest", NULL},
		{"hosted", 0, 0, G_OPTION_ARG_NONE, &a.demo,
		 "A program; all that follows is the program and its arguments", NULL},
		{"accel", 0, 0, G_OPTION_ARG_STRING, &a.accel, "How to run a kernel (auto)",
		 "auto|kvm|tcg"},
		{"events", 'e', 0, G_OPTION_ARG_STRING, &a.glob,
		 "Switch these events (* of what is started)", "GLOB[,GLOB...]"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &a.seconds,
		 "For so long events are counted (2)", "SECONDS"},
		{"times", 0, 0, G_OPTION_ARG_INT, &a.times,
		 "Run it to its end so often with events off, and as often with them on", "N"},
		{"json", 'j', 0, G_OPTION_ARG_NONE, &a.json, "One JSON object a line", NULL},
		{0}};
	char **program = split(&argc, argv);
	g_auto(GStrv) copy = g_strdupv(program);
	int code;

	if (program)
		*program = NULL;
	a.program = copy;
	if (rs_cli_parse(verb, options, &argc, &argv, &code)) {
		code = check(verb, &a, argc);
		if (!code)
			code = measure(verb, &a, argc, argv);
	}
	g_free(a.glob);
	g_free(a.accel);
	g_free(a.name);
	return code;
}

const struct rs_verb rs_verb_bench = {
	.name = "bench",
	.args = "[NAME | KERNEL | --demo | --hosted PROGRAM [ARGS…]]",
	.summary = "measure what tracing takes on this machine",
	.details =
		"Measures the machine: an event and what becomes of it. Then, of a session that "
		"runs, or of a\n"
		"guest or program that is started for it: how long it takes to switch its events, "
		"how many\n"
		"come, and what they take. Each figure is the best of several.",
	.run = run,
};
