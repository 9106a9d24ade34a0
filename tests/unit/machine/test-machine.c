/* SPDX-License-Identifier: MIT */
#include "machine/machine.h"
#include "machine/process.h"
#include "machine/rescue.h"
#include "target/process.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static char *write_file(const char *dir, const char *name, const void *bytes, size_t size)
{
	char *path = g_build_filename(dir, name, NULL);

	g_assert_true(g_file_set_contents(path, bytes, (gssize)size, NULL));
	return path;
}

/* A config that cannot run makes nothing, and the message says why. */
static void test_refusals(void)
{
	static const char bzimage[0x300] = {[0x202] = 'H', 'd', 'r', 'S'};
	g_autofree char *dir = g_dir_make_tmp("machine-XXXXXX", NULL);
	g_autofree char *empty = write_file(dir, "empty", "", 0);
	g_autofree char *linux_image = write_file(dir, "linux", bzimage, sizeof(bzimage));
	const struct {
		const char *kernel, *accel;
		int ret;
		const char *says;
	} cases[] = {
		{"/nonexistent/kernel", "auto", -EIO, "/nonexistent/kernel"},
		{dir, "auto", -ENOEXEC, "not a regular file"},
		{empty, "auto", -ENOEXEC, "empty"},
		/* An ordinary program is us. */
		{"/proc/self/exe", "auto", -ENOEXEC, "--hosted"},
		{"/proc/self/exe", "tcg", -ENOEXEC, "--hosted"},
		{linux_image, "warp", -EINVAL, "warp"},
		{linux_image, "kvm", -EINVAL, "bzImage"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rs_machine_config config = {.name = "m",
						   .run_dir = dir,
						   .kernel = cases[i].kernel,
						   .accel = cases[i].accel,
						   .ring_bytes = 65536};
		struct rs_machine machine = {0};
		struct rs_error err = {0};

		g_assert_cmpint(rs_machine_create(&config, &machine, &err), ==, cases[i].ret);
		g_assert_nonnull(strstr(err.message, cases[i].says));
		g_assert_null(machine.region);
		g_assert_null(machine.target);
	}
	g_unlink(empty);
	g_unlink(linux_image);
	g_rmdir(dir);
}

/* A process that has ended needs no rescue, even if its parent has not reaped it. */
static void test_rescue_zombie(void)
{
	g_autofree char *dir = g_dir_make_tmp("machine-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "m@0.journal", NULL);
	const struct rs_text_patch patch = {.at = {4096}, .size = 1, .new_bytes = {1}};
	struct rs_journal_record record = rs_journal_record_of(RS_JOURNAL_SITE, 0, &patch);
	struct rs_journal_report report;
	struct rs_journal *journal;
	struct rs_error err = {0};
	pid_t pid = fork();
	siginfo_t info;

	if (pid == 0)
		_exit(0);
	g_assert_cmpint(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), ==, 0);
	g_assert_cmpint(rs_journal_open(path, &journal, &err), ==, 0);
	rs_journal_set_process(journal, (uint32_t)pid, rs_process_start_time(pid));
	g_assert_cmpint(rs_journal_append(journal, &record, 1, &err), ==, 0);
	rs_journal_close(journal);
	if (rs_machine_rescue_process(path, &report, &err))
		g_error("rescue: %s", err.message);
	g_assert_cmpuint(report.records, ==, 0);
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
	g_unlink(path);
	g_rmdir(dir);
}

/* Text is owed while its process lives, and while nobody can know. */
static void test_owed(void)
{
	g_autofree char *dir = g_dir_make_tmp("machine-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "m@0.journal", NULL);
	const struct rs_text_patch patch = {.at = {4096}, .size = 1, .new_bytes = {1}};
	struct rs_journal_record record = rs_journal_record_of(RS_JOURNAL_SITE, 0, &patch);
	struct rs_journal *journal;
	struct rs_error err = {0};
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	g_assert_false(rs_machine_process_owed(path));
	g_assert_cmpint(rs_journal_open(path, &journal, &err), ==, 0);
	rs_journal_set_process(journal, (uint32_t)pid, rs_process_start_time(pid));
	g_assert_cmpint(rs_journal_append(journal, &record, 1, &err), ==, 0);
	g_assert_true(rs_machine_process_owed(path)); /* another session has it */
	rs_journal_close(journal);
	g_assert_true(rs_machine_process_owed(path));
	kill(pid, SIGKILL);
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
	g_assert_false(rs_machine_process_owed(path));
	g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS)); /* to look leaves it there */
	g_assert_true(g_file_set_contents(path, "no journal at all", -1, NULL));
	g_assert_true(rs_machine_process_owed(path));
	g_unlink(path);
	g_rmdir(dir);
}

