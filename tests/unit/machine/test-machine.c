/* SPDX-License-Identifier: MIT */
#include "machine/machine.h"

#include <errno.h>
#include <glib/gstdio.h>

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
	place = rs_machine_place(machine.target);
	g_assert_null(place.qmp);
	rs_machine_clear(&machine);
	g_assert_null(machine.region);

	/* A region that cannot be laid out. */
	config.ring_bytes = 1;
	g_assert_cmpint(rs_machine_create(&config, &machine, &err), ==, -EINVAL);
	g_assert_null(machine.region);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/machine/refusals", test_refusals);
	g_test_add_func("/machine/program", test_program);
	return g_test_run();
}
