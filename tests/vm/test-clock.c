/* SPDX-License-Identifier: MIT */
/*
 * Times on the host's clock, with real guests under QEMU's TCG. Their counter stands still while
 * they are patched or paused. We count a word up and note when. The guest emits an event as soon as
 * it sees that, and we note when its ring has moved. The event's time must lie between these two
 * moments, but for the error that the clock admits. This holds on a machine of any speed. On a
 * quiet one the two moments are some us apart, as the test's messages show. Two guests run in one
 * session and are paused at different moments.
 *
 * argv[1]: tests/guests/clock.
 */
#include "machine/machine.h"
#include "session/session.h"

#include "base/ticks.h"
#include <glib/gstdio.h>
#include <ringside/atomic.h>
#include <rs-trace-follower.h>
#include <rs-trace-live.h>
#include <rs-trace-pump.h>
#include <string.h>

#define GUESTS 2u
#define STRETCHES 12u
#define TRIES 5u /* of a stretch */
#define NARROW_NS 5000
#define BLINKS 100u   /* in a stretch, for each guest */
#define SLACK_NS 1000 /* beside the error that the clock admits itself */
#define PATIENCE_S 120
#define NS_PER_MS 1000000u
#define WELL_NS 20000u /* an error above is a bad moment of a busy machine: it is asked again */
#define WELL_S 2       /* for so long: a machine may be as busy all the time */

static const char *guest;

/* CLOCK_MONOTONIC before we counted the word up, and after the guest's ring had moved. */
struct blink {
	guint64 before, after;
};

struct bed {
	char *dir;
	struct rs_session *session;
	struct rs_session_listener listener;
	struct rs_machine machine[GUESTS];
	struct rs_source *source[GUESTS];
	RsTracePump *pump;
	uint32_t number;        /* the words */
	uint64_t first_number;  /* of the stretch */
	GArray *blinks[GUESTS]; /* struct blink, by number */
	GMutex lock;
	GArray *seen[GUESTS]; /* guint64: ns as shown, by number; 0: not seen. Under the lock */
};

static struct rs_session *running; /* NULL: none, or it was ended */

/* Guests that were started go on without us if we abort: they are ended first. */
static _Noreturn void abandon(const char *why)
{
	if (running)
		rs_session_stop(running, "the test gives up");
	g_error("%s", why);
}

static void check(int ret, const struct rs_error *err)
{
	if (ret)
		abandon(err->message);
}

/* On the pump's thread. */
static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	struct bed *bed = data;
	guint32 number;

	if (record->kind != RS_TRACE_RECORD_EVENT || !record->event || record->size < 4)
		return;
	memcpy(&number, record->payload, sizeof(number));
	g_mutex_lock(&bed->lock);
	if (bed->seen[record->origin->index]->len <= number)
		g_array_set_size(bed->seen[record->origin->index], number + 1);
	/* The quicker one of its vCPUs. */
	guint64 *ns = &g_array_index(bed->seen[record->origin->index], guint64, number);
	if (!*ns || record->ns < *ns)
		*ns = record->ns;
	g_mutex_unlock(&bed->lock);
}

static gboolean tick(gpointer data)
{
	return G_SOURCE_CONTINUE;
}

static _Noreturn void give_up(struct bed *bed, const char *what)
{
	g_autofree char *why = g_strdup_printf("waited in vain for %s", what);

	for (guint i = 0; i < GUESTS; i++) {
		struct rs_source_stat stat;

		rs_source_stat(bed->source[i], &stat);
		g_test_message("guest %u: %u of %u seen, %" G_GUINT64_FORMAT
			       " written, %" G_GUINT64_FORMAT " events on, %" G_GUINT64_FORMAT
			       " sites on",
			       i, bed->seen[i]->len, bed->number, stat.written, stat.events_on,
			       stat.sites_on);
	}
	abandon(why);
}

