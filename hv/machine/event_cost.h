/* SPDX-License-Identifier: MIT */
/*
 * What an event takes on this machine: measured, by this process's own agent. Guests and programs
 * run the same code. Thread: main.
 */
#ifndef RS_HV_MACHINE_EVENT_COST_H
#define RS_HV_MACHINE_EVENT_COST_H

#include "base/error.h"

/*
 * ns for an event of 16 bytes, without a filter: the best of some rounds, a few ms in all. For a
 * process that serves no session: its agent is needed. Errors: as rs_region_create() and
 * rs_host_create().
 */
int rs_event_cost(double *ns, struct rs_error *err);

#endif
