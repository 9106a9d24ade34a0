/* SPDX-License-Identifier: MIT */
/* What the parts of test-threads.c share. */
#ifndef TEST_UTRACE_THREADS_H
#define TEST_UTRACE_THREADS_H

#include <ringside/utrace_os.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS 3u /* their threads have the ids 1 to SLOTS */

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			printf("Bail out! %s:%d: %s\n", __FILE__, __LINE__, #what);                \
			fflush(stdout);                                                            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#define EVENTS_USED                                                                                \
	(RS_UTRACE_EVENT_SYSCALL | RS_UTRACE_EVENT(EXEC) | RS_UTRACE_EVENT(EXIT) |                 \
	 RS_UTRACE_EVENT_SIGNAL_ALL)

/* A number below `sides`. */
static inline uint32_t roll(uint32_t *dice, uint32_t sides)
{
	*dice ^= *dice << 13;
	*dice ^= *dice >> 17;
	*dice ^= *dice << 5;
	return *dice % sides;
}

/*
 * The host's engines on these threads: serves commands at random and reads news while `*living` is
 * not 0. The first call of all is host_begin().
 */
void host_begin(const struct rs_utrace_os *os);
void host_serve(const uint32_t *living);
/* After all threads have ended. */
void host_check(void);

#endif
