/* SPDX-License-Identifier: MIT */
/*
 * All events of the kernel that can be switched on, as providers of the agent: one for each system.
 * What the host wants of them goes to tracefs from here. One thread.
 */
#ifndef RS_BRIDGE_CATALOG_H
#define RS_BRIDGE_CATALOG_H

#include "format.h"
#include "tracefs.h"

#define BRIDGE_IDS 65536u /* of the kernel */

/* One event of the kernel. */
struct bridge_event {
	struct rs_event *event; /* as the agent knows it */
	uint32_t word;          /* its control word as it was last applied */
	uint32_t last_on;       /* the last one that said "enabled" */
	bool broken;            /* tracefs refused it, and that was said */
	uint16_t dyn_count;     /* dynamic fields */
};

struct bridge_system;

struct bridge_catalog {
	struct bridge_system *systems;
	struct bridge_event *by_id[BRIDGE_IDS]; /* by the kernel's id */
	uint32_t events, refused;               /* how many; how many did not fit the region */
};

/* Reads all format files. False: there is no memory, or no event. */
bool bridge_catalog_read(struct bridge_catalog *catalog, const struct bridge_tracefs *fs);
void bridge_catalog_free(struct bridge_catalog *catalog);

/* Registers all. After rs_agent_init(). What does not fit is counted in `refused`. */
void bridge_catalog_register(struct bridge_catalog *catalog);

/*
 * Makes tracefs what the control words say, or switches all off. `said`: standard error has been
 * told of an event that tracefs refuses.
 */
void bridge_catalog_apply(struct bridge_catalog *catalog, const struct bridge_tracefs *fs,
			  bool all_off);
/* Whether any event is on. */
bool bridge_catalog_is_on(const struct bridge_catalog *catalog);

#endif
