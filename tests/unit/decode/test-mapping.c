/* SPDX-License-Identifier: MIT */
/* Memory of a file that is cut short reads as zeros, and other accesses still end the program. */
#define _GNU_SOURCE
#include "rs-trace-mapping.h"

#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE (4 * 4096)

static int make_file(void)
{
	int fd = memfd_create("mapping", MFD_CLOEXEC);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(ftruncate(fd, SIZE), ==, 0);
	return fd;
}

static void test_cut(void)
{
	int fd = make_file(), other_fd = make_file();
	volatile guint8 *map = rs_trace_mapping_new(fd, 0, SIZE, TRUE);
	volatile guint8 *upper = rs_trace_mapping_new(fd, 4096, SIZE - 4096, FALSE);
	volatile guint8 *other = rs_trace_mapping_new(other_fd, 0, SIZE, TRUE);
	guint cuts = rs_trace_mapping_cuts();

	rs_trace_mapping_guard();
	map[0] = 1;
	map[3 * 4096] = 2;
	other[0] = 3;
	g_assert_cmpuint(upper[2 * 4096], ==, 2);
	g_assert_cmpint(ftruncate(fd, 4096), ==, 0);
	g_assert_cmpuint(map[0], ==, 1);
	g_assert_false(rs_trace_mapping_is_cut((gconstpointer)map));
	g_assert_cmpuint(map[3 * 4096], ==, 0);
	g_assert_true(rs_trace_mapping_is_cut((gconstpointer)map));
	g_assert_cmpuint(rs_trace_mapping_cuts(), ==, cuts + 1);
	g_assert_cmpuint(map[0], ==, 0);
	map[3 * 4096] = 4;
	g_assert_cmpuint(map[3 * 4096], ==, 4);
	g_assert_false(rs_trace_mapping_is_cut((gconstpointer)upper));
	g_assert_cmpuint(upper[0], ==, 0);
	g_assert_true(rs_trace_mapping_is_cut((gconstpointer)upper));
	g_assert_cmpuint(other[0], ==, 3);
	g_assert_false(rs_trace_mapping_is_cut((gconstpointer)other));
	rs_trace_mapping_free((gpointer)map, SIZE);
	rs_trace_mapping_free((gpointer)upper, SIZE - 4096);
	rs_trace_mapping_free((gpointer)other, SIZE);
	close(fd);
	close(other_fd);
}

/* More than one block of slots, and slots that are used again. */
static void test_many(void)
{
	enum { N = 700 };
	gpointer maps[N];
	int fd = make_file();

	rs_trace_mapping_guard();
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < N; i++) {
			maps[i] = rs_trace_mapping_new(fd, 0, SIZE, FALSE);
			g_assert_nonnull(maps[i]);
		}
		g_assert_cmpint(ftruncate(fd, 0), ==, 0);
		for (int i = 0; i < N; i += 2)
			g_assert_cmpuint(*(volatile guint8 *)maps[i], ==, 0);
		for (int i = 0; i < N; i++) {
			g_assert_cmpint(rs_trace_mapping_is_cut(maps[i]), ==, i % 2 == 0);
			rs_trace_mapping_free(maps[i], SIZE);
		}
		g_assert_cmpint(ftruncate(fd, SIZE), ==, 0);
	}
	close(fd);
}

/* A mapping that was freed is nobody's: its place may be somebody else's by then. */
static void test_others(void)
{
	if (g_test_subprocess()) {
		int fd = make_file();
		volatile guint8 *map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);

		rs_trace_mapping_free(rs_trace_mapping_new(fd, 0, SIZE, FALSE), SIZE);
		rs_trace_mapping_guard();
		g_assert_cmpint(ftruncate(fd, 0), ==, 0);
		g_assert_cmpuint(map[0], ==, 0);
		return;
	}
	g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
	g_test_trap_assert_failed();
}

static int sent;

static void count_sent(int number)
{
	sent++;
}

/* What somebody sends is for whoever was there before us, and we stay. */
static void test_sent(void)
{
	if (g_test_subprocess()) {
		int fd = make_file();
		volatile guint8 *map = rs_trace_mapping_new(fd, 0, SIZE, FALSE);

		signal(SIGBUS, count_sent);
		rs_trace_mapping_guard();
		raise(SIGBUS);
		raise(SIGBUS);
		g_assert_cmpint(sent, ==, 2);
		g_assert_cmpint(ftruncate(fd, 0), ==, 0);
		g_assert_cmpuint(map[0], ==, 0);
		g_assert_cmpint(sent, ==, 2);
		return;
	}
	g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
	g_test_trap_assert_passed();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/mapping/cut", test_cut);
	g_test_add_func("/mapping/many", test_many);
	g_test_add_func("/mapping/others", test_others);
	g_test_add_func("/mapping/sent", test_sent);
	return g_test_run();
}
