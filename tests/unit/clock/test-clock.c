/* SPDX-License-Identifier: MIT */
/*
 * Clock epochs of a guest that is a thread here. Its counter is the host's less an offset, and
 * stands still in a pause. An event between two readings of the host's clock must be shown between
 * them, within the error that its epoch states.
 */
#include "clock/clock.h"

#include "base/ticks.h"
#include "region/regions.h"
#include <errno.h>
#include <inttypes.h>
#include <ringside/atomic.h>
#include <ringside/ring.h>
#include <rs-trace-clock.h>
#include <string.h>

#define WELL_NS 200000u
#define SURE_NS 10000u  /* then the clock does not ask again */
#define ROUNDING_NS 50u /* rounding of ticks and ns, and the time between readings of two clocks */

enum manner { SILENT, HONEST, LYING };

struct guest {
	struct rs_target target;
	struct rs_target_ops ops;
	RsTraceRegion *region;
	struct rs_publisher *publisher;
	struct rs_clock *clock;
	struct rs_control *control;
	struct rs_guest_info *info;
	struct rs_moment since;
	double hz_is_off_by; /* error of the rate that the target gives */
	int fail_resume;
	uint32_t pauses;

	GThread *agent;
	GMutex lock; /* guards the members below */
	bool running, quit;
	enum manner manner;
	guint slow_us; /* between two looks of the agent; 0: it is quick */
	uint64_t offset, frozen;
};

/* An event, and the host's clock before and after it. */
struct event {
	uint64_t ticks, before, after;
};

static struct guest *guest_of(struct rs_target *target)
{
	return (struct guest *)target;
}

static uint64_t counter(const struct guest *guest)
{
	return guest->running ? rs_ticks() + guest->offset : guest->frozen;
}

static void stop(struct guest *guest)
{
	g_mutex_lock(&guest->lock);
	guest->frozen = counter(guest);
	guest->running = false;
	g_mutex_unlock(&guest->lock);
}

static void go_on(struct guest *guest)
{
	g_mutex_lock(&guest->lock);
	guest->offset = guest->frozen - rs_ticks();
	guest->running = true;
	g_mutex_unlock(&guest->lock);
}

static int pause_guest(struct rs_target *target, struct rs_error *err)
{
	guest_of(target)->pauses++;
	stop(guest_of(target));
	return 0;
}

static int resume_guest(struct rs_target *target, struct rs_error *err)
{
	struct guest *guest = guest_of(target);

	if (guest->fail_resume)
		return rs_error_set(err, EIO, "not now");
	if (!target->held)
		go_on(guest);
	return 0;
}

static uint64_t clock_hz(struct rs_target *target)
{
	struct guest *guest = guest_of(target);

	return (uint64_t)((double)rs_ticks_hz(&guest->since) * (1 + guest->hz_is_off_by));
}

static uint64_t clock_now(struct rs_target *target)
{
	return counter(guest_of(target));
}

static void on_pause(void *data, enum rs_pause_step step)
{
	rs_clock_pause(((struct guest *)data)->clock, step);
}

/* Does what the agent's rs_agent_look() does, now and then, and at once after an answer. */
static gpointer agent(gpointer data)
{
	struct guest *guest = data;
	uint32_t looks = 0;
	bool quit = false;

	while (!quit) {
		uint32_t ping = rs_load_acquire(&guest->control->clock_ping);

		g_mutex_lock(&guest->lock);
		quit = guest->quit;
		if (guest->running && guest->manner != SILENT && ping != guest->info->clock_pong) {
			rs_store(&guest->info->clock_ts,
				 guest->manner == LYING ? (uint64_t)g_random_int() << 32 | ping
							: counter(guest));
			rs_store_release(&guest->info->clock_pong, ping);
			looks = guest->slow_us ? 0 : 1000;
		}
		g_mutex_unlock(&guest->lock);
		if (!looks)
			g_usleep(MAX(guest->slow_us, 20));
		else
			looks--;
	}
	return NULL;
}

