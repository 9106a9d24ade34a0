/* SPDX-License-Identifier: MIT */
/*
 * Calls of peers wait here for their turn. GDBus would make all that have come in one round of the
 * main loop, and nobody else would have a turn meanwhile. Here each round makes one call: of each
 * peer that waits its oldest, one peer after the other. What has a higher priority than
 * G_PRIORITY_DEFAULT is looked at between any two calls. The gate bounds how many calls may wait.
 *
 * A call is dear if it takes time in proportion to the number of events. Between two dear calls
 * each peer whose oldest call is a cheap one has one made. So a cheap call waits for one dear call
 * at most, whoever makes them, and a dear one for one cheap call of each peer.
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

/* An object that any peer may call. It and all that it names outlive the peers. */
struct rs_calls_object {
	GDBusInterfaceInfo *info;
	const char *const *dear; /* methods of the interface, NULL-terminated; NULL: none is dear */
	rs_calls_serve serve;
};

/*
 * From now on calls of this peer go to `serve`, in their turn. False: the object is there already.
 */
bool rs_calls_export(struct rs_calls *calls, GDBusConnection *connection, const char *path,
		     const struct rs_calls_object *what, void *data, GError **error);
/* Takes all objects of this peer away. Its calls that wait are never answered. */
void rs_calls_drop(struct rs_calls *calls, GDBusConnection *connection);
/* Makes one more call now. False: none waits. */
bool rs_calls_step(struct rs_calls *calls);

#endif
