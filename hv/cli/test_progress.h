/* SPDX-License-Identifier: MIT */
/*
 * One line at the bottom of a terminal that says what is going on. Where standard error is no
 * terminal there is none. Thread: main, with a main loop.
 */
#ifndef RS_HV_CLI_TEST_PROGRESS_H
#define RS_HV_CLI_TEST_PROGRESS_H

#include <glib.h>

struct rs_test_progress;

/* `show` appends the text of the line, without control characters. It is asked now and then. */
struct rs_test_progress *rs_test_progress_new(void (*show)(void *data, GString *out), void *data);
/* Accepts NULL, as all do. The line goes. */
void rs_test_progress_free(struct rs_test_progress *progress);
/* Before anything else is written to the terminal. The line comes back by itself. */
void rs_test_progress_hide(struct rs_test_progress *progress);

#endif
