/* SPDX-License-Identifier: MIT */
/* What the commands of `ringside engine` do. Thread: main. */
#ifndef RS_HV_CLI_ENGINE_DO_H
#define RS_HV_CLI_ENGINE_DO_H

#include "cli/engine_print.h"

struct rs_cli_engine_desk {
	struct rs_cli_engines *engines;
	struct rs_cli_engine_printer printer;
	struct rs_cli_engine *current; /* that commands mean */
	bool kept;                     /* the user has chosen it, and it has not gone on since */
};

/* Reads and prints a stop, with so many instructions. */
void rs_cli_engine_show_stop(struct rs_cli_engine_desk *desk, struct rs_cli_engine *engine,
			     unsigned int insns);
/* All but "quit". One that needs a stopped thread is given while the current one is. */
gboolean rs_cli_engine_do(struct rs_cli_engine_desk *desk,
			  const struct rs_cli_engine_command *command, GError **error);

#endif
