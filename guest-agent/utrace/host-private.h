/* SPDX-License-Identifier: MIT */
/*
 * What host*.c share: host.c, host_stop.c and host_look.c run in the task that serves,
 * host_callbacks.c on the threads.
 *
 * A callback that wants its thread to stop sets `stays`, leaves word and returns STOP. From then on
 * nothing but host_stop.c lets the thread go on, and it does so only once the thread has stopped.
 * So word that was left is of a stop that takes place, unless the thread is killed.
 */
#ifndef RS_UTRACE_HOST_PRIVATE_H
#define RS_UTRACE_HOST_PRIVATE_H

#include "utrace-private.h"

#include <ringside/utrace_host.h>

#pragma GCC visibility push(hidden) /* not for who links the agent */

/* The callbacks of all engines of the host. */
extern const struct rs_utrace_ops rs_utrace_host_ops;

/* Word for the host: RS_NEWS_* `kind`. */
void rs_utrace_leave_word(struct rs_utrace_host_engine *e, uint32_t kind, uint32_t event,
			  int64_t value);
/* The number of the system call that its thread is about to make; 0: it cannot be had. */
int64_t rs_utrace_call_number(struct rs_utrace_host_engine *e);

/* A free engine, now taken; NULL: there is none. Any thread. */
struct rs_utrace_host_engine *rs_utrace_take_engine(struct rs_utrace_host *host);
/*
 * Attaches an engine that was taken; on failure it is free again. Any thread. On success there is
 * one more reference, to be put. -RS_EALREADY: the thread has died; others as rs_utrace_attach().
 */
int rs_utrace_attach_taken(struct rs_utrace_host_engine *e, struct rs_utrace_thread *thread,
			   uint32_t events, uint32_t flags);
/* The events of utrace that it needs for these of the host. */
uint32_t rs_utrace_host_events(uint32_t events, uint32_t flags);

/* host_stop.c, in the task that serves. Does an action; after DETACH the caller lets go of it. */
int32_t rs_utrace_host_control(struct rs_utrace_host_engine *e, uint64_t how);
void rs_utrace_host_detach(struct rs_utrace_host_engine *e);
/* Waits for a thread that stays, and so is about to stop. Not for ever: it may be killed. */
void rs_utrace_wait_for_stop(struct rs_utrace_host_engine *e);

/* host_look.c, likewise: RS_CMD_ENGINE_REGISTERS and all that follow it, but SET_EVENTS. */
int32_t rs_utrace_host_look(struct rs_utrace_host_engine *e, const struct rs_command *command,
			    struct rs_command_reply *reply);

#pragma GCC visibility pop

#endif
