/* SPDX-License-Identifier: MIT */
/*
 * Names and thread groups of the tasks in pages. They are asked for when a page with the task is
 * read, so a task may have had another name shortly before. One thread.
 */
#ifndef RS_BRIDGE_NAMES_H
#define RS_BRIDGE_NAMES_H

#include <ringside/types.h>

#define BRIDGE_NAMES 4096u /* tasks that are remembered; a power of two */

struct bridge_name {
	uint32_t pid, tgid;
	uint64_t asked; /* sweep in which it was asked for; 0: the entry is free */
	char comm[RS_COMM_LEN];
};

struct bridge_names {
	int top;            /* folder of tracefs, for the names of tasks that have ended */
	uint64_t sweep;     /* 1.. */
	uint64_t from, now; /* event clock when the last sweep and this one began */
	uint64_t ended_at;  /* sweep in which `ended` was read */
	char *ended;        /* saved_cmdlines */
	struct bridge_name table[BRIDGE_NAMES];
};

/* A sweep begins, at `now` of the event clock. Names are asked for anew after so many of them. */
#define BRIDGE_NAMES_AGE 16u
void bridge_names_sweep(struct bridge_names *names, uint64_t now);
/*
 * The task `pid` was seen at `ts` of the event clock. Notes its name for the host if that is new.
 * Never NULL; valid until the next call.
 */
const struct bridge_name *bridge_names_see(struct bridge_names *names, uint32_t pid, uint64_t ts);
void bridge_names_free(struct bridge_names *names);

#endif
