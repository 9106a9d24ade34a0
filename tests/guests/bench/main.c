/* SPDX-License-Identifier: MIT */
/*
 * Measures the agent from inside a guest: the cost of a disabled site, an enabled event and a
 * rejecting filter, on one vCPU and on all. It reports each figure as a LOG hypercall, an event
 * bench:result and a console line
 *	bench: NAME best=PS median=PS vcpus=N        picoseconds an iteration, loop included
 * The request "bench: begin NAME" comes right before the measured stretch and the figure right
 * after it, so that a host can compare its exit counters. The guest asks the host to enable and
 * filter its own events, so it needs a session. `standalone` measures only what needs no session.
 * Options: n=ITERATIONS (20000), rounds=N (200), standalone. `serve`: measures nothing and runs
 * through the sites on all vCPUs until the host ends it.
 */
#define RS_CREATE_TRACE_POINTS
#include "events.h"

#include <ringside/agent.h>
#include <rs_baremetal.h>

const char rs_guest_name[] = "bench";

#define MAX_ROUNDS 255u
#define WARM 300000u /* iterations: one lap of a ring of 4 MiB, so that its pages are mapped */

typedef void loop_fn(uint32_t n);

/* ---- the measured loops, which differ only in their body ---- */

__attribute__((noinline)) static void loop_empty(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(i)::"memory");
}

/* The least that a record of a time costs. */
static volatile uint64_t floor_at;

__attribute__((noinline)) static void loop_floor(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		floor_at = __builtin_ia32_rdtsc();
		__asm__ volatile("" : "+r"(i)::"memory");
	}
}

__attribute__((noinline)) static void loop_off(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		trace_bench_off(i, 1);
		__asm__ volatile("" : "+r"(i)::"memory");
	}
}

__attribute__((noinline)) static void loop_two(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		trace_bench_two(i, 1);
		__asm__ volatile("" : "+r"(i)::"memory");
	}
}

#define TIMES4(x) x x x x
#define SITE trace_bench_many(number++);
#define SITES_256 TIMES4(TIMES4(TIMES4(TIMES4(SITE))))
#define SITE_COUNT 1024u

__attribute__((noinline)) static void fire_many(void)
{
	uint32_t number = 0;
	TIMES4(SITES_256)
}

/* ---- all vCPUs at once ---- */

static struct {
	uint32_t wanted __attribute__((aligned(64))); /* grows: next measurement */
	loop_fn *loop;
	uint32_t n;
	uint32_t ready __attribute__((aligned(64)));
	uint32_t go __attribute__((aligned(64)));
	uint32_t done __attribute__((aligned(64)));
	uint64_t first, last; /* TSC: from the common start to the last end */
} team;

static void raise_to(uint64_t *at, uint64_t value)
{
	uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED);
	while (old < value && !__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_ACQ_REL,
							   __ATOMIC_RELAXED))
		;
}

static void run_share(uint32_t number)
{
	__atomic_fetch_add(&team.ready, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&team.go, __ATOMIC_ACQUIRE) != number)
		rs_pause();
	team.loop(team.n);
	raise_to(&team.last, rs_tsc());
	__atomic_fetch_add(&team.done, 1, __ATOMIC_ACQ_REL);
}

static uint64_t time_team(loop_fn *loop, uint32_t n)
{
	uint32_t number = team.wanted + 1;
	team.loop = loop;
	team.n = n;
	team.ready = team.done = 0;
	team.last = 0;
	__atomic_store_n(&team.wanted, number, __ATOMIC_RELEASE);
	while (__atomic_load_n(&team.ready, __ATOMIC_ACQUIRE) != rs_cpu_count() - 1)
		rs_pause();
	uint64_t start = rs_tsc();
	__atomic_store_n(&team.go, number, __ATOMIC_RELEASE);
	run_share(number);
	while (__atomic_load_n(&team.done, __ATOMIC_ACQUIRE) != rs_cpu_count())
		rs_pause();
	return team.last - start;
}

static uint64_t time_alone(loop_fn *loop, uint32_t n)
{
	uint64_t start = rs_tsc();
	loop(n);
	return rs_tsc() - start;
}

/* ---- measuring and saying ---- */

struct figure {
	uint64_t best, median; /* ticks of n iterations */
};

static void tell(const char *line)
{
	if (rs_agent_active())
		rs_agent_log(line);
}

static struct figure measure(const char *name, loop_fn *loop, bool all, uint32_t n, uint32_t rounds)
{
	uint64_t t[MAX_ROUNDS];
	uint32_t count = 0;
	char line[64];
	/* Warm up pages, caches, branch predictors. */
	if (all)
		time_team(loop, WARM);
	else
		loop(WARM);
	rs_snprintf(line, sizeof line, "bench: begin %s", name);
	tell(line);
	while (count < rounds) {
		uint64_t ticks = all ? time_team(loop, n) : time_alone(loop, n);
		uint32_t at = count++;
		for (; at && t[at - 1] > ticks; at--)
			t[at] = t[at - 1];
		t[at] = ticks;
	}
	return (struct figure){t[0], t[rounds / 2]};
}

