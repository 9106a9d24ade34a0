/* SPDX-License-Identifier: MIT */
/* Where "spinner map" has its memory, and how many threads "crowd" has, for test-hosted.c. */
#ifndef RS_TESTS_HOSTED_SPINNER_H
#define RS_TESTS_HOSTED_SPINNER_H

#include <stdint.h>

#define SPINNER_TEXT ((uintptr_t)0x200000000000)
#define SPINNER_SHARED ((uintptr_t)0x200000010000)

#define SPINNER_LOCKED ((uintptr_t)0x200000020000)
#define SPINNER_CROWD 1000 /* threads */

#endif
