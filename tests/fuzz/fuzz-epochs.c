/* SPDX-License-Identifier: MIT */
/*
 * The host's side of the clock: it asks an agent that may answer anything, is paused and paused
 * again by others, boots, drifts, and finds what an earlier session left. What it publishes can be
 * read at any time, and no time in it goes back.
 */
#include "../unit/target/fake_target.h"
#include "clock/clock.h"
#include "input.h"
#include "region/regions.h"
#include "seed.h"
#include "virtual-time.h"

#include <ringside/atomic.h>
#include <ringside/ring.h>
#include <rs-trace-clock.h>
#include <stddef.h>

#define CPUS 2u

enum {
	GREET,  /* a: the rate that the agent says; v: the boot's time, or 0 */
	CHECK,  /* v ns later */
	PAUSE,  /* a: a step of it; v ns later */
	MANNER, /* a: whether and how the agent answers, v: what */
	JUMP,   /* v: the counter is set */
	RECORD, /* a: the ring, v: the newest record's time */
	LEARN,
	RESTART, /* a: how the target is */
	POKE,    /* a: where in the epochs or the control page; v: what */
	OPS
};

struct __attribute__((packed)) op {
	uint8_t what, a;
	uint64_t v;
};

enum { SILENT, HONEST, LATE, LYING };

static struct {
	struct fake_target fake;
	RsTraceRegion *region;
	struct rs_control *control;
	struct rs_guest_info *info;
	struct rs_clock_epoch *epochs;
	uint32_t capacity;
	struct rs_publisher *publisher;
	struct rs_clock *clock, *machine;
	uint8_t manner;
	uint64_t answer, offset;
	uint32_t asked;
} run;

static const uint64_t rates[] = {0, 1000000000, 1, 24000000, UINT64_MAX, 3000000001};

/* ---- the agent and its target ---- */

static void agent_looks(void)
{
	uint32_t ping = rs_load(&run.control->clock_ping);

	if (run.manner == SILENT || ping == rs_load(&run.info->clock_pong))
		return;
	if (run.manner == LATE && ++run.asked % 64)
		return;
	run.info->clock_ts = run.manner == LYING ? run.answer : rs_fuzz_now - run.offset;
	run.answer = run.answer * 3 + 1;
	rs_store_release(&run.info->clock_pong, ping);
}

static bool nudge(void *data)
{
	return run.manner != SILENT;
}

static uint64_t hz(struct rs_target *target)
{
	return rates[1];
}

static uint64_t now(struct rs_target *target)
{
	return rs_fuzz_now - run.offset;
}

/* ---- life ---- */

static void make(void)
{
	struct rs_region_config config = {.vcpus = CPUS, .ring_bytes = 16 << 10, .origin_ns = 1};
	struct rs_section *epochs;

	if (rs_region_create(&config, &run.region, NULL))
		abort();
	/* Few, so that a run comes round to the first again. */
	epochs = &run.region->header.section[RS_SEC_CLOCK];
	epochs->count = 4;
	run.capacity = 4;
	run.control = rs_trace_region_section(run.region, RS_SEC_CONTROL, NULL);
	run.info = rs_trace_region_section(run.region, RS_SEC_GUEST_INFO, NULL);
	run.epochs = rs_trace_region_section(run.region, RS_SEC_CLOCK, NULL);
	fake_target_init(&run.fake, NULL, 0);
	rs_fuzz_meanwhile = agent_looks;
}

static void start(uint8_t how)
{
	struct rs_publisher_map map = {
		.control = run.control, .epochs = run.epochs, .epoch_capacity = run.capacity};

	run.fake.ops.clock_stops = how & 1;
	run.fake.ops.clock_hz = how & 2 ? hz : NULL;
	run.fake.ops.clock_now = how & 4 ? now : NULL;
	run.fake.base.held = how & 8;
	run.publisher = rs_publisher_create(&map);
	run.clock = rs_clock_create(&run.fake.base, run.region, run.publisher,
				    how & 16 ? nudge : NULL, NULL);
	run.machine = rs_clock_create(&run.fake.base, run.region, run.publisher, NULL, NULL);
	if (how & 32)
		rs_clock_start(run.machine, NULL);
	rs_clock_start(run.clock, how & 64 ? run.machine : NULL);
}

static void stop(void)
{
	rs_clock_destroy(run.clock);
	rs_clock_destroy(run.machine);
	rs_publisher_destroy(run.publisher);
}