static void begin_joined(struct guest *guest, const struct rs_clock *machine)
{
	struct rs_publisher_map map = {.event_capacity = 16, .control = guest->control};

	map.event_ctl = rs_trace_region_section(guest->region, RS_SEC_EVENT_CTL, NULL);
	map.filters = rs_trace_region_section(guest->region, RS_SEC_FILTERS, &map.filters_size);
	map.epochs = rs_trace_region_section(guest->region, RS_SEC_CLOCK, NULL);
	map.epoch_capacity = guest->region->header.section[RS_SEC_CLOCK].count;
	guest->publisher = rs_publisher_create(&map);
	guest->clock = rs_clock_create(&guest->target, guest->region, guest->publisher, NULL, NULL);
	rs_clock_start(guest->clock, machine);
}

static void begin_session(struct guest *guest)
{
	begin_joined(guest, NULL);
}

static void end_session(struct guest *guest)
{
	rs_clock_destroy(guest->clock);
	rs_publisher_destroy(guest->publisher);
}

static void set_manner(struct guest *guest, enum manner manner)
{
	g_mutex_lock(&guest->lock);
	guest->manner = manner;
	g_mutex_unlock(&guest->lock);
}

static void boot(struct guest *guest, uint32_t number)
{
	struct rs_boot *begun = &guest->info->boots[number % RS_BOOTS];

	begun->boot = guest->info->boot = number;
	begun->chain = guest->control->clock_chain;
	begun->ts = counter(guest);
}

static struct guest *guest_new(enum manner manner, bool exact)
{
	struct rs_region_config config = {.vcpus = 2, .ring_bytes = 65536, .event_capacity = 16};
	struct guest *guest = g_new0(struct guest, 1);

	guest->since = rs_moment_now();
	guest->ops = (struct rs_target_ops){.clock_stops = !exact,
					    .pause = pause_guest,
					    .resume = resume_guest,
					    .clock_hz = clock_hz,
					    .clock_now = exact ? clock_now : NULL};
	guest->target.ops = &guest->ops;
	guest->target.events = (struct rs_target_events){.data = guest, .pause = on_pause};
	g_assert_cmpint(rs_region_create(&config, &guest->region, NULL), ==, 0);
	guest->control = rs_trace_region_section(guest->region, RS_SEC_CONTROL, NULL);
	guest->info = rs_trace_region_section(guest->region, RS_SEC_GUEST_INFO, NULL);
	guest->manner = manner;
	guest->frozen = exact ? 123456789 : 0;
	go_on(guest);
	guest->agent = g_thread_new("agent", agent, guest);
	boot(guest, 1);
	return guest;
}

static void guest_free(struct guest *guest)
{
	g_mutex_lock(&guest->lock);
	guest->quit = true;
	g_mutex_unlock(&guest->lock);
	g_thread_join(guest->agent);
	rs_trace_region_free(guest->region);
	g_free(guest);
}

/* Greets until the error is small: on a busy machine the agent may not run while it is asked. */
static void greet(struct guest *guest)
{
	for (guint i = 0; i < 1000; i++) {
		rs_clock_greet(guest->clock, guest->info);
		if (rs_clock_error_ns(guest->clock) < WELL_NS)
			return;
		g_usleep(1000);
	}
	g_error("the agent is never heard");
}

static struct guest *running_guest(void)
{
	struct guest *guest = guest_new(HONEST, false);

	begin_session(guest);
	greet(guest);
	return guest;
}

/* The guest emits an event. Its time becomes the newest of ring 0 and ring 1 in turn. */
static struct event emit(struct guest *guest)
{
	struct rs_ring_state *state;
	struct event event;
	static uint32_t turn;

	event.before = rs_monotonic_ns();
	event.ticks = counter(guest);
	event.after = rs_monotonic_ns();
	state = rs_trace_region_element(guest->region, RS_SEC_RING_STATE, turn++ % 2);
	rs_store(&state->last_ts, event.ticks);
	return event;
}

/* A reader that begins now, without earlier epochs. */
static RsTraceClock *reader(struct guest *guest)
{
	RsTraceClock *clock = rs_trace_clock_new(0);

	rs_trace_clock_take(clock, rs_trace_region_section(guest->region, RS_SEC_CLOCK, NULL),
			    guest->region->header.section[RS_SEC_CLOCK].count,
			    guest->control->epoch_count);
	return clock;
}

static uint32_t newest(const struct guest *guest)
{
	return guest->control->epoch_count - 1;
}

