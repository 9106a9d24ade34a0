/* SPDX-License-Identifier: MIT */
/*
 * The host's two clocks: its own counter (x86: the TSC), and CLOCK_MONOTONIC in ns. A guest's event
 * clock ticks with the counter, less an offset; traces show CLOCK_MONOTONIC. Any thread.
 */
#ifndef RS_HV_TICKS_H
#define RS_HV_TICKS_H

#include <stdint.h>

/* The counter now. One file for each architecture has it. */
uint64_t rs_ticks(void);

/* CLOCK_MONOTONIC and CLOCK_REALTIME, ns. */
uint64_t rs_monotonic_ns(void);
uint64_t rs_wall_ns(void);

/* One moment on both clocks. */
struct rs_moment {
	uint64_t ticks;
	uint64_t ns;
};

/* Now. Right to some tens of ns, unless the thread is interrupted at every try. */
struct rs_moment rs_moment_now(void);
/* Ticks per second between two moments; 0 if no time lies between them. */
double rs_moment_rate(const struct rs_moment *from, const struct rs_moment *to);
/* The rate between `since` and now, in Hz. Waits until 20 ms lie between them. */
uint64_t rs_ticks_hz(const struct rs_moment *since);

#endif
