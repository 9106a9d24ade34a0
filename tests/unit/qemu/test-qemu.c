/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/* With a real QEMU under TCG and the guest pvh-loop.S; skips where there is no QEMU. */
#include "exact.h"
#include "qemu/qemu.h"
#include "qemu/process.h"
#include "qemu/qmp.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* nm pvh-loop.elf; the addresses are fixed by pvh-loop.ld and the alignments in pvh-loop.S. */
#define SITE 0x101008u
#define PATCHED 0x101058u
#define COUNTER 0x102000u
#define OTHER 0x102004u
#define COMMAND 0x102008u
#define NMIS 0x10200cu
#define MEMORY (64u << 20)
#define SPARE (32u << 20) /* two pages that nobody uses: this and the one below */
#define REGION (1u << 20)
#define PATIENCE_US (30 * G_USEC_PER_SEC)

static const uint8_t nop[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
static const uint8_t jmp[5] = {0xe9, (PATCHED - SITE - 5) & 0xff, 0, 0, 0};

static char *kernel;

struct bed {
	char *dir;
	int region;
	struct rs_qemu_config config;
	struct rs_target *target;
	struct rs_target_end end;
	bool ended;
	char steps[16]; /* of pauses, as the target told them by itself */
};

static void on_pause(void *data, enum rs_pause_step step)
{
	struct bed *bed = data;

	bed->steps[strlen(bed->steps)] = "asrR"[step];
}

static void on_ended(void *data, const struct rs_target_end *end)
{
	struct bed *bed = data;

	g_assert_false(bed->ended);
	bed->ended = true;
	bed->end = *end;
}

static void bed_init(struct bed *bed)
{
	*bed = (struct bed){.dir = g_dir_make_tmp("rs-qemu-XXXXXX", NULL)};
	bed->region = memfd_create("region", MFD_CLOEXEC);
	g_assert_cmpint(ftruncate(bed->region, REGION), ==, 0);
	bed->config = (struct rs_qemu_config){.kernel = kernel,
					      .memory = MEMORY,
					      .vcpus = 2,
					      .accel = RS_QEMU_TCG,
					      .region_fd = bed->region,
					      .region_size = REGION,
					      .serial_fd = -1,
					      .name = "t",
					      .run_dir = bed->dir};
}

static void bed_create(struct bed *bed)
{
	struct rs_error err = {0};

	if (rs_qemu_create(&bed->config, &bed->target, &err) < 0)
		g_error("%s", err.message);
	bed->target->events =
		(struct rs_target_events){.data = bed, .ended = on_ended, .pause = on_pause};
}

static void bed_start(struct bed *bed)
{
	struct rs_error err = {0};

	bed_init(bed);
	bed_create(bed);
	if (bed->target->ops->start(bed->target, &err) < 0)
		g_error("%s", err.message);
}

static uint32_t word(struct rs_target *target, uint64_t at)
{
	uint32_t value = 0;
	struct rs_error err = {0};

	if (target->ops->read_phys(target, (rs_gpa_t){at}, &value, sizeof(value), &err) < 0)
		g_error("%s", err.message);
	return value;
}

static bool moves(struct rs_target *target, uint64_t at, gint64 within_us)
{
	gint64 deadline = g_get_monotonic_time() + within_us;
	uint32_t before = word(target, at);

	while (g_get_monotonic_time() < deadline) {
		if (word(target, at) != before)
			return true;
		g_usleep(1000);
	}
	return false;
}

static void command(struct bed *bed, uint32_t value)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/fd/3", (int)bed->target->pid);
	int fd = open(path, O_RDWR);

	g_assert_cmpint(pwrite(fd, &value, 4, COMMAND), ==, 4);
	close(fd);
}

static void wait_end(struct bed *bed)
{
	gint64 deadline = g_get_monotonic_time() + PATIENCE_US;

	while (!bed->ended && g_get_monotonic_time() < deadline)
		if (!g_main_context_iteration(NULL, FALSE))
			g_usleep(1000);
	g_assert_true(bed->ended);
}

