/* SPDX-License-Identifier: MIT */
/*
 * Prints the records of a trace file, as the printer prints those of a session. Thread: main.
 * Trust: as rs-trace-reader.h. Names of sources are escaped.
 */
#ifndef RS_HV_CLI_REPLAY_H
#define RS_HV_CLI_REPLAY_H

#include "cli/printer.h"

/*
 * Prints `path`, or standard input if it is "-", as `config` says: its header, data and callbacks
 * are not used. Returns an exit code, after messages: what can be read is printed, also of a file
 * that is damaged (RS_CLI_FAILED) or cut (RS_CLI_OK, with a message).
 */
int rs_cli_replay(const char *path, const struct rs_printer_config *config);

#endif
