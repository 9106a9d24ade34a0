/* SPDX-License-Identifier: MIT */
/*
 * The work of the demo's tasks. In each round COMPUTE_WORKERS workers compress, and one pager
 * touches PAGER_PAGES pages and gives them back. All are new tasks. A clock task sleeps and asks
 * the time. So `rounds=N` gives exactly N * (workers + 1) task creations of a round, N * workers
 * compute:round, N * workers * COMPUTE_BLOCKS compute:block and N * PAGER_PAGES mm:page_fault.
 */
#include "demo.h"
#include "events.h"

#define PAGER_PAGES 8u

enum { RUN_WORKER, RUN_PAGER };
static uint64_t current_round;
static uint32_t bad;
static bool over;

static void sys_exit(int32_t code)
{
	rs_syscall(SYS_EXIT, (uint64_t)code, 0, 0);
}

static void worker_task(uint64_t worker)
{
	uint64_t round = current_round;
	bool good = compute_round((uint32_t)worker, round);
	rs_syscall(SYS_YIELD, 0, 0, 0);
	sys_exit(good ? 0 : 1);
}

static void pager_task(uint64_t pages)
{
	volatile uint8_t *window = mm_window(task_current()->slot);
	uint32_t wrong = 0;
	for (uint64_t i = 0; i < pages; i++)
		window[i * 4096 + i] = (uint8_t)(i + 1);
	for (uint64_t i = 0; i < pages; i++)
		wrong += window[i * 4096 + i] != (uint8_t)(i + 1) || window[i * 4096 + i + 1] != 0;
	uint64_t given = rs_syscall(SYS_RELEASE, 0, 0, 0);
	sys_exit(wrong || given != pages ? 1 : 0);
}

static void clock_task(uint64_t unused)
{
	uint64_t last = 0;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		rs_syscall(SYS_SLEEP, 5, 0, 0);
		uint64_t now = rs_syscall(SYS_TIME, 0, 0, 0);
		if (now < last)
			rs_panic("the clock went back");
		last = now;
	}
	sys_exit(0);
}

/* ---- system calls ---- */

static uint64_t spawn(uint64_t what, uint64_t arg)
{
	char comm[16];
	rs_snprintf(comm, sizeof comm, what == RUN_WORKER ? "lz-%u" : "pager-%u", (uint32_t)arg);
	return task_spawn(comm, what == RUN_WORKER ? worker_task : pager_task, arg);
}

static uint64_t handle(uint64_t number, uint64_t a, uint64_t b)
{
	switch (number) {
	case SYS_GETPID:
		return rs_pid();
	case SYS_SLEEP:
		task_sleep(a);
		return 0;
	case SYS_SPAWN:
		return spawn(a, b);
	case SYS_WAIT:
		return (uint64_t)(int64_t)task_wait((uint32_t)a);
	case SYS_YIELD:
		task_yield();
		return 0;
	case SYS_TIME:
		return rs_tsc() / (rs_tsc_hz() / 1000000); /* microseconds */
	case SYS_RELEASE:
		return mm_release(task_current()->slot, rs_pid());
	default:
		return (uint64_t)-38;
	}
}

uint64_t rs_on_syscall(uint64_t number, uint64_t a, uint64_t b, uint64_t c, struct rs_frame *frame)
{
	uint64_t args[3] = {a, b, c};
	trace_syscalls_enter(number, args);
	if (number == SYS_EXIT)
		task_exit((int32_t)a);
	uint64_t ret = handle(number, a, b);
	trace_syscalls_exit(number, (int64_t)ret);
	safe_point();
	return ret;
}

/* ---- init ---- */

static void run_round(uint64_t round)
{
	uint64_t pids[COMPUTE_WORKERS + 1];
	current_round = round;
	for (uint32_t i = 0; i < COMPUTE_WORKERS; i++)
		pids[i] = rs_syscall(SYS_SPAWN, RUN_WORKER, i, 0);
	pids[COMPUTE_WORKERS] = rs_syscall(SYS_SPAWN, RUN_PAGER, PAGER_PAGES, 0);
	for (uint32_t i = 0; i <= COMPUTE_WORKERS; i++)
		if (!pids[i] || rs_syscall(SYS_WAIT, pids[i], 0, 0) != 0)
			bad++;
}

static bool time_is_up(uint64_t start, uint64_t seconds)
{
	return seconds && rs_tsc() - start >= seconds * rs_tsc_hz();
}

void workload_init_task(uint64_t unused)
{
	char crash[32];
	bool crashes = rs_option("crash", crash, sizeof crash);
	uint64_t rounds = rs_option_u64("rounds", crashes ? 3 : 0);
	uint64_t seconds = rs_option_u64("duration", 0), pace = rs_option_u64("pace", 10);
	uint64_t start = rs_tsc(), round = 0;
	uint32_t clock = task_spawn("clock", clock_task, 0);

	while ((!rounds || round < rounds) && !time_is_up(start, seconds)) {
		run_round(round++);
		if (pace)
			rs_syscall(SYS_SLEEP, pace, 0, 0);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	task_wait(clock);
	rs_printf("demo: %lu rounds, %lu compute rounds, %u page faults, %u bad, %u vCPUs\n", round,
		  round * COMPUTE_WORKERS, demo_faults, bad, rs_cpu_count());
	if (crashes)
		hostile_crash(crash);
	rs_printf("demo: %s\n", bad ? "FAILED" : "ok");
	rs_exit(bad ? 1 : 0);
}
