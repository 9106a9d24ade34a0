/* SPDX-License-Identifier: MIT */
#include "clock/clock.h"

#include "base/ticks.h"
#include "clock/ping.h"
#include <ringside/atomic.h>
#include <ringside/ring.h>
#include <math.h>
#include <rs-trace-clock.h>

#define UNKNOWN UINT64_MAX
#define EXACT_NS 200u  /* error when the target tells the counter */
#define SURE_NS 10000u /* a measurement this good is not repeated */
#define AGREE_NS 2000u /* measurements may differ by this much, beside their errors */
#define TRIES_MAX 100u /* questions after a pause or boot; from then on only now and then … */
#define SELDOM 10u     /* … at each so many checks */
#define DRIFT_NS 1000  /* a smaller difference of the two clocks is left alone */
#define STEP_NS 100000 /* a larger difference is put right at once, others by another rate … */
#define SLEW_NS 1000000000.0 /* … within this time */
#define AHEAD_NS 1000000000u /* between two questions because of records of the future */
#define RATE_NS 10000000000u /* a rate is measured over this time at most */

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
	uint64_t error_ns;           /* of the newest line; UNKNOWN: it was not measured */
	struct rs_moment since;      /* the rate is measured from here on */
	uint64_t offset;             /* event clock less host's counter, modulo 2^64 */
	double slew;  /* difference that the newest epoch's rate works off, in ns; 0: none */
	bool follows; /* the event clock ticks with the host's counter */
	bool exact;   /* the target tells the event clock: nobody is asked */
	bool stopped;
	bool doubt;       /* another boot has begun: the counter may have been set */
	uint32_t tries;   /* questions since the last pause or boot */
	uint32_t checks;  /* since there were too many of them */
	uint64_t boot_ts; /* event clock at the start of that boot; 0: unknown */
	uint64_t ahead;   /* of runs_ahead() */
	uint64_t doubted; /* CLOCK_MONOTONIC: when that last made us ask */
	struct rs_ping_sent sent;

	/*
	 * The last pause, in CLOCK_MONOTONIC. The guest stopped between `asked` and `halted`, and
	 * went on after `resuming`. 0: somebody else paused the guest, and we learned it later.
	 */
	uint64_t asked, halted, resuming;
	uint64_t newest; /* event clock of the newest record of all rings at the pause */
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

/* Begins an epoch at `base`, on the line that goes through `at` with the rate `hz`. */
static void begin(struct rs_clock *clock, uint64_t base, const struct rs_pong *at, uint64_t hz,
		  bool continues)
{
	struct rs_clock_epoch line = {0};
	struct rs_epoch_start start = {
		.hz = hz, .ticks = base, .error_ns = at->error_ns, .continues = continues};
	uint64_t ns = at->ns - MIN(at->ns, origin(clock)), span;

	rs_trace_clock_rate(hz, &line);
	span = rs_trace_clock_epoch_ns(&line,
				       base < at->ticks ? at->ticks - base : base - at->ticks);
	if (base > at->ticks)
		start.ns = ns + span;
	else if (span <= ns)
		start.ns = ns - span;
	else /* the base lies before time 0 of the trace: begin at time 0 */
		start.ticks = at->ticks - ticks_in(clock, ns);
	start.wall_ns = rs_wall_ns() - rs_monotonic_ns() + origin(clock) + start.ns;
	clock->epoch = line;
	clock->epoch.tsc_base = start.ticks;
	clock->epoch.ns_base = start.ns;
	rs_publisher_begin_epoch(clock->publisher, &start);
}

/* The event clock shows at->ticks at at->ns. Notes how far the host's counter is from it. */
static void note_offset(struct rs_clock *clock, const struct rs_pong *at)
{
	struct rs_moment now = rs_moment_now();
	__int128 passed = (__int128)(int64_t)(now.ns - at->ns) * (__int128)clock->hz / 1000000000;

	clock->offset = at->ticks + (uint64_t)passed - now.ticks;
}

static void begin_measured(struct rs_clock *clock, uint64_t base, const struct rs_pong *at,
			   bool continues)
{
	begin(clock, base, at, clock->hz, continues);
	clock->slew = 0;
	clock->error_ns = at->error_ns;
	note_offset(clock, at);
}

static void set_pending(struct rs_clock *clock, bool pending)
{
	uint32_t now = rs_load(&clock->control->clock_pending);

	if ((now & 1) != pending)
		/*
		 * Release: a reader that sees an even number sees the epoch. Pairs with its
		 * acquire.
		 */
		rs_store_release(&clock->control->clock_pending, now + 1);
}

