/* SPDX-License-Identifier: MIT */
/* The test is the reader, which reads or does not. */
#define _GNU_SOURCE
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <ringside/atomic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#define PIPE 4096u /* bytes */
#define BIG (1u << 20)

struct fixture {
	int theirs, fd; /* the reader's end, and the output */
	struct rs_output output;
	gint64 until;
	char *text; /* BIG bytes */
};

static void set_up(struct fixture *f, gconstpointer data)
{
	int ends[2];

	if (g_strcmp0(data, "socket") == 0) {
		g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), ==, 0);
	} else if (g_strcmp0(data, "terminal") == 0) {
		struct termios mode;

		ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
		g_assert_cmpint(grantpt(ends[0]) | unlockpt(ends[0]), ==, 0);
		ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
		tcgetattr(ends[1], &mode);
		cfmakeraw(&mode);
		tcsetattr(ends[1], TCSANOW, &mode);
	} else {
		g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
		g_assert_cmpint(fcntl(ends[1], F_SETPIPE_SZ, PIPE), ==, PIPE);
	}
	f->theirs = ends[0];
	f->fd = ends[1];
	rs_output_init(&f->output, f->fd);
	f->text = g_strnfill(BIG, 'x');
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_output_deinit(&f->output);
	g_assert_cmpint(fcntl(f->fd, F_GETFD), !=, -1); /* it was borrowed */
	close(f->fd);
	if (f->theirs >= 0)
		close(f->theirs);
	g_free(f->text);
}

/* As if it were another user's, which cannot be opened anew. */
static void not_ours(struct fixture *f)
{
	rs_output_deinit(&f->output);
	g_assert_cmpint(fchmod(f->fd, 0), ==, 0);
	if (geteuid() == 0)
		g_assert_cmpint(seteuid(65534), ==, 0);
	rs_output_init(&f->output, f->fd);
	if (getuid() == 0)
		g_assert_cmpint(seteuid(0), ==, 0);
	g_assert_false(f->output.is_ours);
}

/* Unread: what fits is written at once, and then nothing. A terminal finds more room later. */
static void expect_unread(struct fixture *f)
{
	size_t done, sum = 0;

	do {
		f->until = g_get_monotonic_time();
		g_assert_cmpint(rs_output_write(&f->output, f->text, BIG, &f->until, &done), ==,
				-ETIMEDOUT);
		sum += done;
		g_usleep(1000);
	} while (done);
	g_assert_cmpuint(sum, >, 0);
	g_assert_cmpuint(sum, <, BIG);
	g_assert_cmpint(rs_output_write(&f->output, f->text, 0, &f->until, &done), ==, 0);
	/* Whoever shares the description finds it as it was. */
	g_assert_cmpint(fcntl(f->fd, F_GETFL) & O_NONBLOCK, ==, 0);
}

static void test_unread(struct fixture *f, gconstpointer data)
{
	expect_unread(f);
}

static void test_unread_not_ours(struct fixture *f, gconstpointer data)
{
	not_ours(f);
	expect_unread(f);
}

static gpointer read_slowly(gpointer data)
{
	struct fixture *f = data;
	char bytes[1000];
	size_t sum = 0;
	ssize_t n;

	while (sum < PIPE * 8 && (n = read(f->theirs, bytes, sizeof(bytes))) > 0) {
		sum += (size_t)n;
		g_usleep(100);
	}
	return GSIZE_TO_POINTER(sum);
}

/* A slow reader gets all of it, however long that takes. */
static void test_slow(struct fixture *f, gconstpointer data)
{
	GThread *reader = g_thread_new("reader", read_slowly, f);
	size_t done = 0;

	g_assert_cmpint(rs_output_write(&f->output, f->text, (size_t)PIPE * 8, &f->until, &done),
			==, 0);
	g_assert_cmpuint(done, ==, PIPE * 8);
	g_assert_cmpuint(GPOINTER_TO_SIZE(g_thread_join(reader)), ==, PIPE * 8);
}

static void test_slow_not_ours(struct fixture *f, gconstpointer data)
{
	not_ours(f);
	test_slow(f, data);
}

static gpointer hurry(gpointer data)
{
	struct fixture *f = data;
	char byte;

	g_assert_cmpint(read(f->theirs, &byte, 1), ==, 1); /* the writer is at work */
	rs_store(&f->until, 1);
	return NULL;
}

/* Another thread ends a wait that has no end as yet. */
static void test_hurry(struct fixture *f, gconstpointer data)
{
	GThread *other = g_thread_new("other", hurry, f);

	g_assert_cmpint(rs_output_write(&f->output, f->text, BIG, &f->until, NULL), ==, -ETIMEDOUT);
	g_thread_join(other);
}

static void test_closed(struct fixture *f, gconstpointer data)
{
	close(f->theirs);
	f->theirs = -1;
	g_assert_cmpint(rs_output_write(&f->output, "x", 1, &f->until, NULL), ==, -EPIPE);
}

/* A file has its place for writing in the description. */
static void test_file(void)
{
	g_autofree char *path = NULL;
	int fd = g_file_open_tmp("rs-output-XXXXXX", &path, NULL);
	g_autofree char *text = NULL;
	struct rs_output output;
	const gint64 until = 1;

	g_assert_cmpint(write(fd, "a", 1), ==, 1);
	rs_output_init(&output, fd);
	g_assert_cmpint(rs_output_write(&output, "b", 1, &until, NULL), ==, 0);
	g_assert_cmpint(write(fd, "c", 1), ==, 1);
	rs_output_deinit(&output);
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, "abc");
	unlink(path);
	close(fd);
}

#define ADD(path, data, test)                                                                      \
	g_test_add("/base/output/" path, struct fixture, data, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	signal(SIGPIPE, SIG_IGN);
	ADD("unread/pipe", "pipe", test_unread);
	ADD("unread/socket", "socket", test_unread);
	ADD("unread/terminal", "terminal", test_unread);
	ADD("unread/pipe-not-ours", "pipe", test_unread_not_ours);
	ADD("unread/terminal-not-ours", "terminal", test_unread_not_ours);
	ADD("slow/pipe", "pipe", test_slow);
	ADD("slow/socket", "socket", test_slow);
	ADD("slow/terminal", "terminal", test_slow);
	ADD("slow/pipe-not-ours", "pipe", test_slow_not_ours);
	ADD("slow/terminal-not-ours", "terminal", test_slow_not_ours);
	ADD("hurry", "pipe", test_hurry);
	ADD("closed/pipe", "pipe", test_closed);
	ADD("closed/socket", "socket", test_closed);
	g_test_add_func("/base/output/file", test_file);
	return g_test_run();
}
