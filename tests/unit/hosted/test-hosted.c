/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/* The target alone, with ordinary programs that have no agent. */
#include "exact.h"
#include "held-file.h"
#include "hosted/private.h"
#include "patch/apply.h"
#include "spinner.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
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

/* Whether a thread with the usual nice value may come before others. */
static bool may_come_first(void)
{
	const struct sched_param first = {.sched_priority = 1};
	pid_t child;
	int status;

	if (getpriority(PRIO_PROCESS, 0) || sched_getscheduler(0) & ~SCHED_RESET_ON_FORK)
		return false;
	child = fork();
	if (child == 0)
		_exit(sched_setscheduler(0, SCHED_RR, &first) ? 1 : 0);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	return status == 0;
}

static void check_first(pid_t tid, const cpu_set_t *where, bool first)
{
	cpu_set_t now;

	g_assert_cmpint(sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK, ==,
			first ? SCHED_RR : SCHED_OTHER);
	g_assert_cmpint(sched_getaffinity(tid, sizeof(now), &now), ==, 0);
	g_assert_true(CPU_EQUAL(&now, where));
}

/* Who works on a batch is on one CPU, and comes first. Afterwards all is as before. */
static void test_hurry(void)
{
	struct rs_target *target;
	struct rs_error err = {0};
	struct seen seen;
	cpu_set_t before, here;
	uint8_t byte;
	pid_t memory;

	if (!may_come_first()) {
		g_test_skip("no right to real-time priority, or a nice value");
		return;
	}
	target = run(&seen, (const char *const[]){spinner, "churn", NULL}, false);
	if (!traced(target)) {
		target->ops->destroy(target);
		return;
	}
	/* It starts who reads the memory. */
	g_assert_cmpint(target->ops->read_virt(target, (rs_gva_t){16}, &byte, 1, &err), ==,
			-EFAULT);
	memory = rs_hosted_memory_process(rs_hosted_of(target)->memory);
	g_assert_cmpint(sched_getaffinity(0, sizeof(before), &before), ==, 0);
	for (int i = 0; i < 20; i++) {
		target->ops->hurry(target, true);
		g_assert_cmpint(sched_getaffinity(0, sizeof(here), &here), ==, 0);
		g_assert_cmpint(CPU_COUNT(&here), ==, 1);
		check_first(0, &here, true);
		check_first(memory, &here, true);
		if (target->ops->pause(target, &err))
			g_error("pause %d: %s", i, err.message);
		check_first(rs_hosted_of(target)->former, &here, true);
		g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
		target->ops->hurry(target, false);
		g_assert_cmpint(sched_getaffinity(memory, sizeof(here), &here), ==, 0);
		g_assert_true(CPU_EQUAL(&here, &before));
		/* The session's thread may go on where it likes, but as all others only later. */
		check_first(0, &before, true);
		while (g_main_context_iteration(NULL, FALSE))
			;
		check_first(0, &before, false);
	}
	target->ops->destroy(target);
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

/* `path`: what "map-absent" maps, or NULL. */
static struct rs_target *run_map_of(struct seen *seen, struct shared *shared, const char *how,
				    const char *path)
{
	struct rs_hosted_config config = {.argv = (const char *const[]){spinner, how, path, NULL}};
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

static struct rs_target *run_map(struct seen *seen, struct shared *shared, const char *how)
{
	return run_map_of(seen, shared, how, NULL);
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
	static const uint32_t at[] = {PATCH_AT - 32, PATCH_AT, PATCH_AT + 16, PATCH_AT + 64};
	struct rs_text_patch patches[G_N_ELEMENTS(at)];
	struct rs_target *target;
	struct shared shared;
	struct seen seen;
	GThread *thread;

	for (size_t i = 0; i < G_N_ELEMENTS(at); i++)
		patches[i] = (struct rs_text_patch){
			.at = {SPINNER_SHARED + at[i]}, .size = 5, .new_bytes = {1, 2, 3, 4, 5}};

	target = run_map(&seen, &shared, "map");
	if (traced(target)) {
		thread = g_thread_new("neighbour", write_neighbours, &shared);
		g_assert_cmpint(target->ops->pause(target, NULL), ==, 0);
		for (gint64 end = g_get_monotonic_time() + 300000; g_get_monotonic_time() < end;) {
			g_assert_cmpint(rs_text_write(target, patches, G_N_ELEMENTS(at), NULL), ==,
					0);
			for (size_t i = 0; i < G_N_ELEMENTS(at); i++)
				patches[i] = rs_text_reversed(&patches[i]);
		}
		g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
		g_atomic_int_set(&shared.stop, true);
		g_thread_join(thread);
		g_assert_cmpuint(shared.rounds, >, 0);
		g_assert_cmpuint(shared.lost, ==, 0);
	}
	end_map(target, &shared);
}

/* ---- memory that nobody brings ---- */

static void count_news(void *data, const char *text)
{
	g_assert_nonnull(strstr(text, "memory does not answer"));
	++*(int *)data;
}

/* Each target waits for it once, and touches no memory of the process after that. */
static void check_absent(struct rs_target *target)
{
	struct rs_text_patch list[] = {{.at = {SPINNER_TEXT}, .size = 5},
				       {.at = {SPINNER_ABSENT + 8}, .size = 5}};
	void *data = target->events.data;
	struct rs_error err = {0};
	uint8_t now[2][RS_TEXT_MAX];
	bool bad[2] = {0};
	int told = 0;

	g_assert_cmpint(rs_text_read(target, list, 1, now, &err), ==, 0);
	target->events.data = &told;
	target->events.news = count_news;
	g_assert_cmpint(rs_text_read(target, list, 2, now, &err), ==, -ETIMEDOUT);
	g_assert_cmpint(rs_text_read(target, list, 1, now, &err), ==, -ETIMEDOUT);
	g_assert_nonnull(strstr(err.message, "left as it is"));
	g_assert_cmpint(rs_text_write_live(target, list, 1, bad, &err), ==, -ETIMEDOUT);
	target->ops->booted(target);
	g_assert_cmpint(rs_text_read(target, list, 1, now, &err), ==, -ETIMEDOUT);
	g_assert_cmpint(told, ==, 1);
	target->events.data = data;
	target->events.news = NULL;
}

/* A write waits for it, too. */
static void check_absent_write(struct rs_target *target)
{
	struct rs_text_patch list[] = {{.at = {SPINNER_ABSENT + 8}, .size = 5},
				       {.at = {SPINNER_TEXT}, .size = 5, .new_bytes = {1}}};
	bool bad[2] = {0};

	g_assert_cmpint(target->ops->pause(target, NULL), ==, 0);
	g_assert_cmpint(rs_text_write_checked(target, list, 2, bad, NULL), ==, -ETIMEDOUT);
	g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
}

static void test_absent(void)
{
	struct rs_target *target, *other = NULL;
	struct rs_error err = {0};
	struct held_file held;
	struct shared shared;
	struct seen seen;

	if (!held_file_make(&held)) {
		g_test_skip("a FUSE file is not permitted");
		return;
	}
	target = run_map_of(&seen, &shared, "map-absent", held.path);
	if (traced(target)) {
		g_assert_cmpint(rs_hosted_attach(target->pid, rs_hosted_start_time(target->pid), -1,
						 &other, &err),
				==, 0);
		check_absent_write(other);
		other->ops->destroy(other);
		check_absent(target);
		g_assert_cmpint(shared.page[0], ==, 1);
	}
	end_map(target, &shared);
	held_file_end(&held);
}

/* It cannot be seized while it executes that, and nobody waits for ever. */
static void test_exec_absent(void)
{
	struct rs_target *target;
	struct rs_error err = {0};
	struct held_file held;
	struct seen seen;
	bool may;

	if (!held_file_make(&held)) {
		g_test_skip("a FUSE file is not permitted");
		return;
	}
	target = run(&seen, (const char *const[]){spinner, "exec-absent", held.path, NULL}, false);
	may = traced(target);
	while (may && !g_atomic_int_get(&held.reads))
		g_usleep(1000);
	if (may)
		g_assert_cmpint(target->ops->pause(target, &err), ==, -ETIMEDOUT);
	held_file_end(&held);
	target->ops->destroy(target);
}

/* ---- a program that runs through a site ---- */

static struct rs_text_patch switch_on(void)
{
	return (struct rs_text_patch){
		.at = {SPINNER_TEXT},
		.size = 5,
		.old_bytes = {0x0f, 0x1f, 0x44, 0x00, 0x00},
		.new_bytes = {0xe9, SPINNER_JMP_TO - 5, 0, 0, 0},
	};
}

static struct rs_target *run_site(struct seen *seen, struct shared *shared, enum rs_hosted_way way)
{
	struct rs_target *target = run_map(seen, shared, "map-site");

	((struct rs_hosted *)target)->way = way;
	return target;
}

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static const struct spinner_counts *counts_of(const struct shared *shared)
{
	return (const struct spinner_counts *)(uintptr_t)shared->page;
}

static void wait_more(const uint64_t *word)
{
	uint64_t before = load(word);

	for (int i = 0; i < 60000 && load(word) == before; i++)
		g_usleep(1000);
	g_assert_cmpuint(load(word), >, before);
}

/* Threads are in the site while it changes, again and again. */
static void check_site(enum rs_hosted_way way, bool paused)
{
	struct rs_text_patch patch = switch_on();
	const struct spinner_counts *counts;
	enum rs_apply_outcome outcome;
	struct rs_error err = {0};
	struct rs_target *target;
	struct shared shared;
	struct seen seen;
	uint64_t ns, sent = 0;

	target = run_site(&seen, &shared, way);
	counts = counts_of(&shared);
	for (int i = 0; traced(target) && i < 2000; i++) {
		if (rs_patch_apply(target, &patch, 1, &outcome, &ns, &err))
			g_error("patch %d: %s", i, err.message);
		g_assert_cmpint(outcome, ==, RS_APPLY_DONE);
		g_assert_true((ns > 0) == paused);
		patch = rs_text_reversed(&patch);
		/* Signals of this kind are not merged. */
		sent += !kill(target->pid, SIGRTMIN);
		if (i % 100 == 0)
			wait_more(&counts->on);
		if (i % 100 == 1)
			wait_more(&counts->off);
	}
	for (int i = 0; i < 60000 && load(&counts->signals) < sent; i++)
		g_usleep(1000);
	g_assert_cmpuint(load(&counts->signals), ==, sent);
	g_assert_cmpuint(load(&counts->wrong), ==, 0);
	g_assert_false(seen.ended);
	end_map(target, &shared);
}

static void test_site_stop(void)
{
	check_site(RS_HOSTED_STOP, true);
}

static void test_site_live(void)
{
	check_site(RS_HOSTED_LIVE, false);
}

/* A process that traces all threads of another one, or 0: that is not permitted. */
static pid_t be_traced(pid_t pid)
{
	int ready[2];
	char byte = 0;
	pid_t tracer;

	g_assert_cmpint(pipe(ready), ==, 0);
	tracer = fork();
	if (tracer == 0) {
		g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)pid);
		GDir *dir = g_dir_open(path, 0, NULL);
		const char *name;

		while ((name = g_dir_read_name(dir)))
			if (ptrace(PTRACE_SEIZE, atoi(name), NULL, NULL))
				_exit(1);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;) {
			int status;
			pid_t tid = waitpid(-1, &status, __WALL);

			if (tid > 0 && WIFSTOPPED(status))
				ptrace(PTRACE_CONT, tid, NULL,
				       status >> 16 ? 0 : (void *)(uintptr_t)WSTOPSIG(status));
		}
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		waitpid(tracer, NULL, 0);
		tracer = 0;
	}
	close(ready[0]);
	return tracer;
}

