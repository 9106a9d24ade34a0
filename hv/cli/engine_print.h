/* SPDX-License-Identifier: MIT */
/* What `ringside engine` prints, as text or as JSON, one object a line. Thread: main. */
#ifndef RS_HV_CLI_ENGINE_PRINT_H
#define RS_HV_CLI_ENGINE_PRINT_H

#include "cli/engines.h"

struct rs_cli_engine_printer {
	const struct rs_cli_engine_arch *arch;
	const struct rs_call_names *names;
	bool json;
	bool name_sources;
	bool began; /* something was printed */
};

/* A stop. `view` NULL: nothing could be read. `code`: from the program counter on. */
void rs_cli_engine_print_stop(struct rs_cli_engine_printer *printer,
			      const struct rs_cli_engine *engine,
			      const struct rs_cli_engine_view *view,
			      const struct rs_cli_engine_bytes *code, unsigned int insns);
/* The first line of it alone; as JSON nothing. */
void rs_cli_engine_print_again(struct rs_cli_engine_printer *printer,
			       const struct rs_cli_engine *engine);
void rs_cli_engine_print_gone(struct rs_cli_engine_printer *printer,
			      const struct rs_cli_engine *engine);
void rs_cli_engine_print_registers(struct rs_cli_engine_printer *printer,
				   const struct rs_cli_engine *engine,
				   const struct rs_cli_engine_view *view);
void rs_cli_engine_print_call(struct rs_cli_engine_printer *printer,
			      const struct rs_cli_engine *engine,
			      const struct rs_cli_engine_view *view);
void rs_cli_engine_print_memory(struct rs_cli_engine_printer *printer,
				const struct rs_cli_engine *engine,
				const struct rs_cli_engine_bytes *memory);
void rs_cli_engine_print_code(struct rs_cli_engine_printer *printer,
			      const struct rs_cli_engine *engine,
			      const struct rs_cli_engine_bytes *code, unsigned int count,
			      uint64_t pc);
/* All engines; `current` is marked. */
void rs_cli_engine_print_all(struct rs_cli_engine_printer *printer,
			     const struct rs_cli_engines *engines,
			     const struct rs_cli_engine *current);
/* Rows of Threads: GVariants. */
void rs_cli_engine_print_threads(GPtrArray *rows, bool json);

#endif
