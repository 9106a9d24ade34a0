/* SPDX-License-Identifier: MIT */
#include "base/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct fixture {
	char *dir, *path;
};

static void set_up(struct fixture *f, gconstpointer data)
{
	f->dir = g_dir_make_tmp("rs-socket-XXXXXX", NULL);
	f->path = g_build_filename(f->dir, "s", NULL);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	g_unlink(f->path);
	g_rmdir(f->dir);
	g_free(f->path);
	g_free(f->dir);
}

static void refuse(int ret, int code, const struct rs_error *err, const char *words)
{
	g_assert_cmpint(ret, ==, -code);
	g_assert_nonnull(strstr(err->message, words));
}

static void test_both(struct fixture *f, gconstpointer data)
{
	int at, ours, theirs;
	char byte = 0;

	g_assert_true(g_file_set_contents(f->path, "left by a session that was killed", -1, NULL));
	at = rs_socket_listen(f->path, 1, true, NULL);
	ours = rs_socket_connect(f->path, NULL);
	g_assert_cmpint(ours, >=, 0);
	theirs = accept(at, NULL, NULL);
	g_assert_cmpint(write(theirs, "x", 1), ==, 1);
	g_assert_cmpint(read(ours, &byte, 1), ==, 1);
	g_assert_cmpint(byte, ==, 'x');
	g_assert_cmpint(read(ours, &byte, 1), ==, -1);
	g_assert_cmpint(errno, ==, EAGAIN); /* it does not wait */
	for (int i = 0; i < 2; i++)
		g_assert_cmpint(fcntl((const int[]){at, ours}[i], F_GETFD), ==, FD_CLOEXEC);
	close(theirs);
	close(ours);
	close(at);
}

static void test_nobody(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};
	int at;

	refuse(rs_socket_connect(f->path, &err), ENOENT, &err, f->path);
	at = rs_socket_listen(f->path, 1, true, NULL);
	close(at);
	refuse(rs_socket_connect(f->path, &err), ECONNREFUSED, &err, f->path);
}

/* It listens and does not accept, as a QEMU that has been stopped. */
static void test_deaf(struct fixture *f, gconstpointer data)
{
	int at = rs_socket_listen(f->path, 1, true, NULL), fds[16], n = 0;
	struct rs_error err = {0};

	while ((fds[n] = rs_socket_connect(f->path, &err)) >= 0)
		g_assert_cmpint(++n, <, G_N_ELEMENTS(fds));
	g_assert_cmpint(n, >, 0);
	refuse(fds[n], ETIMEDOUT, &err, f->path);
	while (n)
		close(fds[--n]);
	close(at);
}

/* The longest path that fits has 107 bytes. A longer one must not be cut, and name another file. */
static void test_long(struct fixture *f, gconstpointer data)
{
	g_autofree char *name = g_strnfill(107 - strlen(f->dir) - 1, 'n');
	g_autofree char *path = g_build_filename(f->dir, name, NULL);
	g_autofree char *longer = g_strconcat(path, "x", NULL);
	struct rs_error err = {0};
	int at = rs_socket_listen(path, 1, true, &err), fd;

	g_assert_cmpint(at, >=, 0);
	fd = rs_socket_connect(path, NULL);
	g_assert_cmpint(fd, >=, 0);
	refuse(rs_socket_listen(longer, 1, true, &err), ENAMETOOLONG, &err, longer);
	refuse(rs_socket_connect(longer, &err), ENAMETOOLONG, &err, longer);
	g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
	close(fd);
	close(at);
	g_unlink(path);
}

static void test_refused(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};

	refuse(rs_socket_listen("/nonexistent/s", 1, true, &err), ENOENT, &err, "/nonexistent/s");
}

#define ADD(path, test)                                                                            \
	g_test_add("/base/socket/" path, struct fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("both", test_both);
	ADD("nobody", test_nobody);
	ADD("deaf", test_deaf);
	ADD("long", test_long);
	ADD("refused", test_refused);
	return g_test_run();
}
