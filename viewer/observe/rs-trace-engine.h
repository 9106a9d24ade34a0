/* SPDX-License-Identifier: MIT */
/*
 * An engine of ours on a thread of a guest: what the thread does, and what it is asked for while it
 * stands. RsTraceEngines makes engines and tells what becomes of them.
 *
 * Threads: the one whose main context RsTraceEngines was made in. No function here waits: each ends
 * by its callback, in the thread-default context of the caller. Trust: numbers, names and bytes are
 * the guest's and hostile; they are bounded, and names are escaped already.
 *
 * Errors: RS_TRACE_SESSION_ERROR (NOT_STOPPED, NO_SUCH_ENGINE, NO_SUCH_THREAD, NOT_SUPPORTED,
 * BAD_ARGUMENT, GONE, SILENT, FAILED), or G_IO_ERROR_CANCELLED. A call that was cancelled may have
 * been carried out all the same.
 */
#ifndef RS_TRACE_ENGINE_H
#define RS_TRACE_ENGINE_H

#include "rs-trace-engine-event.h"
#include "rs-trace-registers.h"

#include <gio/gio.h>

G_BEGIN_DECLS

#define RS_TRACE_ENGINE_ARGUMENTS_MAX 6u /* of a system call */

#define RS_TRACE_TYPE_ENGINE (rs_trace_engine_get_type())
G_DECLARE_FINAL_TYPE(RsTraceEngine, rs_trace_engine, RS_TRACE, ENGINE, GObject)

typedef enum {
	RS_TRACE_ENGINE_RUNNING,
	RS_TRACE_ENGINE_STOPPED,
	RS_TRACE_ENGINE_GONE, /* or detached: nothing can be asked of it any more */
} RsTraceEngineState;

typedef enum {
	RS_TRACE_ENGINE_RESUME,
	RS_TRACE_ENGINE_STOP,      /* at the next safe point */
	RS_TRACE_ENGINE_INTERRUPT, /* the same, and a system call that waits comes to an end */
	RS_TRACE_ENGINE_DETACH,    /* the thread goes on */
} RsTraceEngineAction;

/* Why and where a thread has stopped. */
typedef struct {
	guint64 number; /* of the session: grows with each stop of this engine */
	guint64 order; /* grows with each stop that was told, of all engines of an RsTraceEngines */
	guint event;   /* RS_UTRACE_EVENT_*, or one that is newer than this library */
	gint64 value;  /* as EngineList of the D-Bus interface has it */
	gboolean stepped; /* it has stopped since a step is over */
	char *path;       /* of an exec, escaped; NULL: not told */
} RsTraceEngineStop;

/* What becomes of a signal. */
typedef enum {
	RS_TRACE_ENGINE_DELIVER, /* its handler runs */
	RS_TRACE_ENGINE_IGNORE,
	RS_TRACE_ENGINE_SUSPEND,
	RS_TRACE_ENGINE_TERMINATE,
	RS_TRACE_ENGINE_CORE,
} RsTraceEngineFate;

/* What was read of a stopped thread. */
typedef struct {
	const RsTraceRegisterSet *set;    /* NULL: of an architecture that is not known */
	guint64 values[RS_REGISTERS_MAX]; /* those from `count` on are 0 */
	guint count;
	gboolean has_call; /* it is about to make this system call */
	guint64 call;
	guint n_arguments;
	guint64 arguments[RS_TRACE_ENGINE_ARGUMENTS_MAX];
	GBytes *code; /* memory from the program counter on; NULL: none asked for, or unreadable */
} RsTraceEngineView;

void rs_trace_engine_view_free(RsTraceEngineView *view);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceEngineView, rs_trace_engine_view_free)

guint32 rs_trace_engine_get_number(RsTraceEngine *engine); /* in the session */
guint32 rs_trace_engine_get_source_number(RsTraceEngine *engine);
guint32 rs_trace_engine_get_thread(RsTraceEngine *engine);
guint32 rs_trace_engine_get_process(RsTraceEngine *engine);
/* The number of the engine that it follows; 0: it was attached by its own. */
guint32 rs_trace_engine_get_followed(RsTraceEngine *engine);
/* Threads that its thread made and that it could not follow, for want of room. */
guint32 rs_trace_engine_get_refused(RsTraceEngine *engine);
/* Whether threads that its thread makes get such an engine, too. */
gboolean rs_trace_engine_get_follow(RsTraceEngine *engine);
/* Names of its source and of its thread when it was attached. The engine's. */
const char *rs_trace_engine_get_source(RsTraceEngine *engine);
const char *rs_trace_engine_get_comm(RsTraceEngine *engine);
/* Also the property "state", whose changes are notified. */
RsTraceEngineState rs_trace_engine_get_state(RsTraceEngine *engine);
/* NULL: it is not stopped. The engine's, until its state changes. */
const RsTraceEngineStop *rs_trace_engine_get_stop(RsTraceEngine *engine);
/*
 * Whether it is stopped, or a stop can come: it has events, makes a step, or was asked to stop. If
 * not, the end of its thread alone can still be told, and what follows it.
 */