/* The target is gone or ended; nothing may be left in the directory. */
static void bed_done(struct bed *bed)
{
	if (bed->target) {
		if (!bed->ended) {
			bed->target->ops->stop(bed->target, "the test is over");
			wait_end(bed);
		}
		bed->target->ops->destroy(bed->target);
	}
	close(bed->region);
	g_assert_cmpint(g_rmdir(bed->dir), ==, 0);
	g_free(bed->dir);
}

static struct rs_text_patch site_patch(const uint8_t *bytes)
{
	struct rs_text_patch patch = {.at = {SITE}, .at_phys = {SITE}, .size = 5};

	memcpy(patch.old_bytes, bytes == nop ? jmp : nop, 5);
	memcpy(patch.new_bytes, bytes, 5);
	return patch;
}

static void text(struct rs_target *target, const uint8_t *bytes)
{
	struct rs_text_patch patch = site_patch(bytes);
	struct rs_error err = {0};
	int rc = target->ops->pause(target, &err);

	if (rc == 0)
		rc = rs_text_write(target, &patch, 1, &err);
	if (rc == 0)
		rc = target->ops->resume(target, &err);
	if (rc < 0)
		g_error("%s", err.message);
}

static void test_run(void)
{
	struct bed bed;
	struct rs_error err = {0};
	uint8_t bytes[8];
	uint64_t hz;

	bed_start(&bed);
	g_assert_true(moves(bed.target, COUNTER, PATIENCE_US));
	g_assert_cmpint(
		bed.target->ops->read_phys(bed.target, (rs_gpa_t){MEMORY - 4}, bytes, 8, &err), ==,
		-EFAULT);
	g_assert_cmpint(
		bed.target->ops->read_phys(bed.target, (rs_gpa_t){UINT64_MAX - 2}, bytes, 8, &err),
		==, -EFAULT);
	hz = bed.target->ops->clock_hz(bed.target);
	g_assert_cmpuint(hz, >, 100000000);
	g_assert_cmpuint(hz, <, 10000000000);
	bed_done(&bed);
	g_assert_cmpint(bed.end.reason, ==, RS_END_KILLED);
	g_assert_cmpstr(bed.end.text, ==, "the test is over");
}

static void test_patch(void)
{
	struct rs_text_patch list[200];
	struct rs_error err = {0};
	struct bed bed;
	gint64 t0, t1, t2;

	bed_start(&bed);
	g_assert_true(moves(bed.target, COUNTER, PATIENCE_US));
	g_assert_cmpuint(word(bed.target, OTHER), ==, 0);
	text(bed.target, jmp);
	g_assert_true(moves(bed.target, OTHER, PATIENCE_US));
	g_usleep(20000);
	g_assert_false(
		moves(bed.target, COUNTER, 50000)); /* the old translation is not run any more */
	text(bed.target, nop);
	g_assert_true(moves(bed.target, COUNTER, PATIENCE_US));

	for (size_t i = 0; i < G_N_ELEMENTS(list); i++) /* the last is a NOP */
		list[i] = site_patch(i + 1 < G_N_ELEMENTS(list) && i % 2 ? jmp : nop);
	t0 = g_get_monotonic_time();
	g_assert_cmpint(bed.target->ops->pause(bed.target, &err), ==, 0);
	t1 = g_get_monotonic_time();
	/* Written in order and read back at the end: what a JMP was written to holds the NOP. */
	g_assert_cmpint(rs_text_write(bed.target, list, G_N_ELEMENTS(list), &err), ==, -EFAULT);
	for (size_t i = 0; i < G_N_ELEMENTS(list); i++)
		list[i] = site_patch(nop);
	t2 = g_get_monotonic_time();
	g_assert_cmpint(rs_text_write(bed.target, list, G_N_ELEMENTS(list), &err), ==, 0);
	g_test_message("pause %d us, 200 writes %d us", (int)(t1 - t0),
		       (int)(g_get_monotonic_time() - t2));
	g_assert_false(moves(bed.target, COUNTER, 30000)); /* it is stopped */
	exact_check(bed.target, (rs_gva_t){SPARE}, (rs_gpa_t){SPARE},
		    (rs_gpa_t){SPARE - RS_PAGE_SIZE});
	list[0].at_phys.v = SITE + 2 * MEMORY;
	g_assert_cmpint(rs_text_write(bed.target, list, 1, &err), ==, -EFAULT);
	g_assert_cmpint(bed.target->ops->resume(bed.target, &err), ==, 0);
	g_assert_true(moves(bed.target, COUNTER, PATIENCE_US));
	list[0].at_phys.v = SITE;
	g_assert_cmpint(rs_text_write(bed.target, list, 1, &err), ==, -EPERM);
	bed_done(&bed);
}

