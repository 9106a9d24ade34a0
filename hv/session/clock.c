/* SPDX-License-Identifier: MIT */
#include "session/clock.h"

#include "base/ticks.h"
#include "session/ping.h"
#include <ringside/atomic.h>
#include <ringside/ring.h>
#include <math.h>
#include <rs-trace-clock.h>

#define UNKNOWN UINT64_MAX
#define EXACT_NS 200u        /* a target that tells the counter itself */
#define SURE_NS 10000u       /* a measurement this good is not repeated */
#define AGREE_NS 2000u       /* two measurements differ by so much at least before one is wrong */
#define TRIES_MAX 100u       /* questions after one pause that nobody answers */
#define DRIFT_NS 1000        /* put right from here on */
#define STEP_NS 100000       /* more than this is put right at once, less without a step … */
#define SLEW_NS 1000000000.0 /* … in so much time */
#define RATE_NS 10000000000u /* a rate is measured over so much time at most */

struct rs_clock {
	struct rs_target *target;
	RsTraceRegion *region;
	struct rs_publisher *publisher;
	struct rs_control *control;
	const struct rs_guest_info *info;
	bool (*nudge)(void *data);
	void *data;

	struct rs_clock_epoch epoch; /* the newest; its ns_base counts from origin_ns */
	uint64_t hz;                 /* true rate; 0: unknown, and no epoch was begun */
	uint64_t error_ns;           /* of the last measurement; UNKNOWN: there was none */
	struct rs_moment since;      /* the rate is measured from here on */
	uint64_t offset;             /* event clock less host's counter, modulo 2^64 */
	double slew;                 /* ns that the newest epoch's rate works off; 0: none */
	bool follows;                /* the event clock ticks with the host's counter */
	bool exact;                  /* the target tells it: nobody is asked */
	bool stopped;
	bool doubt;       /* another boot: the counter may have been set */
	uint32_t tries;   /* since the last pause or boot */
	uint64_t boot_ts; /* when the boot began that is in doubt; 0: unknown */

	/* The last pause, in CLOCK_MONOTONIC. The guest stopped between the first two, and ran on
	 * after the third. 0: somebody else paused it, and we learned that later. */
	uint64_t asked, halted, resuming;
	uint64_t newest; /* newest record of all rings when the guest stood still */
};

struct rs_clock *rs_clock_create(struct rs_target *target, RsTraceRegion *region,
				 struct rs_publisher *publisher, bool (*nudge)(void *data),
				 void *data)
{
	struct rs_clock *clock = g_new0(struct rs_clock, 1);

	clock->target = target;
	clock->region = region;
	clock->publisher = publisher;
	clock->control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	clock->info = rs_trace_region_section(region, RS_SEC_GUEST_INFO, NULL);
	clock->nudge = nudge;
	clock->data = data;
	clock->follows = target->ops->clock_hz != NULL;
	clock->error_ns = UNKNOWN;
	clock->since = rs_moment_now();
	return clock;
}

void rs_clock_destroy(struct rs_clock *clock)
{
	g_free(clock);
}

/* ---- the newest epoch, both ways; ns are CLOCK_MONOTONIC ---- */

static uint64_t origin(const struct rs_clock *clock)
{
	return clock->region->header.origin_ns;
}

static uint64_t ns_of(const struct rs_clock *clock, uint64_t ticks)
{
	return origin(clock) + rs_trace_clock_epoch_ns(&clock->epoch, ticks);
}

static uint64_t ticks_of(const struct rs_clock *clock, uint64_t ns)
{
	uint64_t base = origin(clock) + clock->epoch.ns_base, span;

	if (ns < base) {
		span = (uint64_t)((unsigned __int128)(base - ns) * clock->hz / 1000000000u);
		return clock->epoch.tsc_base - MIN(span, clock->epoch.tsc_base);
	}
	span = (uint64_t)((unsigned __int128)(ns - base) * clock->hz / 1000000000u);
	return clock->epoch.tsc_base + span;
}

static uint64_t ticks_in(const struct rs_clock *clock, uint64_t ns)
{
	return ns == UNKNOWN ? UNKNOWN
			     : (uint64_t)((unsigned __int128)ns * clock->hz / 1000000000u);
}

/* ---- beginning one ---- */

