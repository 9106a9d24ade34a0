/* SPDX-License-Identifier: MIT */
/* The VMM on real KVM, with tests/guests/vmm. argv[1]: that guest. */
#define _GNU_SOURCE
#include "exact.h"
#include "region/regions.h"
#include "session/slots.h"
#include "target/fetch.h"
#include "vmm/vmm.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#define COUNTERS 0x80000u /* as in the guest */
#define DEADLINE_S 30
#define SPARE (12u << 20) /* two pages that nobody uses: this and the one below */

static const char *guest;

struct run {
	struct rs_vmm_config config;
	RsTraceRegion *region;
	struct rs_target *target;
	struct rs_slots *slots;
	struct rs_target_end end;
	bool ended;
	uint32_t requests, bad, calls[12], doorbells;
	struct rs_ticket later; /* of the request that was kept */
	struct rs_hcall_request last;
	char last_text[64];
	bool pause_in_call;
	int32_t answer;
};

/* The result that a session would give. */
static int32_t result_of(const struct run *run, const struct rs_hcall_request *request)
{
	if (request->number < RS_HCALL_HELLO || request->number > RS_HCALL_WAIT)
		return -RS_ENOSYS;
	return request->number == RS_HCALL_EXIT ? -RS_EINVAL : run->answer;
}

static bool on_hypercall(void *data, uint32_t slot, struct rs_target_end *end)
{
	struct run *run = data;
	struct rs_hcall_response response = {0};
	struct rs_hcall_request request;
	struct rs_ticket ticket;

	run->requests++;
	if (rs_slots_take(run->slots, slot, &request, &ticket)) {
		run->bad++;
		return false;
	}
	if (rs_request_ends(&request, end))
		return true;
	response.result = result_of(run, &request);
	if (response.result < 0) {
		run->bad++;
	} else {
		run->calls[request.number]++;
		run->last = request;
		memcpy(run->last_text, request.data, MIN(request.data_size, 63));
	}
	if (run->pause_in_call) {
		g_assert_cmpint(run->target->ops->pause(run->target, NULL), ==, 0);
		g_assert_cmpint(run->target->ops->resume(run->target, NULL), ==, 0);
	}
	if (request.number == RS_HCALL_WAIT) {
		run->later = ticket;
		g_assert_cmpint(rs_slots_accept(run->slots, &ticket), ==, 0);
	} else {
		g_assert_cmpint(rs_slots_answer(run->slots, &ticket, &response), ==, 0);
	}
	return false;
}

static void on_doorbell(void *data)
{
	((struct run *)data)->doorbells++;
}

static void on_ended(void *data, const struct rs_target_end *end)
{
	struct run *run = data;

	g_assert_false(run->ended);
	run->ended = true;
	run->end = *end;
}

static struct run *create(const char *test, uint32_t vcpus, bool start)
{
	struct rs_region_config layout = {.vcpus = vcpus, .ring_bytes = 65536};
	struct run *run = g_new0(struct run, 1);
	g_autofree char *cmdline = g_strdup_printf("test=%s", test);
	struct rs_error err = {0};

	g_assert_cmpint(rs_region_create(&layout, &run->region, &err), ==, 0);
	run->slots = rs_slots_create(run->region);
	run->config = (struct rs_vmm_config){.kernel = guest,
					     .memory = 16 << 20,
					     .vcpus = vcpus,
					     .cmdline = cmdline,
					     .regions_fd = run->region->fd,
					     .serial_fd = -1};
	if (!start) {
		run->config.cmdline = NULL; /* ours ends here */
		return run;
	}
	if (rs_vmm_create(&run->config, &run->target, &err))
		g_error("%s", err.message);
	run->target->events = (struct rs_target_events){run, on_hypercall, on_doorbell, on_ended};
	if (run->target->ops->start(run->target, &err))
		g_error("%s", err.message);
	return run;
}

/* Bytes of the memory of all regions, which ends with the only region. */
static uint64_t memory_size(const struct run *run)
{
	return run->region->offset + run->region->size;
}

/* For tests that change the configuration before the machine is made. */
static void create_and_start(struct run *run, const char *cmdline)
{
	struct rs_error err = {0};

	run->config.cmdline = cmdline;
	if (rs_vmm_create(&run->config, &run->target, &err))
		g_error("%s", err.message);
	run->target->events = (struct rs_target_events){run, on_hypercall, on_doorbell, on_ended};
	if (run->target->ops->start(run->target, &err))
		g_error("%s", err.message);
}

