/* SPDX-License-Identifier: MIT */
/* The sets that there are, one file each. For rs-trace-registers.c. */
#ifndef RS_TRACE_REGISTERS_PRIVATE_H
#define RS_TRACE_REGISTERS_PRIVATE_H

#include "rs-trace-registers.h"

#pragma GCC visibility push(hidden) /* not for outsiders */

extern const RsTraceRegisterSet rs_trace_registers_x86_64;

#pragma GCC visibility pop

#endif
