/* SPDX-License-Identifier: MIT */
/*
 * The kernel's tracefs, and an instance of it that is ours: rings, events and filters that nobody
 * else sees. One thread. Errors are said on standard error.
 */
#ifndef RS_BRIDGE_TRACEFS_H
#define RS_BRIDGE_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BRIDGE_INSTANCE "ringside"

struct bridge_tracefs {
	char root[256];
	char instance[300]; /* "": none was made */
	int top;            /* of the root; -1 */
	int dir;            /* of the instance, which is locked; -1 */
	bool mounted;       /* by us */
	bool taken;         /* another bridge is at work in the instance */
};

/*
 * Finds tracefs or mounts it, removes what a bridge that was killed has left, and makes the
 * instance, with rings of `ring_kb` for each CPU and the clock of the agent. False: it cannot be.
 */
bool bridge_tracefs_open(struct bridge_tracefs *fs, unsigned long ring_kb);
/* Removes the instance, and takes tracefs away if it was not there. */
void bridge_tracefs_close(struct bridge_tracefs *fs);

/* The calling thread makes no events in the instance from now on. */
void bridge_tracefs_hide_thread(const struct bridge_tracefs *fs);

/* Of a file of the folder `dir`. 0 or -errno. */
int bridge_write(int dir, const char *path, const char *text);
/* The whole file with a NUL, for the caller to free; NULL: it cannot be read. */
char *bridge_read(int dir, const char *path);

#endif
