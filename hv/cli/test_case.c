/* SPDX-License-Identifier: MIT */
#include "cli/test_case.h"

#include "cli/test_faults.h"
#include "cli/test_judge.h"
#include "cli/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <rs-trace-escape.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NS_PER_MS 1000000u
#define DEFAULT_TIMEOUT_NS (30 * G_GUINT64_CONSTANT(1000000000))
#define NAME_LENGTH 100u /* of a folder, at most, before its number */
#define MESSAGES_MAX 65536u
#define GRACE_MS 15000u /* after its time, for a run that does not end by itself */

struct rs_test_case {
	struct rs_test_case_config config;
	RsTraceSpec *spec;
	GPtrArray *expectations;
	struct rs_test_faults faults;
	char *name, *folder, *session;
	guint64 timeout_ns, duration_ns; /* duration_ns 0: until the guest ends */
	GSubprocess *process;
	guint alarm;
	gint64 began;
	bool stopping, killed;
	struct rs_test_outcome outcome;
	bool over;
	char *why, *story;
	GArray *checks;   /* of struct rs_test_check */
	GPtrArray *found; /* what their texts are of */
};

/* ---- the outcome ---- */

static void settle(struct rs_test_case *test, enum rs_test_verdict verdict, char *why)
{
	test->over = true;
	g_free(test->why);
	test->why = why;
	test->outcome.verdict = verdict;
	test->outcome.why = why;
	test->outcome.us = test->began ? g_get_monotonic_time() - test->began : 0;
}

/* The message of an error about a spec begins with its place. */
static void settle_broken(struct rs_test_case *test, GError *error)
{
	g_autofree char *place = g_strdup_printf("%s:", test->config.path);
	const char *message = error->message, *line;

	if (g_str_has_prefix(message, place)) {
		test->outcome.line = (unsigned int)g_ascii_strtoull(message + strlen(place),
								    (char **)&message, 10);
		message += strspn(message, ": ");
	}
	/* The first line says what; the rest shows where. */
	line = strchr(message, '\n');
	if (line) {
		test->story = g_strdup(line + 1);
		test->outcome.story = test->story;
	}
	settle(test, RS_TEST_BROKEN,
	       line ? g_strndup(message, (gsize)(line - message)) : g_strdup(message));
	g_error_free(error);
}

const struct rs_test_outcome *rs_test_case_outcome(const struct rs_test_case *test)
{
	return test->over ? &test->outcome : NULL;
}

const char *rs_test_case_name(const struct rs_test_case *test)
{
	return test->name;
}

/* ---- the spec ---- */

static char *get(const struct rs_test_case *test, const char *group, const char *key)
{
	return rs_trace_spec_get(test->spec, group, key, NULL);
}

bool rs_test_case_has_tag(const struct rs_test_case *test, const char *tag)
{
	g_auto(GStrv) tags =
		test->spec ? rs_trace_spec_list(test->spec, "test", "tags", NULL) : NULL;

	return tags && g_strv_contains((const char *const *)tags, tag);
}

static void take_name(struct rs_test_case *test)
{
	g_autofree char *base = g_path_get_basename(test->config.path);
	char *dot = strrchr(base, '.');
	const char *which = test->spec ? rs_trace_spec_case(test->spec) : "";

	if (dot && dot != base)
		*dot = 0;
	test->name = *which ? g_strdup_printf("%s (%s)", base, which) : g_strdup(base);
	test->outcome.name = test->name;
	test->outcome.spec = test->config.path;
}

static bool take_times(struct rs_test_case *test, GError **error)
{
	test->timeout_ns = DEFAULT_TIMEOUT_NS;
	if (rs_trace_spec_has(test->spec, "trace", "duration") && !test->expectations->len) {
		rs_trace_spec_blame(test->spec, "trace", "duration", error,
				    "a guest that does not end by itself needs an expectation");
		return false;
	}
	if (rs_trace_spec_has(test->spec, "test", "timeout") &&
	    !rs_trace_spec_duration(test->spec, "test", "timeout", &test->timeout_ns, error))
		return false;
	if (rs_trace_spec_has(test->spec, "trace", "duration") &&
	    !rs_trace_spec_duration(test->spec, "trace", "duration", &test->duration_ns, error))
		return false;
	if (test->timeout_ns >= NS_PER_MS && (!test->duration_ns || test->duration_ns >= NS_PER_MS))
		return true;
	rs_trace_spec_blame(test->spec, test->timeout_ns < NS_PER_MS ? "test" : "trace",
			    test->timeout_ns < NS_PER_MS ? "timeout" : "duration", error,
			    "a run takes a millisecond at least");
	return false;
}

