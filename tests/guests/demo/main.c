/* SPDX-License-Identifier: MIT */
/*
 * The demo guest's command line:
 *	rounds=N duration=SECONDS           how long it runs (default: for ever)
 *	pace=MS                             pause after each round (default: 10)
 *	flood [count=N]                     emit load:flood as fast as possible on each vCPU
 *	scribble [rounds=N seed=N]          garbage over the guest's part of the region
 *	lies [duration=SECONDS seed=N]      true data there with small changes, over and over
 *	sites, calls [logs] [… seed=N]      garbage in the site tables; invalid hypercalls, or logs
 *	crash=panic|triple|reset|hang|exit:N  after `rounds` (default 3)
 *	noagent, badabi, stale              no agent, or one that the host must refuse
 *	ktrace=MASK                         trace init and all who come from it (RS_KTRFAC_*)
 *	engines                             engines on threads of the guest, and what they saw
 *	watch [rounds=N]                    vCPU 1 waits N times for a change, vCPU 0 asks
 *	cpus=N                              vCPUs to start (default: what the machine says)
 */
#define RS_CREATE_TRACE_POINTS
#include "events.h"

#include "demo.h"

const char demo_name[] = "demo";
const char rs_guest_name[] = "demo";

static uint32_t flooding;

bool rs_want_agent(void)
{
	return !hostile_wants_no_agent();
}

void rs_early(void)
{
	if (rs_option("prompt", NULL, 0))
		rs_printf("demo> ");
	else
		rs_printf("demo: Ringside's demo guest, command line \"%s\"\n", rs_boot_cmdline());
	sched_init();
}

static void flood(uint32_t cpu)
{
	uint64_t count = rs_option_u64("count", 0), seconds = rs_option_u64("duration", 0);
	uint64_t start = rs_tsc(), limit = seconds * rs_tsc_hz();
	uint64_t n = 0;
	char comm[16] = {0};

	rs_snprintf(comm, sizeof comm, "flood-%u", cpu);
	rs_set_task(cpu + 1, cpu + 1, comm);
	while ((!count || n < count) && (!limit || rs_tsc() - start < limit)) {
		for (uint32_t i = 0; i < 100 && (!count || n < count); i++)
			trace_load_flood(cpu, (uint32_t)n++);
	}
	uint64_t us = (rs_tsc() - start) / (rs_tsc_hz() / 1000000);
	rs_printf("demo: vCPU %u flooded %lu events in %lu us\n", cpu, n, us);
	__atomic_fetch_add(&flooding, 1, __ATOMIC_ACQ_REL);
	while (cpu == 0 && __atomic_load_n(&flooding, __ATOMIC_ACQUIRE) < rs_cpu_count())
		rs_pause();
	if (cpu == 0)
		rs_exit(0);
	for (;;)
		rs_idle();
}

void rs_main(uint32_t cpu)
{
	if (cpu == 0 && hostile_wants_no_agent())
		hostile_start_agent();
	if (rs_option("watch", NULL, 0))
		watch(cpu);
	if (rs_option("flood", NULL, 0))
		flood(cpu);
	if (rs_option("calls", NULL, 0))
		hostile_calls(cpu);
	if (rs_option("sites", NULL, 0) && cpu)
		for (;;)
			trace_load_flood(cpu, 0);
	if (rs_option("lies", NULL, 0) && cpu == 0) {
		static const char name[16] = "\x1b[31mliar\x07\xff\n";
		static const uint16_t lengths[8] = {1, 2, 3};
		uint64_t start = rs_tsc();
		/* Emit something to lie about, after the host had time to enable it. */
		while (rs_tsc() - start < rs_tsc_hz() / 2)
			rs_pause();
		rs_set_task(1, 1, name);
		for (uint32_t i = 0; i < 4000; i++) {
			trace_load_flood(cpu, i);
			trace_compute_round(cpu, i, i, lengths,
					    "\x1b]0;title\x07\x1b[2J\x9b"
					    "31m\n# forged");
		}
		hostile_lies();
	}
	if (rs_option("scribble", NULL, 0) || rs_option("lies", NULL, 0) ||
	    rs_option("sites", NULL, 0)) {
		/* Nobody may emit meanwhile, since the agent trusts its own part of the region. */
		if (cpu == 0 && rs_option("sites", NULL, 0))
			hostile_sites();
		if (cpu == 0)
			hostile_scribble();
		for (;;)
			rs_idle();
	}
	if (cpu == 0)
		task_spawn("init", workload_init_task, 0);
	sched_run(cpu);
}