/* Nobody traces a program between two stops. While somebody else does, it is patched as it runs. */
static void test_other_tracer(void)
{
	struct rs_text_patch patch = switch_on(), across = {.at = {SPINNER_TEXT + 6}, .size = 4};
	const struct spinner_counts *counts;
	enum rs_apply_outcome outcome;
	struct rs_error err = {0};
	struct rs_target *target;
	struct shared shared;
	struct seen seen;
	pid_t tracer;
	uint64_t ns;

	target = run_site(&seen, &shared, RS_HOSTED_ANY);
	counts = counts_of(&shared);
	g_assert_cmpint(rs_process_tracer(target->pid), ==, 0);
	tracer = traced(target) ? be_traced(target->pid) : 0;
	if (tracer) {
		g_assert_cmpint(target->ops->pause(target, &err), ==, -EBUSY);
		g_assert_nonnull(strstr(err.message, "another tracer, test-hosted"));
		g_assert_cmpint(rs_patch_apply(target, &patch, 1, &outcome, &ns, &err), ==, 0);
		g_assert_cmpint(outcome, ==, RS_APPLY_DONE);
		g_assert_cmpuint(ns, ==, 0);
		wait_more(&counts->on);
		/* Not in one word: it has to wait until the other one goes. */
		g_assert_cmpint(rs_text_read(target, &across, 1, &across.old_bytes, NULL), ==, 0);
		memcpy(across.new_bytes, across.old_bytes, across.size);
		g_assert_cmpint(rs_patch_apply(target, &across, 1, &outcome, &ns, &err), ==,
				-EBUSY);
		g_assert_cmpint(outcome, ==, RS_APPLY_NOT_TRIED);
		((struct rs_hosted *)target)->way = RS_HOSTED_STOP;
		patch = rs_text_reversed(&patch);
		g_assert_cmpint(rs_patch_apply(target, &patch, 1, &outcome, &ns, &err), ==, -EBUSY);
		kill(tracer, SIGKILL);
		waitpid(tracer, NULL, 0);
		g_assert_cmpint(rs_patch_apply(target, &across, 1, &outcome, &ns, &err), ==, 0);
		g_assert_cmpint(rs_patch_apply(target, &patch, 1, &outcome, &ns, &err), ==, 0);
		wait_more(&counts->off);
	}
	end_map(target, &shared);
}

