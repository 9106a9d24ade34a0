/* SPDX-License-Identifier: MIT */
/* For tests of tracepoints in a guest: providers made by hand, and a host that the test plays. */
#ifndef RS_TEST_TRACEPOINT_ROOM_H
#define RS_TEST_TRACEPOINT_ROOM_H

#include <glib.h>
#include <ringside/tracepoint.h>

#define ROOM_EVENTS 4u

struct room_provider {
	struct rs_agent_provider provider;
	struct rs_event_info info[ROOM_EVENTS];
	struct rs_event events[ROOM_EVENTS];
};

/* What the guest asked last, and what it is answered. `asked` counts. */
extern struct rs_hcall_request room_request;
extern struct rs_hcall_response room_response;
extern uint32_t room_asked;

/* Attaches the agent to a new region, which is freed by room_end(). */
void room_begin(void);
void room_end(void);
/* The control word of an event. */
uint32_t *room_word(uint32_t id);

/* A provider whose events have these names, "system:name", NULL at the end. It is registered. */
struct room_provider *room_load(const char *name, const char *const *events);
void room_unload(struct room_provider *provider);

#endif
