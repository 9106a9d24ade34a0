/* SPDX-License-Identifier: MIT */
/*
 * Starts the program. The child waits on a socket until it is known whether its text could be
 * written, and then executes. After fork the child calls only async-signal-safe functions, since
 * our process has threads.
 */
#define _GNU_SOURCE
#include "hosted/private.h"

#include <errno.h>
#include <fcntl.h>
#include <ringside/atomic.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The parent's word to the child. */
#define GO_PLAIN 'p'
#define GO_SELF 's'

struct child {
	char *program;
	char **argv;
	char **plain_env;
	char **self_env; /* the agent is to patch its own text */
	int sync;
	int keep[2]; /* descriptors that the program inherits, -1: none */
	const sigset_t *mask;
};

static _Noreturn void run_child(const struct child *child)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};
	char go = 0;
	int code;

	/* The program must not inherit the signals that we ignore or block (SIGPIPE, SIGINT …). */
	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &plain, NULL);
	sigprocmask(SIG_SETMASK, child->mask, NULL);
	for (int i = 0; i < 2; i++) {
		if (child->keep[i] >= 0)
			fcntl(child->keep[i], F_SETFD, 0);
	}
	while (read(child->sync, &go, 1) < 0 && errno == EINTR)
		;
	if (go == GO_PLAIN || go == GO_SELF) {
		execve(child->program, child->argv,
		       go == GO_PLAIN ? child->plain_env : child->self_env);
		code = errno;
		if (write(child->sync, &code, sizeof(code)) < 0)
			_exit(126);
	}
	_exit(127);
}

static char **make_env(const struct rs_hosted *hosted, bool self)
{
	char **env = g_strdupv(hosted->envp), text[48];

	env = g_environ_unsetenv(env, "RINGSIDE_SELF_PATCH");
	if (hosted->regions_fd >= 0) {
		g_snprintf(text, sizeof(text), "%d", hosted->regions_fd);
		env = g_environ_setenv(env, "RINGSIDE_REGION_FD", text, TRUE);
		g_snprintf(text, sizeof(text), "%d", hosted->doorbell_fd);
		env = g_environ_setenv(env, "RINGSIDE_DOORBELL_FD", text, TRUE);
		/* For programs whose parents close what they do not know. */
		g_snprintf(text, sizeof(text), "/proc/%d/fd/%d", (int)getpid(), hosted->regions_fd);
		env = g_environ_setenv(env, "RINGSIDE_REGION", text, TRUE);
	}
	if (self)
		env = g_environ_setenv(env, "RINGSIDE_SELF_PATCH", "1", TRUE);
	return env;
}

/* What is allowed with the child now is allowed with the program that it executes. */
static int try_to_write(struct rs_hosted *hosted, pid_t pid, struct rs_error *why)
{
	struct rs_hosted_stop *stop;
	g_autofree char *path = g_strdup_printf("/proc/%d/mem", (int)pid);
	int fd, ret = 0;

	if (hosted->no_ptrace)
		return rs_error_set(why, EPERM, "ptrace is switched off");
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		ret = rs_error_set(why, errno, "%s: %s", path, g_strerror(errno));
	else
		close(fd);
	if (!ret && hosted->way != RS_HOSTED_LIVE)
		ret = rs_hosted_stop(rs_hosted_stop_new(), pid, &hosted->former, &hosted->work,
				     &stop, why);
	if (!ret && hosted->way != RS_HOSTED_LIVE)
		rs_hosted_let_go(stop);
	return ret ? rs_error_prefix(why, "the program patches its own text") : 0;
}

/* Waits for the child's exec. Returns its errno, or 0. */
static int finish(int sync)
{
	int code = 0;
	ssize_t got;

	/* The socket closes at exec, so end of file means success. */
	do
		got = read(sync, &code, sizeof(code));
	while (got < 0 && errno == EINTR);
	return got == sizeof(code) ? code : 0;
}

pid_t rs_hosted_spawn(struct rs_hosted *hosted, struct rs_error *why, struct rs_error *err)
{
	struct child child = {
		.program = hosted->program,
		.argv = hosted->argv,
		.keep = {hosted->regions_fd, hosted->doorbell_fd},
		.mask = &hosted->mask,
	};
	int sync[2], code;
	char go;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sync))
		return rs_error_set(err, errno, "socketpair: %s", g_strerror(errno));
	child.sync = sync[1];
	child.plain_env = make_env(hosted, false);
	child.self_env = make_env(hosted, true);
	pid = fork();
	if (pid == 0)
		run_child(&child);
	code = pid < 0 ? errno : 0;
	close(sync[1]);
	if (pid > 0) {
		/* Before it executes: it finds its own id there. */
		if (hosted->claim)
			rs_store(hosted->claim, hosted->claim_base | (uint32_t)pid);
		go = try_to_write(hosted, pid, why) ? GO_SELF : GO_PLAIN;
		if (send(sync[0], &go, 1, MSG_NOSIGNAL) == 1)
			code = finish(sync[0]);
		else
			code = ECHILD;
		/* The child ends by itself. Reap it here, so that nobody else sees it. */
		if (code)
			while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
				;
	}
	close(sync[0]);
	g_strfreev(child.plain_env);
	g_strfreev(child.self_env);
	return code ? rs_error_set(err, code, "cannot run '%s': %s", hosted->argv[0],
				   g_strerror(code))
		    : pid;
}
