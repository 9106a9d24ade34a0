/* SPDX-License-Identifier: MIT */
/*
 * The summary at the end of `run` and `attach`: events, loss, patches, pauses, exits per event.
 * Thread: main.
 */
#ifndef RS_HV_CLI_SUMMARY_H
#define RS_HV_CLI_SUMMARY_H

#include "cli/printer.h"
#include "session/session.h"

/* Prints text to standard error. If `json_fd` is not -1, prints one line of JSON to it instead. */
void rs_summary_print(struct rs_session *session, const struct rs_printer_stats *printed,
		      int json_fd);

/*
 * The text: lines that begin with '#'. The JSON: one object without a newline. To be freed.
 * `several`: the figures are those of several sources together.
 */
char *rs_summary_text(const struct rs_source_stat *stat, const struct rs_printer_stats *printed,
		      bool several);
char *rs_summary_json(const struct rs_source_stat *stat, const struct rs_printer_stats *printed);

#endif
