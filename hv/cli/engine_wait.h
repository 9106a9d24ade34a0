/* SPDX-License-Identifier: MIT */
/*
 * What a command asks of engines and waits for: rs-trace-engine.h's calls, each until its answer is
 * there. Nothing else is dispatched meanwhile, so no other engine stops or goes in between. SIGINT,
 * SIGTERM and SIGHUP end a wait, and every later one: G_IO_ERROR_CANCELLED.
 *
 * Thread: main. Errors as there.
 */
#ifndef RS_HV_CLI_ENGINE_WAIT_H
#define RS_HV_CLI_ENGINE_WAIT_H

#include <rs-trace-engines.h>

struct rs_cli_wait {
	GMainContext *context; /* in which only answers and signals arrive */
	GCancellable *cancellable;
	GSource *signals[3];
};

void rs_cli_wait_init(struct rs_cli_wait *wait);
void rs_cli_wait_deinit(struct rs_cli_wait *wait);
/* Whether such a signal has come. */
gboolean rs_cli_wait_is_over(struct rs_cli_wait *wait);

/* RsTraceEngineThread, to be unreffed. */
GPtrArray *rs_cli_engine_threads(struct rs_cli_wait *wait, RsTraceEngines *engines, guint32 source,
				 GError **error);
/* The engine is in the list then. To be unreffed. */
RsTraceEngine *rs_cli_engine_attach(struct rs_cli_wait *wait, RsTraceEngines *engines,
				    const RsTraceEngineThread *thread, guint32 events,
				    gboolean follow, GError **error);
gboolean rs_cli_engine_refresh(struct rs_cli_wait *wait, RsTraceEngines *engines, GError **error);

gboolean rs_cli_engine_control(struct rs_cli_wait *wait, RsTraceEngine *engine,
			       RsTraceEngineAction action, GError **error);
/* Returns once the first step has begun. */
gboolean rs_cli_engine_step(struct rs_cli_wait *wait, RsTraceEngine *engine, guint64 steps,
			    gboolean to_branch, GError **error);
RsTraceEngineView *rs_cli_engine_look(struct rs_cli_wait *wait, RsTraceEngine *engine, gsize code,
				      GError **error);
GBytes *rs_cli_engine_read(struct rs_cli_wait *wait, RsTraceEngine *engine, guint64 address,
			   gsize size, GError **error);
gboolean rs_cli_engine_set(struct rs_cli_wait *wait, RsTraceEngine *engine, guint reg,
			   guint64 value, GError **error);
gboolean rs_cli_engine_set_call(struct rs_cli_wait *wait, RsTraceEngine *engine, guint64 number,
				const guint64 *arguments, guint count, GError **error);
gssize rs_cli_engine_write(struct rs_cli_wait *wait, RsTraceEngine *engine, guint64 address,
			   GBytes *bytes, GError **error);
gboolean rs_cli_engine_set_signal(struct rs_cli_wait *wait, RsTraceEngine *engine,
				  RsTraceEngineFate fate, guint number, GError **error);
gboolean rs_cli_engine_set_exit_code(struct rs_cli_wait *wait, RsTraceEngine *engine, gint64 code,
				     GError **error);
gboolean rs_cli_engine_set_events(struct rs_cli_wait *wait, RsTraceEngine *engine, guint32 events,
				  GError **error);

/*
 * Detaches all of them at once, and waits a second at most, also after such a signal. Those that
 * are left then are detached by the end of the connection.
 */
void rs_cli_engine_detach_all(struct rs_cli_wait *wait, RsTraceEngines *engines);

#endif