static const struct rs_clock_epoch *epoch_at(struct guest *guest, uint32_t number)
{
	uint32_t count = guest->region->header.section[RS_SEC_CLOCK].count;

	return rs_trace_region_element(guest->region, RS_SEC_CLOCK, number % count);
}

/* `chain`: as the event's page names it. `epoch`: out, the event's own. */
static bool is_right(struct guest *guest, const struct event *event, uint32_t chain,
		     uint32_t *epoch)
{
	RsTraceClock *clock = reader(guest);
	uint64_t ns, error;

	ns = guest->region->header.origin_ns + rs_trace_clock_ns(clock, chain, event->ticks, epoch);
	rs_trace_clock_free(clock);
	error = epoch_at(guest, *epoch)->error_ns;
	if (error > UINT64_MAX / 2) /* the epoch promises nothing */
		return true;
	error += ROUNDING_NS;
	if (ns + error >= event->before && ns <= event->after + error)
		return true;
	g_test_message("%" PRIu64 " ticks: %" PRIu64 " ns, +- %" PRIu64 ", not %" PRIu64
		       "..%" PRIu64 ", in epoch %u",
		       event->ticks, ns, error, event->before, event->after, *epoch);
	return false;
}

/* Checks all events as if their page named `chain`. Returns the last event's epoch. */
static uint32_t check(struct guest *guest, const struct event *events, size_t n, uint32_t chain)
{
	uint32_t epoch = UINT32_MAX;

	for (size_t i = 0; i < n; i++)
		g_assert_true(is_right(guest, &events[i], chain, &epoch));
	return epoch;
}

static void rest(struct guest *guest, guint us)
{
	g_assert_cmpint(rs_target_pause(&guest->target, NULL), ==, 0);
	g_usleep(us);
	g_assert_cmpint(rs_target_resume(&guest->target, NULL, NULL), ==, 0);
}

/* An answer that comes when nobody waits any more is much better than a guess. */
static void test_late(void)
{
	struct guest *guest = guest_new(SILENT, false);
	struct event event;
	uint32_t epoch;

	g_mutex_lock(&guest->lock);
	guest->slow_us = 20000;
	guest->frozen = clock_hz(&guest->target) * 1000; /* it has run for long */
	g_mutex_unlock(&guest->lock);
	go_on(guest);
	begin_session(guest);
	rs_clock_greet(guest->clock, guest->info);
	g_assert_cmpuint(rs_clock_error_ns(guest->clock), >, 1000000000u);
	set_manner(guest, HONEST);
	for (guint i = 0; i < 1000 && rs_clock_error_ns(guest->clock) > 1000000000u; i++) {
		g_usleep(30000);
		rs_clock_check(guest->clock);
	}
	event = emit(guest);
	g_assert_cmpuint(rs_clock_error_ns(guest->clock), <, 1000000000u);
	g_assert_true(is_right(guest, &event, guest->control->clock_chain, &epoch));
	end_session(guest);
	guest_free(guest);
}

static void gain(struct guest *guest, uint64_t ns)
{
	g_mutex_lock(&guest->lock);
	guest->offset += clock_hz(&guest->target) / 1000000000.0 * ns;
	g_mutex_unlock(&guest->lock);
}

/* Looks until the agent, which may not run just now, has answered. */
static void look_until_right(struct guest *guest)
{
	struct event event;
	uint32_t epoch;

	for (guint i = 0; i < 1000; i++) {
		event = emit(guest);
		if (is_right(guest, &event, guest->control->clock_chain, &epoch))
			return;
		rs_clock_check(guest->clock);
	}
	g_error("the line stays wrong");
}