static void destroy(struct run *run)
{
	if (run->target)
		run->target->ops->destroy(run->target);
	rs_slots_destroy(run->slots);
	rs_trace_region_free(run->region);
	g_free(run);
}

static gboolean tick(gpointer data)
{
	return G_SOURCE_CONTINUE;
}

#define WAIT_FOR(condition)                                                                        \
	do {                                                                                       \
		gint64 until = g_get_monotonic_time() + DEADLINE_S * G_USEC_PER_SEC;               \
		guint timer = g_timeout_add(2, tick, NULL);                                        \
		while (!(condition)) {                                                             \
			if (g_get_monotonic_time() > until)                                        \
				g_error("waited in vain for " #condition);                         \
			g_main_context_iteration(NULL, TRUE);                                      \
		}                                                                                  \
		g_source_remove(timer);                                                            \
	} while (0)

static void expect_end(const char *test, uint32_t vcpus, enum rs_end_reason reason, int code,
		       const char *text)
{
	struct run *run = create(test, vcpus, true);

	WAIT_FOR(run->ended);
	g_assert_cmpint(run->end.reason, ==, reason);
	g_assert_cmpint(run->end.code, ==, code);
	g_assert_nonnull(strstr(run->end.text, text));
	/* An ended target accepts all of this. */
	g_assert_cmpint(run->target->ops->pause(run->target, NULL), ==, 0);
	g_assert_cmpint(run->target->ops->resume(run->target, NULL), ==, 0);
	run->target->ops->stop(run->target, "again");
	destroy(run);
}

static void test_ends(void)
{
	expect_end("hello", 1, RS_END_EXIT, 7, "");
	expect_end("panic", 1, RS_END_PANIC, 0, "out of cheese");
	expect_end("triple", 1, RS_END_TRIPLE_FAULT, 0, "vCPU 0: triple fault");
	expect_end("reset-keyboard", 1, RS_END_RESET, 0, "0x64");
	expect_end("reset-register", 1, RS_END_RESET, 0, "0xcf9");
	expect_end("read-only", 1, RS_END_EXIT, 0, "");
	expect_end("smp", 2, RS_END_EXIT, 0, "");
	expect_end("smp", 4, RS_END_EXIT, 0, "");
	/* APIC ids beyond 8 bits. The guest has stacks for few and leaves the others asleep. */
	expect_end("hello", 300, RS_END_EXIT, 7, "");
}

static void test_bad_requests(void)
{
	struct run *run = create("bad", 1, true);
	struct rs_target_stats stats;

	WAIT_FOR(run->ended);
	g_assert_cmpint(run->end.reason, ==, RS_END_EXIT);
	g_assert_cmpint(run->end.code, ==, 0);
	g_assert_cmpuint(run->calls[RS_HCALL_LOG], ==, 1);
	g_assert_cmpstr(run->last_text, ==, "still fine");
	run->target->ops->stats(run->target, &stats);
	g_assert_cmpuint(run->requests, ==, 9);
	g_assert_cmpuint(run->bad, ==, 7);
	g_assert_cmpuint(stats.exits, >=, 9);
	destroy(run);
}

static void test_doorbell(void)
{
	struct run *run = create("doorbell", 1, true);
	struct rs_target_stats stats;

	WAIT_FOR(run->ended && run->doorbells);
	g_assert_cmpint(run->end.code, ==, 0);
	run->target->ops->stats(run->target, &stats);
	g_assert_cmpuint(stats.doorbells, ==, 3);
	g_assert_cmpuint(stats.exits, ==, 2); /* the requests only: a doorbell is no exit to us */
	destroy(run);
}

static void test_pause_while_asked(void)
{
	struct run *run = create("smp", 3, false);

	run->pause_in_call = true;
	create_and_start(run, "test=smp");
	WAIT_FOR(run->ended);
	g_assert_cmpint(run->end.reason, ==, RS_END_EXIT);
	g_assert_cmpint(run->end.code, ==, 0);
	g_assert_cmpuint(run->calls[RS_HCALL_LOG], ==, 2);
	destroy(run);
}

/*
 * Every vCPU is interrupted: a halted one wakes up, and an NMI comes to one that takes no
 * interrupts.
 */
static void test_nudge(void)
{
	struct run *run = create("nudge", 2, true);
	const struct rs_target_ops *ops = run->target->ops;
	struct rs_error err = {0};

	g_assert_cmphex(ops->nudges, ==, RS_GUEST_NUDGE_VECTOR | RS_GUEST_NUDGE_NMI);
	WAIT_FOR(run->calls[RS_HCALL_LOG] == 1);
	g_assert_cmpint(ops->nudge(run->target, 15, &err), ==, -EINVAL);
	g_assert_cmpint(ops->nudge(run->target, 256, &err), ==, -EINVAL);
	g_assert_cmpint(ops->nudge(run->target, 40, &err), ==, 0);
	WAIT_FOR(run->calls[RS_HCALL_LOG] == 3);
	/* A guest that is nudged while it is paused takes the nudge when it goes on. */
	g_assert_cmpint(ops->pause(run->target, NULL), ==, 0);
	g_assert_cmpint(ops->nudge(run->target, 0, &err), ==, 0);
	g_assert_cmpint(ops->resume(run->target, NULL), ==, 0);
	WAIT_FOR(run->ended);
	g_assert_cmpint(run->end.reason, ==, RS_END_EXIT);
	g_assert_cmpint(run->end.code, ==, 0);
	g_assert_cmpint(ops->nudge(run->target, 0, &err), ==, -ESRCH);
	destroy(run);
}

static gboolean answer_now(gpointer data)
{
	struct run *run = data;
	struct rs_hcall_response response = {.result = 77};

	g_assert_cmpint(rs_slots_answer(run->slots, &run->later, &response), ==, 0);
	g_assert_cmpint(run->target->ops->nudge(run->target, 40, NULL), ==, 0);
	return G_SOURCE_REMOVE;
}

/* One vCPU halts until its answer comes; the other one goes on asking, and is answered at once. */
static void test_late_answer(void)
{
	struct run *run = create("late", 2, true);
	uint32_t meanwhile;

	WAIT_FOR(run->calls[RS_HCALL_WAIT]);
	meanwhile = run->calls[RS_HCALL_LOG];
	g_timeout_add(200, answer_now, run);
	WAIT_FOR(run->ended);
	g_assert_cmpint(run->end.reason, ==, RS_END_EXIT);
	g_assert_cmpint(run->end.code, ==, 0);
	g_assert_cmpuint(run->calls[RS_HCALL_LOG], >, meanwhile + 10);
	g_assert_cmpuint(rs_slots_dropped(run->slots), ==, 0);
	destroy(run);
}

struct counters {
	uint64_t loops[8], sums[8];
};

static struct counters counters_of(struct run *run)
{
	struct counters c;

	g_assert_cmpint(
		run->target->ops->read_phys(run->target, (rs_gpa_t){COUNTERS}, &c, sizeof(c), NULL),
		==, 0);
	return c;
}

static bool both_moved(struct run *run, const struct counters *from)
{
	struct counters now = counters_of(run);

	return now.loops[0] > from->loops[0] + 1000 && now.loops[1] > from->loops[1] + 1000;
}

static void check_rate(const struct counters *a, const struct counters *b, uint64_t each)
{
	for (int i = 0; i < 2; i++) {
		uint64_t want = (b->loops[i] - a->loops[i]) * each;
		uint64_t got = b->sums[i] - a->sums[i];

		g_assert_cmpuint(got + 2 * each, >=, want);
		g_assert_cmpuint(got, <=, want + 2 * each);
	}
}

static void test_pause_and_patch(void)
{
	struct rs_text_patch patch = {
		.size = 5, .old_bytes = {0xb8, 1, 0, 0, 0}, .new_bytes = {0xb8, 42, 0, 0, 0}};
	struct run *run = create("spin", 2, true);
	const struct rs_target_ops *ops = run->target->ops;
	struct counters a, b = {0};
	uint64_t text;
	uint8_t now[1][RS_TEXT_MAX];

	WAIT_FOR(run->calls[RS_HCALL_LOG]);
	text = run->last.args[0];
	patch.at.v = patch.at_phys.v = text;
	WAIT_FOR(both_moved(run, &b));
	g_assert_cmpint(ops->pause(run->target, NULL), ==, 0);
	g_assert_cmpint(ops->pause(run->target, NULL), ==, -EBUSY);
	a = counters_of(run);
	g_usleep(20000);
	b = counters_of(run);
	g_assert_cmpmem(&a, sizeof(a), &b, sizeof(b)); /* it does stand still */
	g_assert_cmpint(rs_text_read(run->target, &patch, 1, now, NULL), ==, 0);
	g_assert_cmpmem(now[0], 5, patch.old_bytes, 5);
	g_assert_cmpint(rs_text_write(run->target, &patch, 1, NULL), ==, 0);
	exact_check(run->target, (rs_gva_t){SPARE}, (rs_gpa_t){SPARE},
		    (rs_gpa_t){SPARE - RS_PAGE_SIZE});
	g_assert_cmpint(ops->resume(run->target, NULL), ==, 0);
	WAIT_FOR(both_moved(run, &a));
	for (int i = 0; i < 100; i++) {
		g_usleep(500); /* long enough for both to be back in the guest */
		g_assert_cmpint(ops->pause(run->target, NULL), ==, 0);
		b = counters_of(run);
		g_assert_cmpint(ops->resume(run->target, NULL), ==, 0);
	}
	check_rate(&a, &b, 42);
	ops->stop(run->target, "the test is over");
	WAIT_FOR(run->ended);
	g_assert_cmpint(run->end.reason, ==, RS_END_KILLED);
	g_assert_cmpstr(run->end.text, ==, "the test is over");
	destroy(run);
}

static bool writes_live(struct run *run, struct rs_text_patch patch)
{
	return rs_text_writes_live(run->target, &patch, 1, 0);
}

/* Which patches are written while the guest runs, and when. */
static void test_live_which(void)
{
	struct rs_text_patch site = {
		.at = {SPARE + 3}, .at_phys = {SPARE + 3}, .is_site = true, .size = 5};
	struct rs_text_patch other = site, crossing = site, nowhere = site;
	struct run *run = create("spin", 1, true);
	uint32_t switching = 0;

	other.is_site = false;
	crossing.at.v = crossing.at_phys.v = SPARE + 4;
	nowhere.at_phys.v = RS_VMM_REGION_GPA;
	WAIT_FOR(run->calls[RS_HCALL_LOG]);
	/* This agent takes no breakpoints. A CPU that fetches words whole needs none to. */
	g_assert_cmpint(writes_live(run, site), ==, rs_fetch_is_whole());
	run->target->switching = &switching;
	g_assert_true(writes_live(run, site));
	g_assert_cmpint(writes_live(run, other), ==, rs_fetch_is_whole());
	g_assert_false(writes_live(run, crossing));
	g_assert_false(writes_live(run, nowhere));
	g_assert_cmpint(rs_target_pause(run->target, NULL), ==, 0);
	g_assert_false(writes_live(run, site));
	g_assert_cmpint(rs_target_resume(run->target, NULL, NULL), ==, 0);
	run->target->ops->stop(run->target, "the test is over");
	WAIT_FOR(run->ended);
	destroy(run);
}

/* A patch whose text is another one fails for itself, and the bytes beside a patch stay. */
static void test_live_exact(void)
{
	static const uint8_t before[16] = {1, 2,    0x0f, 0x1f, 0x44, 0, 0,  8,
					   9, 0x0f, 0x1f, 0x44, 0,    1, 15, 16};
	static const uint8_t after[16] = {1, 2,    0xe9, 5,    6, 7, 0,  8,
					  9, 0x0f, 0x1f, 0x44, 0, 1, 15, 16};
	struct rs_text_patch patches[2];
	struct run *run = create("spin", 1, true);
	struct rs_text_patch all = {.at = {SPARE}, .at_phys = {SPARE}, .size = sizeof(before)};
	uint8_t now[1][RS_TEXT_MAX];
	uint32_t switching = 0;
	bool bad[2] = {false};

	for (int i = 0; i < 2; i++)
		patches[i] = (struct rs_text_patch){.at = {SPARE + 2 + 7u * (unsigned int)i},
						    .at_phys = {SPARE + 2 + 7u * (unsigned int)i},
						    .is_site = true,
						    .size = 5,
						    .old_bytes = {0x0f, 0x1f, 0x44, 0, 0},
						    .new_bytes = {0xe9, 5, 6, 7, 0}};
	memcpy(all.new_bytes, before, sizeof(before));
	WAIT_FOR(run->calls[RS_HCALL_LOG]);
	run->target->switching = &switching;
	g_assert_cmpint(rs_target_pause(run->target, NULL), ==, 0);
	g_assert_cmpint(rs_text_write(run->target, &all, 1, NULL), ==, 0);
	g_assert_cmpint(rs_target_resume(run->target, NULL, NULL), ==, 0);
	g_assert_true(rs_text_writes_live(run->target, patches, 2, 0));
	g_assert_cmpint(rs_text_write_live(run->target, patches, 2, bad, NULL), ==, 0);
	g_assert_false(bad[0]);
	g_assert_true(bad[1]);
	g_assert_cmpint(rs_text_read(run->target, &all, 1, now, NULL), ==, 0);
	g_assert_cmpmem(now[0], sizeof(after), after, sizeof(after));
	/* Even, and another number than before: unless one store was all. */
	g_assert_cmpuint(switching, ==, rs_fetch_is_whole() ? 0 : 2);
	run->target->ops->stop(run->target, "the test is over");
	WAIT_FOR(run->ended);
	destroy(run);
}

static void test_memory(void)
{
	struct run *run = create("spin", 1, true);
	const struct rs_target_ops *ops = run->target->ops;
	struct rs_target_stats stats;
	struct rs_error err = {0};
	struct rs_text_patch patch = {.at_phys = {RS_VMM_REGION_GPA}, .size = 5};
	uint64_t words[2];

	WAIT_FOR(run->calls[RS_HCALL_LOG]);
	/* the directory's magic, and the edges of both pieces of memory */
	g_assert_cmpint(ops->read_phys(run->target, (rs_gpa_t){RS_VMM_REGION_GPA}, words, 8, NULL),
			==, 0);
	g_assert_cmphex(words[0], ==, RS_DIRECTORY_MAGIC);
	const struct {
		uint64_t at;
		int ret;
	} edges[] = {{(16 << 20) - 16, 0},
		     {(16 << 20) - 15, -EFAULT},
		     {UINT64_MAX - 3, -EFAULT},
		     {RS_VMM_REGION_GPA - 1, -EFAULT},
		     {RS_VMM_REGION_GPA + memory_size(run) - 16, 0},
		     {RS_VMM_REGION_GPA + memory_size(run) - 8, -EFAULT}};
	for (size_t i = 0; i < G_N_ELEMENTS(edges); i++)
		g_assert_cmpint(
			ops->read_phys(run->target, (rs_gpa_t){edges[i].at}, words, 16, &err), ==,
			edges[i].ret);
	/* The region is no text, and text is not written while the guest runs. */
	g_assert_cmpint(rs_text_write(run->target, &patch, 1, NULL), ==, -EPERM);
	ops->pause(run->target, NULL);
	g_assert_cmpint(rs_text_write(run->target, &patch, 1, NULL), ==, -EFAULT);
	patch.at_phys.v = (16 << 20) - 4;
	patch.at.v = RS_PAGE_SIZE - 4;
	patch.next_phys.v = 16 << 20; /* beyond the RAM */
	g_assert_cmpint(rs_text_write(run->target, &patch, 1, NULL), ==, -EFAULT);
	ops->resume(run->target, NULL);
	ops->stats(run->target, &stats);
	g_assert_cmpuint(stats.kvm_exits, >, 0);
	g_assert_cmpuint(ops->clock_hz(run->target), >, 100000000);
	destroy(run); /* while it runs */
}

static void test_clock(void)
{
	struct run *run = create("tsc", 1, false);
	uint64_t from = __builtin_ia32_rdtsc(), to;

	create_and_start(run, "test=tsc");
	WAIT_FOR(run->ended);
	to = __builtin_ia32_rdtsc();
	/* the guest's counter does not step between CPL 0 and CPL 3 … */
	g_assert_cmpuint(run->last.args[0], <, run->last.args[1]);
	if (run->target->ops->clock_now(run->target)) { /* … and is ours where KVM says so */
		g_assert_cmpuint(run->last.args[0], >, from);
		g_assert_cmpuint(run->last.args[1], <, to);
	} else {
		g_test_message("this KVM does not set TSC offsets");
	}
	destroy(run);
}

/* Also of what is written. */
static bool has_ended(struct run *run)
{
	struct rs_target_stats stats;

	run->target->ops->stats(run->target, &stats);
	return run->ended && !stats.console_waiting;
}

static void test_serial_file(void)
{
	g_autofree char *dir = g_dir_make_tmp("rs-vmm-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "serial", NULL);
	g_autofree char *text = NULL, *want = NULL;
	struct run *run = create("hello", 1, false);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	run->config.serial_fd = fd;
	create_and_start(run, "test=hello with words");
	close(fd);
	WAIT_FOR(has_ended(run));
	want = g_strdup_printf("hello: ringside=0x%llx,0x%" PRIx64 " test=hello with words\n",
			       RS_VMM_REGION_GPA, memory_size(run));
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, want);
	destroy(run);
	g_unlink(path);
	g_rmdir(dir);
}

static void test_serial_terminal(void)
{
	struct run *run = create("escape", 1, false);
	int master = posix_openpt(O_RDWR | O_NOCTTY), terminal;
	struct termios mode;
	char text[256] = {0};
	ssize_t size;

	g_assert_cmpint(master, >=, 0);
	g_assert_cmpint(grantpt(master) | unlockpt(master), ==, 0);
	terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	g_assert_cmpint(terminal, >=, 0);
	tcgetattr(terminal, &mode);
	cfmakeraw(&mode);
	tcsetattr(terminal, TCSANOW, &mode);
	run->config.serial_fd = terminal;
	create_and_start(run, "test=escape");
	WAIT_FOR(has_ended(run));
	g_usleep(20000);
	size = read(master, text, sizeof(text) - 1);
	g_assert_cmpint(size, >, 0);
	g_assert_cmpstr(text, ==, "a\\x1b[2Jb\\xc2\\x9bc\\xff \xc3\xa9\nlast");
	destroy(run);
	close(terminal);
	close(master);
}

/* Nobody reads the output. The guest still can be paused, says its last words, and ends. */
static void stuck(const char *test, uint64_t words)
{
	g_autofree char *cmdline = g_strdup_printf("test=%s", test);
	struct run *run = create(test, 1, false);
	struct rs_target_stats stats = {0};
	char block[4096] = {0};
	int pipes[2];

	g_assert_cmpint(pipe2(pipes, O_NONBLOCK), ==, 0);
	while (write(pipes[1], block, sizeof(block)) > 0)
		;
	g_assert_cmpint(fcntl(pipes[1], F_SETFL, 0), ==, 0);
	run->config.serial_fd = pipes[1];
	create_and_start(run, cmdline);
	while (stats.console_waiting < words)
		run->target->ops->stats(run->target, &stats);
	g_assert_cmpint(run->target->ops->pause(run->target, NULL), ==, 0);
	g_assert_cmpint(run->target->ops->resume(run->target, NULL), ==, 0);
	if (g_str_equal(test, "talk"))
		run->target->ops->stop(run->target, "stuck");
	WAIT_FOR(run->ended);
	g_assert_cmpint(run->end.reason, ==,
			g_str_equal(test, "talk") ? RS_END_KILLED : RS_END_EXIT);
	run->target->ops->stats(run->target, &stats);
	g_assert_cmpuint(stats.console_waiting, >=, words);
	g_assert_cmpuint(stats.console_waiting, <, 1 << 20);
	destroy(run);
	close(pipes[0]);
	close(pipes[1]);
}

static void test_serial_stuck(void)
{
	/* It says two lines, the second of them unfinished, and ends. */
	stuck("escape", strlen("a.[2Jb..c. ..\r\nlast"));
	stuck("talk", 100); /* without end: the vCPU waits for the reader */
}

static void test_initrd(void)
{
	g_autofree char *dir = g_dir_make_tmp("rs-vmm-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "initrd", NULL);
	g_autofree char *out = g_build_filename(dir, "serial", NULL);
	g_autofree char *text = NULL;
	struct run *run = create("initrd", 1, false);
	int fd = open(out, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	g_assert_true(g_file_set_contents(path, "from the initrd", -1, NULL));
	run->config.initrd = path;
	run->config.serial_fd = fd;
	create_and_start(run, "test=initrd");
	close(fd);
	WAIT_FOR(has_ended(run));
	g_assert_cmpint(run->end.code, ==, 0);
	g_assert_true(g_file_get_contents(out, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, "from the initrd");
	destroy(run);
	g_unlink(path);
	g_unlink(out);
	g_rmdir(dir);
}

static void refuse(struct rs_vmm_config config, int ret, const char *words)
{
	struct rs_target *target = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(rs_vmm_create(&config, &target, &err), ==, ret);
	g_assert_null(target);
	g_assert_nonnull(strstr(err.message, words));
}

static void test_refusals(void)
{
	struct run *run = create("hello", 1, false);
	struct rs_vmm_config good = run->config, c;
	g_autofree char *line = g_strnfill(9000, 'x');
	int empty = memfd_create("empty", MFD_CLOEXEC);

	c = good, c.vcpus = 0, refuse(c, -EINVAL, "0 vCPUs");
	c = good, c.vcpus = 1025, refuse(c, -EINVAL, "1025 vCPUs");
	c = good, c.memory = 4096, refuse(c, -EINVAL, "from 1 MiB to 3 GiB");
	c = good, c.memory = 4ull << 30, refuse(c, -EINVAL, "guest memory");
	c = good, c.memory += 1, refuse(c, -EINVAL, "guest memory");
	c = good, c.memory = 1 << 20, refuse(c, -ERANGE, "outside the guest's 1 MiB");
	c = good, c.kernel = NULL, refuse(c, -EINVAL, "no kernel");
	c = good, c.kernel = "/nonexistent", refuse(c, -ENOENT, "kernel '/nonexistent'");
	c = good, c.kernel = "/dev/null", refuse(c, -ENOEXEC, "not a regular file");
	c = good, c.kernel = "/etc/passwd", refuse(c, -ENOEXEC, "not an ELF file");
	c = good, c.kernel = "/proc/self/exe", refuse(c, -ERANGE, "boot data");
	c = good, c.initrd = "/nonexistent", refuse(c, -ENOENT, "initrd '/nonexistent'");
	c = good, c.cmdline = line, refuse(c, -E2BIG, "command line");
	c = good, c.serial_fd = INT_MAX, refuse(c, -EBADF, "serial output");
	c = good, c.regions_fd = empty, refuse(c, -EINVAL, "cannot be 0 bytes");
	g_assert_cmpint(ftruncate(empty, 4 << 20), ==, 0);
	refuse(c, -EPROTO, "not laid out");
	close(empty);
	memset(run->region->map, 0, 8);
	refuse(good, -EPROTO, "not laid out");
	destroy(run);
}

static void test_hang_is_stopped(void)
{
	struct run *run = create("hlt", 2, true);

	g_usleep(50000);
	run->target->ops->stop(run->target, "no sign of life");
	WAIT_FOR(run->ended);
	g_assert_cmpint(run->end.reason, ==, RS_END_KILLED);
	g_assert_cmpstr(run->end.text, ==, "no sign of life");
	destroy(run);
}

int main(int argc, char **argv)
{
	struct rs_error err = {0};
	int ret;

	g_test_init(&argc, &argv, NULL);
	guest = argv[1];
	ret = rs_vmm_probe(&err);
	if (ret == -ENOENT || ret == -ENODEV || ret == -ENXIO) {
		g_print("1..0 # SKIP %s\n", err.message);
		return 0;
	}
	g_test_add_func("/vmm/ends", test_ends);
	g_test_add_func("/vmm/bad-requests", test_bad_requests);
	g_test_add_func("/vmm/doorbell", test_doorbell);
	g_test_add_func("/vmm/nudge", test_nudge);
	g_test_add_func("/vmm/late-answer", test_late_answer);
	g_test_add_func("/vmm/pause-while-asked", test_pause_while_asked);
	g_test_add_func("/vmm/pause-and-patch", test_pause_and_patch);
	g_test_add_func("/vmm/live/which", test_live_which);
	g_test_add_func("/vmm/live/exact", test_live_exact);
	g_test_add_func("/vmm/memory", test_memory);
	g_test_add_func("/vmm/clock", test_clock);
	g_test_add_func("/vmm/serial-file", test_serial_file);
	g_test_add_func("/vmm/serial-terminal", test_serial_terminal);
	g_test_add_func("/vmm/serial-stuck", test_serial_stuck);
	g_test_add_func("/vmm/initrd", test_initrd);
	g_test_add_func("/vmm/refusals", test_refusals);
	g_test_add_func("/vmm/hang", test_hang_is_stopped);
	return g_test_run();
}
