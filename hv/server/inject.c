/* SPDX-License-Identifier: MIT */
/* Inject: faults that peers ask for. */
#include "server/private.h"

#include "server/rows.h"
#include "session/faults.h"

static gboolean on_inject(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
			  const char *fault, GVariant *options, gpointer data)
{
	struct rs_server *server = data;
	struct rs_source *source = NULL;
	struct rs_error err = {0};
	uint32_t number;

	if (!rs_server_take_source(server, invocation, options, &source) ||
	    !rs_server_is_free(server, invocation))
		return TRUE;
	if (rs_session_inject(server->session, source, fault, &number, &err))
		return rs_server_give_error(invocation, &err);
	rs_dbus_session1_complete_inject(object, invocation, number, rs_row_empty());
	return TRUE;
}

void rs_server_connect_inject(struct rs_server *server)
{
	g_signal_connect(server->skeleton, "handle-inject", G_CALLBACK(on_inject), server);
}
