/* SPDX-License-Identifier: MIT */
/*
 * Finding a region for this process in memory that others share: see ringside/directory.h. Who has
 * a region holds an open file description lock on its first byte, and the lock goes with the last
 * mapping of it. So others see whether anybody is in it, forks included, however the process ends.
 * For rs_hosted.c, on the thread that calls rs_hosted_init_image().
 */
#ifndef RS_HOSTED_PLACE_H
#define RS_HOSTED_PLACE_H

#include <stdbool.h>
#include <stdint.h>

struct rs_hosted_place {
	uint8_t *memory; /* the directory alone: [0, directory_size) of memory_size */
	uint64_t directory_size, memory_size;
	uint8_t *region;
	uint64_t region_size;
	uint32_t index;
	uint32_t owner;
	bool given; /* by the host, which started this process */
};

/* 0: found. 1: the environment names none. Else RS_AGENT_*. */
int rs_hosted_find_place(struct rs_hosted_place *place);
/* Says that this process has no use for it any more. Its mapping stays. Async-signal-safe. */
void rs_hosted_leave_place(const struct rs_hosted_place *place);
/* Leaves it, and unmaps it: nothing was done with it. */
void rs_hosted_drop_place(struct rs_hosted_place *place);

/* The number in an environment variable. -1: there is none. */
int rs_hosted_number(const char *variable);

#endif
