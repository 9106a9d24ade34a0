/* SPDX-License-Identifier: MIT */
/*
 * Where a program looks for a region: what it makes of a device that is not the module's, and which
 * devices of a folder, made as sysfs has them, it touches; and how long it waits there.
 * tests/vm/linux_programs.py has the real ones.
 */
#include "device.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <ringside/agent.h>
#include <ringside/directory.h>
#include <string.h>
#include <unistd.h>

struct devices {
	char *folder;
};

static char *path_of(const struct devices *f, const char *device, const char *file)
{
	return g_build_filename(f->folder, device, file, NULL);
}

static void put(const struct devices *f, const char *device, const char *file, const char *text)
{
	g_autofree char *path = path_of(f, device, file), *folder = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* A device whose memory begins with this word. */
static void add(const struct devices *f, const char *device, const char *vendor, const char *enable,
		uint64_t magic)
{
	g_autofree char *memory = path_of(f, device, "resource2");
	char bytes[RS_DIRECTORY_MIN_SIZE] = {0};

	put(f, device, "vendor", vendor);
	put(f, device, "device", "0x1110\n");
	put(f, device, "enable", enable);
	memcpy(bytes, &magic, sizeof(magic));
	g_assert_true(g_file_set_contents(memory, bytes, sizeof(bytes), NULL));
}

static void expect_text(const struct devices *f, const char *device, const char *wanted)
{
	g_autofree char *path = path_of(f, device, "enable"), *text = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, wanted);
}

/* The device whose memory is opened, or NULL. */
static char *opened(const struct devices *f)
{
	int fd = rs_hosted_open_bar(f->folder);
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd), *target = NULL,
			*folder = NULL;

	if (fd < 0)
		return NULL;
	target = g_file_read_link(link, NULL);
	close(fd);
	folder = g_path_get_dirname(target);
	return g_path_get_basename(folder);
}

static void expect_opened(const struct devices *f, const char *wanted)
{
	g_autofree char *device = opened(f);

	g_assert_cmpstr(device, ==, wanted);
}

static void set_up(struct devices *f, gconstpointer data)
{
	f->folder = g_dir_make_tmp("rs-device-XXXXXX", NULL);
}

static void tear_down(struct devices *f, gconstpointer data)
{
	g_autofree char *command = g_strdup_printf("rm -r '%s'", f->folder);

	g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
	g_free(f->folder);
}

/* ---- a folder of devices ---- */

static void test_the_device_with_a_directory(struct devices *f, gconstpointer data)
{
	expect_opened(f, NULL);
	add(f, "0000:00:02.0", "0x1af4\n", "1\n", 0);
	add(f, "0000:00:03.0", "0x1af4\n", "1\n", RS_DIRECTORY_MAGIC);
	expect_opened(f, "0000:00:03.0");
	g_assert_true(rs_hosted_has_bar(f->folder));
}

static void test_other_devices_are_not_touched(struct devices *f, gconstpointer data)
{
	add(f, "0000:00:02.0", "0x8086\n", "0\n", RS_DIRECTORY_MAGIC);
	add(f, "0000:00:03.0", "0x1af40\n", "0\n", RS_DIRECTORY_MAGIC);
	add(f, "0000:00:04.0", "0x1af4", "0\n", RS_DIRECTORY_MAGIC);
	add(f, "0000:00:05.0", "0x1af4\n", "0\n", RS_DIRECTORY_MAGIC);
	put(f, "0000:00:05.0", "driver/name", "somebody");
	expect_opened(f, NULL);
	g_assert_false(rs_hosted_has_bar(f->folder));
	for (int i = 2; i <= 5; i++) {
		g_autofree char *device = g_strdup_printf("0000:00:0%d.0", i);

		expect_text(f, device, "0\n");
	}
}

static void test_a_device_that_is_off(struct devices *f, gconstpointer data)
{
	add(f, "0000:00:02.0", "0x1af4\n", "0\n", RS_DIRECTORY_MAGIC);
	expect_opened(f, "0000:00:02.0");
	expect_text(f, "0000:00:02.0", "1\n");
}

static void test_a_device_of_others_is_off_again(struct devices *f, gconstpointer data)
{
	add(f, "0000:00:02.0", "0x1af4\n", "0\n", 0x1234);
	expect_opened(f, NULL);
	expect_text(f, "0000:00:02.0", "0\n");
}

static void test_a_memory_that_is_too_small(struct devices *f, gconstpointer data)
{
	add(f, "0000:00:02.0", "0x1af4\n", "1\n", RS_DIRECTORY_MAGIC);
	put(f, "0000:00:02.0", "resource2", "RNGSGDIR");
	expect_opened(f, NULL);
}

static void test_no_folder(struct devices *f, gconstpointer data)
{
	g_assert_cmpint(rs_hosted_open_bar("/nowhere"), ==, -1);
	g_assert_false(rs_hosted_has_bar("/nowhere"));
}

/* ---- /dev/ringside ---- */

static void test_what_is_no_device(struct devices *f, gconstpointer data)
{
	struct rs_hosted_place place = {.fd = -1};
	g_autofree char *path = path_of(f, "a", "file");

	put(f, "a", "file", "0123456701234567012345670123456701234567012345670123456701234567");
	g_assert_cmpint(rs_hosted_take_device("/nowhere", &place), ==, 1);
	g_assert_cmpint(rs_hosted_take_device(path, &place), ==, 1);
	g_assert_cmpint(rs_hosted_take_device(f->folder, &place), ==, 1);
}

/* One reads as nothing, one as a region of no bytes. */
static void test_devices_of_others(struct devices *f, gconstpointer data)
{
	struct rs_hosted_place place = {.fd = -1};

	g_assert_cmpint(rs_hosted_take_device("/dev/null", &place), ==, -RS_EBADMSG);
	g_assert_cmpint(rs_hosted_take_device("/dev/zero", &place), ==, -RS_EBADMSG);
	g_assert_null(place.region);
}

/* ---- how long a program waits in its place ---- */

static void test_patience(struct devices *f, gconstpointer data)
{
	static const struct {
		const char *wait;
		uint32_t found, named;
	} cases[] = {
		{NULL, 200, 0},
		{"30000", 30000, 30000},
		{"1", 1, 1},
		{"0", RS_NO_PATIENCE, RS_NO_PATIENCE},
		/* No numbers. */
		{"", 200, 0},
		{"-1", 200, 0},
		{"1s", 200, 0},
		{"4294967295", 200, 0},
	};
	const struct rs_hosted_place found = {.found = true}, named = {.found = false};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		if (cases[i].wait)
			g_setenv("RINGSIDE_WAIT", cases[i].wait, TRUE);
		else
			g_unsetenv("RINGSIDE_WAIT");
		g_assert_cmpuint(rs_hosted_patience(&found), ==, cases[i].found);
		g_assert_cmpuint(rs_hosted_patience(&named), ==, cases[i].named);
	}
	g_unsetenv("RINGSIDE_WAIT");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*test)(struct devices *f, gconstpointer data);
	} tests[] = {
		{"/device/directory", test_the_device_with_a_directory},
		{"/device/others", test_other_devices_are_not_touched},
		{"/device/off", test_a_device_that_is_off},
		{"/device/off-again", test_a_device_of_others_is_off_again},
		{"/device/small", test_a_memory_that_is_too_small},
		{"/device/no-folder", test_no_folder},
		{"/device/no-device", test_what_is_no_device},
		{"/device/devices-of-others", test_devices_of_others},
		{"/device/patience", test_patience},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].name, struct devices, NULL, set_up, tests[i].test, tear_down);
	return g_test_run();
}
