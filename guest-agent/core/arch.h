/* SPDX-License-Identifier: MIT */
/*
 * What differs between architectures but not between ports. The file of each architecture defines
 * RS_ARCH, rs_arch_port_write(), the frames of a stack, the bytes of a site that is off and of one
 * that is on, how they are stored in memory that CPUs may be running, and what a breakpoint there
 * looks like (RS_ARCH_BREAKPOINT), if the host may put one.
 */
#ifndef RS_AGENT_ARCH_H
#define RS_AGENT_ARCH_H

#if defined(__x86_64__)
#include "arch_x86_64.h"
#else
#error "write arch_<name>.h"
#endif

#endif
