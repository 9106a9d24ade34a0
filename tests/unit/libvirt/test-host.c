/* SPDX-License-Identifier: MIT */
#include "libvirt/host.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define UUID "3f1c5a0e-1111-4222-8333-444455556666"

static char *path_of(const char *name)
{
	return g_strconcat("/dev/shm/", name, NULL);
}

static void test_names_are_those_of_files(void)
{
	g_autofree char *plain = rs_host_shmem_name("web1", UUID, 16);
	g_autofree char *odd = rs_host_shmem_name("a/b c\xc3\xa4", UUID, 2);

	g_assert_cmpstr(plain, ==, "ringside-web1-3f1c5a0e-16M");
	g_assert_cmpstr(odd, ==, "ringside-a_b_c__-3f1c5a0e-2M");
}

/* Others may make files in /dev/shm, too, and choose any name. */
static void test_a_stem_alone_is_no_name(void)
{
	static const struct {
		const char *name;
		bool is;
	} names[] = {
		{"ringside-web1-12345678-16M", true},
		{"ringside-web1-12345678-M", false},
		{"ringside-web1-12345678-16", false},
		{"ringside-web1-12345678-16M.old", false},
		{"ringside-web1-12345678-\033[31m16M", false},
		{"ringside-web2-12345678-16M", false},
		{"ringside-web1-12345678-", false},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		g_assert_cmpint(rs_host_is_shmem(names[i].name, "ringside-web1-12345678-"), ==,
				names[i].is);
}

static void test_a_copys_memory_is_anothers(void)
{
	static const char other[] = "3f1c5a0f-1111-4222-8333-444455556666";
	g_autofree char *name = rs_host_shmem_name("we-b1", UUID, 16);
	struct rs_error err = {0};

	g_assert_cmpint(rs_host_check_shmem(name, "web1", UUID, &err), ==, 0);
	g_assert_cmpint(rs_host_check_shmem(name, "web2", other, &err), ==, -EEXIST);
	g_assert_nonnull(strstr(err.message, "'web2'"));
	g_assert_nonnull(strstr(err.message, name));
	/* Names that a user has chosen. */
	for (const char *const *own =
		     (const char *const[]){"ringside-", "ringside-web", "ringside-16M", "M", "",
					   "ringside-3f1c5a0e-M", "ringside-3f1c5a-16M",
					   "ringside-web1-3f1c5g0e-16M", "x-3f1c5a0e-1M", NULL};
	     *own; own++)
		g_assert_cmpint(rs_host_check_shmem(*own, "web2", other, NULL), ==, 0);
}

static void test_memory_in_use_stays(void)
{
	g_autofree char *name = g_strdup_printf("ringside-test-%d", getpid());
	g_autofree char *path = path_of(name);
	struct rs_error err = {0};
	int fd;

	g_assert_cmpint(rs_host_remove_shmem(name, &err), ==, -ENOENT);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(rs_host_remove_shmem(name, &err), ==, -EBUSY);
	g_assert_cmpint(access(path, F_OK), ==, 0);
	close(fd);
	g_assert_cmpint(rs_host_remove_shmem(name, &err), ==, 0);
	g_assert_cmpint(access(path, F_OK), ==, -1);
}

static void test_only_our_plain_files_go(void)
{
	g_autofree char *name = g_strdup_printf("ringside-link-%d", getpid());
	g_autofree char *path = path_of(name);
	struct rs_error err = {0};

	g_assert_cmpint(rs_host_remove_shmem("other", &err), ==, -EINVAL);
	g_assert_cmpint(rs_host_remove_shmem("ringside-/../x", &err), ==, -EINVAL);
	g_assert_cmpint(symlink("/etc/passwd", path), ==, 0);
	g_assert_cmpint(rs_host_remove_shmem(name, &err), ==, -ELOOP);
	g_unlink(path);
	g_assert_cmpint(mkfifo(path, 0600), ==, 0);
	g_assert_cmpint(rs_host_remove_shmem(name, &err), ==, -EINVAL);
	g_unlink(path);
}

static pid_t start(const char *program, const char *option)
{
	g_autofree char *path = NULL, *text = NULL;
	int ends[2];
	gsize size;
	char byte;
	pid_t pid;

	/* Its end is closed by exec. */
	g_assert_cmpint(pipe(ends), ==, 0);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		execl(program, "sh", "-c", "while :; do sleep 1; done", "x", option, UUID, NULL);
		_exit(1);
	}
	close(ends[1]);
	g_assert_cmpint(read(ends[0], &byte, 1), ==, 0);
	close(ends[0]);
	/* Its arguments can be read a little later. */
	path = g_strdup_printf("/proc/%d/cmdline", (int)pid);
	while (g_file_get_contents(path, &text, &size, NULL) && !size)
		g_clear_pointer(&text, g_free);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Whether it is one of them. */
static bool is_among(pid_t pid)
{
	g_autoptr(GArray) pids = rs_host_find_qemus(UUID);

	for (guint i = 0; i < pids->len; i++)
		if (g_array_index(pids, pid_t, i) == pid)
			return true;
	return false;
}

/* Two say that they have it, of which one lies: both are told. */
static void test_processes_are_told_by_their_uuid(void)
{
	pid_t first = start("/bin/sh", "-uuid"), other = start("/bin/sh", "-other"), second;

	second = start("/bin/sh", "-uuid");
	g_assert_true(is_among(first) && is_among(second));
	g_assert_false(is_among(other));
	end(second);
	end(first);
	end(other);
	g_assert_false(is_among(first) || is_among(second));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/host/names", test_names_are_those_of_files);
	g_test_add_func("/host/stem", test_a_stem_alone_is_no_name);
	g_test_add_func("/host/copy", test_a_copys_memory_is_anothers);
	g_test_add_func("/host/in-use", test_memory_in_use_stays);
	g_test_add_func("/host/plain", test_only_our_plain_files_go);
	g_test_add_func("/host/process", test_processes_are_told_by_their_uuid);
	return g_test_run();
}