/* Files that it names are beside the spec, unless they have a whole path. To be freed. */
static char *beside_spec(const struct rs_test_case *test, const char *file)
{
	g_autofree char *folder = g_path_get_dirname(test->config.path);

	return g_path_is_absolute(file) ? g_strdup(file) : g_build_filename(folder, file, NULL);
}

static char *find_file(const struct rs_test_case *test, const char *key)
{
	g_autofree char *value = get(test, "guest", key);

	return value ? beside_spec(test, value) : NULL;
}

static bool check_guest(struct rs_test_case *test, GError **error)
{
	static const char *const files[] = {"kernel", "initrd"};
	unsigned int n = 0;

	for (unsigned int i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = find_file(test, files[i]);

		if (!path || g_file_test(path, G_FILE_TEST_IS_REGULAR))
			continue;
		rs_trace_spec_blame(test->spec, "guest", files[i], error, "there is no such file");
		return false;
	}
	n += rs_trace_spec_has(test->spec, "guest", "kernel");
	n += rs_trace_spec_has(test->spec, "guest", "demo");
	n += rs_trace_spec_has(test->spec, "guest", "hosted");
	if (n == 1)
		return true;
	rs_trace_spec_blame(test->spec, "guest", NULL, error,
			    "a guest is one of kernel, demo and hosted");
	return false;
}

static bool load(struct rs_test_case *test, GError **error)
{
	test->spec = rs_trace_spec_load(test->config.path, error);
	if (!test->spec)
		return false;
	rs_trace_spec_choose(test->spec, test->config.number);
	test->expectations = rs_trace_expectations_new(test->spec, error);
	return test->expectations && rs_trace_spec_check(test->spec, error) &&
	       rs_test_faults_read(test->spec, &test->faults, error) && take_times(test, error) &&
	       check_guest(test, error);
}

struct rs_test_case *rs_test_case_new(const struct rs_test_case_config *config)
{
	struct rs_test_case *test = g_new0(struct rs_test_case, 1);
	GError *error = NULL;

	test->config = *config;
	test->checks = g_array_new(FALSE, TRUE, sizeof(struct rs_test_check));
	if (!load(test, &error)) {
		take_name(test);
		settle_broken(test, error);
	} else {
		take_name(test);
	}
	return test;
}

/* ---- its folder ---- */

static const char *const files[] = {"trace", "serial", "output", "messages", "result"};

static char *file_of(const struct rs_test_case *test, const char *name)
{
	return g_build_filename(test->folder, name, NULL);
}

/* Only what a run writes: the folder may be somebody's. */
static void clear_folder(struct rs_test_case *test)
{
	for (unsigned int i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = file_of(test, files[i]);

		g_unlink(path);
	}
}

/* A name that no other case of this process has. Takes `name`; to be freed. */
static char *own_name(char *name)
{
	static GHashTable *taken;
	char *own;

	if (!taken)
		taken = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	if (strlen(name) > NAME_LENGTH)
		name[NAME_LENGTH] = 0;
	own = g_strdup(name);
	for (unsigned int n = 2; g_hash_table_contains(taken, own); n++) {
		g_free(own);
		own = g_strdup_printf("%s-%u", name, n);
	}
	g_hash_table_add(taken, g_strdup(own));
	g_free(name);
	return own;
}

