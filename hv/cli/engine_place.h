/* SPDX-License-Identifier: MIT */
/* Numbers and addresses as a user of `ringside engine` types them. Any thread. */
#ifndef RS_HV_CLI_ENGINE_PLACE_H
#define RS_HV_CLI_ENGINE_PLACE_H

#include "base/error.h"
#include <rs-trace-registers.h>
#include <stdbool.h>
#include <stdint.h>

/* A number as C writes them. Returns where it ends; NULL: it is none, or too large. */
const char *rs_cli_engine_parse_number(const char *text, uint64_t *out);

/* A sum such as rsp+8, of registers and a number. */
struct rs_cli_engine_place {
	uint64_t number;
	uint8_t times[RS_REGISTERS_MAX]; /* how often each register is in it */
	bool uses_registers;
};
uint64_t rs_cli_engine_place_value(const struct rs_cli_engine_place *place,
				   const uint64_t values[RS_REGISTERS_MAX]);
/* All of `text`; `set` NULL: no register has a name. -EINVAL. */
int rs_cli_engine_parse_place(const char *text, const RsTraceRegisterSet *set,
			      struct rs_cli_engine_place *out, struct rs_error *err);

#endif
