/* SPDX-License-Identifier: MIT */
/*
 * Faults that are injected from the host (docs/faults.md): a vCPU that stands still, memory that
 * changes, a function or a system call that fails, a reset. Each has a number in its session, and
 * the host's own source records it (docs/adr/0030-faults.md).
 *
 * A fault that lasts ends by itself after its time. It also ends when its source is detached or
 * stopped, or boots again, or the session ends, and what it did is undone as far as it can be.
 *
 * Thread: the session's. Trust: the text is hostile, and so are a guest's memory and what it says
 * of its threads.
 */
#ifndef RS_HV_SESSION_FAULTS_H
#define RS_HV_SESSION_FAULTS_H

#include "session/session.h"

/* Why a guest has ended that the fault "kill" ended: rs_target_end.text. */
#define RS_FAULT_KILL_WHY "by the fault 'kill'"
#define RS_FAULTS_MAX 64u /* of a session, that last */

/*
 * Carries a fault out, or begins it. `source` NULL: the only one that the session has started.
 * *number: its number, not 0; also set if it was refused, and else 0.
 *
 * Errors: -EINVAL: the text is wrong (the message holds it and a caret), there is no such symbol or
 * vCPU, the function is too short, or there are several sources; -ENOTSUP: this guest, or what runs
 * it, cannot do that; -EAGAIN: its agent has not said hello, or it cannot be paused now; -EEXIST:
 * that text is patched already; -ENOSPC: RS_FAULTS_MAX faults last; -EFAULT: no such memory;
 * -EILSEQ: no code is there; -ESHUTDOWN: the guest has ended. Others are the target's.
 */
int rs_session_inject(struct rs_session *session, struct rs_source *source, const char *text,
		      uint32_t *number, struct rs_error *err);

#endif