/* A counter that gains on the host's shows itself by records of the future. */
static void test_gain(void)
{
	struct guest *guest = running_guest();
	uint32_t count = guest->control->epoch_count, chain = guest->control->clock_chain, epoch;
	uint32_t pings;
	struct event before = emit(guest), after;

	gain(guest, 10000000);
	after = emit(guest);
	g_assert_false(is_right(guest, &after, chain, &epoch));
	look_until_right(guest);
	g_assert_cmpuint(guest->control->epoch_count, >, count);
	g_assert_cmpuint(guest->control->clock_chain, ==, chain);
	check(guest, &before, 1, chain);
	/* A time that stays is of an earlier boot, and says nothing of this one. */
	for (guint i = 0; i < 2; i++) {
		struct rs_ring_state *state =
			rs_trace_region_element(guest->region, RS_SEC_RING_STATE, i);

		rs_store(&state->last_ts, counter(guest) + 1000 * clock_hz(&guest->target));
	}
	do {
		pings = guest->control->clock_ping;
		count = guest->control->epoch_count;
		rs_clock_check(guest->clock);
	} while (guest->control->clock_ping != pings);
	for (guint i = 0; i < 20; i++)
		rs_clock_check(guest->clock);
	/* On a busy machine the line is so bad that it asks for another reason. */
	if (rs_clock_error_ns(guest->clock) < SURE_NS) {
		g_assert_cmpuint(guest->control->clock_ping, ==, pings);
		g_assert_cmpuint(guest->control->epoch_count, ==, count);
	}
	end_session(guest);
	guest_free(guest);
}

static void test_pauses(void)
{
	struct guest *guest = running_guest();
	uint32_t first = guest->control->epoch_count, chain = guest->control->clock_chain;
	uint64_t best = UINT64_MAX;
	struct event events[80];
	gint64 wall;

	for (guint i = 0; i < 40; i++) {
		events[2 * i] = emit(guest);
		rest(guest, 500 + i * 50);
		events[2 * i + 1] = emit(guest);
		best = MIN(best, rs_clock_error_ns(guest->clock));
	}
	g_assert_cmpuint(guest->control->epoch_count, ==, first + 40);
	g_assert_cmpuint(guest->control->clock_chain, ==, chain);
	g_assert_cmpuint(guest->control->clock_pending % 2, ==, 0);
	/* One page may hold all events. */
	g_assert_cmpuint(check(guest, events, 80, chain), ==, first + 39);
	g_assert_cmpuint(best, <, WELL_NS); /* without an answer it would be about half a pause */
	/* The pauses matter: a single line would be wrong by milliseconds. */
	{
		const struct rs_clock_epoch *line = epoch_at(guest, first - 1);
		uint64_t ns = rs_trace_clock_epoch_ns(line, events[79].ticks);

		g_assert_cmpuint(ns + guest->region->header.origin_ns + 20000000, <,
				 events[79].before);
	}
	wall = (gint64)(epoch_at(guest, first + 39)->wall_ns / 1000);
	g_assert_cmpint(ABS(g_get_real_time() - wall), <, 10 * G_USEC_PER_SEC);
	end_session(guest);
	guest_free(guest);
}

static void test_silence(void)
{
	struct guest *guest = guest_new(SILENT, false);
	struct event events[20];
	uint64_t error;
	uint32_t chain;

	begin_session(guest);
	rs_clock_greet(guest->clock, guest->info);
	chain = guest->control->clock_chain;
	/* No agent has ever told the counter. */
	g_assert_cmpuint(rs_clock_error_ns(guest->clock), ==, UINT64_MAX);
	set_manner(guest, HONEST);
	greet(guest);
	error = rs_clock_error_ns(guest->clock);
	set_manner(guest, SILENT);
	for (guint i = 0; i < 10; i++) {
		events[2 * i] = emit(guest);
		rest(guest, 3000);
		events[2 * i + 1] = emit(guest);
		/*
		 * The error grows with each pause by what is unknown about it, which is much less
		 * than the pause.
		 */
		g_assert_cmpuint(rs_clock_error_ns(guest->clock), >, error);
		error = rs_clock_error_ns(guest->clock);
	}
	check(guest, events, 20, chain);
	/* When the agent answers at last, its answer serves all events since the last pause. */
	set_manner(guest, HONEST);
	greet(guest);
	g_assert_cmpuint(check(guest, events, 20, chain), ==, newest(guest));
	g_assert_cmpuint(epoch_at(guest, newest(guest))->tsc_base, <=, events[19].ticks);
	end_session(guest);
	guest_free(guest);
}

