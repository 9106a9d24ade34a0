/* SPDX-License-Identifier: MIT */
#include "rs-trace-pump.h"
#include "rs-trace-feed.h"
#include "rs-trace-urgent.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/*
 * How long the thread sleeps without a doorbell: short after a busy round, long when all is quiet.
 * The doorbell comes by way of another thread, which may wait for a core. So one that is urgent
 * looks by itself before a ring of some MiB can be full.
 */
#define SLEEP_BUSY_MS 2
#define SLEEP_QUIET_MS 20
#define SLEEP_URGENT_MS 5
/* At the end, at most this many rounds wait only for records in flight. */
#define PATIENT_ROUNDS 4

/* One source. It belongs to the pump's thread once the thread has taken it. */
typedef struct {
	guint number;
	gpointer data;         /* the owner's */
	RsTraceSource *source; /* until it is taken */
	RsTraceFeed *feed;
	gint ending;       /* atomic */
	guint patience;    /* rounds at the end that waited only for records in flight */
	guint last_rounds; /* rounds at the end */
	gboolean finished;
} Member;

struct _RsTracePump {
	RsTracePumpConfig config;
	GPtrArray *members; /* of the thread, by number; an entry may be NULL */
	GThread *thread;
	GMainContext *context; /* of the owner, for its callbacks */
	int wake;              /* eventfd: the doorbell, or the end */
	gint finishing;        /* atomic */
	gint stopping;         /* atomic: what the rings still hold is not wanted */
	gint urgent;           /* atomic: RsTraceUrgent that the thread is to be */
	gboolean asked;        /* of the thread: it has asked to be */
	gboolean rests;        /* of the thread: it has to, as rs-trace-urgent.h says */
	gint64 since;          /* of the thread: when it slept last */
	gboolean draining;     /* of the thread: it reads what is there, then ends */
	gboolean more;         /* of the thread: a ring had more than a round reads of it */
	gint64 patience;       /* of the thread: us that its sources may still wait in this round */