#define WAIT_FOR(condition)                                                                        \
	do {                                                                                       \
		gint64 until = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;               \
		guint timer = g_timeout_add(2, tick, NULL);                                        \
		while (!(condition)) {                                                             \
			if (g_get_monotonic_time() > until)                                        \
				give_up(bed, #condition);                                          \
			g_main_context_iteration(NULL, TRUE);                                      \
		}                                                                                  \
		g_source_remove(timer);                                                            \
	} while (0)

static struct rs_source_stat stat_of(struct bed *bed, guint i)
{
	struct rs_source_stat stat;

	rs_source_stat(bed->source[i], &stat);
	return stat;
}

/* That the clocks are known with an error below `ns`. */
static bool known(struct bed *bed, uint64_t ns)
{
	for (guint i = 0; i < GUESTS; i++) {
		if (stat_of(bed, i).clock_error_ns >= ns)
			return false;
	}
	return true;
}

/* What is admitted must be true at any error; a small one shows more. */
static void wait_for_clocks(struct bed *bed)
{
	gint64 enough = g_get_monotonic_time() + WELL_S * G_USEC_PER_SEC;

	WAIT_FOR(known(bed, UINT64_MAX));
	WAIT_FOR(known(bed, WELL_NS) || g_get_monotonic_time() > enough);
}

/* All that the guests were shown has come out of the pump. */
static bool all_seen(struct bed *bed)
{
	bool all = true;

	g_mutex_lock(&bed->lock);
	for (guint i = 0; i < GUESTS; i++)
		all &= bed->seen[i]->len > bed->number &&
		       g_array_index(bed->seen[i], guint64, bed->number);
	g_mutex_unlock(&bed->lock);
	return all;
}

static void on_message(void *data, const char *text)
{
	g_test_message("session: %s", text);
}

static void start(struct bed *bed, const char *append)
{
	struct rs_machine_config config = {.kernel = (char *)guest,
					   .accel = "tcg",
					   .append = append,
					   .serial = "none",
					   .cpus = 1,
					   .ring_bytes = 1 << 20};
	struct rs_session_result result = {0};
	struct rs_error err = {0};
	RsTraceFollowerConfig follower = {.record = on_record, .data = bed};
	RsTracePumpConfig pump = {.sink = rs_trace_follower_new(&follower)};

	bed->dir = g_dir_make_tmp("rs-clock-XXXXXX", NULL);
	g_mutex_init(&bed->lock);
	check(rs_session_create("clock", &bed->session, &err), &err);
	running = bed->session;
	bed->listener.message = on_message;
	rs_session_add_listener(bed->session, &bed->listener);
	config.run_dir = bed->dir;
	bed->pump = rs_trace_pump_new(&pump);
	for (guint i = 0; i < GUESTS; i++) {
		struct rs_source_config source = {.kernel = "clock"};
		g_autofree char *name = g_strdup_printf("clock-%u", i);

		bed->seen[i] = g_array_new(FALSE, TRUE, sizeof(guint64));
		bed->blinks[i] = g_array_new(FALSE, TRUE, sizeof(struct blink));
		config.name = name;
		check(rs_machine_create(&config, &bed->machine[i], &err), &err);
		check(rs_session_add_source(bed->session, &source, bed->machine[i].region,
					    bed->machine[i].target, &bed->source[i], &err),
		      &err);
		rs_session_add_memory(bed->session, bed->source[i], bed->machine[i].regions, false);
		rs_trace_pump_add(bed->pump,
				  rs_trace_live_new(bed->machine[i].region, RS_TRACE_FROM_OLDEST,
						    RS_TRACE_LIVE_OWNER, NULL),
				  NULL);
	}
	rs_trace_pump_start(bed->pump);
	check(rs_session_start(bed->session, &err), &err);
	check(rs_session_enable(bed->session, RS_OWNER_HOST, "clock:*", &result, &err), &err);
	rs_session_result_clear(&result);
	WAIT_FOR(stat_of(bed, 0).events_on && stat_of(bed, 1).events_on);
	wait_for_clocks(bed);
}

static guint64 place_in_ring(struct bed *bed, guint i)
{
	const struct rs_ring_state *state =
		rs_trace_region_element(bed->machine[i].region, RS_SEC_RING_STATE, 0);

	/* Acquire: the guest has read its counter before its ring moves. */
	return rs_load_acquire(&state->word);
}

static struct blink blink_once(struct bed *bed, guint i)
{
	struct rs_control *control =
		rs_trace_region_section(bed->machine[i].region, RS_SEC_CONTROL, NULL);
	guint64 place = place_in_ring(bed, i);
	struct blink blink = {.before = rs_monotonic_ns()};

	rs_store_release((uint32_t *)&control->reserved1[11], bed->number); /* as in the guest */
	do {
		bool moved = place_in_ring(bed, i) != place;

		blink.after = rs_monotonic_ns();
		if (moved)
			return blink;
		if (blink.after - blink.before > NS_PER_MS)
			g_usleep(100); /* it waits for this CPU, perhaps */
	} while (blink.after - blink.before < (guint64)PATIENCE_S * 1000 * NS_PER_MS);
	give_up(bed, "an event");
}

/* Counts the word up, again and again, in one guest after the other. */
static void blink(struct bed *bed)
{
	bed->first_number = bed->number + 1;
	for (guint n = 0; n < BLINKS; n++) {
		bed->number++;
		for (guint i = 0; i < GUESTS; i++) {
			struct blink made = blink_once(bed, i);

			g_array_set_size(bed->blinks[i], bed->number + 1);
			g_array_index(bed->blinks[i], struct blink, bed->number) = made;
		}
	}
}

/*
 * Checks the events of the stretch. All brackets together say how far the clock is off: at least
 * *low and at most *high ns, or it contradicts itself.
 */
static void measure(struct bed *bed, guint i, gint64 *low, gint64 *high)
{
	guint64 origin = bed->machine[i].region->header.origin_ns;

	*low = G_MININT64;
	*high = G_MAXINT64;
	g_mutex_lock(&bed->lock);
	for (guint64 n = bed->first_number; n <= bed->number; n++) {
		const struct blink *made = &g_array_index(bed->blinks[i], struct blink, n);
		guint64 ns = g_array_index(bed->seen[i], guint64, n);

		g_assert_cmpuint(ns, !=, 0);
		*low = MAX(*low, (gint64)(ns + origin - made->after));
		*high = MIN(*high, (gint64)(ns + origin - made->before));
	}
	g_mutex_unlock(&bed->lock);
}

static void toggle(struct bed *bed, bool on)
{
	struct rs_error err = {0};

	if (on)
		check(rs_session_enable(bed->session, RS_OWNER_HOST, "clock:seen", NULL, &err),
		      &err);
	else
		check(rs_session_disable(bed->session, RS_OWNER_HOST, "clock:seen", NULL, &err),
		      &err);
}

static void stop_by_hand(struct bed *bed)
{
	struct rs_error err = {0};

	check(rs_session_pause(bed->session, &err), &err);
	g_usleep(7000);
	check(rs_session_resume(bed->session, &err), &err);
}

/* One guest alone, patched or stopped at its target: the other one runs on. */
static void stop_one(struct bed *bed, guint i)
{
	struct rs_error err = {0};

	check(rs_target_pause(bed->machine[i].target, &err), &err);
	g_usleep(3000);
	check(rs_target_resume(bed->machine[i].target, NULL, &err), &err);
}

static void interrupt(struct bed *bed, guint stretch)
{
	switch (stretch % 4) {
	case 0:
		toggle(bed, false);
		toggle(bed, true);
		break;
	case 1:
		stop_by_hand(bed);
		break;
	case 2:
		stop_one(bed, 0);
		break;
	case 3:
		for (guint n = 0; n < 5; n++)
			stop_one(bed, n % GUESTS);
		break;
	}
}

/*
 * Looks how far the clocks are off, which must be within the error that they admit. Returns whether
 * the brackets of all guests together were narrow enough to show it.
 */
static bool look_well(struct bed *bed, guint stretch)
{
	gint64 admitted[GUESTS];
	bool narrow = true;

	wait_for_clocks(bed);
	/* Later the session may learn more, but some events have been shown by then. */
	for (guint i = 0; i < GUESTS; i++)
		admitted[i] = (gint64)stat_of(bed, i).clock_error_ns + SLACK_NS;
	blink(bed);
	WAIT_FOR(all_seen(bed));
	for (guint i = 0; i < GUESTS; i++) {
		gint64 error = admitted[i], low, high;

		measure(bed, i, &low, &high);
		g_test_message("stretch %u, guest %u: off by %.1f to %.1f us, +- %.1f", stretch, i,
			       (double)low / 1e3, (double)high / 1e3, (double)error / 1e3);
		g_assert_cmpint(low, <=, error);
		g_assert_cmpint(high, >=, -error);
		narrow &= high - low < NARROW_NS && error < NARROW_NS;
	}
	return narrow;
}

static void run(const char *append)
{
	struct bed *bed = g_new0(struct bed, 1);
	uint32_t epochs[GUESTS];

	start(bed, append);
	for (guint i = 0; i < GUESTS; i++)
		epochs[i] = stat_of(bed, i).clock_epochs;
	for (guint stretch = 0; stretch < STRETCHES; stretch++) {
		interrupt(bed, stretch);
		/* On a busy machine a bracket may be wide, and show little. */
		for (guint tries = 0; !look_well(bed, stretch) && tries < TRIES; tries++)
			;
	}
	for (guint i = 0; i < GUESTS; i++)
		g_assert_cmpuint(stat_of(bed, i).clock_epochs, >=, epochs[i] + STRETCHES / 2);
	rs_session_stop(bed->session, "the test is over");
	WAIT_FOR(rs_session_end(bed->session));
	running = NULL;
	rs_trace_pump_free(bed->pump);
	rs_session_destroy(bed->session);
	for (guint i = 0; i < GUESTS; i++) {
		g_array_unref(bed->seen[i]);
		g_array_unref(bed->blinks[i]);
	}
	g_assert_cmpint(g_rmdir(bed->dir), ==, 0);
	g_free(bed->dir);
	g_free(bed);
}

static void test_polled(void)
{
	run(NULL);
}

/* Guests that look for nothing by themselves: the host interrupts them. */
static void test_nudged(void)
{
	run("deaf");
}

int main(int argc, char **argv)
{
	g_autofree char *qemu = g_find_program_in_path("qemu-system-x86_64");

	g_test_init(&argc, &argv, NULL);
	if (!qemu) {
		g_print("1..0 # SKIP no qemu-system-x86_64\n");
		return 77;
	}
	guest = argv[1];
	g_test_add_func("/clock/polled", test_polled);
	g_test_add_func("/clock/nudged", test_nudged);
	return g_test_run();
}