static uint64_t add_errors(uint64_t a, uint64_t b)
{
	return a > UNKNOWN - b ? UNKNOWN : a + b;
}

/* An epoch from `base` on, on the line through `at` that rises with `hz`. */
static void begin(struct rs_clock *clock, uint64_t base, const struct rs_pong *at, uint64_t hz,
		  uint32_t flags)
{
	struct rs_clock_epoch line = {0};
	struct rs_epoch_start start = {
		.hz = hz, .ticks = base, .error_ns = at->error_ns, .flags = flags};
	uint64_t ns = at->ns - MIN(at->ns, origin(clock)), span;

	rs_trace_clock_rate(hz, &line);
	span = rs_trace_clock_epoch_ns(&line,
				       base < at->ticks ? at->ticks - base : base - at->ticks);
	if (base > at->ticks)
		start.ns = ns + span;
	else if (span <= ns)
		start.ns = ns - span;
	else /* the base lies before time 0 of the trace: from there on */
		start.ticks = at->ticks - ticks_in(clock, ns);
	start.wall_ns = rs_wall_ns() - rs_monotonic_ns() + origin(clock) + start.ns;
	clock->epoch = line;
	clock->epoch.tsc_base = start.ticks;
	clock->epoch.ns_base = start.ns;
	rs_publisher_begin_epoch(clock->publisher, &start);
}

/* The event clock shows at->ticks at at->ns: what the host's counter shows meanwhile. */
static void note_offset(struct rs_clock *clock, const struct rs_pong *at)
{
	struct rs_moment now = rs_moment_now();
	__int128 passed = (__int128)(int64_t)(now.ns - at->ns) * (__int128)clock->hz / 1000000000;

	clock->offset = at->ticks + (uint64_t)passed - now.ticks;
}

static void begin_measured(struct rs_clock *clock, uint64_t base, const struct rs_pong *at,
			   uint32_t flags)
{
	begin(clock, base, at, clock->hz, flags);
	clock->slew = 0;
	clock->error_ns = at->error_ns;
	note_offset(clock, at);
}

static void set_pending(struct rs_clock *clock, bool pending)
{
	uint32_t now = rs_load(&clock->control->clock_pending);

	if ((now & 1) != pending)
		/* Release: who sees it even again sees the epoch. Pairs with a reader's acquire. */
		rs_store_release(&clock->control->clock_pending, now + 1);
}

/* An earlier session on this region has left a line: the likeliest, until somebody is asked. */
static bool inherit(struct rs_clock *clock, struct rs_pong *at)
{
	uint32_t number = rs_load(&clock->control->epoch_count) - 1;
	uint32_t count = clock->region->header.section[RS_SEC_CLOCK].count;
	if (number == UINT32_MAX || !count)
		return false;
	/* A guest in QEMU may have written it. */
	rs_trace_region_take(clock->region, RS_SEC_CLOCK, number % count, &clock->epoch,
			     sizeof(clock->epoch));
	if (clock->epoch.index != number || clock->epoch.shift > 63)
		return false;
	at->ticks = ticks_of(clock, at->ns);
	return true;
}

void rs_clock_start(struct rs_clock *clock)
{
	const struct rs_target_ops *ops = clock->target->ops;
	struct rs_pong at = {.error_ns = UNKNOWN};
	uint32_t flags = 0;

	set_pending(clock, false); /* whatever an earlier session was about to do */
	clock->stopped = clock->target->held;
	clock->hz = clock->follows ? ops->clock_hz(clock->target) : 0;
	if (!clock->hz)
		return;
	at.ticks = ops->clock_now ? ops->clock_now(clock->target) : 0;
	at.ns = rs_monotonic_ns();
	clock->exact = at.ticks != 0;
	if (clock->exact)
		at.error_ns = EXACT_NS;
	else if (inherit(clock, &at))
		flags = RS_EPOCH_CONTINUES;
	begin_measured(clock, at.ticks, &at, flags);
}

/* ---- asking ---- */

static bool ask(struct rs_clock *clock, struct rs_pong *pong)
{
	struct rs_ping_config config = {
		.control = clock->control,
		.info = clock->info,
		.hz = clock->hz,
		.nudge = clock->nudge,
		.data = clock->data,
	};

	clock->tries++;
	return rs_ping(&config, pong);
}

