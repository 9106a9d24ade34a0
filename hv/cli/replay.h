/* SPDX-License-Identifier: MIT */
/*
 * Prints the records of trace files, as the printer prints those of a session. Thread: main, which
 * may have others to help it (rs-trace-lines.h).
 * Trust: as rs-trace-reader.h. Names of sources are escaped.
 */
#ifndef RS_HV_CLI_REPLAY_H
#define RS_HV_CLI_REPLAY_H

#include "cli/input.h"
#include "cli/printer.h"

/* Threads that are used if nobody says how many: one for each CPU, as far as more are of use. */
unsigned rs_cli_replay_jobs(void);
/*
 * Opens the input and prints it as `config` says: its header, data and callbacks are not used.
 * `jobs`: how many threads make lines. One does if the config has `view`, `wants` or `show`.
 * Returns an exit code, after messages, as rs_cli_input_close() does. A reader of ours that has
 * gone ends it quietly.
 */
int rs_cli_replay(struct rs_cli_input *input, const struct rs_printer_config *config,
		  unsigned jobs);

#endif
