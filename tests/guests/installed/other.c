/* SPDX-License-Identifier: MIT */
#include "inline.h"

void tell_from_other_file(uint64_t value)
{
	tell_symbols(value);
}

int write_from_other_file(uint32_t value)
{
	return RS_PROVIDER_WRITE(statements, "elsewhere", RS_LEVEL_ERROR, 0x1,
				 __field(u32, value, value), __opcode(RS_OPCODE_SEND)) +
	       RS_PROVIDER_WRITE(statements, "bare", RS_LEVEL_VERBOSE, 0);
}
