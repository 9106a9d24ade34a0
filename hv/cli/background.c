/* SPDX-License-Identifier: MIT */
#include "cli/background.h"

#include "base/log.h"
#include "base/say.h"
#include "cli/verb.h"
#include "server/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * What goes through the socket from the session to its caller: texts that end with a NUL. First the
 * session's name and its log, and an empty one when it is ready. A caller that looks on answers the
 * name with a byte.
 */
struct rs_background {
	bool stays;
	int socket; /* -1: closed */
	pid_t pid;  /* of the session, in its caller; 0: in the session */
	/* The session's. */
	int callers_err;   /* what the caller has for standard error; -1: it is not told any more */
	guint watch;       /* of the socket; 0: there is none */
	bool is_looked_at; /* the caller looks on */
	char *name, *log;
	/* The caller's. */
	FILE *from;
};

/* ---- the caller's signals ---- */

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static volatile sig_atomic_t session_pid, passed_on;

/* Nobody else waits for that process, so the number is its own. */
static void pass_on(int signal)
{
	const int saved = errno;

	passed_on = signal;
	kill((pid_t)session_pid, SIGTERM);
	errno = saved;
}

/* Signals whose action is `from` get `to`. What the user has ignored stays so. */
static void replace_actions(void (*from)(int), void (*to)(int))
{
	struct sigaction now;

	for (size_t i = 0; i < G_N_ELEMENTS(ending); i++) {
		const struct sigaction action = {.sa_handler = to, .sa_flags = SA_RESTART};

		if (sigaction(ending[i], NULL, &now) == 0 && now.sa_handler == from)
			sigaction(ending[i], &action, NULL);
	}
}

/* ---- the two sides ---- */

static void become_caller(struct rs_background *b, pid_t pid)
{
	b->pid = pid;
	b->from = fdopen(dup(b->socket), "r");
	session_pid = pid;
	replace_actions(SIG_DFL, pass_on);
}

int rs_background_fork(bool stays, struct rs_background **out, struct rs_error *err)
{
	struct rs_background *b;
	int ends[2], code;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return rs_error_set(err, errno, "cannot make a socket: %s", g_strerror(errno));
	pid = fork();
	code = errno;
	close(ends[pid == 0 ? 0 : 1]);
	if (pid < 0) {
		close(ends[0]);
		return rs_error_set(err, code, "cannot start a process: %s", g_strerror(code));
	}
	b = g_new0(struct rs_background, 1);
	b->stays = stays;
	b->callers_err = -1;
	b->socket = ends[pid == 0 ? 1 : 0];
	if (pid == 0)
		setsid();
	else
		become_caller(b, pid);
	*out = b;
	return pid == 0;
}

/* One side lets go of the other. */
static void let_go(struct rs_background *b)
{
	if (b->callers_err >= 0) {
		rs_say_to(STDERR_FILENO);
		close(b->callers_err);
		b->callers_err = -1;
	}
	g_clear_handle_id(&b->watch, g_source_remove);
	if (b->socket >= 0)
		close(b->socket);
	b->socket = -1;
}

void rs_background_free(struct rs_background *b)
{
	if (!b)
		return;
	let_go(b);
	if (b->pid)
		replace_actions(pass_on, SIG_DFL);
	g_clear_pointer(&b->from, fclose);
	g_free(b->name);
	g_free(b->log);
	g_free(b);
}

/* ---- the session's ---- */

static int open_log(struct rs_background *b, const char *path, struct rs_error *err)
{
	int fd, ret;

	if (path)
		b->log = g_canonicalize_filename(path, NULL);
	else if ((ret = rs_rundir_file(b->name, "log", &b->log, err)))
		return ret;
	/* Several write there: we, and the guest's QEMU or the program. */
	fd = open(b->log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOCTTY | O_CLOEXEC,
		  path ? 0644 : 0600);
	if (fd < 0)
		return rs_error_set(err, EIO, "%s: %s", b->log, g_strerror(errno));
	return fd;
}

int rs_background_begin(struct rs_background *b, const char *name, const char *log,
			struct rs_error *err)
{
	int fd, nothing;

	if (!b)
		return 0;
	b->name = g_strdup(name);
	fd = open_log(b, log, err);
	if (fd < 0)
		return fd;
	b->callers_err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	rs_say_to(b->callers_err);
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0 ||
	    dup2(fd, STDERR_FILENO) < 0)
		return rs_error_set(err, EIO, "cannot leave the terminal: %s", g_strerror(errno));
	rs_log_to(STDERR_FILENO);
	close(nothing);
	close(fd);
	return 0;
}

/* True: it was sent. A socket has room for two paths. */
static bool tell(const struct rs_background *b, const char *text)
{
	const size_t size = strlen(text) + 1;

	return send(b->socket, text, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static gboolean on_caller(int fd, GIOCondition condition, gpointer data)
{
	struct rs_background *b = data;
	char byte;

	if (read(fd, &byte, 1) > 0) {
		b->is_looked_at = true;
		return G_SOURCE_CONTINUE;
	}
	b->watch = 0;
	let_go(b);
	return G_SOURCE_REMOVE;
}

void rs_background_serves(struct rs_background *b)
{
	if (!b)
		return;
	b->watch = g_unix_fd_add(b->socket, G_IO_IN | G_IO_HUP | G_IO_ERR, on_caller, b);
	if (!tell(b, b->name) || !tell(b, b->log))
		let_go(b);
}

bool rs_background_waits(const struct rs_background *b)
{
	return b && b->stays && b->socket >= 0 && !b->is_looked_at;
}

bool rs_background_is_alone(const struct rs_background *b)
{
	return b && b->socket < 0;
}

void rs_background_ready(struct rs_background *b)
{
	if (!b || b->socket < 0)
		return;
	tell(b, "");
	if (!b->stays)
		let_go(b);
}

/* ---- the caller's ---- */

/* A text of the session; to be freed. NULL: it has ended. */
static char *hear(struct rs_background *b)
{
	char *text = NULL;
	size_t size = 0;
	ssize_t n = getdelim(&text, &size, '\0', b->from);
	char *copy = n > 0 && !text[n - 1] ? g_strdup(text) : NULL;

	free(text);
	return copy;
}

const char *rs_background_await_name(struct rs_background *b)
{
	b->name = hear(b);
	b->log = b->name ? hear(b) : NULL;
	return b->log ? b->name : NULL;
}

void rs_background_look_on(struct rs_background *b)
{
	/* A session that has ended is noticed by all that follows. */
	tell(b, "");
}

void rs_background_abandon(struct rs_background *b)
{
	g_clear_pointer(&b->from, fclose);
	let_go(b);
}

bool rs_background_await_ready(struct rs_background *b)
{
	g_autofree char *text = hear(b);

	return text != NULL;
}

const char *rs_background_log(const struct rs_background *b)
{
	return b->log;
}

pid_t rs_background_pid(const struct rs_background *b)
{
	return b->pid;
}

int rs_background_signal(const struct rs_background *b)
{
	return passed_on;
}

void rs_background_end(const struct rs_background *b)
{
	kill(b->pid, SIGTERM);
}

int rs_background_reap(struct rs_background *b)
{
	int status;

	while (waitpid(b->pid, &status, 0) < 0)
		if (errno != EINTR)
			return RS_CLI_FAILED;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return rs_cli_fail(RS_CLI_FAILED, "the session was killed: %s",
			   strsignal(WTERMSIG(status)));
}
