/* SPDX-License-Identifier: MIT */
/*
 * A guest with providers, and a host that switches their events, in one process. The guest's trace
 * pipe keeps the last record.
 */
#ifndef PROVIDER_ROOM_H
#define PROVIDER_ROOM_H

#include <glib.h>
#include <ringside/provider.h>
#include <rs-trace-region.h>

struct room {
	RsTraceRegion *region;
	guint records; /* so far */
	guint32 id;    /* of the last one */
	guint8 payload[RS_RAW_MAX];
	guint size;
	guint panics;
};
extern struct room room;

/* As fixtures of GLib. */
void room_set_up(void);
void room_tear_down(void);

/* The host asks for an event of this name, or takes that back. NULL: all. */
void room_switch(const struct rs_agent_provider *provider, const char *name, bool on);

/* Of the last record, whose event must have the name: a field of it. */
const void *room_field(const struct rs_agent_provider *provider, const char *name,
		       const char *field, guint *size);
guint64 room_number(const struct rs_agent_provider *provider, const char *name, const char *field);
char *room_text(const struct rs_agent_provider *provider, const char *name, const char *field);

#endif
