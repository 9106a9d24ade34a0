/* SPDX-License-Identifier: MIT */
/*
 * The work of the demo's tasks. In each round COMPUTE_WORKERS workers compress, and one pager
 * touches PAGER_PAGES pages and gives them back. All are new tasks. A clock task sleeps and asks
 * the time, and a shell runs programs (programs.c). So `rounds=N` gives exactly N * (workers + 1)
 * task creations of a round, N * workers compute:round, N * workers * COMPUTE_BLOCKS compute:block
 * and N * PAGER_PAGES mm:page_fault.
 */
#include "demo.h"
#include "events.h"

#define PAGER_PAGES 8u

static uint64_t current_round;
uint32_t demo_clock;

USER static void worker_task(uint64_t worker)
{
	uint64_t round = current_round;
	bool good = compute_round((uint32_t)worker, round);
	sys(SYS_YIELD, 0, 0, 0);
	sys(SYS_EXIT, good ? 0 : 1, 0, 0);
}

USER static void pager_task(uint64_t pages)
{
	volatile uint8_t *window = mm_window(task_current()->slot);
	uint32_t wrong = 0;
	for (uint64_t i = 0; i < pages; i++)
		window[i * 4096 + i] = (uint8_t)(i + 1);
	for (uint64_t i = 0; i < pages; i++)
		wrong += window[i * 4096 + i] != (uint8_t)(i + 1) || window[i * 4096 + i + 1] != 0;
	uint64_t given = (uint64_t)sys(SYS_RELEASE, 0, 0, 0);
	sys(SYS_EXIT, wrong || given != pages ? 1 : 0, 0, 0);
}

USER static void clock_task(uint64_t unused)
{
	int64_t last = 0;
	while (!__atomic_load_n(&demo_over, __ATOMIC_RELAXED)) {
		sys(SYS_SLEEP, 5, 0, 0);
		int64_t now = sys(SYS_TIME, 0, 0, 0);
		if (now < last)
			rs_panic("the clock went back");
		last = now;
		__atomic_fetch_add(&demo_clock, 1, __ATOMIC_RELAXED);
	}
	sys(SYS_EXIT, 0, 0, 0);
}

/* A new task that runs a program instead of this: entry number `index` of program_nodes. */
USER static void program_task(uint64_t index)
{
	sys(SYS_EXEC, (uintptr_t)program_nodes[index].path, (uintptr_t) "/etc/motd", 0);
	sys(SYS_EXIT, 127, 0, 0);
}

USER static void spin_task(uint64_t address)
{
	volatile uint64_t *count = (volatile uint64_t *)(uintptr_t)address;
	while (*count < UINT64_MAX / 2) {
		*count = *count + 1;
		/* It is held where it is in user mode, which is seldom the kernel. */
		if (*count % 1024 == 0)
			safe_point();
	}
	sys(SYS_EXIT, 9, 0, 0);
}

/* In the kernel: SYS_SPAWN. */
int64_t workload_spawn(uint64_t what, uint64_t arg)
{
	static void (*const runs[])(uint64_t) = {worker_task, pager_task, program_task, spin_task};
	static const char *const names[] = {"lz-%u", "pager-%u", "", "spin"};
	char comm[16];
	uint32_t pid;

	if (what > RUN_SPIN || (what == RUN_WORKER && arg >= COMPUTE_WORKERS) ||
	    (what == RUN_PAGER && arg > MM_WINDOW_PAGES) || (what == RUN_SPIN && !mm_user(arg, 8)))
		return -RS_EINVAL;
	for (uint64_t i = 0; what == RUN_PROGRAM && i <= arg; i++)
		if (!program_nodes[i].path)
			return -RS_EINVAL;
	rs_snprintf(comm, sizeof comm, names[what], (uint32_t)arg);
	if (what == RUN_PROGRAM)
		rs_snprintf(comm, sizeof comm, "%s", path_name(program_nodes[arg].path));
	pid = task_spawn(comm, runs[what], arg);
	return pid ? (int64_t)pid : -RS_EAGAIN;
}

/* ---- init ---- */

USER static void run_round(uint64_t round)
{
	int64_t pids[COMPUTE_WORKERS + 1];
	current_round = round;
	for (uint32_t i = 0; i < COMPUTE_WORKERS; i++)
		pids[i] = sys(SYS_SPAWN, RUN_WORKER, i, 0);
	pids[COMPUTE_WORKERS] = sys(SYS_SPAWN, RUN_PAGER, PAGER_PAGES, 0);
	for (uint32_t i = 0; i <= COMPUTE_WORKERS; i++)
		if (pids[i] < 0 || wait_for((uint64_t)pids[i]) != 0)
			__atomic_fetch_add(&demo_bad, 1, __ATOMIC_RELAXED);
}

static bool time_is_up(uint64_t start, uint64_t seconds)
{
	return seconds && rs_tsc() - start >= seconds * rs_tsc_hz();
}

/* In the kernel: what init needs of it. */
static void start_others(uint32_t pids[2])
{
	serve_start();
	if (rs_option("engines", NULL, 0))
		engines_start();
	pids[0] = task_spawn("clock", clock_task, 0);
	pids[1] = task_spawn("sh", shell_task, 0);
}

USER void workload_init_task(uint64_t unused)
{
	char crash[32];
	bool crashes = rs_option("crash", crash, sizeof crash);
	uint64_t rounds = rs_option_u64("rounds", crashes ? 3 : 0);
	uint64_t seconds = rs_option_u64("duration", 0), pace = rs_option_u64("pace", 10);
	uint64_t start = rs_tsc(), round = 0;
	uint32_t others[2];

	start_others(others);
	while ((!rounds || round < rounds) && !time_is_up(start, seconds)) {
		run_round(round++);
		if (pace)
			sys(SYS_SLEEP, pace, 0, 0);
	}
	__atomic_store_n(&demo_over, true, __ATOMIC_RELAXED);
	wait_for(others[0]);
	wait_for(others[1]);
	if (rs_option("engines", NULL, 0) && !engines_end())
		demo_bad++;
	say("demo: %lu rounds, %lu compute rounds, %u page faults, %u bad, %u vCPUs\n", round,
	    round * COMPUTE_WORKERS, demo_faults, demo_bad, rs_cpu_count());
	if (crashes)
		hostile_crash(crash);
	say("demo: %s\n", demo_bad ? "FAILED" : "ok");
	rs_exit(demo_bad ? 1 : 0);
}