static uint64_t newest_record(const struct rs_clock *clock)
{
	uint64_t newest = 0, limit = UNKNOWN;

	/*
	 * A ring that is silent since an earlier boot may show a time that this one has not
	 * reached.
	 */
	if (clock->error_ns != UNKNOWN)
		limit = ticks_of(clock, rs_monotonic_ns() + clock->error_ns) + 1;
	for (uint32_t i = 0; i < clock->region->header.ring_count; i++) {
		const struct rs_ring_state *state =
			rs_trace_region_element(clock->region, RS_SEC_RING_STATE, i);
		uint64_t ts = rs_load(&state->last_ts);

		if (ts <= limit)
			newest = MAX(newest, ts);
	}
	return newest;
}

/* A measurement that is not of a pause: it confirms the epoch, betters it, or contradicts it. */
static void judge(struct rs_clock *clock, const struct rs_pong *pong)
{
	uint64_t said = ns_of(clock, pong->ticks);
	uint64_t off = said > pong->ns ? said - pong->ns : pong->ns - said;
	uint64_t known = add_errors(add_errors(clock->error_ns, pong->error_ns), AGREE_NS);
	uint64_t from =
		clock->boot_ts && clock->boot_ts <= pong->ticks ? clock->boot_ts : pong->ticks;
	bool back = from < MAX(clock->epoch.tsc_base, newest_record(clock));

	if (off <= known && pong->ticks >= clock->epoch.tsc_base) {
		/* Nothing has moved: all that was recorded in this epoch is told better. */
		if (pong->error_ns < clock->error_ns)
			begin_measured(clock, clock->epoch.tsc_base, pong, RS_EPOCH_CONTINUES);
	} else {
		begin_measured(clock, from, pong, back ? 0 : RS_EPOCH_CONTINUES);
	}
	clock->doubt = false;
	clock->boot_ts = 0;
}

void rs_clock_greet(struct rs_clock *clock, const struct rs_guest_info *info)
{
	const struct rs_boot *boot = &info->boots[info->boot % RS_BOOTS];
	struct rs_pong at = {.ns = rs_monotonic_ns(), .error_ns = UNKNOWN};

	if (!clock->hz && info->tsc_hz) {
		clock->hz = info->tsc_hz;
		begin_measured(clock, 0, &at, 0);
	}
	clock->tries = 0;
	if (clock->exact)
		return;
	clock->doubt = true;
	clock->boot_ts = boot->boot == info->boot ? boot->ts : 0;
	if (!clock->stopped && ask(clock, &at))
		judge(clock, &at);
}

/* ---- a pause ---- */

/* What stopped may have been recorded up to: nothing of later lies before it. */
static uint64_t pause_base(const struct rs_clock *clock)
{
	uint64_t base = MAX(clock->newest, clock->epoch.tsc_base), early;

	if (clock->error_ns != UNKNOWN && clock->asked) {
		early = ticks_of(clock, clock->asked);
		base = MAX(base, early - MIN(early, ticks_in(clock, clock->error_ns)));
	}
	return base + 1;
}

/*
 * Nobody has answered: the counter stopped between two moments that we know, and ran on between two
 * others. The line goes on after a gap of middling length.
 */
static struct rs_pong bounded(const struct rs_clock *clock, uint64_t base)
{
	uint64_t first = clock->asked, last = clock->halted, now = rs_monotonic_ns();
	uint64_t newest = ns_of(clock, clock->newest);
	struct rs_pong at = {.ticks = base, .error_ns = UNKNOWN};

	if (!first || !clock->resuming) { /* both are as late as what we heard of them, we hope */
		at.ns = ns_of(clock, base) + now - last;
		return at;
	}
	if (clock->error_ns <= SURE_NS && newest > first && newest <= last)
		first = newest;
	at.ns = ns_of(clock, base) + (clock->resuming - last + now - first) / 2;
	at.error_ns = add_errors(clock->error_ns, (last - first + now - clock->resuming) / 2 + 1);
	return at;
}

static void note_stopped(struct rs_clock *clock)
{
	clock->stopped = true;
	clock->halted = rs_monotonic_ns();
	clock->newest = newest_record(clock);
}

