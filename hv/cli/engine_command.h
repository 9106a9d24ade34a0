/* SPDX-License-Identifier: MIT */
/*
 * What a user types to `ringside engine`: names of events, and commands to engines. Only text is
 * looked at here. Any thread.
 */
#ifndef RS_HV_CLI_ENGINE_COMMAND_H
#define RS_HV_CLI_ENGINE_COMMAND_H

#include "base/error.h"
#include "cli/call_names.h"
#include "cli/engine_place.h"
#include <rs-trace-engine.h>

/* "syscall_entry,exec" as a mask; "syscall" and "signal_all" stand for several. -EINVAL. */
int rs_cli_engine_parse_events(const char *text, guint32 *mask, struct rs_error *err);

enum rs_cli_engine_word {
	RS_CLI_ENGINE_DO_REGS,
	RS_CLI_ENGINE_DO_SET,
	RS_CLI_ENGINE_DO_MEM,
	RS_CLI_ENGINE_DO_DIS,
	RS_CLI_ENGINE_DO_CALL,
	RS_CLI_ENGINE_DO_SETCALL,
	RS_CLI_ENGINE_DO_POKE,
	RS_CLI_ENGINE_DO_SIGNAL,
	RS_CLI_ENGINE_DO_EXIT,
	RS_CLI_ENGINE_DO_EVENTS,
	RS_CLI_ENGINE_DO_STEP,
	RS_CLI_ENGINE_DO_BLOCK,
	RS_CLI_ENGINE_DO_RESUME,
	RS_CLI_ENGINE_DO_STOP,
	RS_CLI_ENGINE_DO_INTERRUPT,
	RS_CLI_ENGINE_DO_DETACH,
	RS_CLI_ENGINE_DO_THREADS,
	RS_CLI_ENGINE_DO_USE,
	RS_CLI_ENGINE_DO_HELP,
	RS_CLI_ENGINE_DO_QUIT,
};

#define RS_CLI_ENGINE_MEM_MAX 65536u
#define RS_CLI_ENGINE_POKE_MAX 256u
#define RS_CLI_ENGINE_DIS_MAX 256u
#define RS_CLI_ENGINE_STEPS_MAX 1000000u
#define RS_CLI_ENGINE_SOURCE_MAX 256u /* bytes of a source's name, with its NUL */

struct rs_cli_engine_command {
	enum rs_cli_engine_word what;
	bool needs_stop; /* its thread has to be stopped */
	bool looks;      /* it only shows something */
	/*
	 * set: the number of the register; setcall: that of the call; mem, poke: how many bytes;
	 * dis, step: how many; signal: another one, or 0; events: a mask; help: of what, or 0.
	 * Those that name a thread: its id, 0: the current one.
	 */
	uint64_t number;
	char source[RS_CLI_ENGINE_SOURCE_MAX]; /* of a thread that is named; empty: any */
	RsTraceEngineFate fate;                /* signal */
	uint8_t bytes[RS_CLI_ENGINE_POKE_MAX];
	unsigned int count; /* of places: set, poke, exit 1; mem 1; dis 0 or 1; setcall up to 6 */
	struct rs_cli_engine_place places[RS_TRACE_ENGINE_ARGUMENTS_MAX];
};

/* `set`: NULL: no register has a name. -EINVAL: and what is wrong. An empty line is -ENODATA. */
int rs_cli_engine_parse(const char *line, const RsTraceRegisterSet *set,
			const struct rs_call_names *names, struct rs_cli_engine_command *out,
			struct rs_error *err);

/* The name of each command, from 0 on; NULL: there are no more. */
const char *rs_cli_engine_word_name(unsigned int at);
/* A line for each command; or more about one, whose number is that of the command "help". */
void rs_cli_engine_help(GString *out, uint64_t only);

#endif
