/* SPDX-License-Identifier: MIT */
#include "inline.h"

void tell_from_other_file(uint64_t value)
{
	tell_symbols(value);
}
