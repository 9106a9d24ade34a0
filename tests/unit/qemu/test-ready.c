/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/* A QEMU that does not answer is not waited for while it may still answer. With fake-qemu.c. */
#include "fake-qemu.h"
#include "qemu/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TEXT 0x1000u
#define REGION 4096u

static const char *program;

struct bed {
	char *dir;
	struct rs_target *target;
	struct fake_qemu *fake; /* its memory */
	int ready;              /* times that it was said */
	bool ended;
	struct rs_target_end end;
};

static void on_ready(void *data)
{
	((struct bed *)data)->ready++;
}

static void on_ended(void *data, const struct rs_target_end *end)
{
	struct bed *bed = data;

	bed->ended = true;
	bed->end = *end;
}

static void map_memory(struct bed *bed)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/fd/3", (int)bed->target->pid);
	int fd = open(path, O_RDWR);

	bed->fake = mmap(NULL, FAKE_QEMU_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	g_assert_true(bed->fake != MAP_FAILED);
	close(fd);
}

static void set_up(struct bed *bed, gconstpointer data)
{
	int region = memfd_create("region", MFD_CLOEXEC);
	struct rs_qemu_config config = {.binary = program,
					.kernel = program,
					.memory = FAKE_QEMU_MEMORY,
					.vcpus = 1,
					.region_fd = region,
					.region_size = REGION,
					.serial_fd = -1,
					.name = "t"};
	struct rs_error err = {0};

	config.run_dir = bed->dir = g_dir_make_tmp("rs-ready-XXXXXX", NULL);
	g_assert_cmpint(ftruncate(region, REGION), ==, 0);
	if (rs_qemu_create(&config, &bed->target, &err))
		g_error("%s", err.message);
	close(region);
	bed->target->events =
		(struct rs_target_events){.data = bed, .ready = on_ready, .ended = on_ended};
	map_memory(bed);
	g_assert_cmpint(bed->target->ops->start(bed->target, NULL), ==, 0);
	g_assert_true(bed->fake->running);
}

static void run_once(void)
{
	if (!g_main_context_iteration(NULL, FALSE))
		g_usleep(1000);
}

static void stop(struct bed *bed)
{
	bed->target->ops->stop(bed->target, "enough");
	while (!bed->ended)
		run_once();
	g_assert_cmpint(bed->end.reason, ==, RS_END_KILLED);
}

static void tear_down(struct bed *bed, gconstpointer data)
{
	if (!bed->ended)
		stop(bed);
	bed->target->ops->destroy(bed->target);
	munmap(bed->fake, FAKE_QEMU_MEMORY);
	g_assert_cmpint(g_rmdir(bed->dir), ==, 0);
	g_free(bed->dir);
}

static void order(struct bed *bed, uint32_t what)
{
	bed->fake->order = what;
	kill(bed->target->pid, SIGUSR1);
	while (bed->fake->does != what)
		g_usleep(1000);
}

/* It does not answer any more, and what it has answered is too long ago to count. */
static void make_busy(struct bed *bed, uint32_t what)
{
	order(bed, what);
	while (rs_target_ready(bed->target))
		run_once();
	bed->ready = 0;
}

static void wait_ready(struct bed *bed, int times)
{
	while (bed->ready < times)
		run_once();
	g_assert_cmpint(bed->ready, ==, times);
}

static gboolean on_tick(gpointer data)
{
	++*(int *)data;
	return G_SOURCE_CONTINUE;
}

static void write_text(struct bed *bed)
{
	struct rs_text_patch patch = {.at = {TEXT}, .at_phys = {TEXT}, .size = 5};
	struct rs_error err = {0};

	memcpy(patch.new_bytes, "patch", 5);
	if (rs_target_pause(bed->target, &err))
		g_error("%s", err.message);
	g_assert_false(bed->fake->running);
	g_assert_cmpint(rs_text_write(bed->target, &patch, 1, NULL), ==, 0);
	g_assert_cmpint(rs_target_resume(bed->target, NULL, NULL), ==, 0);
	g_assert_true(bed->fake->running);
	g_assert_cmpmem((const uint8_t *)bed->fake + TEXT, 5, "patch", 5);
	g_assert_cmpuint(bed->fake->pauses, ==, 1);
}

static void write_when_ready(struct bed *bed)
{
	while (!rs_target_ready(bed->target))
		run_once();
	write_text(bed);
}