/* Ticks of n iterations -> picoseconds of one. */
static uint64_t ps(uint64_t ticks, uint32_t n)
{
	return ticks * 1000 / n * 1000000 / (rs_tsc_hz() / 1000);
}

static void say(const char *name, uint64_t best, uint64_t median, uint32_t vcpus)
{
	char line[128];
	rs_snprintf(line, sizeof line, "bench: %s best=%lu median=%lu vcpus=%u", name, best, median,
		    vcpus);
	tell(line); /* before the console, which costs exits */
	trace_bench_result(name, best, median, vcpus);
	rs_printf("%s\n", line);
}

static uint32_t n, rounds;

static void report(const char *name, loop_fn *loop, bool all)
{
	struct figure f = measure(name, loop, all, n, rounds);
	say(name, ps(f.best, n), ps(f.median, n), all ? rs_cpu_count() : 1);
}

static bool is_on(const struct rs_event *event)
{
	return rs_event_control(event) & RS_EVENT_ENABLED;
}

static void ask(const char *what, int32_t result, const struct rs_hcall_reply *reply)
{
	if (result < 0)
		rs_panic("%s: %s (%s)", what, rs_agent_strerror(result), reply->text);
}

static void measure_filter(const char *name, const char *filter)
{
	struct rs_hcall_reply reply = {0};
	ask(filter, rs_agent_set_filter(filter, &reply), &reply);
	report(name, loop_two, false);
}

static void measure_batch(void)
{
	struct rs_hcall_reply reply = {0};
	uint64_t start = rs_tsc();
	ask("enable bench:many", rs_agent_enable("bench:many", &reply), &reply);
	uint64_t on = rs_tsc();
	fire_many();
	ask("disable bench:many", rs_agent_disable("bench:many", &reply), &reply);
	/* As the guest sees it, with request and answer, for SITE_COUNT sites. */
	say("enable-1024-sites", ps(on - start, 1), ps(on - start, 1), 1);
}

static void measure_with_session(void)
{
	struct rs_hcall_reply reply = {0};
	ask("enable bench:result", rs_agent_enable("bench:result", &reply), &reply);
	ask("enable bench:two", rs_agent_enable("bench:two", &reply), &reply);
	if (!is_on(&rs_event_bench_two))
		rs_panic("the host says that bench:two is on, its control word does not");
	report("enabled-2xu32", loop_two, false);
	if (rs_cpu_count() > 1)
		report("enabled-2xu32-all", loop_two, true);
	measure_filter("reject-1-term", "bench:two: a == 4294967295");
	measure_filter("reject-3-terms", "bench:two: b == 1 && a != 4294967294 && a == 4294967295");
	measure_filter("accept-3-terms", "bench:two: b == 1 && a != 4294967294 && a != 4294967295");
	ask("clear", rs_agent_set_filter("bench:two:", &reply), &reply);
	ask("disable bench:two", rs_agent_disable("bench:two", &reply), &reply);
	report("off-again", loop_two, false);
	measure_batch();
}

/* ---- running through sites while the host switches them ---- */

/* Records carry the longest time between two of the last passes, in ticks: LAST to 2 * LAST. */
#define LAST 512u

__attribute__((noreturn)) static void loop_serve(void)
{
	uint64_t before = rs_tsc(), now, worst = 0, former = 0;
	for (uint32_t i = 0;; i++, before = now) {
		now = rs_tsc();
		if (i % LAST == 0) {
			former = worst;
			worst = 0;
		}
		if (now - before > worst)
			worst = now - before;
		trace_bench_two(i, (uint32_t)(worst > former ? worst : former));
		fire_many();
	}
}

static void helper(void)
{
	for (uint32_t number = 1;; number++) {
		while (__atomic_load_n(&team.wanted, __ATOMIC_ACQUIRE) != number)
			rs_pause();
		run_share(number);
	}
}

void rs_main(uint32_t cpu)
{
	if (rs_option("serve", NULL, 0)) {
		if (!cpu)
			tell("bench: serving");
		loop_serve();
	}
	if (cpu)
		helper();
	n = (uint32_t)rs_option_u64("n", 20000);
	rounds = (uint32_t)rs_option_u64("rounds", 200);
	if (n < 100 || n > 100000000 || rounds < 1 || rounds > MAX_ROUNDS)
		rs_panic("n or rounds out of range");
	report("empty-loop", loop_empty, false);
	report("rdtsc-and-store", loop_floor, false);
	report("disabled-site", loop_off, false);
	if (rs_cpu_count() > 1)
		report("disabled-site-all", loop_off, true);
	if (rs_agent_active() && !rs_option("standalone", NULL, 0))
		measure_with_session();
	rs_puts("bench: done\n");
}
