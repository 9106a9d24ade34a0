/* SPDX-License-Identifier: MIT */
/* Calls that wait for the session or for a guest's agent, each until it has its answer. */
#include "server/private.h"

#include <errno.h>

GDBusConnection *rs_server_peer(GDBusMethodInvocation *invocation)
{
	return g_dbus_method_invocation_get_connection(invocation);
}

void rs_server_call_begin(struct rs_server_call *call, struct rs_server *server,
			  GDBusMethodInvocation *invocation,
			  void (*fini)(struct rs_server_call *call))
{
	*call = (struct rs_server_call){
		.server = server, .invocation = invocation, .fini = fini, .link = {.data = call}};
	g_queue_push_tail_link(&server->waiting, &call->link);
}

void rs_server_call_end(struct rs_server_call *call)
{
	g_queue_unlink(&call->server->waiting, &call->link);
	if (call->fini)
		call->fini(call);
	g_free(call);
}

void rs_server_call_fail(struct rs_server_call *call, const struct rs_error *err)
{
	rs_server_give_error(call->invocation, err);
	rs_server_call_end(call);
}

void rs_server_refuse_calls(struct rs_server *server, const GDBusConnection *connection)
{
	struct rs_error err = {0};

	rs_error_set(&err, ESHUTDOWN, "the session has ended");
	for (GList *l = server->waiting.head, *next; l; l = next) {
		struct rs_server_call *call = l->data;

		next = l->next;
		if (!connection || rs_server_peer(call->invocation) == connection)
			rs_server_call_fail(call, &err);
	}
}