/* Whoever has stopped it is killed: it runs on, has all signals, and stays stopped if it was. */
static void test_killed_in_stop(void)
{
	const struct spinner_counts *counts;
	struct rs_target *target;
	struct shared shared;
	struct seen seen;
	uint64_t sent = 0;

	target = run_site(&seen, &shared, RS_HOSTED_ANY);
	counts = counts_of(&shared);
	for (int i = 0; traced(target) && i < 60; i++) {
		const uint64_t start = rs_hosted_start_time(target->pid);
		pid_t pid = fork();

		if (pid == 0) {
			struct rs_target *other = NULL;
			struct rs_error err = {0};

			if (rs_hosted_attach(target->pid, start, -1, &other, &err) ||
			    other->ops->pause(other, &err))
				g_error("%s", err.message);
			raise(SIGKILL);
		}
		while (sent < (uint64_t)(i + 1) * 5)
			sent += !kill(target->pid, SIGRTMIN);
		/* Later and later: before, in and after the stop. */
		g_usleep((gulong)i * 100);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		wait_more(&counts->off);
	}
	for (int i = 0; i < 60000 && load(&counts->signals) < sent; i++)
		g_usleep(1000);
	g_assert_cmpuint(load(&counts->signals), ==, sent);
	end_map(target, &shared);
}

