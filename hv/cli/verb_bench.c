/* SPDX-License-Identifier: MIT */
/* `ringside bench`: what tracing takes on this machine, and of a guest or a program. */
#include "cli/bench.h"

#include "base/ticks.h"
#include "cli/figures.h"
#include "cli/json_line.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECONDS_USUAL 2.0
#define SECONDS_MAX 60.0
#define TIMES_MAX 100
#define WIDTH 36 /* of what is measured */

/* ---- figures ---- */

static void put(struct rs_bench *bench, const char *key, const char *unit, double value,
		const char *what, const char *shown)
{
	g_autoptr(GString) out = g_string_new(NULL);

	if (bench->json) {
		rs_json_begin(out);
		rs_json_text(out, "bench", key);
		if (bench->source)
			rs_json_text(out, "source", bench->source);
		rs_json_real(out, "value", value);
		rs_json_text(out, "unit", unit);
		rs_json_end(out);
	} else {
		if (bench->title)
			g_string_append_printf(out, "%s\n", bench->title);
		bench->title = NULL;
		g_string_append_printf(out, "  %-*s %s\n", WIDTH, what, shown);
	}
	if (!bench->code)
		bench->code = rs_cli_put(out);
	fflush(stdout);
}

void rs_bench_ns(struct rs_bench *bench, const char *key, const char *what, double ns)
{
	g_autoptr(GString) shown = g_string_new(NULL);

	if (ns < 1e3)
		g_string_printf(shown, ns < 10 ? "%.2f ns" : "%.1f ns", ns);
	else
		rs_cli_append_span(shown, ns);
	put(bench, key, "ns", ns, what, shown->str);
}

void rs_bench_rate(struct rs_bench *bench, const char *key, const char *what, double a_second)
{
	g_autofree char *shown = a_second >= 1e6 ? g_strdup_printf("%.2f million/s", a_second / 1e6)
						 : g_strdup_printf("%.0f/s", a_second);

	put(bench, key, "1/s", a_second, what, shown);
}

void rs_bench_count(struct rs_bench *bench, const char *key, const char *what, uint64_t value)
{
	g_autofree char *shown = g_strdup_printf("%" G_GUINT64_FORMAT, (guint64)value);

	put(bench, key, "1", (double)value, what, shown);
}

void rs_bench_share(struct rs_bench *bench, const char *key, const char *what, double share)
{
	g_autofree char *shown = g_strdup_printf("%.3g %%", share * 100);

	put(bench, key, "1", share, what, shown);
}

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

static int spawn(char **args)
{
	g_autofree char *out = NULL;
	GError *error = NULL;
	int status;

	if (!g_spawn_sync(NULL, args, NULL, G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, &out, NULL,
			  &status, &error))
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
	return spawn((char **)args->pdata);
}

static void stop(const char *self, const char *name)
{
	const char *const args[] = {self, "stop", name, NULL};

	spawn((char **)args);
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
	stop(self, name);
	return code;
}

/* ns; 0: it failed, or no more is wanted. Its output is nobody's. */
static uint64_t run_once(const struct args *a, const char *self, char **what, bool on)
{
	const GSpawnFlags flags = G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL;
	const char *const first[] = {self, "run", "-q", "-o", "/dev/null"};
	g_autoptr(GPtrArray) args = g_ptr_array_new();
	const uint64_t begun = rs_monotonic_ns();
	int status;

	for (gsize i = 0; i < G_N_ELEMENTS(first); i++)
		g_ptr_array_add(args, (char *)first[i]);
	if (on) {
		g_ptr_array_add(args, (char *)"-e");
		g_ptr_array_add(args, a->glob);
	}
	for (; *what; what++)
		g_ptr_array_add(args, *what);
	g_ptr_array_add(args, NULL);
	if (!g_spawn_sync(NULL, (char **)args->pdata, NULL, flags, NULL, NULL, NULL, NULL, &status,
			  NULL) ||
	    !g_spawn_check_wait_status(status, NULL) || g_atomic_int_get(&stopped))
		return 0;
	return rs_monotonic_ns() - begun;
}

/* Runs to their ends, in turns with events off and on: the best of each. */
static int bench_times(struct rs_bench *bench, const struct args *a, char **what)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	uint64_t best[2] = {UINT64_MAX, UINT64_MAX};

	for (int i = 0; self && i < a->times; i++) {
		for (unsigned on = 0; on < 2; on++) {
			const uint64_t took = run_once(a, self, what, on);

			if (!took)
				return rs_cli_fail(RS_CLI_FAILED, "a run failed: see ringside run");
			best[on] = MIN(best[on], took);
		}
	}
	bench->title = "a run from its start to its end";
	rs_bench_ns(bench, "run_off", "with events off", (double)best[0]);
	rs_bench_ns(bench, "run_on", "with events on, and recorded", (double)best[1]);
	rs_bench_share(bench, "run_ratio", "the second, of the first",
		       (double)best[1] / (double)best[0]);
	return RS_CLI_OK;
}

/* What `ringside run` is given. NULL: nothing is to be started. */
static GPtrArray *run_args(const struct args *a, int argc, char **argv)
{
	const bool kernel = argc > 1 && g_file_test(argv[1], G_FILE_TEST_IS_REGULAR);
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
	if (wants_session)
		session = rs_cli_connect(verb, a->name, 0, &argc, argv, &code);
	if (!code && !run && argc > 1)
		code = rs_cli_usage(verb, "too many arguments");
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
		{"events", 'e', 0, G_OPTION_ARG_STRING, &a.glob, "Switch these events (*)",
		 "GLOB[,GLOB...]"},
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
		if (!a.glob)
			a.glob = g_strdup("*");
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