static void after_pause(struct rs_clock *clock)
{
	uint64_t base = pause_base(clock);
	struct rs_pong limits = bounded(clock, base), pong;
	uint32_t flags = RS_EPOCH_CONTINUES;
	bool ours = clock->resuming != 0;

	clock->stopped = false;
	clock->asked = clock->resuming = 0;
	clock->tries = 0;
	/* Of others' pauses the target tells while it is at work: we ask a little later. */
	if (!ours || !ask(clock, &pong) || pong.error_ns > limits.error_ns)
		pong = limits;
	if (pong.ticks < clock->epoch.tsc_base) /* somebody moved it meanwhile */
		flags = 0;
	begin_measured(clock, MIN(base, pong.ticks), &pong, flags);
}

void rs_clock_pause(struct rs_clock *clock, enum rs_pause_step step)
{
	if (!clock->target->ops->clock_stops || !clock->hz)
		return;
	switch (step) {
	case RS_PAUSE_ASKED:
		if (!clock->stopped)
			clock->asked = rs_monotonic_ns();
		break;
	case RS_PAUSE_STOPPED:
		if (!clock->stopped)
			note_stopped(clock);
		set_pending(clock, false);
		break;
	case RS_PAUSE_RESUMING:
		clock->resuming = rs_monotonic_ns();
		/* What is recorded from here on belongs to an epoch that no reader knows yet. */
		set_pending(clock, true);
		break;
	case RS_PAUSE_RESUMED:
		if (clock->stopped)
			after_pause(clock);
		set_pending(clock, false);
		break;
	}
}

/* ---- now and then ---- */

/*
 * The rate that we know is not quite the true one, and the true one changes (NTP). A small error is
 * worked off by another rate, so that no time goes back.
 */
static void follow_drift(struct rs_clock *clock)
{
	struct rs_moment now = rs_moment_now();
	struct rs_pong at = {.ticks = now.ticks + clock->offset};
	double off, rate;

	at.ns = ns_of(clock, at.ticks);
	off = (double)(int64_t)(now.ns - at.ns);
	if (clock->slew != 0 ? off * clock->slew > 0 && fabs(off) < 2 * fabs(clock->slew)
			     : fabs(off) <= DRIFT_NS)
		return;
	rate = rs_moment_rate(&clock->since, &now);
	if (rate < 1)
		return;
	if (now.ns - clock->since.ns > RATE_NS)
		clock->since = now;
	if (fabs(off) > STEP_NS) {
		at.ns = now.ns;
		off = 0;
	}
	clock->hz = (uint64_t)rate;
	clock->slew = fabs(off) > DRIFT_NS ? off : 0;
	at.error_ns = add_errors(clock->error_ns, (uint64_t)fabs(off));
	begin(clock, at.ticks, &at, (uint64_t)(rate * SLEW_NS / (SLEW_NS + clock->slew)),
	      RS_EPOCH_CONTINUES);
}

void rs_clock_check(struct rs_clock *clock)
{
	struct rs_pong pong;

	if (!clock->hz || clock->stopped)
		return;
	if ((clock->error_ns > SURE_NS || clock->doubt) && clock->tries < TRIES_MAX &&
	    ask(clock, &pong))
		judge(clock, &pong);
	if (clock->follows)
		follow_drift(clock);
}

void rs_clock_learn(struct rs_clock *clock, const struct rs_clock *other)
{
	struct rs_pong at = {.ns = rs_monotonic_ns(), .error_ns = other->error_ns};

	if (!clock->hz || !other->hz || clock->stopped || other->stopped || other->doubt ||
	    other->error_ns >= clock->error_ns)
		return;
	at.ticks = ticks_of(other, at.ns);
	/* All that was recorded so far had no better line. */
	begin_measured(clock, MIN(clock->epoch.tsc_base, at.ticks), &at, RS_EPOCH_CONTINUES);
}

/* ---- questions ---- */

uint64_t rs_clock_now(const struct rs_clock *clock)
{
	if (!clock->follows || !clock->hz)
		return 0;
	return clock->stopped ? ticks_of(clock, clock->halted) : rs_ticks() + clock->offset;
}

uint64_t rs_clock_error_ns(const struct rs_clock *clock)
{
	return clock->error_ns;
}
