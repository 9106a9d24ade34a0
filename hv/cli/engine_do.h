/* SPDX-License-Identifier: MIT */
/* What the commands of `ringside engine` do. Thread: main. */
#ifndef RS_HV_CLI_ENGINE_DO_H
#define RS_HV_CLI_ENGINE_DO_H

#include "cli/engine_command.h"
#include "cli/engine_print.h"
#include "cli/engine_wait.h"

struct rs_cli_engine_desk {
	RsTraceEngines *engines; /* borrowed, as what is next */
	struct rs_cli_wait *wait;
	struct rs_cli_engine_printer printer;
	RsTraceEngine *current; /* that commands mean; a reference */
	bool kept;              /* the user has chosen it, and it has not gone on since */
};

/* Whether the current stop of an engine has been printed. */
bool rs_cli_engine_is_shown(RsTraceEngine *engine);
/* Reads and prints a stop, with so many instructions. */
void rs_cli_engine_show_stop(struct rs_cli_engine_desk *desk, RsTraceEngine *engine,
			     unsigned int insns);
/*
 * All but "quit". One that needs a stopped thread is given while the current one is. `error` is not
 * NULL.
 */
gboolean rs_cli_engine_do(struct rs_cli_engine_desk *desk,
			  const struct rs_cli_engine_command *command, GError **error);

#endif
