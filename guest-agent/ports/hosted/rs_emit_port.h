/* SPDX-License-Identifier: MIT */
/* The fast path of events in a process (ringside/emit.h): with restartable sequences only. */
#ifndef RS_EMIT_PORT_H
#define RS_EMIT_PORT_H

#if defined(__has_include) && __has_include(<sys/rseq.h>)
#include "restart_x86_64.h"
#endif

#ifdef RS_PORT_RESTARTABLE
#include <ringside/emit.h>

#define RS_EMIT_KIND RS_RESTARTABLE
#define RS_EMIT_SECTION

#ifdef __cplusplus
extern "C" {
#endif
/* Public, as rs_event_ctl: the code of events reads it. */
extern __thread struct rs_emit_self rs_emit_self
	__attribute__((tls_model("initial-exec"), visibility("default")));
#ifdef __cplusplus
}
#endif

static inline __attribute__((always_inline)) bool rs_emit_ready(void)
{
	return rs_load(&rs_emit_self.epoch) == rs_peek(&rs_emit_common.epoch);
}

static inline __attribute__((always_inline)) struct rs_ring_state *rs_emit_state(void)
{
	return rs_load(&rs_emit_self.state);
}

static inline __attribute__((always_inline)) uint8_t *rs_emit_region(void)
{
	return rs_load(&rs_emit_self.region);
}

static inline __attribute__((always_inline)) uint64_t rs_emit_mark(void)
{
	return rs_load(&rs_emit_self.mark);
}

#define rs_emit_clock rs_restart_time
#endif

#endif
