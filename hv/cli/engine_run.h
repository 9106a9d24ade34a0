/* SPDX-License-Identifier: MIT */
/*
 * Follows engines: shows each stop, and carries out commands, from a terminal, a pipe or a script.
 * Thread: main.
 */
#ifndef RS_HV_CLI_ENGINE_RUN_H
#define RS_HV_CLI_ENGINE_RUN_H

#include "cli/call_names.h"

#include "cli/engine_wait.h"

struct rs_cli_engine_options {
	const struct rs_call_names *names;
	char **script; /* commands at each stop; NULL: from standard input */
	guint64 count; /* end after so many stops; 0: no limit */
	double duration;
	unsigned int insns; /* how many are shown at a stop */
	bool brief;         /* a stop is one line, without registers */
	bool json;
};

/*
 * Follows until no engine is left, the user ends it, or the session ends. All engines are detached
 * then. There is one at least. Returns an exit code.
 */
int rs_cli_engine_run(RsDBusSession1 *session, RsTraceEngines *engines, struct rs_cli_wait *wait,
		      const struct rs_cli_engine_options *options);

#endif
