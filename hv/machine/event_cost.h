/* SPDX-License-Identifier: MIT */
/*
 * What an event takes on this machine: measured, by this process's own agent, which records events
 * of the host (host/host.h) into a region of its own. Programs run the same code. A guest takes a
 * little less, since its CPUs need no mark in each record. For a process that serves no session:
 * its agent is needed. Thread: main.
 */
#ifndef RS_HV_MACHINE_EVENT_COST_H
#define RS_HV_MACHINE_EVENT_COST_H

#include "base/error.h"

#include <ringside/filter.h>
#include <rs-trace-region.h>
#include <stdbool.h>

struct rs_event_meter;

/* All events are on, without a filter. Errors: as rs_region_create() and rs_host_create(). */
int rs_event_meter_create(struct rs_event_meter **out, struct rs_error *err);
void rs_event_meter_destroy(struct rs_event_meter *meter); /* accepts NULL */
/* What the agent writes: its descriptors, and the records of what was measured. */
const RsTraceRegion *rs_event_meter_region(const struct rs_event_meter *meter);

/* How host:pause, which is measured, is switched. */
struct rs_event_setting {
	uint32_t id; /* as the region describes it; needed for what follows */
	bool off;
	const struct rs_filter_program *filter; /* NULL: none */
	bool refuses;                           /* the filter does */
	bool native;                            /* the filter runs as machine code */
};

/*
 * ns for an event of 16 bytes: the best of some rounds, a few ms in all. -EIO: not all were
 * recorded, or some that should not be. -ENOTSUP: there is no machine code of filters here.
 */
int rs_event_meter_take(struct rs_event_meter *meter, const struct rs_event_setting *setting,
			double *ns, struct rs_error *err);

/* All of that at once, for an event without a filter. */
int rs_event_cost(double *ns, struct rs_error *err);

#endif