gboolean rs_trace_engine_may_stop(RsTraceEngine *engine);
/* NULL: its architecture is not known. */
const RsTraceRegisterSet *rs_trace_engine_get_registers(RsTraceEngine *engine);

/*
 * Calls that answer only whether they were carried out end by rs_trace_engine_finish(). The state
 * changes before the callback: RESUME and steps make it RUNNING, DETACH makes it GONE.
 */
gboolean rs_trace_engine_finish(RsTraceEngine *engine, GAsyncResult *result, GError **error);

/* Ends steps too: the one that is being made is the last. */
void rs_trace_engine_control_async(RsTraceEngine *engine, RsTraceEngineAction action,
				   GCancellable *cancellable, GAsyncReadyCallback callback,
				   gpointer data);
/*
 * Makes so many steps, of one instruction or up to a branch each; 1 or more. Only the last one is
 * told as a stop, unless something else stops the thread before.
 */
void rs_trace_engine_step_async(RsTraceEngine *engine, guint64 steps, gboolean to_branch,
				GCancellable *cancellable, GAsyncReadyCallback callback,
				gpointer data);
/* How many of them are still to be made; 0: none. */
guint64 rs_trace_engine_get_steps(RsTraceEngine *engine);
/* The step that is being made becomes the last one. Without steps nothing happens. */
void rs_trace_engine_end_steps(RsTraceEngine *engine);

/*
 * Reads registers, the system call, and up to `code` bytes from the program counter on (0: none).
 * Code that cannot be read is no error.
 */
void rs_trace_engine_look_async(RsTraceEngine *engine, gsize code, GCancellable *cancellable,
				GAsyncReadyCallback callback, gpointer data);
RsTraceEngineView *rs_trace_engine_look_finish(RsTraceEngine *engine, GAsyncResult *result,
					       GError **error);
/* Reads memory: what comes before the first byte that cannot be read. To be unreffed. */
void rs_trace_engine_read_async(RsTraceEngine *engine, guint64 address, gsize size,
				GCancellable *cancellable, GAsyncReadyCallback callback,
				gpointer data);
GBytes *rs_trace_engine_read_finish(RsTraceEngine *engine, GAsyncResult *result, GError **error);

/* Sets the register of this number, below RS_REGISTERS_MAX. */
void rs_trace_engine_set_register_async(RsTraceEngine *engine, guint number, guint64 value,
					GCancellable *cancellable, GAsyncReadyCallback callback,
					gpointer data);
/* Makes the system call another one. Arguments that are not given stay; `count` is 6 at most. */
void rs_trace_engine_set_call_async(RsTraceEngine *engine, guint64 call, const guint64 *arguments,
				    guint count, GCancellable *cancellable,
				    GAsyncReadyCallback callback, gpointer data);
/* Writes memory, RS_TRACE_ENGINE_WRITE_MAX bytes at most. */
#define RS_TRACE_ENGINE_WRITE_MAX 3968u
void rs_trace_engine_write_async(RsTraceEngine *engine, guint64 address, GBytes *bytes,
				 GCancellable *cancellable, GAsyncReadyCallback callback,
				 gpointer data);
/* How many were written: those before the first one that the thread could not write. -1: none. */
gssize rs_trace_engine_write_finish(RsTraceEngine *engine, GAsyncResult *result, GError **error);
/* Of a thread that has stopped at a signal. `number`: it becomes another one; 0: it stays. */
void rs_trace_engine_set_signal_async(RsTraceEngine *engine, RsTraceEngineFate fate, guint number,
				      GCancellable *cancellable, GAsyncReadyCallback callback,
				      gpointer data);
/* Of a thread that has stopped at its exit. */
void rs_trace_engine_set_exit_code_async(RsTraceEngine *engine, gint64 code,
					 GCancellable *cancellable, GAsyncReadyCallback callback,
					 gpointer data);
/* It stops at these events instead, and follows or not, as rs_trace_engines_attach_async() says. */
void rs_trace_engine_set_events_async(RsTraceEngine *engine, guint32 events, gboolean follow,
				      GCancellable *cancellable, GAsyncReadyCallback callback,
				      gpointer data);

G_END_DECLS

#endif
