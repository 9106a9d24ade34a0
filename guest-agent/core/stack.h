/* SPDX-License-Identifier: MIT */
/*
 * A call stack by its chain of frame pointers. Code that is compiled without them breaks the chain,
 * so nothing that lies in it is trusted.
 */
#ifndef RS_AGENT_STACK_H
#define RS_AGENT_STACK_H

#include <ringside/types.h>

#pragma GCC visibility push(hidden) /* not for who links the agent */

/*
 * Puts the return addresses of the frame at `frame` and of those that follow it into `out`, at most
 * `max`. Each frame must lie above the one before, the first one above `from`, and below `end`;
 * [from, end) can be read. Ends at the first one that does not, or that returns to 0. Returns how
 * many there are.
 */
uint32_t rs_stack_walk(uintptr_t frame, uintptr_t from, uintptr_t end, uint64_t *out, uint32_t max);

#pragma GCC visibility pop

#endif
