/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/* The target alone, with ordinary programs that have no agent. */
#include "exact.h"
#include "hosted/private.h"
#include "spinner.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *spinner; /* test-spinner, beside us */

struct seen {
	bool ended;
	struct rs_target_end end;
};

static void on_ended(void *data, const struct rs_target_end *end)
{
	struct seen *seen = data;

	g_assert_false(seen->ended); /* once */
	seen->ended = true;
	seen->end = *end;
}

static struct rs_target *run_config(struct seen *seen, struct rs_hosted_config config)
{
	struct rs_target *target = NULL;
	struct rs_error err = {0};

	memset(seen, 0, sizeof(*seen));
	if (rs_hosted_create(&config, &target, &err))
		g_error("create: %s", err.message);
	target->events.data = seen;
	target->events.ended = on_ended;
	if (target->ops->start(target, &err))
		g_error("start: %s", err.message);
	return target;
}

static struct rs_target *run(struct seen *seen, const char *const *argv, bool no_ptrace)
{
	return run_config(seen, (struct rs_hosted_config){
					.argv = argv, .regions_fd = -1, .no_ptrace = no_ptrace});
}

static void wait_end(struct seen *seen)
{
	gint64 limit = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;

	while (!seen->ended) {
		g_assert_cmpint(g_get_monotonic_time(), <, limit);
		g_main_context_iteration(NULL, FALSE);
		g_usleep(500);
	}
}

static bool traced(struct rs_target *target)
{
	struct rs_error why = {0};

	if (rs_hosted_can_patch(target, &why))
		return true;
	g_test_skip(why.message);
	return false;
}

#define SH(script)                                                                                 \
	(const char *const[])                                                                      \
	{                                                                                          \
		"sh", "-c", script, NULL                                                           \
	}

static void test_exit_code(void)
{
	struct rs_target *target;
	struct seen seen;

	target = run(&seen, SH("exit 7"), false);
	wait_end(&seen);
	g_assert_cmpint(seen.end.reason, ==, RS_END_EXIT);
	g_assert_cmpint(seen.end.code, ==, 7);
	/* An ended target accepts both. */
	g_assert_cmpint(target->ops->pause(target, NULL), ==, 0);
	g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
	target->ops->destroy(target);
}

static void test_signal(void)
{
	struct rs_target *target;
	struct seen seen;

	target = run(&seen, SH("ulimit -c 0; kill -SEGV $$; sleep 5"), false);
	wait_end(&seen);
	g_assert_cmpint(seen.end.reason, ==, RS_END_FAULT);
	g_assert_nonnull(strstr(seen.end.text, "signal 11"));
	target->ops->destroy(target);
}

/* Only signals reach the program, and its children are not traced. */
static void test_signals_pass(void)
{
	struct rs_target *target;
	struct seen seen;

	target = run(&seen,
		     SH("n=0; trap 'n=$((n+1))' USR1; kill -USR1 $$; kill -USR1 $$;"
			" (exit 3); [ $? = 3 ] || exit 90;"
			" x=$(echo a | cat); [ \"$x\" = a ] || exit 91; exit $n"),
		     false);
	wait_end(&seen);
	g_assert_cmpint(seen.end.reason, ==, RS_END_EXIT);
	g_assert_cmpint(seen.end.code, ==, 2);
	target->ops->destroy(target);
}

static void test_cannot_run(void)
{
	const char *const none[] = {"/nonexistent/program", NULL};
	struct rs_hosted_config config = {.argv = none, .regions_fd = -1};
	struct rs_target *target = NULL;
	struct rs_error err = {0};
	char *path = g_build_filename(g_get_tmp_dir(), "rs-not-a-program-XXXXXX", NULL);
	int fd = g_mkstemp(path);

	g_assert_cmpint(rs_hosted_create(&config, &target, &err), ==, -ENOENT);
	g_assert_nonnull(strstr(err.message, "/nonexistent/program"));
	/* The mode says executable, the content is not. */
	g_assert_cmpint(write(fd, "\177ELFxxxx", 8), ==, 8);
	g_chmod(path, 0755);
	close(fd);
	config.argv = (const char *const[]){path, NULL};
	g_assert_cmpint(rs_hosted_create(&config, &target, &err), ==, 0);
	g_assert_cmpint(target->ops->start(target, &err), ==, -ENOEXEC);
	target->ops->destroy(target);
	g_unlink(path);
	g_free(path);
}

