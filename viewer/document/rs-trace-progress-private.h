/* SPDX-License-Identifier: MIT */
/*
 * What the thread of a task has to tell of its work meanwhile, some ten times a second. Whoever
 * began the task is told on its own thread, as long as it waits.
 */
#ifndef RS_TRACE_PROGRESS_PRIVATE_H
#define RS_TRACE_PROGRESS_PRIVATE_H

#include <gio/gio.h>

G_BEGIN_DECLS

/* `job`: the task's data. `what` is valid while it is called. */
typedef void (*RsTraceProgressFunc)(gpointer job, gconstpointer what);

/* Whether it is time to tell more. *last is when something was told, in monotonic us. */
gboolean rs_trace_progress_is_due(gint64 *last);
/* Copies `size` bytes of `what`. The task's data must stay as it is. */
void rs_trace_progress_tell(GTask *task, RsTraceProgressFunc func, gconstpointer what, gsize size);

G_END_DECLS

#endif
