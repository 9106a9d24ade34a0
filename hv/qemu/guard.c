/* SPDX-License-Identifier: MIT */
/*
 * A process of ours beside the session, for a QEMU that is not ours. QEMU does not go on by itself
 * when whoever has stopped it through the stub is killed. The guard sees that the session is gone,
 * and lets go on what the session had stopped, as its mark says. All else waits for the next one.
 *
 * The session has threads, so the guard may call what signal handlers may call, and nothing else.
 */
#define _GNU_SOURCE /* close_range, pipe2 */
#include "qemu/gdbstub.h"
#include "qemu/private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIFE 3         /* the guard's descriptors: a pipe that ends with the session … */
#define MARK 4         /* … and the mark */
#define FILES_MAX 4096 /* more than a session opens */
#define TRIES 20
#define LINE_MAX_SEEN 4096 /* of the command line */
#define ANSWER_MS 60000    /* of QEMU, which may be slow */

#define ANSWER_MAX 1024 /* bytes of one answer, which are not all looked at if there are more */

static const char ask_status[] = "++" RS_GDB_INFO_STATUS_PACKET;
static const char be_virtual[] = "++" RS_GDB_VIRTUAL_PACKET, detach[] = "++$D#44";

enum answer { NONE, DONE, AGAIN };

/* `answer` gets all that the stub says. */
static enum answer receive(int fd, char answer[ANSWER_MAX])
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	size_t n = 0;

	while (n + 1 < ANSWER_MAX && poll(&wait, 1, ANSWER_MS) > 0) {
		ssize_t size = recv(fd, answer + n, ANSWER_MAX - 1 - n, MSG_DONTWAIT);

		if (size <= 0)
			break;
		n += (size_t)size;
		answer[n] = '\0';
		/* It was in the middle of what the session had sent, and asks for it anew. */
		if (memchr(answer, '-', n))
			return AGAIN;
		if (strstr(answer, "$OK"))
			return DONE;
	}
	return NONE;
}

/* Nothing is sent twice that may have arrived: a second "D" on a connection ends QEMU 7.2. */
static bool ask(int fd, const char *packet, char answer[ANSWER_MAX])
{
	enum answer said = AGAIN;

	for (int i = 0; i < TRIES && said == AGAIN; i++) {
		if (send(fd, packet, strlen(packet), MSG_NOSIGNAL) < 0)
			return false;
		said = receive(fd, answer);
	}
	return said == DONE;
}

/* Whether it goes on, or was migrated or saved meanwhile, so that it goes on elsewhere. */
static bool let_go(const struct sockaddr_un *stub)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[ANSWER_MAX];
	bool done, moved;

	if (fd < 0 || connect(fd, (const struct sockaddr *)stub, sizeof(*stub)))
		return false;
	done = ask(fd, ask_status, answer);
	moved = done && strstr(answer, RS_GDB_SAYS_MOVED);
	done = done && ask(fd, be_virtual, answer) && (moved || ask(fd, detach, answer));
	close(fd);
	return done;
}

static void watch(const struct sockaddr_un *stub)
{
	char byte;

	while (read(LIFE, &byte, 1) < 0 && errno == EINTR)
		;
	if (rs_qemu_mark_says_paused(MARK) && let_go(stub))
		rs_qemu_mark_runs(MARK);
}

/* Some containers know no close_range(). */
static void close_rest(void)
{
	if (!close_range(MARK + 1, ~0u, 0))
		return;
	for (int fd = MARK + 1; fd < FILES_MAX; fd++)
		close(fd);
}

/* Nothing of the session stays open: not its locks, sockets, and the pipe that it prints to. */
static bool keep_two(int life, int mark)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	life = fcntl(life, F_DUPFD, MARK + 1);
	mark = fcntl(mark, F_DUPFD, MARK + 1);
	if (nothing < 0 || life < 0 || mark < 0)
		return false;
	for (int fd = 0; fd < LIFE; fd++)
		dup2(nothing, fd);
	if (dup2(life, LIFE) != LIFE || dup2(mark, MARK) != MARK)
		return false;
	close_rest();
	return true;
}

/*
 * The command line is the session's: who looks for that would find two. After the fork this memory
 * is our own. The words lie there one behind the other, if nobody has moved them.
 */
static void rename_process(void)
{
	static const char title[] = "ringside-guard";
	char *const line = program_invocation_name, was[LINE_MAX_SEEN];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, was, sizeof(was));

	if (fd >= 0)
		close(fd);
	prctl(PR_SET_NAME, title);
	if (size < (ssize_t)sizeof(title) || memcmp(line, was, (size_t)size))
		return;
	memset(line, 0, (size_t)size);
	memcpy(line, title, sizeof(title));
}

/* A process that nobody has to wait for, and that Ctrl-C does not reach. */
static void become_guard(const int life[2], int mark, const struct sockaddr_un *stub)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

	setsid();
	if (fork() != 0)
		_exit(0);
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		signal(ends[i], SIG_IGN);
	rename_process();
	close(life[1]);
	if (keep_two(life[0], mark) && chdir("/") == 0)
		watch(stub);
	_exit(0);
}

int rs_qemu_guard_begin(struct rs_qemu *qemu, struct rs_error *err)
{
	struct sockaddr_un stub = {.sun_family = AF_UNIX};
	int life[2];
	pid_t child;

	if (strlen(qemu->gdb_path) >= sizeof(stub.sun_path))
		return rs_error_set(err, ENAMETOOLONG, "%s: its name is too long for a socket",
				    qemu->gdb_path);
	g_strlcpy(stub.sun_path, qemu->gdb_path, sizeof(stub.sun_path));
	if (pipe2(life, O_CLOEXEC))
		return rs_error_set(err, errno, "a pipe: %s", g_strerror(errno));
	child = fork();
	if (child == 0)
		become_guard(life, qemu->mark_fd, &stub);
	close(life[0]);
	if (child < 0) {
		int ret = rs_error_set(err, errno, "a process: %s", g_strerror(errno));

		close(life[1]);
		return ret;
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	qemu->guard_fd = life[1];
	return 0;
}

void rs_qemu_guard_end(struct rs_qemu *qemu)
{
	if (qemu->guard_fd >= 0)
		close(qemu->guard_fd);
	qemu->guard_fd = -1;
}
