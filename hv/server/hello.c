/* SPDX-License-Identifier: MIT */
#include "server/hello.h"

static const char xml[] = "<node><interface name='org.freedesktop.DBus'>"
			  "<method name='Hello'><arg type='s' direction='out'/></method>"
			  "<method name='AddMatch'><arg type='s' direction='in'/></method>"
			  "<method name='RemoveMatch'><arg type='s' direction='in'/></method>"
			  "</interface></node>";

static void on_call(GDBusConnection *connection, const char *sender, const char *path,
		    const char *interface, const char *method, GVariant *arguments,
		    GDBusMethodInvocation *invocation, gpointer data)
{
	/* A bus would route by the matches. Here a peer gets all signals anyway. */
	if (g_str_equal(method, "Hello"))
		g_dbus_method_invocation_return_value(invocation, g_variant_new("(s)", ":1.1"));
	else
		g_dbus_method_invocation_return_value(invocation, NULL);
}

void rs_hello_export(GDBusConnection *connection)
{
	static const GDBusInterfaceVTable vtable = {.method_call = on_call};
	static GDBusNodeInfo *info;

	if (!info)
		info = g_dbus_node_info_new_for_xml(xml, NULL);
	g_dbus_connection_register_object(connection, "/org/freedesktop/DBus", info->interfaces[0],
					  &vtable, NULL, NULL, NULL);
}
