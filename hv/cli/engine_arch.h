/* SPDX-License-Identifier: MIT */
/*
 * How the registers of a guest's architecture are called and shown. Their numbers are those of
 * ringside/registers.h. A port to another architecture brings another table. Any thread.
 */
#ifndef RS_HV_CLI_ENGINE_ARCH_H
#define RS_HV_CLI_ENGINE_ARCH_H

#include <glib.h>
#include <ringside/registers.h>
#include <stdint.h>

struct rs_cli_engine_register {
	const char *name;
	const char *alias; /* NULL: none */
	uint8_t number;
};

struct rs_cli_engine_arch {
	const struct rs_cli_engine_register *registers; /* in the order in which they are shown */
	unsigned int count;
	uint8_t pc; /* number of the program counter */
	/* Appends what the flags among the values mean, such as " [ZF IF]". */
	void (*flags)(GString *out, const uint64_t *values);
};

extern const struct rs_cli_engine_arch rs_cli_engine_x86_64;

/* The register of that name, or NULL. `size`: bytes of the name. */
const struct rs_cli_engine_register *rs_cli_engine_register(const struct rs_cli_engine_arch *arch,
							    const char *name, size_t size);

#endif
