/* SPDX-License-Identifier: MIT */
/*
 * libringside-test with real guests: the demo guest (TCG) and programs.
 *
 *     RINGSIDE=COMMAND test-library DEMO_GUEST HOSTED_DEMO HOSTED_ENGINE
 */
#include <glib/gstdio.h>
#include <rs-test-guest.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_MS 120000u /* more than any machine needs */

static const char *demo, *program, *engine_program;

static RsTestGuest *new_demo(const char *append)
{
	RsTestGuest *guest = rs_test_guest_new();

	rs_test_guest_set_kernel(guest, demo);
	rs_test_guest_set_option(guest, "accel", "tcg");
	rs_test_guest_set_option(guest, "append", append);
	return guest;
}

static RsTestGuest *new_program(const char *path, const char *first)
{
	const char *argv[] = {path, first, first ? "1" : NULL, NULL};
	RsTestGuest *guest = rs_test_guest_new();

	rs_test_guest_set_hosted(guest, argv);
	return guest;
}

static void enable(RsTestGuest *guest, const char *glob)
{
	GError *error = NULL;

	rs_test_guest_enable(guest, glob, &error);
	g_assert_no_error(error);
}

static void boot(RsTestGuest *guest)
{
	GError *error = NULL;

	rs_test_guest_boot(guest, &error);
	g_assert_no_error(error);
}

static RsTraceItem *expect(RsTestGuest *guest, const char *event)
{
	GError *error = NULL;
	RsTraceItem *item = rs_test_guest_expect(guest, event, LONG_MS, &error);

	g_assert_no_error(error);
	g_assert_nonnull(item);
	return item;
}

static void assert_says(GError **error, RsTestError code, const char *pattern)
{
	g_assert_error(*error, RS_TEST_ERROR, (int)code);
	if (!g_regex_match_simple(pattern, (*error)->message, G_REGEX_DOTALL, 0))
		g_error("'%s' is not in: %s", pattern, (*error)->message);
	g_clear_error(error);
}

/* ---- what happens ---- */

