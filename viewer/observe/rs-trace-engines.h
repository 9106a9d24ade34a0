/* SPDX-License-Identifier: MIT */
/*
 * The engines of one peer of a session: it attaches them to threads of guests, and tells when a
 * thread stops and when an engine is gone. What the session says of them is asked again whenever it
 * says that something has changed, so nothing can be missed.
 *
 * It is a GListModel of RsTraceEngine: those that are attached, in the order in which they were.
 *
 * Threads: that of the main context in which it was made, which must run; no function waits. Trust
 * and errors: as rs-trace-engine.h.
 *
 * Signals, each with the RsTraceEngine as its argument:
 * "attached": it is new in the list, since it was asked for or follows another one.
 * "stopped": its thread has stopped. Each stop is told once.
 * "gone": the thread has died, or the guest has let go of it. It is no more in the list. Not told
 * of engines that DETACH took off.
 *
 * "over", with a reason (NULL: the connection closed), a code (int) and a text: the session has
 * ended, as its signal Ended says. All engines are gone then; told once.
 *
 * Engines that are left when it is disposed of are detached, but nobody waits for that.
 */
#ifndef RS_TRACE_ENGINES_H
#define RS_TRACE_ENGINES_H

#include "rs-trace-client.h"
#include "rs-trace-engine.h"

G_BEGIN_DECLS

#define RS_TRACE_TYPE_ENGINES (rs_trace_engines_get_type())
G_DECLARE_FINAL_TYPE(RsTraceEngines, rs_trace_engines, RS_TRACE, ENGINES, GObject)

/* A thread of a guest that engines can be attached to. */
typedef struct {
	guint32 source_number, id, process, parent;
	gboolean dead;       /* it is still to be reaped, and no engine can be attached */
	char *source, *comm; /* owned, escaped */
} RsTraceEngineThread;

void rs_trace_engine_thread_free(RsTraceEngineThread *thread);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceEngineThread, rs_trace_engine_thread_free)

/* Takes a reference. One for each connection: a session's list has all engines of its peer. */
RsTraceEngines *rs_trace_engines_new(RsDBusSession1 *session);

/* The threads that there are, RsTraceEngineThread, to be unreffed; `source` 0: of all sources. */
void rs_trace_engines_threads_async(RsTraceEngines *engines, guint32 source,
				    GCancellable *cancellable, GAsyncReadyCallback callback,
				    gpointer data);
GPtrArray *rs_trace_engines_threads_finish(RsTraceEngines *engines, GAsyncResult *result,
					   GError **error);

/*
 * Attaches an engine with these events, a mask; 0: it stops only if it is asked to. `follow`: each
 * thread that this one makes gets such an engine, too, before it runs.
 *
 * Ids of threads are used again, so another thread may have this one by now. The engine's process
 * and comm are those of the thread that it is attached to.
 */
void rs_trace_engines_attach_async(RsTraceEngines *engines, const RsTraceEngineThread *thread,
				   guint32 events, gboolean follow, GCancellable *cancellable,
				   GAsyncReadyCallback callback, gpointer data);
/* To be unreffed. NULL: `error` is set. */
RsTraceEngine *rs_trace_engines_attach_finish(RsTraceEngines *engines, GAsyncResult *result,
					      GError **error);

/* Asks the session now. Signals come before the callback. Rarely needed: see above. */
void rs_trace_engines_refresh_async(RsTraceEngines *engines, GCancellable *cancellable,
				    GAsyncReadyCallback callback, gpointer data);
gboolean rs_trace_engines_refresh_finish(RsTraceEngines *engines, GAsyncResult *result,
					 GError **error);

/* The one of this number in the session. Borrowed; NULL: there is none. */
RsTraceEngine *rs_trace_engines_by_number(RsTraceEngines *engines, guint32 number);
/* The one on the thread with this id, `source` 0: in any source. Borrowed; NULL: there is none. */
RsTraceEngine *rs_trace_engines_find(RsTraceEngines *engines, guint32 source, guint32 thread);
/* The one that stopped first of those that are. Borrowed; NULL: none is stopped. */
RsTraceEngine *rs_trace_engines_first_stopped(RsTraceEngines *engines);

G_END_DECLS

#endif