static void test_program(void)
{
	char *program[] = {(char *)"/bin/true", NULL};
	struct rs_machine_config config = {.name = "m",
					   .hosted = program,
					   .cpus = 3,
					   .ring_bytes = 65536,
					   .ring_mode = RS_MODE_DROP};
	struct rs_machine machine = {0};
	struct rs_machine_place place;
	struct rs_error err = {0};

	g_assert_cmpint(rs_machine_create(&config, &machine, &err), ==, 0);
	g_assert_cmpuint(machine.region->header.ring_count, ==, 3);
	g_assert_cmpuint(machine.region->header.ring_mode, ==, RS_MODE_DROP);
	g_assert_cmpuint(machine.region->header.doorbell_channel, ==, RS_CHANNEL_EVENTFD);
	g_assert_cmpstr(machine.target->ops->kind, ==, "hosted");
	g_assert_true(machine.target->ops->is_program && machine.target->ops->native);
	place = rs_machine_place(machine.target);
	g_assert_null(place.qmp);
	rs_machine_clear(&machine);
	g_assert_null(machine.region);

	/* A region that cannot be laid out. */
	config.ring_bytes = 1;
	g_assert_cmpint(rs_machine_create(&config, &machine, &err), ==, -EINVAL);
	g_assert_null(machine.region);
}

/* Which process a text means, and whether it can be reached. */
static void test_process(void)
{
	static const char *const wrong[] = {
		"pid:",     "pid:1",    "pid:1:",  "pid:1:0",  "pid:x:1",
		"pid:1:1x", "pid:-1:1", "qmp:1:1", "pid:0:17", "pid:99999999999:1"};
	const struct rs_region_config layout = {.vcpus = 1, .ring_bytes = 1 << 16};
	const struct rs_regions_run run = {&layout, RS_SOURCE_GIVEN, 1};
	g_autofree char *via = rs_machine_process_via(getpid());
	g_autofree char *later = g_strconcat(via, "1", NULL);
	struct rs_regions *regions;
	struct rs_error err = {0};

	g_assert_null(rs_machine_process_via(0));
	g_assert_false(rs_machine_is_process(NULL));
	for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
		g_assert_false(rs_machine_process_lives(wrong[i]));
	g_assert_true(rs_machine_is_process(via) && rs_machine_process_lives(via));
	g_assert_false(rs_machine_process_lives(later)); /* another process had that id */
	g_assert_cmpint(rs_machine_process_has_agent(getpid(), &err), ==, -ENOENT);
	g_assert_false(rs_machine_process_waits(via));
	/* Regions that we have open and mapped, but that are not ours: so has each host. */
	g_assert_cmpint(rs_regions_create(&run, 1, false, -1, &regions, &err), ==, 0);
	*rs_regions_claim_word(regions, 0) = rs_regions_claim(regions, 0, (uint32_t)getppid());
	g_assert_cmpint(rs_machine_process_has_agent(getpid(), &err), ==, -ENOENT);
	*rs_regions_claim_word(regions, 0) = rs_regions_claim(regions, 0, (uint32_t)getpid());
	g_assert_cmpint(rs_machine_process_has_agent(getpid(), &err), ==, 0);
	g_assert_true(rs_machine_process_waits(via));
	rs_regions_free(regions);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/machine/refusals", test_refusals);
	g_test_add_func("/machine/rescue-zombie", test_rescue_zombie);
	g_test_add_func("/machine/owed", test_owed);
	g_test_add_func("/machine/program", test_program);
	g_test_add_func("/machine/process", test_process);
	return g_test_run();
}
