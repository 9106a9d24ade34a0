/* SPDX-License-Identifier: MIT */
/*
 * Which events the user of `run` and `attach` wants: asks the session for them, and says of which
 * globs nothing has come. Thread: main.
 */
#ifndef RS_HV_CLI_RUN_WISHES_H
#define RS_HV_CLI_RUN_WISHES_H

#include "cli/runner.h"

struct rs_run_wishes;

/* Wants nothing yet. Session and config outlive it. */
struct rs_run_wishes *rs_run_wishes_new(struct rs_session *session,
					const struct rs_runner_config *config);
/* Accepts NULL. */
void rs_run_wishes_free(struct rs_run_wishes *wishes);

/* Once, before the session starts. Errors: as rs_session_ask() and rs_session_set_filter(). */
int rs_run_wishes_ask(struct rs_run_wishes *wishes, struct rs_error *err);
/*
 * Whether an event matches each glob that was asked for, or has matched it before: a guest may have
 * booted again, or a process have gone. Tells once about each glob that nothing matches it, in a
 * message that ends with `when`; NULL: tells nothing.
 */
bool rs_run_wishes_look(struct rs_run_wishes *wishes, const char *when);
/* Tells whoever asked for no event that nothing will be seen, if that is so. */
void rs_run_wishes_hint_off(const struct rs_run_wishes *wishes);

#endif
