/* SPDX-License-Identifier: MIT */
#include "rs-trace-pulse-private.h"

#ifdef RS_FUZZING
#define INTERVAL 0 /* nobody looks */
#else
#define INTERVAL 50000 /* us */
#endif

struct _RsTracePulse {
	gatomicrefcount refs;
	GMainContext *context;
	GSource *source;
	GMutex lock;
	gboolean due;
	gint64 last; /* when it was called */
	void (*func)(gpointer data);
	gpointer data;
};

/* Its ready time is all that it has. */
typedef struct {
	GSource source;
	RsTracePulse *pulse; /* which lives longer */
} PulseSource;

static gboolean dispatch(GSource *source, GSourceFunc func, gpointer data)
{
	RsTracePulse *pulse = ((PulseSource *)source)->pulse;

	g_mutex_lock(&pulse->lock);
	pulse->due = FALSE;
	pulse->last = g_get_monotonic_time();
	g_source_set_ready_time(source, -1);
	g_mutex_unlock(&pulse->lock);
	pulse->func(pulse->data);
	return G_SOURCE_CONTINUE;
}

static GSourceFuncs funcs = {.dispatch = dispatch};

RsTracePulse *rs_trace_pulse_new(void (*func)(gpointer data), gpointer data)
{
	RsTracePulse *pulse = g_new0(RsTracePulse, 1);

	g_atomic_ref_count_init(&pulse->refs);
	g_mutex_init(&pulse->lock);
	pulse->func = func;
	pulse->data = data;
	pulse->context = g_main_context_ref_thread_default();
	pulse->source = g_source_new(&funcs, sizeof(PulseSource));
	((PulseSource *)pulse->source)->pulse = pulse;
	g_source_attach(pulse->source, pulse->context);
	return pulse;
}

RsTracePulse *rs_trace_pulse_ref(RsTracePulse *pulse)
{
	g_atomic_ref_count_inc(&pulse->refs);
	return pulse;
}

void rs_trace_pulse_unref(RsTracePulse *pulse)
{
	if (!pulse || !g_atomic_ref_count_dec(&pulse->refs))
		return;
	g_source_destroy(pulse->source);
	g_source_unref(pulse->source);
	g_main_context_unref(pulse->context);
	g_mutex_clear(&pulse->lock);
	g_free(pulse);
}

void rs_trace_pulse_beat(RsTracePulse *pulse)
{
	g_mutex_lock(&pulse->lock);
	if (!pulse->due && !g_source_is_destroyed(pulse->source))
		g_source_set_ready_time(pulse->source,
					MAX(pulse->last + INTERVAL, g_get_monotonic_time()));
	pulse->due = TRUE;
	g_mutex_unlock(&pulse->lock);
}

void rs_trace_pulse_stop(RsTracePulse *pulse)
{
	g_source_destroy(pulse->source);
}
