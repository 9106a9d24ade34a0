/* SPDX-License-Identifier: MIT */
/*
 * What RsTraceEngines does to its engines: rows of EngineList become state and stops. For
 * rs-trace-engine*.c.
 */
#ifndef RS_TRACE_ENGINE_PRIVATE_H
#define RS_TRACE_ENGINE_PRIVATE_H

#include "rs-trace-engines.h"

struct _RsTraceEngine {
	GObject parent_instance;
	RsDBusSession1 *session; /* owned */
	RsTraceEngines *owner;   /* weak */
	guint32 number, source_number, thread, process;
	char *source, *comm; /* owned, escaped */
	const RsTraceRegisterSet *registers;
	RsTraceEngineState state;
	RsTraceEngineStop stop; /* the last one */
	guint32 followed, refused;
	gboolean follow;
	guint32 events;    /* at which it stops */
	gboolean stopping; /* it runs, and was asked to stop */
	guint64 steps;     /* still to be made, with the one that is being made */
	gboolean to_branch;
	guint64 since; /* lists that were asked for before this one do not have it */
};

struct _RsTraceEngines {
	GObject parent_instance;
	GMainContext *context;   /* in which the session's signals arrive */
	RsDBusSession1 *session; /* owned */
	GPtrArray *list;         /* RsTraceEngine */
	GHashTable *known;       /* numbers of all that were ever in it */
	guint64 stops;           /* that were told */
	guint64 asked, taken;    /* lists of the session, by number: the last one of each */
	gboolean refreshing;     /* for Changed */
	gboolean again;          /* something has changed since */
	gboolean over;
	gulong closed; /* the connection's handler */
	GSource *late; /* tells of a session that had ended before; NULL: none */
};

#pragma GCC visibility push(hidden) /* not for outsiders */

RsTraceEngine *rs_trace_engine_new(RsTraceEngines *owner, RsDBusSession1 *session, guint32 number);
void rs_trace_engine_describe(RsTraceEngine *engine, const RsTraceEngineThread *thread);
void rs_trace_engine_set_state(RsTraceEngine *engine, RsTraceEngineState state);
/*
 * A row that says that it is stopped. TRUE: it is a stop to be told, which is in `stop`. Else it
 * has been told, or another step has begun.
 */
gboolean rs_trace_engine_take_stop(RsTraceEngine *engine, GVariant *row);

/* Asks for one step; if that is refused the stop is told: rs_trace_engines_tell_stop(). */
void rs_trace_engine_step_on(RsTraceEngine *engine);

/* Of RsTraceEngines. */
/* The options of a call: `source` 0 and FALSE are left out. A floating reference. */
GVariant *rs_trace_engine_options(guint32 source, gboolean follow);
/* It is in the list then, and told. */
RsTraceEngine *rs_trace_engines_add(RsTraceEngines *engines, guint32 number, guint32 followed,
				    const RsTraceEngineThread *thread);
void rs_trace_engines_drop(RsTraceEngines *engines, RsTraceEngine *engine);
void rs_trace_engines_tell_stop(RsTraceEngines *engines, RsTraceEngine *engine);

/* A row of Threads or of EngineList; `id`: the key of the thread's. */
RsTraceEngineThread *rs_trace_engine_read_thread(GVariant *row, const char *id);

#pragma GCC visibility pop

#endif