static void test_stop(void)
{
	struct rs_target *target;
	struct seen seen;

	target = run(&seen, SH("trap '' TERM; echo >/dev/null; while :; do sleep 1; done"), false);
	g_usleep(100000);
	target->ops->stop(target, "the test is over");
	wait_end(&seen); /* it ignores SIGTERM: killed, which is told */
	g_assert_cmpint(seen.end.reason, ==, RS_END_KILLED);
	g_assert_cmpstr(seen.end.text, ==,
			"the test is over; it did not end by SIGTERM, and was killed");
	target->ops->destroy(target);
}

static bool is_state(pid_t pid, char state)
{
	char path[64], *text = NULL;
	bool is = false;

	g_snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (g_file_get_contents(path, &text, NULL, NULL))
		is = strrchr(text, ')')[2] == state;
	g_free(text);
	return is;
}

static void wait_state(pid_t pid, char state)
{
	for (int i = 0; i < 10000 && !is_state(pid, state); i++)
		g_usleep(1000);
	g_assert_true(is_state(pid, state));
}

/* CPU time that the process has had, in clock ticks. */
static uint64_t cpu_time(pid_t pid)
{
	char path[64], *text = NULL;
	unsigned long user = 0, system = 0;

	g_snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (g_file_get_contents(path, &text, NULL, NULL))
		g_assert_cmpint(sscanf(strrchr(text, ')') + 2,
				       "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
				       &system),
				==, 2);
	g_free(text);
	return user + system;
}

/* Threads that come and go, and vfork children, while the program is paused again and again. */
static void test_pause(void)
{
	struct rs_target *target;
	struct rs_error err = {0};
	struct seen seen;
	struct rs_text_patch patch = {.at = {16}, .size = 4};
	uint8_t head[4] = {0};
	gint64 worst = 0;

	target = run(&seen, (const char *const[]){spinner, "churn", NULL}, false);
	if (!traced(target)) {
		target->ops->destroy(target);
		return;
	}
	g_usleep(50000);
	for (int i = 0; i < 200; i++) {
		gint64 start = g_get_monotonic_time();

		if (target->ops->pause(target, &err))
			g_error("pause %d: %s", i, err.message);
		worst = MAX(worst, g_get_monotonic_time() - start);
		if (i % 50 == 0) {
			uint64_t before = cpu_time(target->pid);

			g_usleep(60000);
			g_assert_cmpuint(cpu_time(target->pid), ==, before);
		}
		g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
		g_usleep(500);
	}
	g_assert_cmpint(target->ops->read_virt(target, (rs_gva_t){16}, head, 4, &err), ==, -EFAULT);
	g_assert_cmpint(rs_text_write(target, &patch, 1, &err), ==, -EPERM);
	g_test_message("worst pause took %d us", (int)worst);
	g_assert_false(seen.ended);
	target->ops->stop(target, "done");
	wait_end(&seen);
	target->ops->destroy(target);
}

/* Memory that the spinner and we see, with our own thread writing beside a patch all the while. */
struct shared {
	int fd;
	volatile uint8_t *page;
	gint stop;
	uint32_t lost, rounds;
};

#define PATCH_AT 1025u /* 5 bytes inside of an aligned word */

