/* SPDX-License-Identifier: MIT */
/*
 * A session in a process of its own, which no terminal ends. `run --background` starts one, and so
 * does `run --stay`, whose own process then shows that session's trace as `ringside trace` does.
 *
 * The process is forked before there are threads, which would not live on in it. What the guest
 * writes goes to a log from the first byte on. What we say goes to the caller as long as it waits,
 * and to the log after that. Thread: main.
 */
#ifndef RS_HV_CLI_BACKGROUND_H
#define RS_HV_CLI_BACKGROUND_H

#include "base/error.h"
#include <stdbool.h>
#include <sys/types.h>

struct rs_background;

/*
 * Both processes return from this: the session's with 1, its caller with 0, and each frees *out.
 * Others: as fork() gives them. A signal that would end the caller now ends the session. `stays`:
 * the caller will look on, and is told all that the session says meanwhile, not only of its start.
 */
int rs_background_fork(bool stays, struct rs_background **out, struct rs_error *err);
/* In the caller: its signals end itself from now on. NULL is accepted. */
void rs_background_free(struct rs_background *b);

/* ---- in the session's process; NULL is accepted, and nothing is done ---- */

/*
 * Opens the log (NULL: NAME.log in the runtime directory) before anything is started. -EIO: it
 * cannot be written.
 */
int rs_background_begin(struct rs_background *b, const char *name, const char *log,
			struct rs_error *err);
/* Others can connect to the session, whose guest has not been started. */
void rs_background_serves(struct rs_background *b);
/*
 * Whether the guest is to wait until the caller looks on, so that its trace is whole. It is asked
 * again after each event of the main loop.
 */
bool rs_background_waits(const struct rs_background *b);
/* The caller has gone before the guest was started. */
bool rs_background_is_alone(const struct rs_background *b);
/* The start is over. */
void rs_background_ready(struct rs_background *b);

/* ---- in its caller ---- */

/* Waits until it serves: its name, which belongs to `b`. NULL: it has ended. */
const char *rs_background_await_name(struct rs_background *b);
/* Says that the caller looks on. */
void rs_background_look_on(struct rs_background *b);
/* It never will. The session ends, if its guest has not been started. */
void rs_background_abandon(struct rs_background *b);
/* Waits until it is ready; after the name. False: it has ended. */
bool rs_background_await_ready(struct rs_background *b);
/* Known with the name; it belongs to `b`. */
const char *rs_background_log(const struct rs_background *b);
pid_t rs_background_pid(const struct rs_background *b);
/* The signal that ended it instead of the caller; 0: none has come. */
int rs_background_signal(const struct rs_background *b);
/* Asks it to end. */
void rs_background_end(const struct rs_background *b);
/* Waits for its end: its exit code, after a message if a signal has killed it. */
int rs_background_reap(struct rs_background *b);

#endif
