/* SPDX-License-Identifier: MIT */
/*
 * A stopped thread as text: what it has stopped at, registers, instructions, memory. All bytes and
 * numbers are the guest's and hostile; every text that is appended is safe on a terminal, and
 * bounded. Any thread.
 */
#ifndef RS_HV_CLI_ENGINE_SHOW_H
#define RS_HV_CLI_ENGINE_SHOW_H

#include "cli/call_names.h"
#include <rs-trace-disasm.h>
#include <rs-trace-engine.h>

/* Memory that was read. */
struct rs_cli_engine_bytes {
	uint64_t address;
	const uint8_t *bytes;
	size_t size;   /* that could be read */
	size_t wanted; /* size or more: what follows cannot be read */
};

/*
 * Three registers a line: those that there are, without names if the architecture is not known.
 */
void rs_cli_engine_show_registers(GString *out, const RsTraceEngineView *view);
/* "write(0x1, 0x403000, 0x6)" */
void rs_cli_engine_show_call(GString *out, const struct rs_call_names *names,
			     const RsTraceEngineView *view);
/* "syscall_entry: write", "signal_term: SIGTERM", "exit: code 3" */
void rs_cli_engine_show_event(GString *out, const struct rs_call_names *names, guint event,
			      gint64 value);
/* Sixteen bytes a line, and their characters. */
void rs_cli_engine_show_memory(GString *out, const struct rs_cli_engine_bytes *memory);

/* At most `count` instructions, a line each. "=>" marks the one at `pc`. */
void rs_cli_engine_show_code(GString *out, guint32 arch, const struct rs_cli_engine_bytes *code,
			     unsigned int count, uint64_t pc);

#endif
