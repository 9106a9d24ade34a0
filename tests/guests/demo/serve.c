/* SPDX-License-Identifier: MIT */
/* The task of the kernel that does what the host asks: `ringside ktrace`, `ringside engine`. */
#include "demo.h"
#include "events.h"

#include <ringside/serve.h>
#include <ringside/utrace_host.h>

#define PAUSE_MS 10     /* while there is nothing to do */
#define PAUSE_BUSY_MS 1 /* for so many pauses after there was something: */
#define BUSY 100
#define STEPS 16 /* before a pause, whatever the host does */

static struct rs_serve commands;
static struct rs_ktrace_server ktrace;
static struct rs_utrace_host host;
static struct rs_utrace_host_engine engines[MAX_TASKS];

/* Returns whether there was something to do. */
static bool serve(void)
{
	bool did = false;

	for (uint32_t i = 0; i < STEPS && rs_serve_step(&commands) > 0; i++)
		did = true;
	return did;
}

static void run(uint64_t unused)
{
	uint32_t busy = 0;

	rs_ktrace_serve(&ktrace, &commands, &demo_ktrace_caller);
	rs_utrace_serve(&host, &commands, &demo_utrace, engines, MAX_TASKS);
	while (!__atomic_load_n(&demo_over, __ATOMIC_RELAXED)) {
		busy = serve() ? BUSY : busy ? busy - 1 : 0;
		task_sleep(busy ? PAUSE_BUSY_MS : PAUSE_MS);
	}
}

void serve_start(void)
{
	task_spawn_kernel("serve", run, 0);
}
