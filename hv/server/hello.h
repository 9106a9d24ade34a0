/* SPDX-License-Identifier: MIT */
/*
 * Just enough of org.freedesktop.DBus for tools that expect a bus at every address: `gdbus
 * introspect --address` and `gdbus call` say Hello first, and give up without an answer. There is
 * no bus here: there is one peer, and no names or routing.
 */
#ifndef RS_HV_SERVER_HELLO_H
#define RS_HV_SERVER_HELLO_H

#include <gio/gio.h>

/* For as long as the connection lives. */
void rs_hello_export(GDBusConnection *connection);

#endif
