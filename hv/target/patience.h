/* SPDX-License-Identifier: MIT */
/*
 * How long it makes sense to wait for an answer of a QEMU. One that is busy, or that a loaded
 * machine keeps waiting, gets all the time that the caller has. One that has been stopped, or whose
 * main thread sleeps and does nothing, does not: others wait with us. Any thread.
 *
 * One that has not shown of late that it answers gets less: once it has run for a while without an
 * answer, it is busy with something else. On a loaded machine it has not run for so long.
 */
#ifndef RS_HV_TARGET_PATIENCE_H
#define RS_HV_TARGET_PATIENCE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rs_patience {
	pid_t pid;           /* whose answer; 0: unknown, so only the deadline counts */
	gint64 deadline;     /* of g_get_monotonic_time() */
	gint64 asleep_since; /* it has done nothing since */
	gint64 asleep_max;   /* us that it may do nothing */
	uint64_t ran_ns;     /* CPU time of its main thread at the last look */
	uint64_t ran_end;    /* no longer than up to this CPU time */
	unsigned int stops;  /* looks in a row that found it stopped */
};

struct rs_patience rs_patience_new(pid_t pid, gint64 deadline);
/* For one that has not shown that it answers. */
struct rs_patience rs_patience_new_short(pid_t pid, gint64 deadline);
/* For how many ms to wait until it is to be asked again; 0: no longer. */
int rs_patience_ms(struct rs_patience *patience);

#endif