/* Waits while events of QEMU are taken. */
static void wait_moves(struct bed *bed)
{
	gint64 deadline = g_get_monotonic_time() + PATIENCE_US;

	while (!moves(bed->target, COUNTER, 20000)) {
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		while (g_main_context_iteration(NULL, FALSE))
			;
	}
}

/* A QEMU that stands still is waited for once. When it goes on, so does its guest. */
static void test_silent(void)
{
	struct rs_target_stats stats;
	struct rs_error err = {0};
	struct bed bed;

	bed_start(&bed);
	wait_moves(&bed);
	while (g_main_context_iteration(NULL, FALSE))
		;
	kill(bed.target->pid, SIGSTOP);
	g_assert_cmpint(bed.target->ops->pause(bed.target, &err), ==, -ETIMEDOUT);
	for (unsigned int i = 0; i < 100; i++) {
		g_assert_cmpint(bed.target->ops->pause(bed.target, &err), ==, -EAGAIN);
		g_assert_nonnull(strstr(err.message, "does not answer since"));
		bed.target->ops->stats(bed.target, &stats);
	}
	kill(bed.target->pid, SIGCONT);
	wait_moves(&bed);
	g_usleep(100000);
	wait_moves(&bed); /* a pause that was given up has not stopped it for good */
	text(bed.target, jmp);
	text(bed.target, nop);
	wait_moves(&bed);
	/* It is ended even if it does not hear. */
	kill(bed.target->pid, SIGSTOP);
	g_assert_cmpint(bed.target->ops->pause(bed.target, &err), ==, -ETIMEDOUT);
	bed_done(&bed);
	g_assert_cmpint(bed.end.reason, ==, RS_END_KILLED);
}

static gpointer wake_later(gpointer pid)
{
	g_usleep(4 * G_USEC_PER_SEC);
	kill(GPOINTER_TO_INT(pid), SIGCONT);
	return NULL;
}

/* A QEMU that has been stopped is given up before it could go on: others wait with us. */
static void test_stopped(void)
{
	struct rs_error err = {0};
	GThread *waker;
	struct bed bed;

	bed_start(&bed);
	wait_moves(&bed);
	kill(bed.target->pid, SIGSTOP);
	waker = g_thread_new("waker", wake_later, GINT_TO_POINTER(bed.target->pid));
	g_assert_cmpint(bed.target->ops->pause(bed.target, &err), ==, -ETIMEDOUT);
	g_thread_join(waker);
	wait_moves(&bed);
	/* The same on the other socket, once QEMU has answered there. */
	while (bed.target->ops->pause(bed.target, &err) == -EAGAIN)
		g_main_context_iteration(NULL, FALSE);
	g_assert_cmpint(bed.target->ops->resume(bed.target, &err), ==, 0);
	kill(bed.target->pid, SIGSTOP);
	waker = g_thread_new("waker", wake_later, GINT_TO_POINTER(bed.target->pid));
	g_assert_cmpint(bed.target->ops->start(bed.target, &err), ==, -ETIMEDOUT);
	g_thread_join(waker);
	bed_done(&bed);
}

static void nudge_until(struct bed *bed, uint32_t nmis)
{
	gint64 deadline = g_get_monotonic_time() + PATIENCE_US;

	while (word(bed->target, NMIS) != nmis) {
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		g_usleep(1000);
	}
}

