/* SPDX-License-Identifier: MIT */
/*
 * Just enough of org.freedesktop.DBus for tools that expect a bus at every address: `gdbus
 * introspect --address` and `gdbus call` say Hello first, and give up without an answer. There is
 * no bus here: there is one peer, and no names or routing.
 */
#ifndef RS_HV_SERVER_HELLO_H
#define RS_HV_SERVER_HELLO_H

#include "server/calls.h"

/* Until rs_calls_drop(). */
void rs_hello_export(struct rs_calls *calls, GDBusConnection *connection);

#endif
