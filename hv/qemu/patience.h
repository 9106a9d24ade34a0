/* SPDX-License-Identifier: MIT */
/*
 * How long it makes sense to wait for an answer of a QEMU. One that is busy, or that a loaded
 * machine keeps waiting, gets all the time that the caller has. One that has been stopped, or whose
 * main thread sleeps and does nothing, does not: others wait with us. Only hv/qemu. Any thread.
 */
#ifndef RS_HV_QEMU_PATIENCE_H
#define RS_HV_QEMU_PATIENCE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rs_patience {
	pid_t pid;           /* whose answer; 0: unknown, so only the deadline counts */
	gint64 deadline;     /* of g_get_monotonic_time() */
	gint64 asleep_since; /* it has done nothing since */
	uint64_t ran_ns;     /* CPU time of its main thread at the last look */
	unsigned int stops;  /* looks in a row that found it stopped */
};

struct rs_patience rs_patience_new(pid_t pid, gint64 deadline);
/* For how many ms to wait until it is to be asked again; 0: no longer. */
int rs_patience_ms(struct rs_patience *patience);

#endif
