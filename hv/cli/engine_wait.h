/* SPDX-License-Identifier: MIT */
/*
 * What a command asks of engines and waits for: rs-trace-engine.h's calls, each until its answer is
 * there. Nothing else is dispatched meanwhile, so no other engine stops or goes in between.
 *
 * Thread: main. Errors as there.
 */
#ifndef RS_HV_CLI_ENGINE_WAIT_H
#define RS_HV_CLI_ENGINE_WAIT_H

#include <rs-trace-engines.h>

/* RsTraceEngineThread, to be unreffed. */
GPtrArray *rs_cli_engine_threads(RsTraceEngines *engines, guint32 source, GError **error);
/* The engine is in the list then. */
gboolean rs_cli_engine_attach(RsTraceEngines *engines, const RsTraceEngineThread *thread,
			      guint32 events, gboolean follow, GError **error);
gboolean rs_cli_engine_refresh(RsTraceEngines *engines, GError **error);

gboolean rs_cli_engine_control(RsTraceEngine *engine, RsTraceEngineAction action, GError **error);
/* Returns once the first step has begun. */
gboolean rs_cli_engine_step(RsTraceEngine *engine, guint64 steps, gboolean to_branch,
			    GError **error);
RsTraceEngineView *rs_cli_engine_look(RsTraceEngine *engine, gsize code, GError **error);
GBytes *rs_cli_engine_read(RsTraceEngine *engine, guint64 address, gsize size, GError **error);
gboolean rs_cli_engine_set(RsTraceEngine *engine, guint reg, guint64 value, GError **error);
gboolean rs_cli_engine_set_call(RsTraceEngine *engine, guint64 number, const guint64 *arguments,
				guint count, GError **error);
gssize rs_cli_engine_write(RsTraceEngine *engine, guint64 address, GBytes *bytes, GError **error);
gboolean rs_cli_engine_set_signal(RsTraceEngine *engine, RsTraceEngineFate fate, guint number,
				  GError **error);
gboolean rs_cli_engine_set_exit_code(RsTraceEngine *engine, gint64 code, GError **error);
gboolean rs_cli_engine_set_events(RsTraceEngine *engine, guint32 events, GError **error);

#endif