static void clear(void)
{
	memset(run.control, 0, sizeof(*run.control));
	memset(run.info, 0, sizeof(*run.info));
	memset(run.epochs, 0, run.capacity * sizeof(*run.epochs));
	for (uint32_t i = 0; i < CPUS; i++)
		memset(rs_trace_region_element(run.region, RS_SEC_RING_STATE, i), 0,
		       sizeof(struct rs_ring_state));
	rs_fuzz_now = 1000000000u;
	run.manner = SILENT;
	run.answer = run.offset = run.asked = 0;
}

/* ---- what a reader sees ---- */

static void look(void)
{
	RsTraceClock *reader = rs_trace_clock_new(0);
	uint32_t count = rs_load(&run.control->epoch_count), epoch, again;
	uint64_t ticks = rs_fuzz_now - run.offset, ns;

	rs_trace_clock_take(reader, run.epochs, run.capacity, count);
	for (uint32_t i = 0; i < run.capacity; i++) {
		ns = rs_trace_clock_ns(reader, run.epochs[i].chain, ticks, &epoch);
		if (rs_trace_clock_ns(reader, run.epochs[i].chain, ticks + 1, &again) < ns &&
		    epoch == again && ticks != UINT64_MAX)
			abort();
	}
	rs_trace_clock_free(reader);
	rs_clock_now(run.clock);
	rs_clock_error_ns(run.clock);
}

/* ---- the run ---- */

static void greet(const struct op *op)
{
	struct rs_guest_info info = {.boot = op->a / 8u, .tsc_hz = rates[op->a % 6]};

	info.boots[info.boot % RS_BOOTS] = (struct rs_boot){.boot = info.boot, .ts = op->v};
	rs_clock_greet(run.clock, &info);
}

static void poke(const struct op *op)
{
	static const uint16_t words[] = {offsetof(struct rs_control, epoch_count),
					 offsetof(struct rs_control, clock_pending),
					 offsetof(struct rs_control, clock_ping)};

	if (op->a & 1)
		memcpy((uint8_t *)run.control + words[op->a / 2 % 3], &op->v, 4);
	else
		memcpy((uint8_t *)run.epochs +
			       op->a / 2 % (run.capacity * sizeof(*run.epochs) / 8) * 8,
		       &op->v, 8);
}

static void play(const struct op *op)
{
	struct rs_ring_state *state;

	switch (op->what % OPS) {
	case GREET:
		greet(op);
		break;
	case CHECK:
		rs_fuzz_now += op->v % (1ull << 40);
		rs_clock_check(run.clock);
		break;
	case PAUSE:
		rs_fuzz_now += op->v % (1ull << 40);
		rs_clock_pause(run.clock, op->a % 4);
		if (op->a & 4)
			rs_clock_pause(run.machine, op->a % 4);
		break;
	case MANNER:
		run.manner = op->a % 4;
		run.answer = op->v;
		break;
	case JUMP:
		run.offset += op->v;
		break;
	case RECORD:
		state = rs_trace_region_element(run.region, RS_SEC_RING_STATE, op->a % CPUS);
		rs_store(&state->last_ts, op->v);
		break;
	case LEARN:
		rs_clock_learn(run.clock, run.machine);
		break;
	case RESTART:
		stop();
		start(op->a);
		break;
	case POKE:
		poke(op);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input in = {data, size};
	struct op op;

	if (!run.region)
		make();
	clear();
	start(rs_fuzz_u8(&in));
	for (int i = 0; i < 24 && rs_fuzz_take(&in, &op, sizeof(op)); i++) {
		play(&op);
		look();
	}
	stop();
	return 0;
}

static void rs_fuzz_seeds(void)
{
	static const struct __attribute__((packed)) {
		uint8_t how;
		struct op op[8];
	} seeds[] = {
		{0,
		 {{MANNER, HONEST},
		  {GREET, 9},
		  {CHECK, 0, 100000000},
		  {JUMP, 0, 5000000},
		  {CHECK}}},
		{3 | 16,
		 {{MANNER, HONEST},
		  {GREET, 9, 7},
		  {PAUSE, 0, 9},
		  {PAUSE, 1, 9},
		  {RECORD, 0, 900},
		  {PAUSE, 2, 1 << 20},
		  {PAUSE, 3, 9},
		  {CHECK, 0, 1ull << 37}}},
		{2 | 4 | 32,
		 {{MANNER, LYING, 77}, {GREET, 17}, {LEARN}, {RESTART, 2 | 64}, {CHECK}}},
		{3 | 32 | 64,
		 {{MANNER, LATE}, {PAUSE, 5}, {PAUSE, 7}, {RESTART, 2}, {LEARN}, {CHECK}}},
	};
	char name[16];

	for (size_t i = 0; i < G_N_ELEMENTS(seeds); i++) {
		snprintf(name, sizeof(name), "seed%zu", i);
		rs_fuzz_seed(name, &seeds[i], sizeof(seeds[i]));
	}
}
