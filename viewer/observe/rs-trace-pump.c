/* SPDX-License-Identifier: MIT */
#include "rs-trace-pump.h"
#include "rs-trace-follower.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* How long a sleep lasts when nothing rings: short after a busy round, long when all is quiet. */
#define SLEEP_BUSY_MS 2
#define SLEEP_QUIET_MS 20
/* Rounds at the end in which only records in flight are waited for. */
#define PATIENT_ROUNDS 4

struct _RsTracePump {
	RsTracePumpConfig config;
	RsTraceMerger *merger; /* NULL: nothing is decoded */
	GPtrArray *followers;  /* the thread's own */
	GThread *thread;
	GMainContext *context; /* the owner's, for `done` */
	int wake;              /* eventfd: the doorbell, or the end */
	gint finishing;        /* atomic */
	guint64 bad;           /* the thread's until it has been joined */

	GMutex lock;
	GPtrArray *joining; /* under the lock: sources that the thread has not taken yet */
	guint n_sources;    /* the owner's */
};

static guint64 now_ns(void)
{
	return (guint64)g_get_monotonic_time() * 1000;
}

/* ---- the thread ---- */

static gboolean tell_done(gpointer data)
{
	RsTracePump *pump = data;

	if (!g_atomic_int_get(&pump->finishing) && pump->config.done)
		pump->config.done(pump->config.data);
	return G_SOURCE_REMOVE;
}

/* Not g_main_context_invoke: it could call right here, on the wrong thread. */
static void say_done(RsTracePump *pump)
{
	GSource *source = g_idle_source_new();

	g_source_set_priority(source, G_PRIORITY_DEFAULT);
	g_source_set_callback(source, tell_done, pump, NULL);
	g_source_attach(source, pump->context);
	g_source_unref(source);
}

static void on_merged(const RsTraceRecord *record, gpointer data)
{
	RsTracePump *pump = data;
	RsTraceTask task;

	rs_trace_follower_task(pump->followers->pdata[record->source], record, &task);
	pump->config.record(record, &task, pump->config.record_data);
}

static void take_joining(RsTracePump *pump)
{
	g_mutex_lock(&pump->lock);
	for (guint i = 0; i < pump->joining->len; i++)
		g_ptr_array_add(pump->followers,
				rs_trace_follower_new(pump->joining->pdata[i],
						      (guint16)pump->followers->len, pump->merger));
	g_ptr_array_set_size(pump->joining, 0);
	g_mutex_unlock(&pump->lock);
}

/* One look at every ring. The liveliest status of all sources; END only if all have ended. */
static RsTraceRingStatus read_round(RsTracePump *pump)
{
	RsTraceRingStatus all = RS_TRACE_RING_END;

	take_joining(pump);
	if (pump->merger)
		rs_trace_merger_begin_round(pump->merger);
	for (guint i = 0; i < pump->followers->len; i++) {
		RsTraceRingStatus one = rs_trace_follower_read(pump->followers->pdata[i], now_ns());

		all = MAX(all, one);
	}
	return pump->followers->len ? all : RS_TRACE_RING_IDLE;
}

/* FALSE: there is nobody left who wants records. */
static gboolean end_round(RsTracePump *pump)
{
	if (pump->merger) {
		/* Every time: what is released below was written a round ago at the latest, so its
		 * name has been noted by now. An older look would show a task under the name that
		 * it had before. */
		if (rs_trace_merger_held(pump->merger))
			g_ptr_array_foreach(pump->followers,
					    (GFunc)(void (*)(void))rs_trace_follower_update_names,
					    NULL);
		rs_trace_merger_end_round(pump->merger, g_get_monotonic_time());
	}
	return !pump->config.round || pump->config.round(pump->config.record_data);
}

static gboolean arm(RsTracePump *pump)
{
	gboolean armed = FALSE;

	for (guint i = 0; i < pump->followers->len; i++) {
		RsTraceSource *source = rs_trace_follower_source(pump->followers->pdata[i]);

		armed |= source->ops->arm(source);
	}
	return armed;
}

static void sleep_for(RsTracePump *pump, int ms)
{
	struct pollfd fd = {.fd = pump->wake, .events = POLLIN};
	guint64 count;

	if (poll(&fd, 1, ms) > 0 && read(pump->wake, &count, sizeof(count)) < 0)
		return;
}

