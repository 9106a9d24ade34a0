/* SPDX-License-Identifier: MIT */
/*
 * Commands to a guest's agent (ringside/command.h): a queue for each source. One command at a time
 * is with the guest, in the task that it offers; the others wait for it.
 *
 * Thread: the session's. Trust: what the guest says came of a command is a private copy. It is what
 * the guest claims, so whoever asked bounds and checks it. A guest that does not answer within
 * RS_COMMAND_MS fails that command. Who asked does not hear of a later answer, but engines.c does.
 */
#ifndef RS_HV_SESSION_COMMANDS_H
#define RS_HV_SESSION_COMMANDS_H

#include "session/session.h"

#include <ringside/command.h>

#define RS_COMMAND_MS 5000
#define RS_COMMANDS_MAX 64 /* of a source: with the guest, or waiting */

struct rs_source_command {
	uint32_t number; /* RS_CMD_* */
	uint64_t args[RS_CMD_ARGS];
	const void *data; /* copied */
	uint32_t size;    /* at most RS_CMD_DATA */
};

struct rs_command_result {
	int32_t result; /* the guest's: 0 or more, or a negative number of ringside/error.h */
	uint64_t values[RS_CMD_ARGS];
	const uint8_t *data;
	uint32_t size;
};

/*
 * What came of a command, once for each that was accepted, and never out of
 * rs_source_send_command(). 0: `result` holds it. Else `err` says why not: -ETIMEDOUT, -ESHUTDOWN:
 * the guest has ended; -EAGAIN: it has booted again, or its task did not finish.
 */
typedef void (*rs_command_done)(void *data, int ret, const struct rs_command_result *result,
				const struct rs_error *err);

/*
 * -ENOTSUP: no task of the guest takes commands; -EBUSY: RS_COMMANDS_MAX wait already; -ESHUTDOWN:
 * the guest has ended; -EAGAIN: it is paused, or has not said hello. On failure `done` is not
 * called.
 */
int rs_source_send_command(struct rs_source *source, const struct rs_source_command *command,
			   rs_command_done done, void *data, struct rs_error *err);
/*
 * What a negative result of a guest means: sets `err`, and returns its negative code. -ESRCH: no
 * such thread or process, or it has died; -EBADF: no such engine; -EINPROGRESS: the thread runs,
 * or has stopped elsewhere; -EINVAL: the guest does not know what is asked for; -EPERM: it does
 * not let us; -ENOTSUP: it cannot do that; -ENOSPC: no room for another engine; -EPROTO: another
 * number.
 */
int rs_command_explain(int32_t result, struct rs_error *err);
/* All commands with this `data`: it is not called for them any more. */
void rs_source_drop_commands(struct rs_source *source, const void *data);

#endif
