/* SPDX-License-Identifier: MIT */
/* The summary of `run` and `attach`: events, loss, patches, pause, exits per event. Main thread. */
#ifndef RS_HV_CLI_SUMMARY_H
#define RS_HV_CLI_SUMMARY_H

#include "cli/printer.h"
#include "session/session.h"

/* As text on standard error; as one line of JSON to `json_fd` instead where that is not -1. */
void rs_summary_print(struct rs_session *session, const struct rs_printer_stats *printed,
		      int json_fd);

/* What it prints: lines that begin with '#', or one JSON object without a newline; to be freed. */
char *rs_summary_text(const struct rs_source_stat *stat, const struct rs_printer_stats *printed);
char *rs_summary_json(const struct rs_source_stat *stat, const struct rs_printer_stats *printed);

#endif