/* A reboot that sets the counter back. Events of both boots keep their times. */
static void test_boot(void)
{
	struct guest *guest = running_guest();
	uint32_t chain = guest->control->clock_chain, again;
	struct event before[2], after[2];
	RsTraceClock *clock;
	RsTraceMoment when;
	uint64_t ns;

	g_usleep(5000);
	before[0] = emit(guest);
	rest(guest, 1000);
	before[1] = emit(guest);
	again = guest->control->epoch_count;
	stop(guest);
	guest->frozen = 1000;
	go_on(guest);
	boot(guest, 2);
	after[0] = emit(guest);
	for (guint i = 0; i < 1000 && guest->control->epoch_count == again; i++) {
		rs_clock_greet(guest->clock, guest->info);
		g_usleep(1000);
		/* If the agent did not answer at once, it is asked again. */
		rs_clock_check(guest->clock);
	}
	after[1] = emit(guest);
	g_assert_cmpuint(guest->control->epoch_count, >, again);
	g_assert_cmpuint(epoch_at(guest, again)->chain, ==, again);
	g_assert_cmpuint(check(guest, before, 2, chain), ==, again - 1);
	g_assert_cmpuint(check(guest, after, 2, again), ==, newest(guest));
	/* A third boot without such a jump begins no epoch. */
	boot(guest, 3);
	rs_clock_greet(guest->clock, guest->info);
	clock = reader(guest);
	rs_trace_clock_set_boots(clock, guest->info->boots);
	g_assert_true(rs_trace_clock_boot(clock, 3, &ns, &when));
	g_assert_cmpuint(ns, >=, epoch_at(guest, again)->ns_base);
	rs_trace_clock_free(clock);
	end_session(guest);
	guest_free(guest);
}

/*
 * A process that does not answer takes over the clock of another one in the same machine that did.
 */
static void test_learn(void)
{
	struct guest *known = running_guest(), *silent = guest_new(SILENT, false);
	uint64_t error = rs_clock_error_ns(known->clock);
	struct event events[3];

	begin_session(silent);
	rs_clock_greet(silent->clock, silent->info);
	g_mutex_lock(&silent->lock);
	silent->offset = known->offset;
	g_mutex_unlock(&silent->lock);
	events[0] = emit(silent);
	rs_clock_learn(known->clock, silent->clock);
	g_assert_cmpuint(rs_clock_error_ns(known->clock), ==, error);
	rs_clock_learn(silent->clock, known->clock);
	g_assert_cmpuint(rs_clock_error_ns(silent->clock), ==, error);
	events[1] = emit(silent);
	/* It serves events from before that as well. */
	check(silent, events, 2, 0);
	/* While the length of a pause is unknown, there is nothing to learn. */
	set_manner(known, SILENT);
	for (guint i = 0; i < 2; i++)
		rest(known, 1000);
	g_assert_cmpuint(rs_clock_error_ns(known->clock), >, error);
	rs_clock_learn(silent->clock, known->clock);
	g_assert_cmpuint(rs_clock_error_ns(silent->clock), ==, error);
	end_session(known);
	end_session(silent);
	guest_free(known);
	guest_free(silent);
}

/* Both are in one machine. */
static void share_counter(struct guest *guest, struct guest *machine)
{
	g_mutex_lock(&guest->lock);
	guest->offset = machine->offset;
	guest->frozen = machine->frozen;
	guest->running = machine->running;
	g_mutex_unlock(&guest->lock);
}

/*
 * A process that joins a machine which has run for long has the machine's line before anybody has
 * answered: its first events are in their place among those of others.
 */
static void test_join(bool paused)
{
	struct guest *machine = running_guest(), *joiner = guest_new(SILENT, false);
	struct event event;

	g_usleep(50000);
	if (paused)
		g_assert_cmpint(rs_target_pause(&machine->target, NULL), ==, 0);
	share_counter(joiner, machine);
	begin_joined(joiner, machine->clock);
	if (paused) {
		g_usleep(50000);
		rs_clock_pause(joiner->clock, RS_PAUSE_RESUMING);
		g_assert_cmpint(rs_target_resume(&machine->target, NULL, NULL), ==, 0);
		share_counter(joiner, machine);
		rs_clock_pause(joiner->clock, RS_PAUSE_RESUMED);
	}
	event = emit(joiner);
	g_assert_cmpuint(rs_clock_error_ns(joiner->clock), <, UINT64_MAX);
	check(joiner, &event, 1, 0);
	end_session(joiner);
	end_session(machine);
	guest_free(joiner);
	guest_free(machine);
}

static void test_join_running(void)
{
	test_join(false);
}

static void test_join_paused(void)
{
	test_join(true);
}