/*
 * After execve the old image can be neither read nor written, and the new one only when asked for.
 */
static void test_new_image(void)
{
	g_autofree char *dir = g_dir_make_tmp("rs-hosted-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "go-on", NULL);
	g_autofree char *script =
		g_strdup_printf("while [ ! -e %s ]; do sleep 0.01; done; exec sleep 60", path);
	struct rs_text_patch patch = {.size = 1};
	struct rs_error err = {0};
	struct rs_target *target;
	struct seen seen;
	bool bad = false;
	uint8_t byte;

	target = run(&seen, SH(script), false);
	if (traced(target)) {
		g_autofree char *maps = g_strdup_printf("/proc/%d/maps", (int)target->pid);
		g_autofree char *comm = g_strdup_printf("/proc/%d/comm", (int)target->pid);
		g_autofree char *text = NULL, *now = NULL;
		char *name = NULL;

		g_assert_true(g_file_get_contents(maps, &text, NULL, NULL));
		patch.at.v = g_ascii_strtoull(text, NULL, 16);
		g_assert_cmpint(target->ops->read_virt(target, patch.at, &byte, 1, &err), ==, 0);
		g_assert_true(g_file_set_contents(path, "", 0, NULL));
		do {
			g_free(name);
			g_usleep(1000);
			g_assert_true(g_file_get_contents(comm, &name, NULL, NULL));
		} while (strcmp(name, "sleep\n"));
		g_free(name);
		g_assert_cmpint(target->ops->read_virt(target, patch.at, &byte, 1, &err), ==,
				-EFAULT);
		g_assert_nonnull(strstr(err.message, "executed another program"));
		g_assert_cmpint(target->ops->pause(target, NULL), ==, 0);
		g_assert_cmpint(rs_text_write_checked(target, &patch, 1, &bad, NULL), ==, 0);
		g_assert_true(bad);
		g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
		target->ops->booted(target);
		g_assert_true(g_file_get_contents(maps, &now, NULL, NULL));
		patch.at.v = g_ascii_strtoull(now, NULL, 16);
		g_assert_cmpint(target->ops->read_virt(target, patch.at, &byte, 1, &err), ==, 0);
	}
	target->ops->destroy(target);
	g_unlink(path);
	g_rmdir(dir);
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
	struct rs_target *target;
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

/*
 * A thread that waits in the kernel, and does not stop for us before it leaves it, counts as
 * stopped; its child, which runs in its memory, is held.
 */
static void test_stuck(void)
{
	g_autofree char *dir = g_dir_make_tmp("rs-hosted-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "go-on", NULL);
	g_autofree char *in = g_strconcat(path, ".in", NULL);
	const char *argv[] = {spinner, "stuck", path, NULL};
	struct rs_error err = {0};
	struct rs_target *target;
	struct seen seen;

	target = run(&seen, argv, false);
	if (traced(target)) {
		while (!g_file_test(in, G_FILE_TEST_EXISTS))
			g_usleep(1000);
		for (int i = 0; i < 20; i++) {
			if (target->ops->pause(target, &err))
				g_error("pause %d: %s", i, err.message);
			if (i == 5)
				g_assert_true(g_file_set_contents(path, "", 0, NULL));
			/* The child would see the file and end. */
			g_usleep(i == 5 ? 100000 : 0);
			g_assert_true(i > 5 || is_state(target->pid, 'D'));
			g_assert_cmpint(target->ops->resume(target, NULL), ==, 0);
		}
		/* It goes on, and nobody has forgotten it in a stop. */
		for (int i = 0; i < 10000 && cpu_time(target->pid) < 5; i++)
			g_usleep(1000);
		g_assert_cmpuint(cpu_time(target->pid), >=, 5);
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
	g_assert_cmpint(rs_hosted_attach(pid, start + 1, -1, &target, &err), ==, -ESRCH);
	if (rs_hosted_attach(pid, start, -1, &target, &err)) {
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

		if (rs_hosted_attach(pid, start, -1, &target, &err)) {
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
	if (rs_hosted_attach(pid, start, -1, &target, &err)) {
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
	g_assert_cmpint(rs_hosted_attach(pid, start, -1, &target, &err), ==, -ESRCH);
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
	g_test_add_func("/hosted/hurry", test_hurry);
	g_test_add_func("/hosted/exact", test_exact);
	g_test_add_func("/hosted/neighbours", test_neighbours);
	g_test_add_func("/hosted/site-stop", test_site_stop);
	g_test_add_func("/hosted/site-live", test_site_live);
	g_test_add_func("/hosted/other-tracer", test_other_tracer);
	g_test_add_func("/hosted/killed-in-stop", test_killed_in_stop);
	g_test_add_func("/hosted/new-image", test_new_image);
	g_test_add_func("/hosted/dead-leader", test_dead_leader);
	g_test_add_func("/hosted/dead-leader-text", test_dead_leader_text);
	g_test_add_func("/hosted/group-stop", test_group_stop);
	g_test_add_func("/hosted/stuck", test_stuck);
	g_test_add_func("/hosted/exec", test_exec);
	g_test_add_func("/hosted/no-ptrace", test_no_ptrace);
	g_test_add_func("/hosted/attach", test_attach);
	g_test_add_func("/hosted/attach-swarm", test_attach_swarm);
	g_test_add_func("/hosted/crowd", test_crowd);
	g_test_add_func("/hosted/attach-dead-leader", test_attach_dead_leader);
	g_test_add_func("/hosted/absent", test_absent);
	g_test_add_func("/hosted/exec-absent", test_exec_absent);
	g_test_add_func("/hosted/destroy", test_destroy);
	g_test_add_func("/hosted/doorbell", test_doorbell);
	g_test_add_func("/hosted/clock", test_clock);
	return g_test_run();
}
