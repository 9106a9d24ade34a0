/* SPDX-License-Identifier: MIT */
#include "rs-trace-progress-private.h"

#define INTERVAL 100000 /* us */

typedef struct {
	GTask *task;
	RsTraceProgressFunc func;
	gpointer what;
} Told;

static gboolean tell(gpointer data)
{
	const Told *told = data;

	if (!g_task_get_completed(told->task) &&
	    !g_cancellable_is_cancelled(g_task_get_cancellable(told->task)))
		told->func(g_task_get_task_data(told->task), told->what);
	return G_SOURCE_REMOVE;
}

static void told_free(gpointer data)
{
	Told *told = data;

	g_object_unref(told->task);
	g_free(told->what);
	g_free(told);
}

gboolean rs_trace_progress_is_due(gint64 *last)
{
	const gint64 now = g_get_monotonic_time();

	if (now - *last < INTERVAL)
		return FALSE;
	*last = now;
	return TRUE;
}

/* Not g_main_context_invoke(): it could call at once, on the task's thread. */
void rs_trace_progress_tell(GTask *task, RsTraceProgressFunc func, gconstpointer what, gsize size)
{
	g_autoptr(GSource) source = g_idle_source_new();
	Told *told = g_new(Told, 1);

	*told = (Told){g_object_ref(task), func, g_memdup2(what, size)};
	g_source_set_priority(source, G_PRIORITY_DEFAULT);
	g_source_set_callback(source, tell, told, told_free);
	g_source_attach(source, g_task_get_context(task));
}
