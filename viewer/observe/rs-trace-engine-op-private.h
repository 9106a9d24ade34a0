/* SPDX-License-Identifier: MIT */
/* What is asked of an engine: a task of one call or several. For rs-trace-engine*.c. */
#ifndef RS_TRACE_ENGINE_OP_PRIVATE_H
#define RS_TRACE_ENGINE_OP_PRIVATE_H

#include "rs-trace-engine-private.h"

typedef struct _RsTraceEngineOp RsTraceEngineOp;
struct _RsTraceEngineOp {
	/* Ends the task, or makes the next call of it. */
	void (*take)(GTask *task, RsTraceEngineOp *op, GVariant *reply);
	/* NULL: the error is the task's. Frees `error`. */
	void (*failed)(GTask *task, RsTraceEngineOp *op, GError *error);
	/* What its session was asked for; those that are the task's. */
	RsTraceEngineState after; /* control and steps */
	guint64 stop;             /* the stop that was meant */
	guint64 steps;
	gboolean to_branch, follow;
	guint32 events;
	guint64 address;
	gsize size;
	GByteArray *bytes;
	RsTraceEngineView *view;
};

#pragma GCC visibility push(hidden) /* not for outsiders */

/* To be unreffed; its calls hold it too. */
GTask *rs_trace_engine_begin(RsTraceEngine *engine, GCancellable *cancellable,
			     GAsyncReadyCallback callback, gpointer data, RsTraceEngineOp **op);
/*
 * Makes a call about the task's engine, whose answer op->take gets. `rest`: its arguments between
 * the engine's number and the options, `count` of them, 3 at most; floating.
 */
void rs_trace_engine_call(GTask *task, const char *method, GVariant **rest, gsize count);
/* For op->take: the answer says no more than that it was carried out. */
void rs_trace_engine_take_done(GTask *task, RsTraceEngineOp *op, GVariant *reply);

#pragma GCC visibility pop

#endif
