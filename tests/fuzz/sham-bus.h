/* SPDX-License-Identifier: MIT */
/*
 * Takes the place of GDBus's connections and of hv/server/{peers,calls}.c, for a target that plays
 * calls of peers. A call is what GDBus makes of a message: it knows the method and its arguments
 * have the types of the interface. It is carried out at once, in this thread, and has exactly one
 * answer, at once or later.
 * Messages that GDBus refuses do not come this far. Include it in one file of a target.
 */
#ifndef RS_TESTS_FUZZ_SHAM_BUS_H
#define RS_TESTS_FUZZ_SHAM_BUS_H

#include "server/calls.h"
#include "server/hello.h"
#include "server/peers.h"

#include <errno.h>
#include <gio/gunixfdlist.h>
#include <stdlib.h>

#define RS_SHAM_PEERS 3u

static struct {
	struct rs_peers_config config;
	bool deaf;                 /* no peer can connect at all */
	bool odd;                  /* no peer that connects can be served */
	bool peers[RS_SHAM_PEERS]; /* those that are there */
	GDBusInterfaceInfo *interface;
	rs_calls_serve serve;
	void *data;
	GDBusMethodInvocation *invocation; /* of every call, until one is answered later */
	GPtrArray *spare;                  /* others; GDBus would miss their messages at the end */
	GDBusMessage *message;             /* likewise */
	GDBusMethodInfo *method;           /* of this call */
	GVariant *arguments;               /* likewise */
	guint peer, answers;
	guint owed; /* calls that are to be answered later */
} rs_bus;

/* Only compared. */
static GDBusConnection *rs_bus_connection(guint peer)
{
	return (GDBusConnection *)(void *)&rs_bus.peers[peer];
}

/* ---- peers ---- */

int rs_peers_create(const char *path, const struct rs_peers_config *config, struct rs_peers **out,
		    struct rs_error *err)
{
	if (rs_bus.deaf)
		return rs_error_set(err, EIO, "no socket can be made");
	rs_bus.config = *config;
	*out = (struct rs_peers *)(void *)&rs_bus;
	return 0;
}

void rs_peers_destroy(struct rs_peers *peers)
{
	memset(rs_bus.peers, 0, sizeof(rs_bus.peers));
}

void rs_peers_tell(struct rs_peers *peers, const char *path, const char *interface,
		   const char *name, GVariant *arguments, bool replaces)
{
	g_variant_ref_sink(arguments);
	if (!g_variant_is_normal_form(arguments))
		abort();
	g_variant_unref(arguments);
}

void rs_peers_tell_one(struct rs_peers *peers, const void *connection, const char *path,
		       const char *interface, const char *name, GVariant *arguments)
{
	rs_peers_tell(peers, path, interface, name, arguments, true);
}

void rs_hello_export(struct rs_calls *calls, GDBusConnection *connection)
{
}

/* "(sas)" or the like. */
static GVariantType *rs_bus_type(GDBusArgInfo *const *args)
{
	g_autoptr(GString) type = g_string_new("(");

	for (; args && *args; args++)
		g_string_append(type, (*args)->signature);
	g_string_append_c(type, ')');
	return g_variant_type_new(type->str);
}

/* GLib forgets what it knows of a type with its last value: these stay. */
static void rs_bus_keep_type(GPtrArray *kept, GDBusArgInfo *const *args)
{
	g_autoptr(GVariantType) type = rs_bus_type(args);
	GVariant *value = g_variant_new_from_data(type, NULL, 0, FALSE, NULL, NULL);

	g_ptr_array_add(kept, g_variant_ref_sink(value));
}

static void rs_bus_keep_types(const GDBusInterfaceInfo *interface)
{
	static GPtrArray *kept;

	if (kept)
		return;
	kept = g_ptr_array_new();
	for (guint i = 0; interface->methods[i]; i++) {
		rs_bus_keep_type(kept, interface->methods[i]->in_args);
		rs_bus_keep_type(kept, interface->methods[i]->out_args);
	}
}

/* ---- turns ---- */

struct rs_calls *rs_calls_new(void)
{
	return (struct rs_calls *)(void *)&rs_bus;
}

void rs_calls_free(struct rs_calls *calls)
{
}

bool rs_calls_export(struct rs_calls *calls, GDBusConnection *connection, const char *path,
		     const struct rs_calls_object *what, void *data, GError **error)
{
	rs_bus_keep_types(what->info);
	rs_bus.interface = what->info;
	rs_bus.serve = what->serve;
	rs_bus.data = data;
	if (rs_bus.odd)
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_EXISTS, "it is exported");
	return !rs_bus.odd;
}

void rs_calls_drop(struct rs_calls *calls, GDBusConnection *connection)
{
}

bool rs_calls_step(struct rs_calls *calls)
{
	return false;
}

static void rs_bus_join(guint peer)
{
	if (!rs_bus.peers[peer])
		rs_bus.peers[peer] =
			rs_bus.config.joined(rs_bus.config.data, rs_bus_connection(peer));
}

