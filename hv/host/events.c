/* SPDX-License-Identifier: MIT */
/* Makes the events of events.h, in a section of their own. */
#define RS_EVENTS_SECTION "rs_host_events"
#define RS_CREATE_TRACE_POINTS
#include "host/events.h"