static gpointer write_neighbours(gpointer data)
{
	static const uint32_t at[] = {PATCH_AT - 17, PATCH_AT - 1, PATCH_AT + 5, PATCH_AT + 6,
				      PATCH_AT + 40};
	struct shared *shared = data;

	for (uint8_t n = 1; !g_atomic_int_get(&shared->stop); n++, shared->rounds++) {
		for (size_t i = 0; i < G_N_ELEMENTS(at); i++)
			shared->page[at[i]] = n;
		for (int again = 0; again < 50; again++)
			for (size_t i = 0; i < G_N_ELEMENTS(at); i++)
				shared->lost += shared->page[at[i]] != n;
	}
	return NULL;
}

static struct rs_target *run_map(struct seen *seen, struct shared *shared, const char *how)
{
	struct rs_hosted_config config = {.argv = (const char *const[]){spinner, how, NULL}};
	struct rs_target *target;

	*shared = (struct shared){.fd = memfd_create("shared", MFD_CLOEXEC)};
	g_assert_cmpint(ftruncate(shared->fd, 4096), ==, 0);
	shared->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared->fd, 0);
	g_assert_true(shared->page != MAP_FAILED);
	config.regions_fd = shared->fd;
	target = run_config(seen, config);
	for (int i = 0; i < 10000 && !shared->page[0]; i++)
		g_usleep(1000);
	g_assert_cmpint(shared->page[0], ==, 1);
	return target;
}

static void end_map(struct rs_target *target, struct shared *shared)
{
	target->ops->destroy(target);
	munmap((void *)(uintptr_t)shared->page, 4096);
	close(shared->fd);
}

/* Patches of every size, in text that the program itself may not write. */
/* Places without a mapping, and shared ones that it cannot write. The others are written. */
static void check_bad_places(struct rs_target *target, const struct rs_text_patch *gone)
{
	struct rs_text_patch list[] = {
		{.at = {SPINNER_TEXT}, .size = 5, .new_bytes = {1, 2, 3, 4, 5}},
		*gone,
		{.at = {SPINNER_LOCKED + 8}, .size = 5, .new_bytes = {1, 2, 3, 4, 5}},
		{.at = {SPINNER_TEXT + 8}, .size = 5, .new_bytes = {1, 2, 3, 4, 5}},
	};
	static const bool expected[] = {false, true, true, false};
	bool bad[4] = {0};
	uint8_t now[1][RS_TEXT_MAX];

	g_assert_cmpint(rs_text_write_checked(target, list, 4, bad, NULL), ==, 0);
	for (size_t i = 0; i < 4; i++) {
		g_assert_true(bad[i] == expected[i]);
		if (i == 1)
			continue;
		g_assert_cmpint(rs_text_read(target, &list[i], 1, now, NULL), ==, 0);
		g_assert_true(!memcmp(now[0], list[i].new_bytes, 5) == !bad[i]);
	}
}

static void test_exact(void)
{
	struct rs_text_patch gone = {.at = {SPINNER_TEXT + 2 * 4096 - 2}, .size = 5};
	struct rs_text_patch list[3];
	struct rs_target *target;
	struct shared shared;
	struct seen seen;
	uint8_t now[3][RS_TEXT_MAX];

	target = run_map(&seen, &shared, "map");
	if (traced(target)) {
		g_assert_cmpint(target->ops->pause(target, NULL), ==, 0);
		exact_check(target, (rs_gva_t){SPINNER_TEXT}, (rs_gpa_t){0}, (rs_gpa_t){0});
		/* The patch reaches beyond the mapping. */
		g_assert_cmpint(rs_text_read(target, &gone, 1, now, NULL), ==, -EFAULT);
		g_assert_cmpint(rs_text_write(target, &gone, 1, NULL), <, 0);
		list[0] = list[2] = (struct rs_text_patch){.at = {SPINNER_TEXT}, .size = 5};
		list[1] = gone;
		g_assert_cmpint(rs_text_read(target, list, 3, now, NULL), ==, -EFAULT);
		check_bad_places(target, &gone);
		g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
	}
	end_map(target, &shared);
}