static bool make_folder(struct rs_test_case *test)
{
	g_autofree char *plain = g_strdup(test->name);

	g_strcanon(plain, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "=.-", '_');
	if (*plain == '.')
		*plain = '_';
	plain = own_name(g_steal_pointer(&plain));
	test->folder = g_build_filename(test->config.folder, plain, NULL);
	if (g_mkdir_with_parents(test->folder, 0755)) {
		settle(test, RS_TEST_NOT_RUN,
		       g_strdup_printf("%s: %s", test->folder, g_strerror(errno)));
		return false;
	}
	clear_folder(test);
	return true;
}

/* ---- its process ---- */

static void add(GPtrArray *args, const char *option, char *value)
{
	if (!value)
		return;
	if (option)
		g_ptr_array_add(args, g_strdup(option));
	g_ptr_array_add(args, value);
}

static void add_list(const struct rs_test_case *test, GPtrArray *args, const char *option,
		     const char *key)
{
	g_auto(GStrv) list = rs_trace_spec_list(test->spec, "trace", key, NULL);

	for (char **one = list; one && *one; one++)
		add(args, option, g_strdup(*one));
}

static bool is_true(const struct rs_test_case *test, const char *group, const char *key)
{
	g_autofree char *value = get(test, group, key);

	return value && (g_str_equal(value, "true") || g_str_equal(value, "yes"));
}

static double seconds_of(const struct rs_test_case *test)
{
	return (double)(test->duration_ns ? test->duration_ns : test->timeout_ns) / 1e9;
}

static void add_guest(const struct rs_test_case *test, GPtrArray *args)
{
	static const char *const options[] = {"accel", "cpus", "append", "regions"};
	g_autofree char *hosted = get(test, "guest", "hosted");
	g_auto(GStrv) program = NULL;

	for (unsigned int i = 0; i < G_N_ELEMENTS(options); i++) {
		g_autofree char *option = g_strconcat("--", options[i], NULL);

		add(args, option, get(test, "guest", options[i]));
	}
	add(args, "--mem", get(test, "guest", "memory"));
	add(args, "--initrd", find_file(test, "initrd"));
	add(args, hosted ? NULL : "--serial", hosted ? NULL : file_of(test, "serial"));
	if (is_true(test, "guest", "demo"))
		add(args, NULL, g_strdup("--demo"));
	add(args, NULL, find_file(test, "kernel"));
	if (!hosted || !g_shell_parse_argv(hosted, NULL, &program, NULL))
		return;
	add(args, NULL, g_strdup("--hosted"));
	add(args, NULL, beside_spec(test, *program));
	for (char **one = program + 1; *one; one++)
		add(args, NULL, g_strdup(*one));
}

static GPtrArray *make_args(struct rs_test_case *test)
{
	static unsigned int number;
	GPtrArray *args = g_ptr_array_new_with_free_func(g_free);

	add(args, NULL, g_file_read_link("/proc/self/exe", NULL));
	add(args, NULL, g_strdup("run"));
	add(args, NULL, g_strdup("-q"));
	test->session = g_strdup_printf("test-%d-%u", (int)getpid(), ++number);
	add(args, "--name", g_strdup(test->session));
	add(args, "-o", file_of(test, "trace"));
	add(args, "--result", file_of(test, "result"));
	add(args, "--duration", g_strdup_printf("%.3f", seconds_of(test)));
	add(args, "--ring-size", get(test, "trace", "ring-size"));
	add(args, "--mode", get(test, "trace", "mode"));
	if (is_true(test, "trace", "host") || test->faults.options->len)
		add(args, NULL, g_strdup("--host"));
	for (guint i = 0; i < test->faults.options->len; i++)
		add(args, "--fault", g_strdup(test->faults.options->pdata[i]));
	if (test->faults.options->len)
		add(args, "-e", g_strdup("host:fault"));
	add_list(test, args, "-e", "enable");
	add_list(test, args, "-f", "filter");
	add_guest(test, args);
	g_ptr_array_add(args, NULL);
	return args;
}

/* In the child: it ends its guest and itself when we are gone, however we went. */
static void tie(gpointer data)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != GPOINTER_TO_INT(data))
		_exit(1);
	/* A terminal's Ctrl-C is for us, who then end all runs. */
	setpgid(0, 0);
}

