/* SPDX-License-Identifier: MIT */
/* What a process has left that has given its rights away; each test asks one of its own. */
#define _GNU_SOURCE
#include "rs-trace-rights.h"

#include <fcntl.h>
#include <gio/gio.h>
#include <rs-trace-expand-wire.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_FILTER 77
#define PAGE 4096u

/* The child's end: an exit status, or less than 0 for a signal. */
static int run_confined(void (*action)(void))
{
	pid_t child = fork();
	int status;

	g_assert_cmpint(child, >=, 0);
	if (!child) {
		rs_trace_rights_reduce();
		if (!rs_trace_rights_confine())
			_exit(NO_FILTER);
		action();
		_exit(0);
	}
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void open_a_file(void)
{
	open("/dev/null", O_RDONLY);
}

static void make_a_socket(void)
{
	socket(AF_UNIX, SOCK_STREAM, 0);
}

/* It is open already. */
static int left_open[2];

static void connect_a_socket(void)
{
	const struct sockaddr address = {.sa_family = AF_UNSPEC};

	connect(left_open[0], &address, sizeof(address));
}

static void start_a_process(void)
{
	fork();
}

static void start_a_program(void)
{
	execl("/bin/true", "true", NULL);
}

static void send_a_signal(void)
{
	kill(1, 0);
}

static void map_a_program(void)
{
	mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void make_data_a_program(void)
{
	void *data = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(data, PAGE, PROT_READ | PROT_EXEC);
}

static void test_what_it_must_not_do_ends_it(gconstpointer data)
{
	void (*action)(void);
	int end;

	memcpy(&action, &data, sizeof(action));
	g_assert_cmpint(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, left_open), ==, 0);
	end = run_confined(action);
	close(left_open[0]);
	close(left_open[1]);
	if (end == NO_FILTER)
		g_test_skip("no filter of system calls");
	else
		g_assert_cmpint(end, ==, -SIGSYS);
}

static int compare(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

/* What decoding needs: memory, also much of it, and what is open. */
static void do_what_it_may(void)
{
	g_autofree char *large = g_malloc0((gsize)8 << 20);
	g_autoptr(GByteArray) grows = g_byte_array_new();

	for (guint i = 0; i < 1u << 16; i++)
		g_byte_array_append(grows, (const guint8 *)large + i, 64);
	qsort(large, PAGE, 1, compare);
	/* As libraries do that print. */
	printf("# %s\n", large);
	fflush(stdout);
	if (write(left_open[0], large, 64) != 64 || read(left_open[1], large, 64) != 64)
		_exit(1);
}

static void test_it_reads_writes_and_has_memory(void)
{
	int end;

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, left_open), ==, 0);
	end = run_confined(do_what_it_may);
	close(left_open[0]);
	close(left_open[1]);
	if (end == NO_FILTER)
		g_test_skip("no filter of system calls");
	else
		g_assert_cmpint(end, ==, 0);
}

/* ---- the program itself ---- */

/* A line of the process's status in /proc, without its blanks at both ends. */
static char *status_of(const char *pid, const char *name)
{
	g_autofree char *path = g_strdup_printf("/proc/%s/status", pid), *text = NULL;
	g_autofree char *key = g_strdup_printf("\n%s:", name);
	const char *at;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	at = strstr(text, key);
	if (!at)
		return NULL;
	at += strlen(key);
	return g_strstrip(g_strndup(at, strcspn(at, "\n")));
}

static void check_status(const char *pid, const char *name, const char *wanted)
{
	g_autofree char *is = status_of(pid, name);

	g_assert_cmpstr(is, ==, wanted);
}

/* Nothing is asked, and an answer says that it is at work. */
static void exchange(GSubprocess *process)
{
	const RsTraceExpandRequest request = {.kind = RS_TRACE_EXPAND_PROVIDER};
	RsTraceExpandAnswer answer;
	gsize n;

	g_assert_true(g_output_stream_write_all(g_subprocess_get_stdin_pipe(process), &request,
						sizeof(request), &n, NULL, NULL));
	g_assert_true(g_input_stream_read_all(g_subprocess_get_stdout_pipe(process), &answer,
					      sizeof(answer), &n, NULL, NULL));
	g_assert_cmpint(n, ==, sizeof(answer));
}

static void nothing(void)
{
}

static void test_the_decoder_of_a_guest_has_no_rights(void)
{
	g_autofree char *program =
		g_build_filename(g_getenv("RINGSIDE_LIBEXEC"), "ringside-import", NULL);
	g_autoptr(GSubprocess) process =
		g_subprocess_new(G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE,
				 NULL, program, "--pages", NULL);
	const char *pid;

	g_assert_nonnull(process);
	exchange(process);
	pid = g_subprocess_get_identifier(process);
	check_status(pid, "NoNewPrivs", "1");
	if (run_confined(nothing) != NO_FILTER)
		check_status(pid, "Seccomp", "2");
	if (!geteuid()) {
		check_status(pid, "Uid", "65534\t65534\t65534\t65534");
		check_status(pid, "Gid", "65534\t65534\t65534\t65534");
		check_status(pid, "Groups", "");
		check_status(pid, "CapEff", "0000000000000000");
		check_status(pid, "CapPrm", "0000000000000000");
	}
	g_output_stream_close(g_subprocess_get_stdin_pipe(process), NULL, NULL);
	g_assert_true(g_subprocess_wait_check(process, NULL, NULL));
}

static void add(const char *name, void (*action)(void))
{
	gconstpointer data;

	memcpy(&data, &action, sizeof(data));
	g_test_add_data_func(name, data, test_what_it_must_not_do_ends_it);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	add("/import/rights/open", open_a_file);
	add("/import/rights/socket", make_a_socket);
	add("/import/rights/connect", connect_a_socket);
	add("/import/rights/fork", start_a_process);
	add("/import/rights/exec", start_a_program);
	add("/import/rights/signal", send_a_signal);
	add("/import/rights/map", map_a_program);
	add("/import/rights/protect", make_data_a_program);
	g_test_add_func("/import/rights/may", test_it_reads_writes_and_has_memory);
	g_test_add_func("/import/rights/decoder", test_the_decoder_of_a_guest_has_no_rights);
	return g_test_run();
}
