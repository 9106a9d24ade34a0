/* SPDX-License-Identifier: MIT */
/* Which file a QEMU may name as the memory of a device. This process is the QEMU. */
#define _GNU_SOURCE
#include "qemu/adopt.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static char *memory;       /* what it says */
static uint64_t questions; /* about where the guest's memory is */

static char *answer_to(const char *command, JsonObject *arguments)
{
	const char *property = arguments && json_object_has_member(arguments, "property")
				       ? json_object_get_string_member(arguments, "property")
				       : NULL;

	if (g_str_equal(command, "query-cpus-fast"))
		return g_strdup_printf("[{\"thread-id\": %d}]", (int)gettid());
	if (g_str_equal(command, "query-status"))
		return g_strdup("{\"running\": true}");
	if (g_str_equal(command, "query-kvm"))
		return g_strdup("{\"enabled\": false}");
	if (g_str_equal(command, "query-name"))
		return g_strdup("{}");
	if (g_str_equal(command, "qom-list"))
		return g_strdup("[{\"name\": \"shmem0\", \"type\": \"child<ivshmem-plain>\"}]");
	if (!g_strcmp0(property, "memdev"))
		return g_strdup("\"/objects/x\"");
	if (!g_strcmp0(property, "mem-path"))
		return g_strdup_printf("\"%s\"", memory);
	if (!g_strcmp0(property, "size"))
		return g_strdup("1048576");
	if (!g_strcmp0(property, "share"))
		return g_strdup("true");
	return g_strdup("[]");
}

struct sham {
	struct rs_monitor monitor;
	gint64 asked;
	char *answer;
};

static int send(struct rs_monitor *monitor, const char *command, JsonObject *arguments, int fd,
		gint64 id, struct rs_patience *patience, struct rs_error *err)
{
	struct sham *sham = (struct sham *)monitor;

	sham->asked = id;
	sham->answer = answer_to(command, arguments);
	return 0;
}

static bool receive(struct rs_monitor *monitor)
{
	struct sham *sham = (struct sham *)monitor;
	g_autofree char *answer = g_steal_pointer(&sham->answer), *text = NULL;
	g_autoptr(JsonNode) root = NULL;

	if (!answer)
		return false;
	text = g_strdup_printf("{\"return\": %s}", answer);
	root = json_from_string(text, NULL);
	g_assert_nonnull(root);
	rs_monitor_take_answer(monitor, sham->asked, root);
	return true;
}

static int wait_some(struct rs_monitor *monitor, struct rs_patience *patience, struct rs_error *err)
{
	return 0;
}

static void destroy(struct rs_monitor *monitor)
{
	g_free(monitor);
}

/* Whether the file is taken. *region: the path by which it is opened, to be freed. */
static int adopt(const char *expected, pid_t pid, char **region, bool *is_open)
{
	static const struct rs_monitor_ops ops = {
		.send = send, .wait = wait_some, .receive = receive, .destroy = destroy};
	g_autofree char *folder = g_dir_make_tmp("rs-adopt-XXXXXX", NULL);
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	struct sham *sham = g_new0(struct sham, 1);
	const struct rs_qemu_adopt_config config = {.monitor = &sham->monitor,
						    .pids = &pid,
						    .pid_count = pid > 0,
						    .device = "shmem0",
						    .memory = expected,
						    .via = "qmp:x",
						    .run_dir = folder,
						    .name = "x"};
	struct rs_qemu_adopted found;
	struct rs_target *target;
	struct rs_error err = {0};
	uint8_t byte;
	int ret;

	sham->monitor.ops = &ops;
	ret = rs_qemu_adopt(&config, &target, &found, lines, &err);
	if (ret) {
		g_test_message("%s", err.message);
		rs_monitor_destroy(&sham->monitor);
	} else {
		*region = g_strdup(found.region);
		*is_open = found.is_open;
		target->ops->read_phys(target, (rs_gpa_t){0x400000}, &byte, 1, NULL);
		questions = target->slow_reads;
		target->ops->destroy(target);
	}
	g_rmdir(folder);
	return ret;
}

static void test_what_it_has_open_for_writing(void)
{
	g_autofree char *region = NULL, *link = g_strconcat(memory, "-link", NULL);
	g_autofree char *file = g_strdup(memory);
	bool is_open = false;
	int fd = open(memory, O_RDONLY | O_CLOEXEC);

	g_assert_cmpint(adopt(NULL, getpid(), &region, &is_open), ==, -ENOTSUP);
	close(fd);
	g_assert_cmpint(adopt(NULL, getpid(), &region, &is_open), ==, -ENOTSUP);
	fd = open(memory, O_RDWR | O_CLOEXEC);
	g_assert_cmpint(adopt(NULL, getpid(), &region, &is_open), ==, 0);
	g_assert_true(is_open && g_str_has_prefix(region, "/proc/"));
	g_clear_pointer(&region, g_free);
	/* The path of a link to it. */
	g_assert_cmpint(symlink(file, link), ==, 0);
	g_free(memory);
	memory = g_strdup(link);
	g_assert_cmpint(adopt(NULL, getpid(), &region, &is_open), ==, 0);
	g_assert_true(is_open);
	g_unlink(link);
	g_free(memory);
	memory = g_steal_pointer(&file);
	close(fd);
}

static void test_what_the_owner_names(void)
{
	g_autofree char *region = NULL;
	bool is_open = false;
	int fd;

	g_assert_cmpint(adopt("/dev/shm/other", getpid(), &region, &is_open), ==, -ENOTSUP);
	/* Somebody else may have made the file before QEMU did. */
	g_assert_cmpint(adopt(memory, getpid(), &region, &is_open), ==, -ENOTSUP);
	fd = open(memory, O_RDWR | O_CLOEXEC);
	g_assert_cmpint(adopt(memory, getpid(), &region, &is_open), ==, 0);
	g_assert_true(is_open);
	close(fd);
}

/* Then who opens the file has to look at it. */
static void test_a_process_that_is_not_known(void)
{
	g_autofree char *region = NULL;
	bool is_open = true;

	g_assert_cmpint(adopt(NULL, 0, &region, &is_open), ==, 0);
	g_assert_cmpstr(region, ==, memory);
	g_assert_false(is_open);
	/* QEMU is asked for memory, which takes long: turns of the session count that. */
	g_assert_cmpuint(questions, >, 0);
}

int main(int argc, char **argv)
{
	int fd = g_file_open_tmp("rs-adopt-XXXXXX", &memory, NULL), ret;

	g_assert_cmpint(fd, >=, 0);
	close(fd);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/adopt/open", test_what_it_has_open_for_writing);
	g_test_add_func("/adopt/named", test_what_the_owner_names);
	g_test_add_func("/adopt/unknown", test_a_process_that_is_not_known);
	ret = g_test_run();
	g_unlink(memory);
	g_free(memory);
	return ret;
}