/* Takes what is there at the end. */
static void drain(RsTracePump *pump)
{
	guint pages = 0, rounds;

	for (guint i = 0; i < pump->followers->len; i++)
		pages = MAX(pages, rs_trace_follower_source(pump->followers->pdata[i])->ring_pages);
	/* A guest that still runs may write for ever: what is there now, twice over, is enough. */
	rounds = 2 * pages / RS_TRACE_FOLLOWER_CHUNKS + 2 * PATIENT_ROUNDS;
	for (guint round = 0; round < rounds; round++) {
		RsTraceRingStatus status = read_round(pump);

		if (!end_round(pump) || status < RS_TRACE_RING_IN_FLIGHT ||
		    (status == RS_TRACE_RING_IN_FLIGHT && round > PATIENT_ROUNDS))
			break;
	}
	if (!pump->merger)
		return;
	for (guint i = 0; i < pump->followers->len; i++) {
		rs_trace_follower_finish(pump->followers->pdata[i]);
		rs_trace_follower_update_names(pump->followers->pdata[i]);
	}
	rs_trace_merger_flush(pump->merger);
	if (pump->config.round)
		pump->config.round(pump->config.record_data);
}

static gpointer run(gpointer data)
{
	RsTracePump *pump = data;
	gboolean armed = FALSE, wanted = TRUE;

	while (wanted && !g_atomic_int_get(&pump->finishing)) {
		RsTraceRingStatus status = read_round(pump);

		wanted = end_round(pump);
		if (status == RS_TRACE_RING_END)
			break;
		if (status >= RS_TRACE_RING_IN_FLIGHT) {
			armed = FALSE;
			sleep_for(pump, SLEEP_BUSY_MS);
		} else if (!armed && arm(pump)) {
			/* And one more look before sleeping: what came in between rings nothing. */
			armed = TRUE;
		} else {
			sleep_for(pump, SLEEP_QUIET_MS);
			armed = FALSE;
		}
	}
	if (wanted)
		drain(pump);
	for (guint i = 0; i < pump->followers->len; i++)
		pump->bad += rs_trace_follower_bad(pump->followers->pdata[i]);
	say_done(pump);
	return NULL;
}

/* ---- the owner's thread ---- */

static void free_source(gpointer source)
{
	((RsTraceSource *)source)->ops->free(source);
}

RsTracePump *rs_trace_pump_new(const RsTracePumpConfig *config)
{
	RsTracePump *pump = g_new0(RsTracePump, 1);

	pump->config = *config;
	pump->context = g_main_context_ref_thread_default();
	pump->followers = g_ptr_array_new_with_free_func((GDestroyNotify)rs_trace_follower_free);
	pump->joining = g_ptr_array_new();
	g_mutex_init(&pump->lock);
	if (config->record)
		pump->merger = rs_trace_merger_new(0, 0, on_merged, pump);
	pump->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pump->thread = g_thread_new("ringside-pump", run, pump);
	return pump;
}

guint rs_trace_pump_add(RsTracePump *pump, RsTraceSource *source)
{
	g_mutex_lock(&pump->lock);
	g_ptr_array_add(pump->joining, source);
	g_mutex_unlock(&pump->lock);
	rs_trace_pump_wake(pump);
	return pump->n_sources++;
}

void rs_trace_pump_wake(RsTracePump *pump)
{
	guint64 one = 1;

	/* Full is as good as written. */
	if (write(pump->wake, &one, sizeof(one)) < 0)
		return;
}

guint64 rs_trace_pump_finish(RsTracePump *pump)
{
	if (pump->thread) {
		g_atomic_int_set(&pump->finishing, 1);
		rs_trace_pump_wake(pump);
		g_thread_join(g_steal_pointer(&pump->thread));
	}
	return pump->bad;
}

void rs_trace_pump_free(RsTracePump *pump)
{
	GSource *source;

	if (!pump)
		return;
	rs_trace_pump_finish(pump);
	/* `done` may still be queued for us. */
	while ((source = g_main_context_find_source_by_user_data(pump->context, pump)))
		g_source_destroy(source);
	rs_trace_merger_free(pump->merger);
	g_ptr_array_unref(pump->followers);
	g_ptr_array_foreach(pump->joining, (GFunc)(void (*)(void))free_source, NULL);
	g_ptr_array_unref(pump->joining);
	g_mutex_clear(&pump->lock);
	if (pump->wake >= 0)
		close(pump->wake);
	g_main_context_unref(pump->context);
	g_free(pump);
}
