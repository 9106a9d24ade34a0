/* SPDX-License-Identifier: MIT */
/*
 * Standard output while `ringside engine` follows: a reader that stands still holds it only until
 * the user ends it. So stdout is another stream meanwhile, whose lines are written one by one.
 * Thread: main.
 */
#ifndef RS_HV_CLI_ENGINE_OUTPUT_H
#define RS_HV_CLI_ENGINE_OUTPUT_H

#include "base/output.h"
#include "cli/engine_wait.h"

#include <stdio.h>

struct rs_cli_engine_output {
	struct rs_output output;
	struct rs_cli_wait *wait; /* borrowed: says that the user ends it */
	FILE *before;
	int error; /* by which it ended; 0: none. EPIPE: nobody reads */
};

void rs_cli_engine_output_begin(struct rs_cli_engine_output *output, struct rs_cli_wait *wait);
/* stdout is again what it was. Returns an exit code, after a message. */
int rs_cli_engine_output_end(struct rs_cli_engine_output *output);

#endif
