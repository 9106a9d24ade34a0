/* SPDX-License-Identifier: MIT */
/*
 * What the user sees of a recording: a line while it grows, and one at its end. Thread: main.
 */
#ifndef RS_HV_CLI_RECORDING_REPORT_H
#define RS_HV_CLI_RECORDING_REPORT_H

#include "cli/recording.h"

/* "1,234 events, 0 events lost, 12.3 MiB": to be freed. */
char *rs_recording_text(const RsTraceRecorderStats *stats);
/*
 * The object of docs/json.md, to be freed. `path` is the file's; it may be of any bytes. `why`: the
 * trigger; NULL: there was none.
 */
char *rs_recording_json(const RsTraceRecorderStats *stats, const char *path, const char *why,
			double seconds);

struct rs_recording_meter;

/*
 * Shows once a second how far `recording` is, on standard error: in place if that is a terminal.
 * The recording must outlive it.
 */
struct rs_recording_meter *rs_recording_meter_new(const struct rs_recording *recording);
/* NULL is accepted. */
void rs_recording_meter_free(struct rs_recording_meter *meter);

#endif
