/* SPDX-License-Identifier: MIT */
/*
 * Calls of peers wait here for their turn. GDBus would make all that have come in one round of the
 * main loop, and nobody else would have a turn meanwhile. Here each round makes one call: of each
 * peer that waits its oldest, one peer after the other. What has a higher priority than
 * G_PRIORITY_DEFAULT is looked at between any two calls. The gate bounds how many calls may wait.
 *
 * Thread: the one whose thread-default main context serves the calls.
 */
#ifndef RS_HV_SERVER_CALLS_H
#define RS_HV_SERVER_CALLS_H

#include <gio/gio.h>
#include <stdbool.h>

struct rs_calls;

/* Takes the invocation over. It is of the interface, or asks for one of its properties. */
typedef void (*rs_calls_serve)(void *data, GDBusMethodInvocation *invocation);

struct rs_calls *rs_calls_new(void);
/* As rs_calls_drop() for all peers. NULL is accepted. */
void rs_calls_free(struct rs_calls *calls);

/*
 * From now on calls of this peer go to `serve`, in their turn. `info` outlives the peer. False: the
 * object is there already.
 */
bool rs_calls_export(struct rs_calls *calls, GDBusConnection *connection, const char *path,
		     GDBusInterfaceInfo *info, rs_calls_serve serve, void *data, GError **error);
/* Takes all objects of this peer away. Its calls that wait are never answered. */
void rs_calls_drop(struct rs_calls *calls, GDBusConnection *connection);
/* Makes one more call now. False: none waits. */
bool rs_calls_step(struct rs_calls *calls);

#endif
