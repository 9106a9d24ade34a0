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
	g_assert_cmpint(try_open(link, RS_MACHINE_WORD_DAEMON), ==, -ELOOP);
	g_assert_cmpint(try_open(link, RS_MACHINE_WORD_GUEST), ==, -ELOOP);
	/* Only root can give a file away. */
	if (fchown(fd, 65534, (gid_t)-1) == 0) {
		g_assert_cmpint(try_open(path, RS_MACHINE_WORD_DAEMON), ==, 0);
		g_assert_cmpint(try_open(path, RS_MACHINE_WORD_GUEST), ==, -EACCES);
	}
	g_unlink(link);
	g_unlink(path);
	close(fd);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/machine-memory/word", test_whose_word_is_believed);
	return g_test_run();
}