/*
 * A target that tells its counter: nobody is asked, pauses begin no epoch, and drift is followed.
 */
static void test_drift(void)
{
	struct guest *guest = guest_new(SILENT, true);
	uint64_t origin = guest->region->header.origin_ns, before = 0;
	uint32_t epoch = 0, seen = 0;

	guest->hz_is_off_by = 20e-6;
	begin_session(guest);
	rs_clock_greet(guest->clock, guest->info);
	g_assert_cmpuint(guest->control->epoch_count, ==, 1);
	g_assert_cmpuint(rs_clock_error_ns(guest->clock), <, 1000);
	rest(guest, 1000);
	g_assert_cmpuint(guest->control->epoch_count, ==, 1);
	go_on(guest); /* the counter of such a target does not stop */
	end_session(guest);
	begin_session(guest);
	for (guint i = 0; i < 60; i++) {
		RsTraceClock *clock = reader(guest);
		struct event event;
		uint64_t ns;

		g_usleep(20000);
		rs_clock_check(guest->clock);
		event = emit(guest);
		epoch = newest(guest);
		rs_trace_clock_free(clock);
		clock = reader(guest);
		ns = origin +
		     rs_trace_clock_ns(clock, guest->control->clock_chain, event.ticks, NULL);
		rs_trace_clock_free(clock);
		g_assert_cmpuint(ns, >, before);
		before = ns;
		g_assert_cmpuint(ns + 5000, >=, event.before);
		g_assert_cmpuint(ns, <=, event.after + 5000);
		seen += epoch != 0;
	}
	/* 20 us in a second are worked off in a few epochs, fewer than there are checks. */
	g_assert_cmpuint(seen, >, 0);
	g_assert_cmpuint(guest->control->epoch_count, >, 2);
	g_assert_cmpuint(guest->control->epoch_count, <, 15);
	end_session(guest);
	guest_free(guest);
}

/* Another session on the same region goes on where the first session stopped. */
static void test_inherit(void)
{
	struct guest *guest = running_guest();
	uint32_t chain = guest->control->clock_chain, count;
	struct event events[2];

	events[0] = emit(guest);
	rs_store(&guest->control->clock_pending, 7); /* the first session dies in a pause */
	end_session(guest);
	count = guest->control->epoch_count;
	begin_session(guest);
	g_assert_cmpuint(guest->control->clock_pending % 2, ==, 0);
	g_assert_cmpuint(guest->control->epoch_count, ==, count + 1);
	g_usleep(1000);
	events[1] = emit(guest);
	check(guest, events, 2, chain);
	greet(guest);
	g_assert_cmpuint(check(guest, events, 2, chain), ==, newest(guest));
	end_session(guest);
	guest_free(guest);
}

/* Somebody else stops the guest, and the session learns it afterwards. */
static void test_held(void)
{
	struct guest *guest = running_guest();
	uint32_t chain = guest->control->clock_chain, count = guest->control->epoch_count;
	struct event events[3];

	events[0] = emit(guest);
	stop(guest);
	g_usleep(3000);
	on_pause(guest, RS_PAUSE_STOPPED);
	/* A patch meanwhile does not let the guest go on. */
	guest->target.held = true;
	rest(guest, 20000);
	g_assert_false(guest->running);
	g_assert_cmpuint(guest->control->epoch_count, ==, count);
	guest->target.held = false;
	go_on(guest);
	g_usleep(3000);
	on_pause(guest, RS_PAUSE_RESUMED);
	g_assert_cmpuint(guest->control->epoch_count, ==, count + 1);
	events[1] = emit(guest);
	check(guest, events, 2, chain);
	for (guint i = 0; i < 1000 && rs_clock_error_ns(guest->clock) >= WELL_NS; i++) {
		g_usleep(1000);
		rs_clock_check(guest->clock);
		greet(guest);
	}
	events[2] = emit(guest);
	check(guest, events, 3, chain);
	end_session(guest);
	guest_free(guest);
}

/* What a reader shows for the event, after the region's origin. */
static uint64_t shown(struct guest *guest, const struct event *event)
{
	RsTraceClock *clock = reader(guest);
	uint64_t ns = rs_trace_clock_ns(clock, guest->control->clock_chain, event->ticks, NULL);

	rs_trace_clock_free(clock);
	return ns;
}