static void test_expect(void)
{
	g_autoptr(RsTestGuest) guest = new_demo(NULL);
	g_autoptr(RsTraceItem) first = NULL, second = NULL, third = NULL;
	g_autoptr(GVariant) field = NULL;
	GError *error = NULL;

	enable(guest, "sched:*");
	boot(guest);
	first = expect(guest, "sched:switch: next_comm ~ \"lz-*\"");
	g_assert_cmpstr(rs_trace_item_get_full_name(first), ==, "sched:switch");
	field = rs_trace_item_get_field(first, "next_comm");
	g_assert_true(g_str_has_prefix(g_variant_get_string(field, NULL), "lz-"));
	second = expect(guest, "sched:switch: next_comm ~ \"lz-*\"");
	g_assert_cmpuint(rs_trace_item_get_time(second), >=, rs_trace_item_get_time(first));
	third = rs_test_guest_next(guest, LONG_MS, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(rs_trace_item_get_time(third), >=, rs_trace_item_get_time(second));
	g_assert_cmpint(rs_test_guest_get_end(guest), ==, RS_TEST_END_NONE);
	g_assert_true(rs_test_guest_end(guest, &error));
	g_assert_no_error(error);
	g_assert_cmpint(rs_test_guest_get_end(guest), ==, RS_TEST_END_STOPPED);
	g_assert_cmpint(rs_test_guest_get_exit_code(guest), ==, -1);
	g_assert_cmpuint(rs_test_guest_get_lost(guest), ==, 0);
}

/* Each error says what is wrong, or what came nearest. */
static void test_misses(void)
{
	g_autoptr(RsTestGuest) guest = new_demo(NULL);
	GError *error = NULL;

	enable(guest, "sched:*");
	boot(guest);
	rs_trace_item_unref(expect(guest, "sched:switch"));
	g_assert_null(rs_test_guest_expect(
		guest, "sched:switch: next_comm ~ \"lz-*\" && next_pid == 0", 1500, &error));
	assert_says(
		&error, RS_TEST_ERROR_TIMEOUT,
		"within 1500 ms none of \\d+ records of the event is so; the nearest is, but for "
		"next_.*\n.*sched:switch: ");
	g_assert_null(rs_test_guest_expect(guest, "sched:swich", 0, &error));
	assert_says(&error, RS_TEST_ERROR_NO_SUCH_EVENT, "did you mean 'sched:switch'");
	g_assert_null(rs_test_guest_expect(guest, "load:flood", 0, &error));
	assert_says(&error, RS_TEST_ERROR_NO_SUCH_EVENT, "load:flood: it is not enabled");
	g_assert_null(rs_test_guest_expect(guest, "sched:switch: nxt_pid == 2", LONG_MS, &error));
	assert_says(&error, RS_TEST_ERROR_BAD_ARGUMENT, "\\^~~~.*did you mean 'next_pid'");
	g_assert_null(rs_test_guest_expect(guest, "sched:switch: next_pid ==", LONG_MS, &error));
	assert_says(&error, RS_TEST_ERROR_BAD_ARGUMENT, "value is due");
	g_assert_false(rs_test_guest_enable(guest, "nosuch:*", &error));
	assert_says(&error, RS_TEST_ERROR_NO_SUCH_EVENT, "nosuch");
	g_assert_false(rs_test_guest_inject(guest, "no such fault", NULL, &error));
	g_assert_nonnull(error);
	g_assert_true(error->domain == RS_TEST_ERROR);
	g_clear_error(&error);
}

/* Nothing of an event that is off, and then something. */
static void test_none(void)
{
	g_autoptr(RsTestGuest) guest = new_demo(NULL);
	g_autoptr(RsTraceItem) item = NULL;
	GError *error = NULL;

	enable(guest, "sched:*");
	boot(guest);
	rs_trace_item_unref(expect(guest, "sched:wakeup"));
	g_assert_true(rs_test_guest_expect_none(guest, "sched:switch: next_comm == \"nobody\"", 300,
						&error));
	g_assert_no_error(error);
	g_assert_false(rs_test_guest_expect_none(guest, "sched:switch", LONG_MS, &error));
	assert_says(&error, RS_TEST_ERROR_UNEXPECTED, "it happened\n.*sched:switch: prev_comm=");
	g_assert_false(rs_test_guest_expect_none(guest, "sched:swich", 10, &error));
	assert_says(&error, RS_TEST_ERROR_NO_SUCH_EVENT, "no such event");
	g_assert_false(rs_test_guest_expect_none(guest, "load:flood", 10, &error));
	assert_says(&error, RS_TEST_ERROR_NO_SUCH_EVENT, "not enabled");
	/* What is on later is what comes then. */
	g_assert_true(rs_test_guest_disable(guest, "sched:*", &error));
	g_assert_true(rs_test_guest_catch_up(guest, &error));
	enable(guest, "compute:round");
	item = rs_test_guest_next(guest, LONG_MS, &error);
	g_assert_no_error(error);
	g_assert_cmpstr(rs_trace_item_get_full_name(item), ==, "compute:round");
	g_assert_null(rs_test_guest_expect(guest, "sched:wakeup", 0, &error));
	g_assert_nonnull(error);
	g_clear_error(&error);
	g_assert_true(rs_test_guest_filter(guest, "compute:round", "worker == 1", &error));
	g_assert_true(rs_test_guest_catch_up(guest, &error));
	g_assert_true(rs_test_guest_expect_none(guest, "compute:round: worker == 0", 500, &error));
	g_assert_no_error(error);
	rs_trace_item_unref(expect(guest, "compute:round: worker == 1"));
}

/* Nothing is said of events that nobody could record, unless they do not matter. */
static void test_lost(void)
{
	g_autoptr(RsTestGuest) guest = new_program(program, "1000");
	GError *error = NULL;

	rs_test_guest_set_option(guest, "ring-size", "16K");
	enable(guest, "*");
	boot(guest);
	g_assert_false(
		rs_test_guest_expect_none(guest, "pool:take: size == 12345678", 500, &error));
	assert_says(&error, RS_TEST_ERROR_LOST, "nobody knows: \\d+ events are lost");
	g_assert_cmpuint(rs_test_guest_get_lost(guest), >, 0);
	rs_test_guest_set_may_lose(guest, TRUE);
	g_assert_true(rs_test_guest_expect_none(guest, "pool:take: size == 12345678", 100, &error));
	g_assert_no_error(error);
}

/* ---- how it ends ---- */

/* A program that is over before anybody could look at it has a whole trace. */
static void test_short_program(void)
{
	g_autoptr(RsTestGuest) guest = new_program(program, "0.05");
	RsTraceItem *item;
	GError *error = NULL;
	guint64 last = 0;
	guint n = 0, again = 0;

	enable(guest, "pool:*");
	boot(guest);
	while ((item = rs_test_guest_next(guest, LONG_MS, &error))) {
		if (!n++)
			g_assert_cmpstr(rs_trace_item_get_full_name(item), ==, "pool:start");
		g_assert_cmpuint(rs_trace_item_get_time(item), >=, last);
		last = rs_trace_item_get_time(item);
		rs_trace_item_unref(item);
	}
	g_assert_no_error(error);
	g_assert_cmpuint(n, >, 1);
	g_assert_true(rs_test_guest_wait_end(guest, LONG_MS, &error));
	g_assert_cmpint(rs_test_guest_get_end(guest), ==, RS_TEST_END_EXIT);
	g_assert_cmpint(rs_test_guest_get_exit_code(guest), ==, 0);
	g_assert_cmpstr(rs_test_guest_get_end_text(guest), ==, "exit: code 0");
	g_assert_null(rs_test_guest_expect(guest, "pool:take", LONG_MS, &error));
	assert_says(&error, RS_TEST_ERROR_ENDED, "has ended \\(exit: code 0\\), and no record");
	g_assert_false(rs_test_guest_enable(guest, "words:*", &error));
	assert_says(&error, RS_TEST_ERROR_ENDED, "exit: code 0");
	rs_test_guest_rewind(guest);
	while ((item = rs_test_guest_next(guest, 0, &error))) {
		again++;
		rs_trace_item_unref(item);
	}
	g_assert_cmpuint(again, ==, n);
}

static void check_end(const char *append, RsTestEnd end, int code, const char *pattern)
{
	g_autoptr(RsTestGuest) guest = new_demo(append);
	GError *error = NULL;

	enable(guest, "sched:*");
	boot(guest);
	g_assert_true(rs_test_guest_wait_end(guest, LONG_MS, &error));
	g_assert_no_error(error);
	g_assert_cmpint(rs_test_guest_get_end(guest), ==, end);
	g_assert_cmpint(rs_test_guest_get_exit_code(guest), ==, code);
	g_assert_true(g_regex_match_simple(pattern, rs_test_guest_get_end_text(guest), 0, 0));
	rs_trace_item_unref(expect(guest, "sched:switch")); /* its trace is there */
}

static void test_ends(void)
{
	check_end("rounds=1 crash=exit:7", RS_TEST_END_EXIT, 7, "^exit: code 7$");
	check_end("rounds=1 crash=panic", RS_TEST_END_PANIC, -1, "^panic: the demo was told to");
}

static void test_timeout(void)
{
	g_autoptr(RsTestGuest) guest = new_program(program, "1000");
	GError *error = NULL;

	rs_test_guest_set_timeout(guest, 1500);
	boot(guest);
	g_assert_true(rs_test_guest_wait_end(guest, LONG_MS, &error));
	g_assert_cmpint(rs_test_guest_get_end(guest), ==, RS_TEST_END_TIMEOUT);
}

/* ---- its console ---- */

static void test_serial(void)
{
	g_autoptr(RsTestGuest) guest = new_demo("rounds=1 crash=exit:0");
	g_autofree char *line = NULL, *all = NULL;
	GError *error = NULL;

	boot(guest);
	line = rs_test_guest_expect_serial(guest, "^demo: .*guest", LONG_MS, &error);
	g_assert_no_error(error);
	g_assert_true(g_str_has_prefix(line, "demo: Ringside's demo guest"));
	g_assert_null(strpbrk(line, "\r\n"));
	/* A line is taken once. */
	g_assert_null(rs_test_guest_expect_serial(guest, "^demo: .*demo guest", 50, &error));
	g_assert_nonnull(error);
	g_clear_error(&error);
	g_assert_null(rs_test_guest_expect_serial(guest, "(", LONG_MS, &error));
	assert_says(&error, RS_TEST_ERROR_BAD_ARGUMENT, ".");
	g_assert_null(rs_test_guest_expect_serial(guest, "never said", LONG_MS, &error));
	assert_says(&error, RS_TEST_ERROR_ENDED, "never said");
	all = rs_test_guest_get_serial(guest);
	g_assert_nonnull(strstr(all, line));
}

/* ---- threads ---- */

static void test_threads(void)
{
	g_autoptr(RsTestGuest) guest = new_program(engine_program, NULL);
	GError *error = NULL;
	guint thread;

	enable(guest, "engine:*");
	boot(guest);
	/* It makes its threads after its agent has reported. */
	rs_trace_item_unref(expect(guest, "engine:called: thread == 1"));
	thread = rs_test_guest_find_thread(guest, "wri*", &error);
	g_assert_no_error(error);
	g_assert_cmpuint(thread, ==, 1);
	g_assert_true(rs_test_guest_stop_thread(guest, thread, &error));
	g_assert_no_error(error);
	g_assert_true(rs_test_guest_catch_up(guest, &error));
	g_assert_true(rs_test_guest_expect_none(guest, "engine:called: thread == 1", 500, &error));
	g_assert_no_error(error);
	rs_trace_item_unref(expect(guest, "engine:called: thread != 1")); /* the others go on */
	g_assert_false(rs_test_guest_stop_thread(guest, thread, &error));
	assert_says(&error, RS_TEST_ERROR_WRONG_TIME, "held already");
	g_assert_true(rs_test_guest_resume_thread(guest, thread, &error));
	g_assert_no_error(error);
	rs_trace_item_unref(expect(guest, "engine:called: thread == 1"));
	g_assert_false(rs_test_guest_resume_thread(guest, thread, &error));
	assert_says(&error, RS_TEST_ERROR_NO_SUCH_THREAD, "not held");
	g_assert_cmpuint(rs_test_guest_find_thread(guest, "nobody", &error), ==, 0);
	assert_says(&error, RS_TEST_ERROR_NO_SUCH_THREAD, "nobody");
	g_assert_false(rs_test_guest_stop_thread(guest, 9999, &error));
	assert_says(&error, RS_TEST_ERROR_NO_SUCH_THREAD, ".");
}

/* ---- specs ---- */

static RsTestGuest *from_spec(const char *text, guint number, GError **error)
{
	g_autofree char *folder = g_dir_make_tmp("rs-test-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "a.spec", NULL);
	RsTestGuest *guest;

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	guest = rs_test_guest_new_from_spec(path, number, error);
	g_unlink(path);
	g_rmdir(folder);
	return guest;
}

static void test_spec(void)
{
	g_autofree char *text =
		g_strdup_printf("[test]\ntimeout = 90s\n[matrix]\nseconds = 0.02; 0.05\n"
				"[guest]\nhosted = %s ${seconds} 1\n[trace]\n"
				"enable = pool:*\nfilter = pool:take: job < 3\n",
				program);
	GError *error = NULL;
	g_autoptr(RsTestGuest) guest = from_spec(text, 1, &error);

	g_assert_no_error(error);
	boot(guest);
	g_assert_true(rs_test_guest_expect_none(guest, "pool:take: job >= 3", LONG_MS, &error));
	g_assert_no_error(error);
	rs_test_guest_rewind(guest);
	rs_trace_item_unref(expect(guest, "pool:start: worker == 0"));
	g_assert_null(from_spec(text, 2, &error));
	assert_says(&error, RS_TEST_ERROR_BAD_ARGUMENT, "has 2 cases");
	g_assert_null(from_spec("[guest]\ndemo = true\nkernell = x\n", 0, &error));
	assert_says(&error, RS_TEST_ERROR_BAD_ARGUMENT, "a.spec:3: ");
	g_assert_null(from_spec("[trace]\nenable = *\n", 0, &error));
	assert_says(&error, RS_TEST_ERROR_BAD_ARGUMENT, "one of kernel, demo, hosted");
}

/* ---- what goes wrong ---- */

static void fails_to_boot(RsTestGuest *guest, RsTestError code, const char *pattern)
{
	GError *error = NULL;

	g_assert_false(rs_test_guest_boot(guest, &error));
	assert_says(&error, code, pattern);
	g_assert_null(rs_test_guest_expect(guest, "a:b", 0, &error));
	assert_says(&error, RS_TEST_ERROR_WRONG_TIME, "not booted");
	g_object_unref(guest);
}

static void test_wrong(void)
{
	g_autofree char *command = g_strdup(g_getenv("RINGSIDE"));
	RsTestGuest *guest = rs_test_guest_new();
	GError *error = NULL;

	fails_to_boot(guest, RS_TEST_ERROR_BAD_ARGUMENT, "one of kernel, demo and hosted");
	guest = new_demo(NULL);
	rs_test_guest_set_option(guest, "cpu", "2");
	fails_to_boot(guest, RS_TEST_ERROR_BAD_ARGUMENT, "no option cpu");
	guest = new_demo(NULL);
	rs_test_guest_set_option(guest, "cpus", "none");
	fails_to_boot(guest, RS_TEST_ERROR_NOT_RUN, "none");
	guest = rs_test_guest_new();
	rs_test_guest_set_kernel(guest, "/nowhere/kernel");
	fails_to_boot(guest, RS_TEST_ERROR_NOT_RUN, "/nowhere/kernel");
	fails_to_boot(new_program("/bin/true", NULL), RS_TEST_ERROR_NOT_RUN, ".");
	g_setenv("RINGSIDE", "/nowhere/ringside", TRUE);
	fails_to_boot(new_program(program, "1"), RS_TEST_ERROR_NOT_RUN, "/nowhere/ringside");
	g_setenv("RINGSIDE", command, TRUE);

	guest = new_program(program, "0.05");
	enable(guest, "nosuch:*");
	g_assert_false(rs_test_guest_filter(guest, "pool:*", "job <", &error));
	assert_says(&error, RS_TEST_ERROR_BAD_ARGUMENT, "value is due");
	boot(guest);
	g_assert_false(rs_test_guest_boot(guest, &error));
	assert_says(&error, RS_TEST_ERROR_WRONG_TIME, "booted before");
	g_assert_false(rs_test_guest_wait_end(guest, LONG_MS, &error));
	assert_says(&error, RS_TEST_ERROR_NOT_RUN, "nosuch");
	g_assert_cmpint(rs_test_guest_get_end(guest), ==, RS_TEST_END_EXIT);
	g_object_unref(guest);
}

/* ---- what it leaves ---- */

static gboolean is_in_cmdline(const char *pid, const char *text)
{
	g_autofree char *path = g_build_filename("/proc", pid, "cmdline", NULL), *words = NULL;
	gsize size = 0;

	if (!g_file_get_contents(path, &words, &size, NULL))
		return FALSE;
	for (gsize i = 0; i < size; i++)
		words[i] = words[i] ? words[i] : ' ';
	return size && g_strstr_len(words, (gssize)size, text);
}

/* A process that has this in its command line; 0: there is none. */
static pid_t find_process(const char *text)
{
	g_autoptr(GDir) proc = g_dir_open("/proc", 0, NULL);
	const char *pid;

	while ((pid = g_dir_read_name(proc))) {
		if (g_ascii_isdigit(*pid) && is_in_cmdline(pid, text))
			return (pid_t)g_ascii_strtoll(pid, NULL, 10);
	}
	return 0;
}

static gboolean is_running(const char *text)
{
	return find_process(text) != 0;
}

static void test_folder(void)
{
	g_autofree char *kept = g_dir_make_tmp("rs-test-XXXXXX", NULL), *temporary = NULL;
	static const char *const files[] = {"trace", "output", "messages", "result"};
	RsTestGuest *guest = new_program(program, "0.05");

	rs_test_guest_set_folder(guest, kept);
	boot(guest);
	g_assert_cmpstr(rs_test_guest_get_folder(guest), ==, kept);
	g_object_unref(guest);
	for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(kept, files[i], NULL);

		g_assert_cmpint(g_unlink(path), ==, 0);
	}
	g_assert_cmpint(g_rmdir(kept), ==, 0);
	guest = new_program(program, "1000");
	boot(guest);
	temporary = g_strdup(rs_test_guest_get_folder(guest));
	g_assert_true(g_file_test(temporary, G_FILE_TEST_IS_DIR) && is_running(temporary));
	g_object_unref(guest);
	g_assert_false(g_file_test(temporary, G_FILE_TEST_EXISTS));
	g_assert_false(is_running(temporary));
}

/* In another process: boots two guests, and is killed. */
static int be_killed(const char *path, const char *time)
{
	RsTestGuest *machine = new_demo(NULL), *hosted = new_program(program, time);
	g_autofree char *own = g_strdup_printf("ringside-%s@", rs_test_guest_get_session(machine));

	rs_test_guest_set_folder(machine, path);
	rs_test_guest_set_folder(hosted, path);
	if (rs_test_guest_boot(machine, NULL) && rs_test_guest_boot(hosted, NULL) &&
	    is_running(time) && is_running(path) && is_running(own))
		kill(getpid(), SIGKILL);
	return 1;
}

/* A test that is killed leaves no process of its guests. */
static void test_killed(void)
{
	/* The program is known by its time; runs and machines by the names of their sessions. */
	static const char *const folder = "rs-test-of-one-who-is-killed";
	g_autofree char *path = g_strdup_printf("/tmp/%s-%d", folder, (int)getpid());
	g_autofree char *sessions = NULL;
	g_autofree char *time = g_strdup_printf("%d.25", 1000 + (int)getpid());
	int status;
	pid_t pid;

	pid = fork();
	g_assert_cmpint(pid, >=, 0);
	if (!pid) /* threads of GLib do not live on in a fork */
		execl("/proc/self/exe", "test-library", demo, program, engine_program, path, time,
		      NULL);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	sessions = g_strdup_printf("rstest-%d-", (int)pid);
	g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	for (guint i = 0; (is_running(time) || is_running(sessions)) && i < LONG_MS / 10; i++)
		g_usleep(10000);
	g_assert_false(is_running(time) || is_running(path) || is_running(sessions));
	for (guint i = 0; i < 5; i++) {
		static const char *const files[] = {"trace", "serial", "output", "messages",
						    "result"};
		g_autofree char *file = g_build_filename(path, files[i], NULL);

		g_unlink(file);
	}
	g_assert_cmpint(g_rmdir(path), ==, 0);
}

/* The process that runs a machine is killed: the machine ends as well, and the test hears of it. */
static void test_killed_run(void)
{
	g_autoptr(RsTestGuest) guest = new_demo(NULL);
	g_autofree char *machine = NULL;
	GError *error = NULL;
	pid_t run;

	enable(guest, "sched:*");
	boot(guest);
	rs_trace_item_unref(expect(guest, "sched:switch"));
	run = find_process(rs_test_guest_get_folder(guest));
	machine = g_strdup_printf("ringside-%s@", rs_test_guest_get_session(guest));
	g_assert_true(run && is_running(machine));
	g_assert_cmpint(kill(run, SIGKILL), ==, 0);
	g_assert_false(rs_test_guest_wait_end(guest, LONG_MS, &error));
	assert_says(&error, RS_TEST_ERROR_NOT_RUN, ".");
	g_assert_cmpint(rs_test_guest_get_end(guest), ==, RS_TEST_END_FAULT);
	for (guint i = 0; is_running(machine) && i < LONG_MS / 10; i++)
		g_usleep(10000);
	g_assert_false(is_running(machine));
	rs_test_guest_rewind(guest);
	rs_trace_item_unref(expect(guest, "sched:switch")); /* what was recorded is there */
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_true(argc == 4 || argc == 6);
	/* A spec's paths begin elsewhere. */
	demo = g_canonicalize_filename(argv[1], NULL);
	program = g_canonicalize_filename(argv[2], NULL);
	engine_program = g_canonicalize_filename(argv[3], NULL);
	if (argc == 6)
		return be_killed(argv[4], argv[5]);
	g_test_add_func("/library/expect", test_expect);
	g_test_add_func("/library/misses", test_misses);
	g_test_add_func("/library/none", test_none);
	g_test_add_func("/library/lost", test_lost);
	g_test_add_func("/library/short-program", test_short_program);
	g_test_add_func("/library/ends", test_ends);
	g_test_add_func("/library/timeout", test_timeout);
	g_test_add_func("/library/serial", test_serial);
	g_test_add_func("/library/threads", test_threads);
	g_test_add_func("/library/spec", test_spec);
	g_test_add_func("/library/wrong", test_wrong);
	g_test_add_func("/library/folder", test_folder);
	g_test_add_func("/library/killed", test_killed);
	g_test_add_func("/library/killed-run", test_killed_run);
	return g_test_run();
}
