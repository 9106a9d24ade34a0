/* SPDX-License-Identifier: MIT */
#include "server/hello.h"

static const char xml[] = "<node><interface name='org.freedesktop.DBus'>"
			  "<method name='Hello'><arg type='s' direction='out'/></method>"
			  "<method name='AddMatch'><arg type='s' direction='in'/></method>"
			  "<method name='RemoveMatch'><arg type='s' direction='in'/></method>"
			  "</interface></node>";

static void serve(void *data, GDBusMethodInvocation *invocation)
{
	const char *method = g_dbus_method_invocation_get_method_name(invocation);

	/* A bus would route by the matches. Here a peer gets all signals anyway. */
	if (g_str_equal(method, "Hello"))
		g_dbus_method_invocation_return_value(invocation, g_variant_new("(s)", ":1.1"));
	else if (g_str_equal(method, "GetAll"))
		g_dbus_method_invocation_return_value(invocation, g_variant_new("(a{sv})", NULL));
	else
		g_dbus_method_invocation_return_value(invocation, NULL);
}

void rs_hello_export(struct rs_calls *calls, GDBusConnection *connection)
{
	static struct rs_calls_object hello = {.serve = serve};

	if (!hello.info)
		hello.info = g_dbus_node_info_new_for_xml(xml, NULL)->interfaces[0];
	rs_calls_export(calls, connection, "/org/freedesktop/DBus", &hello, NULL, NULL);
}
