/* SPDX-License-Identifier: MIT */
/*
 * Engines on the host: each is attached to a thread of a guest, and stops it at some events until
 * its owner lets it go on (ringside/command.h, docs/dialects/utrace.md).
 *
 * An engine belongs to whoever attached it, `owner`, and so does one that follows it to a new
 * thread. Its state is what the guest has said last. It
 * stays in the list as gone until its owner has taken it off.
 *
 * Thread: the session's. Trust: the guest is believed about its own threads and about nothing else.
 * Numbers are the session's; what the guest says is bounded and copied. An engine that nobody has
 * any more is detached, and that is tried again for as long as the guest does not take commands.
 */
#ifndef RS_HV_SESSION_ENGINES_H
#define RS_HV_SESSION_ENGINES_H

#include "session/commands.h"

#define RS_ENGINES_MAX 256 /* of a source */

enum rs_engine_state { RS_ENGINE_RUNNING, RS_ENGINE_STOPPED, RS_ENGINE_GONE };

struct rs_engine_info {
	uint32_t number;
	struct rs_source *source;
	struct rs_cmd_thread thread; /* as it was at attach; comm as the guest gave it */
	uint32_t follows; /* number of the engine that it came from; 0: its owner's wish */
	uint32_t refused; /* threads of its thread's that could not be followed */
	enum rs_engine_state state;
	uint64_t stop;  /* grows with each stop */
	uint32_t event; /* STOPPED: its number, RS_UTRACE_EVENT_* */
	int64_t value;
	bool stepped;                /* STOPPED: since a step is over */
	char path[RS_NEWS_DATA + 1]; /* STOPPED at EXEC; as the guest gave it, maybe cut */
};

/* What the thread is to stop at, and whether threads that it makes get such an engine, too. */
struct rs_engine_wish {
	uint32_t events; /* a mask */
	uint32_t flags;  /* RS_ENGINE_* */
};

/*
 * What came of a call: 0 and, for what the guest yields, `result`; else `err`: as rs_command_done
 * and rs_command_explain(). Once for each accepted call, never out of it.
 */
typedef void (*rs_engine_done)(void *data, int ret, const struct rs_engine_info *engine,
			       const struct rs_command_result *result, const struct rs_error *err);

/* Errors at once: as rs_source_send_command(), and -ENOSPC. */
int rs_engine_attach(struct rs_source *source, const void *owner, uint32_t thread,
		     const struct rs_engine_wish *wish, rs_engine_done done, void *data,
		     struct rs_error *err);
/*
 * Sends a command about an engine of `owner`; args[0] is filled in. -EBADF: he has no engine of
 * this number, or it is gone.
 */
int rs_engine_send(struct rs_session *session, const void *owner, uint32_t number,
		   const struct rs_source_command *command, rs_engine_done done, void *data,
		   struct rs_error *err);
/* `done` is not called any more for this `data`. An engine that is being attached is detached. */
void rs_engine_drop_calls(struct rs_session *session, const void *data);
/* Goes through the engines of `owner`, in order. Nothing else is called meanwhile. */
struct rs_engine_iter {
	const GList *next;
};
void rs_engine_iter_init(struct rs_engine_iter *iter, const struct rs_session *session,
			 const void *owner);
/* NULL: there are no more. */
const struct rs_engine_info *rs_engine_iter_next(struct rs_engine_iter *iter);
/* Takes those of his engines that are gone off the list. */
void rs_engine_forget_gone(struct rs_session *session, const void *owner);
/* He is gone: all his engines are detached, and their threads go on. */
void rs_engine_drop_owner(struct rs_session *session, const void *owner);

#endif
