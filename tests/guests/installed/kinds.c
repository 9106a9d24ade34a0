/* SPDX-License-Identifier: MIT */
/*
 * A program with an event of each kind, which is C and C++ at once: both languages must make the
 * same trace.
 */
#define RS_CREATE_TRACE_POINTS
#include "inline.h"

#include <rs_hosted.h>

RS_HOSTED_AUTO_INIT("kinds")
RS_PROVIDER(not_registered, "other");
RS_PROVIDER_DEFINE(statements, "statements")

int main(void)
{
	static const int64_t numbers[] = {0, -1, 255, -32768, 1ll << 40, 77, 78};
	static const uint16_t list[] = {1, 65535, 300};

	trace_golden_ints(0x8080808080808080, -1);
	trace_golden_hex(0xfedcba9876543210, (const void *)0xffffffff81000000ull);
	trace_golden_arrays(numbers, "letters and more than sixteen");
	tell_symbols(0x80000102);
	tell_from_other_file(255);
	trace_golden_dynamic(list, 3, numbers, 6, "because", "");
	trace_golden_bare();
	if (rs_provider_register(&statements))
		return 1;
	for (uint32_t i = 0; i < 2; i++)
		if (RS_PROVIDER_WRITE(
			    statements, "here", RS_LEVEL_INFO, 0x6, __field(u32, round, i),
			    __enum(u8, state, i, {0, "first"}, {1, "second"}),
			    __dynamic_array(u16, list, list, 3), __string(why, "because")))
			return 1;
	return write_from_other_file(7) + rs_provider_unregister(&statements);
}