	GPtrArray *numbers; /* of the owner: members by number; NULL: the number is free */
	GMutex lock;
	GPtrArray *joining; /* under the lock: members that the thread has not taken yet */
	GPtrArray *leaving; /* under the lock: members that it is done with */
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

static gboolean tell_left(gpointer data)
{
	RsTracePump *pump = data;
	g_autoptr(GPtrArray) left = g_ptr_array_new_with_free_func(g_free);

	g_mutex_lock(&pump->lock);
	g_ptr_array_extend_and_steal(left, g_steal_pointer(&pump->leaving));
	pump->leaving = g_ptr_array_new();
	g_mutex_unlock(&pump->lock);
	for (guint i = 0; i < left->len; i++) {
		const Member *member = left->pdata[i];

		pump->numbers->pdata[member->number] = NULL;
		if (pump->config.ended)
			pump->config.ended(member->data, pump->config.data);
	}
	return G_SOURCE_REMOVE;
}

/* Not g_main_context_invoke(): it could call `what` at once, on the wrong thread. */
static void tell(RsTracePump *pump, GSourceFunc what)
{
	GSource *source = g_idle_source_new();

	g_source_set_priority(source, G_PRIORITY_DEFAULT);
	g_source_set_callback(source, what, pump, NULL);
	g_source_attach(source, pump->context);
	g_source_unref(source);
}

static void take_joining(RsTracePump *pump)
{
	g_mutex_lock(&pump->lock);
	for (guint i = 0; i < pump->joining->len; i++) {
		Member *member = pump->joining->pdata[i];

		member->feed =
			rs_trace_feed_new(g_steal_pointer(&member->source), pump->config.sink,
					  (guint16)member->number, member->data);
		rs_trace_feed_share_patience(member->feed, &pump->patience);
		if (pump->members->len <= member->number)
			g_ptr_array_set_size(pump->members, (gint)member->number + 1);
		pump->members->pdata[member->number] = member;
	}
	g_ptr_array_set_size(pump->joining, 0);
	g_mutex_unlock(&pump->lock);
}

/* The next member from number *i on. NULL: there is none. */
static Member *next_member(const RsTracePump *pump, guint *i)
{
	while (*i < pump->members->len) {
		Member *member = pump->members->pdata[(*i)++];

		if (member)
			return member;
	}
	return NULL;
}

/*
 * Rounds in which all is read that the rings hold now. A guest that still runs may write for ever.
 * Twice as much as is there now is enough.
 */
static guint enough_rounds(const Member *member)
{
	return 2 * member->feed->source->ring_pages / RS_TRACE_FEED_CHUNKS + 2 * PATIENT_ROUNDS;
}

/*
 * The source writes no more, or so it was said. So if nothing new came, nothing more will come.
 */
static void maybe_finish(Member *member, RsTraceRingStatus status)
{
	bool more = status == RS_TRACE_RING_DATA ||
		    (status == RS_TRACE_RING_IN_FLIGHT && member->patience++ < PATIENT_ROUNDS);

	if (more && member->last_rounds++ < enough_rounds(member))
		return;
	/* What a source that writes on has written since is not lost: it is still there. */
	if (status != RS_TRACE_RING_DATA)
		rs_trace_feed_finish(member->feed);
	else
		rs_trace_feed_let_go(member->feed);
	member->finished = TRUE;
}

/* Pages that are not full are wanted too. */
static void take_all(RsTraceFeed *feed)
{
	for (guint ring = 0; ring < feed->source->n_rings; ring++)
		rs_trace_feed_set_whole(feed, ring, FALSE);
}

/*
 * Looks at every ring once. Returns the liveliest status of all sources, so END only if all have
 * ended.
 */
static RsTraceRingStatus read_round(RsTracePump *pump)
{
	RsTraceRingStatus all = RS_TRACE_RING_END;
	gboolean any = FALSE;
	Member *member;

	pump->patience = RS_TRACE_FEED_PATIENCE_US;
	pump->more = FALSE;
	take_joining(pump);
	if (pump->config.sink)
		pump->config.sink->ops->begin_round(pump->config.sink);
	for (guint i = 0; (member = next_member(pump, &i));) {
		/* Before the read: then all that was written before the end is read now. */
		gboolean ending = g_atomic_int_get(&member->ending) || pump->draining;
		RsTraceRingStatus one;

		if (member->finished)
			continue;
		if (ending)
			take_all(member->feed);
		one = rs_trace_feed_read(member->feed, now_ns());
		if (ending)
			maybe_finish(member, one);
		pump->more |= member->feed->more;
		all = MAX(all, one);
		any = TRUE;
	}
	return any ? all : RS_TRACE_RING_IDLE;
}

/* Drops members that have finished, and of which the sink holds nothing. */
static void drop_finished(RsTracePump *pump)
{
	gboolean any = FALSE;
	Member *member;

	for (guint i = 0; (member = next_member(pump, &i));) {
		if (!member->finished || rs_trace_feed_held(member->feed))
			continue;
		g_clear_pointer(&member->feed, rs_trace_feed_free);
		pump->members->pdata[member->number] = NULL;
		g_mutex_lock(&pump->lock);
		g_ptr_array_add(pump->leaving, member);
		g_mutex_unlock(&pump->lock);
		any = TRUE;
	}
	if (any)
		tell(pump, tell_left);
}

/* FALSE: the sink wants no more. */
static gboolean end_round(RsTracePump *pump)
{
	RsTraceSink *sink = pump->config.sink;
	gboolean wanted = !sink || sink->ops->end_round(sink, now_ns());

	if (!pump->draining)
		drop_finished(pump);
	return wanted;
}

static gboolean arm(RsTracePump *pump)
{
	gboolean armed = FALSE;
	Member *member;

	for (guint i = 0; (member = next_member(pump, &i));) {
		armed |= member->feed->source->ops->arm(member->feed->source);
	}
	return armed;
}

static void sleep_for(RsTracePump *pump, int ms)
{
	struct pollfd fd = {.fd = pump->wake, .events = POLLIN};
	guint64 count;

	if (poll(&fd, 1, ms) == 0)
		pump->since = 0;
	else if (read(pump->wake, &count, sizeof(count)) < 0)
		return;
}

/* After a round that found something. A ring that is written so fast comes round while we sleep. */
static void go_on(RsTracePump *pump)
{
	if (!pump->more)
		sleep_for(pump, SLEEP_BUSY_MS);
	if (pump->rests)
		rs_trace_urgent_rest(&pump->since);
}

static void become_urgent(RsTracePump *pump)
{
	const gint most = g_atomic_int_get(&pump->urgent);

	if (pump->asked || most == RS_TRACE_URGENT_NOT)
		return;
	pump->asked = TRUE;
	pump->rests = rs_trace_urgent_ask((RsTraceUrgent)most) == RS_TRACE_URGENT_REAL;
}

/* At the end, reads what is there. */
static void drain(RsTracePump *pump)
{
	take_joining(pump);
	while (!g_atomic_int_get(&pump->stopping)) {
		RsTraceRingStatus status = read_round(pump);

		/* maybe_finish() bounds the rounds of each source. */
		if (!end_round(pump) || status < RS_TRACE_RING_IN_FLIGHT)
			break;
	}
}

/* Tells the sink that all has been read. */
static void end(RsTracePump *pump)
{
	RsTraceSink *sink = pump->config.sink;
	Member *member;

	for (guint i = 0; (member = next_member(pump, &i));) {
		/* After a stop, what was not read is still in the rings. */
		if (!member->finished && g_atomic_int_get(&pump->stopping))
			rs_trace_feed_let_go(member->feed);
		else if (!member->finished)
			rs_trace_feed_finish(member->feed);
		member->finished = TRUE;
	}
	if (sink)
		sink->ops->end(sink);
}

static gpointer run(gpointer data)
{
	RsTracePump *pump = data;
	gboolean armed = FALSE, wanted = TRUE;

	while (wanted && !g_atomic_int_get(&pump->finishing)) {
		RsTraceRingStatus status;

		become_urgent(pump);
		status = read_round(pump);
		wanted = end_round(pump);
		if (status == RS_TRACE_RING_END)
			break;
		if (status >= RS_TRACE_RING_IN_FLIGHT) {
			armed = FALSE;
			go_on(pump);
		} else if (!armed && arm(pump)) {
			/*
			 * Look once more before sleeping: a record that came in between does not
			 * ring the doorbell.
			 */
			armed = TRUE;
		} else {
			sleep_for(pump, pump->asked ? SLEEP_URGENT_MS : SLEEP_QUIET_MS);
			armed = FALSE;
		}
	}
	pump->draining = TRUE;
	if (wanted && !g_atomic_int_get(&pump->stopping))
		drain(pump);
	if (wanted)
		end(pump);
	tell(pump, tell_done);
	return NULL;
}

/* ---- the owner's thread ---- */

static void free_member(gpointer data)
{
	Member *member = data;

	if (!member)
		return;
	rs_trace_feed_free(member->feed);
	if (member->source)
		member->source->ops->free(member->source);
	g_free(member);
}

RsTracePump *rs_trace_pump_new(const RsTracePumpConfig *config)
{
	RsTracePump *pump = g_new0(RsTracePump, 1);

	pump->config = *config;
	pump->context = g_main_context_ref_thread_default();
	pump->members = g_ptr_array_new();
	pump->numbers = g_ptr_array_new_with_free_func(free_member);
	pump->joining = g_ptr_array_new();
	pump->leaving = g_ptr_array_new();
	g_mutex_init(&pump->lock);
	pump->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return pump;
}

void rs_trace_pump_start(RsTracePump *pump)
{
	pump->thread = g_thread_new("ringside-pump", run, pump);
}

guint rs_trace_pump_add(RsTracePump *pump, RsTraceSource *source, gpointer data)
{
	Member *member = g_new0(Member, 1);

	member->source = source;
	member->data = data;
	while (member->number < pump->numbers->len && pump->numbers->pdata[member->number])
		member->number++;
	if (member->number == pump->numbers->len)
		g_ptr_array_add(pump->numbers, NULL);
	pump->numbers->pdata[member->number] = member;
	g_mutex_lock(&pump->lock);
	g_ptr_array_add(pump->joining, member);
	g_mutex_unlock(&pump->lock);
	rs_trace_pump_wake(pump);
	return member->number;
}

void rs_trace_pump_end(RsTracePump *pump, guint number)
{
	Member *member = pump->numbers->pdata[number];

	g_atomic_int_set(&member->ending, 1);
	rs_trace_pump_wake(pump);
}

void rs_trace_pump_wake(RsTracePump *pump)
{
	guint64 one = 1;

	/* If the counter is full, the thread wakes up all the same. */
	if (write(pump->wake, &one, sizeof(one)) < 0)
		return;
}

void rs_trace_pump_set_urgent(RsTracePump *pump, gboolean real_time)
{
	g_atomic_int_set(&pump->urgent, real_time ? RS_TRACE_URGENT_REAL : RS_TRACE_URGENT_NICE);
}

void rs_trace_pump_stop(RsTracePump *pump)
{
	g_atomic_int_set(&pump->stopping, 1);
	rs_trace_pump_finish(pump);
}

void rs_trace_pump_finish(RsTracePump *pump)
{
	if (pump->thread) {
		g_atomic_int_set(&pump->finishing, 1);
		rs_trace_pump_wake(pump);
		g_thread_join(g_steal_pointer(&pump->thread));
	}
}

void rs_trace_pump_free(RsTracePump *pump)
{
	GSource *source;

	if (!pump)
		return;
	rs_trace_pump_finish(pump);
	/* Calls to our callbacks may still be queued. */
	while ((source = g_main_context_find_source_by_user_data(pump->context, pump)))
		g_source_destroy(source);
	/* Members that have left are still in `numbers`. */
	g_ptr_array_unref(pump->numbers);
	g_ptr_array_unref(pump->members);
	g_ptr_array_unref(pump->joining);
	g_ptr_array_unref(pump->leaving);
	if (pump->config.sink)
		pump->config.sink->ops->free(pump->config.sink);
	g_mutex_clear(&pump->lock);
	if (pump->wake >= 0)
		close(pump->wake);
	g_main_context_unref(pump->context);
	g_free(pump);
}
