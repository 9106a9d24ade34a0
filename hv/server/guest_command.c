/* SPDX-License-Identifier: MIT */
/* GuestCommand: a command that the OS of a guest has of its own. We only bound it. */
#include "server/private.h"

#include "server/rows.h"
#include <errno.h>

struct guest_call {
	struct rs_server_call call;
	struct rs_source *source; /* that is to answer; NULL: it has */
};

static void fini(struct rs_server_call *base)
{
	struct guest_call *call = (struct guest_call *)base;

	if (call->source)
		rs_source_drop_commands(call->source, call);
}

static void on_answer(void *data, int ret, const struct rs_command_result *result,
		      const struct rs_error *err)
{
	struct guest_call *call = data;

	call->source = NULL;
	if (ret) {
		rs_server_call_fail(&call->call, err);
		return;
	}
	rs_dbus_session1_complete_guest_command(
		call->call.server->skeleton, call->call.invocation, result->result,
		rs_server_numbers((const uint8_t *)result->values, RS_CMD_ARGS),
		g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, result->data, result->size, 1),
		rs_row_empty());
	rs_server_call_end(&call->call);
}

/* The source that is asked. NULL: `err` says why there is none. */
static struct rs_source *choose(struct rs_server *server, struct rs_source *named, guint number,
				struct rs_error *err)
{
	if (number < RS_CMD_OS_FIRST || number > RS_CMD_OS_LAST)
		rs_error_set(err, EINVAL, "an OS's own commands have numbers from %#x to %#x",
			     RS_CMD_OS_FIRST, RS_CMD_OS_LAST);
	else if (!named && rs_session_n_sources(server->session) > 1)
		rs_error_set(err, EINVAL, "a command to which source? The session has several");
	else
		return named ? named : rs_session_source(server->session, 0);
	return NULL;
}

static gboolean on_guest_command(RsDBusSession1 *object, GDBusMethodInvocation *invocation,
				 guint number, GVariant *arguments, GVariant *bytes,
				 GVariant *options, gpointer data)
{
	struct rs_source_command command = {.number = number};
	struct rs_server *server = data;
	struct rs_source *source = NULL;
	struct rs_error err = {0};
	struct guest_call *call;
	gsize count;

	if (!rs_server_take_source(server, invocation, options, &source) ||
	    !rs_server_is_free(server, invocation) ||
	    !rs_server_take_numbers(invocation, arguments, command.args, RS_CMD_ARGS, &count) ||
	    !rs_server_take_bytes(invocation, bytes, &command.data, &command.size))
		return TRUE;
	source = choose(server, source, number, &err);
	if (!source)
		return rs_server_give_error(invocation, &err);
	call = g_new0(struct guest_call, 1);
	rs_server_call_begin(&call->call, server, invocation, fini);
	if (rs_source_send_command(source, &command, on_answer, call, &err))
		rs_server_call_fail(&call->call, &err);
	else
		call->source = source;
	return TRUE;
}

void rs_server_connect_guest_command(struct rs_server *server)
{
	g_signal_connect(server->skeleton, "handle-guest-command", G_CALLBACK(on_guest_command),
			 server);
}
