/* SPDX-License-Identifier: MIT */
/*
 * What engines cost the threads and events that they are not attached to, and those that they are:
 * "NAME VALUE UNIT" lines. An event is the entry of a system call.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <ringside/utrace_os.h>

#define ENGINES 1000

static struct rs_utrace_thread mine, others[ENGINES];
static struct rs_utrace_engine elsewhere[ENGINES], here[ENGINES], watching;

static void block(struct rs_utrace_thread *thread)
{
	abort();
}

static void wake(struct rs_utrace_thread *thread)
{
}

static void kick(struct rs_utrace_thread *thread, bool interrupt)
{
}

static const void *current(void)
{
	return &mine;
}

static bool wait(void)
{
	return true;
}

static const struct rs_utrace_os os = {
	.block = block, .unblock = wake, .kick = kick, .current = current, .wait = wait};

static uint32_t on_entry(uint32_t action, struct rs_utrace_engine *engine, void *regs)
{
	return RS_UTRACE_RESUME;
}

static uint32_t on_exec(uint32_t action, struct rs_utrace_engine *engine, const char *path,
			void *regs)
{
	return RS_UTRACE_RESUME;
}

static const struct rs_utrace_ops ops = {.report_syscall_entry = on_entry, .report_exec = on_exec};

static void attach(struct rs_utrace_thread *thread, struct rs_utrace_engine *memory,
		   uint32_t events)
{
	struct rs_utrace_engine *engine;

	if (rs_utrace_attach(thread, RS_UTRACE_ATTACH_CREATE, &ops, NULL, memory, &engine) ||
	    rs_utrace_set_events(engine, events))
		exit(1);
}

static double event(void)
{
	double best;

	BENCH(best, rs_utrace_report_syscall_entry(&mine, NULL));
	return best;
}

/* All that a system call passes. */
static double whole_call(void)
{
	double best;

	BENCH(best, {
		rs_utrace_report_syscall_entry(&mine, NULL);
		rs_utrace_report_syscall_exit(&mine, NULL);
		rs_utrace_resume(&mine);
	});
	return best;
}

int main(void)
{
	double empty, none, call, far, near, one, among;

	rs_utrace_thread_init(&mine, &os, 1);
	BENCH(empty, (void)0);
	none = event();
	call = whole_call();
	for (uint32_t i = 0; i < ENGINES; i++) {
		rs_utrace_thread_init(&others[i], &os, 2 + i);
		attach(&others[i], &elsewhere[i], RS_UTRACE_EVENT(SYSCALL_ENTRY));
	}
	far = event();
	attach(&mine, &watching, RS_UTRACE_EVENT(SYSCALL_ENTRY));
	one = event();
	rs_utrace_set_events(&watching, 0);
	for (uint32_t i = 0; i < ENGINES; i++)
		attach(&mine, &here[i], RS_UTRACE_EVENT(EXEC));
	near = event();
	rs_utrace_set_events(&watching, RS_UTRACE_EVENT(SYSCALL_ENTRY));
	among = event();

	bench_print("empty", empty, "ns");
	bench_print("event-no-engine", none, "ns");
	bench_print("event-1000-engines-on-other-threads", far, "ns");
	bench_print("event-1000-engines-for-other-events", near, "ns");
	bench_print("system-call-no-engine", call, "ns");
	bench_print("event-one-engine", one, "ns");
	bench_print("event-one-engine-among-1000-for-others", among, "ns");
	bench_print("no-engine-above-empty", none - empty, "ns");
	bench_print("1000-on-others/none", far / none, "times");
	bench_print("1000-for-others/none", near / none, "times");
	return 0;
}