/* What a reader shows for the event differs from the truth by at most so much. */
static void check_near(struct guest *guest, const struct event *event, uint64_t slack)
{
	uint64_t ns = guest->region->header.origin_ns + shown(guest, event);

	g_assert_cmpuint(ns + slack, >=, event->before);
	g_assert_cmpuint(ns, <=, event->after + slack);
}

/* An agent begins, emits at once, and answers nobody: its times are off by the moment of a look. */
static void test_first_records(void)
{
	struct guest *guest = guest_new(SILENT, false);
	uint64_t unknown = rs_monotonic_ns();
	struct event event;

	guest->frozen = clock_hz(&guest->target) * 86400;
	go_on(guest);
	begin_session(guest);
	boot(guest, 1);
	rs_clock_greet(guest->clock, guest->info);
	event = emit(guest);
	g_assert_cmpuint(rs_clock_error_ns(guest->clock), >, 1000000000u);
	check_near(guest, &event, rs_monotonic_ns() - unknown);
	end_session(guest);
	guest_free(guest);
}

/* The counter of a guest that we start begins with the session, so no record of it lies ahead. */
static void test_nothing_to_guess(void)
{
	struct guest *guest = guest_new(SILENT, false);
	struct event event;
	uint64_t before;

	begin_session(guest);
	guest->frozen = 0;
	go_on(guest);
	boot(guest, 1);
	event = emit(guest);
	g_usleep(20000);
	before = shown(guest, &event);
	rs_clock_greet(guest->clock, guest->info);
	g_assert_cmpuint(shown(guest, &event), ==, before);
	end_session(guest);
	guest_free(guest);
}

/*
 * A session attaches to a guest that somebody else has stopped, and a process joins meanwhile.
 * Nobody answers. Both are wrong by what nobody can know, and not by the host's age.
 */
static void test_start_held(void)
{
	struct guest *machine = guest_new(HONEST, false), *joiner = guest_new(SILENT, false);
	uint64_t unknown = rs_monotonic_ns();
	struct event events[2];

	stop(machine);
	machine->frozen = UINT64_C(1) << 45; /* some hours after its boot */
	go_on(machine);
	begin_session(machine);
	greet(machine);
	end_session(machine);
	set_manner(machine, SILENT);
	stop(machine);
	machine->target.held = true;
	begin_session(machine);
	share_counter(joiner, machine);
	begin_joined(joiner, machine->clock);
	unknown = rs_monotonic_ns() - unknown;
	g_assert_cmpuint(rs_clock_now(joiner->clock), >, machine->frozen - machine->frozen / 1000);
	g_usleep(20000);
	unknown -= rs_monotonic_ns();
	machine->target.held = false;
	go_on(machine);
	share_counter(joiner, machine);
	on_pause(machine, RS_PAUSE_RESUMED);
	on_pause(joiner, RS_PAUSE_RESUMED);
	unknown += rs_monotonic_ns() + WELL_NS; /* of the line that the session found */
	events[0] = emit(machine);
	events[1] = emit(joiner);
	check_near(machine, &events[0], unknown);
	check_near(joiner, &events[1], unknown);
	end_session(joiner);
	end_session(machine);
	guest_free(joiner);
	guest_free(machine);
}

static void test_pending(void)
{
	struct guest *guest = running_guest();
	struct rs_control *control = guest->control;
	uint32_t count = control->epoch_count;
	struct event event;

	g_assert_cmpint(rs_target_pause(&guest->target, NULL), ==, 0);
	g_assert_cmpuint(control->clock_pending % 2, ==,
			 0); /* the guest records nothing meanwhile */
	on_pause(guest, RS_PAUSE_RESUMING);
	g_assert_cmpuint(control->clock_pending % 2, ==, 1);
	/* The guest does not go on after all. */
	on_pause(guest, RS_PAUSE_STOPPED);
	g_assert_cmpuint(control->clock_pending % 2, ==, 0);
	guest->fail_resume = EIO;
	g_assert_cmpint(rs_target_resume(&guest->target, NULL, NULL), ==, -EIO);
	g_assert_cmpuint(control->clock_pending % 2, ==, 0);
	g_assert_cmpuint(control->epoch_count, ==, count);
	guest->fail_resume = 0;
	g_assert_cmpint(rs_target_resume(&guest->target, NULL, NULL), ==, 0);
	g_assert_cmpuint(control->clock_pending % 2, ==, 0);
	g_assert_cmpuint(control->epoch_count, ==, count + 1);
	event = emit(guest);
	check(guest, &event, 1, 0);
	end_session(guest);
	guest_free(guest);
}

