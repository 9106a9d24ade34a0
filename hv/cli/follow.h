/* SPDX-License-Identifier: MIT */
/*
 * Follows the trace of a running session, as an observer: it maps the session's regions read-only
 * and decodes them by itself. Called on the main thread.
 */
#ifndef RS_HV_CLI_FOLLOW_H
#define RS_HV_CLI_FOLLOW_H

#include "cli/printer.h"
#include "cli/symbols.h"
#include "cli/verb.h"

/* What the caller of rs_cli_follow() does meanwhile, and learns. */
struct rs_cli_following {
	/* Once: the sources that are there are being read. */
	void (*begun)(void *data);
	void *data;
	bool over; /* set: the session has ended */
};

/*
 * Prints until the session ends, the user stops it, `duration` seconds have passed (0: no limit),
 * or `config` says that it is enough. `symbols` NULL: none are shown. Sets the config's header,
 * data and callbacks. `following` may be NULL. Returns an exit code, after messages.
 */
int rs_cli_follow(RsDBusSession1 *session, struct rs_printer_config *config,
		  const struct rs_cli_symbols *symbols, RsTraceFrom from, double duration,
		  struct rs_cli_following *following);

#endif