/* One vCPU is up. The other one waits for its SIPI, and an NMI does not reach it. */
static void test_nudge(void)
{
	const struct rs_target_ops *ops;
	struct rs_error err = {0};
	struct bed bed;

	bed_start(&bed);
	ops = bed.target->ops;
	g_assert_cmphex(ops->nudges, ==, RS_GUEST_NUDGE_NMI);
	command(&bed, 5);
	while (word(bed.target, COMMAND))
		g_usleep(1000);
	for (uint32_t i = 1; i <= 3; i++) {
		g_assert_cmpint(ops->nudge(bed.target, 0, &err), ==, 0);
		nudge_until(&bed, i);
	}
	g_assert_cmpint(ops->nudge(bed.target, 40, &err), ==, -ENOTSUP);
	/* An NMI sent in a pause arrives after it, and QMP still answers. */
	g_assert_cmpint(ops->pause(bed.target, &err), ==, 0);
	g_assert_cmpint(ops->nudge(bed.target, 0, &err), ==, 0);
	g_assert_cmpint(ops->resume(bed.target, &err), ==, 0);
	nudge_until(&bed, 4);
	g_assert_true(moves(bed.target, COUNTER, PATIENCE_US));
	ops->stop(bed.target, "the test is over");
	wait_end(&bed);
	g_assert_cmpint(ops->nudge(bed.target, 0, &err), ==, -ESRCH);
	bed_done(&bed);
}

static bool is_running(struct rs_monitor *user)
{
	g_autoptr(JsonNode) reply = NULL;

	g_assert_cmpint(rs_monitor_call(user, "query-status", NULL, 10000, &reply, NULL), ==, 0);
	return json_object_get_boolean_member(json_node_get_object(reply), "running");
}

static void wait_for_steps(struct bed *bed, const char *steps)
{
	gint64 deadline = g_get_monotonic_time() + PATIENCE_US;

	while (strcmp(bed->steps, steps) != 0 && g_get_monotonic_time() < deadline)
		if (!g_main_context_iteration(NULL, FALSE))
			g_usleep(1000);
	g_assert_cmpstr(bed->steps, ==, steps);
}

/* Somebody else pauses the VM through another monitor: it stays paused after a patch. */
static void test_user_pause(void)
{
	struct bed bed;
	struct rs_monitor *user = NULL;
	struct rs_text_patch patch;
	struct rs_error err = {0};
	g_autofree char *path = NULL, *option = NULL;

	bed_init(&bed);
	path = g_strdup_printf("%s/user", bed.dir);
	option = g_strdup_printf("unix:%s,server=on,wait=off", path);
	bed.config.extra = (const char *const[]){"-qmp", option, NULL};
	bed_create(&bed);
	g_assert_cmpint(bed.target->ops->start(bed.target, &err), ==, 0);
	g_assert_cmpint(rs_qmp_connect(path, NULL, 10000, NULL, &user, &err), ==, 0);
	g_assert_true(moves(bed.target, COUNTER, PATIENCE_US));

	text(bed.target, jmp);
	g_assert_true(is_running(user));
	g_assert_cmpint(rs_monitor_call(user, "stop", NULL, 10000, NULL, &err), ==, 0);
	text(bed.target, nop);
	g_assert_false(is_running(user));
	g_assert_false(moves(bed.target, COUNTER, 50000));
	/* The session is told of this pause. It knows of ours. */
	g_assert_cmpstr(bed.steps, ==, "s");
	g_assert_true(bed.target->held);
	g_assert_cmpint(rs_monitor_call(user, "cont", NULL, 10000, NULL, &err), ==, 0);
	g_assert_true(moves(bed.target, COUNTER, PATIENCE_US));
	wait_for_steps(&bed, "sR");
	g_assert_false(bed.target->held);

	/* They resume it in the middle of a batch: the write is refused. */
	g_assert_cmpint(bed.target->ops->pause(bed.target, &err), ==, 0);
	g_assert_cmpint(rs_monitor_call(user, "cont", NULL, 10000, NULL, &err), ==, 0);
	patch = site_patch(jmp);
	g_assert_cmpint(rs_text_write(bed.target, &patch, 1, &err), ==, -EBUSY);
	g_assert_cmpint(bed.target->ops->resume(bed.target, &err), ==, 0);
	g_assert_true(is_running(user));
	rs_monitor_destroy(user);
	bed.target->ops->stop(bed.target, "done");
	wait_end(&bed);
	g_unlink(path);
	bed_done(&bed);
}

