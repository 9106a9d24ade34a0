/* SPDX-License-Identifier: MIT */
/*
 * Just enough of org.freedesktop.DBus for tools that take every address for that of a bus: `gdbus introspect
 * --address` and `gdbus call` say Hello first and go away without an answer. There is no bus behind it:
 * one peer, no names, no routing.
 */
#ifndef RS_HV_SESSION_HELLO_H
#define RS_HV_SESSION_HELLO_H

#include <gio/gio.h>

/* For as long as the connection lives. */
void rs_hello_export(GDBusConnection *connection);

#endif
