/* SPDX-License-Identifier: MIT */
/* The task of the kernel that does what the host asks: `ringside ktrace`, `ringside engine`. */
#include "demo.h"
#include "events.h"

#include <ringside/serve.h>
#include <ringside/utrace_host.h>

#define PAUSE_MS 10
#define STEPS 16 /* before a pause, whatever the host does */

static struct rs_serve commands;
static struct rs_ktrace_server ktrace;
static struct rs_utrace_host host;
static struct rs_utrace_host_engine engines[MAX_TASKS];

static void run(uint64_t unused)
{
	rs_ktrace_serve(&ktrace, &commands, &demo_ktrace_caller);
	rs_utrace_serve(&host, &commands, &demo_utrace, engines, MAX_TASKS);
	while (!__atomic_load_n(&demo_over, __ATOMIC_RELAXED)) {
		for (uint32_t i = 0; i < STEPS && rs_serve_step(&commands) > 0; i++)
			;
		task_sleep(PAUSE_MS);
	}
}

void serve_start(void)
{
	task_spawn_kernel("serve", run, 0);
}