/* The last line of its messages, for a terminal; to be freed. */
static char *last_message(const struct rs_test_case *test)
{
	g_autofree char *path = file_of(test, "messages"), *text = NULL;
	char *line;
	size_t size;

	text = rs_test_read(path, MESSAGES_MAX, &size);
	if (!text || !*g_strchomp(text))
		return g_strdup("the run said nothing of why");
	line = strrchr(text, '\n');
	/* How it is used comes after what is wrong. */
	if (line && g_str_has_prefix(line + 1, "usage: ")) {
		*line = 0;
		line = strrchr(text, '\n');
	}
	line = line ? line + 1 : text;
	if (g_str_has_prefix(line, "ringside: "))
		line += strlen("ringside: ");
	return rs_trace_escape(line, -1, NULL);
}

/* All that the run said becomes the story. */
static void show_messages(struct rs_test_case *test)
{
	g_autofree char *path = file_of(test, "messages"), *text = NULL;
	size_t size;

	text = rs_test_read(path, MESSAGES_MAX, &size);
	if (!text)
		return;
	g_free(test->story);
	test->story = rs_trace_escape(text, -1, "\n\t");
	test->outcome.story = test->story;
}

static void tell(struct rs_test_case *test)
{
	if (!test->config.keep &&
	    (test->outcome.verdict == RS_TEST_PASSED || test->outcome.verdict == RS_TEST_SKIPPED)) {
		clear_folder(test);
		g_rmdir(test->folder);
	} else {
		test->outcome.evidence = test->folder;
	}
	test->config.done(test, test->config.data);
}

static void judge(struct rs_test_case *test)
{
	g_autofree char *trace = file_of(test, "trace"), *result = file_of(test, "result");
	g_autofree char *serial = file_of(
		test, rs_trace_spec_has(test->spec, "guest", "hosted") ? "output" : "serial");
	g_auto(GStrv) enabled = rs_trace_spec_list(test->spec, "trace", "enable", NULL);
	g_autofree char *loss = get(test, "trace", "loss");
	struct rs_test_judge judge = {.expectations = test->expectations,
				      .may_lose = loss && g_str_equal(loss, "allowed"),
				      .enabled = enabled,
				      .trace = trace,
				      .result = result,
				      .serial = serial,
				      .may_go_on = test->duration_ns != 0,
				      .may_be_killed = test->faults.kills,
				      .has_faults = test->faults.options->len > 0,
				      .timeout_ns = test->timeout_ns};
	const int code = g_subprocess_get_if_exited(test->process)
				 ? g_subprocess_get_exit_status(test->process)
				 : RS_CLI_FAILED;
	enum rs_test_verdict verdict;

	if (!g_file_test(trace, G_FILE_TEST_EXISTS) || !g_file_test(result, G_FILE_TEST_EXISTS)) {
		settle(test, code == RS_CLI_USAGE ? RS_TEST_BROKEN : RS_TEST_NOT_RUN,
		       last_message(test));
		show_messages(test);
		return;
	}
	verdict = rs_test_judge(&judge, test->checks);
	/* What was to be traced is not there, or the trace is not whole: nobody knows. */
	if (code == RS_CLI_USAGE || code == RS_CLI_NOT_FOUND ||
	    (code == RS_CLI_FAILED && verdict == RS_TEST_PASSED)) {
		verdict = code == RS_CLI_FAILED ? RS_TEST_NOT_RUN : RS_TEST_BROKEN;
		g_free(judge.why);
		judge.why = last_message(test);
	}
	test->found = judge.found;
	test->outcome.checks = (const struct rs_test_check *)(const void *)test->checks->data;
	test->outcome.n_checks = test->checks->len;
	test->outcome.line = judge.line;
	test->story = judge.story;
	test->outcome.story = judge.story;
	settle(test, verdict, judge.why);
	if (verdict == RS_TEST_NOT_RUN || code == RS_CLI_USAGE)
		show_messages(test);
}