/* Others are served while it does not answer. Once it does, that is told, and it can be paused. */
static void test_busy(struct bed *bed, gconstpointer data)
{
	int ticks = 0;
	guint timer;

	make_busy(bed, FAKE_QEMU_WORKS);
	timer = g_timeout_add(1, on_tick, &ticks);
	while (ticks < 5) {
		run_once();
		g_assert_false(rs_target_ready(bed->target));
	}
	g_source_remove(timer);
	g_assert_cmpint(bed->ready, ==, 0);
	g_assert_cmpuint(bed->fake->pauses, ==, 0);
	order(bed, FAKE_QEMU_SERVES);
	wait_ready(bed, 1);
	write_when_ready(bed);
}

/* One that answers is asked once, and then again when that is long ago. */
static void test_idle(struct bed *bed, gconstpointer data)
{
	for (int i = 0; i < 2; i++) {
		while (rs_target_ready(bed->target))
			run_once();
		bed->ready = 0;
		wait_ready(bed, 1);
	}
	write_when_ready(bed);
}

/* A main thread that only sleeps is given up: pauses fail at once until it answers after all. */
static void test_given_up(struct bed *bed, gconstpointer data)
{
	struct rs_error err = {0};

	make_busy(bed, FAKE_QEMU_SLEEPS);
	wait_ready(bed, 1);
	for (int i = 0; i < 100; i++) {
		g_assert_true(rs_target_ready(bed->target));
		g_assert_cmpint(rs_target_pause(bed->target, &err), ==, -EAGAIN);
		g_assert_nonnull(strstr(err.message, "does not answer since"));
		run_once();
	}
	g_assert_cmpint(bed->ready, ==, 1);
	order(bed, FAKE_QEMU_SERVES);
	wait_ready(bed, 2);
	write_when_ready(bed);
}

/* A pause that did not ask before waits for a short time, and not for the gdb stub. */
static void test_pause(struct bed *bed, gconstpointer data)
{
	struct rs_error err = {0};

	make_busy(bed, FAKE_QEMU_WORKS);
	g_assert_cmpint(rs_target_pause(bed->target, &err), ==, -ETIMEDOUT);
	g_assert_cmpint(rs_target_pause(bed->target, &err), ==, -EAGAIN);
	wait_ready(bed, 1);
	g_assert_cmpuint(bed->fake->pauses, ==, 0);
	order(bed, FAKE_QEMU_SERVES);
	wait_ready(bed, 2);
	write_when_ready(bed);
}

/* It was paused by hand, and does not hear that it may go on. Later it does. */
static void test_resume(struct bed *bed, gconstpointer data)
{
	make_busy(bed, FAKE_QEMU_WORKS);
	order(bed, FAKE_QEMU_SERVES);
	g_assert_cmpint(rs_target_pause(bed->target, NULL), ==, 0);
	g_assert_true(rs_target_ready(bed->target));
	order(bed, GPOINTER_TO_UINT(data));
	g_assert_cmpint(rs_target_resume(bed->target, NULL, NULL), ==, 0);
	g_assert_false(bed->fake->running);
	order(bed, FAKE_QEMU_SERVES);
	while (!bed->fake->running)
		run_once();
}

/* It is ended even if it does not hear that either. */
static void test_stop(struct bed *bed, gconstpointer data)
{
	make_busy(bed, GPOINTER_TO_UINT(data));
	stop(bed);
	g_assert_true(rs_target_ready(bed->target));
	g_assert_cmpint(rs_target_pause(bed->target, NULL), ==, 0);
}

/* It says that it ends, and does not: QEMU 7.2 may hang then. How its guest ended is known. */
static void test_reset(struct bed *bed, gconstpointer stops)
{
	order(bed, FAKE_QEMU_RESETS);
	while (!bed->ended) {
		run_once();
		if (stops)
			bed->target->ops->stop(bed->target, "enough");
	}
	g_assert_cmpint(bed->end.reason, ==, stops ? RS_END_KILLED : RS_END_RESET);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	program = argc > 1 ? argv[1] : "";
#define ADD(name, test, data)                                                                      \
	g_test_add("/ready/" name, struct bed, GUINT_TO_POINTER(data), set_up, test, tear_down)
	ADD("busy", test_busy, 0);
	ADD("idle", test_idle, 0);
	ADD("given-up", test_given_up, 0);
	ADD("pause", test_pause, 0);
	ADD("resume/works", test_resume, FAKE_QEMU_WORKS);
	ADD("resume/sleeps", test_resume, FAKE_QEMU_SLEEPS);
	ADD("stop/works", test_stop, FAKE_QEMU_WORKS);
	ADD("stop/sleeps", test_stop, FAKE_QEMU_SLEEPS);
	ADD("reset", test_reset, 0);
	ADD("reset/stop", test_reset, 1);
	return g_test_run();
}