static void rs_bus_leave(guint peer)
{
	if (rs_bus.peers[peer])
		rs_bus.config.left(rs_bus.config.data, rs_bus_connection(peer));
	rs_bus.peers[peer] = false;
}

/* ---- answers ---- */

#define RS_BUS_OWED "rs-method"

/* The method of the call that is answered with this. */
static GDBusMethodInfo *rs_bus_answered(GDBusMethodInvocation *invocation)
{
	GDBusMethodInfo *method;

	if (invocation == rs_bus.invocation) {
		rs_bus.answers++;
		return rs_bus.method;
	}
	method = g_object_get_data(G_OBJECT(invocation), RS_BUS_OWED);
	rs_bus.owed--;
	g_ptr_array_add(rs_bus.spare, invocation);
	return method;
}

/* The call is answered later. Only a request that changes text may be, or one to a guest. */
static void rs_bus_keep(void)
{
	static const char *const late[] = {"Enable",
					   "Disable",
					   "SetFilter",
					   "ClearFilter",
					   "RestoreWishes",
					   "Ktrace",
					   "Threads",
					   "EngineAttach",
					   "EngineControl",
					   "EngineRegisters",
					   "EngineSetRegisters",
					   "EngineSetSyscall",
					   "EngineReadMemory",
					   NULL};

	if (!g_strv_contains(late, rs_bus.method->name))
		abort();
	g_object_set_data(G_OBJECT(rs_bus.invocation), RS_BUS_OWED, rs_bus.method);
	rs_bus.owed++;
	if (!rs_bus.spare)
		rs_bus.spare = g_ptr_array_new();
	rs_bus.invocation = rs_bus.spare->len ? g_ptr_array_steal_index_fast(rs_bus.spare, 0)
					      : g_object_new(G_TYPE_DBUS_METHOD_INVOCATION, NULL);
}

static void rs_bus_answer_error(GDBusMethodInvocation *invocation, const char *text)
{
	if (!g_utf8_validate(text, -1, NULL))
		abort();
	rs_bus_answered(invocation);
}

void g_dbus_method_invocation_return_error_literal(GDBusMethodInvocation *invocation, GQuark domain,
						   gint code, const gchar *text)
{
	rs_bus_answer_error(invocation, text);
}

void g_dbus_method_invocation_return_error(GDBusMethodInvocation *invocation, GQuark domain,
					   gint code, const gchar *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	rs_bus_answer_error(invocation, text);
}

static bool rs_bus_fits(GVariant *values, GDBusArgInfo *const *args)
{
	g_autoptr(GVariantType) type = rs_bus_type(args);

	return g_variant_is_of_type(values, type);
}

void g_dbus_method_invocation_return_value(GDBusMethodInvocation *invocation, GVariant *answer)
{
	g_variant_ref_sink(answer);
	if (!rs_bus_fits(answer, rs_bus_answered(invocation)->out_args) ||
	    !g_variant_is_normal_form(answer))
		abort();
	g_variant_unref(answer);
}

void g_dbus_method_invocation_return_value_with_unix_fd_list(GDBusMethodInvocation *invocation,
							     GVariant *answer, GUnixFDList *fds)
{
	if (g_unix_fd_list_get_length(fds) != 1)
		abort();
	g_dbus_method_invocation_return_value(invocation, answer);
}

/* ---- calls ---- */

GDBusConnection *g_dbus_method_invocation_get_connection(GDBusMethodInvocation *invocation)
{
	return rs_bus_connection(rs_bus.peer);
}

const GDBusMethodInfo *g_dbus_method_invocation_get_method_info(GDBusMethodInvocation *invocation)
{
	return rs_bus.method;
}

GDBusMessage *g_dbus_method_invocation_get_message(GDBusMethodInvocation *invocation)
{
	return rs_bus.message;
}

const char *g_dbus_method_invocation_get_interface_name(GDBusMethodInvocation *invocation)
{
	return rs_bus.interface->name;
}

const char *g_dbus_method_invocation_get_method_name(GDBusMethodInvocation *invocation)
{
	return rs_bus.method->name;
}

GVariant *g_dbus_method_invocation_get_parameters(GDBusMethodInvocation *invocation)
{
	return rs_bus.arguments;
}

/* Of a peer that is there. */
static void rs_bus_call(guint peer, const char *method, GVariant *arguments)
{
	rs_bus.method = g_dbus_interface_info_lookup_method(rs_bus.interface, method);
	if (!rs_bus.method || !rs_bus_fits(arguments, rs_bus.method->in_args))
		return;
	if (!rs_bus.invocation)
		rs_bus.invocation = g_object_new(G_TYPE_DBUS_METHOD_INVOCATION, NULL);
	if (!rs_bus.message)
		rs_bus.message = g_dbus_message_new();
	rs_bus.peer = peer;
	rs_bus.answers = 0;
	rs_bus.arguments = arguments;
	rs_bus.serve(rs_bus.data, rs_bus.invocation);
	if (rs_bus.answers > 1)
		abort();
	if (!rs_bus.answers)
		rs_bus_keep();
}

#endif
