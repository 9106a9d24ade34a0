/* SPDX-License-Identifier: MIT */
/*
 * The turns of `ringside engine`: whose stop is shown, and which command is carried out next. For
 * engine_run.c, which says when there may be something to do. Thread: main.
 */
#ifndef RS_HV_CLI_ENGINE_TURN_H
#define RS_HV_CLI_ENGINE_TURN_H

#include "cli/engine_do.h"
#include "cli/engine_input.h"
#include "cli/engine_run.h"

struct rs_cli_engine_run {
	struct rs_cli_engine_desk desk;
	struct rs_cli_engine_input input;
	RsDBusSession1 *session; /* borrowed, as what is next */
	const struct rs_cli_engine_options *options;
	GMainLoop *loop;
	guint due;     /* the source that calls work() soon; 0: none */
	guint64 shown; /* stops */
	bool over, prompted;
	int code; /* to exit with */
};

/* Does all that can be done now. `data`: a struct rs_cli_engine_run. */
void rs_cli_engine_work(void *data);
/* Ends the loop; the first code counts. */
void rs_cli_engine_finish(struct rs_cli_engine_run *run, int code);
/* Likewise: the connection has broken, and nobody told how the session ended. */
void rs_cli_engine_lose(struct rs_cli_engine_run *run);
/* Before a message, an object of ours, or a line of the user's: the prompt's line ends. */
void rs_cli_engine_end_prompt(struct rs_cli_engine_run *run);

#endif
