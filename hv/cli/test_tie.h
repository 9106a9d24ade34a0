/* SPDX-License-Identifier: MIT */
/*
 * Ties a process of a test, and all that it starts, to us. Between both stands a supervisor, which
 * gets the orphans. When the process has ended, it ends what is left, and ends as the process did.
 * When we are gone, however we went, it ends all of them.
 */
#ifndef RS_HV_CLI_TEST_TIE_H
#define RS_HV_CLI_TEST_TIE_H

#include <signal.h>
#include <sys/types.h>

#define RS_TEST_TIE_STOP SIGTERM /* asks the process to end */
#define RS_TEST_TIE_KILL SIGUSR1 /* kills it, and all below it */

/*
 * To be called in a child of `parent`, between fork and exec. Returns in the process that is to
 * call exec; its parent, the child of before, is the supervisor and never returns.
 */
void rs_test_tie(pid_t parent);

#endif
