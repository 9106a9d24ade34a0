/* SPDX-License-Identifier: MIT */
/* The yardstick: one LTTng-UST tracepoint with the same payload as ours. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tp.h"

#if !defined(BENCH_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, pair, LTTNG_UST_TP_ARGS(uint32_t, a, uint32_t, b),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, a, a)
						       lttng_ust_field_integer(uint32_t, b, b)))

#endif
#include <lttng/tracepoint-event.h>
