/* SPDX-License-Identifier: MIT */
/*
 * A snapshot that a session's own process writes, as a trigger asks for it: what the rings hold now
 * goes to a file, on a thread of its own, while the session goes on. Thread: main.
 */
#ifndef RS_HV_CLI_TRIGGER_SNAPSHOT_H
#define RS_HV_CLI_TRIGGER_SNAPSHOT_H

#include "cli/symbols.h"
#include "session/session.h"

struct rs_trigger_snapshot;

/*
 * Begins one. The file gets a number behind `path`. `why` is told with it. `done` is called once,
 * later: nothing is read any more. `symbols` NULL: none. Errors: those of rs_recording_file_open(),
 * and -EIO.
 */
int rs_trigger_snapshot_new(struct rs_session *session, const char *path, const char *why,
			    const struct rs_cli_symbols *symbols, void (*done)(void *data),
			    void *data, struct rs_trigger_snapshot **out, struct rs_error *err);
/*
 * Waits until it is written, says how it ended, and frees it. Returns why it is not whole, to be
 * freed; NULL: it is. NULL is accepted.
 */
char *rs_trigger_snapshot_finish(struct rs_trigger_snapshot *snapshot);

#endif
