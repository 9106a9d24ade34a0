/* SPDX-License-Identifier: MIT */
#include "cli/live.h"

#include "cli/printer.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* How long a sleep lasts when nothing rings: short after a busy round, long when all is quiet. */
#define SLEEP_BUSY_MS 2
#define SLEEP_QUIET_MS 20
/* Chunks of one ring in one round, so that the others get their turn. */
#define ROUND_CHUNKS 64
/* The doorbell is asked for when this part of a ring has filled. */
#define WAKE_FRACTION 4

struct rs_live {
	struct rs_live_config config;
	RsTraceRing **readers;
	uint32_t count;
	struct rs_printer *printer;
	GThread *thread;
	GMainContext *context; /* the owner's, for `done` */
	int wake;              /* eventfd: the doorbell, or the end */
	gint finishing;        /* atomic */
	gint said_done;        /* the thread's own */
	bool joined;
	struct rs_live_stats stats; /* the thread's until it has been joined */
};

static uint64_t now_ns(void)
{
	return (uint64_t)g_get_monotonic_time() * 1000;
}

/* ---- the thread ---- */

static gboolean tell_done(gpointer data)
{
	struct rs_live *live = data;

	if (!g_atomic_int_get(&live->finishing) && live->config.done)
		live->config.done(live->config.data);
	return G_SOURCE_REMOVE;
}

/* Not g_main_context_invoke: it could call right here, on the wrong thread. */
static void say_done(struct rs_live *live)
{
	GSource *source;

	if (live->said_done)
		return;
	live->said_done = 1;
	source = g_idle_source_new();
	g_source_set_priority(source, G_PRIORITY_DEFAULT);
	g_source_set_callback(source, tell_done, live, NULL);
	g_source_attach(source, live->context);
	g_source_unref(source);
}

/* One look at every ring. Returns whether anything came; bit r of *in_flight: ring r has more to come. */
static bool read_round(struct rs_live *live, uint64_t *in_flight)
{
	bool any = false;

	*in_flight = 0;
	if (live->printer)
		rs_printer_begin_round(live->printer);
	for (uint32_t i = 0; i < live->count; i++) {
		RsTraceChunk chunk;
		RsTraceRingStatus status = RS_TRACE_RING_IDLE;

		for (int n = 0; n < ROUND_CHUNKS; n++) {
			status = rs_trace_ring_next(live->readers[i], now_ns(), &chunk);
			if (status != RS_TRACE_RING_DATA)
				break;
			any = true;
			if (live->printer)
				rs_printer_chunk(live->printer, &chunk);
		}
		if (status != RS_TRACE_RING_IDLE)
			*in_flight |= 1ull << i;
	}
	return any;
}

/* Returns false when there is nobody left to print for. */
static bool print_round(struct rs_live *live, uint64_t in_flight)
{
	if (!live->printer)
		return true;
	rs_printer_end_round(live->printer, in_flight);
	return rs_printer_flush(live->printer) == 0;
}

static void arm(struct rs_live *live)
{
	const struct rs_region_header *h = &live->config.region->header;
	uint64_t bytes = (uint64_t)h->ring_pages * h->ring_page_size / WAKE_FRACTION;

	for (uint32_t i = 0; i < live->count; i++)
		rs_trace_ring_arm(live->readers[i], (uint32_t)MIN(bytes, UINT32_MAX));
}

static void sleep_until(struct rs_live *live, int ms)
{
	struct pollfd fd = {.fd = live->wake, .events = POLLIN};
	uint64_t count;

	if (poll(&fd, 1, ms) > 0 && read(live->wake, &count, sizeof(count)) < 0)
		return;
}