/* A guest that makes QEMU write without end: the memory is freed, and the last words are kept. */
static void test_trim(void)
{
	struct rs_qemu_process process = {.pid_fd = -1,
					  .ram_fd = -1,
					  .stderr_fd = memfd_create("stderr", MFD_CLOEXEC),
					  .log_fd = memfd_create("log", MFD_CLOEXEC)};
	g_autofree char *much = g_strnfill(8 << 20, 'x');
	struct stat st;

	g_assert_cmpint(write(process.log_fd, much, 1000), ==, 1000);
	rs_qemu_process_trim(&process);
	g_assert_cmpint(fstat(process.log_fd, &st), ==, 0);
	g_assert_cmpint(st.st_blocks, >, 0);
	for (guint i = 0; i < 3; i++) {
		g_assert_cmpint(write(process.log_fd, much, 8 << 20), ==, 8 << 20);
		g_assert_cmpint(write(process.log_fd, "Triple fault\n", 13), ==, 13);
		rs_qemu_process_trim(&process);
		g_assert_cmpint(fstat(process.log_fd, &st), ==, 0);
		g_assert_cmpint(st.st_blocks * 512, <, 256 << 10);
		g_assert_true(rs_qemu_process_triple_fault(&process));
	}
	rs_qemu_process_clear(&process);
}

static void test_ends(void)
{
	static const struct {
		uint32_t command;
		enum rs_end_reason reason;
		int code;
	} ends[] = {{1, RS_END_EXIT, 42}, {2, RS_END_TRIPLE_FAULT, 0}, {3, RS_END_RESET, 0}};
	struct bed bed;

	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
		bed_start(&bed);
		g_assert_true(moves(bed.target, COUNTER, PATIENCE_US));
		command(&bed, ends[i].command);
		wait_end(&bed);
		g_test_message("%s", bed.end.text);
		g_assert_cmpint(bed.end.reason, ==, ends[i].reason);
		g_assert_cmpint(bed.end.code, ==, ends[i].code);
		g_assert_cmpuint(word(bed.target, COUNTER), >, 0); /* can still be read */
		g_assert_cmpint(bed.target->ops->pause(bed.target, NULL), ==, 0);
		g_assert_cmpint(bed.target->ops->resume(bed.target, NULL), ==, 0);
		bed_done(&bed);
	}
}

static void test_killed_from_outside(void)
{
	struct bed bed;

	bed_start(&bed);
	g_assert_true(moves(bed.target, COUNTER, PATIENCE_US));
	kill(bed.target->pid, SIGKILL);
	wait_end(&bed);
	g_assert_cmpint(bed.end.reason, ==, RS_END_GONE);
	g_assert_nonnull(strstr(bed.end.text, "signal 9"));
	bed_done(&bed);

	bed_start(&bed);
	g_assert_true(moves(bed.target, COUNTER, PATIENCE_US));
	kill(bed.target->pid, SIGTERM); /* which QEMU obeys in good order */
	wait_end(&bed);
	g_assert_cmpint(bed.end.reason, ==, RS_END_KILLED);
	g_assert_nonnull(strstr(bed.end.text, "host-signal"));
	bed_done(&bed);
}

static void expect_failure(struct bed *bed, int code, const char *words)
{
	struct rs_error err = {0};

	g_assert_cmpint(rs_qemu_create(&bed->config, &bed->target, &err), ==, code);
	g_test_message("%s", err.message);
	g_assert_nonnull(strstr(err.message, words));
	g_assert_null(strchr(err.message, '\n'));
	bed_done(bed);
}

