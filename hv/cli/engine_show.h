/* SPDX-License-Identifier: MIT */
/*
 * A stopped thread as text: what it has stopped at, registers, instructions, memory. All bytes and
 * numbers are the guest's and hostile; every text that is appended is safe on a terminal, and
 * bounded. Any thread.
 */
#ifndef RS_HV_CLI_ENGINE_SHOW_H
#define RS_HV_CLI_ENGINE_SHOW_H

#include "cli/call_names.h"
#include "cli/engine_arch.h"
#include "cli/engine_command.h"

#define RS_CLI_ENGINE_INSN_MAX 15u /* bytes of the longest instruction */

/* What was read of a stopped thread. */
struct rs_cli_engine_view {
	uint64_t values[RS_REGISTERS_MAX]; /* those from `count` on are 0 */
	unsigned int count;
	bool has_call; /* it is about to make this system call */
	uint64_t call;
	unsigned int args_count;
	uint64_t args[RS_CLI_ENGINE_ARGS_MAX];
};

/* Memory that was read. */
struct rs_cli_engine_bytes {
	uint64_t address;
	const uint8_t *bytes;
	size_t size;   /* that could be read */
	size_t wanted; /* size or more: what follows cannot be read */
};

/* Three registers a line. Of another number than the architecture's, those that there are. */
void rs_cli_engine_show_registers(GString *out, const struct rs_cli_engine_arch *arch,
				  const struct rs_cli_engine_view *view);
/* "write(0x1, 0x403000, 0x6)" */
void rs_cli_engine_show_call(GString *out, const struct rs_call_names *names,
			     const struct rs_cli_engine_view *view);
/* "syscall_entry: write", "signal_term: SIGTERM", "exit: code 3" */
void rs_cli_engine_show_event(GString *out, const struct rs_call_names *names, guint event,
			      gint64 value);
/* Sixteen bytes a line, and their characters. */
void rs_cli_engine_show_memory(GString *out, const struct rs_cli_engine_bytes *memory);

/* One instruction, or a byte that begins none. */
struct rs_cli_engine_insn {
	uint64_t address;
	uint8_t bytes[RS_CLI_ENGINE_INSN_MAX];
	uint8_t size;
	char *text; /* owned */
};
/* At most `count` of them: a GArray of struct rs_cli_engine_insn. */
GArray *rs_cli_engine_decode(const struct rs_cli_engine_bytes *code, unsigned int count);
/* The same as lines. "=>" marks the one at `pc`. */
void rs_cli_engine_show_code(GString *out, const struct rs_cli_engine_bytes *code,
			     unsigned int count, uint64_t pc);

#endif
