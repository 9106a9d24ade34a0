/* SPDX-License-Identifier: MIT */
/* Where "spinner map" has its memory, and how many threads "crowd" has, for test-hosted.c. */
#ifndef RS_TESTS_HOSTED_SPINNER_H
#define RS_TESTS_HOSTED_SPINNER_H

#include <stdint.h>

#define SPINNER_TEXT ((uintptr_t)0x200000000000)
#define SPINNER_SHARED ((uintptr_t)0x200000010000)

#define SPINNER_LOCKED ((uintptr_t)0x200000020000)
#define SPINNER_ABSENT ((uintptr_t)0x200000030000)
/*
 * "site": a function with a site, and what its two threads have counted in the page at
 * SPINNER_SHARED
 */
#define SPINNER_JMP_TO 0x20u
struct spinner_counts {
	uint64_t ready;
	uint64_t off, on, wrong; /* runs through the site */
	uint64_t signals;        /* SIGRTMIN that were taken */
};

#define SPINNER_CROWD 1000 /* threads */

#endif
