/* SPDX-License-Identifier: MIT */
/*
 * `run --check`: whether all events of what was started are described well, for a build. Thread:
 * main.
 */
#ifndef RS_HV_CLI_RUN_CHECK_H
#define RS_HV_CLI_RUN_CHECK_H

#include "session/session.h"

/*
 * Prints how many events each source has. The session itself has told of each that is described
 * badly. Returns RS_CLI_FAILED if there is one, or if a source has no events.
 */
int rs_run_check_events(struct rs_session *session);

#endif