static uint64_t newest_record(const struct rs_clock *clock)
{
	uint64_t newest = 0, limit = UNKNOWN;

	/*
	 * A ring that has been silent since an earlier boot may show a time that this boot has not
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

/*
 * Takes over the line that an earlier session left in this region. It is the best guess until an
 * agent has answered.
 */
static bool inherit(struct rs_clock *clock, struct rs_pong *at)
{
	uint32_t number = rs_load(&clock->control->epoch_count) - 1;
	uint32_t count = clock->region->header.section[RS_SEC_CLOCK].count;
	if (number == UINT32_MAX || !count)
		return false;
	/* In QEMU a guest may have written it. */
	rs_trace_region_take(clock->region, RS_SEC_CLOCK, number % count, &clock->epoch,
			     sizeof(clock->epoch));
	if (clock->epoch.index != number || clock->epoch.shift > 63)
		return false;
	at->ticks = ticks_of(clock, at->ns);
	return true;
}

/* Begins as the clock of its machine is now, which may be in the middle of a pause. */
static void follow(struct rs_clock *clock, const struct rs_clock *machine, struct rs_pong *at)
{
	clock->stopped = machine->stopped;
	clock->asked = machine->asked;
	clock->halted = machine->halted;
	clock->resuming = machine->resuming;
	if (machine->stopped)
		at->ns = machine->halted;
	at->ticks = ticks_of(machine, at->ns);
	at->error_ns = machine->error_ns;
}

void rs_clock_start(struct rs_clock *clock, const struct rs_clock *machine)
{
	const struct rs_target_ops *ops = clock->target->ops;
	struct rs_pong at = {.error_ns = UNKNOWN};
	bool continues = true; /* chains go on from session to session */
	uint64_t base;

	set_pending(clock, false); /* an earlier session may have left it odd */
	clock->stopped = clock->target->held;
	clock->halted = rs_monotonic_ns();
	clock->hz = clock->follows ? ops->clock_hz(clock->target) : 0;
	if (!clock->hz)
		return;
	at.ticks = base = ops->clock_now ? ops->clock_now(clock->target) : 0;
	at.ns = rs_monotonic_ns();
	clock->exact = at.ticks != 0;
	if (clock->exact) {
		at.error_ns = EXACT_NS;
	} else {
		continues = inherit(clock, &at);
		base = at.ticks;
		/* The counter has stopped, nobody knows when. It goes on behind all records. */
		if (clock->stopped && continues)
			base = MIN(base, MAX(newest_record(clock) + 1, clock->epoch.tsc_base));
		if (machine && machine->hz) {
			follow(clock, machine, &at);
			/* Its guess may be late, so records may lie before `at`. */
			base = continues ? at.ticks : MIN(machine->epoch.tsc_base, at.ticks);
		}
	}
	begin_measured(clock, base, &at, continues && base >= newest_record(clock));
}

/* ---- asking ---- */

/* An agent may look so seldom that its answer to the last question is all that there is. */
static bool ask(struct rs_clock *clock, struct rs_pong *pong)
{
	struct rs_ping_config config = {
		.control = clock->control,
		.info = clock->info,
		.sent = &clock->sent,
		.hz = clock->hz,
		.nudge = clock->nudge,
		.data = clock->data,
	};
	struct rs_pong late;
	bool answered = rs_ping_late(&config, &late);

	clock->tries++;
	if (rs_ping(&config, pong))
		return true;
	if (answered)
		*pong = late;
	return answered;
}

/*
 * Uses a measurement that does not follow a pause. It confirms the newest epoch, improves its line,
 * or contradicts it. `newest`: newest_record() before the agent was asked.
 */
static void judge(struct rs_clock *clock, const struct rs_pong *pong, uint64_t newest)
{
	uint64_t said = ns_of(clock, pong->ticks);
	uint64_t off = said > pong->ns ? said - pong->ns : pong->ns - said;
	uint64_t known = add_errors(add_errors(clock->error_ns, pong->error_ns), AGREE_NS);
	uint64_t from =
		clock->boot_ts && clock->boot_ts <= pong->ticks ? clock->boot_ts : pong->ticks;
	bool back = from < MAX(clock->epoch.tsc_base, newest);

	if (off <= known && pong->ticks >= clock->epoch.tsc_base) {
		/*
		 * The counter has not been moved. A better line serves all records of this epoch.
		 */
		if (pong->error_ns < clock->error_ns)
			begin_measured(clock, clock->epoch.tsc_base, pong, true);
	} else {
		begin_measured(clock, from, pong, !back);
	}
	clock->doubt = false;
	clock->boot_ts = 0;
}

static void ask_and_judge(struct rs_clock *clock)
{
	uint64_t newest = newest_record(clock);
	struct rs_pong pong;

	if (ask(clock, &pong))
		judge(clock, &pong, newest);
}

/*
 * An agent that has just come may not answer in time, and its first records follow. Where nothing
 * was measured, the counter is taken to begin with the session. That is right of a guest that the
 * session starts, and off by a day of one that has run for a day: its records would lie ahead of
 * us. Then the moment of its begin, or of its newest record, is taken for this one.
 */
static void guess(struct rs_clock *clock)
{
	struct rs_pong at = {
		.ticks = MAX(clock->boot_ts, newest_record(clock)),
		.ns = rs_monotonic_ns(),
		.error_ns = UNKNOWN,
	};

	if (clock->boot_ts && at.ticks >= clock->epoch.tsc_base && ns_of(clock, at.ticks) > at.ns)
		begin_measured(clock, clock->epoch.tsc_base, &at, true);
}

void rs_clock_greet(struct rs_clock *clock, const struct rs_guest_info *info)
{
	const struct rs_boot *boot = &info->boots[info->boot % RS_BOOTS];
	struct rs_pong at = {.ns = rs_monotonic_ns(), .error_ns = UNKNOWN};

	if (!clock->hz && info->tsc_hz) {
		clock->hz = info->tsc_hz;
		begin_measured(clock, 0, &at, false);
	}
	clock->tries = 0;
	clock->sent.ns = 0;
	if (clock->exact)
		return;
	clock->doubt = true;
	clock->boot_ts = boot->boot == info->boot ? boot->ts : 0;
	/* If nobody knows the rate, an answer tells nothing. */
	if (!clock->stopped && clock->hz)
		ask_and_judge(clock);
	if (clock->hz && clock->error_ns == UNKNOWN)
		guess(clock);
}

void rs_clock_note_reset(struct rs_clock *clock)
{
	clock->sent.ns = 0;
}

bool rs_clock_agent_answers(struct rs_clock *clock)
{
	const struct rs_ping_config config = {.control = clock->control,
					      .info = clock->info,
					      .sent = &clock->sent,
					      .hz = clock->hz};
	struct rs_pong pong;

	return clock->hz && !clock->stopped &&
	       (rs_ping_late(&config, &pong) || rs_ping(&config, &pong));
}

/* ---- a pause ---- */

/*
 * The base of the epoch after a pause: all records before the pause lie before it, all later ones
 * do not.
 */
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
 * The line if nobody answers. The counter stopped between two moments that we know, and went on
 * between two others. So the length of the gap has two limits, and the line goes on after a gap
 * midway between them.
 */
static struct rs_pong bounded(const struct rs_clock *clock, uint64_t base)
{
	uint64_t first = clock->asked, last = clock->halted, now = rs_monotonic_ns();
	uint64_t newest = ns_of(clock, clock->newest);
	struct rs_pong at = {.ticks = base, .error_ns = UNKNOWN};

	if (!first ||
	    !clock->resuming) { /* somebody else's pause: both reports are equally late, we hope */
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
	bool ours = clock->resuming != 0;

	clock->stopped = false;
	clock->asked = clock->resuming = 0;
	clock->tries = 0;
	clock->sent.ns = 0;
	/*
	 * The target reports somebody else's pause in the middle of its own work. So we ask a
	 * little later.
	 */
	if (!ours || !ask(clock, &pong) || pong.error_ns > limits.error_ns)
		pong = limits;
	/* If it is below them, the counter was set meanwhile. */
	begin_measured(clock, MIN(base, pong.ticks), &pong,
		       pong.ticks >= MAX(clock->epoch.tsc_base, clock->newest));
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
		/* Records from here on belong to an epoch that no reader knows yet. */
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
 * The known rate is not quite the true one, and NTP changes the true one. A small difference is
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
	begin(clock, at.ticks, &at, (uint64_t)(rate * SLEW_NS / (SLEW_NS + clock->slew)), true);
}

/*
 * Whether records come whose time is not yet. Then the counter has gained on the host's: QEMU's
 * does where the counters of the host's CPUs are not quite the same. Times that stay as they are do
 * not count: they are of an earlier boot.
 */
static bool runs_ahead(struct rs_clock *clock)
{
	uint64_t ahead = 0, slack = add_errors(clock->error_ns, AGREE_NS);
	bool more;

	if (slack == UNKNOWN)
		return false;
	for (uint32_t i = 0; i < clock->region->header.ring_count; i++) {
		const struct rs_ring_state *state =
			rs_trace_region_element(clock->region, RS_SEC_RING_STATE, i);
		uint64_t ts = rs_load(&state->last_ts);

		if (ns_of(clock, ts) > add_errors(rs_monotonic_ns(), slack))
			ahead += ts;
	}
	more = ahead && ahead != clock->ahead;
	clock->ahead = ahead;
	return more;
}

void rs_clock_check(struct rs_clock *clock)
{
	if (!clock->hz || clock->stopped)
		return;
	/* It takes time that others wait for. */
	if (!clock->exact && runs_ahead(clock) && rs_monotonic_ns() - clock->doubted > AHEAD_NS) {
		clock->doubted = rs_monotonic_ns();
		clock->doubt = true;
		clock->tries = 0;
	}
	if ((clock->error_ns > SURE_NS || clock->doubt) &&
	    (clock->tries < TRIES_MAX || clock->checks++ % SELDOM == 0))
		ask_and_judge(clock);
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
	/* Until now the records of the newest epoch had a worse line. */
	begin_measured(clock, MIN(clock->epoch.tsc_base, at.ticks), &at, true);
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