static void test_failures(void)
{
	g_autofree char *junk = NULL;
	struct bed bed;

	bed_init(&bed);
	bed.config.binary = "qemu-of-nowhere";
	expect_failure(&bed, -ENOENT, "not installed");
	bed_init(&bed);
	bed.config.kernel = "/nonexistent/kernel";
	expect_failure(&bed, -ENOENT, "/nonexistent/kernel");
	bed_init(&bed);
	bed.config.region_size = 3 << 20;
	expect_failure(&bed, -EINVAL, "power of two");
	bed_init(&bed);
	bed.config.extra = (const char *const[]){"-device", "no-such-device", NULL};
	expect_failure(&bed, -ECHILD, "no-such-device");
	bed_init(&bed);
	bed.config.binary = "true"; /* ends at once and says nothing */
	expect_failure(&bed, -ECHILD, "ended at once");
	bed_init(&bed);
	junk = g_strdup_printf("%s/../rs-junk-%d", bed.dir, (int)getpid());
	g_assert_true(g_file_set_contents(junk, "this is no kernel at all", -1, NULL));
	bed.config.kernel = junk;
	expect_failure(&bed, -ECHILD, "kernel");
	bed_init(&bed);
	g_unlink(junk);
	g_assert_cmpint(rs_qemu_attach(bed.dir, "t", NULL, &bed.target, NULL), ==, -ENOENT);
	bed_done(&bed);
}

/* ---- a session that dies ---- */

static void fill_up(const char *dir)
{
	g_autofree char *path = g_strdup_printf("%s/filler", dir);
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	while (write(fd, path, 1) == 1)
		;
	g_assert_cmpint(errno, ==, ENOSPC);
	close(fd);
	/* It takes no other file either. */
	for (unsigned int i = 0; i < 1000; i++) {
		g_autofree char *name = g_strdup_printf("%s/filler-%u", dir, i);

		fd = open(name, O_CREAT | O_WRONLY, 0600);
		if (fd < 0)
			return;
		close(fd);
	}
	g_error("%s is never full", dir);
}

static void empty(const char *dir)
{
	g_autofree char *path = g_strdup_printf("%s/filler", dir);

	unlink(path);
	for (unsigned int i = 0; i < 1000; i++) {
		g_autofree char *name = g_strdup_printf("%s/filler-%u", dir, i);

		unlink(name);
	}
}

/* The dead session asked a QEMU for a pause that did not hear it. Now it hears, and stops. */
static void wait_stopped(const char *dir)
{
	g_autofree char *path = g_strdup_printf("%s/t.qemu", dir);
	g_autofree char *ram = NULL;
	g_autoptr(GKeyFile) file = g_key_file_new();
	uint32_t before = 0, now = 1;
	int pid, fd;

	g_assert_true(g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL));
	pid = g_key_file_get_integer(file, "qemu", "pid", NULL);
	ram = g_strdup_printf("/proc/%d/fd/%d", pid, RS_QEMU_FD_RAM);
	fd = open(ram, O_RDONLY);
	kill(pid, SIGCONT);
	for (unsigned int i = 0; i < 300 && now != before; i++) {
		before = now;
		g_usleep(100000);
		g_assert_cmpint(pread(fd, &now, 4, OTHER), ==, 4);
	}
	g_assert_cmpuint(now, ==, before);
	close(fd);
}

/* QEMU is stopped when it has just shown that it answers, so the pause waits for its gdb stub. */
static int pause_in_vain(struct bed *bed)
{
	struct rs_error err = {0};
	int rc;

	for (;;) {
		while (!rs_target_ready(bed->target))
			g_main_context_iteration(NULL, FALSE);
		kill(bed->target->pid, SIGSTOP);
		rc = bed->target->ops->pause(bed->target, &err);
		if (rc == 0 || strstr(err.message, "gdb stub"))
			return rc;
		/* It had answered too long ago. */
		kill(bed->target->pid, SIGCONT);
		g_main_context_iteration(NULL, FALSE);
	}
}

