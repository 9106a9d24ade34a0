/* SPDX-License-Identifier: MIT */
/* What the files of tracepoints do without a host: see ringside/tracepoint_alone.h. */
#ifndef RS_TRACEPOINT_ALONE_H
#define RS_TRACEPOINT_ALONE_H

#include <ringside/tracepoint_alone.h>

/* Switches a registered event on or off, where rs_alone(). */
__attribute__((visibility("hidden"))) void rs_alone_enable(uint32_t id, bool on);

#endif