/* A run that was killed has left its guest, which `ringside stop` finds by the session's name. */
static void end_left_guest(const struct rs_test_case *test)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autoptr(GSubprocess) stop = g_subprocess_new(G_SUBPROCESS_FLAGS_STDOUT_SILENCE |
							       G_SUBPROCESS_FLAGS_STDERR_SILENCE,
						       NULL, self, "stop", test->session, NULL);

	if (stop)
		g_subprocess_wait(stop, NULL, NULL);
}

static void on_ended(GObject *object, GAsyncResult *result, gpointer data)
{
	struct rs_test_case *test = data;

	if (!g_subprocess_wait_finish(G_SUBPROCESS(object), result, NULL))
		return;
	g_clear_handle_id(&test->alarm, g_source_remove);
	if (!g_subprocess_get_if_exited(test->process))
		end_left_guest(test);
	if (test->stopping)
		settle(test, RS_TEST_NOT_RUN, g_strdup("it was interrupted"));
	else if (test->killed)
		settle(test, RS_TEST_NOT_RUN,
		       g_strdup("the run did not end in time, and was killed"));
	else
		judge(test);
	tell(test);
}

/* It did not end by itself. */
static gboolean on_alarm(gpointer data)
{
	struct rs_test_case *test = data;

	/* Twice: a run that is asked twice ends at once. */
	g_subprocess_send_signal(test->process, test->killed ? SIGKILL : SIGTERM);
	test->alarm = test->killed ? 0 : g_timeout_add(GRACE_MS, on_alarm, test);
	test->killed = true;
	return G_SOURCE_REMOVE;
}

static bool skips(struct rs_test_case *test)
{
	g_autofree char *accel = get(test, "guest", "accel");

	if (!accel || !g_str_equal(accel, "kvm") || access("/dev/kvm", R_OK | W_OK) == 0)
		return false;
	settle(test, RS_TEST_SKIPPED, g_strdup_printf("/dev/kvm: %s", g_strerror(errno)));
	return true;
}

static void launch(struct rs_test_case *test)
{
	g_autoptr(GSubprocessLauncher) launcher =
		g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_NONE);
	g_autofree char *output = file_of(test, "output"), *messages = file_of(test, "messages");
	g_autoptr(GPtrArray) args = make_args(test);
	GError *error = NULL;

	g_subprocess_launcher_set_stdout_file_path(launcher, output);
	g_subprocess_launcher_set_stderr_file_path(launcher, messages);
	g_subprocess_launcher_set_child_setup(launcher, tie, GINT_TO_POINTER((int)getpid()), NULL);
	test->began = g_get_monotonic_time();
	test->process =
		g_subprocess_launcher_spawnv(launcher, (const char *const *)args->pdata, &error);
	if (!test->process) {
		settle(test, RS_TEST_NOT_RUN, g_strdup(error->message));
		g_error_free(error);
		tell(test);
		return;
	}
	test->alarm = g_timeout_add((guint)(seconds_of(test) * 1000) + GRACE_MS, on_alarm, test);
	g_subprocess_wait_async(test->process, NULL, on_ended, test);
}

void rs_test_case_start(struct rs_test_case *test)
{
	if (test->over || skips(test) || !make_folder(test)) {
		test->config.done(test, test->config.data);
		return;
	}
	launch(test);
}

void rs_test_case_stop(struct rs_test_case *test)
{
	if (test->over || !test->process || test->stopping)
		return;
	test->stopping = true;
	g_subprocess_send_signal(test->process, SIGTERM);
}

void rs_test_case_free(struct rs_test_case *test)
{
	if (!test)
		return;
	g_clear_handle_id(&test->alarm, g_source_remove);
	if (test->process && !test->over) {
		g_subprocess_send_signal(test->process, SIGTERM);
		g_subprocess_wait(test->process, NULL, NULL);
	}
	g_clear_object(&test->process);
	rs_trace_spec_free(test->spec);
	rs_test_faults_clear(&test->faults);
	g_clear_pointer(&test->expectations, g_ptr_array_unref);
	g_array_unref(test->checks);
	g_clear_pointer(&test->found, g_ptr_array_unref);
	g_free(test->name);
	g_free(test->folder);
	g_free(test->session);
	g_free(test->why);
	g_free(test->story);
	g_free(test);
}