/* A patch never undoes what others write beside it meanwhile. */
static void test_neighbours(void)
{
	struct rs_text_patch patch = {
		.at = {SPINNER_SHARED + PATCH_AT}, .size = 5, .new_bytes = {1, 2, 3, 4, 5}};
	struct rs_target *target;
	struct shared shared;
	struct seen seen;
	GThread *thread;

	target = run_map(&seen, &shared, "map");
	if (traced(target)) {
		thread = g_thread_new("neighbour", write_neighbours, &shared);
		g_assert_cmpint(target->ops->pause(target, NULL), ==, 0);
		for (gint64 end = g_get_monotonic_time() + 300000; g_get_monotonic_time() < end;) {
			g_assert_cmpint(rs_text_write(target, &patch, 1, NULL), ==, 0);
			patch = rs_text_reversed(&patch);
		}
		g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
		g_atomic_int_set(&shared.stop, true);
		g_thread_join(thread);
		g_assert_cmpuint(shared.rounds, >, 0);
		g_assert_cmpuint(shared.lost, ==, 0);
	}
	end_map(target, &shared);
}

/* A leader that ended before its other threads never stops, and must not delay us. */
static void test_dead_leader(void)
{
	struct rs_target *target;
	struct rs_error err = {0};
	struct seen seen;

	target = run(&seen, (const char *const[]){spinner, "leaderless", NULL}, false);
	if (traced(target)) {
		g_usleep(100000);
		for (int i = 0; i < 5; i++) {
			if (target->ops->pause(target, &err))
				g_error("pause: %s", err.message);
			g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
		}
	}
	target->ops->destroy(target);
}

/* Its text is read and written all the same. */
static void test_dead_leader_text(void)
{
	struct rs_target *target, *other = NULL;
	struct rs_error err = {0};
	struct shared shared;
	struct seen seen;
	uint8_t byte;

	target = run_map(&seen, &shared, "map-leaderless");
	if (traced(target)) {
		wait_state(target->pid, 'Z');
		g_assert_cmpint(target->ops->pause(target, NULL), ==, 0);
		exact_check(target, (rs_gva_t){SPINNER_TEXT}, (rs_gpa_t){0}, (rs_gpa_t){0});
		if (target->ops->read_virt(target, (rs_gva_t){SPINNER_TEXT}, &byte, 1, &err))
			g_error("read: %s", err.message);
		/* A failure is not told as its end, since it lives. */
		g_assert_cmpint(target->ops->read_virt(target, (rs_gva_t){16}, &byte, 1, &err), ==,
				-EFAULT);
		g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
		/* Its threads have a tracer already. */
		g_assert_cmpint(rs_hosted_attach(target->pid, rs_hosted_start_time(target->pid),
						 &other, &err),
				==, -EPERM);
	}
	end_map(target, &shared);
}

/* Until the kernel says that it stands still: on a busy machine that takes a while. */
static void await_stop(pid_t pid)
{
	gint64 until = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;
	g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid);
	char state = 0;

	while (g_ascii_tolower(state) != 't' && g_get_monotonic_time() < until) {
		g_autofree char *text = NULL;

		g_usleep(1000);
		if (g_file_get_contents(path, &text, NULL, NULL))
			state = strrchr(text, ')')[2];
	}
	g_assert_cmpint(g_ascii_tolower(state), ==, 't');
}

/* A user's SIGSTOP lasts beyond our pause, and SIGCONT ends it. */
static void test_group_stop(void)
{
	struct rs_target *target;
	struct seen seen;
	uint64_t before;

	target = run(&seen, (const char *const[]){spinner, "spin", NULL}, false);
	if (traced(target)) {
		g_usleep(50000);
		kill(target->pid, SIGSTOP);
		await_stop(target->pid);
		g_usleep(20000);
		before = cpu_time(target->pid);
		g_assert_cmpint(target->ops->pause(target, NULL), ==, 0);
		g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
		g_usleep(100000);
		/* The pause itself takes a little of it, which may complete a tick. */
		g_assert_cmpuint(cpu_time(target->pid), <=, before + 1);
		kill(target->pid, SIGCONT);
		g_usleep(200000);
		g_assert_cmpuint(cpu_time(target->pid), >, before);
	}
	target->ops->destroy(target);
}

