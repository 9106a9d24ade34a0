/* SPDX-License-Identifier: MIT */
/*
 * The bridge's region and its host: finds the region, attaches to it, and knows whether a host is
 * there. One thread. Trust: as place.h; the layout is checked by the agent.
 */
#ifndef RS_BRIDGE_HOST_H
#define RS_BRIDGE_HOST_H

#include <place.h>
#include <ringside/agent.h>

#define BRIDGE_TICK_NS 10000000u /* between two calls of bridge_host_look() */

struct bridge_host {
	struct rs_hosted_place place;
	bool attached;
	bool held;  /* the host's lock says whether it lives */
	bool alive; /* it answers, as far as is known */
	bool over;  /* its session has ended, as it says */
	bool asked; /* a question is under way */
	struct rs_hcall_ticket question;
	uint32_t silent, quiet; /* ticks since the question was asked, and since the last answer */
};

/*
 * Takes a region: of what the environment names (rs_hosted.h), or of the first ivshmem device of
 * the machine. 0; -RS_ENODEV: there is none yet; or another error of rs_hosted_init().
 */
int bridge_host_attach(struct bridge_host *host);
/* After all providers were registered. */
void bridge_host_greet(struct bridge_host *host);

enum bridge_wish {
	BRIDGE_GO_ON,
	BRIDGE_LEAVE, /* the host asks for the region: another one will come */
	BRIDGE_END,   /* the host has ended for good */
	BRIDGE_TAKEN, /* the module has taken the region */
};
/* Once a tick. `alive` is up to date afterwards. */
enum bridge_wish bridge_host_look(struct bridge_host *host);
/* Leaves the region. Its providers must not be used by then. */
void bridge_host_leave(struct bridge_host *host);

/* A new number each time that the host has changed what it wants. */
uint32_t bridge_host_generation(void);
/* All that the host wanted at that number is done. */
void bridge_host_applied(uint32_t generation);

#endif