/* Whatever the agent answers, and whatever the rings hold, only this guest's times suffer. */
static void test_lies(void)
{
	struct guest *guest = running_guest();
	uint32_t count = guest->control->epoch_count;

	set_manner(guest, LYING);
	for (guint i = 0; i < 30; i++) {
		struct rs_ring_state *state =
			rs_trace_region_element(guest->region, RS_SEC_RING_STATE, i % 2);

		rs_store(&state->last_ts, (uint64_t)g_random_int() << 32);
		rest(guest, 100);
		rs_clock_check(guest->clock);
		guest->info->boot = g_random_int();
		guest->info->boots[guest->info->boot % RS_BOOTS].boot = guest->info->boot;
		guest->info->boots[guest->info->boot % RS_BOOTS].ts = g_random_int();
		rs_clock_greet(guest->clock, guest->info);
	}
	g_assert_cmpuint(guest->control->epoch_count, >=, count + 30);
	g_assert_cmpuint(guest->control->clock_pending % 2, ==, 0);
	/* Later, true answers are believed again. */
	for (uint32_t i = 0; i < 2; i++) {
		struct rs_ring_state *state =
			rs_trace_region_element(guest->region, RS_SEC_RING_STATE, i);

		rs_store(&state->last_ts, 0);
	}
	set_manner(guest, HONEST);
	boot(guest, 1000);
	for (guint i = 0; i < 1000; i++) {
		uint32_t chain = guest->control->clock_chain, epoch;
		struct event event = emit(guest);

		if (is_right(guest, &event, chain, &epoch))
			break;
		g_assert_cmpuint(i, <, 999);
		rs_clock_greet(guest->clock, guest->info);
	}
	end_session(guest);
	guest_free(guest);
}

static bool answer_at_once(void *data)
{
	struct guest *guest = data;

	rs_store(&guest->info->clock_ts, 1);
	rs_store_release(&guest->info->clock_pong, rs_load(&guest->control->clock_ping));
	return true;
}

/* Neither target nor guest says a rate, but the agent answers all the same. */
static void test_no_rate(void)
{
	struct guest *guest = guest_new(SILENT, false);

	guest->ops.clock_hz = NULL;
	begin_session(guest);
	rs_clock_destroy(guest->clock);
	guest->clock = rs_clock_create(&guest->target, guest->region, guest->publisher,
				       answer_at_once, guest);
	rs_clock_start(guest->clock, NULL);
	rs_clock_greet(guest->clock, guest->info);
	g_assert_cmpuint(guest->control->epoch_count, ==, 0);
	boot(guest, 2);
	guest->info->tsc_hz = 1000000000;
	rs_clock_greet(guest->clock, guest->info);
	g_assert_cmpuint(guest->control->epoch_count, >, 0);
	end_session(guest);
	guest_free(guest);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/clock/clock/late", test_late);
	g_test_add_func("/clock/clock/gain", test_gain);
	g_test_add_func("/clock/clock/pauses", test_pauses);
	g_test_add_func("/clock/clock/silence", test_silence);
	g_test_add_func("/clock/clock/boot", test_boot);
	g_test_add_func("/clock/clock/learn", test_learn);
	g_test_add_func("/clock/clock/join/running", test_join_running);
	g_test_add_func("/clock/clock/join/paused", test_join_paused);
	g_test_add_func("/clock/clock/drift", test_drift);
	g_test_add_func("/clock/clock/inherit", test_inherit);
	g_test_add_func("/clock/clock/held", test_held);
	g_test_add_func("/clock/clock/first-records", test_first_records);
	g_test_add_func("/clock/clock/nothing-to-guess", test_nothing_to_guess);
	g_test_add_func("/clock/clock/start-held", test_start_held);
	g_test_add_func("/clock/clock/pending", test_pending);
	g_test_add_func("/clock/clock/lies", test_lies);
	g_test_add_func("/clock/clock/no-rate", test_no_rate);
	return g_test_run();
}
