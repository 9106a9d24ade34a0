/* SPDX-License-Identifier: MIT */
/*
 * Runs a command under ptrace and traces it and all processes that it starts: fork, exec, exit, and
 * the bytes that they read and write. It is a provider in user space of a Linux guest, on the
 * hosted port. Its records carry the pid and name of the process that they are about.
 *
 *     procwatch [-w SECONDS] COMMAND [ARGS]
 *
 * -w: wait up to so long until a host has switched an event on. Exits with COMMAND's status.
 */
#define _GNU_SOURCE
#define RS_CREATE_TRACE_POINTS
#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <rs_hosted.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPTIONS                                                                                    \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |  \
	 PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL)

#define HOLD (-1)

/* A thread of a traced process, by thread id. */
struct task {
	pid_t pid;
	pid_t parent, tgid;
	char comm[RS_COMM_LEN + 1];
	bool fresh;     /* its first SIGSTOP, which ptrace makes, is still to come */
	bool announced; /* its parent's fork was reported; until then it stays stopped */
	bool held;
	uint64_t call, args[4];
};

static struct task *tasks;
static size_t task_count, task_room;

static ssize_t read_proc(pid_t pid, const char *what, char *out, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, out, size - 1);
		close(fd);
	}
	out[n > 0 ? n : 0] = '\0';
	return n;
}

static void learn(struct task *task)
{
	char text[512], *after;

	if (read_proc(task->pid, "comm", text, sizeof(text)) > 0) {
		text[strcspn(text, "\n")] = '\0';
		snprintf(task->comm, sizeof(task->comm), "%.*s", RS_COMM_LEN - 1, text);
	}
	/* pid (comm) state ppid: the name may hold anything, so search from the end. */
	read_proc(task->pid, "stat", text, sizeof(text));
	after = strrchr(text, ')');
	if (after)
		sscanf(after + 1, " %*c %d", &task->parent);
	read_proc(task->pid, "status", text, sizeof(text));
	after = strstr(text, "\nTgid:");
	if (after)
		sscanf(after, " Tgid: %d", &task->tgid);
	rs_agent_cmdline((uint32_t)task->pid, (uint32_t)task->tgid, task->comm);
}

static struct task *task_of(pid_t pid)
{
	for (size_t i = 0; i < task_count; i++)
		if (tasks[i].pid == pid)
			return &tasks[i];
	if (task_count == task_room) {
		task_room = task_room ? 2 * task_room : 64;
		tasks = realloc(tasks, task_room * sizeof(*tasks));
		if (!tasks)
			abort();
	}
	tasks[task_count] = (struct task){.pid = pid, .fresh = true};
	learn(&tasks[task_count]);
	return &tasks[task_count++];
}

static void forget(struct task *task)
{
	*task = tasks[--task_count];
}

/* The next records are about this task, so they carry its pid and name. */
static void speak_of(const struct task *task)
{
	rs_hosted_speak_for((uint32_t)task->pid, (uint32_t)task->tgid, task->comm);
}

static void call_ended(const struct task *task, int64_t result)
{
	int fd = (int)task->args[0];

	switch (task->call) {
	case SYS_read:
	case SYS_pread64:
		trace_io_read(fd, task->args[2], result);
		break;
	case SYS_write:
	case SYS_pwrite64:
		trace_io_write(fd, task->args[2], result);
		break;
	case SYS_readv: /* the count is that of the pieces, whose sizes are in its memory */
		trace_io_read(fd, task->args[2], result);
		break;
	case SYS_writev:
		trace_io_write(fd, task->args[2], result);
		break;
	case SYS_sendfile: /* cat, cp: out, in, offset, count */
		trace_io_read((int)task->args[1], task->args[3], result);
		trace_io_write(fd, task->args[3], result);
		break;
	}
}

static void on_syscall(struct task *task)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, task->pid, (void *)sizeof(info), &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		task->call = info.entry.nr;
		memcpy(task->args, info.entry.args, sizeof(task->args));
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
		call_ended(task, info.exit.rval);
		task->call = UINT64_MAX;
	}
}

