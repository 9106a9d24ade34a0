/* SPDX-License-Identifier: MIT */
/*
 * A process that patches its own text needs a thread for that. Without one it has no region, and
 * says why. The thread ends before the process does. The test is the host, and runs itself as the
 * traced process.
 */
#include "region/regions.h"
#include "rs_hosted.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <ringside/control.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool no_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *data);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *data);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *data)
{
	return no_threads ? EAGAIN : __real_pthread_create(thread, attr, run, data);
}

static guint count_tasks(void)
{
	g_autoptr(GDir) tasks = g_dir_open("/proc/self/task", 0, NULL);
	guint count = 0;

	while (g_dir_read_name(tasks))
		count++;
	return count;
}

/*
 * It was registered before the library's, so it comes after that. The kernel lists a thread that
 * has ended for a moment more.
 */
static void be_alone(void)
{
	for (int i = 0; count_tasks() != 1; i++) {
		if (i == 5000)
			_exit(4);
		g_usleep(1000);
	}
}

/* Its exit code: 0: it is traced; 1: it is not, and rs_hosted_init() has said so. */
static int be_traced(const char *how)
{
	int ret;

	atexit(be_alone);
	no_threads = strcmp(how, "without") == 0;
	ret = rs_hosted_init("thread");
	if ((ret == 0) != rs_hosted_active())
		return 2;
	no_threads = false;
	/* It can be tried again. */
	if (ret && (rs_hosted_init("thread") || !rs_hosted_active()))
		return 3;
	return ret != 0;
}

static int run_traced(const char *path, const char *how, char **said)
{
	g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);
	g_auto(GStrv) envp = g_environ_setenv(g_get_environ(), "RINGSIDE_REGION", path, TRUE);
	const char *const argv[] = {exe, "--traced", how, NULL};
	gint status;

	envp = g_environ_setenv(envp, "RINGSIDE_DEBUG", "1", TRUE);
	g_assert_true(g_spawn_sync(NULL, (char **)(uintptr_t)argv, envp, G_SPAWN_DEFAULT, NULL,
				   NULL, NULL, said, &status, NULL));
	g_assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_thread(void)
{
	g_autofree char *dir = g_dir_make_tmp("rs-thread-XXXXXX", NULL), *said = NULL;
	g_autofree char *path = g_build_filename(dir, "memory", NULL), *with = NULL;
	struct rs_region_config config = {
		.vcpus = 2, .ring_bytes = 64 * 1024, .control_flags = RS_CONTROL_SELF_PATCH};
	const struct rs_regions_run runs[] = {{&config, RS_SOURCE_KERNEL, 1},
					      {&config, RS_SOURCE_USER, 3}};
	struct rs_regions *regions;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(rs_regions_create(runs, G_N_ELEMENTS(runs), false, fd, &regions, NULL), ==,
			0);
	g_assert_cmpint(run_traced(path, "with", &with), ==, 0);
	g_assert_nonnull(strstr(with, "ringside: region "));
	g_assert_cmpint(run_traced(path, "without", &said), ==, 1);
	g_assert_nonnull(strstr(said, "ringside: not traced: it can start no thread\n"));
	g_assert_nonnull(strstr(said, "ringside: region "));
	rs_regions_free(regions);
	g_unlink(path);
	g_rmdir(dir);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--traced") == 0)
		return be_traced(argv[2]);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/hosted/thread", test_thread);
	return g_test_run();
}
