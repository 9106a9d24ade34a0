/* SPDX-License-Identifier: MIT */
#include "syscalls.h"

#include <linux/kernel.h>
#include <asm/unistd.h>

#define CALL(name, arguments) [__NR_##name] = arguments,
#define CALL_NUMBERED(number, name, arguments) [number] = arguments,
static const char *const prototypes[] = {
#include "syscalls.def"
};

static u8 counts[ARRAY_SIZE(prototypes)];

#define __SYSCALL(number, function) {number, #function},
#define __SYSCALL_NORETURN(number, function) {number, #function},
/* Their names begin with "sys_". */
const struct rs_symbol_info rs_call_names[] = {
#include <asm/syscalls_64.h>
};
const u32 rs_call_name_count = ARRAY_SIZE(rs_call_names);

static bool is_known(long call)
{
	return call >= 0 && call < (long)ARRAY_SIZE(prototypes) && prototypes[call];
}

const char *rs_call_prototype(long call)
{
	return is_known(call) ? prototypes[call] : NULL;
}

void rs_calls_count(void)
{
	for (u32 call = 0; call < ARRAY_SIZE(prototypes); call++) {
		const char *text = rs_call_prototype(call);

		counts[call] = text && *text;
		for (; text && *text; text++)
			counts[call] += *text == ',';
	}
}

u32 rs_call_args(long call)
{
	return is_known(call) ? counts[call] : RS_CALL_ARGS;
}
