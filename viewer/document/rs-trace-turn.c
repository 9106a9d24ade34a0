/* SPDX-License-Identifier: MIT */
#include "rs-trace-turn-private.h"

#define LOOK_US 100000 /* between looks whether a turn is still wanted */

static GMutex lock;
static GCond ended;
static guint n_turns; /* under `lock` */

gboolean rs_trace_turn_begin(RsTraceTurnFunc is_over, gconstpointer data)
{
	gboolean is_wanted;

	g_mutex_lock(&lock);
	while ((is_wanted = !is_over(data)) && n_turns == RS_TRACE_TURNS)
		g_cond_wait_until(&ended, &lock, g_get_monotonic_time() + LOOK_US);
	n_turns += is_wanted;
	g_mutex_unlock(&lock);
	return is_wanted;
}

void rs_trace_turn_end(void)
{
	g_mutex_lock(&lock);
	n_turns--;
	g_cond_signal(&ended);
	g_mutex_unlock(&lock);
}
