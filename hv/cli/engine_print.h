/* SPDX-License-Identifier: MIT */
/* What `ringside engine` prints, as text or as JSON, one object a line. Thread: main. */
#ifndef RS_HV_CLI_ENGINE_PRINT_H
#define RS_HV_CLI_ENGINE_PRINT_H

#include "cli/engine_show.h"
#include "cli/verb.h"

#include <rs-trace-engines.h>

struct rs_cli_engine_printer {
	const struct rs_call_names *names;
	bool json;
	bool brief; /* a stop is one line, without registers */
	bool name_sources;
	bool began; /* something was printed */
};

/* A stop. `view` NULL: nothing could be read. It is shown with up to so many instructions. */
void rs_cli_engine_print_stop(struct rs_cli_engine_printer *printer, RsTraceEngine *engine,
			      const RsTraceEngineView *view, unsigned int insns);
/* The first line of it alone; as JSON nothing. */
void rs_cli_engine_print_again(struct rs_cli_engine_printer *printer, RsTraceEngine *engine);
/* One that follows another one; `followed` NULL: that is gone. */
void rs_cli_engine_print_attached(struct rs_cli_engine_printer *printer, RsTraceEngine *engine,
				  RsTraceEngine *followed);
void rs_cli_engine_print_gone(struct rs_cli_engine_printer *printer, RsTraceEngine *engine);
void rs_cli_engine_print_registers(struct rs_cli_engine_printer *printer, RsTraceEngine *engine,
				   const RsTraceEngineView *view);
void rs_cli_engine_print_call(struct rs_cli_engine_printer *printer, RsTraceEngine *engine,
			      const RsTraceEngineView *view);
void rs_cli_engine_print_memory(struct rs_cli_engine_printer *printer, RsTraceEngine *engine,
				const struct rs_cli_engine_bytes *memory);
void rs_cli_engine_print_code(struct rs_cli_engine_printer *printer, RsTraceEngine *engine,
			      const struct rs_cli_engine_bytes *code, unsigned int count,
			      uint64_t pc);
/* All engines; `current` is marked. */
void rs_cli_engine_print_all(struct rs_cli_engine_printer *printer, RsTraceEngines *engines,
			     RsTraceEngine *current);
/* RsTraceEngineThread each. */
void rs_cli_engine_print_threads(GPtrArray *threads, bool json);

#endif
