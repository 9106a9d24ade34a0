/* SPDX-License-Identifier: MIT */
#include "text_pool.h"

#define TEXT(value) TEXT_(value)
#define TEXT_(value) #value

/* Pages of its own, so that who writes there does not copy pages of other code. */
__asm__(".pushsection .text.rs_text_pool, \"ax\", @progbits\n"
	".balign 4096, 0xcc\n"
	".globl rs_text_pool\n"
	".hidden rs_text_pool\n"
	".type rs_text_pool, @object\n"
	".size rs_text_pool, " TEXT(RS_TEXT_POOL_SIZE) "\n"
						       "rs_text_pool: .fill " TEXT(
							       RS_TEXT_POOL_SIZE) ", 1, 0xcc\n"
										  ".popsection\n");

_Static_assert(RS_NATIVE_UNUSED == 0xcc, "what the pool is filled with");
