/* SPDX-License-Identifier: MIT */
#include "rs-trace-clock.h"

#include <string.h>

void rs_trace_clock_init(RsTraceClock *clock, guint64 hz)
{
	memset(clock, 0, sizeof(*clock));
	clock->hz = hz;
}

void rs_trace_clock_set_epochs(RsTraceClock *clock, const struct rs_control *control)
{
	clock->n_epochs = control->epoch_count;
	memcpy(clock->epochs, control->epochs, sizeof(clock->epochs));
}

static guint64 saturate(unsigned __int128 value)
{
	return value > G_MAXUINT64 ? G_MAXUINT64 : (guint64)value;
}

guint64 rs_trace_clock_ns(const RsTraceClock *clock, guint epoch, guint64 ticks)
{
	const struct rs_clock_epoch *e = &clock->epochs[epoch % RS_CLOCK_EPOCHS];
	unsigned __int128 span;

	if (epoch % RS_CLOCK_EPOCHS >= clock->n_epochs || !e->mult || e->shift > 63) {
		if (!clock->hz)
			return ticks;
		return saturate((unsigned __int128)ticks * G_GUINT64_CONSTANT(1000000000) /
				clock->hz);
	}
	/* An event that was begun just before its epoch lies before the base. */
	if (ticks < e->tsc_base) {
		span = (unsigned __int128)(e->tsc_base - ticks) * e->mult >> e->shift;
		return span > e->ns_base ? 0 : e->ns_base - (guint64)span;
	}
	span = (unsigned __int128)(ticks - e->tsc_base) * e->mult >> e->shift;
	return saturate(span + e->ns_base);
}
