/* SPDX-License-Identifier: MIT */
#include "machine/memory.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <unistd.h>

static int try_open(const char *path, enum rs_machine_word word)
{
	int fd = -1, ret = rs_machine_open_memory(path, word, &fd, NULL);

	if (!ret)
		close(fd);
	return ret;
}

static void test_whose_word_is_believed(void)
{
	g_autofree char *path = NULL, *link = NULL;
	int fd = g_file_open_tmp("rs-memory-XXXXXX", &path, NULL);

	link = g_strconcat(path, "-link", NULL);
	g_assert_cmpint(ftruncate(fd, RS_FIT_MIN_BYTES), ==, 0);
	g_assert_cmpint(symlink(path, link), ==, 0);
	for (int word = RS_MACHINE_WORD_OURS; word <= (int)RS_MACHINE_WORD_GUEST; word++)
		g_assert_cmpint(try_open(path, (enum rs_machine_word)word), ==, 0);
	g_assert_cmpint(try_open(link, RS_MACHINE_WORD_OURS), ==, 0);
	g_assert_cmpint(try_open(link, RS_MACHINE_WORD_GUEST), ==, -ELOOP);
	/* Only root can give a file away. */
	if (fchown(fd, 65534, (gid_t)-1) == 0) {
		g_assert_cmpint(try_open(path, RS_MACHINE_WORD_GUEST), ==, -EACCES);
	}
	g_unlink(link);
	g_unlink(path);
	close(fd);
}

/* QEMU names a descriptor of its own, and may change what that leads to. */
static void test_what_was_opened_is_looked_at(void)
{
	g_autofree char *path = NULL, *other_path = NULL;
	int fd = g_file_open_tmp("rs-memory-XXXXXX", &path, NULL);
	int other = g_file_open_tmp("rs-memory-XXXXXX", &other_path, NULL);
	uid_t user = geteuid();

	g_assert_cmpint(rs_machine_check_memory(fd, user, NULL, NULL), ==, 0);
	g_assert_cmpint(rs_machine_check_memory(fd, user, path, NULL), ==, 0);
	g_assert_cmpint(rs_machine_check_memory(fd, user + 1, path, NULL), ==, -ENOTSUP);
	g_assert_cmpint(rs_machine_check_memory(other, user, path, NULL), ==, -ENOTSUP);
	/* The one that it has was removed; another one was not. */
	g_unlink(path);
	g_assert_cmpint(rs_machine_check_memory(fd, user, path, NULL), ==, 0);
	g_assert_cmpint(rs_machine_check_memory(other, user, path, NULL), ==, -ENOTSUP);
	g_unlink(other_path);
	close(other);
	close(fd);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/machine-memory/word", test_whose_word_is_believed);
	g_test_add_func("/machine-memory/opened", test_what_was_opened_is_looked_at);
	return g_test_run();
}
