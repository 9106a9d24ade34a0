/* SPDX-License-Identifier: MIT */
/*
 * What differs between architectures and not between ports. Each file defines RS_ARCH,
 * rs_arch_port_write(), and how a site's bytes look off and on.
 */
#ifndef RS_AGENT_ARCH_H
#define RS_AGENT_ARCH_H

#if defined(__x86_64__)
#include "arch_x86_64.h"
#else
#error "write arch_<name>.h"
#endif

#endif