static void drain(struct rs_live *live)
{
	uint32_t rounds = 2 * live->config.region->header.ring_pages / ROUND_CHUNKS + 8;
	uint64_t in_flight;

	/* A guest that still runs may write for ever: what is there now, twice over, is enough. */
	for (uint32_t round = 0; round < rounds; round++) {
		bool any = read_round(live, &in_flight);

		if (!print_round(live, in_flight) || (!any && (!in_flight || round > 4)))
			break;
	}
	if (live->printer) {
		for (uint32_t i = 0; i < live->count; i++)
			rs_printer_pending_loss(live->printer, i,
						rs_trace_ring_pending_loss(live->readers[i]));
		rs_printer_finish(live->printer);
	}
}

static gpointer run(gpointer data)
{
	struct rs_live *live = data;
	bool armed = false, alive = true;
	uint64_t in_flight;

	while (alive && !g_atomic_int_get(&live->finishing)) {
		bool any = read_round(live, &in_flight);

		alive = print_round(live, in_flight);
		if (any || in_flight) {
			armed = false;
			sleep_until(live, SLEEP_BUSY_MS);
			continue;
		}
		if (!armed && live->config.owner) {
			/* And one more look before sleeping: what came in between rings nothing. */
			arm(live);
			armed = true;
			continue;
		}
		sleep_until(live, SLEEP_QUIET_MS);
		armed = false;
	}
	if (alive)
		drain(live);
	if (live->printer)
		rs_printer_stats(live->printer, &live->stats);
	say_done(live);
	return NULL;
}

/* ---- the owner's thread ---- */

static int create_readers(struct rs_live *live, struct rs_error *err)
{
	const RsTraceRegion *region = live->config.region;

	live->count = region->header.ring_count;
	live->readers = g_new0(RsTraceRing *, live->count);
	for (uint32_t i = 0; i < live->count; i++) {
		RsTraceRingConfig config = {
			.ring = i,
			.from = live->config.from,
			.consumer = live->config.owner && region->header.ring_mode == RS_MODE_DROP,
		};
		GError *error = NULL;

		live->readers[i] = rs_trace_ring_new(region, &config, &error);
		if (!live->readers[i])
			return rs_error_take(err, EINVAL, error);
	}
	return 0;
}

int rs_live_create(const struct rs_live_config *config, struct rs_live **out, struct rs_error *err)
{
	struct rs_live *live = g_new0(struct rs_live, 1);
	int ret;

	live->config = *config;
	live->context = g_main_context_ref_thread_default();
	live->joined = true; /* no thread yet */
	live->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = live->wake < 0 ? rs_error_set(err, errno, "no eventfd: %s", g_strerror(errno))
			     : create_readers(live, err);
	if (!ret && config->fd >= 0)
		ret = rs_printer_create(config, &live->printer, err);
	if (ret) {
		rs_live_destroy(live);
		return ret;
	}
	live->joined = false;
	live->thread = g_thread_new("ringside-live", run, live);
	*out = live;
	return 0;
}

void rs_live_wake(struct rs_live *live)
{
	uint64_t one = 1;

	/* Full is as good as written. */
	if (write(live->wake, &one, sizeof(one)) < 0)
		return;
}

void rs_live_finish(struct rs_live *live, struct rs_live_stats *stats)
{
	if (!live)
		return;
	if (!live->joined) {
		g_atomic_int_set(&live->finishing, 1);
		rs_live_wake(live);
		g_thread_join(live->thread);
		live->joined = true;
	}
	if (stats)
		*stats = live->stats;
}

void rs_live_destroy(struct rs_live *live)
{
	if (!live)
		return;
	rs_live_finish(live, NULL);
	/* `done` may still be queued for us. */
	while (g_main_context_find_source_by_user_data(live->context, live))
		g_source_destroy(g_main_context_find_source_by_user_data(live->context, live));
	rs_printer_destroy(live->printer);
	for (uint32_t i = 0; i < live->count; i++)
		rs_trace_ring_free(live->readers[i]);
	g_free(live->readers);
	if (live->wake >= 0)
		close(live->wake);
	g_main_context_unref(live->context);
	g_free(live);
}