/*
 * In a process of its own: starts the guest, patches it, and is killed, between patches or within a
 * pause.
 */
static int die_attached(const char *dir, const char *how)
{
	struct rs_error err = {0};
	int rc = 0;
	struct bed bed;

	bed_init(&bed);
	g_rmdir(bed.dir);
	bed.config.run_dir = dir;
	bed_create(&bed);
	bed.target->ops->start(bed.target, &err);
	if (!moves(bed.target, COUNTER, PATIENCE_US))
		return 1;
	text(bed.target, jmp);
	if (strcmp(how, "full") == 0)
		fill_up(dir);
	if (strcmp(how, "silent") == 0)
		rc = pause_in_vain(&bed) == -ETIMEDOUT ? 0 : 1;
	else if (strcmp(how, "running") != 0)
		rc = bed.target->ops->pause(bed.target, &err);
	if (rc)
		return 1;
	kill(getpid(), SIGKILL);
	return 1;
}

static guint count_fds(void)
{
	GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
	guint count = 0;

	while (g_dir_read_name(dir))
		count++;
	g_dir_close(dir);
	return count;
}

static void after_death_in(const char *dir, const char *how)
{
	struct bed bed = {.dir = g_strdup(dir), .region = -1};
	const char *argv[] = {"/proc/self/exe", "--die", bed.dir, how, NULL};
	struct rs_error err = {0};
	uint8_t bytes[5];
	int status = 0, region;
	guint fds;

	g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL,
				   NULL, &status, NULL));
	g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	if (strcmp(how, "silent") == 0)
		wait_stopped(bed.dir);

	if (rs_qemu_attach(bed.dir, "t", NULL, &bed.target, &err) < 0)
		g_error("%s", err.message);
	bed.target->events = (struct rs_target_events){.data = &bed, .ended = on_ended};
	g_assert_cmpuint(bed.target->vcpus, ==, 2);
	region = open(rs_qemu_region_path(bed.target), O_RDWR);
	g_assert_cmpint(lseek(region, 0, SEEK_END), ==, REGION);
	close(region);

	/*
	 * As the journal's recovery: restore the text. The guest then runs, paused before or not.
	 */
	g_assert_cmpint(bed.target->ops->read_phys(bed.target, (rs_gpa_t){SITE}, bytes, 5, &err),
			==, 0);
	g_assert_cmpmem(bytes, 5, jmp, 5);
	text(bed.target, nop);
	g_assert_cmpint(bed.target->ops->start(bed.target, &err), ==, 0);
	g_assert_true(moves(bed.target, COUNTER, PATIENCE_US));
	g_assert_cmpint(bed.target->ops->read_phys(bed.target, (rs_gpa_t){SITE}, bytes, 5, &err),
			==, 0);
	g_assert_cmpmem(bytes, 5, nop, 5);

	/* Without asking it to stop, letting go leaves it running: once more round. */
	bed.target->ops->destroy(bed.target);
	fds = count_fds();
	g_assert_cmpint(rs_qemu_attach(bed.dir, "t", NULL, &bed.target, NULL), ==, 0);
	bed.target->ops->destroy(bed.target);
	g_assert_cmpuint(count_fds(), ==, fds);
	if (rs_qemu_attach(bed.dir, "t", NULL, &bed.target, &err) < 0)
		g_error("%s", err.message);
	bed.target->events = (struct rs_target_events){.data = &bed, .ended = on_ended};
	g_assert_true(moves(bed.target, COUNTER, PATIENCE_US));
	empty(dir);
	bed_done(&bed);
}

static void after_death(const char *how)
{
	g_autofree char *dir = g_dir_make_tmp("rs-qemu-XXXXXX", NULL);

	after_death_in(dir, how);
}

static void test_attach(void)
{
	after_death("running");
}

static void test_attach_paused(void)
{
	after_death("paused");
}

/* The session dies while it waits for a pause, which comes when nobody is there any more. */
static void test_attach_stray(void)
{
	after_death("silent");
}