/* A thread that does not stop is waited for once, until it is heard of again. */
static void test_silent(void)
{
	g_autofree char *dir = g_dir_make_tmp("rs-hosted-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "go-on", NULL);
	g_autofree char *in = g_strconcat(path, ".in", NULL);
	const char *argv[] = {spinner, "stuck", path, NULL};
	struct rs_error err = {0};
	struct rs_target *target;
	struct seen seen;
	int ret;

	target = run(&seen, argv, false);
	if (traced(target)) {
		while (!g_file_test(in, G_FILE_TEST_EXISTS))
			g_usleep(1000);
		g_assert_cmpint(target->ops->pause(target, &err), ==, -ETIMEDOUT);
		for (int i = 0; i < 3; i++)
			g_assert_cmpint(target->ops->pause(target, &err), ==, -EAGAIN);
		g_assert_nonnull(strstr(err.message, "since an earlier pause"));
		g_assert_true(g_file_set_contents(path, "", 0, NULL));
		while ((ret = target->ops->pause(target, NULL)) == -EAGAIN)
			g_usleep(1000);
		g_assert_cmpint(ret, ==, 0);
		g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
	}
	target->ops->destroy(target);
	g_unlink(path);
	g_unlink(in);
	g_rmdir(dir);
}

/* execve from the leader and from other threads, while paused at random. */
static void test_exec(void)
{
	struct rs_target *target;
	struct rs_error err = {0};
	struct seen seen;

	target = run(&seen, (const char *const[]){spinner, "exec", NULL}, false);
	if (traced(target)) {
		for (int i = 0; i < 20; i++) {
			if (target->ops->pause(target, &err))
				g_error("pause: %s", err.message);
			g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
			g_usleep(2000);
		}
	}
	wait_end(&seen);
	g_assert_cmpint(seen.end.reason, ==, RS_END_EXIT);
	g_assert_cmpint(seen.end.code, ==, 5);
	target->ops->destroy(target);
}

static void test_no_ptrace(void)
{
	struct rs_target *target;
	struct rs_error err = {0};
	struct seen seen;

	target = run(&seen, SH("[ \"$RINGSIDE_SELF_PATCH\" = 1 ]"), true);
	g_assert_false(rs_hosted_can_patch(target, &err));
	g_assert_cmpint(target->ops->pause(target, &err), ==, -EPERM);
	wait_end(&seen);
	g_assert_cmpint(seen.end.reason, ==, RS_END_EXIT);
	g_assert_cmpint(seen.end.code, ==, 0);
	target->ops->destroy(target);
}

static GPid spawn(const char *how)
{
	char *argv[] = {(char *)(uintptr_t)spinner, (char *)(uintptr_t)how, NULL};
	GPid pid;

	g_assert_true(
		g_spawn_async(NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, NULL));
	return pid;
}

static void test_attach(void)
{
	struct rs_target *target = NULL;
	struct rs_error err = {0};
	GPid pid = spawn("churn");
	uint64_t start;

	g_usleep(100000);
	start = rs_hosted_start_time(pid);
	g_assert_cmpuint(start, !=, 0);
	g_assert_cmpint(rs_hosted_attach(pid, start + 1, &target, &err), ==, -ESRCH);
	if (rs_hosted_attach(pid, start, &target, &err)) {
		g_test_skip(err.message);
	} else {
		for (int i = 0; i < 20; i++) {
			if (target->ops->pause(target, &err))
				g_error("pause: %s", err.message);
			g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
		}
		target->ops->destroy(target);
		g_usleep(20000);
		g_assert_cmpint(waitpid(pid, NULL, WNOHANG), ==, 0); /* it runs on */
		g_assert_false(is_state(pid, 't'));
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A number after `key` in a file of /proc; 0: it is not there. */
static uint64_t number_in(const char *path, const char *key)
{
	g_autofree char *text = NULL;
	const char *at = NULL;

	if (g_file_get_contents(path, &text, NULL, NULL))
		at = strstr(text, key);
	return at ? g_ascii_strtoull(at + strlen(key), NULL, 10) : 0;
}

/* How many threads of the process are in a ptrace stop. */
static int stopped_threads(pid_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)pid);
	GDir *dir = g_dir_open(path, 0, NULL);
	const char *name;
	int count = 0;

	while ((name = g_dir_read_name(dir)))
		count += is_state(atoi(name), 't');
	g_dir_close(dir);
	return count;
}

/* All threads stop, however many there are, and all go on. */
static void test_crowd(void)
{
	g_autofree char *status = NULL;
	struct rs_target *target;
	struct rs_error err = {0};
	struct seen seen;

	target = run(&seen, (const char *const[]){spinner, "crowd", NULL}, false);
	status = g_strdup_printf("/proc/%d/status", (int)target->pid);
	if (traced(target)) {
		while (number_in(status, "Threads:") < SPINNER_CROWD && !seen.ended)
			g_main_context_iteration(NULL, FALSE);
		for (int i = 0; i < 3; i++) {
			if (target->ops->pause(target, &err))
				g_error("pause %d: %s", i, err.message);
			g_assert_cmpint(stopped_threads(target->pid), ==, SPINNER_CROWD);
			g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
			while (stopped_threads(target->pid))
				g_usleep(1000);
		}
		g_assert_false(seen.ended);
	}
	target->ops->destroy(target);
}

/* Threads that seized threads have made meanwhile are traced already, which is no error. */
static void test_attach_swarm(void)
{
	GPid pid = spawn("swarm");
	uint64_t start = rs_hosted_start_time(pid);

	g_usleep(50000);
	for (int i = 0; i < 100; i++) {
		struct rs_target *target = NULL;
		struct rs_error err = {0};

		if (rs_hosted_attach(pid, start, &target, &err)) {
			/* The first one fails if ptrace is not permitted at all. */
			if (i || err.code != EPERM)
				g_error("attach %d: %s", i, err.message);
			g_test_skip(err.message);
			break;
		}
		target->ops->destroy(target);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Of a process whose leader has ended the other threads are seized. All ended: it is gone. */
static void test_attach_dead_leader(void)
{
	struct rs_target *target = NULL;
	struct rs_error err = {0};
	GPid pid = spawn("leaderless");
	uint64_t start, before;

	wait_state(pid, 'Z');
	start = rs_hosted_start_time(pid);
	if (rs_hosted_attach(pid, start, &target, &err)) {
		g_assert_cmpint(err.code, ==, EPERM);
		g_test_skip(err.message);
	} else {
		if (target->ops->pause(target, &err))
			g_error("pause: %s", err.message);
		before = cpu_time(pid);
		g_usleep(60000);
		g_assert_cmpuint(cpu_time(pid), ==, before);
		g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
		target->ops->destroy(target);
	}
	kill(pid, SIGKILL);
	/* Dead, and not reaped. */
	for (int i = 0; i < 10000 && rs_process_living_task(pid); i++)
		g_usleep(1000);
	g_assert_true(is_state(pid, 'Z'));
	g_assert_cmpint(rs_hosted_attach(pid, start, &target, &err), ==, -ESRCH);
	waitpid(pid, NULL, 0);
}

/* No process of ours remains when a target is destroyed while its program runs. */
static void test_destroy(void)
{
	struct rs_target *target;
	struct seen seen;
	pid_t pid;

	target = run(&seen, (const char *const[]){spinner, "churn", NULL}, false);
	pid = target->pid;
	g_usleep(30000);
	target->ops->destroy(target);
	g_assert_cmpint(kill(pid, 0), ==, -1);
	g_assert_cmpint(errno, ==, ESRCH);
}

struct thief {
	GSource source;
	int fd;
	uint64_t taken;
};

/* Comes between the loop's poll and what it calls. */
static gboolean steal(GSource *source)
{
	struct thief *thief = (struct thief *)source;
	uint64_t count;

	if (read(thief->fd, &count, sizeof(count)) == sizeof(count))
		thief->taken += count;
	fcntl(thief->fd, F_SETFL, fcntl(thief->fd, F_GETFL) & ~O_NONBLOCK);
	return FALSE;
}

/* The program shares the doorbell's open file. It can neither make us wait, nor make up a count. */
static void test_doorbell(void)
{
	static GSourceFuncs funcs = {.check = steal};
	const uint64_t huge = UINT64_MAX - 1, one = 1;
	struct rs_target_stats stats;
	struct rs_target *target;
	struct seen seen;
	GSource *source;
	int fd;

	target = run(&seen, SH("exec sleep 60"), true);
	fd = ((struct rs_hosted *)target)->doorbell_fd;
	for (int i = 0; i < 3; i++) {
		g_assert_cmpint(write(fd, &huge, sizeof(huge)), ==, sizeof(huge));
		g_main_context_iteration(NULL, FALSE);
	}
	target->ops->stats(target, &stats);
	g_assert_cmpuint(stats.doorbells, ==, 3);
	source = g_source_new(&funcs, sizeof(struct thief));
	((struct thief *)source)->fd = fd;
	g_source_set_priority(source, G_PRIORITY_HIGH);
	g_source_attach(source, NULL);
	g_assert_cmpint(write(fd, &one, sizeof(one)), ==, sizeof(one));
	alarm(20); /* a read that waits ends the test */
	g_main_context_iteration(NULL, FALSE);
	alarm(0);
	g_assert_cmpuint(((struct thief *)source)->taken, ==, 1);
	target->ops->stats(target, &stats);
	g_assert_cmpuint(stats.doorbells, ==, 3);
	g_source_destroy(source);
	g_source_unref(source);
	target->ops->destroy(target);
}

static void test_clock(void)
{
	struct rs_target *target;
	struct seen seen;
	uint64_t a, b;

	target = run(&seen, SH(":"), false);
	a = target->ops->clock_hz(target);
	g_usleep(50000);
	b = target->ops->clock_hz(target);
	g_assert_cmpuint(a, >, 100000000);
	g_assert_cmpfloat_with_epsilon((double)a / (double)b, 1.0, 0.01);
	wait_end(&seen);
	target->ops->destroy(target);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	spinner = g_getenv("RS_TEST_SPINNER");
	g_assert_nonnull(spinner);
	g_test_add_func("/hosted/exit-code", test_exit_code);
	g_test_add_func("/hosted/signal", test_signal);
	g_test_add_func("/hosted/signals-pass", test_signals_pass);
	g_test_add_func("/hosted/cannot-run", test_cannot_run);
	g_test_add_func("/hosted/stop", test_stop);
	g_test_add_func("/hosted/pause", test_pause);
	g_test_add_func("/hosted/exact", test_exact);
	g_test_add_func("/hosted/neighbours", test_neighbours);
	g_test_add_func("/hosted/dead-leader", test_dead_leader);
	g_test_add_func("/hosted/dead-leader-text", test_dead_leader_text);
	g_test_add_func("/hosted/group-stop", test_group_stop);
	g_test_add_func("/hosted/silent", test_silent);
	g_test_add_func("/hosted/exec", test_exec);
	g_test_add_func("/hosted/no-ptrace", test_no_ptrace);
	g_test_add_func("/hosted/attach", test_attach);
	g_test_add_func("/hosted/attach-swarm", test_attach_swarm);
	g_test_add_func("/hosted/crowd", test_crowd);
	g_test_add_func("/hosted/attach-dead-leader", test_attach_dead_leader);
	g_test_add_func("/hosted/destroy", test_destroy);
	g_test_add_func("/hosted/doorbell", test_doorbell);
	g_test_add_func("/hosted/clock", test_clock);
	return g_test_run();
}
