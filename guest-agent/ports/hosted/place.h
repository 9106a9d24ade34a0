/* SPDX-License-Identifier: MIT */
/*
 * Finds a region for this process in memory that others share: see ringside/directory.h. A process
 * that has a region holds an open file description lock on its first byte. The lock is released
 * with the last mapping of the region. So others see whether any process, forks included, still has
 * it mapped, however these processes end.
 *
 * For rs_hosted.c. Threads: the one that calls rs_hosted_init_image(), before it starts the door's
 * (door.h). After that only the door's takes and retires places, and asks for the host, until
 * rs_door_stop() has waited for it. Trust: the memory is written by other processes too, so offsets
 * and sizes are checked.
 */
#ifndef RS_HOSTED_PLACE_H
#define RS_HOSTED_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden) /* not for who links the agent */

struct rs_hosted_place {
	uint8_t *memory; /* the directory: [0, directory_size) of memory_size bytes */
	uint64_t directory_size, memory_size;
	uint8_t *region;
	uint64_t region_size;
	uint32_t index;
	uint32_t owner;
	bool for_kernel; /* the kernel's region is taken first */
	bool given;      /* the host, which started this process, keeps this region for it */
	bool found;      /* nobody has named it to us, so there may be no session */
	bool by_module;  /* the kernel's module has claimed it, and leaves it; no `memory` */
	const char *why; /* it found none; static, for people; NULL: see the error */
	int fd;          /* the memory's file, to ask for the host's lock; -1: nobody asks */
	dev_t device;
	ino_t inode;
};

/*
 * Looks where the environment says, else at the module's device, else, as root, at PCI. An
 * environment that names an empty path forbids it. Returns 0: found. 1: there is no memory. Else
 * -RS_E*.
 */
int rs_hosted_find_place(struct rs_hosted_place *place);
/* In memory that a host has made for this process alone, in `fd`, which it takes over. As above. */
int rs_hosted_take_door(int fd, struct rs_hosted_place *place);
/*
 * Gives up a place whose host has gone. Threads may still be inside an event, so the memory of this
 * place stays until the next one is given up.
 */
void rs_hosted_retire_place(struct rs_hosted_place *place);
/*
 * For a process that stands for the kernel: where the environment says, else at PCI. It takes the
 * kernel's region if there is one. A kernel takes it away at any time. Returns as above.
 */
int rs_hosted_find_kernel_place(struct rs_hosted_place *place);
/* Whether the region is still ours: no kernel has taken it. */
bool rs_hosted_has_place(const struct rs_hosted_place *place);
/*
 * Marks the region as left, unless the host keeps it for this process. The mapping stays.
 * Async-signal-safe.
 */
void rs_hosted_leave_place(const struct rs_hosted_place *place);
/* Leaves the region and unmaps it. To be called only if nobody has used it. */
void rs_hosted_drop_place(struct rs_hosted_place *place);

/*
 * Whether the host holds its lock, see RS_CONTROL_HELD. Where the module has given us the region:
 * whether it still does. True as well if nobody can tell, because
 * the program has closed the descriptor, as programs do with those that they do not know.
 */
bool rs_hosted_host_lives(const struct rs_hosted_place *place);
/* Nobody asks any more. */
void rs_hosted_forget_host(struct rs_hosted_place *place);

/* The number in an environment variable. -1: there is none, or it is invalid. */
int rs_hosted_number(const char *variable);
/*
 * How long to wait for a host in this place, as rs_agent_config.patience_ms: what the environment
 * says, else 0.2 s if the place was found, else what is usual.
 */
uint32_t rs_hosted_patience(const struct rs_hosted_place *place);

#pragma GCC visibility pop

#endif
