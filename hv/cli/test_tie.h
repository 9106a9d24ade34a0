/* SPDX-License-Identifier: MIT */
/*
 * Ties a process of a test, and all that it starts, to us. Between both stands a supervisor, which
 * gets the orphans. When the process has ended, it ends what is left, and ends as the process did.
 * When we are gone, however we went, it ends all of them. A guard of ours gets some time before
 * that: it puts right what its session has left.
 */
#ifndef RS_HV_CLI_TEST_TIE_H
#define RS_HV_CLI_TEST_TIE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define RS_TEST_TIE_STOP SIGTERM /* asks the process to end */
#define RS_TEST_TIE_KILL SIGUSR1 /* kills it, and all below it */

/*
 * To be called in a child of `parent`, between fork and exec. Returns in the process that is to
 * call exec; its parent, the child of before, is the supervisor and never returns.
 */
void rs_test_tie(pid_t parent);

/*
 * For a program which has killed its supervisor: orphans become children of this process. Then all
 * of its children are ended; runs get some time first to end their sessions. False: some are left.
 * Thread: main.
 */
void rs_test_tie_adopt(void);
bool rs_test_tie_end_all(void);

#endif