static void on_fork(pid_t pid)
{
	unsigned long child = 0;
	struct task *task;

	ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child);
	task_of((pid_t)child); /* may move the table */
	task = task_of(pid);
	speak_of(task);
	trace_proc_fork((uint32_t)pid, (uint32_t)child, task->comm);
	task = task_of((pid_t)child);
	task->announced = true;
	if (task->held)
		ptrace(PTRACE_SYSCALL, task->pid, NULL, NULL);
}

static void on_exec(struct task *task)
{
	char argv[512];
	ssize_t n;

	learn(task);
	n = read_proc(task->pid, "cmdline", argv, sizeof(argv));
	for (ssize_t i = 0; i + 1 < n; i++)
		if (argv[i] == '\0')
			argv[i] = ' ';
	speak_of(task);
	trace_proc_exec((uint32_t)task->pid, (uint32_t)task->parent, task->comm, argv);
}

static void on_exit_of(struct task *task)
{
	unsigned long status = 0;

	ptrace(PTRACE_GETEVENTMSG, task->pid, NULL, &status);
	trace_proc_exit((uint32_t)task->pid, (uint32_t)task->parent, task->comm,
			(uint32_t)(status >> 8 & 0xff), (uint32_t)(status & 0x7f));
}

/* Returns the signal to deliver, or HOLD: keep the task stopped for now. */
static int on_stop(pid_t pid, int status)
{
	struct task *task = task_of(pid);
	int signal = WSTOPSIG(status);

	speak_of(task);
	switch (status >> 16) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		on_fork(pid);
		return 0;
	case PTRACE_EVENT_EXEC:
		on_exec(task);
		return 0;
	case PTRACE_EVENT_EXIT:
		on_exit_of(task);
		return 0;
	}
	if (signal == (SIGTRAP | 0x80)) {
		on_syscall(task);
		return 0;
	}
	if (signal == SIGSTOP && task->fresh) {
		task->fresh = false;
		task->held = !task->announced; /* its stop may be reported before its parent's */
		return task->held ? HOLD : 0;
	}
	return signal;
}

static int watch(pid_t first)
{
	int status, result = 1;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (pid <= 0)
			continue;
		if (WIFSTOPPED(status)) {
			int signal = on_stop(pid, status);
			if (signal != HOLD)
				ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)signal);
			continue;
		}
		forget(task_of(pid));
		if (pid == first)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return result;
}

static pid_t run(char **argv)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execvp(argv[0], argv);
		fprintf(stderr, "procwatch: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)OPTIONS) < 0) {
		fprintf(stderr, "procwatch: cannot trace a child: %s\n", strerror(errno));
		exit(1);
	}
	task_of(pid)->fresh = false;
	ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
	return pid;
}

/* Waits for the host, which would otherwise miss the first events. */
static void wait_for_host(long seconds)
{
	struct timespec tick = {.tv_nsec = 20000000};

	for (long i = 0; i < seconds * 50; i++) {
		for (struct rs_event *e = __start_rs_events; e < __stop_rs_events; e++)
			if (rs_event_control(e) & 1) {
				nanosleep(&tick, NULL); /* the text follows the control words */
				nanosleep(&tick, NULL);
				nanosleep(&tick, NULL);
				return;
			}
		nanosleep(&tick, NULL);
	}
}

int main(int argc, char **argv)
{
	long wait = 0;
	int option, result;

	while ((option = getopt(argc, argv, "+w:")) == 'w')
		wait = strtol(optarg, NULL, 10);
	if (option != -1 || optind == argc || wait < 0 || wait > 3600) {
		fprintf(stderr, "usage: procwatch [-w SECONDS] COMMAND [ARGS]\n");
		return 2;
	}
	result = rs_hosted_init("procwatch");
	if (result)
		fprintf(stderr, "procwatch: not traced: %s\n", rs_agent_strerror(result));
	else if (!rs_hosted_active())
		fprintf(stderr, "procwatch: not traced: no RINGSIDE_REGION\n");
	else
		wait_for_host(wait);
	return watch(run(argv + optind));
}
