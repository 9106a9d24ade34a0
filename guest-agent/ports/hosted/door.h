/* SPDX-License-Identifier: MIT */
/*
 * The library's thread, which blocks all signals. While a host is there, it patches the program's
 * text (self_patch.h). While none is, it sleeps at the door: a file of this process in which a host
 * can make a region for it (ringside/door.h). For rs_hosted.c only.
 */
#ifndef RS_HOSTED_DOOR_H
#define RS_HOSTED_DOOR_H

#include <stdbool.h>

#pragma GCC visibility push(hidden) /* not for who links the agent */

struct rs_door_calls {
	/* A host has made regions in `fd`, which it takes over. 0: this process has one of them. */
	int (*join)(int fd);
	bool (*host_lives)(void);
	/* All text is as in its file. */
	void (*host_gone)(void);
};

/*
 * Starts the thread. `joined`: a host is there already. NULL, or why there is none: static, for
 * people.
 */
const char *rs_door_start(const struct rs_door_calls *calls, bool joined);
/* Ends the thread and waits for it, if there is one. */
void rs_door_stop(void);
/* In a child after a fork, which has no such thread: a host finds no door in it. */
void rs_door_forget(void);

#pragma GCC visibility pop

#endif