/* The session's directory is full when it dies within a pause. */
static void test_attach_full(void)
{
	g_autofree char *top = g_dir_make_tmp("rs-qemu-XXXXXX", NULL);
	g_autofree char *dir = g_strdup_printf("%s/run", top);

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", top, "tmpfs", 0, "size=256k,nr_inodes=100") < 0) {
		g_test_skip("no file system can be mounted");
		g_rmdir(top);
		return;
	}
	g_assert_cmpint(g_mkdir(dir, 0700), ==, 0);
	after_death_in(dir, "full");
	g_assert_cmpint(umount2(top, MNT_DETACH), ==, 0);
	g_rmdir(top);
}

/* The mark of a pause has its place before the guest runs, or the guest does not run. */
static void test_no_mark(void)
{
	g_autofree char *path = NULL;
	struct rs_error err = {0};
	struct bed bed;

	bed_init(&bed);
	path = g_strdup_printf("%s/t.pause", bed.dir);
	g_assert_cmpint(g_mkdir(path, 0700), ==, 0);
	g_assert_cmpint(rs_qemu_create(&bed.config, &bed.target, &err), ==, -EISDIR);
	g_assert_nonnull(strstr(err.message, "says that a guest is paused"));
	g_assert_cmpint(g_rmdir(path), ==, 0);
	bed_done(&bed);
}

/* The file names a process that is another one, or gone. */
static void test_attach_other(void)
{
	struct bed bed;
	g_autofree char *path = NULL, *content = NULL;

	bed_init(&bed);
	path = g_strdup_printf("%s/t.qemu", bed.dir);
	content = g_strdup_printf(
		"[qemu]\npid=%d\nuuid=a2cb0b9c-5d3f-4d64-9b1e-0d8a3a5c7a11\nkind=qemu-tcg\n"
		"memory=1048576\nvcpus=1\n",
		(int)getpid());
	g_assert_true(g_file_set_contents(path, content, -1, NULL));
	g_assert_cmpint(rs_qemu_attach(bed.dir, "t", NULL, &bed.target, NULL), ==, -ESRCH);
	g_assert_true(g_file_set_contents(path, "[qemu]\npid=x\n", -1, NULL));
	g_assert_cmpint(rs_qemu_attach(bed.dir, "t", NULL, &bed.target, NULL), ==, -EBADMSG);
	g_unlink(path);
	bed_done(&bed);
}

int main(int argc, char **argv)
{
	g_autofree char *qemu = g_find_program_in_path("qemu-system-x86_64");

	kernel = g_strdup(g_getenv("RS_PVH_LOOP"));
	if (argc == 4 && strcmp(argv[1], "--die") == 0)
		return die_attached(argv[2], argv[3]);
	g_test_init(&argc, &argv, NULL);
	if (!qemu || !kernel) {
		g_print("1..0 # SKIP %s\n",
			qemu ? "RS_PVH_LOOP is not set" : "no qemu-system-x86_64");
		return 0;
	}
	g_test_message("accelerator: tcg");
	g_test_add_func("/qemu/run", test_run);
	g_test_add_func("/qemu/patch", test_patch);
	g_test_add_func("/qemu/nudge", test_nudge);
	g_test_add_func("/qemu/silent", test_silent);
	g_test_add_func("/qemu/stopped", test_stopped);
	g_test_add_func("/qemu/user-pause", test_user_pause);
	g_test_add_func("/qemu/trim", test_trim);
	g_test_add_func("/qemu/ends", test_ends);
	g_test_add_func("/qemu/killed-from-outside", test_killed_from_outside);
	g_test_add_func("/qemu/failures", test_failures);
	g_test_add_func("/qemu/attach", test_attach);
	g_test_add_func("/qemu/attach-paused", test_attach_paused);
	g_test_add_func("/qemu/attach-other", test_attach_other);
	g_test_add_func("/qemu/attach-stray", test_attach_stray);
	g_test_add_func("/qemu/no-mark", test_no_mark);
	g_test_add_func("/qemu/attach-full", test_attach_full);
	return g_test_run();
}
